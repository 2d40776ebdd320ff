//! Charts of the pipeline against the waves of the same runs.

mod kanata;

use super::wave::{cores, vcd::Vcd, workload};
use flashd_golden::Action;
use flashd_simulator::array::{ArrayWorkload, Disturbance};
use flashd_simulator::{
    Gaps, Observer, Pipeline, PipelineFormat, PipelineRecorder, RtlEngine, WaveOptions, WaveSelection,
    WaveWriter, array, run, split,
};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, Hold, SplitConfig, WrapperConfig};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use kanata::{Log, Op};
use std::path::Path;

/// A window that has everything.
const ALL: std::ops::RangeInclusive<u64> = 0..=u64::MAX;

fn wave(folder: &Path, design: impl Into<Machine>) -> WaveWriter {
    let signals = WaveSelection::parse("*").unwrap();
    let options = WaveOptions { signals, ..WaveOptions::default() };
    WaveWriter::create(&folder.join("wave.vcd"), design, options).unwrap()
}

/// The chart as it is written and read again.
fn log(chart: &Pipeline) -> Log {
    let mut text = Vec::new();
    chart.write(PipelineFormat::Kanata, &mut text).unwrap();
    Log::parse(&String::from_utf8(text).unwrap())
}

/// Whether an operation asks for its value in a cycle: the last one of its weight.
fn asks(op: &Op, cycle: u64) -> bool {
    op.spans(0).any(|(name, _, to)| ["weight X", "restore X"].contains(&name) && to == cycle + 1)
}

/// Whether it needs that.
fn reads(op: &Op) -> bool {
    op.spans(0).any(|(name, ..)| name == "update")
}

fn in_stage(op: &Op, stage: &str, cycle: u64) -> bool {
    op.spans(0).any(|(name, from, to)| name == stage && (from..to).contains(&cycle))
}

/// Every operation goes from stage to stage without a pause, and retires with the last one. Arrows begin and end at stages that
/// Konata takes for executing, and retired operations are counted in order.
fn check_order(log: &Log) {
    let executes = |op: &Op| op.spans(0).filter(|(name, ..)| name.contains('X')).count();
    let mut retired: Vec<_> = log.ops.iter().enumerate().map(|(id, op)| (op.retired.unwrap(), id)).collect();
    retired.sort_by_key(|((cycle, ..), id)| (*cycle, *id));
    let counted = retired.iter().filter(|((_, _, kind), _)| *kind == 0).map(|((_, number, _), _)| *number);
    assert!(counted.clone().eq(0..counted.count() as u64));

    for op in &log.ops {
        let spans: Vec<_> = op.spans(0).collect();
        assert!(spans.windows(2).all(|pair| pair[0].2 == pair[1].1), "{op:?}");
        assert_eq!(executes(op), 1, "{op:?}");
        assert_eq!(spans.last().unwrap().2, op.retired.unwrap().0, "{op:?}");
    }
}

/// The ports of a run, cycle by cycle, against the log.
fn check_ports(log: &Log, wave: &Vcd, v_ren: &[&str]) -> usize {
    check_ports_of(log, wave, "", v_ren, |_| true)
}

/// The same of something inside, in the cycles in which it moves.
fn check_ports_of(log: &Log, wave: &Vcd, inside: &str, v_ren: &[&str], moves: impl Fn(u64) -> bool) -> usize {
    let bit = |name: &str, cycle: u64| wave.bits(&format!("{inside}{name}"), cycle) == 1;
    let cycles = wave.waves.time_table().last().unwrap() / flashd_simulator::PERIOD_NS;
    let mut steps = 0;
    for cycle in 0..cycles {
        if bit("rst", cycle) || !moves(cycle) {
            continue;
        }
        let asking: Vec<&Op> = log.ops.iter().filter(|op| asks(op, cycle)).collect();
        assert_eq!(bit("v_step", cycle), !asking.is_empty(), "v_step in cycle {cycle}");
        for (core, name) in v_ren.iter().enumerate() {
            let of_core = |op: &&&Op| v_ren.len() == 1 || op.core() == core;
            let read = asking.iter().filter(of_core).any(|op| reads(op));
            assert_eq!(bit(name, cycle), read, "{name} in cycle {cycle}");
        }
        let results: Vec<&Op> = log.ops.iter().filter(|op| in_stage(op, "result", cycle)).collect();
        assert_eq!(results.len(), usize::from(bit("o_valid", cycle)), "o_valid in cycle {cycle}");
        steps += asking.len();
    }
    steps
}

/// The number after a name in an operation's label.
fn number(op: &Op, name: &str) -> Option<f64> {
    let text = op.label.split_once(&format!(" {name} = "))?.1;
    text.split([',', ' ']).next()?.parse().ok()
}

#[test]
fn logs_of_cores_agree_with_waves() {
    let (mut held, mut masked, mut weights) = (0, 0, 0);
    for format in [Format::BF16, Format::FP8_E4M3] {
        for config in cores(5, format) {
            for value_latency in [1, 3] {
                let mut config = CoreConfig { masks: true, value_latency, ..config.clone() };
                if config.hold.is_none() && !config.follows_the_paper() && config.design() == Design::FlashD {
                    config.hold = Some(Hold::Below(2.0));
                }
                let (config, w) = workload(config, 4, 9);
                let w = w.with_ranges(&[0..9, 2..5, 0..0, 1..9]);
                let folder = tempfile::tempdir().unwrap();
                let (mut wave, mut recorder) = (wave(folder.path(), &config), PipelineRecorder::default());
                run(&config, &w, Gaps::Random(7), &mut [&mut wave, &mut recorder]).unwrap();
                let vcd = Vcd::read(&wave.finish().unwrap().wave);
                let log = log(&recorder.of_core(&config, &w, ALL));
                check_order(&log);
                assert_eq!(log.ops.len(), 36);
                assert_eq!(check_ports(&log, &vcd, &["v_ren"]), 36, "{}", config.name());
                for (n, op) in log.ops.iter().enumerate() {
                    assert_eq!((op.thread, op.spans(1).count()), (n as u64 / 9, 0));
                    // The recurrence: from each key to the next one of the same query.
                    assert_eq!(op.before, (n % 9 > 0).then(|| n as u64 - 1));
                    let (_, taken, _) = op.spans(0).next().unwrap();
                    assert_eq!((op.begun, vcd.bits("k_valid", taken)), (taken, 1));
                    let is_masked = op.retired.unwrap().2 == 1;
                    assert_eq!(vcd.bits("k_mask", taken) == 1, is_masked);
                    masked += usize::from(is_masked);
                    held += usize::from(op.label.ends_with(", held"));
                    let Some(s) = number(op, "s") else { continue };
                    // The score is there with its cap and its bias.
                    let stage = if config.softcap.is_some() { "cap" } else { "score" };
                    let (_, at, _) = op.spans(0).find(|(name, ..)| *name == stage).unwrap();
                    let signal = match (config.bias, config.softcap) {
                        (true, _) => "biased.biased_real",
                        (false, Some(_)) => "capped.capped_real",
                        (false, None) => "score.score_real",
                    };
                    assert_eq!(s, vcd.real(signal, at), "{}: {op:?}", config.name());
                    let Some(w) = number(op, "w").filter(|_| vcd.signals.contains_key("weight.weight_real"))
                    else {
                        continue;
                    };
                    // In the register before the lanes, whenever the value is asked for.
                    assert_eq!(w, vcd.real("weight.weight_real", at + 3), "{}: {op:?}", config.name());
                    weights += 1;
                }
            }
        }
    }
    assert!(held > 20 && masked > 200 && weights > 100, "{held} {masked} {weights}");
}

#[test]
fn logs_of_arrays_agree_with_waves() {
    let mut stalled = 0;
    for core in CoreConfig::variants(5, Format::BF16) {
        let (core, w) = workload(CoreConfig { masks: true, ..core }, 8, 4);
        let config = ArrayConfig::new(core, 3);
        let ranges: Vec<_> = (0..8).map(|query| query % 3..4).collect();
        let blocks = ArrayWorkload::windows(&w, 3, &ranges);
        for gaps in [Gaps::None, Gaps::Random(4)] {
            let folder = tempfile::tempdir().unwrap();
            let (mut wave, mut recorder) = (wave(folder.path(), &config), PipelineRecorder::default());
            let all: &mut [&mut dyn Observer] = &mut [&mut wave, &mut recorder];
            array::run(&config, &blocks, &Disturbance::gaps(gaps), all).unwrap();
            let vcd = Vcd::read(&wave.finish().unwrap().wave);
            let log = log(&recorder.of_array(&config, &blocks, ALL));
            check_order(&log);
            assert_eq!(check_ports(&log, &vcd, &["v_ren"]), 32);
            for op in &log.ops {
                let stalls = op.spans(1).map(|(_, from, to)| to - from).sum::<u64>();
                let (_, taken, _) = op.spans(0).next().unwrap();
                assert_eq!(taken - op.begun, stalls, "{op:?}");
                // Offered in all of these cycles, and taken in the last one.
                for cycle in op.begun..=taken {
                    let port = ["k_valid", "k_ready"].map(|name| vcd.bits(name, cycle));
                    assert_eq!(port, [1, u64::from(cycle == taken)], "{op:?}");
                }
                stalled += stalls;
                for (_, at, _) in op.spans(0).filter(|(name, ..)| *name == "result") {
                    assert_eq!(vcd.bits("o_index", at), op.core() as u64);
                }
            }
        }
    }
    assert!(stalled > 50, "{stalled}");
}

#[test]
fn logs_of_wrappers_agree_with_waves() {
    use flashd_simulator::wrapper::{self, Mask, Paces, WrapperBlock, WrapperDrive, WrapperWorkload};
    let (mut frozen, mut streamed) = (0, 0);
    for (design, seed) in [(Design::FlashD, 3), (Design::Fa2, 4), (Design::FlashD, 8)] {
        let core = CoreConfig { masks: true, value_latency: 2, ..CoreConfig::new(design, 6, Format::BF16) };
        let (core, w) = workload(core, 4, 9);
        let config = WrapperConfig { beat_bits: Some(48), ..WrapperConfig::new(ArrayConfig::new(core, 3)) };
        let q =
            |queries: std::ops::Range<usize>| w.queries[queries].iter().flat_map(|q| q.q.clone()).collect();
        let block = |queries, keys: usize| WrapperBlock {
            q: q(queries),
            k: w.k.words()[..keys * 6].to_vec(),
            v: w.v.words()[..keys * 6].to_vec(),
            padding: vec![false, false, true],
            ..WrapperBlock::default()
        };
        let w = WrapperWorkload {
            blocks: vec![block(0..3, 9), block(3..4, 4)],
            mask: Mask::Causal,
            position: 4,
            stride: 1,
            ..WrapperWorkload::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let mut wave = wave(folder.path(), &config);
        let mut recorder = PipelineRecorder::for_wrapper(&config).unwrap();
        let drive = WrapperDrive { paces: Paces::random(seed), seed, engine: RtlEngine::default() };
        let expected = w.expected(&config);
        let run =
            wrapper::run_observed(&config, &w, &drive, &mut [&mut wave, &mut recorder], &expected).unwrap();
        let vcd = Vcd::read(&wave.finish().unwrap().wave);
        let log = log(&recorder.of_wrapper(&config, &w, &expected, ALL));
        check_order(&log);
        let moves = |cycle: u64| vcd.bits("gate.enable", cycle) == 1;
        assert_eq!(check_ports_of(&log, &vcd, "array.", &["v_ren"], moves), 3 * 9 + 4);
        for op in &log.ops {
            for (name, from, to) in op.spans(1).filter(|(name, ..)| *name == "frozen") {
                assert!((from..to).all(|cycle| !moves(cycle)), "{name} {op:?}");
                frozen += to - from;
            }
            let (_, taken, _) = op.spans(0).next().unwrap();
            let port = ["array.k_valid", "array.k_ready", "gate.enable"].map(|name| vcd.bits(name, taken));
            assert_eq!(port, [1, 1, 1], "{op:?}");
        }
        // Beats at the streams, from the first cycle of the reset on.
        let cycles = vcd.waves.time_table().last().unwrap() / flashd_simulator::PERIOD_NS;
        let beats = |stream: &str| {
            let both = |cycle: &u64| {
                ["tvalid", "tready"].iter().all(|side| vcd.bits(&format!("{stream}_{side}"), *cycle) == 1)
            };
            (0..cycles).filter(both).count()
        };
        assert_eq!((beats("s_axis_k"), beats("m_axis_o")), (2 * 13, 2 * 4));
        assert_eq!(vcd.bits("aresetn", 0), 0);
        streamed += run.cycles;
    }
    assert!(frozen > 50 && streamed > 200, "{frozen} {streamed}");
}

#[test]
fn logs_of_splits_agree_with_waves() {
    for design in [Design::FlashD, Design::Fa2] {
        let (core, w) = workload(CoreConfig::new(design, 5, Format::BF16), 3, 10);
        let config = SplitConfig::new(core, 4);
        let folder = tempfile::tempdir().unwrap();
        let (mut wave, mut recorder) = (wave(folder.path(), &config), PipelineRecorder::default());
        let all: &mut [&mut dyn Observer] = &mut [&mut wave, &mut recorder];
        split::run(&config, &w, Gaps::Random(2), all).unwrap();
        let vcd = Vcd::read(&wave.finish().unwrap().wave);
        let log = log(&recorder.of_split(&config, &w, ALL));
        check_order(&log);
        let v_ren = ["v_ren_0", "v_ren_1", "v_ren_2", "v_ren_3"];
        // Three steps of ten keys in four parts.
        assert_eq!(check_ports(&log, &vcd, &v_ren), 3 * 3 * 4);
        let merges = |op: &&Op| op.spans(0).filter(|(name, ..)| name.starts_with("merge ")).count() == 2;
        assert_eq!(log.ops.iter().filter(merges).count(), 3 * 4);
    }
}

#[test]
fn a_window_has_the_keys_that_are_taken_in_it() {
    let (config, w) = workload(CoreConfig::new(Design::FlashD, 5, Format::BF16), 3, 10);
    let mut recorder = PipelineRecorder::default();
    run(&config, &w, Gaps::Random(7), &mut [&mut recorder]).unwrap();
    let whole = recorder.of_core(&config, &w, ALL);
    let part = recorder.of_core(&config, &w, 12..=25);
    let expected: Vec<_> = whole.steps.iter().filter(|step| (12..=25).contains(&step.taken)).collect();
    assert!(expected.len() > 3 && part.steps.len() == expected.len());
    for (part_of, step) in part.steps.iter().zip(expected) {
        assert!(part.spans(part_of).eq(whole.spans(step).map(|span| {
            let name = &whole.stages[span.stage];
            flashd_simulator::Span { stage: part.stages.iter().position(|s| s == name).unwrap(), ..span }
        })));
    }
}

/// The page has the same chart as the log, and nothing from elsewhere.
#[test]
fn the_page_has_the_chart() {
    let core = CoreConfig { masks: true, partial: true, ..CoreConfig::new(Design::FlashD, 5, Format::BF16) };
    let (config, w) = workload(core, 2, 9);
    let w = w.with_ranges(&[0..9, 2..5]).tiled(&flashd_golden::Model::new(&config), 4);
    let mut recorder = PipelineRecorder::default();
    run(&config, &w, Gaps::Random(7), &mut [&mut recorder]).unwrap();
    let chart = recorder.of_core(&config, &w, ALL);
    let mut page = Vec::new();
    chart.write(PipelineFormat::Page, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let json = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    let steps = data["steps"].as_array().unwrap();
    assert_eq!(steps.len(), chart.steps.len());
    assert!(chart.steps.iter().any(|step| step.action == Action::Restore));
    for (row, step) in steps.iter().zip(&chart.steps) {
        let expected = [step.query as u64, step.core as u64, step.step as u64];
        assert_eq!([0, 1, 2].map(|i| row[i].as_u64().unwrap()), expected);
        assert_eq!(row[3].as_u64(), step.key.map(|key| key as u64));
        assert_eq!([4, 5].map(|i| row[i].as_u64().unwrap()), [step.offered, step.taken]);
        assert_eq!(row[8].as_str(), Some(step.text.as_str()));
        let shape = &data["frame"]["shapes"][row[7].as_u64().unwrap() as usize];
        let spans = shape.as_array().unwrap().iter().map(|span| {
            let [stage, from, to] = [0, 1, 2].map(|i| span[i].as_u64().unwrap());
            (data["frame"]["stages"][stage as usize].as_str().unwrap(), from, to)
        });
        let of_chart = chart.shapes[step.shape].iter();
        assert!(spans.eq(of_chart.map(|span| (chart.stages[span.stage].as_str(), span.from, span.to))));
    }
    assert!(page.contains(&format!("<title>{}: pipeline</title>", config.name())));
    for outside in ["http", "src=", "href=", "import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn names_say_the_format() {
    assert_eq!(PipelineFormat::of(Path::new("a/b.LOG")), Ok(PipelineFormat::Kanata));
    assert_eq!(PipelineFormat::of(Path::new("b.html")), Ok(PipelineFormat::Page));
    for name in ["b.txt", "b", "log"] {
        let error = PipelineFormat::of(Path::new(name)).unwrap_err();
        assert!(error.starts_with(&format!("{name}: ")) && error.contains(".html"), "{error}");
    }
}

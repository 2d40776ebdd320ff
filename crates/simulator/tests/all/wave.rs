//! Waves read back with an independent reader, against the lock-step run.

mod checks;
mod fst;
#[path = "../../src/wave/variants.rs"]
mod variants;
pub mod vcd;

use checks::{Checks, check_ports};
use flashd_golden::{Action, Model, QueryResult, Step};
use flashd_hwmodel::catalogue::Stages;
use flashd_simulator::{
    Cycle, Frame, Gaps, Observer, PERIOD_NS, RtlEngine, RunError, Running, WaveError, WaveFiles, WaveFormat,
    WaveOptions, WaveSelection, WaveWriter, Workload, run,
};
use flashd_spec::config::{CoreConfig, Datapath, Design, Fa2Variant, FlashDVariant, Hold};
use flashd_spec::format::Format;
use flashd_workload::{ScoreScale, TensorScale, choose_scaling, quantise, synthetic};
use std::path::Path;
use variants::variants;
use vcd::Vcd;

/// The cores that differ in their signals.
pub fn cores(d: usize, format: Format) -> Vec<CoreConfig> {
    variants(d, format)
}

/// Operands for a core, scaled to its format.
pub fn workload(mut config: CoreConfig, queries: usize, keys: usize) -> (CoreConfig, Workload) {
    let (fmt, attention) = (config.format, synthetic::attention_like(5, queries, keys, config.d));
    let scaling = choose_scaling(fmt, &attention, ScoreScale::Auto, TensorScale::Auto).unwrap();
    config.score_shift = Some(scaling.score_shift);
    let q = quantise(fmt, scaling, &attention);
    (config, Workload::new(fmt, q.d, &q.q, &q.k, &q.v))
}

/// Inputs and outputs of every cycle, from a second observer.
#[derive(Default)]
struct Seen(Vec<Frame>);

impl Observer for Seen {
    fn cycle(&mut self, cycle: &Cycle) -> std::io::Result<()> {
        self.0.push(cycle.frame.unwrap().clone());
        Ok(())
    }
}

/// A recorded run.
struct Recorded {
    files: WaveFiles,
    seen: Vec<Frame>,
    results: Vec<QueryResult>,
}

fn record(folder: &Path, config: &CoreConfig, workload: &Workload, options: WaveOptions) -> Recorded {
    let path = folder.join(format!("{}.vcd", config.name()));
    let mut wave = WaveWriter::create(&path, config, options).unwrap();
    let mut seen = Seen::default();
    run(config, workload, Gaps::Random(3), &mut [&mut wave, &mut seen]).unwrap();
    // A run keeps no steps; in lock-step they are the model's.
    let results = workload.results(&Model::new(config), true);
    Recorded { files: wave.finish().unwrap(), seen: seen.0, results }
}

#[test]
fn waves_agree_with_the_run() {
    for format in [Format::BF16, Format::FP8_E4M3] {
        for d in [5, 16] {
            for mut config in variants(d, format) {
                let folder = tempfile::tempdir().unwrap();
                if config.hold.is_none() && !config.follows_the_paper() {
                    // So low that steps hold.
                    config.hold = Some(Hold::Below(2.0));
                }
                let (config, w) = workload(config, 3, 14);
                let signals = WaveSelection::parse("default,*.lane_?.o_q.q").unwrap();
                let run =
                    record(folder.path(), &config, &w, WaveOptions { signals, ..WaveOptions::default() });
                let vcd = Vcd::read(&run.files.wave);
                assert_eq!(run.files.cycles as usize, run.seen.len());
                assert_eq!(vcd.core, config.name());
                // Decimals and names of actions do not count as signals.
                let extra = |name: &&String| name.ends_with("_real") || name.ends_with(".action");
                assert_eq!(run.files.signals, vcd.signals.len() - vcd.signals.keys().filter(extra).count());
                check_ports(&config, &vcd, &run.seen);
                Checks { config: &config, vcd: &vcd, workload: &w, run: &run }.check();
                if matches!(config.hold, Some(Hold::Below(_))) {
                    let held = |step: &Step| step.action == Action::Hold;
                    assert!(run.results.iter().any(|r| r.steps.iter().any(held)), "{}", config.name());
                }
            }
        }
    }
}

#[test]
fn the_clock_rises_with_every_cycle() {
    let folder = tempfile::tempdir().unwrap();
    let (config, w) = workload(CoreConfig::new(Design::FlashD, 5, Format::BF16), 1, 4);
    let options = WaveOptions { signals: WaveSelection::All, from: 3, ..WaveOptions::default() };
    let run = record(folder.path(), &config, &w, options);
    let vcd = Vcd::read(&run.files.wave);
    let end = run.seen.len() as u64;
    let expected: Vec<u64> = (3..end)
        .flat_map(|c| [c * PERIOD_NS, c * PERIOD_NS + PERIOD_NS / 2])
        .chain([end * PERIOD_NS])
        .collect();
    assert_eq!(vcd.waves.time_table(), expected);
    for cycle in 3..end {
        for clk in ["clk", "score.fused.clk", "weight.x_q.clk"] {
            let level = |time| vcd.at(clk, time, |v| v.to_bit_string());
            assert_eq!((level(cycle * PERIOD_NS), level(cycle * PERIOD_NS + 5)), ("1".into(), "0".into()));
        }
    }
}

#[test]
fn window_and_selection() {
    let folder = tempfile::tempdir().unwrap();
    let fa2 = CoreConfig {
        datapath: Fa2Variant::SeparateScale.into(),
        ..CoreConfig::new(Design::Fa2, 16, Format::BF16)
    };
    let (config, w) = workload(fa2, 2, 12);
    let all = record(
        folder.path(),
        &config,
        &w,
        WaveOptions { signals: WaveSelection::parse("all").unwrap(), ..WaveOptions::default() },
    );
    let everything = Vcd::read(&all.files.wave);
    check_ports(&config, &everything, &all.seen);
    let patterns = WaveSelection::parse("o_1?, *.lane_9.o_q.q,fa2_*.sum.sum_q.*").unwrap();
    let part = record(
        folder.path(),
        &config,
        &w,
        WaveOptions { signals: patterns, from: 10, to: Some(20), ..WaveOptions::default() },
    );
    let vcd = Vcd::read(&part.files.wave);
    let mut names: Vec<&str> = vcd.signals.keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected = "clk group_0.lane_9.o_q.q group_0.lane_9.o_q.q_real o_10 o_10_real o_11 o_11_real o_12 o_12_real \
         o_13 o_13_real o_14 o_14_real o_15 o_15_real weight.sum.sum_q.clk weight.sum.sum_q.d \
         weight.sum.sum_q.d_real weight.sum.sum_q.enable weight.sum.sum_q.q weight.sum.sum_q.q_real";
    assert_eq!(names.join(" "), expected);
    assert_eq!((part.files.cycles, part.files.signals), (11, 12));
    let times = vcd.waves.time_table();
    assert_eq!((times.first(), times.last()), (Some(&(10 * PERIOD_NS)), Some(&(21 * PERIOD_NS))));
    for cycle in 10..=20 {
        for name in &names {
            match name.ends_with("_real") {
                true => assert_eq!(vcd.real(name, cycle), everything.real(name, cycle), "{name}"),
                false => assert_eq!(vcd.bits(name, cycle), everything.bits(name, cycle), "{name}"),
            }
        }
    }
    let default = WaveSelection::parse("default,*.lane_9.o_q.q").unwrap();
    let vcd = Vcd::read(
        &record(folder.path(), &config, &w, WaveOptions { signals: default, ..WaveOptions::default() })
            .files
            .wave,
    );
    assert!(vcd.signals.contains_key("o_3") && vcd.signals.contains_key("group_0.lane_9.o_q.q"));
    assert!(!vcd.signals.contains_key("o_4"));
}

#[test]
fn outside_the_window_nothing_looks_at_the_design() {
    let folder = tempfile::tempdir().unwrap();
    let config = CoreConfig::new(Design::FlashD, 5, Format::BF16);
    // A core with other signals, which ends the recording as soon as it is looked at.
    let other = CoreConfig { d: 8, ..config.clone() };
    let mut cores = [&config, &other].map(|core| Running::new(core, RtlEngine::default()).unwrap());
    let mut frames = [&config, &other].map(|core| Frame::new(&core.into()));
    let options = WaveOptions { signals: WaveSelection::All, from: 5, to: Some(8), ..WaveOptions::default() };
    let mut wave = WaveWriter::create(&folder.path().join("window.vcd"), &config, options).unwrap();
    for number in 0..20 {
        cores.iter_mut().zip(&mut frames).for_each(|(core, frame)| core.settle_frame(frame));
        let [own, other] =
            cores.each_ref().map(|core| Cycle { number, running: Some(core), frame: None, inside: &[] });
        if (5..=8).contains(&number) {
            assert!(wave.cycle(&other).is_err(), "{number}");
            wave.cycle(&own).unwrap();
        } else {
            wave.cycle(&other).unwrap();
        }
        cores.iter_mut().for_each(Running::clock);
    }
    assert_eq!(wave.finish().unwrap().cycles, 4);
}

#[test]
fn the_weight_brings_along_its_inputs() {
    for update in [FlashDVariant::Rounded, FlashDVariant::Fixed, FlashDVariant::Ranged] {
        let folder = tempfile::tempdir().unwrap();
        let config =
            CoreConfig { datapath: update.into(), ..CoreConfig::new(Design::FlashD, 5, Format::BF16) };
        let (config, w) = workload(config, 1, 4);
        let options =
            WaveOptions { signals: WaveSelection::parse("weight.upper").unwrap(), ..WaveOptions::default() };
        let vcd = Vcd::read(&record(folder.path(), &config, &w, options).files.wave);
        assert!(vcd.signals.contains_key("weight.weight_real") && vcd.signals.contains_key("weight.w"));
    }
}

/// Titles of the stages after the adder tree.
fn stage_titles(config: &CoreConfig) -> [&'static str; 5] {
    match config.datapath {
        Datapath::FlashD(FlashDVariant::Paper) => {
            ["score", "score waits for the other variants' pipeline", "difference", "weight", "output update"]
        }
        Datapath::FlashD(_) if config.value_stage() => {
            ["score", "weight state", "weight", "weight to the lanes, value to fixed point", "output update"]
        }
        Datapath::FlashD(_) => ["score", "weight state", "weight", "weight to the lanes", "output update"],
        Datapath::Fa2(Fa2Variant::SeparateScale | Fa2Variant::SharedScale) => {
            ["score and maximum", "exponential", "running sum", "value, reciprocal", "final scale"]
        }
        Datapath::Fa2(Fa2Variant::LogReference | Fa2Variant::SharedLogReference) => [
            "score",
            "reference, exponential and running sum",
            "exponential to the lanes",
            "value, reciprocal",
            "final scale",
        ],
        Datapath::Fa2(Fa2Variant::Ranged) => [
            "score",
            "power of two of the fraction",
            "reference, exponential and running sum",
            "value, reciprocal",
            "final scale",
        ],
        Datapath::Fa2(Fa2Variant::Literal) => {
            ["score", "maximum and exponentials", "running sum", "value, reciprocal", "division"]
        }
    }
}

#[test]
fn the_save_file_names_recorded_signals_under_the_stages_in_order() {
    for d in [2, 5, 16] {
        for config in variants(d, Format::BF16) {
            for selection in ["default", "all", "default,*.q", "o_0"] {
                let folder = tempfile::tempdir().unwrap();
                let (config, w) = workload(config.clone(), 1, 4);
                let signals = WaveSelection::parse(selection).unwrap();
                let run = record(
                    folder.path(),
                    &config,
                    &w,
                    WaveOptions { signals, from: 1, to: Some(5), ..WaveOptions::default() },
                );
                let vcd = Vcd::read(&run.files.wave);
                assert_eq!(run.files.gtkw, Some(run.files.wave.with_extension("gtkw")));
                let text = std::fs::read_to_string(run.files.gtkw.as_ref().unwrap()).unwrap();
                let file_name = run.files.wave.file_name().unwrap().to_str().unwrap();
                assert!(text.contains(&format!("[dumpfile] \"/{file_name}\"\n")), "{text}");
                let mut shown = 0;
                for line in text.lines().filter_map(|line| line.strip_prefix("+{")) {
                    let path = line.split_once("} ").unwrap().1;
                    let path = path.strip_prefix(&format!("{}.", config.name())).unwrap();
                    let (name, width) = match path.split_once('[') {
                        Some((name, range)) => {
                            (name, range.strip_suffix(":0]").unwrap().parse::<u32>().unwrap() + 1)
                        }
                        None => (path, 1),
                    };
                    let (_, length) = vcd.signals.get(name).unwrap_or_else(|| panic!("no {name}"));
                    assert!(name.ends_with("_real") || *length == Some(width), "{line}: {length:?}");
                    shown += 1;
                }
                let stages: Vec<&str> =
                    text.lines().filter_map(|line| line.strip_prefix("-Stage ")).collect();
                if selection == "o_0" {
                    assert_eq!((stages.len(), shown), (2, 3), "{text}");
                    continue;
                }
                let tree = match d {
                    2 => "0: adder tree",
                    5 => "0..1: adder tree",
                    _ => "1..2: adder tree",
                };
                let score = Stages::of(&config).score;
                let mut expected = vec!["0: query and key".to_string(), tree.into()];
                let titles = stage_titles(&config).into_iter().chain(["result"]);
                expected.extend((score..).zip(titles).map(|(stage, title)| format!("{stage}: {title}")));
                assert_eq!(stages, expected);
                assert!(text.contains("@8420\n+{o[0]}") && shown > 40);
            }
        }
    }
}

/// At GTKWave's first zoom a cycle is as wide as the longest decimal, of 6 pixels a character, and the column of values
/// next to the labels holds it.
#[test]
fn decimals_are_whole_at_the_first_zoom() {
    for config in variants(16, Format::BF16).into_iter().chain(variants(4, Format::FP8_E4M3)) {
        let folder = tempfile::tempdir().unwrap();
        let (config, w) = workload(config, 2, 6);
        let run = record(folder.path(), &config, &w, WaveOptions::default());
        let vcd = Vcd::read(&run.files.wave);
        let text = std::fs::read_to_string(run.files.gtkw.as_ref().unwrap()).unwrap();
        let (mut longest, mut label, mut folded) = (0, 0, false);
        for line in text.lines() {
            match line {
                "@c00200" => folded = true,
                "@1401200" => folded = false,
                _ => {}
            }
            let Some((name, path)) = line.strip_prefix("+{").and_then(|line| line.split_once("} ")) else {
                continue;
            };
            let path = path.strip_prefix(&format!("{}.", config.name())).unwrap();
            if folded {
                continue;
            }
            label = label.max(name.len());
            if path.ends_with("_real") {
                let values = (0..run.files.cycles).map(|cycle| format!("{:?}", vcd.real(path, cycle)).len());
                longest = longest.max(values.max().unwrap());
            }
        }
        // GTKWave shows 16 digits.
        let longest = longest.min(18) as f64;
        let number = |begin: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(begin)).unwrap();
            line.split(' ').next().unwrap().parse::<f64>().unwrap()
        };
        let cycle = 10.0 * 200.0 * number("*").exp2();
        assert!(longest > 6.0 && cycle >= 6.0 * longest, "{}: {cycle} for {longest}", config.name());
        assert!(number("[signals_width] ") >= 8.5 * (label as f64 + longest), "{}", config.name());
    }
}

#[test]
fn files_appear_when_they_are_finished() {
    let folder = tempfile::tempdir().unwrap();
    let names = || -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let (config, w) = workload(CoreConfig::new(Design::FlashD, 5, Format::BF16), 1, 4);
    let path = folder.path().join("run.vcd");
    let mut wave = WaveWriter::create(&path, &config, WaveOptions::default()).unwrap();
    run(&config, &w, Gaps::None, &mut [&mut wave]).unwrap();
    assert!(!names().iter().any(|name| name == "run.vcd" || name == "run.gtkw"));
    let files = wave.finish().unwrap();
    assert_eq!(names(), ["run.gtkw", "run.vcd"]);
    assert_eq!(files.wave, path);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(folder.path().join("ordinary"), "").unwrap();
        let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!((mode("run.vcd"), mode("run.gtkw")), (mode("ordinary"), mode("ordinary")));
        std::fs::remove_file(folder.path().join("ordinary")).unwrap();
    }
    // A writer that is never finished leaves no file.
    let mut wave =
        WaveWriter::create(&folder.path().join("other.vcd"), &config, WaveOptions::default()).unwrap();
    run(&config, &w, Gaps::None, &mut [&mut wave]).unwrap();
    drop(wave);
    assert_eq!(names(), ["run.gtkw", "run.vcd"]);
}

#[test]
fn mistakes_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let (config, w) = workload(CoreConfig::new(Design::FlashD, 5, Format::BF16), 1, 4);
    let create = |name: &str, options: WaveOptions| {
        WaveWriter::create(&folder.path().join(name), &config, options).map(|_| ()).unwrap_err().to_string()
    };
    let select = |patterns: &str| WaveOptions {
        signals: WaveSelection::parse(patterns).unwrap(),
        ..WaveOptions::default()
    };
    let text = create("a.vcd", select("o_*,*.scroe"));
    assert!(text.starts_with("no signal matches '*.scroe'; similar names: score.score"), "{text}");
    let text = create("a.vcd", select("weigth.w"));
    assert!(text.starts_with("no signal matches 'weigth.w'; similar names: weight.w,"), "{text}");
    for name in ["a.gtkw", "a.fst", "a.FST", "a.vcd.gz", ".."] {
        let text = create(name, WaveOptions::default());
        let problem =
            format!("{name}: not a name for a wave file, which is a VCD; give one that ends in .vcd");
        assert!(text.ends_with(&problem), "{text}");
    }
    let text = create("a.vcd", WaveOptions { format: WaveFormat::Fst, ..WaveOptions::default() });
    assert!(
        text.ends_with("a.vcd: not a name for a wave file, which is an FST; give one that ends in .fst"),
        "{text}"
    );
    let text = create("a.vcd", WaveOptions { from: 9, to: Some(8), ..WaveOptions::default() });
    assert_eq!(text, "the wave window ends in cycle 8, before it begins in cycle 9");
    let text = create("no/such/folder/a.vcd", WaveOptions::default());
    assert!(text.starts_with("cannot write ") && text.contains("a.vcd: "), "{text}");
    assert!(matches!(WaveSelection::parse(" ,"), Err(WaveError::NoPattern)));

    let late = WaveOptions { from: 1000, ..WaveOptions::default() };
    let mut wave = WaveWriter::create(&folder.path().join("late.vcd"), &config, late).unwrap();
    let mut seen = Seen::default();
    run(&config, &w, Gaps::None, &mut [&mut wave, &mut seen]).unwrap();
    let text = wave.finish().unwrap_err().to_string();
    let cycles = seen.0.len();
    assert_eq!(
        text,
        format!("nothing recorded: the wave window begins in cycle 1000, the run had {cycles} cycles")
    );

    let other = CoreConfig { d: 8, ..config.clone() };
    let mut wave =
        WaveWriter::create(&folder.path().join("other.vcd"), &other, WaveOptions::default()).unwrap();
    let error = run(&config, &w, Gaps::None, &mut [&mut wave]).unwrap_err();
    assert!(matches!(error, RunError::Observer(_)), "{error}");
    drop(wave);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

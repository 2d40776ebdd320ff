//! Waves read back with a reader that is not ours, against what the lock-step run did.

use flashd_golden::{Action, QueryResult};
use flashd_hwmodel::config::{CoreConfig, Design, Fa2Variant, WeightUnit};
use flashd_hwmodel::cores::v_step_latency;
use flashd_hwmodel::format::Format;
use flashd_hwmodel::numerics::Numerics;
use flashd_simulator::wave::{PERIOD_NS, Selection, WaveError, WaveFiles, WaveOptions, WaveWriter};
use flashd_simulator::{Engine, Gaps, Inputs, Observer, Outputs, RunError, Workload, run};
use flashd_workload::quantise::round_value;
use flashd_workload::{ScoreScale, TensorScale, choose_scaling, quantise, synthetic};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use wellen::{SignalRef, SignalValueRef, simple};

/// All kinds of core.
fn kinds(d: usize, format: Format) -> [CoreConfig; 4] {
    let flash_d = CoreConfig::new(Design::FlashD, d, format);
    let fa2 = CoreConfig::new(Design::Fa2, d, format);
    [
        flash_d.clone(),
        CoreConfig { weight: WeightUnit::Paper, ..flash_d },
        fa2.clone(),
        CoreConfig { fa2: Fa2Variant::Literal, ..fa2 },
    ]
}

fn workload(mut config: CoreConfig, queries: usize, keys: usize) -> (CoreConfig, Workload) {
    let (fmt, attention) = (config.format, synthetic::attention_like(5, queries, keys, config.d));
    let scaling =
        choose_scaling(fmt, &attention, ScoreScale::Auto, TensorScale::Auto, &|x| round_value(fmt, x))
            .unwrap();
    config.score_shift = Some(scaling.score_shift);
    let q = quantise(fmt, scaling, &attention);
    (config, Workload::new(q.d, &q.q, &q.k, &q.v, false))
}

/// What a second observer saw in every cycle.
#[derive(Default)]
struct Seen(Vec<(Inputs, Outputs)>);

impl Observer for Seen {
    fn cycle(&mut self, _: &Engine, inputs: &Inputs, outputs: &Outputs) -> std::io::Result<()> {
        self.0.push((inputs.clone(), outputs.clone()));
        Ok(())
    }
}

/// A recorded run.
struct Recorded {
    files: WaveFiles,
    seen: Vec<(Inputs, Outputs)>,
    results: Vec<QueryResult>,
}

fn record(folder: &Path, config: &CoreConfig, workload: &Workload, options: WaveOptions) -> Recorded {
    let path = folder.join(format!("{}.vcd", config.name()));
    let mut wave = WaveWriter::create(&path, config, options).unwrap();
    let mut seen = Seen::default();
    let run = run(config, workload, Gaps::Random(3), &mut [&mut wave, &mut seen]).unwrap();
    Recorded { files: wave.finish().unwrap(), seen: seen.0, results: run.results }
}

/// A VCD in memory, by path below the core.
struct Vcd {
    waves: simple::Waveform,
    core: String,
    signals: HashMap<String, (SignalRef, Option<u32>)>,
}

impl Vcd {
    fn read(path: &Path) -> Vcd {
        let mut waves = simple::read(path).unwrap();
        let h = waves.hierarchy();
        let core = h.first_scope().unwrap().name(h).to_string();
        let signals: HashMap<_, _> = h
            .all_vars()
            .map(|var| (h[var].full_name(h), (h[var].signal_ref(), h[var].length(h))))
            .map(|(name, signal)| (name.strip_prefix(&format!("{core}.")).unwrap().to_string(), signal))
            .collect();
        let all: HashSet<SignalRef> = signals.values().map(|(signal, _)| *signal).collect();
        waves.load_signals(&all.into_iter().collect::<Vec<_>>());
        Vcd { waves, core, signals }
    }

    fn at<T>(&self, name: &str, time: u64, read: impl Fn(SignalValueRef<'_>) -> Option<T>) -> T {
        let (id, _) = self.signals.get(name).unwrap_or_else(|| panic!("no signal {name}"));
        let times = self.waves.time_table();
        let index = times.partition_point(|t| *t <= time) - 1;
        let signal = self.waves.get_signal(*id).unwrap();
        let offset = signal.get_offset(index as u32).unwrap();
        read(signal.get_value_at(&offset, offset.elements - 1))
            .unwrap_or_else(|| panic!("{name}: other type"))
    }

    /// Bits in the middle of a cycle's first half.
    fn bits(&self, name: &str, cycle: u64) -> u64 {
        self.at(name, cycle * PERIOD_NS + 1, |v| u64::from_str_radix(&v.to_bit_string()?, 2).ok())
    }

    fn real(&self, name: &str, cycle: u64) -> f64 {
        self.at(name, cycle * PERIOD_NS + 1, |v| match v {
            SignalValueRef::Real(x) => Some(x),
            _ => None,
        })
    }
}

/// Every port of every cycle.
fn check_ports(config: &CoreConfig, vcd: &Vcd, seen: &[(Inputs, Outputs)]) {
    let fmt = config.format;
    for (cycle, (i, o)) in seen.iter().enumerate() {
        let cycle = cycle as u64;
        for (name, bit) in [
            ("rst", i.rst),
            ("q_valid", i.q_valid),
            ("k_valid", i.k_valid),
            ("k_last", i.k_last),
            ("v_step", o.v_step),
            ("v_ren", o.v_ren),
            ("o_valid", o.o_valid),
            ("o_invalid", o.o_invalid),
        ] {
            assert_eq!(vcd.bits(name, cycle), bit as u64, "{} {name} in cycle {cycle}", config.name());
        }
        for (name, elements) in [("q", &i.q), ("k", &i.k), ("v", &i.v), ("o", &o.o)] {
            for (j, bits) in elements.iter().enumerate().take(4) {
                let at = format!("{} {name}_{j} in cycle {cycle}", config.name());
                assert_eq!(vcd.bits(&format!("{name}_{j}"), cycle), *bits, "{at}");
                assert_eq!(vcd.real(&format!("{name}_{j}_real"), cycle), fmt.value(*bits), "{at}");
            }
        }
    }
}

/// Cycle of acceptance, query and key of every step.
fn steps(workload: &Workload, seen: &[(Inputs, Outputs)]) -> Vec<(u64, usize, usize)> {
    let accepted = (0u64..).zip(seen).filter(|(_, (i, _))| i.k_valid).map(|(cycle, _)| cycle);
    let keys = (0..workload.queries.len()).flat_map(|q| (0..workload.queries[q].keys).map(move |k| (q, k)));
    accepted.zip(keys).map(|(cycle, (q, k))| (cycle, q, k)).collect()
}

/// The scalar path of every step against the model: bits, and decimals by formulas of our own.
fn check_scalars(config: &CoreConfig, vcd: &Vcd, workload: &Workload, run: &Recorded) {
    let (n, fmt) = (Numerics::new(config), config.format);
    let lse = config.design == Design::FlashD && config.weight == WeightUnit::Lse;
    let fixed = lse || config.design == Design::Fa2 && config.fa2 == Fa2Variant::Default;
    let unit = if config.design == Design::FlashD { "weight" } else { "softmax" };
    let weight = if config.design == Design::FlashD { "weight.w" } else { "softmax.e" };
    let (score_at, weight_at) = (n.tree_levels as u64 + 1, v_step_latency(config) as u64);
    let mut scores: Vec<f64> = Vec::new();
    for (accepted, query, key) in steps(workload, &run.seen) {
        let step = run.results[query].steps[key];
        let at = format!("{} query {query} key {key}", config.name());
        let cycle = accepted + score_at;
        let mask = |width: u32| (1u64 << width) - 1;
        let (s_bits, s) = match fixed {
            true => (step.s as u64 & mask(n.score_bits()), step.s as f64 / (n.score_fraction as f64).exp2()),
            false => (step.s as u64, fmt.value(step.s as u64)),
        };
        assert_eq!(vcd.bits(&format!("{unit}.score.score"), cycle), s_bits, "{at}");
        assert_eq!(vcd.real(&format!("{unit}.score.score_real"), cycle), s, "{at}");
        if key == 0 {
            scores.clear();
        }
        if lse && key > 0 {
            let x = step.x as f64 / (n.state_fraction as f64).exp2();
            assert_eq!(vcd.real("weight.difference.x_real", cycle), x, "{at}");
            assert_eq!(vcd.real("weight.log_sum_exp_q.q_real", cycle), s - x, "{at}");
            let t = vcd.real("weight.argument.t_real", cycle);
            assert!((t - x.abs().min(32.0)).abs() <= (-(n.exp.value_fraction as f64)).exp2(), "{at}");
            let tail = vcd.real("weight.tail.tail_real", cycle);
            assert!((tail - (-t).exp().ln_1p()).abs() < 1e-2, "{at}: tail {tail} for t = {t}");
        }
        if config.design == Design::Fa2 && key > 0 {
            let m = scores.iter().copied().fold(f64::MIN, f64::max);
            assert_eq!(vcd.real("softmax.maximum_q.q_real", cycle), m, "{at}");
            if fixed {
                assert_eq!(vcd.real("softmax.maximum.distance_real", cycle), (s - m).abs(), "{at}");
            }
        }
        scores.push(s);
        if step.action != Action::Hold {
            let cycle = accepted + weight_at;
            assert_eq!(vcd.bits(weight, cycle), step.w, "{at}");
            assert_eq!(vcd.real(&format!("{weight}_real"), cycle), fmt.value(step.w), "{at}");
            if lse {
                let w = match step {
                    _ if key == 0 => 1.0,
                    step if step.upper => 1.0 - fmt.value(step.w),
                    step => fmt.value(step.w),
                };
                assert_eq!(vcd.real("weight.weight_real", cycle), w, "{at}");
            }
        }
        if config.design == Design::Fa2 && fixed && key + 1 == workload.queries[query].keys {
            let m = scores.iter().copied().fold(f64::MIN, f64::max);
            let l: f64 = scores.iter().map(|s| (s - m).exp()).sum();
            let done = accepted + n.latency() as u64 - 1;
            let (sum, r) = (vcd.real("sum.reciprocal.sum_real", done), vcd.real("sum.r_real", done));
            assert!((sum / l - 1.0).abs() < 0.2, "{at}: sum {sum}, expected about {l}");
            let right = vcd.bits("sum.right", done) as f64;
            assert!((sum * r * (-right).exp2() - 1.0).abs() < 0.05, "{at}: 1 / {sum} is not {r} 2^-{right}");
        }
    }
}

#[test]
fn waves_are_what_the_run_did() {
    for format in [Format::BF16, Format::FP8_E4M3] {
        for d in [5, 16] {
            for config in kinds(d, format) {
                let folder = tempfile::tempdir().unwrap();
                let (config, w) = workload(config, 3, 14);
                let run = record(folder.path(), &config, &w, WaveOptions::default());
                let vcd = Vcd::read(&run.files.vcd);
                assert_eq!(run.files.cycles as usize, run.seen.len());
                assert_eq!(vcd.core, config.name());
                let reals = vcd.signals.keys().filter(|name| name.ends_with("_real")).count();
                assert_eq!(run.files.signals, vcd.signals.len() - reals);
                check_ports(&config, &vcd, &run.seen);
                check_scalars(&config, &vcd, &w, &run);
            }
        }
    }
}

#[test]
fn the_clock_rises_with_every_cycle() {
    let folder = tempfile::tempdir().unwrap();
    let (config, w) = workload(CoreConfig::new(Design::FlashD, 5, Format::BF16), 1, 4);
    let options = WaveOptions { signals: Selection::All, from: 3, to: None };
    let run = record(folder.path(), &config, &w, options);
    let vcd = Vcd::read(&run.files.vcd);
    let end = run.seen.len() as u64;
    let expected: Vec<u64> = (3..end)
        .flat_map(|c| [c * PERIOD_NS, c * PERIOD_NS + PERIOD_NS / 2])
        .chain([end * PERIOD_NS])
        .collect();
    assert_eq!(vcd.waves.time_table(), expected);
    for cycle in 3..end {
        for clk in ["clk", "dot.clk", "weight.log_sum_exp_q.clk"] {
            let level = |time| vcd.at(clk, time, |v| v.to_bit_string());
            assert_eq!((level(cycle * PERIOD_NS), level(cycle * PERIOD_NS + 5)), ("1".into(), "0".into()));
        }
    }
}

#[test]
fn window_and_selection() {
    let folder = tempfile::tempdir().unwrap();
    let (config, w) = workload(CoreConfig::new(Design::Fa2, 16, Format::BF16), 2, 12);
    let all = record(
        folder.path(),
        &config,
        &w,
        WaveOptions { signals: Selection::parse("all").unwrap(), ..WaveOptions::default() },
    );
    let everything = Vcd::read(&all.files.vcd);
    check_ports(&config, &everything, &all.seen);
    let patterns = Selection::parse("o_1?, *.lane_9.o_q.q,fa2_*.sum.sum_q.*").unwrap();
    let part = record(folder.path(), &config, &w, WaveOptions { signals: patterns, from: 10, to: Some(20) });
    let vcd = Vcd::read(&part.files.vcd);
    let mut names: Vec<&str> = vcd.signals.keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected = "clk group_0.lane_9.o_q.q group_0.lane_9.o_q.q_real o_10 o_10_real o_11 o_11_real o_12 o_12_real \
         o_13 o_13_real o_14 o_14_real o_15 o_15_real sum.sum_q.clk sum.sum_q.d sum.sum_q.d_real sum.sum_q.enable \
         sum.sum_q.q sum.sum_q.q_real";
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
    let default = Selection::parse("default,*.lane_9.o_q.q").unwrap();
    let vcd = Vcd::read(
        &record(folder.path(), &config, &w, WaveOptions { signals: default, ..WaveOptions::default() })
            .files
            .vcd,
    );
    assert!(vcd.signals.contains_key("o_3") && vcd.signals.contains_key("group_0.lane_9.o_q.q"));
    assert!(!vcd.signals.contains_key("o_4"));
}

#[test]
fn the_weight_brings_along_what_it_is_computed_from() {
    let folder = tempfile::tempdir().unwrap();
    let (config, w) = workload(CoreConfig::new(Design::FlashD, 5, Format::BF16), 1, 4);
    let options =
        WaveOptions { signals: Selection::parse("weight.upper").unwrap(), ..WaveOptions::default() };
    let vcd = Vcd::read(&record(folder.path(), &config, &w, options).files.vcd);
    assert!(vcd.signals.contains_key("weight.weight_real") && vcd.signals.contains_key("weight.w"));
}

#[test]
fn the_save_file_names_recorded_signals_under_the_stages_in_order() {
    for d in [2, 5, 16] {
        for config in kinds(d, Format::BF16) {
            for selection in ["default", "all", "default,*.q", "o_0"] {
                let folder = tempfile::tempdir().unwrap();
                let (config, w) = workload(config.clone(), 1, 4);
                let signals = Selection::parse(selection).unwrap();
                let run = record(folder.path(), &config, &w, WaveOptions { signals, from: 1, to: Some(5) });
                let vcd = Vcd::read(&run.files.vcd);
                assert_eq!(run.files.gtkw, run.files.vcd.with_extension("gtkw"));
                let text = std::fs::read_to_string(&run.files.gtkw).unwrap();
                let file_name = run.files.vcd.file_name().unwrap().to_str().unwrap();
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
                let levels = Numerics::new(&config).tree_levels;
                let (weight, update) = match config.design {
                    Design::FlashD => ("weight", "output update"),
                    Design::Fa2 => ("value", "division"),
                };
                let tree = if levels == 1 { "1".to_string() } else { format!("1..{levels}") };
                let expected = [
                    "0: query and key".to_string(),
                    format!("{tree}: adder tree"),
                    format!("{}: score and weight state", levels + 1),
                    format!("{}: {weight}", levels + 2),
                    format!("{}: {update}", levels + 3),
                    format!("{}: result", levels + 4),
                ];
                assert_eq!(stages, expected);
                assert!(text.contains("@8420\n+{o[0]}") && shown > 40);
            }
        }
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
    assert_eq!(files.vcd, path);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(folder.path().join("ordinary"), "").unwrap();
        let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!((mode("run.vcd"), mode("run.gtkw")), (mode("ordinary"), mode("ordinary")));
        std::fs::remove_file(folder.path().join("ordinary")).unwrap();
    }
    // A writer that is never finished leaves nothing behind.
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
        signals: Selection::parse(patterns).unwrap(),
        ..WaveOptions::default()
    };
    let text = create("a.vcd", select("o_*,*.scroe"));
    assert!(text.starts_with("no signal matches '*.scroe'; similar names: weight.score.score"), "{text}");
    let text = create("a.vcd", select("weigth.w"));
    assert!(text.starts_with("no signal matches 'weigth.w'; similar names: weight.w,"), "{text}");
    let text = create("a.gtkw", WaveOptions::default());
    assert!(text.ends_with("a.gtkw: not a name for a wave file, give one that ends in .vcd"), "{text}");
    let text = create("a.vcd", WaveOptions { from: 9, to: Some(8), ..WaveOptions::default() });
    assert_eq!(text, "the wave window ends in cycle 8, before it begins in cycle 9");
    let text = create("no/such/folder/a.vcd", WaveOptions::default());
    assert!(text.starts_with("cannot write ") && text.contains("a.vcd: "), "{text}");
    assert!(matches!(Selection::parse(" ,"), Err(WaveError::NoPattern)));

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

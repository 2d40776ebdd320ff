//! FST and VCD of one run, each read back: the same signals with the same changes.

use super::vcd::Vcd;
use super::{variants, workload};
use flashd_golden::{Action, Model, Step};
use flashd_hwmodel::catalogue;
use flashd_simulator::array::{ArrayWorkload, Disturbance};
use flashd_simulator::{
    Drive, Gaps, PERIOD_NS, RtlEngine, WaveFormat, WaveOptions, WaveSelection, WaveWriter, array, run, split,
};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, Hold, SplitConfig};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use flashd_spec::numerics::Numerics;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

const FORMATS: [WaveFormat; 2] = [WaveFormat::Vcd, WaveFormat::Fst];

/// A writer for each format.
fn writers(folder: &Path, design: impl Into<Machine>, options: &WaveOptions) -> [WaveWriter; 2] {
    let design = design.into();
    FORMATS.map(|format| {
        let path = folder.join(format!("wave.{}", format.ending()));
        WaveWriter::create(&path, &design, WaveOptions { format, ..options.clone() }).unwrap()
    })
}

fn finish(writers: [WaveWriter; 2]) -> [PathBuf; 2] {
    writers.map(|writer| {
        let files = writer.finish().unwrap();
        assert_eq!(files.gtkw, Some(files.wave.with_extension("gtkw")));
        files.wave
    })
}

/// The times and values of a signal.
fn changes(wave: &Vcd, name: &str) -> Vec<(u64, String)> {
    let (signal, _) = wave.signals[name];
    let times = wave.waves.time_table();
    let signal = wave.waves.get_signal(signal).unwrap();
    signal.iter_changes().map(|(index, value)| (times[index as usize], value.to_string())).collect()
}

/// Compares two files, and returns how many signals changed how often.
fn compare(files: &[PathBuf; 2]) -> (usize, usize) {
    let [vcd, fst] = files.each_ref().map(|path| Vcd::read(path));
    assert_eq!(vcd.core, fst.core);
    assert_eq!(vcd.waves.time_table(), fst.waves.time_table(), "{}", vcd.core);
    let names = |wave: &Vcd| {
        let mut names: Vec<(String, Option<u32>)> =
            wave.signals.iter().map(|(name, (_, width))| (name.clone(), *width)).collect();
        names.sort();
        names
    };
    assert_eq!(names(&vcd), names(&fst), "{}", vcd.core);
    let order = |wave: &Vcd| {
        let h = wave.waves.hierarchy();
        h.all_vars().map(|var| h[var].full_name(h)).collect::<Vec<_>>()
    };
    assert_eq!(order(&vcd), order(&fst), "{}", vcd.core);
    let mut count = 0;
    for name in vcd.signals.keys() {
        let of_vcd = changes(&vcd, name);
        assert_eq!(of_vcd, changes(&fst, name), "{} {name}", vcd.core);
        count += of_vcd.len();
    }
    (vcd.signals.len(), count)
}

fn options(signals: &str) -> WaveOptions {
    WaveOptions { signals: WaveSelection::parse(signals).unwrap(), ..WaveOptions::default() }
}

#[test]
fn both_formats_have_the_same_signals_and_changes() {
    for config in variants(5, Format::BF16).into_iter().chain(variants(8, Format::FP8_E4M3)) {
        let (config, w) = workload(config, 3, 9);
        for (signals, from, to) in [("all", 0, None), ("default,*.o_q.q", 7, Some(30))] {
            let folder = tempfile::tempdir().unwrap();
            let mut all = writers(folder.path(), &config, &WaveOptions { from, to, ..options(signals) });
            let [vcd, fst] = &mut all;
            run(&config, &w, Gaps::Random(3), &mut [vcd, fst]).unwrap();
            let (signals, changes) = compare(&finish(all));
            assert!(signals > 80 && changes > 5 * signals, "{}: {signals}, {changes}", config.name());
        }
    }
}

/// More changes than go to the writing thread at once, and than an FST compresses at once.
#[test]
fn long_runs_have_them_too() {
    let (config, w) = workload(CoreConfig::new(Design::FlashD, 16, Format::BF16), 200, 260);
    let folder = tempfile::tempdir().unwrap();
    let mut all = writers(folder.path(), &config, &options("default"));
    let [vcd, fst] = &mut all;
    run(&config, &w, Gaps::None, &mut [vcd, fst]).unwrap();
    let files = finish(all);
    let (_, changes) = compare(&files);
    assert!(changes > 4_000_000, "{changes}");
    let [vcd, fst] = files.map(|path| std::fs::metadata(path).unwrap().len());
    assert!(5 * fst < vcd, "{fst} of {vcd} bytes");
}

/// No net is read then.
#[test]
fn the_clock_alone_is_a_wave() {
    let (config, w) = workload(CoreConfig::new(Design::FlashD, 5, Format::BF16), 2, 9);
    let folder = tempfile::tempdir().unwrap();
    let mut all = writers(folder.path(), &config, &WaveOptions { from: 3, ..options("clk") });
    let [vcd, fst] = &mut all;
    run(&config, &w, Gaps::None, &mut [vcd, fst]).unwrap();
    let (signals, changes) = compare(&finish(all));
    assert!(signals == 1 && changes > 30, "{signals}, {changes}");
}

/// In each stage that has them, the named actions of a run agree with the model's steps, one a cycle.
#[test]
fn actions_have_names() {
    for mut config in variants(5, Format::BF16) {
        if config.hold.is_none() && !config.follows_the_paper() {
            config.hold = Some(Hold::Below(2.0));
        }
        let (config, w) = workload(config, 3, 14);
        let folder = tempfile::tempdir().unwrap();
        let mut all = writers(folder.path(), &config, &options("default"));
        let [vcd, fst] = &mut all;
        run(&config, &w, Gaps::Random(3), &mut [vcd, fst]).unwrap();
        let fst = Vcd::read(&finish(all)[1]);
        let results = w.results(&Model::new(&config), true);
        let steps: Vec<&Step> = results.iter().flat_map(|result| &result.steps).collect();
        let expected = [Action::Load, Action::Update, Action::Hold]
            .map(|action| steps.iter().filter(|step| step.action == action).count());
        let h = fst.waves.hierarchy();
        let mut stages = 0;
        for var in h.all_vars().map(|var| &h[var]).filter(|var| var.name(h) == "action") {
            let (table, names) = var.enum_type(h).unwrap();
            let names: HashMap<&str, &str> = names.into_iter().collect();
            assert_eq!((table, names.len()), ("action", 4));
            let name = var.full_name(h);
            let name = name.strip_prefix(&format!("{}.", config.name())).unwrap();
            let mut counts: HashMap<&str, usize> = HashMap::new();
            for cycle in 0..fst.waves.time_table().last().unwrap() / PERIOD_NS {
                let bits = fst.at(name, cycle * PERIOD_NS + 1, |value| value.to_bit_string());
                *counts.entry(names[bits.as_str()]).or_default() += 1;
            }
            let counts = ["load", "update", "hold"].map(|name| counts.get(name).copied().unwrap_or(0));
            assert_eq!(counts, expected, "{} {name}", config.name());
            stages += 1;
        }
        assert!(stages >= 1, "{}", config.name());
    }
}

/// Names of one net are one signal.
#[test]
fn a_net_is_written_once() {
    let (config, w) = workload(CoreConfig::new(Design::FlashD, 5, Format::BF16), 2, 9);
    let folder = tempfile::tempdir().unwrap();
    let mut all = writers(folder.path(), &config, &options("all"));
    let [vcd, fst] = &mut all;
    run(&config, &w, Gaps::None, &mut [vcd, fst]).unwrap();
    for wave in finish(all).map(|path| Vcd::read(&path)) {
        let same = |a: &str, b: &str| wave.signals[a].0 == wave.signals[b].0;
        assert!(same("score.score", "weight.score") && same("score.score_real", "weight.score_real"));
        assert!(!same("score.score", "weight.score_q.q"));
        let signals: HashSet<_> = wave.signals.values().map(|(signal, _)| *signal).collect();
        assert!(2 * signals.len() < wave.signals.len(), "{} of {}", signals.len(), wave.signals.len());
    }
}

#[test]
fn all_engines_give_the_same_file() {
    for config in
        [CoreConfig::new(Design::FlashD, 16, Format::BF16), CoreConfig::new(Design::Fa2, 5, Format::FP8_E4M3)]
    {
        let (config, w) = workload(config, 2, 9);
        let files = [RtlEngine::Compiled, RtlEngine::Reference, RtlEngine::RustHdl].map(|engine| {
            let folder = tempfile::tempdir().unwrap();
            let mut all = writers(folder.path(), &config, &options("all"));
            let [vcd, fst] = &mut all;
            run(&config, &w, Drive { gaps: Gaps::Random(1), engine }, &mut [vcd, fst]).unwrap();
            finish(all).map(|path| std::fs::read(path).unwrap())
        });
        assert!(files[0] == files[1] && files[0] == files[2], "{}", config.name());
    }
}

#[test]
fn arrays_have_waves() {
    for core in CoreConfig::variants(5, Format::BF16) {
        for masks in [false, true] {
            let core = CoreConfig { masks, ..core.clone() };
            let (core, w) = workload(core, 5, 9);
            let config = ArrayConfig::new(core.clone(), 3);
            let blocks = ArrayWorkload::new(&w, 3);
            let folder = tempfile::tempdir().unwrap();
            let mut all = writers(folder.path(), &config, &options("default,core_2.weight.*"));
            let [vcd, fst] = &mut all;
            array::run(&config, &blocks, &Disturbance::gaps(Gaps::Random(2)), &mut [vcd, fst]).unwrap();
            let files = finish(all);
            compare(&files);
            // Where the cores make their results, the first core's result is on the port at once.
            let own = catalogue::at_port(&core, &Numerics::new(&core)).is_none();
            let wave = Vcd::read(&files[1]);
            assert_eq!(wave.core, config.name());
            let cycles = wave.waves.time_table().last().unwrap() / PERIOD_NS;
            let mut results = 0;
            for cycle in 0..cycles {
                if wave.bits("o_valid", cycle) == 1 && wave.bits("o_index", cycle) == 0 {
                    assert!(wave.real("o_0_real", cycle).is_finite());
                    if own {
                        assert_eq!(wave.real("o_0_real", cycle), wave.real("core_0.o_0_real", cycle));
                    }
                    results += 1;
                }
            }
            assert_eq!(results, 2, "{}", config.name());
            assert_eq!(wave.signals.contains_key("core_0.o_0_real"), own, "{}", config.name());
            assert!(wave.signals.keys().any(|name| name.starts_with("core_2.weight.")));
            let save = std::fs::read_to_string(files[1].with_extension("gtkw")).unwrap();
            assert!(
                save.contains("-Core 0: Stage 0: query and key") && save.contains("[dumpfile] \"/wave.fst\"")
            );
        }
    }
}

#[test]
fn splits_have_waves() {
    for design in [Design::FlashD, Design::Fa2] {
        let core = CoreConfig { masks: true, partial: true, ..CoreConfig::new(design, 5, Format::BF16) };
        let (core, w) = workload(core, 3, 9);
        let config = SplitConfig::new(core, 2);
        let folder = tempfile::tempdir().unwrap();
        let mut all = writers(folder.path(), &config, &options("all"));
        let [vcd, fst] = &mut all;
        split::run(&config, &w, Gaps::Random(2), &mut [vcd, fst]).unwrap();
        let (signals, _) = compare(&finish(all));
        assert!(signals > 500, "{signals}");
    }
}

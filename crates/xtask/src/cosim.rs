//! `cargo xtask cosim`: the generated Verilog against the bit-exact model and the cycle engine.

use crate::failure::{Outcome, check, input, none};
use crate::icarus::{checks, icarus};
use crate::process::{pool, processors, require, simulators};
use crate::selection::{DesignSelection, Surroundings};
use crate::selections::{
    D, biased, capped, datapath, fa2, flash_d, late, masked, partial, to_int8, with_states,
};
use crate::work::{self, create, only};
use clap::Args;
use flashd::parts::{variants, whole};
use flashd_spec::config::{Arithmetic, CoreConfig, DatapathKind, Fa2Variant, FlashDVariant, Hold, Lengths};
use flashd_spec::format::{Format, Formats};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Keys of a testbench unless all checks are long. In Icarus each key takes a millisecond or more, and there are more than a hundred designs;
/// Verilator has the long streams.
const FEW_KEYS: &str = "256";

/// Co-simulate the generated Verilog with the bit-exact model and the cycle engine
///
/// In Icarus, which knows X: the emitted testbench of every variant and mixed precision at d = 4, of shipped d = 16 cores, and of cores,
/// arrays and split keys with masks, partial results and late values, 256 keys each. With --long variants have d = 8, there is a core
/// with d = 64, and keys are as many as Icarus manages in seconds. In Verilator, by `flashd cosim`: 20,000 keys each through three
/// shipped cores with d = 16, odd vector lengths, formats, widths and arrays. Verilator's executables are kept in target/cosim.
#[derive(Args)]
pub struct CosimOptions {
    /// All shipped cores with N keys each, and more odd configurations with 100,000; d = 256 takes Verilator some minutes to compile
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000000", value_parser = clap::value_parser!(u64).range(1..))]
    long: Option<u64>,
    /// How many at the same time (default: one for each processor)
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1, 1024))]
    jobs: Option<usize>,
    /// Only designs with this in their name, to repeat some of them
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

/// Both simulators.
pub fn cosim(options: &CosimOptions) -> Outcome {
    require(&["iverilog", "vvp", "verilator", "make", "g++"])?;
    let wanted = |selection: &DesignSelection| selection.to_string().contains(&options.only);
    let mut testbenches: Vec<_> =
        in_icarus(options.long.is_some()).into_iter().filter(|(selection, _)| wanted(selection)).collect();
    if options.long.is_none() {
        for (_, flags) in testbenches.iter_mut().filter(|(_, flags)| !flags.contains(&"--keys")) {
            flags.extend(["--keys", FEW_KEYS]);
        }
    }
    let mut streams = match options.long {
        None => vec![(shipped(), vec!["--engine-keys", "1000"]), (few(), vec![])],
        Some(_) => vec![
            (
                CoreConfig::shipped().into_iter().map(DesignSelection::core).collect(),
                vec!["--engine-keys", "2000"],
            ),
            ([few(), many()].concat(), vec!["--keys", "100000", "--engine-keys", "2000"]),
        ],
    };
    let keys = options.long.map(|keys| keys.to_string());
    if let Some(keys) = &keys {
        streams[0].1.extend(["--keys", keys]);
    }
    streams.iter_mut().for_each(|(selections, _)| selections.retain(wanted));
    streams.retain(|(selections, _)| !selections.is_empty());
    if testbenches.is_empty() && streams.is_empty() {
        return input(format!("--only {}: no design has this in its name", options.only));
    }
    if !testbenches.is_empty() {
        in_parallel(&testbenches, options.jobs)?;
    }
    let build = simulators()?.display().to_string();
    let jobs = options.jobs.unwrap_or_else(processors).to_string();
    for (selections, flags) in &streams {
        let mut words = ["flashd", "cosim", "--jobs", &jobs, "--build", &build].map(String::from).to_vec();
        words.extend(flags.iter().map(|word| word.to_string()));
        words.extend(
            selections.iter().flat_map(|selection| ["--core".to_string(), selection.flags().join(" ")]),
        );
        match flashd::run(words) {
            0 => {}
            2 => return input("cosim: flashd refuses a design"),
            _ => return check("cosim: a difference in Verilator"),
        }
    }
    Ok(())
}

/// The emitted testbenches in Icarus.
fn in_parallel(designs: &[(DesignSelection, Vec<&str>)], jobs: Option<usize>) -> Outcome {
    let work = work::temporary()?;
    let passed: usize = pool(jobs)?.install(|| {
        let one = |(i, (selection, options)): (usize, &(DesignSelection, Vec<&str>))| {
            let folder = work.path().join(i.to_string());
            let verdict = simulate(selection, options, &folder);
            // Removed at once, or the disk fills.
            let _ = std::fs::remove_dir_all(&folder);
            match &verdict {
                Ok((name, checks)) => println!("{name:<40} {checks} checks"),
                Err(failure) => println!("{:<40} FAILED: {failure}", selection.to_string()),
            }
            usize::from(verdict.is_ok())
        };
        designs.par_iter().enumerate().with_max_len(1).map(one).sum()
    });
    println!("cosim: {passed} of {} designs passed in Icarus", designs.len());
    none(designs.len() - passed, "designs failed in Icarus")
}

/// The testbench of one design: its name and the number of its checks.
fn simulate(selection: &DesignSelection, options: &[&str], folder: &Path) -> Outcome<(String, u64)> {
    create(folder)?;
    selection.generate(&[&["--testbench"], options].concat(), folder)?;
    let name = only(folder, "_tb.v")?;
    let sources = [format!("{name}_tb.v"), format!("{name}.v")].map(PathBuf::from);
    let checks = checks(&icarus(folder, &format!("{name}_tb"), &sources, &[])?)?;
    Ok((name, checks))
}

/// The designs for Icarus, and options of their testbenches. The slowest are long: longer vectors have more of the
/// same modules, which Verilator has with d = 16.
fn in_icarus(long: bool) -> Vec<(DesignSelection, Vec<&'static str>)> {
    let d = if long { D } else { D / 2 };
    let short = variants(d).into_iter().map(|core| (DesignSelection::core(core), vec!["--keys", FEW_KEYS]));
    let mut all: Vec<_> = short.collect();
    for of in [flash_d, fa2] {
        all.push((DesignSelection::core(of(16, Format::BF16)), vec!["--seed", "2"]));
        all.push((DesignSelection::core(of(16, Format::FP8_E4M3)), vec![]));
    }
    let mut cores = if long { vec![flash_d(64, Format::FP8_E4M3)] } else { Vec::new() };
    let masks = [
        flash_d(12, Format::BF16),
        datapath(FlashDVariant::Rounded, 12, Format::BF16),
        datapath(FlashDVariant::Fixed, 12, Format::BF16),
        fa2(12, Format::BF16),
        datapath(Fa2Variant::LogReference, 12, Format::BF16),
    ];
    cores.extend(masks.into_iter().chain(CoreConfig::staged_otherwise(12, Format::BF16)).map(masked));
    // Either format, by the lanes.
    let format = |kind: &DatapathKind| match kind.arithmetic {
        Arithmetic::Fixed => Format::FP8_E4M3,
        _ => Format::BF16,
    };
    let mergeable = with_states(5, format)
        .chain([holding(Hold::Below(6.0), flash_d(5, Format::BF16)), fa2(5, Format::INT8)]);
    cores.extend(mergeable.chain(CoreConfig::staged_otherwise(5, Format::BF16)).map(partial));
    let delayed = [flash_d(7, Format::FP8_E4M3), masked(fa2(7, Format::FP8_E4M3))];
    cores.extend(delayed.map(|core| late(5, core)));
    let with_biases =
        [flash_d(5, Format::BF16), masked(fa2(6, Format::FP8_E4M3)), partial(flash_d(12, Format::INT8))];
    cores.extend(with_biases.map(biased));
    let caps = [flash_d(5, Format::BF16), biased(fa2(9, Format::BF16)), masked(flash_d(6, Format::INT8))];
    cores.extend(caps.map(capped));
    cores.extend([
        to_int8(0, flash_d(6, Format::BF16)),
        to_int8(0, partial(flash_d(5, Format::INT8))),
        to_int8(4, fa2(5, Format::INT4)),
        to_int8(2, fa2(6, Format::FP8_E4M3)),
        flash_d(5, Format::fixed(16, 8)),
        masked(fa2(6, Format::fixed(16, 8))),
        partial(flash_d(4, Format::INT16)),
        biased(partial(fa2(4, Format::fixed(8, 4)))),
    ]);
    all.extend(cores.into_iter().map(|core| (DesignSelection::core(core), vec![])));
    let machines = arrays_and_split_keys().into_iter();
    all.extend(machines.map(|(core, around)| (DesignSelection::around(core, around), vec![])));
    all
}

fn arrays_and_split_keys() -> Vec<(CoreConfig, Surroundings)> {
    let (flash_d_6, fa2_6) = (flash_d(6, Format::FP8_E4M3), fa2(6, Format::FP8_E4M3));
    let five = Surroundings::Array { queries: 2, key_index_bits: Some(5) };
    vec![
        (flash_d_6.clone(), Surroundings::array(8)),
        (fa2_6.clone(), Surroundings::array(3)),
        (masked(flash_d_6.clone()), Surroundings::array(4)),
        (biased(masked(fa2_6.clone())), Surroundings::Turns { queries: 6, interleave: 3 }),
        (late(2, flash_d_6.clone()), Surroundings::Turns { queries: 4, interleave: 4 }),
        (capped(fa2(5, Format::BF16)), Surroundings::Turns { queries: 2, interleave: 2 }),
        (masked(fa2_6), five),
        (late(3, flash_d_6.clone()), Surroundings::array(2)),
        (biased(flash_d_6), Surroundings::array(3)),
        (capped(fa2(5, Format::BF16)), Surroundings::array(2)),
        (capped(flash_d(5, Format::BF16)), Surroundings::Split { parts: 2 }),
        (biased(fa2(5, Format::BF16)), Surroundings::Split { parts: 2 }),
        (flash_d(5, Format::BF16), Surroundings::Split { parts: 2 }),
        (datapath(FlashDVariant::Rounded, 5, Format::BF16), Surroundings::Split { parts: 8 }),
        (datapath(FlashDVariant::Fixed, 5, Format::BF16), Surroundings::Split { parts: 4 }),
        (
            holding(Hold::Below(6.0), datapath(FlashDVariant::Rounded, 5, Format::BF16)),
            Surroundings::Split { parts: 4 },
        ),
        (fa2(5, Format::BF16), Surroundings::Split { parts: 4 }),
        (late(2, datapath(Fa2Variant::SeparateScale, 5, Format::BF16)), Surroundings::Split { parts: 2 }),
        (datapath(Fa2Variant::LogReference, 5, Format::FP8_E4M3), Surroundings::Split { parts: 4 }),
        (fa2(5, Format::INT8), Surroundings::Split { parts: 2 }),
        (partial(flash_d(5, Format::FP8_E4M3)), Surroundings::array(3)),
        (partial(fa2(5, Format::INT8)), Surroundings::array(2)),
        (to_int8(0, flash_d(5, Format::INT8)), Surroundings::Split { parts: 2 }),
        (to_int8(1, fa2(5, Format::BF16)), Surroundings::array(2)),
    ]
}

fn holding(hold: Hold, core: CoreConfig) -> CoreConfig {
    CoreConfig { hold: Some(hold), ..core }
}

fn segmented(segments: u32, core: CoreConfig) -> CoreConfig {
    CoreConfig { segments: Some(segments), ..core }
}

/// Three of the shortest shipped cores: both designs, and every kind of lane that ships. Verilator takes half a minute to compile each; --long
/// has all of them, and the longer ones, which are more of the same modules.
fn shipped() -> Vec<DesignSelection> {
    let cores = [flash_d(16, Format::BF16), fa2(16, Format::FP8_E4M3), flash_d(16, Format::INT8)];
    cores.map(DesignSelection::core).to_vec()
}

/// Odd lengths, formats, tables, hold rules, arrays and split keys.
fn few() -> Vec<DesignSelection> {
    let cores = [
        flash_d(2, Format::FP8_E5M2),
        partial(segmented(4, fa2(3, Format::FP16))),
        partial(segmented(16, flash_d(5, Format::BF16))),
        holding(Hold::None, fa2(5, Format::FP32)),
    ];
    let mut all: Vec<DesignSelection> = cores.map(DesignSelection::core).to_vec();
    // The others are long.
    let [flash_d_mixed, .., fa2_mixed] = mixed();
    all.push(DesignSelection::core(fa2_mixed));
    all.push(DesignSelection::around(masked(flash_d_mixed), Surroundings::array(2)));
    all.push(DesignSelection::around(masked(flash_d(3, Format::FP8_E5M2)), Surroundings::array(3)));
    let turns = Surroundings::Turns { queries: 4, interleave: 2 };
    all.push(DesignSelection::around(biased(masked(flash_d(3, Format::BF16))), turns));
    all.push(DesignSelection::around(fa2(3, Format::FP16), Surroundings::Split { parts: 2 }));
    all
}

/// Separate formats and lengths of keys, values and results.
fn mixed() -> [CoreConfig; 5] {
    use Format as F;
    let of = |core: CoreConfig, [q, k, v, o]: [Format; 4], dv: usize| {
        let lengths = Lengths { k: core.d, v: dv };
        core.with_lengths(lengths).with_formats(Formats { q, k, v, o })
    };
    [
        of(flash_d(6, F::BF16), [F::BF16, F::FP8_E4M3, F::FP8_E4M3, F::BF16], 5),
        of(flash_d(4, F::BF16), [F::FP8_E4M3, F::FP8_E5M2, F::FP16, F::FP8_E5M2], 4),
        of(datapath(Fa2Variant::SharedLogReference, 4, F::BF16), [F::BF16, F::BF16, F::FP8_E4M3, F::FP16], 7),
        of(datapath(FlashDVariant::Fixed, 3, F::BF16), [F::FP8_E4M3, F::FP8_E4M3, F::BF16, F::FP8_E4M3], 3),
        of(fa2(6, F::BF16), [F::FP16, F::FP8_E4M3, F::FP8_E5M2, F::BF16], 3),
    ]
}

/// More of it.
fn many() -> Vec<DesignSelection> {
    let cores = [
        holding(Hold::None, flash_d(48, Format::FP8_E4M3)),
        flash_d(3, Format::FP32),
        fa2(2, Format::BF16),
        segmented(32, flash_d(48, Format::FP16)),
        segmented(32, fa2(80, Format::BF16)),
        partial(flash_d(80, Format::FP8_E4M3)),
        holding(Hold::Below(8.0), flash_d(96, Format::BF16)),
        holding(Hold::None, fa2(96, Format::FP8_E5M2)),
        flash_d(128, Format::FP16),
        datapath(Fa2Variant::LogReference, 128, Format::BF16),
        flash_d(512, Format::FP8_E4M3),
        fa2(512, Format::FP8_E4M3),
        datapath(FlashDVariant::Paper, 5, Format::FP8_E5M2),
    ];
    let [flash_d_mixed, others @ .., _] = mixed();
    let mut all: Vec<DesignSelection> =
        cores.into_iter().chain([flash_d_mixed]).chain(others).map(DesignSelection::core).collect();
    let around = [
        (late(2, flash_d(16, Format::BF16)), Surroundings::Split { parts: 4 }),
        (fa2(5, Format::FP16), Surroundings::Split { parts: 8 }),
        (fa2(48, Format::BF16), Surroundings::array(3)),
        (masked(flash_d(16, Format::BF16)), Surroundings::array(8)),
        (fa2(16, Format::BF16), Surroundings::Split { parts: 16 }),
    ];
    all.extend(around.map(|(core, around)| DesignSelection::around(core, around)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_design_is_legal() {
        let icarus = [false, true].into_iter().flat_map(in_icarus).map(|(selection, _)| selection);
        let lists = [icarus.collect(), shipped(), few(), many()];
        for selection in lists.concat() {
            let DesignSelection::Core(core, _) = &selection else { panic!("{selection}") };
            assert_eq!(core.validate().map_err(|e| e.to_string()), Ok(()), "{selection}");
        }
    }
}

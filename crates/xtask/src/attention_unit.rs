//! `cargo xtask attention-unit`: emitted attention units from outside.

mod proofs;

use crate::axis::CheckTable;
use crate::axis::bench::Python;
use crate::failure::{Outcome, none};
use crate::process::{Said, command, flashd, require, root, run};
use crate::selection::{DesignSelection, Surroundings};
use crate::selections::{fa2, flash_d, masked, partial};
use crate::work::{self, create};
use clap::Args;
use flashd_spec::config::{ArrayConfig, CoreConfig, Values};
use flashd_spec::format::{Format, Scale};
use flashd_spec::unit::UnitConfig;
use proofs::{ProvenUnit, all_found};
use std::collections::BTreeSet;
use std::path::Path;

/// Check emitted attention units from outside: lint, cocotbext-axi's memory, the driver, a SoC of LiteX, proofs about addresses and queues
///
///   lint       the units of configs/units in Verilator with all warnings
///   cocotb     jobs with NumPy data behind cocotbext-axi's memory and register master, in Icarus (--long: more units, and in
///              Verilator): the registers of the contest, any strides and bytes, pages, groups, windows, chains, refusals, SLVERR
///              and DECERR of each kind, soft resets, states and log-sum-exps; results are compared bit for bit with flashd simulate
///   driver     the emitted driver, compiled for this machine, with the registers of a unit in Verilator: jobs, chains, polling and
///              interrupts, refusals, SLVERR, soft resets; results as above
///   soc        with --long or --soc: VexRiscv runs the driver in a SoC of LiteX in Verilator, and prints by its UART; this takes
///              riscv64-unknown-elf-gcc
///   proof      of parts of a unit, by temporal induction with Yosys, so in every cycle after a reset: rows lie in the ranges of the
///              job's fields, bursts in their rows and in pages of 4 KiB, beats are as many as announced, strobes are of bytes of the
///              row, queues keep their entries, and a reader takes the beats of each row (testbench/unit/formal; --long: also units
///              with partial results and with a buffer, and mutants, which must be found)
///
/// The Python tools are installed from PyPI when they are missing (scripts/venv).
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct UnitOptions {
    /// More units, Verilator, and the SoC
    #[arg(long)]
    long: bool,
    /// Only the SoC
    #[arg(long, conflicts_with = "long")]
    soc: bool,
    /// Seed of pauses
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=999_999_999))]
    seed: u64,
    /// Make it an error that Python tools are missing
    #[arg(long)]
    no_install: bool,
}

/// A unit that runs behind cocotb's memory, in these simulators.
struct UnitCase {
    unit: UnitConfig,
    /// Without --long: the tests that this unit is for; empty for all.
    tests: &'static str,
    simulators: &'static [&'static str],
    long: &'static [&'static str],
    /// Its parts are proved: always, with --long, or never.
    proofs: Proofs,
}

#[derive(Clone, Copy, PartialEq)]
enum Proofs {
    Always,
    Long,
    Never,
}

impl UnitCase {
    /// The unit as `flashd generate` selects it.
    fn selection(&self) -> DesignSelection {
        let UnitConfig { array, beat_bits, kv_buffer, values, .. } = &self.unit;
        let around = Surroundings::Memory {
            queries: array.queries,
            beat: *beat_bits,
            kv_buffer: *kv_buffer,
            all_values: *values == Values::All,
        };
        DesignSelection::around(array.core.clone(), around)
    }
}

/// A unit with requested values.
fn unit(core: CoreConfig, queries: usize, beat_bits: u32) -> UnitConfig {
    UnitConfig { beat_bits, ..UnitConfig::new(ArrayConfig::new(core, queries)) }
}

/// A unit with all values.
fn all(core: CoreConfig, queries: usize, beat_bits: u32) -> UnitConfig {
    UnitConfig { values: Values::All, ..unit(core, queries, beat_bits) }
}

fn cases() -> Vec<UnitCase> {
    vec![
        UnitCase {
            unit: unit(masked(flash_d(16, Format::BF16)), 3, 64),
            tests: "",
            simulators: &["icarus"],
            long: &["verilator"],
            proofs: Proofs::Always,
        },
        // The contest's format and factor of scores.
        UnitCase {
            unit: all(
                CoreConfig { q_scales: Some(Scale::RowQ16), ..masked(flash_d(16, Format::fixed(16, 8))) },
                4,
                128,
            ),
            tests: "registers_of_the_contest,groups_and_offsets",
            simulators: &["icarus"],
            long: &["verilator"],
            proofs: Proofs::Never,
        },
        UnitCase {
            unit: unit(partial(fa2(16, Format::BF16)), 3, 64),
            tests: "states_and_log_sum_exps",
            simulators: &["icarus"],
            long: &["verilator"],
            proofs: Proofs::Long,
        },
        UnitCase {
            unit: all(partial(flash_d(16, Format::BF16)), 2, 128),
            tests: "",
            simulators: &[],
            long: &["icarus"],
            proofs: Proofs::Never,
        },
        UnitCase {
            unit: UnitConfig { kv_buffer: 16, ..all(masked(fa2(16, Format::BF16)), 4, 128) },
            tests: "",
            simulators: &[],
            long: &["icarus", "verilator"],
            proofs: Proofs::Long,
        },
        UnitCase {
            unit: all(masked(flash_d(16, Format::FP8_E4M3)), 8, 512),
            tests: "",
            simulators: &[],
            long: &["icarus"],
            proofs: Proofs::Never,
        },
    ]
}

/// The unit of the SoC, whose buses have addresses of 32 bits.
const SOC: &str =
    "--wrapper axi4 --design flash-d --d 16 --format bf16 --masks --queries 3 --beat 64 --address-bits 32";

/// All checks.
pub fn attention_unit(options: &UnitOptions) -> Outcome {
    require(&["iverilog", "vvp", "verilator", "yosys", "make", "cc", "g++", "python3"])?;
    let python = Python::find(options.no_install)?;
    let work = work::temporary()?;
    let mut table = CheckTable::new("unit");
    if !options.soc {
        units(options, &python, work.path(), &mut table)?;
    }
    if options.soc || options.long {
        require(&["riscv64-unknown-elf-gcc"])?;
        let folder = create(&work.path().join("soc"))?;
        DesignSelection::words(SOC).generate(&[], &folder)?;
        let name = work::only(&folder, ".v")?;
        table.line(&name, "soc", "litex, verilator", || bench(&python, "soc", &folder, &name, &[]))?;
    }
    none(table.failed, "checks of attention units failed")
}

/// The benches of single units, and the lint of shipped ones.
fn units(options: &UnitOptions, python: &Python, work: &Path, table: &mut CheckTable) -> Outcome {
    let seed = options.seed.to_string();
    let mut found = BTreeSet::new();
    for (i, case) in cases().iter().enumerate() {
        let simulators = [case.simulators, if options.long { case.long } else { &[] }].concat();
        if simulators.is_empty() {
            continue;
        }
        let folder = create(&work.join(i.to_string()))?;
        case.selection().generate(&[], &folder)?;
        let name = work::only(&folder, ".v")?;
        for simulator in simulators {
            let tests =
                if options.long || case.tests.is_empty() { vec![] } else { vec!["--tests", case.tests] };
            let more = [&["--simulator", simulator, "--seed", &seed][..], &tests].concat();
            table
                .line(&name, "cocotb", simulator, || bench(python, "cocotb_tests", &folder, &name, &more))?;
        }
        if i == 0 {
            table.line(&name, "driver", "verilator", || bench(python, "driver", &folder, &name, &[]))?;
        }
        if case.proofs == Proofs::Always || options.long && case.proofs == Proofs::Long {
            let unit = ProvenUnit::new(&case.unit, &folder, &name)?;
            unit.prove(table)?;
            if options.long {
                unit.find_mutants(table, &mut found)?;
            }
        }
    }
    if options.long {
        all_found(&found)?;
    }
    for (i, file) in work::files(&root().join("configs/units"), ".json")?.iter().enumerate() {
        let folder = create(&work.join(format!("shipped{i}")))?;
        DesignSelection::Flags(vec!["--config".into(), file.display().to_string()]).generate(&[], &folder)?;
        let name = work::only(&folder, ".v")?;
        table.line(&name, "lint", "verilator -Wall", || {
            run(command(
                "verilator",
                ["--lint-only", "-Wall"]
                    .map(Path::new)
                    .into_iter()
                    .chain([&*folder.join(format!("{name}.v"))]),
            ))
        })?;
    }
    Ok(())
}

/// The bench in this folder of testbench/unit, over a recorded head.
fn bench(python: &Python, tests: &str, folder: &Path, name: &str, more: &[&str]) -> Outcome<Said> {
    let script = root().join("testbench/unit").join(tests).join("run.py");
    let mut bench = command(python.program(), [script]);
    bench.arg("--flashd").args(flashd()?);
    bench.arg("--manifest").arg(folder.join(format!("{name}.json")));
    bench.arg("--head").arg(root().join("testbench/data/bytes_code-d16-layer02-head05"));
    bench.arg("--work").arg(folder.join([&[tests], more].concat().join("_"))).args(more);
    bench.env("PYTHONDONTWRITEBYTECODE", "1");
    run(bench)
}

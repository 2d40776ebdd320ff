//! `cargo xtask attention-unit`: emitted attention units from outside.

use crate::axis::CheckTable;
use crate::axis::bench::Python;
use crate::failure::{Outcome, none};
use crate::process::{Said, command, flashd, require, root, run};
use crate::selection::{DesignSelection, Surroundings};
use crate::selections::{fa2, flash_d, masked, partial};
use crate::work::{self, create};
use clap::Args;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Format, Scale};
use std::path::Path;

/// Check emitted attention units from outside: lint, cocotbext-axi's memory
///
///   lint       the units of configs/units in Verilator with all warnings
///   cocotb     jobs with NumPy data behind cocotbext-axi's memory and register master, in Icarus (--long: more units, and in
///              Verilator): the registers of the contest, any strides and bytes, pages, groups, windows, chains, refusals, SLVERR
///              and DECERR of each kind, soft resets, states and log-sum-exps; results are compared bit for bit with flashd simulate of the array
///
/// The Python tools are installed from PyPI when they are missing (scripts/venv).
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct UnitOptions {
    /// More units, and Verilator
    #[arg(long)]
    long: bool,
    /// Seed of pauses
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=999_999_999))]
    seed: u64,
    /// Make it an error that Python tools are missing
    #[arg(long)]
    no_install: bool,
}

/// A unit that runs behind cocotb's memory, in these simulators.
struct UnitCase {
    core: CoreConfig,
    memory: Surroundings,
    simulators: &'static [&'static str],
    long: &'static [&'static str],
}

fn memory(queries: usize, beat: u32, kv_buffer: u32, all_values: bool) -> Surroundings {
    Surroundings::Memory { queries, beat, kv_buffer, all_values }
}

fn cases() -> Vec<UnitCase> {
    vec![
        UnitCase {
            core: masked(flash_d(16, Format::BF16)),
            memory: memory(3, 64, 0, false),
            simulators: &["icarus"],
            long: &["verilator"],
        },
        // The contest's format and factor of scores.
        UnitCase {
            core: CoreConfig { q_scales: Some(Scale::RowQ16), ..masked(flash_d(16, Format::fixed(16, 8))) },
            memory: memory(4, 128, 0, true),
            simulators: &["icarus"],
            long: &["verilator"],
        },
        UnitCase {
            core: partial(fa2(16, Format::BF16)),
            memory: memory(3, 64, 0, false),
            simulators: &["icarus"],
            long: &["verilator"],
        },
        UnitCase {
            core: partial(flash_d(16, Format::BF16)),
            memory: memory(2, 128, 0, true),
            simulators: &[],
            long: &["icarus"],
        },
        UnitCase {
            core: masked(fa2(16, Format::BF16)),
            memory: memory(4, 128, 16, true),
            simulators: &[],
            long: &["icarus", "verilator"],
        },
        UnitCase {
            core: masked(flash_d(16, Format::FP8_E4M3)),
            memory: memory(8, 512, 0, true),
            simulators: &[],
            long: &["icarus"],
        },
    ]
}

/// All checks.
pub fn attention_unit(options: &UnitOptions) -> Outcome {
    require(&["iverilog", "vvp", "verilator", "make", "g++", "python3"])?;
    let python = Python::find(options.no_install)?;
    let work = work::temporary()?;
    let mut table = CheckTable::new("unit");
    for (i, case) in cases().iter().enumerate() {
        let simulators = [case.simulators, if options.long { case.long } else { &[] }].concat();
        if simulators.is_empty() {
            continue;
        }
        let folder = create(&work.path().join(i.to_string()))?;
        DesignSelection::around(case.core.clone(), case.memory).generate(&[], &folder)?;
        let name = work::only(&folder, ".v")?;
        for simulator in simulators {
            table.line(&name, "cocotb", simulator, || {
                cocotb(&python, &folder, &name, simulator, options.seed)
            })?;
        }
    }
    for (i, file) in work::files(&root().join("configs/units"), ".json")?.iter().enumerate() {
        let folder = create(&work.path().join(format!("shipped{i}")))?;
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
    none(table.failed, "checks of attention units failed")
}

fn cocotb(python: &Python, folder: &Path, name: &str, simulator: &str, seed: u64) -> Outcome<Said> {
    let tests = root().join("testbench/unit/cocotb_tests/run.py");
    let mut cocotb = command(python.program(), [tests]);
    cocotb.arg("--flashd").args(flashd()?);
    cocotb.arg("--manifest").arg(folder.join(format!("{name}.json")));
    cocotb.arg("--head").arg(root().join("testbench/data/bytes_code-d16-layer02-head05"));
    cocotb.arg("--work").arg(folder.join(simulator)).args(["--simulator", simulator]);
    cocotb.arg("--seed").arg(seed.to_string()).env("PYTHONDONTWRITEBYTECODE", "1");
    run(cocotb)
}

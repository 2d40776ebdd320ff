//! `cargo xtask check-random`: random legal configurations through every check.

mod case;
mod results;

use crate::failure::{Outcome, none};
use crate::process::{pool, require};
use case::{Checked, RandomCase};
use clap::Args;
use flashd::parts::{Work, on_all_processors, print, print_json, require_tools, table, whole};
use flashd_simulator::random::{LONGEST, draw};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use results::ResultLines;
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

const KEYS: u64 = 400;
const VERILATOR: u64 = 20;
/// Seconds of processor time that a configuration takes.
const SECONDS: f64 = 5.0;

/// Check random legal configurations of cores, arrays, split keys and stream wrappers
///
/// Each is drawn over all options and formats, generated and linted. Its testbench runs in Icarus, and now and then in Verilator.
/// The cycle engine runs in lock-step with the bit-exact model on streams of every kind, with gaps and without, and the vector engine
/// must give the same bits, cycles, held steps and values read. Inf and NaN in keys and values that no query sees must change
/// nothing. A failure is printed with its seed and the command that repeats it.
#[derive(Args)]
pub struct RandomOptions {
    /// How many configurations
    #[arg(long, value_parser = whole::<u32>(1, 1_000_000), value_name = "N", default_value_t = 20)]
    count: u32,
    /// Seed of the first configuration; the next ones count up
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), default_value_t = 1)]
    seed: u64,
    /// Longest vectors
    #[arg(long, value_parser = whole::<u64>(2, LONGEST as u64), value_name = "D", default_value_t = LONGEST as u64)]
    longest: u64,
    /// About how many keys run through the engines and the testbench of each
    #[arg(long, value_parser = whole::<u64>(1, 1_000_000), value_name = "N", default_value_t = KEYS)]
    keys: u64,
    /// Every N-th configuration, by its seed, also runs in Verilator; 0 for none
    #[arg(long, value_parser = whole::<u64>(0, u64::MAX), value_name = "N", default_value_t = VERILATOR)]
    verilator: u64,
    /// Keep designs in rtl, and the testbench of each in a folder with its seed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep each outcome in this file, a line of JSON each, and continue from it
    ///
    /// A run with the same file and program skips configurations that have passed, so that a long check can be stopped and continued.
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Configurations at the same time (default: one for each processor)
    #[arg(long, value_parser = whole::<usize>(1, 1024), value_name = "N")]
    jobs: Option<usize>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl RandomOptions {
    /// The options that are needed to draw and check the same again.
    fn not_default(&self) -> String {
        let numbers = [
            ("longest", self.longest, LONGEST as u64),
            ("keys", self.keys, KEYS),
            ("verilator", self.verilator, VERILATOR),
        ];
        let changed = numbers.into_iter().filter(|(_, value, default)| value != default);
        changed.map(|(flag, value, _)| format!(" --{flag} {value}")).collect()
    }
}

/// One configuration's outcome.
#[derive(Clone, Serialize, Deserialize)]
struct RandomRow {
    seed: u64,
    name: String,
    #[serde(flatten)]
    checked: Checked,
    /// The first fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// The command that checks this one again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    again: Option<String>,
}

/// Checks all of them.
pub fn check_random(args: &RandomOptions) -> Outcome {
    require(&["bash", "iverilog", "vvp", "python3"])?;
    if args.verilator > 0 {
        require_tools()?;
    }
    let results = args.results.as_deref().map(|path| ResultLines::open(path, args)).transpose()?;
    let bar = Work::start(args.count.into(), "{bar:30} {pos} of {len}, {elapsed} of {duration}");
    bar.expect(on_all_processors(SECONDS * f64::from(args.count)), "");
    let one = |n: u32| {
        let seed = args.seed.wrapping_add(n.into());
        let row = match results.as_ref().and_then(|results| results.passed(seed)) {
            Some(row) => row,
            None => {
                let row = check(args, seed);
                results.as_ref().map_or(Ok(()), |results| results.add(&row))?;
                row
            }
        };
        bar.inc(1);
        // Printed at once: the others may take long.
        if let Some(text) = failure(&row) {
            bar.suspend(|| eprintln!("{text}"));
        }
        Ok(row)
    };
    let rows: Outcome<Vec<RandomRow>> =
        pool(args.jobs)?.install(|| (0..args.count).into_par_iter().with_max_len(1).map(one).collect());
    drop(bar);
    let rows = rows?;
    match args.json {
        true => print_json(&rows)?,
        false => print(&text(&rows))?,
    }
    none(rows.iter().filter(|row| row.failure.is_some()).count(), "configurations failed")
}

fn check(args: &RandomOptions, seed: u64) -> RandomRow {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let drawn = draw(&mut rng, args.longest as usize);
    let name = drawn.name();
    let mut checked = Checked::default();
    let case = RandomCase { args, seed, drawn };
    // A panic is a fault like others, and the other configurations are checked all the same.
    let outcome = catch_unwind(AssertUnwindSafe(|| case.check(&mut rng, &mut checked)));
    let failure = match outcome {
        Ok(Ok(())) => None,
        Ok(Err(e)) => Some(e.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or(panic.downcast_ref::<&str>().map(|text| text.to_string()));
            Some(format!("panic: {}", text.unwrap_or_default()))
        }
    };
    let again = failure.as_ref().map(|_| again(args, seed));
    RandomRow { seed, name, checked, failure, again }
}

/// The command that checks one configuration again, and keeps its files.
fn again(args: &RandomOptions, seed: u64) -> String {
    format!("cargo xtask check-random --seed {seed} --count 1{} --out DIR", args.not_default())
}

fn failure(row: &RandomRow) -> Option<String> {
    let (failure, again) = (row.failure.as_ref()?, row.again.as_ref()?);
    Some(format!("seed {}, {}: {failure}\n  again: {again}", row.seed, row.name))
}

fn text(rows: &[RandomRow]) -> String {
    let row = |r: &RandomRow| {
        let Checked { engines, testbench, verilator } = &r.checked;
        let verilator = verilator.map_or(String::new(), |checks| checks.to_string());
        let cells = [
            r.seed.to_string(),
            r.name.clone(),
            engines.cycles.to_string(),
            engines.held.to_string(),
            engines.values_read.to_string(),
            format!("{}, {}", engines.special_keys, engines.special_values),
            engines.comparisons.to_string(),
            testbench.to_string(),
            verilator,
            if r.failure.is_none() { "passed" } else { "FAILED" }.to_string(),
        ];
        cells.to_vec()
    };
    let header = [
        "seed",
        "configuration",
        "cycles",
        "held",
        "values read",
        "NaN, Inf in unseen keys, values",
        "comparisons",
        "testbench",
        "Verilator",
        "",
    ];
    let passed = rows.iter().filter(|row| row.failure.is_none()).count();
    let table = table(&header, rows.iter().map(row).collect());
    format!("{table}\n\n{passed} of {} configurations passed", rows.len())
}

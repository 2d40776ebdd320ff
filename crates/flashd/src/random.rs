//! `flashd check-random`: random legal configurations through every check.

mod case;
mod results;

use crate::cli::RandomArgs;
use crate::cosim::build::require_tools;
use crate::output::{Failure, print, print_json, table};
use crate::progress::{Work, on_all_processors, rates};
use case::{Case, Checked};
use flashd_simulator::random::draw;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use results::Results;
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is called, and the option that says its version.
const TOOLS: [[&str; 2]; 4] =
    [["bash", "--version"], ["iverilog", "-V"], ["vvp", "-V"], ["python3", "--version"]];

/// One configuration's outcome.
#[derive(Clone, Serialize, Deserialize)]
struct Row {
    seed: u64,
    name: String,
    #[serde(flatten)]
    checked: Checked,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// The command that checks this one again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    again: Option<String>,
}

pub fn run(args: &RandomArgs) -> Result<(), Failure> {
    let checks = !args.generate_only;
    for file in [case::LINT, case::PACKETS].into_iter().filter(|_| checks) {
        let path = args.repository.join(file);
        if !path.is_file() {
            return Err(Failure::input(format!(
                "--repository {}: there is no {file}; name the folder of this project's files",
                args.repository.display()
            )));
        }
    }
    for [tool, version] in TOOLS.into_iter().filter(|_| checks) {
        if std::process::Command::new(tool).arg(version).output().is_err() {
            return Err(Failure::input(format!(
                "{tool} is not on the PATH: the check needs Icarus Verilog, bash and Python 3 (Debian: apt-get install \
                 iverilog bash python3)"
            )));
        }
    }
    if args.verilator > 0 && checks {
        require_tools()?;
    }
    let results = args.results.as_deref().map(|path| Results::open(path, args)).transpose()?;
    let bar = Work::start(args.count.into(), "{bar:30} {pos} of {len}, {elapsed} of {duration}");
    if checks {
        bar.expect(on_all_processors(rates::RANDOM * f64::from(args.count)), "");
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.jobs.unwrap_or(0) as usize)
        .build()
        .map_err(|e| Failure::input(format!("--jobs: {e}")))?;
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
        // What is wrong is there before the others have ended.
        if let Some(text) = failure(&row) {
            bar.suspend(|| eprintln!("{text}"));
        }
        Ok(row)
    };
    let rows: Result<Vec<Row>, Failure> =
        pool.install(|| (0..args.count).into_par_iter().with_max_len(1).map(one).collect());
    drop(bar);
    let rows = rows?;
    match args.json {
        _ if !checks => print(&format!("{} configurations written", rows.len()))?,
        true => print_json(&rows)?,
        false => print(&text(&rows))?,
    }
    match rows.iter().filter(|row| row.failure.is_some()).count() {
        0 => Ok(()),
        failed => Err(Failure::Check(format!("{failed} of {} configurations failed", rows.len()))),
    }
}

fn check(args: &RandomArgs, seed: u64) -> Row {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let drawn = draw(&mut rng, args.longest as usize);
    let name = drawn.name();
    let mut checked = Checked::default();
    let case = Case { args, seed, drawn };
    // A panic is a fault like others, and the other configurations are checked all the same.
    let outcome = catch_unwind(AssertUnwindSafe(|| case.check(&mut rng, &mut checked)));
    let failure = match outcome {
        Ok(Ok(())) => None,
        Ok(Err(e)) => Some(e),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or(panic.downcast_ref::<&str>().map(|text| text.to_string()));
            Some(format!("panic: {}", text.unwrap_or_default()))
        }
    };
    let again = failure.as_ref().map(|_| again(args, seed));
    Row { seed, name, checked, failure, again }
}

/// The command that checks one configuration again, and keeps its files.
fn again(args: &RandomArgs, seed: u64) -> String {
    format!("flashd check-random --seed {seed} --count 1{} --out DIR", args.not_default())
}

fn failure(row: &Row) -> Option<String> {
    let (failure, again) = (row.failure.as_ref()?, row.again.as_ref()?);
    Some(format!("seed {}, {}: {failure}\n  again: {again}", row.seed, row.name))
}

fn text(rows: &[Row]) -> String {
    let row = |r: &Row| {
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

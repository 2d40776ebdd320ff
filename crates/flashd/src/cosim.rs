//! `flashd cosim`: the emitted Verilog in Verilator against model and cycle engine.

pub mod build;

use crate::cli::{ArrayArgs, CosimArgs};
use crate::generate::testbench::{layout, stream_vectors};
use crate::output::{Failure, print, print_json, table};
use crate::progress::{Work, on_all_processors, rates, step};
use crate::select::{machine, parse_flags};
use build::{Compile, RunningSimulator, Simulator, require_tools};
use clap::Args;
use flashd_generator::machine_files;
use flashd_hwmodel::vectors::{Layout, Look};
use flashd_simulator::selftest::{Expected, Streamed, VectorStream};
use flashd_simulator::{RtlEngine, RunError};
use flashd_spec::config::CoreConfig;
use flashd_spec::machine::Machine;
use indicatif::ProgressBar;
use rayon::prelude::*;
use serde::Serialize;
use std::io::{BufWriter, ErrorKind};
use std::time::Instant;

/// The design that `--core` selects.
#[derive(Args)]
struct MachineFlags {
    #[command(flatten)]
    array: ArrayArgs,
    #[arg(long, conflicts_with = "queries")]
    parts: Option<usize>,
}

/// One core's comparison.
#[derive(Serialize)]
struct CosimRow {
    name: String,
    /// Keys through model, cycle engine and Verilog.
    three_engines: Streamed,
    /// Keys through model and Verilog.
    model_and_verilog: Streamed,
    /// Output ports compared in Verilator.
    checks: u64,
    mismatches: u64,
    /// The first difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
    /// None where the simulator was there already.
    compile_seconds: Option<f64>,
    run_seconds: f64,
}

pub fn run(args: &CosimArgs) -> Result<(), Failure> {
    let machines = machines(args)?;
    let engine = args.engine.rtl().ok_or_else(|| {
        Failure::input("--engine model: takes compiled, reference or rusthdl; the model is always compared")
    })?;
    require_tools()?;
    if let Some(folder) = &args.waves {
        flashd_files::create_folder(folder)
            .map_err(|e| Failure::input(format!("--waves {}: {e}", folder.display())))?;
    }
    let keys = machines.len() as u64 * args.keys;
    let bar = Work::start(keys, "{bar:30} {pos}/{len} keys, {elapsed} of {duration}: {msg}");
    let (frame, element) = rates::VERILATOR;
    let compiling: f64 = machines.iter().map(|machine| frame + element * machine.core().d as f64).sum();
    bar.expect(on_all_processors(compiling), ", less for what was compiled before");
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.jobs.unwrap_or(0) as usize)
        .build()
        .map_err(|e| Failure::input(format!("--jobs: {e}")))?;
    let rows = pool.install(|| {
        let one = |machine: &Machine| {
            bar.set_message(machine.name());
            compare(args, machine, engine, &bar)
        };
        machines.par_iter().with_max_len(1).map(one).collect::<Result<Vec<CosimRow>, Failure>>()
    });
    drop(bar);
    let rows = rows?;
    match args.json {
        true => print_json(&rows)?,
        false => print(&text(&rows))?,
    }
    let failed: Vec<String> =
        rows.iter().filter_map(|row| row.difference.as_ref().map(|d| format!("{}: {d}", row.name))).collect();
    if failed.is_empty() { Ok(()) } else { Err(Failure::Check(failed.join("\n"))) }
}

/// The names of the designs that the arguments select.
pub fn selected(args: &CosimArgs) -> Result<Vec<String>, Failure> {
    Ok(machines(args)?.iter().map(Machine::name).collect())
}

fn machines(args: &CosimArgs) -> Result<Vec<Machine>, Failure> {
    let mut machines = Vec::new();
    if args.shipped {
        machines.extend(CoreConfig::shipped().into_iter().map(Machine::Core));
    }
    if args.array != ArrayArgs::default() || args.parts.is_some() {
        machines.push(machine(&args.array, args.parts)?);
    }
    for text in &args.core {
        let wrong = |e: Failure| Failure::input(format!("--core \"{text}\": {e}"));
        let flags = parse_flags::<MachineFlags>(text).map_err(wrong)?;
        machines.push(machine(&flags.array, flags.parts).map_err(wrong)?);
    }
    if machines.is_empty() {
        return Err(Failure::input("no core: give --design, --config, --core \"FLAGS\" or --shipped"));
    }
    for (i, machine) in machines.iter().enumerate() {
        if machines[..i].iter().any(|other| other.name() == machine.name()) {
            return Err(Failure::input(format!("{} is there twice; name each core once", machine.name())));
        }
    }
    Ok(machines)
}

/// A stream's outcome: the sent stream, checks, the first difference.
type StreamOutcome = (Streamed, u64, Option<String>);

fn compare(
    args: &CosimArgs,
    machine: &Machine,
    engine: RtlEngine,
    bar: &ProgressBar,
) -> Result<CosimRow, Failure> {
    let prefix = args.prefix.clone().unwrap_or_default();
    let layout = layout(machine, Look::Ports, &prefix)
        .map_err(|e| Failure::input(format!("{}: {e}", machine.name())))?;
    step(|| format!("{}: compile, or take what was compiled before", machine.name()));
    let compile = if args.waves.is_some() { Compile::Traced } else { Compile::for_keys(args.keys) };
    let (simulator, compile_seconds) =
        Simulator::build(args.build.as_deref(), &layout, &machine_files(machine, &prefix.into())?, compile)?;
    let waves = args.waves.as_ref().map(|folder| folder.join(format!("{}.vcd", layout.name)));
    step(|| format!("{}: run", machine.name()));
    let start = Instant::now();
    let stream = |stream: &VectorStream, expected, waves| {
        run_stream(simulator.start(waves)?, machine, &layout, stream, expected, bar)
    };
    let with_engine = args.engine_keys.min(args.keys);
    let (three_engines, mut checks, mut difference) =
        stream(&VectorStream::of(args.seed, with_engine), Expected::Lockstep(engine), waves.as_deref())?;
    let mut model_and_verilog = Streamed::default();
    if matches!(machine, Machine::Core(_)) && args.keys > with_engine && difference.is_none() {
        // Another seed: other data.
        let rest = VectorStream::of(args.seed.wrapping_add(1), args.keys - with_engine);
        let outcome = stream(&rest, Expected::Model, None)?;
        model_and_verilog = outcome.0;
        checks += outcome.1;
        difference = outcome.2;
    }
    Ok(CosimRow {
        name: machine.name(),
        three_engines,
        model_and_verilog,
        checks,
        mismatches: difference.is_some() as u64,
        difference,
        compile_seconds,
        run_seconds: start.elapsed().as_secs_f64(),
    })
}

/// One stream through a simulator's pipe.
fn run_stream(
    mut process: RunningSimulator,
    machine: &Machine,
    layout: &Layout,
    stream: &VectorStream,
    expected: Expected,
    bar: &ProgressBar,
) -> Result<StreamOutcome, Failure> {
    let pipe = BufWriter::with_capacity(1 << 16, process.input()?);
    let io = |e: std::io::Error| Failure::input(format!("{}: {e}", machine.name()));
    let mut before = 0;
    let sent = stream_vectors(machine, layout, stream, expected, pipe, &mut |streamed| {
        bar.inc(streamed.keys - before);
        before = streamed.keys;
    });
    let verdict = process.verdict().map_err(io)?;
    match (sent, verdict) {
        (Ok((streamed, ..)), Ok(checks)) => Ok((streamed, checks, None)),
        (Ok((streamed, ..)), Err(difference)) => Ok((streamed, 0, Some(difference))),
        // A simulator that has found a difference closes the pipe; its message is the result.
        (Err(RunError::Observer(e)), Err(difference)) if e.kind() == ErrorKind::BrokenPipe => {
            Ok((Streamed::default(), 0, Some(difference)))
        }
        (Err(e), _) => Err(e.into()),
    }
}

fn text(rows: &[CosimRow]) -> String {
    let seconds = |s: Option<f64>| s.map_or("kept".into(), |s| format!("{s:.1}"));
    let row = |r: &CosimRow| {
        let rate = (r.three_engines.cycles + r.model_and_verilog.cycles) as f64 / r.run_seconds.max(1e-9);
        vec![
            r.name.clone(),
            r.three_engines.keys.to_string(),
            r.model_and_verilog.keys.to_string(),
            (r.three_engines.cycles + r.model_and_verilog.cycles).to_string(),
            (r.three_engines.results + r.model_and_verilog.results).to_string(),
            r.checks.to_string(),
            r.mismatches.to_string(),
            seconds(r.compile_seconds),
            format!("{:.1}", r.run_seconds),
            format!("{rate:.0}"),
        ]
    };
    let header = [
        "core",
        "keys: model, engine, Verilog",
        "keys: model, Verilog",
        "cycles",
        "results",
        "outputs compared",
        "mismatches",
        "compile s",
        "run s",
        "cycles/s",
    ];
    table(&header, rows.iter().map(row).collect())
}

//! `flashd demo`: the whole way, for all shipped cores, on a sample that is part of the program.

use crate::cli::DemoArgs;
use crate::output::{Failure, percent, print, print_json, table, write_all};
use crate::progress::{Work, step};
use crate::sample::HeadsFolder;
use flashd_generator::{Emission, machine_files};
use flashd_simulator::{
    Accuracy, Counters, ExactResults, Gaps, Scenario, WaveOptions, WaveWriter, prepare, run as run_lockstep,
};
use flashd_spec::config::CoreConfig;
use flashd_workload::{Bias, TensorScale, Trace, Visible, load_dir};
use rayon::prelude::*;
use serde::Serialize;
use std::path::Path;

/// Queries of each run: enough for a wave worth looking at, few enough for a minute in all.
const QUERIES: usize = 12;

#[derive(Serialize)]
struct DemoRow {
    name: String,
    distinct_modules: usize,
    verilog_lines: usize,
    verilog_bytes: usize,
    counters: Counters,
    mismatches: u64,
    accuracy: Accuracy,
    wave: String,
}

pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let start = std::time::Instant::now();
    let sample = HeadsFolder::new(None)?;
    let traces = load_dir(sample.path()).map_err(|e| Failure::input(e.to_string()))?;
    let configs = CoreConfig::shipped();
    let bar = Work::start(configs.len() as u64, "{bar:30} {pos}/{len} {msg}");
    let rows: Result<Vec<DemoRow>, Failure> = configs
        .par_iter()
        .map(|config| {
            let row = one(config, &traces, &args.out);
            bar.set_message(config.name());
            bar.inc(1);
            row
        })
        .collect();
    drop(bar);
    let rows = rows?;
    let summary = serde_json::to_string_pretty(&rows).unwrap_or_default() + "\n";
    let text = summary_table(&rows);
    write_all(
        "--out",
        &args.out,
        &[
            flashd_generator::GeneratedFile { name: "summary.json".into(), text: summary },
            flashd_generator::GeneratedFile { name: "summary.txt".into(), text: text.clone() + "\n" },
        ],
    )?;
    if args.json {
        return print_json(&rows);
    }
    let out = args.out.display();
    print(&format!(
        "{text}\n\n\
         0 mismatches: in every cycle of these runs the core equals the bit-exact model. Errors are fractions of\n\
         max|v| against f64 attention on the unrounded data; the paper's own weight unit (flash_d_paper) loses\n\
         what its static rule and its format lose. {:.1} s.\n\n\
         Verilog, manifests and waves are in {out}. For example:\n\
         \x20 gtkwave {out}/flash_d_bf16_d16.vcd -a {out}/flash_d_bf16_d16.gtkw\n\
         \x20 verilator --lint-only -Wall {out}/flash_d_bf16_d64.v",
        start.elapsed().as_secs_f64()
    ))
}

fn one(config: &CoreConfig, traces: &[Trace], out: &Path) -> Result<DemoRow, Failure> {
    let trace = traces
        .iter()
        .find(|t| t.d == config.d)
        .ok_or_else(|| Failure::input(format!("the bundled sample has no head of dimension {}", config.d)))?;
    step(|| format!("{}: generate, simulate, record", config.name()));
    let files = machine_files(config, &Emission::default())?;
    write_all("--out", out, &files)?;
    let whole = &trace.attention;
    let scenario = Scenario {
        attention: whole.truncated(whole.queries.min(QUERIES), whole.keys.min(4 * QUERIES)).into(),
        // The first queries of a causal head see few keys; the demo lets each see all of the sample.
        visible: Visible::default(),
        softcap: config.softcap,
        bias: Bias::None,
        sink: None,
        score_scale: trace.score_scale(),
        tensor_scale: TensorScale::Auto,
        scale_rule: Default::default(),
    };
    let reference = ExactResults::new(&scenario);
    let prepared = prepare(config, &scenario, &reference).map_err(|e| Failure::input(e.to_string()))?;
    let vcd = out.join(format!("{}.vcd", config.name()));
    let options = WaveOptions { to: Some(200), ..WaveOptions::default() };
    let wave_error = |e: flashd_simulator::WaveError| Failure::input(format!("--out: {e}"));
    let mut wave = WaveWriter::create(&vcd, &prepared.config, options).map_err(wave_error)?;
    let run = run_lockstep(&prepared.config, &prepared.workload, Gaps::None, &mut [&mut wave])?;
    wave.finish().map_err(wave_error)?;
    let verilog = &files[0].text;
    Ok(DemoRow {
        name: config.name(),
        distinct_modules: verilog.lines().filter(|l| l.starts_with("module ")).count(),
        verilog_lines: verilog.lines().count(),
        verilog_bytes: verilog.len(),
        counters: run.counters,
        mismatches: 0,
        accuracy: reference.accuracy(&prepared, &run.results),
        wave: vcd.display().to_string(),
    })
}

fn summary_table(rows: &[DemoRow]) -> String {
    let header = [
        "core",
        "modules",
        "lines",
        "latency",
        "cycles",
        "keys",
        "held",
        "mismatches",
        "mean error",
        "max error",
    ];
    let rows = rows.iter().map(|r| {
        let c = &r.counters;
        vec![
            r.name.clone(),
            r.distinct_modules.to_string(),
            r.verilog_lines.to_string(),
            c.latency.to_string(),
            c.cycles.to_string(),
            c.keys.to_string(),
            percent(c.held as f64 / c.keys.max(1) as f64),
            format!("{} of {}", r.mismatches, c.comparisons),
            percent(r.accuracy.mean),
            percent(r.accuracy.max),
        ]
    });
    table(&header, rows.collect())
}

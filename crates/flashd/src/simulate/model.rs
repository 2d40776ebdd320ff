//! `flashd simulate --engine model`: the bit-exact model alone, at full speed.

use super::histograms::Histograms;
use super::phases::{Phases, watched};
use crate::cli::SimulateArgs;
use crate::output::Failure;
use flashd_golden::{Monitor, Path as Way, QueryResult, Step, VectorModel};
use flashd_simulator::array::{ArrayRun, ArrayWorkload};
use flashd_simulator::split::{self, SplitRun};
use flashd_simulator::{Counters, Gaps, Prepared, run_model};
use flashd_spec::config::{ArrayConfig, CoreConfig, SplitConfig};
use serde::Serialize;
use std::time::Instant;

/// How the model was computed, and how fast.
#[derive(Clone, Serialize)]
pub struct Speed {
    /// Vector instructions.
    pub instructions: String,
    /// Whether the core's kernels have 16 queries side by side; else they take the reference's steps, query by query.
    pub side_by_side: bool,
    pub threads: usize,
    pub seconds: f64,
    pub keys_per_second: f64,
}

impl Speed {
    pub fn new(config: &CoreConfig, keys: u64, seconds: f64) -> Speed {
        let model = VectorModel::new(config);
        Speed {
            instructions: model.isa().to_string(),
            side_by_side: model.path() == Way::SideBySide,
            threads: rayon::current_num_threads(),
            seconds,
            keys_per_second: keys as f64 / seconds.max(1e-9),
        }
    }

    /// Rows of the report.
    pub fn rows(&self) -> [[String; 2]; 2] {
        let way = match self.side_by_side {
            true => "16 queries side by side",
            false => "query by query: this core has no kernels of its own",
        };
        [
            ["engine".into(), format!("bit-exact model, {}, {way}", self.instructions)],
            [
                "speed".into(),
                format!(
                    "{:.3} million keys a second, {:.3} s, threads: {}",
                    self.keys_per_second * 1e-6,
                    self.seconds,
                    self.threads
                ),
            ],
        ]
    }
}

/// A finished run.
pub struct Finished {
    pub counters: Counters,
    pub results: Vec<QueryResult>,
    pub engine: Speed,
}

/// Refuses options that need the other engine.
pub fn check(args: &SimulateArgs) -> Result<(), Failure> {
    if args.rtl().is_some() {
        for (flag, given) in [("--data", args.data.is_some()), ("--histograms", args.histograms.is_some())] {
            if given {
                return Err(Failure::input(format!("{flag}: takes --engine model")));
            }
        }
        return Ok(());
    }
    match args.recordings().next() {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::input(format!(
            "{flag}: takes --engine compiled, reference or rusthdl; the model counts cycles without running any"
        ))),
    }
}

/// Gaps of the RTL's stream, or of the model's count of cycles.
pub fn gaps(args: &SimulateArgs) -> Gaps {
    args.gaps.map_or(Gaps::None, Gaps::Random)
}

/// Runs with a progress bar, and with histograms if they are asked for.
fn monitored<T>(
    args: &SimulateArgs,
    config: &CoreConfig,
    phases: &Phases,
    run: impl FnOnce(Monitor) -> Result<T, Failure>,
) -> Result<(T, f64), Failure> {
    let progress = |keys: u64| phases.inc(keys);
    let histograms = args.histograms.as_ref().map(|path| (path, Histograms::new(config)));
    let watch = |_: usize, _: usize, steps: &[Step]| {
        if let Some((_, histograms)) = &histograms {
            histograms.add(steps);
        }
    };
    let start = Instant::now();
    let monitor = Monitor {
        watch: histograms.is_some().then_some(&watch as flashd_golden::Watch),
        progress: Some(&progress),
    };
    let finished = run(monitor)?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some((path, histograms)) = histograms {
        histograms.write(path)?;
    }
    Ok((finished, seconds))
}

/// The model's results of a core that others are compared with.
pub fn compared(prepared: &Prepared, phases: &Phases) -> Vec<QueryResult> {
    let model = VectorModel::new(&prepared.config);
    watched(phases, |monitor| prepared.workload.run_model(&model, monitor).results)
}

/// Queries one after another through one core.
pub fn run(args: &SimulateArgs, prepared: &Prepared, phases: &Phases) -> Result<Finished, Failure> {
    let config = &prepared.config;
    let keys = prepared.workload.steps() as u64;
    let (run, seconds) = monitored(args, config, phases, |monitor| {
        run_model(config, &prepared.workload, gaps(args), monitor).map_err(|e| Failure::input(e.to_string()))
    })?;
    Ok(Finished { engine: Speed::new(config, keys, seconds), counters: run.counters, results: run.results })
}

/// Queries whose keys are split.
pub fn run_split(
    args: &SimulateArgs,
    config: &SplitConfig,
    prepared: &Prepared,
    phases: &Phases,
) -> Result<(SplitRun, Speed), Failure> {
    let keys = prepared.workload.steps() as u64;
    let (run, seconds) = monitored(args, &config.core, phases, |monitor| {
        split::run_model(config, &prepared.workload, gaps(args), monitor)
            .map_err(|e| Failure::input(e.to_string()))
    })?;
    Ok((run, Speed::new(&config.core, keys, seconds)))
}

/// Blocks of queries through an array.
pub fn run_array(
    args: &SimulateArgs,
    config: &ArrayConfig,
    workload: &ArrayWorkload,
    phases: &Phases,
) -> Result<ArrayRun, Failure> {
    let run = |monitor: Monitor| {
        flashd_simulator::array::run_model(config, workload, gaps(args), monitor)
            .map_err(|e| Failure::input(e.to_string()))
    };
    Ok(monitored(args, &config.core, phases, run)?.0)
}

//! `flashd simulate --parts P`: cores for parts of the keys, and the tree that merges their results.

use super::layer::HeadOutcome;
use super::model::{Speed, compared, gaps};
use super::phases::{HeadStage, Phases};
use super::recording::recorded;
use super::remarks::{Remarks, error_table};
use super::scales;
use crate::cli::SimulateArgs;
use crate::output::{Failure, table};
use flashd_simulator::split::{SplitCounters, SplitRun, run as run_lockstep};
use flashd_simulator::{Accuracy, Drive, ExactResults, Prepared, RtlEngine};
use flashd_spec::config::SplitConfig;
use flashd_workload::Scaling;
use serde::Serialize;

#[derive(Serialize)]
struct SplitReport {
    name: String,
    configuration: SplitConfig,
    scaling: Scaling,
    queries: usize,
    keys: usize,
    latency: u32,
    counters: SplitCounters,
    /// Keys of all parts in a cycle.
    keys_per_cycle: f64,
    mismatches: Option<u64>,
    /// How fast the model was, where it ran alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<Speed>,
    #[serde(flatten)]
    remarks: Remarks,
    accuracy: Accuracy,
    /// Accuracy of a single core that meets all keys.
    one_core_accuracy: Accuracy,
}

/// Cores and tree in lock-step with the model.
fn cycle_run(
    args: &SimulateArgs,
    engine: RtlEngine,
    config: &SplitConfig,
    (prepared, phases): (&Prepared, &Phases),
) -> Result<SplitRun, Failure> {
    let drive = Drive { gaps: gaps(args), engine };
    let run = recorded(
        args,
        &config.into(),
        Some(phases),
        |observers| run_lockstep(config, &prepared.workload, drive, observers),
        |keys, window, _| keys.of_split(config, &prepared.workload, window),
    )?;
    Ok(run?)
}

pub fn run(
    args: &SimulateArgs,
    split: &SplitConfig,
    (prepared, phases): (&Prepared, &Phases),
    reference: &ExactResults,
) -> Result<HeadOutcome, Failure> {
    // The core with the score shift that the scaling needs.
    let config = SplitConfig::new(prepared.config.clone(), split.parts);
    let keys: usize = prepared.workload.queries.iter().map(|q| q.keys).sum();
    let (run, engine) = match args.rtl() {
        Some(engine) => (cycle_run(args, engine, &config, (prepared, phases))?, None),
        None => {
            let (run, speed) = super::model::run_split(args, &config, prepared, phases)?;
            (run, Some(speed))
        }
    };
    let (counters, results) = (run.counters, run.results);
    phases.begin(HeadStage::Other);
    let report = SplitReport {
        name: split.name(),
        scaling: prepared.scaling,
        queries: results.len(),
        keys,
        latency: config.latency(),
        counters,
        keys_per_cycle: keys as f64 / counters.cycles.max(1) as f64,
        // A difference would have ended the run.
        mismatches: engine.is_none().then_some(0),
        engine,
        remarks: Remarks::new(args, &config.core, prepared, reference, &results),
        accuracy: reference.accuracy(prepared, &results),
        one_core_accuracy: reference.accuracy(prepared, &compared(prepared, phases)),
        configuration: config,
    };
    HeadOutcome::new(&report, text(&report), prepared, &results)
}

fn text(r: &SplitReport) -> String {
    let mut rows = vec![
        ["cores and tree", &r.name].map(String::from),
        ["latency".into(), format!("{} cycles after the last keys", r.latency)],
        ["queries, keys".into(), format!("{}, {}", r.queries, r.keys)],
    ];
    let c = &r.counters;
    rows.push(["cycles".into(), format!("{} ({:.4} keys per cycle)", c.cycles, r.keys_per_cycle)]);
    rows.push(["values read".into(), c.v_reads.to_string()]);
    rows.extend(r.engine.iter().flat_map(Speed::rows));
    rows.push(["scales".into(), scales(&r.scaling)]);
    rows.extend(r.remarks.rows());
    let mut text = table(&["run", ""], rows.into_iter().map(|r| r.to_vec()).collect());
    text += "\n\n";
    text += &error_table(
        r.mismatches,
        c.comparisons,
        &[(r.name.as_str(), &r.accuracy), ("one core", &r.one_core_accuracy)],
    );
    text
}

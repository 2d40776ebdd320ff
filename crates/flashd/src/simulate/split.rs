//! `flashd simulate --parts P`: cores for parts of the keys, and the tree that merges their results.

use super::{remarks, scales, write_result};
use crate::cli::{EngineArg, SimulateArgs};
use crate::output::{Failure, percent, print, print_json, table};
use flashd_hwmodel::merge::SplitConfig;
use flashd_simulator::Gaps;
use flashd_simulator::evaluate::{Accuracy, Prepared, Reference, model_results};
use flashd_simulator::record::{VectorError, VectorFile};
use flashd_simulator::split::{SplitCounters, SplitObserver, run as run_lockstep, split_results};
use flashd_workload::Scaling;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Report {
    name: String,
    configuration: SplitConfig,
    scaling: Scaling,
    queries: usize,
    keys: usize,
    latency: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<SplitCounters>,
    /// Keys of all parts in a cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys_per_cycle: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mismatches: Option<u64>,
    empty_queries: usize,
    invalid_queries: usize,
    saturated_inputs: [usize; 3],
    accuracy: Accuracy,
    /// Of a single core that meets all keys.
    one_core_accuracy: Accuracy,
}

pub fn run(
    args: &SimulateArgs,
    split: &SplitConfig,
    prepared: &Prepared,
    reference: &Reference,
) -> Result<(), Failure> {
    // The core with the score shift that the scaling needs.
    let config = SplitConfig::new(prepared.config.clone(), split.parts);
    let keys: usize = prepared.workload.queries.iter().map(|q| q.keys).sum();
    let (counters, results) = match args.engine {
        EngineArg::Cycle => {
            let gaps = args.gaps.map_or(Gaps::None, Gaps::Random);
            let io = |e: VectorError| {
                let path = args.vectors.as_deref().unwrap_or(Path::new("")).display();
                Failure::input(format!("--vectors {path}: {e}"))
            };
            let mut vectors = args
                .vectors
                .as_ref()
                .map(|path| VectorFile::for_split(path, &config))
                .transpose()
                .map_err(io)?;
            let mut observers: Vec<&mut dyn SplitObserver> = Vec::new();
            observers.extend(vectors.as_mut().map(|v| v as &mut dyn SplitObserver));
            let run = run_lockstep(&config, &prepared.workload, gaps, &mut observers)?;
            if let Some(vectors) = vectors {
                vectors.commit().map_err(|e| io(e.into()))?;
            }
            (Some(run.counters), run.results)
        }
        EngineArg::Model if args.vectors.is_some() => {
            return Err(Failure::input("--vectors needs --engine cycle: the model has no cycles"));
        }
        EngineArg::Model => (None, split_results(&config, &prepared.workload)),
    };
    if let Some(path) = &args.o {
        write_result(path, prepared, &results)?;
    }
    let report = Report {
        name: split.name(),
        scaling: prepared.scaling,
        queries: results.len(),
        keys,
        latency: config.latency(),
        counters,
        keys_per_cycle: counters.map(|c| keys as f64 / c.cycles.max(1) as f64),
        // A difference would have ended the run.
        mismatches: counters.map(|_| 0),
        empty_queries: results.iter().filter(|r| r.empty).count(),
        invalid_queries: results.iter().filter(|r| r.invalid).count(),
        saturated_inputs: prepared.saturated_inputs,
        accuracy: reference.accuracy(prepared, &results),
        one_core_accuracy: reference.accuracy(prepared, &model_results(prepared)),
        configuration: config,
    };
    match args.json {
        true => print_json(&report),
        false => print(&text(&report)),
    }
}

fn text(r: &Report) -> String {
    let mut rows = vec![
        ["cores and tree", &r.name].map(String::from),
        ["latency".into(), format!("{} cycles after the last keys", r.latency)],
        ["queries, keys".into(), format!("{}, {}", r.queries, r.keys)],
    ];
    if let (Some(c), Some(rate)) = (r.counters, r.keys_per_cycle) {
        rows.push(["cycles".into(), format!("{} ({rate:.4} keys per cycle)", c.cycles)]);
        rows.push(["values read".into(), c.v_reads.to_string()]);
    }
    rows.push(["scales".into(), scales(&r.scaling)]);
    rows.extend(remarks(r.empty_queries, r.invalid_queries, r.saturated_inputs));
    let mut text = table(&["run", ""], rows.into_iter().map(|r| r.to_vec()).collect());
    let hardware = "hardware against bit-exact model".to_string();
    let error = |name: String, a: &Accuracy| {
        vec![name, format!("max {}", percent(a.max)), format!("mean {}", percent(a.mean))]
    };
    let rows = vec![
        match r.counters {
            Some(c) => vec![hardware, "0 mismatches".into(), format!("{} comparisons", c.comparisons)],
            None => vec![hardware, "not run".into(), "--engine cycle".into()],
        },
        error(format!("{} against f64", r.name), &r.accuracy),
        error("one core against f64".into(), &r.one_core_accuracy),
    ];
    text += "\n\n";
    text += &table(&["errors", "", "fractions of max|v|"], rows);
    text
}

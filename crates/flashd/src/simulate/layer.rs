//! One head, or the heads of a layer, from `--q`, `--k` and `--v`: loading, and the outcome of each.

use crate::cli::SimulateArgs;
use crate::output::{Failure, json_text, print, unwritable};
use flashd_golden::QueryResult;
use flashd_simulator::Prepared;
use flashd_workload::{First, Layer, write_npy};
use serde::Serialize;
use std::path::Path;

/// The outcome of a head's run.
pub struct HeadOutcome {
    json: String,
    text: String,
    /// Results, `[queries, d]`.
    o: Vec<f32>,
    /// Queries whose results are wrong: something was beyond the range of the lanes.
    overflowed: usize,
}

impl HeadOutcome {
    pub fn new(
        report: &impl Serialize,
        text: String,
        prepared: &Prepared,
        results: &[QueryResult],
    ) -> Result<HeadOutcome, Failure> {
        let overflowed = results.iter().filter(|result| result.overflow).count();
        Ok(HeadOutcome { json: json_text(report)?, text, o: prepared.values(results), overflowed })
    }
}

/// Reads one head or the heads of a layer from three files or one, with the rows that are asked for.
///
/// # Errors
/// Files that are missing or cannot be used.
pub fn read(q: Option<&Path>, k: Option<&Path>, v: Option<&Path>, first: First) -> Result<Layer, Failure> {
    let Some(q) = q else {
        return Err(Failure::input("--q is missing"));
    };
    let tensor = |e: flashd_workload::TensorError| Failure::input(e.to_string());
    match (k, v) {
        (Some(k), Some(v)) => Layer::npy_rows([q, k, v], first).map_err(tensor),
        (None, None) => {
            let is = |ending| q.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending));
            if !is("npz") && !is("safetensors") {
                return Err(Failure::input(
                    "--k and --v are missing (only .npz and .safetensors hold all three)",
                ));
            }
            Layer::bundle_rows(q, first).map_err(tensor)
        }
        _ => Err(Failure::input("--k and --v go together")),
    }
}

/// Reads the heads, each with the requested numbers of queries and keys.
pub fn load(args: &SimulateArgs) -> Result<Layer, Failure> {
    let first = First { queries: args.first_queries, keys: args.first_keys };
    let layer = read(args.q.as_deref(), args.k.as_deref(), args.v.as_deref(), first)?;
    let whole = layer.heads[0].uncut();
    for (flag, n, available) in [
        ("--first-queries", args.first_queries, whole.queries),
        ("--first-keys", args.first_keys, whole.keys),
    ] {
        if n.is_some_and(|n| n == 0 || n > available) {
            return Err(Failure::input(format!("{flag}: {} is outside 1 to {available}", n.unwrap_or(0))));
        }
    }
    let heads = layer.heads.len();
    let histograms = args.histograms.iter().map(|path| ("--histograms", path));
    if let (2.., Some((flag, _))) = (heads, args.recordings().chain(histograms).next()) {
        return Err(Failure::input(format!("{flag}: is of one head, and there are {heads}; give one head")));
    }
    Ok(layer)
}

/// The failure of a run in which some queries are beyond the range of the lanes.
pub fn in_range(overflowed: usize) -> Result<(), Failure> {
    let queries = match overflowed {
        0 => return Ok(()),
        1 => "1 query has".to_string(),
        n => format!("{n} queries have"),
    };
    Err(Failure::Check(format!(
        "{queries} a value beyond the range of the lanes (o_overflow): the results are wrong"
    )))
}

/// Writes the results of all heads in the shape in which Q came, and prints each outcome.
pub fn finish(
    args: &SimulateArgs,
    shape: &[usize],
    d: usize,
    outcomes: &[HeadOutcome],
) -> Result<(), Failure> {
    if let Some(path) = &args.o {
        let data = outcomes.iter().flat_map(|outcome| outcome.o.iter().copied()).collect::<Vec<f32>>();
        let queries = data.len() / d / outcomes.len();
        write_npy(path, &[shape, &[queries, d]].concat(), &data).map_err(|e| unwritable("--o", path, e))?;
    }
    let printed = match outcomes {
        [one] if args.json => print(&one.json),
        [one] => print(&one.text),
        all if args.json => {
            let indented = |outcome: &HeadOutcome| format!("  {}", outcome.json.replace('\n', "\n  "));
            print(&format!("[\n{}\n]", all.iter().map(indented).collect::<Vec<_>>().join(",\n")))
        }
        all => {
            let titled =
                |(head, outcome): (usize, &HeadOutcome)| format!("head {head}\n{}", outcome.text.trim_end());
            print(&all.iter().enumerate().map(titled).collect::<Vec<_>>().join("\n\n"))
        }
    };
    printed?;
    in_range(outcomes.iter().map(|outcome| outcome.overflowed).sum())
}

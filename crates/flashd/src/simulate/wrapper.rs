//! `flashd simulate --wrapper axis`: an array in its stream wrapper, driven at the ports.

use super::layer::HeadOutcome;
use super::phases::Phases;
use super::recording::recorded;
use super::remarks::{Remarks, error_table};
use super::scales;
use crate::cli::SimulateArgs;
use crate::output::{Failure, table};
use crate::progress::step;
use flashd_golden::QueryResult;
use flashd_simulator::wrapper::{
    Mask, Paces, WrapperBlock, WrapperDrive, WrapperError, WrapperRun, WrapperWorkload, run_observed,
};
use flashd_simulator::{Accuracy, ExactResults, Prepared};
use flashd_spec::bits::ones;
use flashd_spec::config::{Carried, Values, WrapperConfig};
use flashd_workload::Scaling;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Serialize)]
struct WrapperReport {
    name: String,
    configuration: WrapperConfig,
    scaling: Scaling,
    queries: usize,
    keys: usize,
    blocks: usize,
    /// Cycles from a request to the first beat of its value, without `--gaps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    /// Cycles of the run, including the host's writes to registers.
    cycles: u64,
    /// Cycles from the last key beat of each block to its first result beat, without stalls.
    latency: u32,
    /// The wrapper's registers at the end.
    registers: BTreeMap<String, u64>,
    comparisons: u64,
    mismatches: Option<u64>,
    #[serde(flatten)]
    remarks: Remarks,
    accuracy: Accuracy,
}

pub fn run(
    args: &SimulateArgs,
    wrapper: &WrapperConfig,
    (prepared, phases): (&Prepared, &Phases),
    reference: &ExactResults,
    ranges: &[Range<usize>],
) -> Result<HeadOutcome, Failure> {
    let Some(engine) = args.rtl() else {
        return Err(Failure::input(
            "--engine model: has no streams; take compiled, reference or rusthdl, or leave --wrapper out",
        ));
    };
    let mut config = wrapper.clone();
    // The core with the score shift that the scaling needs.
    config.array.core = prepared.config.clone();
    let workload = workload(&config, prepared, ranges)?;
    let (paces, memory) = paces(args, &config);
    let drive = WrapperDrive { paces, seed: args.gaps.unwrap_or(1), engine };
    step(|| format!("{}: {} blocks at the streams", config.name(), workload.blocks.len()));
    let expected = workload.expected(&config);
    let run = recorded(
        args,
        &(&config).into(),
        Some(phases),
        |observers| run_observed(&config, &workload, &drive, observers, &expected),
        |keys, window, _| keys.of_wrapper(&config, &workload, &expected, window),
    )?;
    let WrapperRun { cycles, registers, comparisons, .. } = run.map_err(failure)?;
    let results: Vec<QueryResult> = expected.into_iter().flat_map(|block| block.results).collect();
    let report = WrapperReport {
        name: config.name(),
        scaling: prepared.scaling,
        queries: results.len(),
        keys: prepared.workload.k.len() / prepared.workload.words.k,
        blocks: workload.blocks.len(),
        memory,
        cycles,
        latency: config.array.latency(),
        registers,
        comparisons,
        // A difference would have ended the run.
        mismatches: Some(0),
        remarks: Remarks::new(args, &config.array.core, prepared, reference, &results),
        accuracy: reference.accuracy(prepared, &results),
        configuration: config,
    };
    HeadOutcome::new(&report, text(&report), prepared, &results)
}

fn failure(e: WrapperError) -> Failure {
    match e {
        WrapperError::Difference(problem) => Failure::Check(problem),
        WrapperError::Config(_) | WrapperError::Observer(_) => Failure::input(e.to_string()),
    }
}

/// How streams pause, and the memory's delay where it does not change.
fn paces(args: &SimulateArgs, config: &WrapperConfig) -> (Paces, Option<u64>) {
    match args.gaps {
        Some(seed) => {
            let paces = Paces::random(seed);
            (Paces { memory: args.memory_latency.unwrap_or(paces.memory), ..paces }, None)
        }
        None => {
            let memory = args.memory_latency.unwrap_or(config.value_delay().into());
            (Paces::free(memory), Some(memory))
        }
    }
}

/// Blocks of queries, each with the keys from the first one on: the registers count places from there.
fn workload(
    config: &WrapperConfig,
    prepared: &Prepared,
    ranges: &[Range<usize>],
) -> Result<WrapperWorkload, Failure> {
    let whole = &prepared.workload;
    let (words, most) = (whole.words, config.array.queries);
    let keys = whole.k.len() / words.k;
    let (k, v) = (whole.k.words(), whole.v.words());
    let (mask, position) = mask(ranges, keys).ok_or_else(|| {
        Failure::input(
            "--wrapper axis: its registers hold a causal mask, with or without a window, and a first query at a key; these queries see \
             other keys: leave --lengths out, add --causal to --window, take --causal-align top-left where there are more queries than \
             keys, or leave --wrapper out",
        )
    })?;
    let places = ones(config.array.key_index_bits());
    if mask != Mask::None && (keys as u64).max(position + ranges.len() as u64) > places {
        let bits = config.array.key_index_bits();
        return Err(Failure::input(format!(
            "--key-index-bits: {keys} keys and {} queries, and {bits} bits count {places}; give more bits",
            ranges.len()
        )));
    }
    let block = |(queries, ranges): (&[flashd_simulator::Query], &[Range<usize>])| {
        let seen = ranges.iter().map(|range| range.end).max().unwrap_or(0).max(1);
        WrapperBlock {
            q: queries.iter().flat_map(|query| query.q.iter().copied()).collect(),
            k: k[..seen * words.k].to_vec(),
            v: v[..seen * words.v].to_vec(),
            padding: Vec::new(),
            biases: if config.array.core.bias { biases(queries, seen, most) } else { Vec::new() },
            states: Vec::new(),
        }
    };
    Ok(WrapperWorkload {
        blocks: whole.queries.chunks(most).zip(ranges.chunks(most)).map(block).collect(),
        v_exponent: whole.queries.first().map_or(0, |query| query.v_exponent),
        mask,
        position,
        stride: u64::from(mask != Mask::None),
        length: 0,
    })
}

/// The biases of a block for the first `keys` keys, by key, each with the array's `most` queries.
fn biases(queries: &[flashd_simulator::Query], keys: usize, most: usize) -> Vec<u64> {
    let of = |key: usize, place: usize| queries.get(place).and_then(|query| query.biases.get(key)).copied();
    (0..keys).flat_map(|key| (0..most).map(move |place| of(key, place).unwrap_or(0))).collect()
}

/// The mask and the first query's place that make these ranges, if registers can.
fn mask(ranges: &[Range<usize>], keys: usize) -> Option<(Mask, u64)> {
    if ranges.iter().all(|range| *range == (0..keys)) {
        return Some((Mask::None, 0));
    }
    // Queries at the last keys see all keys: the first query that does not see all gives the position.
    let position = match ranges.iter().enumerate().find(|(_, range)| range.end < keys) {
        Some((query, range)) => range.end.checked_sub(1 + query)?,
        None => keys - 1,
    };
    let place = |query: usize| position + query;
    let windowed = ranges.iter().enumerate().find(|(_, range)| range.start > 0 && !range.is_empty());
    let window = windowed.map(|(query, range)| place(query) + 1 - range.start);
    let sees = |query: usize| {
        let end = place(query) + 1;
        window.map_or(0, |window| end.saturating_sub(window))..end.min(keys)
    };
    let same = |(query, range): (usize, &Range<usize>)| {
        *range == sees(query) || (range.is_empty() && sees(query).is_empty())
    };
    let mask = window.map_or(Mask::Causal, |window| Mask::Window(window as u64));
    ranges.iter().enumerate().all(same).then_some((mask, position as u64))
}

fn text(r: &WrapperReport) -> String {
    let count = |name: &str| r.registers.get(name).copied().unwrap_or(0);
    let lost = [
        ("for values", "StallValue"),
        ("for requests", "StallRequest"),
        ("for results", "StallResult"),
        ("for keys", "WaitKeys"),
        ("for queries", "WaitQueries"),
    ];
    let lost: Vec<String> = lost.iter().map(|(why, register)| format!("{} {why}", count(register))).collect();
    let beats = format!("{} bits, {} to a key", r.configuration.beat(), r.configuration.beats(Carried::Key));
    let values = match r.configuration.values {
        Values::Requested => format!("{} requested, {} not", count("ValuesRead"), count("ValuesSkipped")),
        Values::All => format!("all sent; {} used, {} dropped", count("ValuesRead"), count("ValuesSkipped")),
    };
    let mut rows = vec![
        ["wrapper".to_string(), r.name.clone()],
        ["beats".into(), beats],
        [
            "latency".into(),
            format!("{} moving cycles from a block's last key to its first result", r.latency),
        ],
        ["blocks, queries, keys".into(), format!("{}, {}, {}", r.blocks, r.queries, r.keys)],
        ["cycles".into(), format!("{}; busy {}", r.cycles, count("Cycles"))],
        ["keys taken".into(), count("Keys").to_string()],
        ["cycles lost".into(), lost.join(", ")],
        ["values".into(), values],
    ];
    if let Some(memory) = r.memory.filter(|_| r.configuration.values == Values::Requested) {
        rows.push(["memory".into(), format!("{memory} cycles from a request to its value")]);
    }
    rows.push(["scales".into(), scales(&r.scaling)]);
    rows.extend(r.remarks.rows());
    let mut text = table(&["run", ""], rows.into_iter().map(|r| r.to_vec()).collect());
    text += "\n\n";
    text += &error_table(r.mismatches, r.comparisons, &[(r.name.as_str(), &r.accuracy)]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn causal(queries: usize, keys: usize, position: usize, window: Option<usize>) -> Vec<Range<usize>> {
        let sees = |query: usize| {
            let end = position + query + 1;
            let from = window.map_or(0, |window| end.saturating_sub(window)).min(keys);
            from..end.min(keys)
        };
        (0..queries).map(sees).collect()
    }

    #[test]
    fn masks_that_registers_can_hold_are_found() {
        assert_eq!(mask(&[0..5, 0..5], 5), Some((Mask::None, 0)));
        assert_eq!(mask(&causal(5, 5, 0, None), 5), Some((Mask::Causal, 0)));
        assert_eq!(mask(&causal(3, 8, 5, None), 8), Some((Mask::Causal, 5)));
        assert_eq!(mask(&causal(9, 6, 0, None), 6), Some((Mask::Causal, 0)));
        assert_eq!(mask(&causal(9, 6, 0, Some(2)), 6), Some((Mask::Window(2), 0)));
        assert_eq!(mask(&causal(4, 9, 5, Some(3)), 9), Some((Mask::Window(3), 5)));
        assert_eq!(mask(&causal(1, 9, 8, Some(4)), 9), Some((Mask::Window(4), 8)));
    }

    #[test]
    fn others_are_not() {
        assert_eq!(mask(&[0..3, 0..2], 5), None);
        assert_eq!(mask(&[0..0, 0..1, 0..2], 2), None);
        assert_eq!(mask(&[1..5, 3..5], 5), None);
    }
}

//! Workloads of the 64 streams.

use super::{PowerError, PowerOptions};
use crate::Target;
use flashd_golden::values_exponent;
use flashd_simulator::array::ArrayWorkload;
use flashd_simulator::{Query, RESET_CYCLES, Workload};
use flashd_spec::config::{ArrayConfig, CoreConfig, Lengths, TRANSFER_CYCLES};
use flashd_spec::machine::Machine;
use flashd_spec::numerics::BIAS;
use flashd_workload::{
    Attention, Quantised, Scaling, ScoreScale, Trace, TraceEntry, Visible, list_dir, quantise, round_to,
};
use std::collections::BTreeMap;
use std::path::Path;

/// Workload of a stream for a core or an array.
pub(super) enum Feed {
    Core(Workload),
    Array(ArrayWorkload),
}

/// A feed for each stream.
pub(super) struct Streams {
    pub feeds: Vec<Feed>,
    /// Names of the heads, which the streams take in turn.
    pub heads: Vec<String>,
    /// In words.
    pub description: String,
}

/// Most heads that are used at a time: more would not change the statistics, only the memory.
const HEADS: usize = 8;

/// Streams from the heads of a folder that are as wide as the core, or else from the heads of the nearest
/// width, side by side. Every stream takes consecutive rows of one head, each stream from a different row: in causal attention
/// row i against keys 0 to i, else against all keys. The queries of an array's block are consecutive rows; without masks each
/// sees the keys of the block's longest row.
pub(super) fn streams(target: &Target, options: &PowerOptions) -> Result<Streams, PowerError> {
    let config = target.core();
    let PowerOptions { data: folder, cycles, streams, .. } = options;
    let (width, traces) = heads(config.d, folder)?;
    let names: Vec<String> = traces.iter().map(|trace| trace.name.clone()).collect();
    let side_by_side = config.d.max(config.dv()).div_ceil(width);
    let mut sources = Vec::new();
    for first in 0..traces.len() {
        let parts: Vec<_> = (0..side_by_side).map(|part| &traces[(first + part) % traces.len()]).collect();
        let attention = join(&parts.iter().map(|part| &part.attention).collect::<Vec<_>>(), config.lengths());
        let lengths: Vec<usize> = Visible::new(parts.iter().all(|part| part.causal))
            .ranges(&attention)
            .into_iter()
            .map(|range| range.end)
            .collect();
        sources.push((rounded(config, &attention)?, lengths));
    }
    // Keys for each query of a block.
    let steps = (cycles + warm_up(target)) * target.places();
    let feeds = (0..*streams)
        .map(|stream| {
            let (head, lengths) = &sources[stream % sources.len()];
            let turn = stream / sources.len();
            let turns = streams.div_ceil(sources.len());
            let workload = one_stream(config, head, lengths, turn * head.queries / turns, steps);
            let workload = if config.bias { with_slope(workload) } else { workload };
            match &**target {
                Machine::Array(array) => Feed::Array(blocks(array, workload)),
                _ => Feed::Core(workload),
            }
        })
        .collect();
    let shape = match (side_by_side, width == config.d && width == config.dv()) {
        (_, true) => String::new(),
        (1, false) => format!(", the first {} of {width} elements", config.d),
        (n, false) => format!(", {n} heads of d = {width} side by side"),
    };
    let description = format!(
        "{streams} streams of {cycles} cycles, {} back to back, one key a cycle, v held when not read; \
         heads {}{shape}",
        match target.places() {
            1 => "queries".to_string(),
            n => format!("blocks of {n} queries"),
        },
        names.join(", ")
    );
    Ok(Streams { feeds, heads: names, description })
}

/// The slope of ALiBi's fourth head of eight, and a query's last key being its own.
const SLOPE: f64 = 0.0625;

/// A stream with biases that change from key to key, as ALiBi's do.
fn with_slope(workload: Workload) -> Workload {
    let lengths = workload.lengths();
    workload.with_biases(|query, key| round_to(BIAS, -SLOPE * (lengths[query] - 1 - key) as f64))
}

/// Queries in blocks, as many as the array has cores.
fn blocks(array: &ArrayConfig, mut workload: Workload) -> ArrayWorkload {
    if array.core.masks {
        let ranges: Vec<_> = workload.queries.iter().map(|query| 0..query.keys).collect();
        return ArrayWorkload::windows(&workload, array.queries, &ranges);
    }
    for block in workload.queries.chunks_mut(array.queries) {
        let keys = block.iter().map(|query| query.keys).max().unwrap_or(0);
        block.iter_mut().for_each(|query| query.keys = keys);
    }
    ArrayWorkload::new(&workload, array.queries)
}

/// The heads of a folder that streams for cores of vector length `d` are made of, and how wide they are.
///
/// # Errors
/// A folder that cannot be read or has no head that can be used.
pub(super) fn heads(d: usize, folder: &Path) -> Result<(usize, Vec<Trace>), PowerError> {
    let no_head =
        |problem: &str| PowerError::NoHead { folder: folder.to_path_buf(), problem: problem.into() };
    let mut by_width: BTreeMap<usize, Vec<TraceEntry>> = BTreeMap::new();
    for entry in list_dir(folder)? {
        let width = match entry.d {
            Some(d) => d,
            None => entry.read_d()?,
        };
        by_width.entry(width).or_default().push(entry);
    }
    // The nearest by ratio; of two equally near ones the narrower, which keeps whole vectors.
    let distance = |width: usize| (width as f64 / d as f64).ln().abs();
    let (&width, entries) = by_width
        .iter()
        .min_by(|a, b| distance(*a.0).total_cmp(&distance(*b.0)))
        .ok_or_else(|| no_head("holds no heads"))?;
    let mut traces = Vec::new();
    // Evenly over the list, which is sorted by model and layer.
    let used = entries.len().min(HEADS);
    for index in 0..used {
        let trace = entries[index * entries.len() / used].load()?;
        if trace.attention.queries == 0 || trace.attention.keys == 0 {
            return Err(no_head(&format!("{} has no rows", trace.name)));
        }
        traces.push(trace);
    }
    Ok((width, traces))
}

/// Heads side by side, cut to the core's lengths and to the rows that all have.
fn join(parts: &[&Attention], Lengths { k: d, v: dv }: Lengths) -> Attention {
    let queries = parts.iter().map(|part| part.queries).min().unwrap_or(0);
    let keys = parts.iter().map(|part| part.keys).min().unwrap_or(0);
    let rows =
        |count: usize, d: usize, row: &dyn for<'a> Fn(&'a Attention, usize) -> &'a [f32]| -> Vec<f32> {
            (0..count)
                .flat_map(|i| parts.iter().flat_map(move |part| row(part, i).iter().copied()).take(d))
                .collect()
        };
    let (k, v) = (rows(keys, d, &|part, i| part.key(i)), rows(keys, dv, &|part, i| part.value(i)));
    // Positions of queries are the first head's.
    Attention {
        cut_from: Some(parts[0].uncut()),
        ..Attention::new(d, rows(queries, d, &|part, i| part.query(i)), k, v)
    }
}

/// Encodings of a head with 1/sqrt(d) folded into q as far as the core's `score_shift` does not apply it.
fn rounded(config: &CoreConfig, attention: &Attention) -> Result<Quantised, PowerError> {
    let scaling = Scaling::unscaled(ScoreScale::Auto, config.d)?;
    let scaling = scaling.with_exponents(scaling.score_shift - config.score_shift(), 0);
    Ok(quantise(config.encodings(), scaling, attention))
}

/// Consecutive rows from `first` on, with wrap-around, until there are `steps` keys; `lengths` has the number of keys
/// that each row sees.
fn one_stream(
    config: &CoreConfig,
    head: &Quantised,
    lengths: &[usize],
    first: usize,
    steps: usize,
) -> Workload {
    let words = config.port_words();
    let v_exponent = values_exponent(config, &head.v);
    let mut queries = Vec::new();
    let mut total = 0;
    let mut row = first;
    while total < steps {
        let keys = lengths[row];
        // The first rows see no key where there are more queries than keys; the last one always does.
        if keys > 0 {
            queries.push(Query { q: head.query(row).to_vec(), keys, v_exponent, ..Query::default() });
        }
        total += keys;
        row = (row + 1) % head.queries;
    }
    // Keys that no query reaches need not be kept 64 times.
    let reached = queries.iter().map(|query| query.keys).max().unwrap_or(0);
    let (k, v) = (head.k[..reached * words.k].to_vec(), head.v[..reached * words.v].to_vec());
    Workload { words, queries, k: k.into(), v: v.into() }
}

/// Cycles of a stream before counting starts: reset, the first query, and twice the pipeline, so that everything
/// carries data. Counting begins with the clock edge before cycle `warm_up`.
pub fn warm_up(target: &Target) -> usize {
    let load = match &**target {
        Machine::Array(config) => config.queries + TRANSFER_CYCLES,
        _ => 0,
    };
    RESET_CYCLES + 2 + load + 2 * target.latency() as usize
}

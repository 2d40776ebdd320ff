//! `flashd traffic`.

mod bytes;
mod chart;
mod report;

use crate::cli::TrafficArgs;
use crate::output::{Failure, check_writable, draw, print, print_json};
use crate::progress::Work;
use flashd_golden::family::{
    Blocks, Counted, Counts, MemoryTensor, Operation, PartialAttention, Problem, Sizes,
    flash_attention2_blocks, flash_attention2_blocks_formula, hold_weights, scores, standard,
    standard_formula, tiled, tiled_formula,
};
use flashd_spec::config::{CoreConfig, Design, Hold};
use flashd_spec::format::Format;
use flashd_workload::synthetic::attention_like;
use flashd_workload::{Trace, load_dir};
use indicatif::ProgressBar;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use bytes::Bytes;

/// Products of a query and a key element that one run may take: about half a minute on one core.
pub const MOST_PRODUCTS: u128 = 1 << 34;
/// Longest vector: a row of Q, K, V and O fits a large SRAM.
pub const LONGEST_VECTOR: usize = 4096;
/// Tolerance between the results of all algorithms, as a fraction of the largest abs(v).
const AGREEMENT: f64 = 1e-12;

/// Heads of one shape.
struct HeadsOfShape {
    name: String,
    queries: usize,
    keys: usize,
    d: usize,
    heads: Vec<Trace>,
}

/// The algorithms on the heads of one shape with one SRAM.
#[derive(Serialize)]
struct TrafficPoint {
    source: String,
    heads: usize,
    queries: usize,
    keys: usize,
    d: usize,
    /// Elements; none where blocks were given.
    sram: Option<usize>,
    block_rows: usize,
    block_columns: usize,
    /// Elements in fast memory at most.
    working_set: usize,
    standard: CountedTraffic,
    /// Keys outside, the order of 2022.
    flash_attention: CountedTraffic,
    /// Queries that stay while keys and values stream by.
    resident_queries: usize,
    /// Elements in fast memory at most, in that order.
    streamed_working_set: usize,
    /// Queries outside: the order of FlashAttention-2, and of these cores.
    streamed: CountedTraffic,
    /// Bytes moved by a core in each format, in that order.
    bytes: Vec<Bytes>,
    hold: HoldCounts,
    /// Largest difference from standard attention, as a fraction of the largest abs(v).
    largest_difference: f64,
}

/// Counts next to the closed formula, all heads together.
#[derive(Clone)]
pub struct CountedTraffic {
    pub counted: Counts,
    pub formula: Counts,
}

/// A FLASH-D datapath, one key a cycle, with its hold rule.
#[derive(Clone, Copy, Default, Serialize)]
struct HoldCounts {
    threshold: f64,
    /// Pairs of a query and a key that it sees.
    steps: u64,
    /// Steps that read no value.
    held: u64,
    /// Elements of values read without the rule.
    value_elements: u64,
    /// The elements among these that the rule saves.
    value_elements_saved: u64,
}

impl Serialize for CountedTraffic {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tensors = |of: &dyn Fn(MemoryTensor) -> u64| -> Value {
            MemoryTensor::ALL.iter().map(|&t| (t.name().to_string(), json!(of(t)))).collect()
        };
        let one = |c: &Counts| {
            let operations: Value = Operation::ALL
                .iter()
                .map(|&operation| (operation.name().to_string(), json!(c.operations(operation))))
                .collect();
            json!({
                "accesses": c.accesses(),
                "reads": tensors(&|t| c.reads(t)),
                "writes": tensors(&|t| c.writes(t)),
                "flops": c.flops(),
                "operations": operations,
                "extra_memory": c.extra,
            })
        };
        json!({ "counted": one(&self.counted), "formula": one(&self.formula) }).serialize(serializer)
    }
}

pub fn run(args: &TrafficArgs) -> Result<(), Failure> {
    let threshold = threshold(args.hold)?;
    let sources = match &args.data {
        Some(folder) => recorded(load_dir(folder).map_err(|e| Failure::input(format!("--data {e}")))?),
        None => synthetic(args)?,
    };
    for source in &sources {
        check_size(source)?;
    }
    let tilings = tilings(args, &sources)?;
    if let Some(path) = &args.svg {
        check_writable("--svg", path)?;
    }
    let points = measure(&sources, &tilings, threshold);
    for p in &points {
        let differ = [&p.standard, &p.flash_attention, &p.streamed].iter().any(|m| m.counted != m.formula);
        if differ || p.largest_difference > AGREEMENT {
            return Err(Failure::Check(format!(
                "{}, {} queries, {} keys, d = {}, blocks {} x {}: counts and formulas or the results differ",
                p.source, p.queries, p.keys, p.d, p.block_rows, p.block_columns
            )));
        }
    }
    let mut text = report::text(&points);
    if let Some(path) = &args.svg {
        text += &format!("\n{}", draw("--svg", path, &[chart::accesses(&points)])?.display());
    }
    match args.json {
        true => print_json(&points),
        false => print(&text),
    }
}

/// The threshold, if a core can have it.
fn threshold(t: f64) -> Result<f64, Failure> {
    CoreConfig {
        hold: Some(Hold::Below(t)),
        ..CoreConfig::new(Design::FlashD, flashd_spec::config::D_RANGE.0, Format::BF16)
    }
    .validate()
    .map_err(|e| Failure::input(format!("--{}: {}", e.field, e.problem)))?;
    Ok(t)
}

/// A head for every N and d.
fn synthetic(args: &TrafficArgs) -> Result<Vec<HeadsOfShape>, Failure> {
    let mut sources = Vec::new();
    for &n in &args.n {
        for &d in &args.d {
            let (heads, name) = (Vec::new(), format!("synthetic, seed {}", args.seed));
            let mut source = HeadsOfShape { name, queries: n, keys: n, d, heads };
            // Before anything is made.
            check_size(&source)?;
            let attention = attention_like(args.seed, n, n, d);
            let (name, group) = (source.name.clone(), source.name.clone());
            source.heads.push(Trace { name, group, d, causal: false, attention });
            sources.push(source);
        }
    }
    Ok(sources)
}

/// Recorded heads by group and shape.
fn recorded(traces: Vec<Trace>) -> Vec<HeadsOfShape> {
    let mut sources: BTreeMap<_, Vec<Trace>> = BTreeMap::new();
    for trace in traces {
        let a = &trace.attention;
        sources.entry((trace.group.clone(), a.queries, a.keys, a.d)).or_default().push(trace);
    }
    let source = |((name, queries, keys, d), heads)| HeadsOfShape { name, queries, keys, d, heads };
    sources.into_iter().map(source).collect()
}

fn check_size(source: &HeadsOfShape) -> Result<(), Failure> {
    let HeadsOfShape { queries, keys, d, .. } = *source;
    // Recorded heads have their sizes from their files.
    let from = |flag: &str| match source.heads.first() {
        Some(head) => format!("--data: {}", head.name),
        None => flag.to_string(),
    };
    if queries == 0 || keys == 0 {
        return Err(Failure::input("--n: 0 is outside 1 and up"));
    }
    if d == 0 || d > LONGEST_VECTOR {
        return Err(Failure::input(format!("{}: {d} is outside 1 to {LONGEST_VECTOR}", from("--d"))));
    }
    if (queries as u128).saturating_mul(keys as u128).saturating_mul(d as u128) > MOST_PRODUCTS {
        let n = ((MOST_PRODUCTS / d as u128) as f64).sqrt() as u64;
        return Err(Failure::input(format!(
            "{}: {queries} queries and {keys} keys of length {d} are more than the {MOST_PRODUCTS} products \
             that a run may take; with d = {d} use at most {n}",
            from("--n")
        )));
    }
    Ok(())
}

/// How large blocks are.
#[derive(Clone, Copy)]
enum BlockSize {
    /// By the rule of 2022 for this number of elements.
    Sram(usize),
    /// As given.
    Given(Blocks),
}

/// The blocks of both orders of loops.
#[derive(Clone, Copy)]
struct Tiling {
    size: BlockSize,
    /// The queries of an array of cores.
    queries: Option<usize>,
}

impl Tiling {
    /// The blocks of the order of 2022. SRAM sizes were found to be large enough.
    fn blocks(&self, d: usize) -> Option<Blocks> {
        match self.size {
            BlockSize::Sram(sram) => Blocks::of_sram(sram, d),
            BlockSize::Given(blocks) => Some(blocks),
        }
    }

    /// The blocks of the other order: the same, or an array's, which meets one key at a time.
    fn streamed(&self, d: usize) -> Option<Blocks> {
        self.queries.map(|rows| Blocks { rows, columns: 1 }).or_else(|| self.blocks(d))
    }
}

/// Blocks as given, or SRAM sizes in elements, large enough for every d.
fn tilings(args: &TrafficArgs, sources: &[HeadsOfShape]) -> Result<Vec<Tiling>, Failure> {
    let tiling = |size| Tiling { size, queries: args.queries };
    if let (Some(rows), Some(columns)) = (args.br, args.bc) {
        return Ok(vec![tiling(BlockSize::Given(Blocks { rows, columns }))]);
    }
    let bytes = args.element_bytes.unwrap_or(1);
    if bytes == 0 {
        return Err(Failure::input("--element-bytes: 0 is outside 1 and up"));
    }
    for &sram in &args.sram {
        for source in sources {
            let least = 4 * source.d;
            if sram / bytes < least || Blocks::of_sram(sram / bytes, source.d).is_none() {
                let given = match args.element_bytes {
                    Some(bytes) => format!("{sram} bytes are {} elements", sram / bytes),
                    None => format!("{sram} elements"),
                };
                return Err(Failure::input(format!(
                    "--sram: {given}, but a row each of Q, K, V and O takes {least} with d = {}",
                    source.d
                )));
            }
        }
    }
    Ok(args.sram.iter().map(|sram| tiling(BlockSize::Sram(sram / bytes))).collect())
}

/// Counts of one head: standard attention, then both orders of loops with each tiling.
struct HeadCounts {
    standard: Counts,
    hold: HoldCounts,
    tiled: Vec<TiledRun>,
}

struct TiledRun {
    tiled: Counted,
    streamed: Counted,
    difference: f64,
}

fn measure(sources: &[HeadsOfShape], tilings: &[Tiling], threshold: f64) -> Vec<TrafficPoint> {
    let heads: usize = sources.iter().map(|s| s.heads.len()).sum();
    let bar = Work::start((heads * (tilings.len() + 1)) as u64, "{bar:30} {pos} of {len} runs {elapsed}");
    let mut points = Vec::new();
    for source in sources {
        let runs: Vec<HeadCounts> =
            source.heads.par_iter().map(|head| run_head(head, tilings, threshold, &bar)).collect();
        for (i, tiling) in tilings.iter().enumerate() {
            points.extend(point(source, tiling, &runs, i));
        }
    }
    drop(bar);
    points
}

/// The largest difference between the results of two algorithms.
fn difference(a: &[PartialAttention], b: &[PartialAttention]) -> f64 {
    let pairs = a.iter().zip(b).flat_map(|(a, b)| a.o.iter().zip(&b.o));
    pairs.fold(0f64, |most, (a, b)| most.max((a - b).abs()))
}

fn run_head(head: &Trace, tilings: &[Tiling], threshold: f64, bar: &ProgressBar) -> HeadCounts {
    let a = &head.attention;
    let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| x.into()).collect() };
    let (q, k, v) = (wide(&a.q), wide(&a.k), wide(&a.v));
    let scale = head.score_scale().factor(head.d);
    let problem = Problem::new(&q, &k, &v, a.d, scale);
    let standard = standard(&problem);
    let mut hold = HoldCounts { threshold, ..HoldCounts::default() };
    for (q, visible) in q.chunks_exact(a.d).zip(head.visible().ranges(a)) {
        let weights = hold_weights(&scores(q, &k[..visible.end * a.d], a.d, scale), threshold);
        hold.steps += visible.end as u64;
        hold.held += weights.iter().filter(|w| w.is_none()).count() as u64;
    }
    hold.value_elements = hold.steps * a.d as u64;
    hold.value_elements_saved = hold.held * a.d as u64;
    bar.inc(1);
    let norm = if a.max_abs_v() > 0.0 { a.max_abs_v() } else { 1.0 };
    let both = |tiling: &Tiling| {
        let tiled = tiled(&problem, tiling.blocks(a.d)?);
        let streamed = flash_attention2_blocks(&problem, tiling.streamed(a.d)?);
        let differences = [&tiled, &streamed].map(|run| difference(&standard.rows, &run.rows));
        bar.inc(1);
        Some(TiledRun { tiled, streamed, difference: differences[0].max(differences[1]) / norm })
    };
    HeadCounts { tiled: tilings.par_iter().filter_map(both).collect(), standard: standard.counts, hold }
}

/// Sums over the heads.
fn point(source: &HeadsOfShape, tiling: &Tiling, runs: &[HeadCounts], i: usize) -> Option<TrafficPoint> {
    let HeadsOfShape { queries, keys, d, .. } = *source;
    let (blocks, of_streamed) = (tiling.blocks(d)?, tiling.streamed(d)?);
    let sizes = |blocks| Sizes::dense(queries as u64, keys as u64, d as u64, blocks);
    let formulas = [
        standard_formula(&sizes(blocks)),
        tiled_formula(&sizes(blocks)),
        flash_attention2_blocks_formula(&sizes(of_streamed)),
    ];
    let mut measured =
        [(); 3].map(|()| CountedTraffic { counted: Counts::default(), formula: Counts::default() });
    let mut hold = HoldCounts::default();
    let (mut working_set, mut streamed_working_set, mut largest_difference) = (0, 0, 0f64);
    for run in runs {
        let TiledRun { tiled, streamed, difference } = run.tiled.get(i)?;
        let counts = [&run.standard, &tiled.counts, &streamed.counts];
        for ((measured, counted), formula) in measured.iter_mut().zip(counts).zip(&formulas) {
            measured.counted += counted;
            measured.formula += formula;
        }
        working_set = working_set.max(tiled.working_set);
        streamed_working_set = streamed_working_set.max(streamed.working_set);
        largest_difference = largest_difference.max(*difference);
        hold.threshold = run.hold.threshold;
        hold.steps += run.hold.steps;
        hold.held += run.hold.held;
        hold.value_elements += run.hold.value_elements;
        hold.value_elements_saved += run.hold.value_elements_saved;
    }
    let [standard, flash_attention, streamed] = measured;
    Some(TrafficPoint {
        source: source.name.clone(),
        heads: runs.len(),
        queries,
        keys,
        d,
        sram: match tiling.size {
            BlockSize::Sram(sram) => Some(sram),
            BlockSize::Given(_) => None,
        },
        block_rows: blocks.rows,
        block_columns: blocks.columns,
        working_set,
        standard,
        flash_attention,
        resident_queries: of_streamed.rows,
        streamed_working_set,
        bytes: Bytes::of_all_formats(d, of_streamed.rows, &streamed.counted, &hold),
        streamed,
        hold,
        largest_difference,
    })
}

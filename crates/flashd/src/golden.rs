//! `flashd golden`: the family of attention algorithms in f64, with counts, compared with safe softmax.

mod report;

use crate::cli::GoldenArgs;
use crate::output::{Failure, print, print_json, table};
use crate::simulate;
use crate::traffic::{CountedTraffic, LONGEST_VECTOR, MOST_PRODUCTS};
use flashd_golden::family::{
    ALGORITHMS, Algorithm, Blocks, Counts, EQUATIONS, Equation, PartialAttention, Problem, Sizes,
    safe_softmax,
};
use flashd_workload::synthetic::attention_like;
use flashd_workload::{AskedVisible, First, ScoreScale, Trace, Visible, load_dir_as, read_mask};
use rayon::prelude::*;
use serde::Serialize;

/// A head and its mask.
struct GoldenHead {
    trace: Trace,
    visible: Visible,
    scale: f64,
    /// Additive, `[queries, keys]`.
    mask: Option<Vec<f64>>,
}

/// An algorithm on all heads.
#[derive(Serialize)]
struct GoldenPoint {
    algorithm: &'static str,
    words: &'static str,
    equation: &'static str,
    /// Heads with scores beyond its domain: naive softmax has a limit. The other heads are counted.
    beyond_its_domain: usize,
    /// Mean distance from safe softmax, in f64, as a fraction of the head's max|v|; none where no head is in its domain.
    mean_error: Option<f64>,
    /// The largest.
    max_error: Option<f64>,
    /// Elements in fast memory at most.
    working_set: usize,
    #[serde(flatten)]
    counts: CountedTraffic,
}

/// All of them.
#[derive(Serialize)]
struct Golden {
    source: String,
    heads: usize,
    /// Pairs of a query and a key over all heads, and unmasked pairs.
    pairs: u64,
    seen: u64,
    block_rows: usize,
    block_columns: usize,
    mask: bool,
    algorithms: Vec<GoldenPoint>,
}

/// Results of an algorithm on a head.
struct GoldenRun {
    counted: Counts,
    formula: Counts,
    working_set: usize,
    errors: f64,
    elements: usize,
    max_error: f64,
}

pub fn run(args: &GoldenArgs) -> Result<(), Failure> {
    if args.list {
        return list(args.json);
    }
    let named = |algorithm: &&Algorithm| {
        args.algorithm.is_empty() || args.algorithm.iter().any(|name| name == algorithm.name)
    };
    let algorithms: Vec<&Algorithm> = ALGORITHMS.iter().filter(named).collect();
    let (source, heads) = heads(args)?;
    check_sizes(&heads, algorithms.len())?;
    let blocks = Blocks { rows: args.br, columns: args.bc };
    let runs: Vec<(Sizes, Vec<Option<GoldenRun>>)> =
        heads.par_iter().map(|head| run_head(head, &algorithms, blocks)).collect();
    let point =
        |(i, algorithm): (usize, &&Algorithm)| point(algorithm, runs.iter().map(|(_, runs)| &runs[i]));
    let golden = Golden {
        source,
        heads: heads.len(),
        pairs: runs.iter().map(|(sizes, _)| sizes.queries * sizes.keys).sum(),
        seen: runs.iter().map(|(sizes, _)| sizes.seen).sum(),
        block_rows: args.br,
        block_columns: args.bc,
        mask: args.mask.is_some(),
        algorithms: algorithms.iter().enumerate().map(point).collect(),
    };
    match args.json {
        true => print_json(&golden),
        false => print(&report::text(&golden)),
    }?;
    let differ = golden.algorithms.iter().find(|point| point.counts.counted != point.counts.formula);
    differ.map_or(Ok(()), |point| {
        Err(Failure::Check(format!(
            "{}: what was counted is not what the closed formulas say",
            point.algorithm
        )))
    })
}

/// The algorithms with their equations, and the paper's numbered equations.
fn list(json: bool) -> Result<(), Failure> {
    if json {
        let one = |a: &Algorithm| serde_json::json!({ "algorithm": a.name, "words": a.words, "equation": a.equation });
        let numbered =
            |e: &Equation| serde_json::json!({ "number": e.number, "formula": e.formula, "words": e.words });
        return print_json(&serde_json::json!({
            "algorithms": ALGORITHMS.iter().map(one).collect::<Vec<_>>(),
            "equations": EQUATIONS.iter().map(numbered).collect::<Vec<_>>(),
        }));
    }
    let row = |a: &Algorithm| vec![a.name.to_string(), format!("{}\n{}", a.words, a.equation)];
    let numbered = |e: &Equation| vec![format!("({})", e.number), format!("{}\n{}", e.words, e.formula)];
    let algorithms = table(&["algorithm", "description and equation"], ALGORITHMS.iter().map(row).collect());
    let equations = table(&["equation of the paper", "formula"], EQUATIONS.iter().map(numbered).collect());
    print(&format!("{algorithms}\n{equations}"))
}

/// The heads, and their common name.
fn heads(args: &GoldenArgs) -> Result<(String, Vec<GoldenHead>), Failure> {
    if let ScoreScale::Value(scale) = args.scale
        && !(scale.is_finite() && scale > 0.0)
    {
        return Err(Failure::input(format!("--scale: {scale} is not a finite number above 0")));
    }
    if args.causal_align.is_some() && !args.causal && args.data.is_none() {
        return Err(Failure::input(
            "--causal-align: says where the queries of causal attention stand; add --causal",
        ));
    }
    if let Some(folder) = &args.data {
        let align = args.causal_align.unwrap_or_default();
        let seen = |causal| Visible { causal: args.causal || causal, align, ..Visible::default() };
        let traces = load_dir_as(folder, |entry| seen(entry.causal));
        let traces = traces.map_err(|e| Failure::input(format!("--data {e}")))?;
        let head = |trace: Trace| {
            let visible = seen(trace.causal);
            GoldenHead { scale: trace.score_scale().factor(trace.d), visible, mask: None, trace }
        };
        return Ok((folder.display().to_string(), traces.into_iter().map(head).collect()));
    }
    let (source, attentions) = match &args.q {
        Some(q) => {
            let layer = simulate::read(Some(q), args.k.as_deref(), args.v.as_deref(), First::default())?;
            (q.display().to_string(), layer.heads)
        }
        None => {
            check_size("--n", (args.n, args.n, args.d), 1)?;
            let source = format!("synthetic head, N = {}, d = {}, seed {}", args.n, args.d, args.seed);
            (source, vec![attention_like(args.seed, args.n, args.n, args.d)])
        }
    };
    let first = &attentions[0];
    let (queries, keys) = (first.queries, first.keys);
    let asked = AskedVisible { causal: args.causal, align: args.causal_align, ..AskedVisible::default() };
    let visible = asked.of(true, queries, keys).map_err(Failure::input)?;
    let mask = args.mask.as_ref().map(|path| read_mask(path, queries, keys));
    let mask = mask.transpose().map_err(|e| Failure::input(format!("--mask {e}")))?;
    // Masked keys may hold anything, too.
    let hides = |mask: &Vec<f64>| mask.iter().map(|&added| added == f64::NEG_INFINITY).collect();
    let seen = Visible { hidden: mask.as_ref().map_or_else(Vec::new, hides), ..visible.clone() };
    let head = |(i, attention): (usize, flashd_workload::Attention)| {
        let d = attention.d;
        let attention = seen.only_seen(attention).map_err(|e| Failure::input(e.to_string()))?;
        let trace =
            Trace { name: format!("head {i}"), group: source.clone(), d, causal: args.causal, attention };
        Ok(GoldenHead { scale: args.scale.factor(d), visible: visible.clone(), mask: mask.clone(), trace })
    };
    let heads = attentions.into_iter().enumerate().map(head).collect::<Result<_, Failure>>()?;
    Ok((source, heads))
}

/// Refuses sizes that the algorithms do not support, or that would run for minutes.
fn check_sizes(heads: &[GoldenHead], algorithms: usize) -> Result<(), Failure> {
    let mut products = 0u128;
    for head in heads {
        let a = &head.trace.attention;
        if a.dv != a.d {
            return Err(Failure::input(format!(
                "{}: values have {} elements and keys {}; the algorithms of the family take values as long as keys",
                head.trace.name, a.dv, a.d
            )));
        }
        products += check_size(&head.trace.name, (a.queries, a.keys, a.d), algorithms)?;
    }
    match products <= MOST_PRODUCTS {
        true => Ok(()),
        false => Err(Failure::input(format!(
            "--data: {} heads take {products} products with these algorithms, and {MOST_PRODUCTS} is the most; name fewer with --algorithm",
            heads.len()
        ))),
    }
}

/// Products that the algorithms take on a head of these queries, keys and elements.
fn check_size(
    name: &str,
    (queries, keys, d): (usize, usize, usize),
    algorithms: usize,
) -> Result<u128, Failure> {
    if d > LONGEST_VECTOR {
        return Err(Failure::input(format!("{name}: d = {d} is outside 1 to {LONGEST_VECTOR}")));
    }
    let products = [keys, d, algorithms].iter().fold(queries as u128, |n, &x| n.saturating_mul(x as u128));
    match products <= MOST_PRODUCTS {
        true => Ok(products),
        false => Err(Failure::input(format!(
            "{name}: {queries} queries and {keys} keys of length {d} with {algorithms} of the algorithms are more than the \
             {MOST_PRODUCTS} products that a run may take; use a shorter head or name fewer with --algorithm"
        ))),
    }
}

fn run_head(head: &GoldenHead, algorithms: &[&Algorithm], blocks: Blocks) -> (Sizes, Vec<Option<GoldenRun>>) {
    let a = &head.trace.attention;
    let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| x.into()).collect() };
    let (q, k, v) = (wide(&a.q), wide(&a.k), wide(&a.v));
    let seen = head.visible.ranges(a);
    let problem =
        Problem { mask: head.mask.as_deref(), seen: &seen, ..Problem::new(&q, &k, &v, a.d, head.scale) };
    let exact: Vec<PartialAttention> =
        (0..a.queries).map(|i| safe_softmax(&problem.masked_scores(i), &v, a.d)).collect();
    let sizes = Sizes::of(&problem, blocks);
    let norm = if a.max_abs_v() > 0.0 { a.max_abs_v() } else { 1.0 };
    let one = |algorithm: &&Algorithm| {
        let run = algorithm.run(&problem, blocks)?;
        let pairs = run.rows.iter().zip(&exact).flat_map(|(a, b)| a.o.iter().zip(&b.o));
        let errors = pairs.map(|(a, b)| (a - b).abs() / norm);
        Some(GoldenRun {
            counted: run.counts,
            formula: algorithm.formula(&sizes),
            working_set: run.working_set,
            errors: errors.clone().sum(),
            elements: a.queries * a.d,
            max_error: errors.fold(0.0, f64::max),
        })
    };
    (sizes, algorithms.iter().map(one).collect())
}

/// Sums over the heads.
fn point<'a>(algorithm: &Algorithm, runs: impl Iterator<Item = &'a Option<GoldenRun>>) -> GoldenPoint {
    let mut counts = CountedTraffic { counted: Counts::default(), formula: Counts::default() };
    let (mut beyond_its_domain, mut working_set) = (0, 0);
    let (mut errors, mut elements, mut max_error) = (0.0, 0, 0f64);
    for run in runs {
        let Some(run) = run else {
            beyond_its_domain += 1;
            continue;
        };
        counts.counted += &run.counted;
        counts.formula += &run.formula;
        working_set = working_set.max(run.working_set);
        errors += run.errors;
        elements += run.elements;
        max_error = max_error.max(run.max_error);
    }
    let any = elements > 0;
    GoldenPoint {
        algorithm: algorithm.name,
        words: algorithm.words,
        equation: algorithm.equation,
        beyond_its_domain,
        mean_error: any.then(|| errors / elements as f64),
        max_error: any.then_some(max_error),
        working_set,
        counts,
    }
}

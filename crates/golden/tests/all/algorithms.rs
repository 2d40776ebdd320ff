//! The table of algorithms: on random heads with masks of every kind, each computes attention, and its counts agree with
//! its closed formula.

use flashd_golden::family::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;

/// A head with masks.
#[derive(Clone, Debug)]
struct Head {
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    d: usize,
    mask: Option<Vec<f64>>,
    seen: Vec<Range<usize>>,
}

impl Head {
    fn problem(&self) -> Problem<'_> {
        Problem {
            mask: self.mask.as_deref(),
            seen: &self.seen,
            ..Problem::new(&self.q, &self.k, &self.v, self.d, 0.7)
        }
    }
}

/// A fold over a list.
type OfList = fn(&[WeightedSum], usize) -> WeightedSum;

/// The number that libraries add to the scores of keys to hide them.
const LOWEST: f64 = f32::MIN as f64;

/// Biases of one kind: small ones, small ones and the lowest number, or of any size.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Biases {
    Small,
    Lowest,
    Any,
}

/// An additive mask: biases, with some, most or all keys hidden, also in long runs.
fn masks(queries: usize, keys: usize, biases: Biases) -> impl Strategy<Value = Option<Vec<f64>>> {
    let small = prop_oneof![Just(0.0), -50.0..50.0f64];
    let bias = match biases {
        Biases::Small => small.boxed(),
        Biases::Lowest => prop_oneof![small, Just(LOWEST)].boxed(),
        Biases::Any => prop_oneof![small, Just(LOWEST), Just(3.1e38), Just(-1e20), -1e9..1e9f64].boxed(),
    };
    let hidden = prop_oneof![Just(0.0), Just(0.4), Just(0.97)];
    let elements = prop::collection::vec((bias, 0.0..1.0f64), queries * keys);
    let runs = prop::collection::vec((0..queries, 0..keys, 0..=keys), 0..4);
    let mask = (hidden, elements, runs).prop_map(move |(hidden, elements, runs)| {
        let element = |(bias, draw)| if draw < hidden { f64::NEG_INFINITY } else { bias };
        let mut mask: Vec<f64> = elements.into_iter().map(element).collect();
        for (query, from, length) in runs {
            let to = (from + length).min(keys);
            mask[query * keys + from..query * keys + to].fill(f64::NEG_INFINITY);
        }
        Some(mask)
    });
    prop_oneof![Just(None), mask]
}

/// The ranges of keys that queries see: none given, causal, or any windows.
fn positions(queries: usize, keys: usize) -> impl Strategy<Value = Vec<Range<usize>>> {
    let causal = (0..queries).map(|i| 0..(i + 1).min(keys)).collect::<Vec<_>>();
    let anywhere = prop::collection::vec((0..=keys, 0..=keys), queries)
        .prop_map(|ends| ends.into_iter().map(|(a, b)| a.min(b)..a.max(b)).collect());
    prop_oneof![Just(Vec::new()), Just(causal), anywhere]
}

fn heads(biases: Biases) -> impl Strategy<Value = Head> {
    (1..9usize, 1..40usize, 1..6usize).prop_flat_map(move |(queries, keys, d)| {
        let tensor = |rows: usize, most: f64| prop::collection::vec(-most..most, rows * d);
        (
            tensor(queries, 5.0),
            tensor(keys, 5.0),
            tensor(keys, 100.0),
            masks(queries, keys, biases),
            positions(queries, keys),
        )
            .prop_map(move |(q, k, v, mask, seen)| Head { q, k, v, d, mask, seen })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_algorithm_gives_attention_and_counts_its_formula(
        (biases, head) in prop_oneof![Just(Biases::Small), Just(Biases::Lowest), Just(Biases::Any)]
            .prop_flat_map(|biases| (Just(biases), heads(biases))),
        (rows, columns) in (1..12usize, 1..50usize),
    ) {
        let (problem, blocks) = (head.problem(), Blocks { rows, columns });
        let sizes = Sizes::of(&problem, blocks);
        let reference: Vec<PartialAttention> =
            (0..problem.queries()).map(|i| safe_softmax(&problem.masked_scores(i), &head.v, head.d)).collect();
        let most = head.v.iter().fold(0f64, |most, v| most.max(v.abs()));
        for algorithm in ALGORITHMS {
            let Some(run) = algorithm.run(&problem, blocks) else {
                // Large biases are outside the algorithm's domain.
                prop_assert!(algorithm.name == "naive" && biases != Biases::Small);
                continue;
            };
            prop_assert_eq!(&run.counts, &algorithm.formula(&sizes), "{}", algorithm.name);
            for (i, (row, exact)) in run.rows.iter().zip(&reference).enumerate() {
                prop_assert_eq!(row.is_empty(), exact.is_empty(), "{}, query {}", algorithm.name, i);
                if row.is_empty() {
                    prop_assert!(row.o.iter().all(|&o| o == 0.0));
                }
                // Alg. 3 adds up differences of neighbouring scores. Large scores of both signs cancel and leave
                // nothing of the others.
                if algorithm.name == "alg3" && biases == Biases::Any {
                    continue;
                }
                for (a, b) in row.o.iter().zip(&exact.o) {
                    prop_assert!((a - b).abs() <= 1e-12 * most, "{}, query {}: {} is not {}", algorithm.name, i, a, b);
                }
            }
        }
    }

    /// [`running_lse`] against its equations, computed step by step in f64.
    #[test]
    fn the_running_log_sum_exp_is_that_of_its_equations(head in heads(Biases::Small), columns in 1..50usize) {
        let problem = head.problem();
        let run = running_lse(&problem, Blocks { rows: 2, columns });
        let most = head.v.iter().fold(0f64, |most, v| most.max(v.abs()));
        for (i, row) in run.rows.iter().enumerate() {
            let s = problem.masked_scores(i);
            let (mut c, mut lse, mut o) = (f64::NEG_INFINITY, f64::NEG_INFINITY, vec![0.0; head.d]);
            for (s, v) in s.chunks(columns).zip(head.v.chunks(columns * head.d)) {
                let next = s.iter().copied().fold(lse, f64::max);
                if next == f64::NEG_INFINITY {
                    continue;
                }
                let p: Vec<f64> = s.iter().map(|s| (s - next).exp()).collect();
                let l = (lse - next).exp() + p.iter().sum::<f64>();
                for (e, o) in o.iter_mut().enumerate() {
                    let product: f64 = p.iter().zip(v.chunks(head.d)).map(|(p, v)| p * v[e]).sum();
                    *o = (c - next).exp() * *o + product;
                }
                (c, lse) = (next, next + l.ln());
            }
            prop_assert_eq!(row.is_empty(), lse == f64::NEG_INFINITY);
            // A single f64 holds the log-sum-exp to one ulp only.
            let rounding = (1e-12 + 40.0 * f64::EPSILON * c.abs()) * most;
            let scale = if row.is_empty() { 0.0 } else { (c - lse).exp() };
            for (a, o) in row.o.iter().zip(&o) {
                prop_assert!((a - o * scale).abs() <= rounding, "{} is not {}", a, o * scale);
            }
        }
    }

    /// Folds of every shape equal folds over lists, bit for bit.
    #[test]
    fn folds_have_their_shapes(head in heads(Biases::Any), columns in 1..50usize) {
        let problem = head.problem();
        let by_list: [(Fold, OfList); 3] =
            [(Fold::Left, fold), (Fold::Balanced, fold_parallel), (Fold::Tree, fold_padded)];
        for (shape, list) in by_list {
            let run = folded(&problem, Blocks { rows: 3, columns }, shape);
            for (i, row) in run.rows.iter().enumerate() {
                let s = problem.masked_scores(i);
                let keys = s.iter().zip(head.v.chunks(head.d)).map(|(&s, v)| WeightedSum::of_key(s, v));
                let expected = list(&keys.collect::<Vec<_>>(), head.d).row();
                prop_assert_eq!(row, &expected, "{:?}, query {}", shape, i);
            }
        }
    }
}

#[test]
fn names_are_distinct_and_words_are_there() {
    let names: BTreeSet<&str> = ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
    assert_eq!(names.len(), ALGORITHMS.len());
    assert!(ALGORITHMS.iter().all(|algorithm| !algorithm.words.is_empty() && !algorithm.equation.is_empty()));
}

/// Counts of the loop orders, checked by hand: two queries at a time, three keys of length 2, all seen.
#[test]
fn streamed_accesses_by_hand() {
    let x = [0.5; 10];
    let problem = Problem::new(&x, &x[..6], &x[..6], 2, 1.0);
    let blocks = Blocks { rows: 2, columns: 2 };
    for name in ["alg1", "alg2", "alg3", "flash-attention-2", "running-lse", "monoid-balanced"] {
        let algorithm = ALGORITHMS.into_iter().find(|algorithm| algorithm.name == name).unwrap();
        let counts = algorithm.run(&problem, blocks).unwrap().counts;
        // Five queries are three blocks: K and V, 6 elements each, are read three times; Q and O, 10 each, pass once.
        assert_eq!((counts.accesses(), counts.extra), (3 * 12 + 20, 0), "{name}");
    }
    // Alg. 3: for each query, two steps after the first key with 2 products, 6 sums, a logarithm and a sigmoid each,
    // and three scores with 3 products and a sum each.
    let counts = flash_d_counted(&problem, blocks).counts;
    let of = |operation| counts.operations(operation);
    assert_eq!((of(Operation::Multiply), of(Operation::Add)), (5 * (2 * 2 + 3 * 3), 5 * (2 * 6 + 3)));
    assert_eq!((of(Operation::Logarithm), of(Operation::Sigmoid), of(Operation::Divide)), (10, 10, 0));
}

#[test]
fn a_mask_is_read_and_positions_are_not() {
    let x = [1.0; 8];
    let causal: Vec<Range<usize>> = (0..4).map(|i| 0..i + 1).collect();
    let plain = Problem { seen: &causal, ..Problem::new(&x, &x, &x, 2, 1.0) };
    let zeros = [0.0; 16];
    let masked = Problem { mask: Some(&zeros), ..plain };
    let blocks = Blocks { rows: 4, columns: 4 };
    for algorithm in ALGORITHMS {
        let reads = |problem| algorithm.run(problem, blocks).unwrap().counts.reads(MemoryTensor::Mask);
        assert_eq!((reads(&plain), reads(&masked)), (0, 16), "{}", algorithm.name);
    }
}

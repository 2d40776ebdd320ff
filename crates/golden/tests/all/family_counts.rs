//! The counts of the algorithms as they run against the closed formulas.

use flashd_golden::family::*;
use proptest::prelude::*;

/// Deterministic numbers between -1 and 1.
fn tensor(n: usize, seed: f64) -> Vec<f64> {
    (0..n).map(|i| (seed + 1.7 * i as f64).sin()).collect()
}

/// The tensors of a problem.
struct Data {
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    d: usize,
}

impl Data {
    fn new(queries: usize, keys: usize, d: usize) -> Data {
        Data { q: tensor(queries * d, 0.1), k: tensor(keys * d, 0.2), v: tensor(keys * d, 0.3), d }
    }

    fn problem(&self) -> Problem<'_> {
        Problem::new(&self.q, &self.k, &self.v, self.d, 1.3)
    }
}

/// Checks counts of both algorithms against formulas, and results against safe softmax.
fn check(queries: usize, keys: usize, d: usize, blocks: Blocks) {
    let data = Data::new(queries, keys, d);
    let problem = data.problem();
    let three_steps = standard(&problem);
    let run = tiled(&problem, blocks);
    let [n, m, e] = [queries, keys, d].map(|x| x as u64);
    let sizes = Sizes::dense(n, m, e, blocks);
    assert_eq!(sizes, Sizes::of(&problem, blocks));
    assert_eq!(three_steps.counts, standard_formula(&sizes), "standard, {queries} x {keys} x {d}");
    assert_eq!(run.counts, tiled_formula(&sizes), "tiled, {queries} x {keys} x {d}, {blocks:?}");
    let (r, c) = (blocks.rows.min(queries), blocks.columns.min(keys));
    assert_eq!(run.working_set, 2 * c * d + 2 * r * d + 2 * r + r * c + d);
    for (i, q) in data.q.chunks_exact(d).enumerate() {
        let reference = safe_softmax(&scores(q, &data.k, d, problem.scale), &data.v, d);
        for row in [&three_steps.rows[i], &run.rows[i]] {
            for (a, b) in row.o.iter().zip(&reference.o) {
                assert!((a - b).abs() <= 1e-12, "{a} is not {b}");
            }
        }
    }
}

proptest! {
    #[test]
    fn counts_are_the_formulas(
        (queries, keys, d) in (1..40usize, 1..60usize, 1..20usize),
        (rows, columns) in (1..50usize, 1..70usize),
    ) {
        check(queries, keys, d, Blocks { rows, columns });
    }

    #[test]
    fn counts_are_the_formulas_for_every_sram((n, d) in (1..70usize, 1..20usize), sram in 1..6000usize) {
        check(n, n, d, Blocks::of_sram(sram, d).unwrap());
    }
}

#[test]
fn sums_of_the_counts_by_hand() {
    // Two queries, three keys, d = 2; blocks of one query and two keys: a ragged tail.
    let data = Data::new(2, 3, 2);
    let run = tiled(&data.problem(), Blocks { rows: 1, columns: 2 });
    // K and V: 6 each. For each of the two blocks of keys, reads of Q and O, 4 each, and of l and m, 2 each. O, l and m
    // are written three times.
    assert_eq!(run.counts.accesses(), 12 + 2 * (4 + 4 + 2 + 2) + 3 * (4 + 2 + 2));
    assert_eq!(run.counts.extra, 4);
    let counts = standard(&data.problem()).counts;
    assert_eq!(counts.accesses(), 4 * 6 + (4 + 4) + (6 + 6));
    assert_eq!(counts.extra, 12);
    assert_eq!(counts.operations(Operation::Exponential), 6);
    assert_eq!(counts.operations(Operation::Divide), 6);
    // A score takes 3 products, its part in the output 2.
    assert_eq!(counts.operations(Operation::Multiply), 6 * 5);
}

#[test]
fn block_sizes_follow_the_2022_paper() {
    let blocks = |sram, d| Blocks::of_sram(sram, d).map(|b| (b.rows, b.columns));
    assert_eq!(blocks(4096, 64), Some((16, 16)));
    assert_eq!(blocks(4097, 64), Some((17, 17)));
    assert_eq!(blocks(100_000, 64), Some((64, 391)));
    assert_eq!(blocks(1, 64), Some((1, 1)));
    assert_eq!(blocks(0, 64), None);
    assert_eq!(blocks(64, 0), None);
    assert_eq!(blocks(usize::MAX, usize::MAX), None);
}

#[test]
fn an_additive_mask_biases_and_hides() {
    let data = Data::new(3, 5, 4);
    let hidden = f64::NEG_INFINITY;
    let mask = [
        [0.0, 1.0, hidden, -2.5, 0.5],
        [hidden, hidden, hidden, hidden, hidden],
        [hidden, hidden, hidden, 3.0, hidden],
    ]
    .concat();
    let problem = Problem { mask: Some(&mask), ..data.problem() };
    let plain = standard(&problem).rows;
    let tiles = tiled(&problem, Blocks { rows: 2, columns: 2 }).rows;
    for (i, q) in data.q.chunks_exact(4).enumerate() {
        let s = add_mask(&scores(q, &data.k, 4, problem.scale), &mask[5 * i..][..5]);
        let reference = safe_softmax(&s, &data.v, 4);
        for row in [&plain[i], &tiles[i]] {
            assert_eq!(row.is_empty(), i == 1);
            assert!(row.o.iter().zip(&reference.o).all(|(a, b)| (a - b).abs() <= 1e-12));
        }
    }
}

#[test]
fn accesses_fall_with_the_sram_and_grow_with_the_square() {
    let accesses = |n, sram| {
        let blocks = Blocks::of_sram(sram, 64).unwrap();
        tiled_formula(&Sizes::dense(n, n, 64, blocks)).accesses() as f64
    };
    // O(N^2 d^2 / M): a quarter of the SRAM takes four times the accesses, and so do twice the keys.
    let by_sram = accesses(1 << 14, 1 << 13) / accesses(1 << 14, 1 << 15);
    let by_keys = accesses(1 << 15, 1 << 13) / accesses(1 << 14, 1 << 13);
    assert!((3.8..=4.0).contains(&by_sram) && (3.9..=4.1).contains(&by_keys), "{by_sram}, {by_keys}");
}

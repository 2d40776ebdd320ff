//! All forms of attention agree to 1e-12 of the largest value, for all scores, masks and splits.

use flashd_golden::family::*;
use proptest::prelude::*;
use std::ops::Range;

/// Scores, values and their length; the masked scores are -inf.
#[derive(Clone, Debug)]
struct Case {
    s: Vec<f64>,
    v: Vec<f64>,
    d: usize,
}

impl Case {
    fn of(s: Vec<f64>, v: &[f64], d: usize) -> Case {
        Case { v: v[..s.len() * d].to_vec(), s, d }
    }

    fn keys<M: Monoid>(&self, of_key: fn(f64, &[f64]) -> M) -> Vec<M> {
        self.s.iter().zip(self.v.chunks_exact(self.d)).map(|(&s, v)| of_key(s, v)).collect()
    }

    fn part(&self, keys: Range<usize>) -> Case {
        Case::of(self.s[keys.clone()].to_vec(), &self.v[keys.start * self.d..], self.d)
    }

    /// Splits the scores into finite ones and the additive mask that hides the hidden keys.
    fn mask_apart(&self) -> (Vec<f64>, Vec<f64>) {
        self.s.iter().map(|&s| if s == f64::NEG_INFINITY { (350.0, s) } else { (s, 0.0) }).unzip()
    }

    /// [`tiled`] on one query along the first axis, so that the scores are the keys' first elements.
    fn tiled(&self, blocks: Blocks) -> PartialAttention {
        self.by(blocks, tiled)
    }

    /// The same for any algorithm in blocks.
    fn by(&self, blocks: Blocks, algorithm: impl Fn(&Problem, Blocks) -> Counted) -> PartialAttention {
        let (s, mask) = self.mask_apart();
        let axis = |x: &f64| std::iter::once(*x).chain(std::iter::repeat_n(0.0, self.d - 1));
        let (q, k): (Vec<f64>, Vec<f64>) = (axis(&1.0).collect(), s.iter().flat_map(axis).collect());
        let problem = Problem { mask: Some(&mask), ..Problem::new(&q, &k, &self.v, self.d, 1.0) };
        algorithm(&problem, blocks).rows.remove(0)
    }
}

/// Scores of one kind: anywhere, at two far levels, close together, or jumping up and down by hundreds.
fn scores_up_to(n: usize) -> impl Strategy<Value = Vec<f64>> {
    let anywhere = prop::collection::vec(-700.0..=700.0f64, 0..n);
    let levels = prop::collection::vec((prop::bool::ANY, -2.0..=2.0f64), 0..n)
        .prop_map(|s| s.into_iter().map(|(top, x)| if top { 698.0 + x } else { x - 698.0 }).collect());
    let close = (-690.0..690.0f64, prop::collection::vec(-10.0..10.0f64, 0..n))
        .prop_map(|(level, s)| s.into_iter().map(|x| level + x).collect());
    let jumps = (1.0..700.0f64, prop::collection::vec(-1.0..=0.0f64, 0..n)).prop_map(|(jump, s)| {
        s.into_iter().enumerate().map(|(i, x)| if i % 2 == 0 { jump + x } else { -jump - x }).collect()
    });
    prop_oneof![anywhere, levels, close, jumps]
}

/// A case with a mask that hides nothing, some keys, or all of them.
fn cases() -> impl Strategy<Value = Case> {
    const N: usize = 160;
    const D: usize = 6;
    let hidden = prop_oneof![Just(0.0), Just(0.3), Just(0.95), Just(1.0)];
    let draws = prop::collection::vec(0.0..1.0f64, N);
    let values = prop_oneof![
        prop::collection::vec(-1e3..1e3f64, N * D),
        prop::collection::vec(prop_oneof![Just(1.0), Just(-1.0)], N * D),
    ];
    (scores_up_to(N), hidden, draws, values, 1..=D).prop_map(|(mut s, hidden, draws, v, d)| {
        s.iter_mut().zip(draws).filter(|(_, x)| *x < hidden).for_each(|(s, _)| *s = f64::NEG_INFINITY);
        Case::of(s, &v, d)
    })
}

fn assert_agrees(name: &str, row: &PartialAttention, reference: &PartialAttention, case: &Case) {
    let limit = 1e-12 * case.v.iter().fold(0f64, |m, v| m.max(v.abs()));
    assert_eq!(row.is_empty(), reference.is_empty(), "{name}");
    assert_eq!(row.o.len(), case.d, "{name}");
    for (a, b) in row.o.iter().zip(&reference.o) {
        assert!((a - b).abs() <= limit, "{name}: {a} is not {b} for {case:?}");
    }
    if let (Some(a), Some(b)) = (row.lse, reference.lse) {
        assert!(a.minus(b).abs() <= 1e-12, "{name}: {a:?} is not {b:?} for {case:?}");
    }
}

/// A splitter that takes its cuts from `draws`, cyclically.
fn splitter(draws: &[usize]) -> impl FnMut(usize) -> usize {
    let mut draws = draws.iter().cycle().copied();
    move |length| 1 + draws.next().unwrap_or(0) % (length - 1)
}

proptest! {
    // 256 cases of each, or as many as PROPTEST_CASES says.
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn every_form_agrees_with_safe_softmax(case in cases()) {
        let Case { s, v, d } = &case;
        let reference = safe_softmax(s, v, *d);
        let naive = naive_softmax(s, v, *d).expect("scores up to 700 are in its domain");
        assert_agrees("naive softmax", &naive, &reference, &case);
        assert_agrees("FlashAttention", &flash_attention(s, v, *d), &reference, &case);
        assert_agrees("FlashAttention-2", &flash_attention2(s, v, *d), &reference, &case);
        assert_agrees("FLASH-D", &flash_d(s, v, *d), &reference, &case);
    }

    #[test]
    fn wholly_masked_queries_give_flagged_zeros(n in 0..50usize, d in 1..5usize, block in 1..60usize) {
        let case = Case::of(vec![f64::NEG_INFINITY; n], &[1.5; 250], d);
        let Case { s, v, d } = &case;
        let (finite, mask) = case.mask_apart();
        let rows = [
            naive_softmax(s, v, *d).unwrap(),
            safe_softmax(s, v, *d),
            flash_attention(s, v, *d),
            flash_attention2(s, v, *d),
            flash_d(s, v, *d),
            lse_blocks(&finite, &mask, v, *d, block),
            case.tiled(Blocks { rows: 1, columns: block }),
            fold_padded(&case.keys(WeightedSum::of_key), *d).row(),
            fold_padded(&case.keys(PartialAttention::of_key), *d),
        ];
        for row in rows {
            prop_assert!(row.is_empty());
            prop_assert_eq!(row.o, vec![0.0; *d]);
        }
    }

    #[test]
    fn tiles_of_any_size_agree(case in cases(), (rows, columns) in (1..5usize, 1..200usize)) {
        let reference = safe_softmax(&case.s, &case.v, case.d);
        let (s, mask) = case.mask_apart();
        assert_agrees("tiles", &case.tiled(Blocks { rows, columns }), &reference, &case);
        for algorithm in ALGORITHMS {
            let run = |problem: &Problem, blocks: Blocks| {
                algorithm.run(problem, blocks).expect("scores up to 700 are in the domain of all")
            };
            assert_agrees(algorithm.name, &case.by(Blocks { rows, columns }, run), &reference, &case);
        }
        let blocks = lse_blocks(&s, &mask, &case.v, case.d, columns);
        assert_agrees("log-sum-exp blocks", &blocks, &reference, &case);
    }

    #[test]
    fn any_bracketing_agrees(case in cases(), draws in prop::collection::vec(any::<usize>(), 1..200)) {
        let d = case.d;
        let reference = safe_softmax(&case.s, &case.v, d);
        let sums = case.keys(WeightedSum::of_key);
        for (name, sum) in [
            ("left fold", fold(&sums, d)),
            ("any bracketing", fold_bracketed(&sums, d, &mut splitter(&draws))),
            ("parallel fold", fold_parallel(&sums, d)),
            ("padded tree", fold_padded(&sums, d)),
        ] {
            assert_agrees(name, &sum.row(), &reference, &case);
        }
        let rows = case.keys(PartialAttention::of_key);
        for (name, row) in [
            ("left merge", fold(&rows, d)),
            ("any merge", fold_bracketed(&rows, d, &mut splitter(&draws))),
            ("parallel merge", fold_parallel(&rows, d)),
            ("padded merge", fold_padded(&rows, d)),
        ] {
            assert_agrees(name, &row, &reference, &case);
        }
    }

    #[test]
    fn any_split_of_the_keys_merges(case in cases(), mut cuts in prop::collection::vec(0..160usize, 0..9)) {
        let reference = safe_softmax(&case.s, &case.v, case.d);
        let n = case.s.len();
        cuts.iter_mut().for_each(|cut| *cut %= n + 1);
        cuts.extend([0, n]);
        cuts.sort_unstable();
        for attention in [safe_softmax, flash_attention, flash_attention2, flash_d] {
            // Parts may be empty.
            let part = |cut: &[usize]| {
                let part = case.part(cut[0]..cut[1]);
                attention(&part.s, &part.v, part.d)
            };
            let mut parts: Vec<PartialAttention> = cuts.windows(2).map(part).collect();
            assert_agrees("split", &fold(&parts, case.d), &reference, &case);
            parts.reverse();
            assert_agrees("reversed split", &fold_padded(&parts, case.d), &reference, &case);
        }
    }

    #[test]
    fn prefixes_are_causal_attention(case in cases()) {
        let sums = case.keys(WeightedSum::of_key);
        let rows = case.keys(PartialAttention::of_key);
        let serial = prefixes(&sums, case.d);
        let (parallel, merged) = (prefixes_parallel(&sums), prefixes_parallel(&rows));
        prop_assert_eq!(serial.len(), case.s.len());
        prop_assert_eq!(parallel.len(), case.s.len());
        for i in 0..case.s.len() {
            let part = case.part(0..i + 1);
            let reference = safe_softmax(&part.s, &part.v, part.d);
            assert_agrees("prefix", &serial[i].row(), &reference, &case);
            assert_agrees("parallel prefix", &parallel[i].row(), &reference, &case);
            assert_agrees("merged prefix", &merged[i], &reference, &case);
        }
    }

    #[test]
    fn the_identity_changes_nothing(case in cases()) {
        let d = case.d;
        for sum in case.keys(WeightedSum::of_key) {
            prop_assert_eq!(&sum.combine(&WeightedSum::identity(d)), &sum);
            prop_assert_eq!(&WeightedSum::identity(d).combine(&sum), &sum);
        }
        for row in case.keys(PartialAttention::of_key) {
            prop_assert_eq!(&row.combine(&PartialAttention::identity(d)), &row);
            prop_assert_eq!(&PartialAttention::identity(d).combine(&row), &row);
        }
    }

    #[test]
    fn holding_costs_no_more_than_its_bound(case in cases(), threshold in 1.0..20.0f64) {
        let Case { s, v, d } = &case;
        let weights = hold_weights(s, threshold);
        let held = weights.iter().zip(s).filter(|(w, s)| w.is_none() && s.is_finite()).count();
        let lost = held as f64 * (-threshold).exp();
        let largest = v.iter().fold(0f64, |m, v| m.max(v.abs()));
        let bound = 2.0 * largest * lost / (1.0 + lost) + 1e-12 * largest;
        for (a, b) in flash_d_hold(s, v, *d, threshold).iter().zip(&safe_softmax(s, v, *d).o) {
            prop_assert!((a - b).abs() <= bound, "{} is further than {} from {}", a, bound, b);
        }
        prop_assert_eq!(weights.iter().position(|w| w.is_some()), s.iter().position(|s| s.is_finite()));
    }

    #[test]
    fn forms_agree_from_vectors(
        (n, d) in (1..40usize, 1..20usize),
        x in prop::collection::vec(-3.0..3.0f64, 20 + 2 * 800),
        scale in 0.01..4.0f64,
    ) {
        let (q, k, v) = (&x[..d], &x[20..20 + n * d], &x[820..820 + n * d]);
        let case = Case::of(scores(q, k, d, scale), v, d);
        let reference = safe_softmax(&case.s, v, d);
        let problem = Problem::new(q, k, v, d, scale);
        assert_agrees("standard", &standard(&problem).rows[0], &reference, &case);
        assert_agrees("tiled", &tiled(&problem, Blocks { rows: 3, columns: 7 }).rows[0], &reference, &case);
        use flashd_golden::f64_attention as vectors;
        for output in [vectors::safe_softmax, vectors::flash_attention2, vectors::flash_d] {
            let row = PartialAttention { o: output(q, k, v, d, scale), lse: reference.lse };
            assert_agrees("from vectors", &row, &reference, &case);
        }
    }
}

#[test]
fn naive_softmax_knows_its_domain() {
    let v = vec![1.0; 40_000];
    // e^700 times 17,000 fits, times 18,000 does not.
    assert!(naive_softmax(&vec![700.0; 17_000], &v, 1).is_some());
    assert!(naive_softmax(&vec![700.0; 18_000], &v, 1).is_none());
    assert!(naive_softmax(&[709.7], &v, 1).is_some());
    assert!(naive_softmax(&[709.8], &v, 1).is_none());
    assert!(naive_softmax(&[-708.3], &v, 1).is_some());
    assert!(naive_softmax(&[-740.0], &v, 1).is_none());
    assert!(naive_softmax(&[-740.0, 0.0], &v, 1).is_some());
    assert!(naive_softmax(&[-1000.0, f64::NEG_INFINITY], &v, 1).is_none());
}

#[test]
fn alternating_extremes_do_not_drift() {
    let s: Vec<f64> = (0..4000).map(|i| if i % 2 == 0 { 700.0 } else { -699.9 + 1e-3 * i as f64 }).collect();
    let v: Vec<f64> = (0..4000).map(|i| (i as f64).sin()).collect();
    let case = Case::of(s, &v, 1);
    let reference = safe_softmax(&case.s, &v, 1);
    assert_agrees("FLASH-D", &flash_d(&case.s, &v, 1), &reference, &case);
    assert_agrees("FlashAttention-2", &flash_attention2(&case.s, &v, 1), &reference, &case);
    assert_agrees("FlashAttention", &flash_attention(&case.s, &v, 1), &reference, &case);
    assert_agrees("merge", &fold(&case.keys(PartialAttention::of_key), 1), &reference, &case);
}

#[test]
fn long_sequences_do_not_drift() {
    const N: usize = 65_536;
    // Keys of nearly equal weight, or every second key far below: its weight vanishes, but the recurrence still meets
    // it.
    let level = (0..N).map(|i| 690.0 + (i as f64).sin()).collect();
    let far = (0..N).map(|i| (i as f64).sin() - if i % 2 == 0 { 0.0 } else { 600.0 }).collect();
    for s in [level, far] {
        let s: Vec<f64> = s;
        let v: Vec<f64> = (0..N).map(|i| if i < N / 2 { 1.0 } else { -1.0 }).collect();
        let case = Case::of(s, &v, 1);
        let reference = safe_softmax(&case.s, &v, 1);
        let rows = case.keys(PartialAttention::of_key);
        for (name, row) in [
            ("FlashAttention", flash_attention(&case.s, &v, 1)),
            ("FlashAttention-2", flash_attention2(&case.s, &v, 1)),
            ("FLASH-D", flash_d(&case.s, &v, 1)),
            ("left merge", fold(&rows, 1)),
            ("padded merge", fold_padded(&rows, 1)),
            ("weighted sum", fold(&case.keys(WeightedSum::of_key), 1).row()),
        ] {
            // The message leaves out the scores, which are many.
            let error = (row.o[0] - reference.o[0]).abs();
            assert!(error <= 1e-12, "{name}: {} is {error:e} from {}", row.o[0], reference.o[0]);
            let error = row.lse.unwrap().minus(reference.lse.unwrap()).abs();
            assert!(error <= 1e-12, "{name}: the log-sum-exp is off by {error:e}");
        }
    }
}

#[test]
fn scores_beyond_the_naive_domain_are_no_matter_for_the_others() {
    let s = [-5000.0, 4000.0, 3999.0, f64::NEG_INFINITY, -4000.0];
    let case = Case::of(s.to_vec(), &[1.0, -2.0, 3.0, 4.0, 5.0], 1);
    // Two keys have weights: 1 / (1 + e^-1) and e^-1 / (1 + e^-1).
    let exact = -2.0 * sigmoid(1.0) + 3.0 * sigmoid(-1.0);
    for attention in [safe_softmax, flash_attention, flash_attention2, flash_d] {
        assert!((attention(&case.s, &case.v, 1).o[0] - exact).abs() <= 1e-12);
    }
    assert!((fold_padded(&case.keys(PartialAttention::of_key), 1).o[0] - exact).abs() <= 1e-12);
}

#[test]
fn weights_of_equal_scores_are_one_over_i() {
    for (i, w) in flash_d_weights(&[-3.5; 65_536]).iter().enumerate() {
        let exact = 1.0 / (i + 1) as f64;
        assert!((w - exact).abs() <= 1e-12 * exact, "i = {i}: {w}");
    }
}

#[test]
fn the_parallel_fold_does_not_depend_on_the_threads() {
    let s: Vec<f64> = (0..777).map(|i| 50.0 * (i as f64).sin()).collect();
    let v: Vec<f64> = (0..777).map(|i| (0.7 * i as f64).cos()).collect();
    let sums = Case::of(s, &v, 1).keys(WeightedSum::of_key);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fold_parallel(&sums, 1))
    };
    assert_eq!(on(1), on(5));
}

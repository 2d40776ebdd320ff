//! The synthetic streams agree with their documentation, and are always the same.

use flashd_spec::format::Format;
use flashd_workload::synthetic::{
    ADVERSARIAL, adversarial, adversarial_stream, attention_like, corner_cases, equal_scores, interesting,
    long_holds, saturating_scores, score_jumps,
};
use flashd_workload::{Attention, round_value};
use std::path::PathBuf;

fn scores(head: &Attention, i: usize) -> Vec<f64> {
    let dot = |j: usize| {
        head.query(i).iter().zip(head.key(j)).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum::<f64>()
    };
    (0..head.keys).map(|j| dot(j) / (head.d as f64).sqrt()).collect()
}

fn weights(scores: &[f64]) -> Vec<f64> {
    let max = scores.iter().copied().fold(f64::MIN, f64::max);
    let sum: f64 = scores.iter().map(|s| (s - max).exp()).sum();
    scores.iter().map(|s| (s - max).exp() / sum).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

#[test]
fn scores_of_a_synthetic_head_look_like_real_ones() {
    for d in [16, 32, 64, 256] {
        for seed in 0..3 {
            let head = attention_like(seed, 256, 256, d);
            let (mut deviations, mut entropies) = (Vec::new(), Vec::new());
            let (mut first, mut own, mut far) = (Vec::new(), Vec::new(), Vec::new());
            for i in 0..256 {
                let scores = scores(&head, i);
                deviations.push(deviation(&scores));
                entropies
                    .push(weights(&scores).iter().map(|w| if *w > 0.0 { -w * w.ln() } else { 0.0 }).sum());
                first.push(scores[0]);
                own.push(scores[i]);
                far.push(scores[(i + 128) % 256]);
            }
            let (deviation, entropy) = (mean(&deviations), mean(&entropies));
            assert!((2.0..4.0).contains(&deviation), "d = {d}, seed {seed}: deviation {deviation}");
            assert!((2.0..4.0).contains(&entropy), "d = {d}, seed {seed}: entropy {entropy}");
            assert!(mean(&first) > mean(&far) + 1.0, "d = {d}, seed {seed}: the first key is heavy");
            assert!(mean(&own) > mean(&far) + 1.5, "d = {d}, seed {seed}: neighbours score higher");
        }
    }
}

#[test]
fn shapes_are_as_asked_for() {
    for (queries, keys, d) in [(1, 1, 2), (1, 50, 3), (50, 1, 16), (7, 13, 8)] {
        let head = attention_like(1, queries, keys, d);
        assert_eq!((head.d, head.queries, head.keys), (d, queries, keys));
        assert_eq!((head.q.len(), head.k.len(), head.v.len()), (queries * d, keys * d, keys * d));
        assert!(head.q.iter().chain(&head.k).chain(&head.v).all(|x| x.is_finite()));
    }
}

#[test]
fn the_same_seed_gives_the_same_stream_for_ever() {
    assert_eq!(attention_like(3, 5, 9, 16), attention_like(3, 5, 9, 16));
    assert_ne!(attention_like(3, 5, 9, 16).q, attention_like(4, 5, 9, 16).q);
    // Results that were published name a seed: these bits must not change.
    let head = attention_like(3, 5, 9, 16);
    assert_eq!([head.q[0], head.k[17], head.v[143]].map(f32::to_bits), PINNED_HEAD);
    assert_eq!(equal_scores(3, 4, 2).v[..2].iter().map(|x| x.to_bits()).collect::<Vec<_>>(), PINNED_EQUAL);
}

const PINNED_HEAD: [u32; 3] = [1082280823, 3212201849, 1059463360];
const PINNED_EQUAL: [u32; 2] = [3209987682, 1079094890];

#[test]
fn equal_scores_are_equal() {
    let head = equal_scores(1, 300, 16);
    let scores = scores(&head, 0);
    assert!(scores.iter().all(|s| *s == scores[0]));
    for (first, expected) in [(0, 0.0), (1, 3.0)] {
        let channels = head.v.iter().skip(first).step_by(2).map(|&x| f64::from(x));
        assert!((mean(&channels.collect::<Vec<_>>()) - expected).abs() < 0.05);
    }
}

#[test]
fn scores_jump() {
    let scores = scores(&score_jumps(1, 64, 16, 50.0), 0);
    assert!(scores.windows(2).all(|pair| (pair[1] - pair[0]).abs() == 50.0));
}

#[test]
fn light_keys_come_in_runs() {
    let scores = scores(&long_holds(1, 1000, 64, 100), 0);
    for (j, &score) in scores.iter().enumerate() {
        if j % 100 == 0 {
            assert_eq!(score, 0.0);
        } else {
            assert!((-40.0..=-20.0).contains(&score), "{score}");
        }
    }
}

#[test]
fn saturating_scores_reach_beyond_both_limits() {
    let scores = scores(&saturating_scores(1, 200, 16, 512.0), 0);
    assert_eq!(scores[..2], [1024.0, -1024.0]);
    for expected in [0.0, 256.0, 510.0, 512.0, -512.0, 514.0, 2048.0, -2048.0] {
        assert!(scores.contains(&expected), "{expected}");
    }
}

#[test]
fn corner_cases_are_all_there() {
    for (name, format) in Format::NAMED {
        let cases = corner_cases(format);
        let value = |bits| format.value(bits) as f32;
        for bits in [0, format.min_positive(), 1 << format.fraction_bits, format.one(), format.max_finite()] {
            assert!(cases.contains(&value(bits)), "{name}: {bits:#x}");
        }
        let is_tie = |&&x: &&f32| {
            let x = f64::from(x);
            let (down, up) = (round_value(format, x * (1.0 - 1e-9)), round_value(format, x * (1.0 + 1e-9)));
            down != up && x - down == up - x
        };
        let ties: Vec<&f32> = cases.iter().filter(is_tie).collect();
        let even = |x: &f32| round_value(format, f64::from(*x)) > f64::from(*x);
        if format == Format::FP32 {
            assert!(ties.is_empty(), "float32 cannot hold a tie of fp32");
        } else {
            assert!(ties.iter().any(|x| even(x)) && ties.iter().any(|x| !even(x)), "{name}: both directions");
        }
        let head = interesting(format, 1, 8, 32, 16);
        let largest = value(format.max_finite());
        let all: Vec<f32> = head.q.iter().chain(&head.k).chain(&head.v).copied().collect();
        assert!(
            all.iter().any(|x| x.to_bits() == (-0f32).to_bits())
                && all.contains(&largest)
                && all.contains(&-largest)
        );
    }
}

/// The result of a stream after its last key, in f64.
fn result(name: &str) -> f64 {
    let (scores, values) = adversarial_stream(name).unwrap();
    weights(&scores).iter().zip(&values).map(|(w, v)| w * v).sum()
}

#[test]
fn adversarial_streams_have_the_results_they_are_known_for() {
    for (name, exact) in [
        ("osc6", -0.9844136347368225),
        ("hi3", 0.9997532087876366),
        ("climb", 1.0),
        ("climb_flat", 0.9066376096936495),
        ("holdT6", -0.11763759767055071),
        ("holdT8", 0.707327521180797),
        ("holdT11", 0.9830753067564246),
        ("reset", -0.999999740294677),
        ("sawtooth", -0.994382411610949),
    ] {
        assert!((result(name) - exact).abs() < 1e-12, "{name}: {}", result(name));
    }
    assert!(adversarial("none", 16).is_none());
}

#[test]
fn adversarial_streams_agree_with_the_shared_folder() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/adversarial");
    if !folder.is_dir() {
        eprintln!("skipped: {} is not there", folder.display());
        return;
    }
    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    for name in ADVERSARIAL {
        for d in [16, 64] {
            let file = |role: &str| folder.join(format!("adv_{name}_d{d}-layer00-head00-{role}.npy"));
            let expected = Attention::from_npy(&file("q"), &file("k"), &file("v")).unwrap();
            let actual = adversarial(name, d).unwrap();
            assert_eq!(
                (actual.d, actual.queries, actual.keys),
                (expected.d, expected.queries, expected.keys)
            );
            for (a, b) in [(&actual.q, &expected.q), (&actual.k, &expected.k), (&actual.v, &expected.v)] {
                // Bit for bit: one of them contains -0.
                assert_eq!(bits(a), bits(b), "{name}, d = {d}");
            }
        }
    }
}

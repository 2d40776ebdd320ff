//! Scores and products far from zero: heads of public models have products of 74,000 and scores of -20,278.

use crate::common::{rng, values, variants};
use flashd_golden::f64_attention::safe_softmax_of_scores;
use flashd_golden::units::round_from_f64;
use flashd_golden::{Head, Model, VectorModel, decode};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::{Format, Scales};
use rand::RngExt;

/// A query, keys and values, as numbers.
struct Case {
    d: usize,
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
}

impl Case {
    /// Rounds the numbers to the core's formats and compares the core with exact attention on the rounded numbers. Returns
    /// the largest error relative to the largest value.
    fn error(&self, config: &CoreConfig) -> f64 {
        assert_eq!(config.encodings().scales, Scales::NONE);
        let round = |x: &[f64]| -> Vec<u64> { x.iter().map(|&x| round_from_f64(config.format, x)).collect() };
        let (q, k, v) = (round(&self.q), round(&self.k), round(&self.v));
        let lengths = [k.len() / self.d];
        let head = Head::new(&q, &k, &v, &lengths);
        let result = Model::new(config).run(head).remove(0);
        assert_eq!(VectorModel::new(config).run(head).results[0].o, result.o, "{}", config.name());
        let [q, k, v] = [q, k, v].map(|x| values(config.format, &x));
        let scale = 2f64.powi(config.score_shift());
        let mut scores: Vec<f64> =
            k.chunks(self.d).map(|k| k.iter().zip(&q).map(|(k, q)| k * q).sum::<f64>() * scale).collect();
        if let Some(cap) = config.softcap {
            scores.iter_mut().for_each(|s| *s = cap * (*s / cap).tanh());
        }
        let exact = safe_softmax_of_scores(&scores, &v, config.dv());
        let largest = v.iter().fold(0f64, |m, v| m.max(v.abs()));
        let errors = result.o.iter().zip(exact).map(|(&o, exact)| (decode(config.format, o) - exact).abs());
        errors.fold(0f64, f64::max) / largest
    }
}

/// Two channels of +-80 that nearly cancel; scores from -7 to 9.5.
fn cancelling(d: usize, keys: usize, seed: u64) -> Case {
    let mut rng = rng(seed);
    let scale = 2f64.powi(flashd_spec::config::default_score_shift(d));
    let mut q: Vec<f64> = (0..d).map(|_| rng.random_range(-1.0..1.0)).collect();
    (q[0], q[1]) = (80.0, 80.0);
    let mut k: Vec<f64> = (0..keys * d).map(|_| rng.random_range(-1.0..1.0)).collect();
    for row in k.chunks_mut(d) {
        let rest: f64 = row.iter().zip(&q).skip(2).map(|(k, q)| k * q).sum();
        let score = rng.random_range(-7.0..9.5) / scale;
        row[0] = 80.0 + rng.random_range(-4.0..4.0);
        row[1] = (score - rest) / 80.0 - row[0];
    }
    let v = (0..keys * d).map(|_| rng.random_range(-1.0..1.0)).collect();
    Case { d, q, k, v }
}

/// Scores of -20,278 to -20,269 from a channel with products of 70,000 and more.
fn massive(d: usize, keys: usize, seed: u64) -> Case {
    let mut rng = rng(seed);
    let scale = 2f64.powi(flashd_spec::config::default_score_shift(d));
    let mut q: Vec<f64> = (0..d).map(|_| rng.random_range(-1.0..1.0)).collect();
    (q[0], q[1]) = (256.0, 1.0);
    let mut k: Vec<f64> = (0..keys * d).map(|_| rng.random_range(-1.0..1.0)).collect();
    for (key, row) in k.chunks_mut(d).enumerate() {
        row[0] = -20_280.0 / scale / 256.0;
        row[1] = (key % 12) as f64 / scale;
    }
    let v = (0..keys * d).map(|_| rng.random_range(0.0..1.0)).collect();
    Case { d, q, k, v }
}

#[test]
fn products_that_cancel() {
    for seed in 300..310 {
        let case = cancelling(128, 24, seed);
        for design in [Design::FlashD, Design::Fa2] {
            let config = CoreConfig::new(design, 128, Format::FP32);
            let error = case.error(&config);
            assert!(error < 1e-4, "{}, seed {seed}: {error:e}", config.name());
        }
        for config in variants(128, Format::FP32) {
            // A few last places of a weight in fixed-point lanes.
            let error = case.error(&config);
            assert!(error < 1e-3, "{}, seed {seed}: {error:e}", config.name());
        }
    }
}

#[test]
fn capped_scores_of_products_that_cancel() {
    for seed in 320..330 {
        let case = cancelling(128, 24, seed);
        for config in variants(128, Format::FP32) {
            let config = CoreConfig { softcap: Some(50.0), ..config };
            let error = case.error(&config);
            assert!(error < 1e-3, "{}, seed {seed}: {error:e}", config.name());
        }
    }
}

#[test]
fn scores_near_minus_20_278() {
    for (format, limit) in [(Format::FP32, 2e-3), (Format::BF16, 1e-2), (Format::FP16, 2e-3)] {
        for seed in 340..345 {
            let case = massive(128, 48, seed);
            for config in variants(128, format) {
                let error = case.error(&config);
                assert!(error < limit, "{}, seed {seed}: {error:e}", config.name());
            }
        }
    }
}

#[test]
fn two_keys_whose_products_cancel() {
    // Scores 20 and 0 from products of 800: both keys had the same weight.
    for format in [Format::BF16, Format::FP16, Format::FP32] {
        for config in variants(4, format) {
            let case = Case {
                d: 4,
                q: vec![40.0, 40.0, 0.0, 0.0],
                k: vec![40.0, -39.0, 0.0, 0.0, 40.0, -40.0, 0.0, 0.0],
                v: vec![1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            };
            let error = case.error(&config);
            assert!(error < 1e-6, "{}: {error:e}", config.name());
        }
    }
}

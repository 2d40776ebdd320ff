//! Distance of the cores from exact attention.

use crate::common::{cores, largest, normal, rng, values, variants};
use flashd_golden::f64_attention::safe_softmax;
use flashd_golden::{Action, Head, Model, QueryResult, decode};
use flashd_spec::config::{Accumulator, CoreConfig, Design, FlashDVariant, Hold, LaneBits, WeightUnit};
use flashd_spec::format::Format;

/// Largest distance from the mean after n equal scores, as a fraction of the largest value, at every power
/// of two up to `keys`.
fn error_of_the_mean(config: &CoreConfig, keys: usize, seed: u64) -> Vec<(usize, f64)> {
    let (d, format) = (config.d, config.format);
    let mut rng = rng(seed);
    let q = normal(&mut rng, format, 1.0, d);
    let k = normal(&mut rng, format, 1.0, d).repeat(keys);
    let v: Vec<u64> = normal(&mut rng, format, 1.0, keys * d);
    let lengths: Vec<usize> = (0..=keys.ilog2()).map(|e| 1 << e).collect();
    let results = Model::new(config).run(Head::new(&q.repeat(lengths.len()), &k, &v, &lengths));
    let v = values(format, &v);
    let measure = |(result, &n): (&QueryResult, &usize)| {
        let errors = result.o.iter().enumerate().map(|(j, &o)| {
            let mean = (0..n).map(|i| v[i * d + j]).sum::<f64>() / n as f64;
            (decode(format, o) - mean).abs()
        });
        (n, errors.fold(0f64, f64::max) / largest(&v[..n * d]))
    };
    results.iter().zip(&lengths).map(measure).collect()
}

/// FLASH-D with several accumulators.
fn accumulators(format: Format) -> [CoreConfig; 3] {
    [Some(Accumulator::Fraction(16)), None, Some(Accumulator::Format)].map(|accumulator| CoreConfig {
        accumulator,
        datapath: FlashDVariant::Rounded.into(),
        ..CoreConfig::new(Design::FlashD, 16, format)
    })
}

#[test]
fn equal_scores_give_the_mean() {
    // Limits of the largest error over all seeds, as powers of two: below 64 keys, from 64 and from 1024 on. With few
    // keys the error comes from the rounding of the output and of the weights. With many keys the errors of the weights
    // average out. The accumulator's rounding remains. Measured errors are up to one power of two below the limits.
    let bf16 = [[-8, -11, -11], [-8, -11, -12], [-8, -11, -12], [-8, -11, -12]];
    let e4m3 = [[-4, -7, -4], [-4, -7, -6], [-4, -7, -7], [-4, -7, -7]];
    // The other datapaths are in fixed point.
    let both = |format, limits: [[i32; 3]; 4], last| {
        variants(16, format).into_iter().zip(limits.into_iter().chain([last; 4]))
    };
    let wide = accumulators(Format::BF16).into_iter().zip([[-8, -11, -13], [-8, -11, -11], [-8, -8, -8]]);
    let cases = both(Format::BF16, bf16, [-8, -11, -12]).chain(both(Format::FP8_E4M3, e4m3, [-4, -7, -8]));
    cases.chain(wide).for_each(|(config, limits)| {
        for seed in 50..60 {
            for (n, error) in error_of_the_mean(&config, 4096, seed) {
                let limit = 2f64.powi(limits[usize::from(n >= 64) + usize::from(n >= 1024)]);
                let name = config.name();
                assert!(
                    error <= limit,
                    "{name}, seed {seed}, {n} equal scores: off by {error} of max|v|, not {limit}"
                );
            }
        }
    });
}

#[test]
#[ignore = "prints a table; takes some seconds"]
fn equal_scores_up_to_65536() {
    for config in accumulators(Format::BF16).into_iter().chain(variants(16, Format::BF16)) {
        for (n, error) in error_of_the_mean(&config, 65_536, 50).into_iter().skip(8) {
            println!("{}: {n:6} equal scores: off by {:.4} % of max|v|", config.name(), 100.0 * error);
        }
    }
}

#[test]
fn weights_of_equal_scores_are_one_over_i() {
    let format = Format::BF16;
    let (d, keys) = (2, 65_536);
    let config = CoreConfig {
        hold: Some(Hold::None),
        datapath: FlashDVariant::Rounded.into(),
        ..CoreConfig::new(Design::FlashD, d, format)
    };
    let zeros = vec![0; keys * d];
    let result = &Model::new(&config).run(Head::new(&[0; 2], &zeros, &zeros, &[keys]).with_steps())[0];
    for (i, step) in result.steps.iter().enumerate() {
        let u = decode(format, step.w);
        let load = step.action == Action::Load;
        assert_eq!((load, step.upper), (i == 0, i == 1), "key {}: {step:?}", i + 1);
        let w = if load || step.upper { 1.0 - u } else { u };
        let relative = w * (i + 1) as f64 - 1.0;
        assert!(relative.abs() < 0.02, "w_{} is off by {relative}", i + 1);
    }
}

/// Mean and largest error against exact attention on the quantised operands, as fractions of max|v|.
fn error_of(config: &CoreConfig, deviation: f64, seed: u64) -> (f64, f64) {
    let (d, format, keys, queries) = (config.d, config.format, 200, 20);
    let mut rng = rng(seed);
    let q = normal(&mut rng, format, deviation, queries * d);
    let k = normal(&mut rng, format, 1.0, keys * d);
    let v = normal(&mut rng, format, 1.0, keys * d);
    let results = Model::new(config).run(Head::new(&q, &k, &v, &vec![keys; queries]));
    let (kf, vf) = (values(format, &k), values(format, &v));
    let scale = 2f64.powi(config.score_shift());
    let (mut sum, mut worst) = (0.0, 0f64);
    for (q, result) in q.chunks(d).zip(&results) {
        assert!(!result.invalid);
        let exact = safe_softmax(&values(format, q), &kf, &vf, d, scale);
        for (o, exact) in values(format, &result.o).iter().zip(exact) {
            sum += (o - exact).abs();
            worst = worst.max((o - exact).abs());
        }
    }
    let unit = largest(&vf);
    (sum / (queries * d) as f64 / unit, worst / unit)
}

#[test]
fn cores_are_close_to_exact_attention() {
    // Largest mean and worst error, in half ulps of the format's significand. Measured over six seeds with `lse` and
    // FA2: 0.063 and 0.58.
    let bounds = [(0.1, 1.0), (1.0, 6.0), (0.1, 1.0), (0.8, 4.0)];
    for (_, format) in Format::NAMED {
        // Tables of 32 segments have about 12 accurate bits.
        let unit = 2f64.powi(-(format.precision().min(12) as i32));
        for (config, (mean_bound, worst_bound)) in cores(16, format).into_iter().zip(bounds) {
            let config = CoreConfig { segments: Some(32), ..config };
            // The paper's sigmoid spreads its segments over 17 units of x, and its static rule is approximate.
            let guess = if config.weight() == Some(WeightUnit::Paper) { (0.04, 0.2) } else { (0.0, 0.0) };
            let seed = 60;
            let (mean, worst) = error_of(&config, 1.0, seed);
            let ok = mean <= mean_bound * unit + guess.0 && worst <= worst_bound * unit + guess.1;
            assert!(ok, "{}, seed {seed}: mean {mean}, worst {worst} of max|v|", config.name());
        }
        // The default widths of lanes suit the narrow formats only.
        let lane = (format.precision() > 8).then_some(LaneBits { o: 28, v: 20, w: 12 });
        for config in variants(16, format) {
            let lane = lane.filter(|_| config.has_fixed_lanes());
            let config = CoreConfig { segments: Some(32), lane, ..config };
            for (deviation, (mean_bound, worst_bound)) in [(1.0, (0.1, 1.0)), (3.0, (0.2, 2.5))] {
                let seed = 61;
                let (mean, worst) = error_of(&config, deviation, seed);
                let ok = mean <= mean_bound * unit && worst <= worst_bound * unit;
                assert!(ok, "{}, seed {seed}: mean {mean}, worst {worst} of max|v|", config.name());
            }
        }
    }
}

//! Ranged lanes of the vector model against the model, with values whose exponents move often.

use super::{Workload, compare};
use flashd_golden::units::round_from_f64;
use flashd_golden::{Isa, Path, VectorModel};
use flashd_spec::config::{CoreConfig, FlashDVariant, Hold, LaneBits};
use flashd_spec::format::Format;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How the values of a channel change from key to key.
#[derive(Clone, Copy, Debug)]
enum Channel {
    /// A few are far larger than the others.
    Outliers,
    /// From the smallest to the largest, with zeros between them.
    Growing,
    /// From the largest to the smallest.
    Shrinking,
    /// Subnormals, zeros of both signs, the largest numbers and specials.
    Edges,
    /// None is zero, and no exponent moves after the first keys.
    Still,
}

const CHANNELS: [Channel; 5] =
    [Channel::Outliers, Channel::Growing, Channel::Shrinking, Channel::Edges, Channel::Still];

fn value(rng: &mut ChaCha8Rng, format: Format, channel: Channel, key: usize, keys: usize) -> u64 {
    let (low, high) = (format.min_exponent() - format.fraction_bits as i32, format.bias - 1);
    let x: f64 = rng.random_range(-2.0..2.0);
    // Not so far apart that the smaller values vanish.
    let ramp = |at: usize| (low.max(-24)) + (at * 40 / keys) as i32;
    let by = match (channel, rng.random_range(0..12)) {
        (Channel::Edges, choice) => {
            let sign = rng.random::<u64>() & format.sign_bit();
            return sign
                | match choice {
                    0..4 => rng.random::<u64>() & format.fraction_mask(),
                    4 | 5 => 0,
                    6 => format.max_finite(),
                    7 if rng.random_range(0..8) == 0 => format.sign_bit() - 1,
                    8 => format.min_positive(),
                    _ => rng.random::<u64>() & (2 << format.fraction_bits | format.fraction_mask()),
                };
        }
        (Channel::Growing | Channel::Shrinking, 0) => return rng.random::<u64>() & format.sign_bit(),
        (Channel::Growing, _) => ramp(key),
        (Channel::Shrinking, _) => ramp(keys - key),
        (Channel::Outliers, 0) => rng.random_range(0..24),
        (Channel::Outliers, _) => rng.random_range(-12..1),
        (Channel::Still, _) => return round_from_f64(format, 1.0 + x.abs() / 4.0),
    };
    round_from_f64(format, x * 2f64.powi(by.clamp(low, high)))
}

fn workload(rng: &mut ChaCha8Rng, config: &CoreConfig, queries: usize, keys: usize) -> Workload {
    let mut workload = super::workload(rng, config, super::Kind::Normal, queries, keys);
    // Most workloads have all kinds of channels, the others one.
    let only = rng.random_bool(0.4).then(|| CHANNELS[rng.random_range(0..CHANNELS.len())]);
    for (i, v) in workload.v.iter_mut().enumerate() {
        let (key, j) = (i / config.d, i % config.d);
        let channel = only.unwrap_or(CHANNELS[(j / 3 + j) % CHANNELS.len()]);
        *v = value(rng, config.format, channel, key, keys);
    }
    workload
}

fn cores(d: usize, format: Format) -> Vec<CoreConfig> {
    // The default widths of fp32's lanes are beyond the limits.
    let lane = (format == Format::FP32).then_some(LaneBits { o: 28, v: 20, w: 12 });
    let core = CoreConfig { lane, ..CoreConfig::with_datapath(FlashDVariant::Ranged.into(), d, format) };
    let mut cores = vec![core.clone(), CoreConfig { masks: true, partial: true, ..core.clone() }];
    for hold in [Hold::None, Hold::Below(3.0), Hold::Budget(4)] {
        cores.push(CoreConfig { hold: Some(hold), ..core.clone() });
    }
    // Values with fewer bits than the format's significand, and accumulators of which the result drops no bits.
    for (o, v, w) in [(14, 10, 5), (23, 14, 9), (28, 20, 12), (28, 8, 3), (10, 9, 4)] {
        cores.push(CoreConfig { lane: Some(LaneBits { o, v, w }), masks: true, ..core.clone() });
    }
    cores.retain(|core| core.validate().is_ok());
    cores
}

#[test]
fn exponents_that_move_give_the_models_bits() {
    let seed = 41;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut side_by_side = 0;
    for (_, format) in Format::NAMED {
        // A single query whose elements fill whole vectors or do not, less than a block, and several blocks.
        for (queries, d) in [(1, 16), (1, 80), (1, 5), (7, 8), (16, 13), (37, 10)] {
            for config in cores(d, format) {
                let keys = rng.random_range(1..160);
                let workload = workload(&mut rng, &config, queries, keys);
                // Counted once for each configuration, because the number of sets of instructions depends on the
                // machine.
                side_by_side += usize::from(VectorModel::new(&config).path() == Path::SideBySide);
                for isa in Isa::available() {
                    let model = VectorModel::new(&config).with_isa(isa);
                    compare(&config, &model, &workload, &format!("{queries} queries, seed {seed}"));
                }
            }
        }
    }
    assert!(side_by_side > 160, "{side_by_side} configurations in vectors");
}

#[test]
fn ranged_cores_are_side_by_side_where_fixed_ones_are() {
    for (_, format) in Format::NAMED {
        for config in cores(6, format) {
            let fixed = CoreConfig {
                datapath: FlashDVariant::Fixed.into(),
                lane: Some(config.lane_bits()),
                ..config.clone()
            };
            let [path, expected] = [&config, &fixed].map(|config| VectorModel::new(config).path());
            assert_eq!(path, expected, "{}", config.name());
        }
    }
}

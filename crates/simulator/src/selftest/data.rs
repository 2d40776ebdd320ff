//! The data of a round.

use flashd_hwmodel::config::CoreConfig;
use flashd_hwmodel::format::Format;
use flashd_hwmodel::numerics::Numerics;
use flashd_hwmodel::word::ones;
use flashd_workload::quantise::{round_to, round_value};
use flashd_workload::synthetic;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::ops::RangeInclusive;

/// Different keys of a round at most, unless all scores are equal.
const POOL: usize = 512;
/// Elements of all of them.
const LARGEST: usize = 1 << 20;
/// Keys from one large score to the next where scores have tails.
const TAIL: usize = 160;
/// Share of the budget below which nothing is held, and octaves that a score can be away from zero.
const FEWEST: f64 = 4.0 / 65536.0;
const FARTHEST: f64 = 340.0;
/// Values of which the next one takes away what they brought.
const CANCELS: RangeInclusive<f64> = 0.001..=500.0;
/// Exponents at an end of the format.
const END: u64 = 12;

/// Queries and keys of a round.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scores {
    /// As in trained models.
    Trained,
    /// Encodings of any kind.
    Raw,
    /// Jumps, some so large that the score saturates.
    Jumps,
    /// All the same.
    Equal,
    /// A large one now and then, and behind it many that are held until what may be held is used up.
    Tails,
    /// Each is that of the key before, more or less a power of two from the finest to the coarsest.
    Octaves,
    /// Each is just where a key is held or just where it is kept, given those before it.
    Edges,
    /// Queries from one end of the format, keys from the other one, so that their products are near one.
    Ends,
}

impl Scores {
    pub(super) const ALL: [Scores; 8] = [
        Scores::Trained,
        Scores::Raw,
        Scores::Jumps,
        Scores::Equal,
        Scores::Tails,
        Scores::Octaves,
        Scores::Edges,
        Scores::Ends,
    ];

    pub(super) fn of(round: usize) -> Scores {
        Scores::ALL[round % Scores::ALL.len()]
    }

    /// Different keys of d elements in a round of so many.
    pub(super) fn pool(self, keys: usize, d: usize) -> usize {
        match self {
            // In a stream that is not short, sums that grow to their upper bits.
            Scores::Equal if keys > POOL => (4 * keys).min(LARGEST / d).max(POOL),
            _ => keys.clamp(4, POOL),
        }
    }

    /// Lengths of a long query, if this one is: one in several, of kinds that take many keys to show what they are for.
    pub(super) fn long(self, pool: usize, rng: &mut ChaCha8Rng) -> Option<RangeInclusive<usize>> {
        match self {
            Scores::Tails => rng.random_ratio(1, 16).then_some(1..=pool),
            Scores::Edges => rng.random_ratio(1, 8).then_some(1..=pool),
            Scores::Equal if pool > POOL => rng.random_ratio(1, 8).then_some(pool / 2..=pool),
            _ => None,
        }
    }

    /// Scores key after key, where the kind is one of scores; none else.
    fn draw(self, config: &CoreConfig, pool: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
        let mut last = 0.0f32;
        let mut next = |place: usize| match self {
            Scores::Tails => match place % TAIL {
                0 => rng.random_range(0.0..8.0),
                // What may still be held becomes less and less.
                behind => -9.0 - 21.0 * (behind as f32 / TAIL as f32) - rng.random_range(0.0..2.0),
            },
            Scores::Octaves => {
                let step = 2f32.powf(rng.random_range(-10.0..4.5)) * if rng.random() { 1.0 } else { -1.0 };
                let there = last + step;
                last = if there.abs() > 30.0 { last - step } else { there };
                last
            }
            _ => match rng.random_range(0..6) {
                0 => rng.random_range(-40.0..-20.0),
                1 => rng.random_range(-600.0..600.0),
                2 => [0.0, -6.0, 11.0, 10.875][rng.random_range(0..4)],
                _ => rng.random_range(-8.0..8.0),
            },
        };
        match self {
            Scores::Edges => edges(config, pool, rng),
            Scores::Jumps | Scores::Tails | Scores::Octaves => (0..pool).map(&mut next).collect(),
            Scores::Trained | Scores::Raw | Scores::Equal | Scores::Ends => Vec::new(),
        }
    }
}

/// Queries, keys and values of a round, a pool of each, row-major.
pub(super) struct Operands {
    pub(super) q: Vec<u64>,
    pub(super) k: Vec<u64>,
    pub(super) v: Vec<u64>,
}

impl Operands {
    pub(super) fn new(config: &CoreConfig, round: usize, pool: usize, rng: &mut ChaCha8Rng) -> Operands {
        let scores = Scores::of(round).draw(config, pool, rng);
        let (q, k) = queries_and_keys(config, round, pool, &scores, rng);
        let v = values(config, round, pool, &scores, rng);
        Operands { q, k, v }
    }
}

/// Queries and keys of a round; with `scores`, the keys give these, whatever the query.
fn queries_and_keys(
    config: &CoreConfig,
    round: usize,
    pool: usize,
    scores: &[f32],
    rng: &mut ChaCha8Rng,
) -> (Vec<u64>, Vec<u64>) {
    let (d, format) = (config.d, config.format);
    let encode = |x: &[f32], factor: f64| -> Vec<u64> {
        x.iter().map(|&x| round_to(format, f64::from(x) * factor)).collect()
    };
    match Scores::of(round) {
        Scores::Trained => {
            let a = synthetic::attention_like(rng.random(), pool, pool, d);
            let factor = [0.25, 1.0, 4.0, 16.0][rng.random_range(0..4)];
            (encode(&a.q, factor), encode(&a.k, 1.0))
        }
        Scores::Raw => (raw(config, pool, rng), raw(config, pool, rng)),
        Scores::Equal => {
            let a = synthetic::equal_scores(rng.random(), pool, d);
            (encode(&a.q.repeat(pool), 1.0), encode(&a.k, 1.0))
        }
        Scores::Ends => {
            let low = rng.random();
            (end(config, pool, low, rng), end(config, pool, !low, rng))
        }
        Scores::Jumps | Scores::Tails | Scores::Octaves | Scores::Edges => {
            // Along the first axis and, what that leaves of it, the second one; what is left of 1/sqrt(d) in the core's own
            // shift does not matter.
            let root = (d as f32).sqrt();
            let axes = |x: f32, y: f32| [x, y].into_iter().chain(std::iter::repeat_n(0.0, d - 2));
            let q: Vec<f32> = (0..pool).flat_map(|_| axes(root, root)).collect();
            let rest = |x: f32| x - format_value(format, x);
            let k: Vec<f32> = scores.iter().flat_map(|&x| axes(x, rest(x))).collect();
            (encode(&q, 1.0), encode(&k, 1.0))
        }
    }
}

/// Scores that follow the sum of the weights and what is left of the budget, both roughly, as if one query had them all.
fn edges(config: &CoreConfig, pool: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let budget = Numerics::new(config).budget;
    let reserve = budget.as_ref().map_or(2.0, |budget| f64::from(budget.reserve));
    let closes_at = budget.as_ref().map_or(11.0, |budget| f64::from(budget.exponent));
    // In octaves, as the core has them: the sum, and the share of the budget.
    let (mut sum, mut left) = (0.0f64, 1.0f64);
    let mut jumps_at = 0;
    let mut next = |place: usize| {
        let limit = closes_at + reserve - left.max(FEWEST).log2().floor();
        let x = match rng.random_range(0..24) {
            _ if place == jumps_at => {
                jumps_at += [1, 3, 12, 40, 80][rng.random_range(0..5)];
                2f64.powf(rng.random_range(-3.0..5.0))
            }
            // So far that more bits of the distance count than those of a shift, and just beyond one of these.
            0 => {
                let bit = [32.0, 64.0, 128.0, 256.0, 256.0][rng.random_range(0..5)];
                let most = [1.0, 33.0][rng.random_range(0..2)];
                let beyond = rng.random_range(-1.0..most);
                if sum < 0.0 { bit + beyond } else { -bit - beyond }
            }
            1 => rng.random_range(-limit..0.0),
            2 => rng.random_range(-limit - 16.0..-limit),
            3 => -limit,
            _ => -limit - 1.0,
        } + rng.random_range(0.0..1.0);
        let score = sum + x;
        if score.abs() > FARTHEST {
            (sum, left) = (-FARTHEST.copysign(score), 1.0);
            return sum;
        }
        let octave = x.floor();
        if octave < -limit && left >= FEWEST {
            left -= (octave + 1.0 + closes_at).exp2().max(FEWEST / 4.0);
        } else {
            let kept = if x < 0.0 { 1.0 - (octave - 1.0).exp2() } else { (-octave.max(1.0)).exp2() };
            left = 1.0 - (1.0 - left) * kept;
            sum += (1.0 + x.exp2()).log2();
        }
        score
    };
    (0..pool).map(|place| (next(place) * std::f64::consts::LN_2) as f32).collect()
}

/// Vectors whose elements come from the lowest exponents of the format, or from the highest ones.
fn end(config: &CoreConfig, pool: usize, low: bool, rng: &mut ChaCha8Rng) -> Vec<u64> {
    let format = config.format;
    let mut element = || {
        let exponent = rng.random_range(0..=END.min(format.exponent_mask()));
        let exponent = if low { exponent } else { format.exponent_mask() - exponent };
        let magnitude = exponent << format.fraction_bits | (rng.random::<u64>() & ones(format.fraction_bits));
        let sign = if rng.random() { format.sign_bit() } else { 0 };
        magnitude.min(format.max_finite()) | sign
    };
    (0..pool * config.d).map(|_| element()).collect()
}

/// A number as the format has it.
fn format_value(format: Format, x: f32) -> f32 {
    round_value(format, f64::from(x)) as f32
}

/// Values of a round: as in trained models, of any kind, from an end of the format, a single bit each, of any place, or such that
/// what is summed cancels.
fn values(config: &CoreConfig, round: usize, pool: usize, scores: &[f32], rng: &mut ChaCha8Rng) -> Vec<u64> {
    let format = config.format;
    match (Scores::of(round), rng.random_range(0..3)) {
        (Scores::Raw, _) => raw(config, pool, rng),
        (Scores::Ends, kind) => end(config, pool, kind == 0, rng),
        (_, 1) if !scores.is_empty() => cancelling(config, scores, rng),
        // Sums and halves of such values have few bits: each shows in a rounding.
        (Scores::Jumps | Scores::Equal | Scores::Octaves, 0) => {
            let mut bit = || {
                let power = rng.random_range(-26..=2) as f64;
                let ulp = if rng.random_ratio(1, 4) { rng.random_range(0.0..1.0) } else { 0.0 };
                let sign = if rng.random() { 1.0 } else { -1.0 };
                round_to(format, sign * (1.0 + ulp) * power.exp2())
            };
            (0..pool * config.d).map(|_| bit()).collect()
        }
        _ => {
            let a = synthetic::attention_like(rng.random(), 1, pool, config.d);
            a.v.iter().map(|&x| round_to(format, f64::from(x))).collect()
        }
    }
}

/// Values that take away with each key what the key before brought, v_i = -v_{i-1} exp(s_{i-1} - s_i): after two keys little is left of
/// a sum, and the low bits of a weight are the high ones of the result.
fn cancelling(config: &CoreConfig, scores: &[f32], rng: &mut ChaCha8Rng) -> Vec<u64> {
    let d = config.d;
    let mut v = vec![0; scores.len() * d];
    for element in 0..d {
        let (mut value, mut before) = (0.0, 0.0);
        for (row, &score) in scores.iter().enumerate() {
            value *= -f64::from(before - score).exp();
            if !CANCELS.contains(&f64::abs(value)) {
                value = rng.random_range(1.0..4.0) * if rng.random() { 1.0 } else { -1.0 };
            }
            v[row * d + element] = round_to(config.format, value);
            before = score;
        }
    }
    v
}

/// Vectors of raw encodings: any exponent, close exponents, corner cases, and in one vector of eight Inf and NaN.
fn raw(config: &CoreConfig, pool: usize, rng: &mut ChaCha8Rng) -> Vec<u64> {
    let format = config.format;
    let magnitudes = format.sign_bit() - 1;
    let corners = [
        0,
        1,
        format.one() - 1,
        format.one(),
        format.one() + 1,
        format.max_finite(),
        format.min_positive(),
        (1 << format.fraction_bits) - 1,
        1 << format.fraction_bits,
    ];
    let mut elements = Vec::with_capacity(pool * config.d);
    for _ in 0..pool {
        let kind = rng.random_range(0..8);
        for _ in 0..config.d {
            let magnitude = match (kind, rng.random_range(0..4)) {
                (0..=2, _) | (3, 0) => {
                    // Within some octaves of one: terms that meet in a sum.
                    let spread = rng.random_range(-6i64..6) << format.fraction_bits;
                    let near = format.one() as i64
                        + spread
                        + (rng.random::<u64>() & ones(format.fraction_bits)) as i64;
                    near.clamp(0, format.max_finite() as i64) as u64
                }
                (3..=5, 0 | 1) => corners[rng.random_range(0..corners.len())],
                // Inf or NaN where the format has them, a NaN else: in one element of several.
                (7, 0) if rng.random() => {
                    let specials = magnitudes - format.max_finite();
                    match specials {
                        0 => magnitudes,
                        n => format.max_finite() + rng.random_range(1..=n),
                    }
                }
                _ => rng.random::<u64>() & magnitudes,
            };
            let sign = if rng.random() { format.sign_bit() } else { 0 };
            let bits = magnitude | sign;
            elements.push(if kind < 7 && format.is_special(bits) {
                format.max_finite() | sign
            } else {
                bits
            });
        }
    }
    elements
}

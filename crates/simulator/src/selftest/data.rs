//! The data of a round: queries, keys, and kinds of vectors. Values: [`super::values`].

use super::scaled::{self, with_scales};
use super::values::values;
use flashd_spec::bits::ones;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Encodings, Format, Scale};
use flashd_spec::numerics::Numerics;
use flashd_workload::{RowEncoding, ScaleRule, round_value, synthetic};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::ops::RangeInclusive;

/// Different keys of a round at most, unless all scores are equal.
const POOL: usize = 512;
/// Elements of all of them.
const LARGEST: usize = 1 << 20;
/// Keys from one large score to the next where scores have tails.
const TAIL: usize = 160;
/// Rows that have something in common.
const STRETCH: usize = 32;
/// Axes that a score is spread over; each takes what the axes before it leave.
const AXES: usize = 4;
/// Share of the budget below which nothing is held, and octaves that a score can be away from zero.
const FEWEST: f64 = 4.0 / 65536.0;
const FARTHEST: f64 = 340.0;
/// Exponents at an end of the format.
pub(super) const END: u64 = 12;

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
    /// Each is the one before plus or minus a power of two, from the finest to the coarsest; now and then around a limit of
    /// scores instead.
    Octaves,
    /// Each is just where a key is held or just where it is kept, given those before it.
    Edges,
    /// Queries and keys whose products are near one: from the format's two ends, or exponents of a single bit and what they leave.
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
        // Where octaves saturate, and where natural scores do.
        let limit = f64::from(config.score_integer_bits).exp2() as f32;
        let limits = [limit * std::f32::consts::LN_2, limit];
        let mut around = None;
        let mut last = 0.0f32;
        let mut next = |place: usize| match self {
            Scores::Tails => match place % TAIL {
                0 => rng.random_range(0.0..8.0),
                // What may still be held becomes less and less.
                behind => -9.0 - 21.0 * (behind as f32 / TAIL as f32) - rng.random_range(0.0..2.0),
            },
            Scores::Octaves => {
                if place.is_multiple_of(STRETCH) {
                    let limit = limits[rng.random_range(0..2)];
                    around = rng.random_ratio(1, 4).then_some(if rng.random() { limit } else { -limit });
                }
                if let Some(limit) = around {
                    let away = 2f32.powf(rng.random_range(-14.0..3.0));
                    return limit + away * [-1.0, 0.0, 1.0][rng.random_range(0..3)];
                }
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
        let kind = Scores::of(round);
        let scores = kind.draw(config, pool, rng);
        let (q, k) = queries_and_keys(config, kind, pool, &scores, rng);
        let v = values(config, kind, pool, &scores, rng);
        Operands { q, k, v }
    }
}

/// What vectors are made of: a format, d elements, and what multiplies them.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) format: Format,
    pub(super) d: usize,
    pub(super) scale: Scale,
}

impl Operand {
    fn queries_and_keys(config: &CoreConfig) -> (Operand, Operand) {
        let (Encodings { formats, scales }, d) = (config.encodings(), config.d);
        (Operand { format: formats.q, d, scale: scales.q }, Operand { format: formats.k, d, scale: scales.k })
    }

    pub(super) fn values(config: &CoreConfig) -> Operand {
        Operand { format: config.formats().v, d: config.dv(), scale: config.scales().v }
    }
}

/// Queries and keys of a kind of round; with `scores`, the keys give these, whatever the query.
fn queries_and_keys(
    config: &CoreConfig,
    kind: Scores,
    pool: usize,
    scores: &[f32],
    rng: &mut ChaCha8Rng,
) -> (Vec<u64>, Vec<u64>) {
    let (queries, keys) = Operand::queries_and_keys(config);
    let d = queries.d;
    let exact = config.encodings().is_exact();
    let has_integers = queries.format.is_integer() || keys.format.is_integer();
    let encode = |Operand { format, scale, .. }: Operand, x: &[f32], factor: f64| -> Vec<u64> {
        let fill = if scale == Scale::None { fill(format) } else { 1.0 };
        let scaled: Vec<f64> = x.iter().map(|&x| f64::from(x) * factor * fill).collect();
        let encoding = RowEncoding { format, scale, rule: ScaleRule::default() };
        scaled.chunks(d).flat_map(|row| encoding.encode(row).0).collect()
    };
    match kind {
        Scores::Trained => {
            let a = synthetic::attention_like(rng.random(), pool, pool, d);
            let factor = [0.25, 1.0, 4.0, 16.0][rng.random_range(0..4)];
            (encode(queries, &a.q, factor), encode(keys, &a.k, 1.0))
        }
        Scores::Raw => {
            let (q, k) = (raw(queries, pool, rng), raw(keys, pool, rng));
            (with_scales(queries, q, rng), with_scales(keys, k, rng))
        }
        Scores::Equal => {
            let a = synthetic::equal_scores(rng.random(), pool, d);
            (encode(queries, &a.q.repeat(pool), 1.0), encode(keys, &a.k, 1.0))
        }
        Scores::Ends if !has_integers && rng.random() => {
            let (q, k) = complements(queries, keys, pool, rng);
            (with_scales(queries, q, rng), with_scales(keys, k, rng))
        }
        Scores::Ends => {
            let low = rng.random();
            let (q, k) = (end(queries, pool, low, END, rng), end(keys, pool, !low, END, rng));
            (with_scales(queries, q, rng), with_scales(keys, k, rng))
        }
        Scores::Jumps | Scores::Tails | Scores::Octaves | Scores::Edges if exact => {
            let keys = scores.iter().flat_map(|&score| scaled::key(config, score.into()));
            (scaled::query(config).repeat(pool), keys.collect())
        }
        Scores::Jumps | Scores::Tails | Scores::Octaves | Scores::Edges => {
            // What is left of 1/sqrt(d) in the core's own shift does not matter.
            let axes = d.min(AXES);
            let root = (d as f32).sqrt();
            let q: Vec<f32> = (0..pool * d).map(|i| if i % d < axes { root } else { 0.0 }).collect();
            let mut k = vec![0.0; pool * d];
            for (row, &score) in k.chunks_exact_mut(d).zip(scores) {
                let mut rest = score;
                for x in &mut row[..axes] {
                    *x = format_value(keys.format, rest);
                    rest -= *x;
                }
            }
            (encode(queries, &q, 1.0), encode(keys, &k, 1.0))
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
pub(super) fn end(
    Operand { format, d, .. }: Operand,
    pool: usize,
    low: bool,
    octaves: u64,
    rng: &mut ChaCha8Rng,
) -> Vec<u64> {
    let mut element = || {
        let exponent = rng.random_range(0..=octaves.min(format.exponent_mask()));
        with_exponent(format, if low { exponent } else { format.exponent_mask() - exponent }, rng)
    };
    (0..pool * d).map(|_| element()).collect()
}

/// A number of this exponent field, or the largest one.
pub(super) fn with_exponent(format: Format, exponent: u64, rng: &mut ChaCha8Rng) -> u64 {
    let magnitude = exponent << format.fraction_bits | (rng.random::<u64>() & ones(format.fraction_bits));
    format.signed(magnitude.min(format.max_finite()), rng.random())
}

/// Queries and keys: on every axis, for some rows, one of them has an exponent field of a single bit, and the other one what brings
/// the product near one.
fn complements(queries: Operand, keys: Operand, pool: usize, rng: &mut ChaCha8Rng) -> (Vec<u64>, Vec<u64>) {
    let d = queries.d;
    let (single_format, other_format) = (queries.format, keys.format);
    // The exponent field of a product of one.
    let ones = (single_format.bias + other_format.bias) as u64;
    let mut singles = Vec::with_capacity(pool * d);
    let mut others = Vec::with_capacity(pool * d);
    let mut single = vec![1; d];
    for row in 0..pool {
        if row.is_multiple_of(STRETCH) {
            single.fill_with(|| 1 << rng.random_range(0..single_format.exponent_bits));
        }
        for &single in &single {
            let other = (ones + rng.random_range(0..8)).saturating_sub(single + 4);
            singles.push(with_exponent(single_format, single, rng));
            others.push(with_exponent(other_format, other.min(other_format.exponent_mask()), rng));
        }
    }
    let swaps = rng.random() && single_format == other_format;
    if swaps { (others, singles) } else { (singles, others) }
}

/// What numbers around one are multiplied by so that a format has places for them.
pub(super) fn fill(format: Format) -> f64 {
    if format.is_integer() { format.max_finite() as f64 / 4.0 } else { 1.0 }
}

/// A number as the format has it.
fn format_value(format: Format, x: f32) -> f32 {
    round_value(format, f64::from(x)) as f32
}

/// Vectors of raw encodings: any exponent, close exponents, corner cases, and in one vector of eight Inf and NaN.
pub(super) fn raw(Operand { format, d, .. }: Operand, pool: usize, rng: &mut ChaCha8Rng) -> Vec<u64> {
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
    let mut elements = Vec::with_capacity(pool * d);
    for _ in 0..pool {
        let kind = rng.random_range(0..8);
        for _ in 0..d {
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
            let negative = rng.random();
            // The lowest integer, which counts as the one above it.
            if format.is_integer() && (3..=5).contains(&kind) && rng.random_ratio(1, 16) {
                elements.push(format.sign_bit());
                continue;
            }
            let bits = format.signed(magnitude, negative);
            elements.push(if kind < 7 && format.is_special(bits) {
                format.signed(format.max_finite(), negative)
            } else {
                bits
            });
        }
    }
    elements
}

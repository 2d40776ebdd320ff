//! Kinds of rounds, by the scores that queries and keys have.

use flashd_spec::config::CoreConfig;
use flashd_spec::numerics::Numerics;
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
pub(super) const STRETCH: usize = 32;
/// Share of the budget below which nothing is held, and octaves that a score can be away from zero.
const FEWEST: f64 = 4.0 / 65536.0;
const FARTHEST: f64 = 340.0;

/// Queries and keys of a round.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RoundScores {
    /// As in trained models.
    Trained,
    /// Encodings of any kind.
    Raw,
    /// Jumps, some so large that the score saturates.
    Jumps,
    /// All the same.
    Equal,
    /// A large one now and then, followed by many held ones until the hold budget is used up.
    Tails,
    /// Each is the one before plus or minus a power of two, from the finest to the coarsest; now and then around a limit of
    /// scores instead.
    Octaves,
    /// Each is just where a key is held or just where it is kept, given those before it.
    Edges,
    /// Queries and keys whose products are near one: from the format's two ends, or exponents of a single bit and of the
    /// complement.
    Ends,
}

impl RoundScores {
    pub(super) const ALL: [RoundScores; 8] = [
        RoundScores::Trained,
        RoundScores::Raw,
        RoundScores::Jumps,
        RoundScores::Equal,
        RoundScores::Tails,
        RoundScores::Octaves,
        RoundScores::Edges,
        RoundScores::Ends,
    ];

    pub(super) fn of(round: usize) -> RoundScores {
        RoundScores::ALL[round % RoundScores::ALL.len()]
    }

    /// Number of different keys of d elements in a round of `keys` keys.
    pub(super) fn pool(self, keys: usize, d: usize) -> usize {
        match self {
            // In a stream that is not short, sums that grow to their upper bits.
            RoundScores::Equal if keys > POOL => (4 * keys).min(LARGEST / d).max(POOL),
            _ => keys.clamp(4, POOL),
        }
    }

    /// Lengths of a long query, for one query in several. Only kinds that need many keys have long queries.
    pub(super) fn long(self, pool: usize, rng: &mut ChaCha8Rng) -> Option<RangeInclusive<usize>> {
        match self {
            RoundScores::Tails => rng.random_ratio(1, 16).then_some(1..=pool),
            RoundScores::Edges => rng.random_ratio(1, 8).then_some(1..=pool),
            RoundScores::Equal if pool > POOL => rng.random_ratio(1, 8).then_some(pool / 2..=pool),
            _ => None,
        }
    }

    /// Scores key after key, where the kind is one of scores; none else.
    pub(super) fn draw(self, config: &CoreConfig, pool: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
        // Where octaves saturate, and where natural scores do.
        let limit = f64::from(config.score_integer_bits).exp2() as f32;
        let limits = [limit * std::f32::consts::LN_2, limit];
        let mut around = None;
        let mut last = 0.0f32;
        let mut next = |place: usize| match self {
            RoundScores::Tails => match place % TAIL {
                0 => rng.random_range(0.0..8.0),
                // What may still be held becomes less and less.
                behind => -9.0 - 21.0 * (behind as f32 / TAIL as f32) - rng.random_range(0.0..2.0),
            },
            RoundScores::Octaves => {
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
            _ => match rng.random_range(0..8) {
                0 => rng.random_range(-40.0..-20.0),
                1 => rng.random_range(-600.0..600.0),
                3 => rng.random_range(-1.2 * limit..1.2 * limit),
                2 => [0.0, -6.0, 11.0, 10.875][rng.random_range(0..4)],
                _ => rng.random_range(-8.0..8.0),
            },
        };
        match self {
            RoundScores::Edges => edges(config, pool, rng),
            RoundScores::Jumps | RoundScores::Tails | RoundScores::Octaves => {
                (0..pool).map(&mut next).collect()
            }
            RoundScores::Trained | RoundScores::Raw | RoundScores::Equal | RoundScores::Ends => Vec::new(),
        }
    }
}

/// Scores that follow estimates of the weights' sum and the remaining budget, as if one query had all keys.
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
            // At distances with a bit above the shift amount's bits, and just beyond.
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

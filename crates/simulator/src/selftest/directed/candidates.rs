//! Queries to try, independent of the changes that are left.
//!
//! A query has three keys: the first sets the state, the second gives one of a table's arguments, and the third makes the new state
//! visible.

use super::Scores;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::numerics::{Numerics, static_limits};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::f64::consts::LN_2;

/// Queries that are tried at most.
const TRIED: usize = 48_000;
/// Octaves beyond the last one of a table: there its own entries serve.
pub(super) const BEYOND: u32 = 2;

/// Natural scores of the queries to try, in no order.
pub(super) fn candidates(config: &CoreConfig, n: &Numerics, rng: &mut ChaCha8Rng) -> Vec<Scores> {
    let mut all = match config.follows_the_paper() {
        true => of_encodings(config, rng),
        false => of_distances(config, n, rng),
    };
    all.shuffle(rng);
    all.truncate(TRIED);
    all
}

/// Queries for limits that no numerics hold, taken whatever they show: where scores are in the format, second scores around its smallest
/// normal number, and with the paper's rule around the distances at which nothing is computed.
pub(super) fn at_limits(config: &CoreConfig) -> Vec<Scores> {
    if !config.follows_the_paper() {
        return Vec::new();
    }
    let format = config.format;
    let ones = (1 << format.fraction_bits) - 1;
    let fractions = [0, 1, ones / 2 + 1, ones];
    let mut around: Vec<u64> = (0..=2)
        .flat_map(|exponent| fractions.map(|fraction| exponent << format.fraction_bits | fraction))
        .collect();
    if config.design() == Design::FlashD {
        let (low, high) = static_limits(format);
        around.extend([low, high].into_iter().flat_map(|limit| [limit - 1, limit, limit + 1]));
    }
    around.retain(|&bits| !format.is_special(bits));
    around.into_iter().map(|bits| format.value(bits)).map(|x| vec![0.0, x, x]).collect()
}

/// A first score of zero, and then every number of the format around the active range; a third score that is the second one again, so
/// that its argument is the logarithm of the second one's weight, and then others.
fn of_encodings(config: &CoreConfig, rng: &mut ChaCha8Rng) -> Vec<Scores> {
    let format = config.format;
    let near = |x: &f64| x.abs() < 20.0 && x.abs() > 1e-4;
    let numbers: Vec<f64> =
        (0..format.max_finite()).map(|bits| format.value(bits)).filter(near).flat_map(|x| [x, -x]).collect();
    let repeats = TRIED.div_ceil(numbers.len());
    let mut third = |repeat: usize, x: f64| if repeat == 0 { x } else { x + rng.random_range(-8.0..12.0) };
    let all = (0..repeats).flat_map(|repeat| numbers.iter().map(move |&x| (repeat, x)));
    all.take(TRIED).map(|(repeat, x)| vec![0.0, x, third(repeat, x)]).collect()
}

/// A second score at every distance from the first one that scores can have, to the last octave of the tables and beyond, or at as
/// many of them as are tried.
fn of_distances(config: &CoreConfig, n: &Numerics, rng: &mut ChaCha8Rng) -> Vec<Scores> {
    let unit = LN_2 * f64::from(n.score_fraction).exp2().recip();
    let octaves = match config.design() {
        Design::FlashD => n.exp.sigmoid.octaves + BEYOND,
        Design::Fa2 => BEYOND * BEYOND,
    };
    let most = i64::from(octaves) << n.score_fraction;
    let mut distances: Vec<i64> = match usize::try_from(2 * most) {
        Ok(all) if all <= TRIED => (-most..=most).collect(),
        _ => (0..TRIED).map(|_| rng.random_range(-most..=most)).collect(),
    };
    // Around the limit at which keys are held, some more often than others: rounding may move them by one.
    if let Some(threshold) = n.hold_threshold {
        let edge = -(threshold as i64);
        distances.extend((0..8).flat_map(|_| edge - 3..=edge + 3));
    }
    let query = |distance: i64| {
        let x = distance as f64 * unit;
        // Both on the grid of scores, and neither far from zero.
        let first = ((rng.random_range(-1.0..1.0) - x / 2.0) / unit).round() * unit;
        let third = first.max(first + x) + rng.random_range(-6.0..2.0);
        vec![first, first + x, third]
    };
    distances.into_iter().map(query).collect()
}

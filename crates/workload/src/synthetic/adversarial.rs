//! Streams on which a rule for leaving out work is at its worst.
//!
//! All have one score and one value a key: `q = sqrt(d) e_0` and `k_j = s_j e_0`, so that the score is `s_j`, and
//! every element of value j is the same. Queries and keys are equal in number, and all queries are equal: with a causal mask, query i
//! shows the result after i + 1 keys.
//!
//! The *static* rule looks at the difference D of neighbouring scores: it holds the output when `D <= -6` and
//! loads the value when `D >= 11`. What matters is the distance to the log-sum-exp instead.

use crate::tensor::Attention;

/// The names of the streams, for [`adversarial`].
pub const ADVERSARIAL: [&str; 9] =
    ["osc6", "hi3", "climb", "climb_flat", "holdT6", "holdT8", "holdT11", "reset", "sawtooth"];

/// The fall that the static rule still holds.
const HELD: f64 = -6.0;
/// A rise just below the one with which the static rule loads the value.
const NOT_LOADED: f64 = 10.875;

/// Scores and values of a stream, none for an unknown name.
///
/// | name | keys | effect |
/// | --- | --- | --- |
/// | `osc6` | 256 | scores 0, -6, 0, -6, ...: every fall is held, so every second key is lost |
/// | `hi3` | 3 | 0, -20, -9: a rise of 11 that matters nothing replaces the whole output |
/// | `climb` | 45 | 40 falls of 6, then 4 rises of 10.875: ends far below the start and yet takes over the output |
/// | `climb_flat` | 65 | 3 falls of 6, a rise of 10.875, then level: held keys that should add up |
/// | `holdT6`, `holdT8`, `holdT11` | 512 | one key, then 511 that are T below it: the largest loss of a hold with threshold T |
/// | `reset` | 64 | level, with one key 20 above in the middle: all that follows is negligible |
/// | `sawtooth` | 256 | falls of 5.875, seven times, then back up by 41.125: no fall is ever held |
pub fn adversarial_stream(name: &str) -> Option<(Vec<f64>, Vec<f64>)> {
    // The first value is 1, all others -1, unless the stream says otherwise.
    let one_against_many = |scores: Vec<f64>| {
        let values = (0..scores.len()).map(|j| if j == 0 { 1.0 } else { -1.0 }).collect();
        (scores, values)
    };
    let hold =
        |threshold: f64| one_against_many((0..512).map(|j| if j == 0 { 0.0 } else { -threshold }).collect());
    // Begins with +0, hence the sum.
    let fall = |steps: usize| (0..=steps).map(|j| 0.0 + HELD * j as f64);
    // The values change sign where the scores stop falling.
    let climb = |steps: usize, after: Vec<f64>| {
        let values =
            std::iter::repeat_n(1.0, steps + 1).chain(std::iter::repeat_n(-1.0, after.len())).collect();
        (fall(steps).chain(after).collect(), values)
    };
    Some(match name {
        "osc6" => one_against_many((0..256).map(|j| if j % 2 == 0 { 0.0 } else { HELD }).collect()),
        "hi3" => (vec![0.0, -20.0, -9.0], vec![1.0, 0.0, -1.0]),
        "climb" => climb(40, (1..=4).map(|j| 40.0 * HELD + NOT_LOADED * f64::from(j)).collect()),
        "climb_flat" => climb(3, vec![3.0 * HELD + NOT_LOADED; 61]),
        "holdT6" => hold(6.0),
        "holdT8" => hold(8.0),
        "holdT11" => hold(11.0),
        "reset" => {
            let at = |j: usize, there: f64, elsewhere: f64| if j == 32 { there } else { elsewhere };
            ((0..64).map(|j| at(j, 20.0, 0.0)).collect(), (0..64).map(|j| at(j, -1.0, 1.0)).collect())
        }
        "sawtooth" => {
            let scores = (0..256).map(|j| -5.875 * f64::from(j % 8)).collect();
            (scores, (0..256).map(|j| if j % 8 == 0 { -1.0 } else { 1.0 }).collect())
        }
        _ => return None,
    })
}

/// A stream as tensors of head dimension `d`, none for a name that is not in [`ADVERSARIAL`].
///
/// # Panics
/// If `d` is 0.
pub fn adversarial(name: &str, d: usize) -> Option<Attention> {
    assert!(d > 0, "a row needs at least one element");
    let (scores, values) = adversarial_stream(name)?;
    let along_first_axis = |x: f64| std::iter::once(x as f32).chain(std::iter::repeat_n(0.0, d - 1));
    let keys = scores.len();
    Some(Attention::new(
        d,
        (0..keys).flat_map(|_| along_first_axis((d as f64).sqrt())).collect(),
        scores.iter().flat_map(|&s| along_first_axis(s)).collect(),
        values.iter().flat_map(|&v| std::iter::repeat_n(v as f32, d)).collect(),
    ))
}

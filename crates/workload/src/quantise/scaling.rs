//! The scales of a head: factors of the tensors, the shift in the core, and their inverses on results.

use super::round::{PowerOfTwo, floor_log2, scale_by_power_of_two};
use super::scales::{ScaleRule, is_narrow};
use flashd_spec::config::SCORE_SHIFT_RANGE;
use flashd_spec::format::{Encodings, Format, Formats, Scale};
use flashd_spec::number::short;
use serde::{Deserialize, Serialize};

/// How a head is scaled before it is rounded. All powers of two are undone exactly: those of Q and K in the
/// core's `score_shift`, that of V in the result.
///
/// ```text
/// score = q . k * score_scale = (q * q_factor * 2^q_exponent) . (k * 2^k_exponent) * 2^score_shift
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// The whole factor between `q . k` and the score, for example 1/sqrt(d).
    pub score_scale: f64,
    /// Q was multiplied by two to this power.
    pub q_exponent: i32,
    /// K was multiplied by two to this power.
    pub k_exponent: i32,
    /// V was multiplied by two to this power.
    pub v_exponent: i32,
    /// The shift that the core has to be configured with.
    pub score_shift: i32,
    /// The score scale without its power of two, in (1/2, 1]: multiplied into Q.
    pub q_factor: f64,
    /// Which powers of two the scales of vectors and blocks are, where they are such.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rule: ScaleRule,
}

fn is_default(rule: &ScaleRule) -> bool {
    *rule == ScaleRule::default()
}

/// The factor between `q . k` and the score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreScale {
    /// 1/sqrt(d), d being the head dimension before any padding.
    #[default]
    Auto,
    /// 1: it is in the tensors already.
    None,
    /// This factor, which must be positive.
    Value(f64),
}

/// Whether tensors are multiplied by powers of two to suit the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TensorScale {
    /// The powers of two that lose least. None where the range of the format is wide (bf16, fp32).
    #[default]
    Auto,
    /// Tensors are rounded as they are.
    None,
}

/// A scale that no core can apply.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ScalingError {
    /// Zero, negative or not finite.
    #[error("score scale {} is not a positive finite number; 1/sqrt(d) is usual", short(*.0))]
    ScoreScale(f64),
    /// The power of two does not fit the core.
    #[error("score scale {} needs score_shift {shift}, which is outside -64 to 64", short(*.scale))]
    ShiftOutOfRange {
        /// The score scale.
        scale: f64,
        /// The shift that it needs.
        shift: i32,
    },
    /// The factor of a unit's scores is beyond its Q0.16 numbers.
    #[error(
        "score scale {} is SCALE = {} with score_shift {shift}; SCALE goes from 1 to 65536, as 0",
        short(*.scale), short(*.units)
    )]
    ScaleOutOfRange {
        /// The score scale.
        scale: f64,
        /// What SCALE would be.
        units: f64,
        /// The shift of the core.
        shift: i32,
    },
}

/// The factors of a [`Scaling`] on elements, ready for many of them.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    q_factor: f64,
    q_exponent: PowerOfTwo,
    k_exponent: PowerOfTwo,
    v_exponent: PowerOfTwo,
}

impl Factors {
    /// An element of Q before it is rounded.
    #[inline(always)]
    pub fn q(&self, q: f32) -> f64 {
        self.q_exponent.times(f64::from(q) * self.q_factor)
    }

    /// An element of K before it is rounded.
    #[inline(always)]
    pub fn k(&self, k: f32) -> f64 {
        self.k_exponent.times(k.into())
    }

    /// An element of V before it is rounded.
    #[inline(always)]
    pub fn v(&self, v: f32) -> f64 {
        self.v_exponent.times(v.into())
    }
}

/// Units of Q0.16 in 1.
const ONE_Q16: f64 = 65536.0;

/// What `score_shift` may be in a core.
const SHIFT_RANGE: std::ops::RangeInclusive<i32> = SCORE_SHIFT_RANGE.0..=SCORE_SHIFT_RANGE.1;

impl ScoreScale {
    /// The factor for a head of dimension `d`.
    pub fn factor(self, d: usize) -> f64 {
        match self {
            ScoreScale::Auto => 1.0 / (d as f64).sqrt(),
            ScoreScale::None => 1.0,
            ScoreScale::Value(factor) => factor,
        }
    }
}

impl Scaling {
    /// The scaling that leaves the tensors as they are: only the score scale is split into the power of two
    /// that the core applies and the rest, which is folded into Q.
    ///
    /// # Errors
    /// A score scale that is not positive and finite, or whose power of two is beyond the core's range.
    pub fn unscaled(score: ScoreScale, d: usize) -> Result<Scaling, ScalingError> {
        let scale = score.factor(d);
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(ScalingError::ScoreScale(scale));
        }
        // A power of two goes to the core whole and leaves 1.
        let floor = floor_log2(scale);
        let score_shift = if scale_by_power_of_two(scale, -floor) == 1.0 { floor } else { floor + 1 };
        if !SHIFT_RANGE.contains(&score_shift) {
            return Err(ScalingError::ShiftOutOfRange { scale, shift: score_shift });
        }
        let q_factor = scale_by_power_of_two(scale, -score_shift);
        Ok(Scaling {
            score_scale: scale,
            q_exponent: 0,
            k_exponent: 0,
            v_exponent: 0,
            score_shift,
            q_factor,
            rule: ScaleRule::default(),
        })
    }

    /// The same score with other powers of two in Q and K: the shift undoes them.
    #[must_use]
    pub fn with_exponents(self, q_exponent: i32, k_exponent: i32) -> Scaling {
        let undone = self.score_shift + self.q_exponent + self.k_exponent;
        Scaling { q_exponent, k_exponent, score_shift: undone - q_exponent - k_exponent, ..self }
    }

    /// The same with another power of two in V.
    #[must_use]
    pub fn with_v_exponent(self, v_exponent: i32) -> Scaling {
        Scaling { v_exponent, ..self }
    }

    /// The same with another rule for scales that are powers of two.
    #[must_use]
    pub fn with_rule(self, rule: ScaleRule) -> Scaling {
        Scaling { rule, ..self }
    }

    /// The same for a core whose scores are `q . k scale / 2^16 * 2^score_shift`, with `scale` chosen at run time: nothing is folded into Q. Operands
    /// that are floats keep so small exponents that `scale` keeps 12 bits.
    #[must_use]
    pub fn with_run_time_scale(self, formats: Formats, score_shift: i32) -> Scaling {
        let scaling = Scaling { score_shift, q_factor: 1.0, ..self };
        let excess = (ONE_Q16 / 16.0 / scaling.q16()).log2().ceil() as i32;
        let floats = !formats.q.is_integer() && !formats.k.is_integer();
        let excess = if floats { excess.clamp(0, (self.q_exponent + self.k_exponent).max(0)) } else { 0 };
        Scaling {
            q_exponent: self.q_exponent - excess / 2,
            k_exponent: self.k_exponent - (excess - excess / 2),
            ..scaling
        }
    }

    /// The factor at run time in units of 2^-16, not rounded.
    fn q16(&self) -> f64 {
        let exponent = self.q_exponent + self.k_exponent + self.score_shift;
        scale_by_power_of_two(self.score_scale, -exponent) * ONE_Q16
    }

    /// The Q0.16 encoding, 0 being 1, of the factor that [`Scaling::with_run_time_scale`] leaves to the run, to nearest.
    ///
    /// # Errors
    /// If it is beyond Q0.16.
    pub fn run_time_scale(&self) -> Result<u64, ScalingError> {
        let units = self.q16();
        match units.round() {
            ONE_Q16 => Ok(0),
            rounded @ 1.0..ONE_Q16 => Ok(rounded as u64),
            _ => {
                Err(ScalingError::ScaleOutOfRange { scale: self.score_scale, units, shift: self.score_shift })
            }
        }
    }

    /// Whether a core can be configured with the shift.
    pub(crate) fn is_valid(&self) -> bool {
        SHIFT_RANGE.contains(&self.score_shift)
    }

    /// What elements are multiplied by before they are rounded.
    pub fn factors(&self) -> Factors {
        Factors {
            q_factor: self.q_factor,
            q_exponent: PowerOfTwo::new(self.q_exponent),
            k_exponent: PowerOfTwo::new(self.k_exponent),
            v_exponent: PowerOfTwo::new(self.v_exponent),
        }
    }

    /// The score that belongs to a dot product of scaled tensors.
    pub fn score(&self, dot: f64) -> f64 {
        scale_by_power_of_two(dot, self.score_shift)
    }

    /// The attention output that belongs to an element of a core's result.
    pub fn result(&self, format: Format, bits: u64) -> f64 {
        scale_by_power_of_two(format.value(bits), -self.v_exponent)
    }
}

/// The largest number that a tensor of a format and scales can have before something saturates, where it needs a power of two of its own:
/// numbers of a narrow range without scales, and with scales whose range is narrow. Fixed-point numbers have the tensor's unit and stay as they are.
pub(super) fn range_of(format: Format, scale: Scale) -> Option<f64> {
    let largest = |format: Format| format.value(format.max_finite());
    match scale {
        // A Q0.16 scale is at most 1.
        Scale::None | Scale::RowQ16 => {
            (is_narrow(format) && !format.is_fixed_point()).then(|| largest(format))
        }
        Scale::Row | Scale::RowE8m0 | Scale::Mx => None,
        Scale::Nvfp4 => Some(largest(format) * largest(Format::FP8_E4M3)),
    }
}

/// The number that the largest magnitude of each channel of V becomes, where the host scales channels: the largest integer for integers without
/// scales of their own, and no more than the largest result where results are integers. A result is a mean of values, so it stays below. Fixed-point values
/// stay as they are.
pub fn channel_limit(encodings: Encodings) -> Option<f64> {
    let Encodings { formats, scales } = encodings;
    let largest = |format: Format| format.value(format.max_finite());
    let alone = scales.v == Scale::None;
    match (formats.v.is_integer() && alone, formats.o.is_integer()) {
        (true, _) => (!formats.v.is_fixed_point()).then(|| largest(formats.v)),
        (false, true) if alone => Some(largest(formats.o).min(largest(formats.v))),
        (false, true) => Some(largest(formats.o)),
        (false, false) => None,
    }
}

/// The largest power of two by which a tensor can be multiplied before its largest element is beyond `largest`.
pub(super) fn filling_exponent(max_abs: f64, largest: f64) -> i32 {
    if max_abs == 0.0 {
        return 0;
    }
    let estimate = floor_log2(largest) - floor_log2(max_abs);
    if scale_by_power_of_two(max_abs, estimate) <= largest { estimate } else { estimate - 1 }
}

/// Powers of two below the one that fills the range, among the candidates for V.
const V_HEADROOM: i32 = 10;

/// Powers of two to try for V, from the one that fills the range of v's format or of the result's, whichever is smaller, down to ten less.
///
/// FLASH-D's output is a mean of values, so V can fill the range; FlashAttention-2's accumulator is a sum over
/// all keys and wants headroom. Which loses least is for the model of the core to say. Formats with a wide
/// exponent range have one candidate, 0.
pub fn v_candidates(max_abs_v: f64, encodings: impl Into<Encodings>) -> Vec<i32> {
    let encodings = encodings.into();
    let Encodings { formats: Formats { v, o, .. }, scales } = encodings;
    // A result is at most the largest value: both have to fit. Where channels have scales or values a unit, these see to it.
    let own = channel_limit(encodings).is_some() || v.is_fixed_point();
    let ranges = [range_of(v, scales.v), range_of(o, Scale::None)].into_iter().flatten();
    let filling = ranges.map(|largest| filling_exponent(max_abs_v, largest)).min();
    let Some(filling) = filling.filter(|_| max_abs_v != 0.0 && !own) else {
        return vec![0];
    };
    (filling - V_HEADROOM..=filling).rev().collect()
}

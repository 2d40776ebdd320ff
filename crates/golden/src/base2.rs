//! The cores' exponential, sigmoid and logarithm in base 2, in integers. An argument `t = k + f` has an octave k and B fraction bits f.

use crate::round::pow2;
use crate::scalar::{ReducedArgument, lookup};
use flashd_spec::numerics::{ExpNumerics, LOG2E, LOG2E_FRACTION, Numerics};

/// `x * 2^-places`, rounded half up; exact if `places <= 0`.
pub fn round_half_up(x: i64, places: i32) -> i64 {
    match places {
        ..=0 => x << -places,
        63.. => 0,
        _ => (x + (1 << (places - 1))) >> places,
    }
}

/// A factor of the lanes' multipliers, `m 2^-(bits-1) 2^-right`. The significand m has `bits` bits with the top bit set; for zero
/// m is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// Significand.
    pub m: u64,
    /// Width of `m` in bits.
    pub bits: u32,
    /// Right shift beyond the significand's own `bits - 1` places.
    pub right: u32,
}

impl Factor {
    /// Rounds `value 2^-fraction 2^-k` half up to a factor, for `0 < value <= 2^fraction`.
    pub fn new(value: u64, fraction: u32, k: u32, bits: u32) -> Factor {
        debug_assert!((1..=1 << fraction).contains(&value));
        let zeros = fraction - value.ilog2();
        let m = round_half_up((value << zeros) as i64, fraction as i32 + 1 - bits as i32) as u64;
        match m >> bits {
            0 => Factor { m, bits, right: k + zeros },
            // Rounding carried into the next binade. The value was below 2^fraction, so `zeros` is at least 1.
            _ => Factor { m: m / 2, bits, right: k + zeros - 1 },
        }
    }

    /// The factor zero.
    pub fn zero(bits: u32) -> Factor {
        Factor { m: 0, bits, right: 0 }
    }

    /// The factor one.
    pub fn one(bits: u32) -> Factor {
        Factor { m: 1 << (bits - 1), bits, right: 0 }
    }

    /// Decodes [`Factor::record`].
    pub fn from_record(record: u64, bits: u32) -> Factor {
        Factor { m: record & ((1 << bits) - 1), bits, right: (record >> bits) as u32 }
    }

    /// Right shift of the product with m, `bits - 1 + right`.
    pub fn shift(&self) -> u32 {
        self.bits - 1 + self.right
    }

    /// The value `m 2^-shift`.
    pub fn value(&self) -> f64 {
        self.m as f64 * pow2(-(self.shift() as i32))
    }

    /// The encoding in a recorded step, `(right << bits) | m`.
    pub fn record(&self) -> u64 {
        (u64::from(self.right) << self.bits) | self.m
    }
}

/// The tables of a core, with octaves applied as shifts.
#[derive(Clone, Debug)]
pub struct Base2 {
    exp: ExpNumerics,
    largest: i64,
}

impl Base2 {
    /// The tables of a core's numerics.
    pub fn new(numerics: &Numerics) -> Self {
        Base2 { exp: numerics.exp.clone(), largest: (1 << numerics.octave_argument_bits()) - 1 }
    }

    /// Rounds a magnitude with `fraction` fraction bits half up to B, saturates it, and splits it into octave and offset.
    pub(crate) fn reduce(&self, magnitude: u64, fraction: u32) -> ReducedArgument {
        let b = self.exp.value_fraction;
        let t = round_half_up(magnitude as i64, fraction as i32 - b as i32).min(self.largest) as u64;
        ReducedArgument { k: (t >> b) as u32, f: t & ((1 << b) - 1) }
    }

    /// Octave and offset of `|x|` as FLASH-D's loop forms them: a negative x is inverted (`-1 - x`), then cut to B fraction bits and
    /// saturated.
    pub fn reduce_cut(&self, x: i64, fraction: u32) -> ReducedArgument {
        let b = self.exp.value_fraction;
        let magnitude = if x < 0 { -1 - x } else { x } as u64;
        let t = round_down(magnitude, fraction as i32 - b as i32).min(self.largest as u64);
        ReducedArgument { k: (t >> b) as u32, f: t & ((1 << b) - 1) }
    }

    /// Fraction bits B of the tables' values, before the shift by the octave.
    pub(crate) fn fraction(&self) -> u32 {
        self.exp.value_fraction
    }

    /// `2^-f` with B fraction bits; the caller shifts right by k.
    pub(crate) fn exp(&self, r: ReducedArgument) -> u64 {
        lookup(&self.exp.exp, ReducedArgument { k: 0, ..r })
    }

    /// `1 / (1 + 2^t)` with B fraction bits, times `2^k`; the caller shifts right by k.
    pub(crate) fn sigmoid(&self, r: ReducedArgument) -> u64 {
        lookup(&self.exp.sigmoid, r)
    }

    /// `2^-t` as a factor.
    pub(crate) fn exp_factor(&self, r: ReducedArgument, bits: u32) -> Factor {
        Factor::new(self.exp(r), self.fraction(), r.k, bits)
    }

    /// `1 / (1 + 2^t)` as a factor.
    pub(crate) fn sigmoid_factor(&self, r: ReducedArgument, bits: u32) -> Factor {
        Factor::new(self.sigmoid(r), self.fraction(), r.k, bits)
    }

    /// Growth of the log-sum-exp, `log2(1 + 2^-t)`, with `fraction` fraction bits, rounded half up.
    pub fn growth(&self, r: ReducedArgument, fraction: u32) -> i64 {
        let left = fraction as i32 - self.fraction() as i32 + 1;
        let aligned = round_down(lookup(&self.exp.log2p1, r), -left);
        round_half_up((aligned >> r.k.min(63)) as i64, 1)
    }
}

fn round_down(x: u64, places: i32) -> u64 {
    if places > 0 { x >> places } else { x << -places }
}

/// Converts natural scores to base 2. Both are fixed point and saturate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Score {
    natural_limit: i64,
    limit: i64,
    places: i32,
}

impl Score {
    pub(crate) fn new(n: &Numerics) -> Self {
        Score {
            natural_limit: (1 << (n.score_integer + n.natural_fraction())) - 1,
            limit: (1 << (n.score_integer + n.score_fraction)) - 1,
            places: (LOG2E_FRACTION + n.natural_fraction() - n.score_fraction) as i32,
        }
    }

    /// Largest magnitude of a natural score.
    pub(crate) fn natural_limit(&self) -> i64 {
        self.natural_limit
    }

    /// Largest magnitude of a base-2 score.
    pub(crate) fn limit(&self) -> i64 {
        self.limit
    }

    /// Right shift of the product with `log2(e)`.
    pub(crate) fn places(&self) -> i32 {
        self.places
    }

    /// `natural log2(e)` with FS fraction bits, rounded half up and saturated, and whether it or the natural score saturates.
    pub(crate) fn of(&self, natural: i64) -> (i64, bool) {
        let (natural, beyond) = saturated(natural, self.natural_limit);
        let (score, also) = saturated(round_half_up(natural * LOG2E as i64, self.places), self.limit);
        (score, beyond || also)
    }
}

/// `x` within `+-limit`, and whether it was beyond.
pub(crate) fn saturated(x: i64, limit: i64) -> (i64, bool) {
    (x.clamp(-limit, limit), x.abs() > limit)
}

//! The scalar units in integers: range reduction, tables and reciprocal, with results rounded to a format.

use crate::carrier::Carrier;
use crate::round::{Rounder, pow2};
use flashd_spec::format::Format;
use flashd_spec::numerics::{ExpNumerics, ReciprocalNumerics};
use flashd_spec::pwl::Table;

/// The integer nearest to `x * 2^shift`, ties to even, saturated at `+-limit` (below 2^51).
pub(crate) fn fixed(x: f64, shift: i32, limit: i64) -> i64 {
    // The limit is an integer, so clamping before rounding equals clamping after it.
    let scaled = (x * pow2(shift)).clamp(-limit as f64, limit as f64);
    const INTEGERS: f64 = (3u64 << 51) as f64;
    ((scaled + INTEGERS) - INTEGERS) as i64
}

/// A base-2 argument `k + f`: the octave `k` and the offset `f` with B fraction bits.
#[derive(Clone, Copy)]
pub struct ReducedArgument {
    /// Octave.
    pub k: u32,
    /// Offset, below `2^B`.
    pub f: u64,
}

/// Exponential, sigmoid, softplus and logarithm, rounded to one format.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    pub(crate) format: Format,
    pub(crate) exp: ExpNumerics,
    rounder: Rounder<f64>,
}

impl Scalar {
    pub(crate) fn new(format: Format, exp: ExpNumerics) -> Self {
        Scalar { format, exp, rounder: Rounder::new(format) }
    }

    /// Rounds a carrier value to the format.
    pub(crate) fn round(&self, x: f64) -> f64 {
        self.rounder.round(x)
    }

    /// RN of `a + b`.
    pub(crate) fn add(&self, a: f64, b: f64) -> f64 {
        self.round(a.add_odd(b))
    }

    /// RN of `a - b`.
    pub(crate) fn sub(&self, a: f64, b: f64) -> f64 {
        self.add(a, -b)
    }

    /// RN of `a * b`.
    pub(crate) fn mul(&self, a: f64, b: f64) -> f64 {
        self.round(a * b)
    }

    /// RN of `magnitude * 2^exponent`; the magnitude must have at most 53 bits.
    pub(crate) fn round_integer(&self, magnitude: u64, exponent: i32) -> f64 {
        self.round(magnitude as f64 * pow2(exponent))
    }

    /// Largest `t`: 5 integer and B fraction bits of ones.
    fn t_max(&self) -> u64 {
        (1 << self.exp.argument_bits()) - 1
    }

    /// `t = RNE(|x| 2^B)`, saturated.
    fn t_from_value(&self, x: f64) -> u64 {
        fixed(x.abs(), self.exp.value_fraction as i32, self.t_max() as i64) as u64
    }

    /// Splits `t log2(e)`, cut to B fraction bits, into octave and offset.
    pub(crate) fn reduce(&self, t: u64) -> ReducedArgument {
        let b = self.exp.value_fraction;
        let y = (t * self.exp.log2e) >> self.exp.log2e_fraction;
        ReducedArgument { k: (y >> b) as u32, f: y & ((1 << b) - 1) }
    }

    /// `e^-t` from the exponential's table, rounded to the format.
    pub(crate) fn exp_of(&self, t: u64) -> f64 {
        let r = self.reduce(t);
        self.round_integer(lookup(&self.exp.exp, r), self.shifted(r))
    }

    /// Exponent of a table value after its shift by the octave, `-(B + k)`.
    fn shifted(&self, r: ReducedArgument) -> i32 {
        -((self.exp.value_fraction + r.k) as i32)
    }

    /// `sigmoid(-t)` for a negative argument, else `1 - sigmoid(-t)` with two guard bits, rounded to the format.
    /// Only for the separate sigmoid unit.
    pub(crate) fn sigmoid_of(&self, negative: bool, r: ReducedArgument) -> f64 {
        let h = lookup(&self.exp.sigmoid, r);
        if negative {
            return self.round_integer(h, self.shifted(r));
        }
        let guarded = self.exp.value_fraction + 2;
        self.round_integer((1 << guarded) - ((h << 2) >> r.k.min(63)), -(guarded as i32))
    }

    /// `log2(1 + 2^-|x|)`.
    pub(crate) fn log2p1_unit(&self, x: f64) -> f64 {
        let (t, b) = (self.t_from_value(x), self.exp.value_fraction);
        let r = ReducedArgument { k: (t >> b) as u32, f: t & ((1 << b) - 1) };
        self.round_integer(lookup(&self.exp.log2p1, r), self.shifted(r))
    }

    /// `exp(x)` for `x <= 0`; a positive x counts as zero.
    pub(crate) fn exp_unit(&self, x: f64) -> f64 {
        self.exp_of(if x > 0.0 { 0 } else { self.t_from_value(x) })
    }

    /// `sigmoid(x)`.
    pub(crate) fn sigmoid_unit(&self, x: f64) -> f64 {
        self.sigmoid_of(x < 0.0, self.reduce(self.t_from_value(x)))
    }

    /// `softplus(x)`: `x + softplus(-x)` for `x >= 0`, or x itself if `t` saturates.
    pub(crate) fn softplus_unit(&self, x: f64) -> f64 {
        let t = self.t_from_value(x);
        let r = self.reduce(t);
        let g = lookup(&self.exp.softplus, r);
        if x < 0.0 {
            self.round_integer(g, self.shifted(r))
        } else if t == self.t_max() {
            x
        } else {
            let guarded = self.exp.value_fraction + 2;
            self.round_integer((t << 2) + ((g << 2) >> r.k.min(63)), -(guarded as i32))
        }
    }

    /// `ln(x)` for `x` in (0, 1]. Zero and negative arguments count as the smallest positive number; for `x >= 1`
    /// the result is +0.
    pub(crate) fn ln_unit(&self, x: f64) -> f64 {
        let x = if x <= 0.0 { crate::decode(self.format, self.format.min_positive()) } else { x };
        if x >= 1.0 {
            return 0.0;
        }
        let b = self.exp.value_fraction;
        let (exponent, f) = split(x, b);
        let scale = (-exponent) as u64 * self.exp.ln2;
        let magnitude = scale.saturating_sub(lookup_offset(&self.exp.ln, f));
        if magnitude == 0 { 0.0 } else { -self.round_integer(magnitude, -(b as i32)) }
    }

    /// The paper's sigmoid over [-6, 11), of `z = x + 6` with B fraction bits.
    pub(crate) fn paper_sigmoid_at(&self, z: u64) -> f64 {
        self.round_integer(lookup_offset(&self.exp.paper_sigmoid, z), -(self.exp.value_fraction as i32))
    }

    /// Largest `z` of the paper's sigmoid.
    pub(crate) fn paper_z_max(&self) -> u64 {
        (17 << self.exp.value_fraction) - 1
    }

    /// The paper's sigmoid, with x clamped to [-6, 11).
    pub(crate) fn paper_sigmoid_unit(&self, x: f64) -> f64 {
        let b = self.exp.value_fraction;
        let xf = fixed(x, b as i32, 64 << b);
        let z = (xf + (6 << b)).clamp(0, self.paper_z_max() as i64);
        self.paper_sigmoid_at(z as u64)
    }
}

/// Value of a table at octave k and offset f, before the shift by k, with B fraction bits. Later octaves use the last one's
/// entries.
pub fn lookup(table: &Table, r: ReducedArgument) -> u64 {
    let octave = r.k.min(table.octaves - 1) * table.cells;
    let dx = r.f & ((1 << table.offset_bits) - 1);
    table_value(table, octave as usize + (r.f >> table.offset_bits) as usize, dx)
}

/// Value of a table with a single octave.
pub(crate) fn lookup_offset(table: &Table, offset: u64) -> u64 {
    table_value(table, (offset >> table.offset_bits) as usize, offset & ((1 << table.offset_bits) - 1))
}

/// `c0 - floor(c1 dx / 2^slope_fraction)`, or `+` if the function increases.
fn table_value(table: &Table, entry: usize, dx: u64) -> u64 {
    let step = (table.c1[entry] * dx) >> table.slope_fraction;
    if table.function.decreasing() { table.c0[entry] - step } else { table.c0[entry] + step }
}

/// Splits a positive `x = (1 + f) 2^exponent`; returns the exponent and f truncated to `bits` bits.
pub(crate) fn split(x: f64, bits: u32) -> (i32, u64) {
    // Every positive number of a format is a normal f64, so subnormals are normalised.
    let raw = x.to_bits();
    ((raw >> 52) as i32 - 1023, (raw & ((1 << 52) - 1)) >> (52 - bits))
}

/// `1 / (1 + f)` with VR fraction bits: a table value, refined by Newton steps.
pub(crate) fn reciprocal(numerics: &ReciprocalNumerics, f: u64) -> u64 {
    let table = &numerics.table;
    let bits = table.value_fraction;
    let m = (1u64 << bits) + f;
    let mut r = lookup_offset(table, f);
    for _ in 0..numerics.newton_steps {
        let product = (m * r) >> bits;
        let correction = (2u64 << bits) - product;
        r = ((r * correction + (1 << (bits - 1))) >> bits).min(1 << bits);
    }
    r
}

//! The lanes' contract in wide integers, written directly from its formulas.

use super::integers::{fields, floor_and_bit, significand};
use super::scalar::{Lane, Scalar};
use crate::common::Dyadic;
use flashd_golden::{decode, encode};
use flashd_spec::config::{Design, Fa2Variant, Update};
use flashd_spec::format::{Format, Subnormals};

/// `x 2^-places`, rounded down.
fn down(x: i128, places: i128) -> i128 {
    x >> places.min(120)
}

fn value(format: Format, bits: u64) -> Dyadic {
    Dyadic::of(format, bits)
}

/// FLASH-D's rounded update, on encodings.
pub fn rounded(scalar: &Scalar, o: u64, v: u64, u: u64, upper: bool) -> u64 {
    let n = scalar.n;
    let (old, new) = (value(n.accumulator, o), value(n.formats.v, v));
    let round = |x: Dyadic| value(n.difference, x.round(n.difference));
    let difference = round(new.add(old.neg()));
    let product = |difference| round(value(n.weight, u).mul(difference));
    let sum = if upper { new.add(product(difference.neg())) } else { old.add(product(difference)) };
    sum.round(n.accumulator)
}

/// FLASH-D's fixed-point value, and whether it is too large.
pub fn fixed_value(format: Format, v: u64, x: i128, bits: u32) -> (i128, bool) {
    let (sign, sig, field) = fields(format, v);
    let largest = (1i128 << (bits - 1)) - 1;
    if sig != 0 && field > x {
        return (sign * largest, true);
    }
    let exponent = field as i32 - format.fraction_bits as i32 + bits as i32 - 1 - (x as i32 + 1);
    let (m, g) = floor_and_bit(sig, exponent);
    (sign * (m + g).min(largest), false)
}

/// The places of o below v's that a dither of as many bits is compared with.
pub const DITHER: u32 = 8;

/// FLASH-D's fixed-point update, on two's complement numbers.
pub fn fixed(scalar: &Scalar, o: i128, v: i128, (m, right, x): (i128, i128, i128), upper: bool) -> i128 {
    let bits = scalar.config.lane_bits();
    let kk = bits.o - bits.v;
    let places = DITHER.min(kk);
    let low = |x: i128| x.rem_euclid(1 << places);
    let rest = low(o >> (kk - places));
    let y = v - (o >> kk) - i128::from(low(x) < rest);
    // Ties are rounded up or down by the next bit of x.
    let tie = 1 - ((x >> places) & 1);
    let q2 = down(((y * m) << (kk + 1)) - tie, i128::from(bits.w) - 1 + right);
    let way = (q2 + 1) >> 1;
    let new = if upper { (v << kk) - way } else { o + way };
    assert!(new.abs() < 1 << (bits.o - 1), "o leaves its bits");
    new
}

/// The exponent field of a value. A zero has the least exponent: that of subnormals, if the format has them.
fn exponent(format: Format, v: u64) -> i128 {
    let (_, sig, field) = fields(format, v);
    match (sig, format.subnormals) {
        (0, Subnormals::Flushed) => 0,
        (0, Subnormals::Supported) => 1,
        _ => field,
    }
}

/// FLASH-D's ranged lane before the update with a value: returns the new exponent and the aligned accumulator.
pub fn ranged(scalar: &Scalar, (o, e): (i128, i128), v: u64, first: bool) -> (i128, i128) {
    let bits = scalar.config.lane_bits();
    let x = exponent(scalar.n.formats.v, v);
    if first || x <= e {
        return (o, if first { x } else { e });
    }
    let cut = bits.o.saturating_sub(bits.v + DITHER);
    let kept = down(o, i128::from(cut) + x - e);
    let half = if cut == 0 { 0 } else { 1 << (cut - 1) };
    ((kept << cut) + half, x)
}

/// FA2's fixed-point update, and whether the value is too large.
pub fn sum(scalar: &Scalar, o: i128, v: u64, x: i128, lane: (i128, i128, i128)) -> (i128, bool) {
    let (m, right, delta) = lane;
    let (bits, format) = (scalar.config.lane_bits(), scalar.n.formats.v);
    let (wm, fa2) = (scalar.lane_factor_bits(), scalar.config.fa2());
    // The log-reference's factor is half the exponential, so the product shifts right by one place less.
    let half = i128::from(fa2 == Some(Fa2Variant::LogReference));
    let (sign, mut sig, mut field) = fields(format, v);
    let over = sig != 0 && field > x;
    if over {
        (sig, field) = ((1 << format.precision()) - 1, x);
    }
    let down_by = i128::from(format.precision() + wm - 1) + (x - field) + right - half;
    let (floor, g) = floor_and_bit(sig * m, (i128::from(bits.o) - 1 - down_by) as i32);
    let width = bits.o + 2;
    let new = down(o, delta) + sign * (floor + g);
    // Wraps to two's complement of `width` bits.
    ((new << (128 - width)) >> (128 - width), over)
}

/// FA2's float update, on encodings.
pub fn scaled(scalar: &Scalar, o: u64, v: u64, (m, shift): (i128, i128), moved: bool) -> u64 {
    let n = scalar.n;
    let e = Dyadic { mantissa: m, exponent: -shift as i32 };
    let (old, new) = (value(n.accumulator, o), value(n.formats.v, v));
    let (factor, addend) = if moved { (old, new) } else { (new, old) };
    let product = value(n.product, factor.mul(e).round(n.product));
    addend.add(product).round(n.accumulator)
}

/// The lanes of a query: accumulators as encodings, or as two's complement numbers.
pub struct Lanes {
    o: Vec<i128>,
    /// The exponent of each accumulator, for ranged lanes.
    e: Vec<i128>,
    x: i128,
    pub overflow: bool,
}

impl Lanes {
    pub fn new(d: usize, v_exponent: u64) -> Self {
        Lanes { o: vec![0; d], e: vec![0; d], x: v_exponent.into(), overflow: false }
    }

    pub fn step(&mut self, scalar: &Scalar, lane: Lane, v: &[u64]) {
        let is_ranged = scalar.config.has_ranged_lanes();
        for ((o, e), &v) in self.o.iter_mut().zip(&mut self.e).zip(v) {
            let (bits, x) = (*o as u64, self.x);
            (*o, self.overflow) = match lane {
                Lane::Hold => (*o, self.overflow),
                Lane::Rounded { u, upper } => (rounded(scalar, bits, v, u, upper).into(), false),
                Lane::Blend { m, right, upper, x } if is_ranged => {
                    let first = m == 0 && upper;
                    let before;
                    (before, *e) = ranged(scalar, (*o, *e), v, first);
                    let (v, _) = fixed_value(scalar.n.formats.v, v, *e, scalar.config.lane_bits().v);
                    (fixed(scalar, before, v, (m, right, x), upper), false)
                }
                Lane::Blend { m, right, upper, x } => {
                    let (v, over) = fixed_value(scalar.n.formats.v, v, self.x, scalar.config.lane_bits().v);
                    (fixed(scalar, *o, v, (m, right, x), upper), self.overflow | over)
                }
                Lane::Scale { m, shift, moved } => (scaled(scalar, bits, v, (m, shift), moved).into(), false),
                Lane::Sum { m, right, delta } if is_ranged => {
                    // Before the first key, o is 0 and its exponent is the least.
                    let top = exponent(scalar.n.formats.v, v).max(*e);
                    let lane = (m, right, delta + top - *e);
                    *e = top;
                    sum(scalar, *o, v, top, lane)
                }
                Lane::Sum { m, right, delta } => {
                    let (new, over) = sum(scalar, *o, v, x, (m, right, delta));
                    (new, self.overflow | over)
                }
            };
        }
    }

    /// The results as encodings.
    pub fn results(&self, scalar: &Scalar) -> Vec<u64> {
        self.o.iter().zip(&self.e).map(|(&o, &e)| self.result(scalar, o, e)).collect()
    }

    fn result(&self, scalar: &Scalar, o: i128, e: i128) -> u64 {
        let (n, config) = (scalar.n, scalar.config);
        let format = n.formats.o;
        let bits = config.lane_bits();
        // The exponent of a fixed-point accumulator's last place.
        let x = if config.has_ranged_lanes() { e } else { self.x };
        let unit = x as i32 - n.formats.v.bias + 1 - (bits.o as i32 - 1);
        if config.design() == Design::FlashD {
            return match config.update() {
                Some(Update::Fixed | Update::Ranged) => {
                    // The result has four bits more than a value.
                    let cut = bits.o.saturating_sub(bits.v + DITHER);
                    Dyadic { mantissa: o >> cut, exponent: unit + cut as i32 }.round(format)
                }
                // A zero keeps its sign.
                _ if decode(n.accumulator, o as u64) == 0.0 => {
                    encode(format, decode(n.accumulator, o as u64))
                }
                _ => value(n.accumulator, o as u64).round(format),
            };
        }
        let (r, right) = scalar.reciprocal();
        let vr = n.reciprocal.table.value_fraction;
        match config.fa2() {
            Some(Fa2Variant::LogReference) => {
                if o == 0 {
                    return 0;
                }
                let length = format.precision() as i32 + 4;
                let excess = o.abs().ilog2() as i32 + 1 - length;
                let kept = if excess > 0 { o.abs() >> excess } else { o.abs() << -excess };
                let exponent = excess + unit - vr as i32 - right;
                Dyadic { mantissa: o.signum() * kept * r, exponent }.round(format)
            }
            Some(fa2 @ (Fa2Variant::SharedLogReference | Fa2Variant::Ranged)) => {
                // In ranged lanes the magnitude of a negative o is its complement, one last place less.
                let magnitude = o.abs() - i128::from(o < 0 && fa2 == Fa2Variant::Ranged);
                if magnitude == 0 {
                    return 0;
                }
                let wm = scalar.lane_factor_bits();
                // A quarter of the reciprocal, because l may be as small as 1/4.
                let (m, right) = significand(r, vr + 1, i128::from(right) + 2, wm);
                let length = (format.precision() as i32 + 3).max(n.formats.v.precision() as i32);
                let excess = magnitude.ilog2() as i32 + 1 - length;
                let kept = if excess > 0 { magnitude >> excess } else { magnitude << -excess };
                let exponent = excess + unit + 2 - (wm as i32 - 1) - right as i32;
                Dyadic { mantissa: o.signum() * (kept | 1) * m, exponent }.round(format)
            }
            Some(Fa2Variant::SharedScale) => {
                let wm = scalar.shared_bits();
                // The exponent of l may be negative in the fixed-point variants only.
                let (m, right) = significand(r, vr + 1, right.into(), wm);
                let factor = Dyadic { mantissa: m, exponent: -(wm as i32 - 1) - right as i32 };
                let y = value(n.accumulator, o as u64).mul(factor).round(n.product);
                value(n.product, y).round(format)
            }
            _ => {
                let factor = Dyadic { mantissa: r, exponent: -(vr as i32) - right };
                value(n.accumulator, o as u64).mul(factor).round(format)
            }
        }
    }
}

//! The exponential family: range reduction `e^-t = 2^-k 2^-f`, PWL tables, and the functions built on
//! them, in fixed point and in float formats.

use super::convert::{from_fixed, normalised, to_magnitude};
use super::pwl::evaluate;
use super::reciprocal::reciprocal;
use super::round::{Unrounded, round_pack};
use crate::word::{Word, bits_for};
use flashd_spec::format::Format;
use flashd_spec::numerics::{COMPLEMENT_GUARD_BITS, ExpNumerics, ReciprocalNumerics};
use flashd_spec::pwl::Table;

/// `t log2(e) = k + f`.
#[derive(Clone, Debug)]
pub struct Reduced<W> {
    /// Octave: `e^-t` is in `(2^-(k+1), 2^-k]`.
    pub octave: W,
    /// Fraction, B bits.
    pub fraction: W,
}

/// Reduces `t` (B fraction bits): `k + f = t log2(e)`, truncated to B fraction bits.
pub fn reduce<W: Word>(n: &ExpNumerics, t: &W) -> Reduced<W> {
    let b = n.value_fraction;
    assert_eq!(t.width(), n.argument_bits());
    let constant = W::constant(bits_for(n.log2e), n.log2e);
    let product = t.mul(&constant).named("t_log2e");
    let octave_bits = n.argument_integer + 1;
    let y = product.slice(n.log2e_fraction, b + octave_bits);
    Reduced { octave: y.drop_low(b), fraction: y.slice(0, b) }
}

/// Splits a base-2 argument `t = k + f` (B fraction bits): it needs no multiplication.
pub fn octaves<W: Word>(n: &ExpNumerics, t: &W) -> Reduced<W> {
    Reduced { octave: t.drop_low(n.value_fraction), fraction: t.slice(0, n.value_fraction) }
}

/// The table's value for a reduced argument; octaves beyond the last share its entries.
pub fn octave_value<W: Word>(table: &Table, r: &Reduced<W>) -> W {
    let cell = r.fraction.drop_low(table.offset_bits);
    let offset = r.fraction.slice(0, table.offset_bits);
    let entry = match table.octaves {
        1 => cell,
        octaves => {
            let last = octaves as u64 - 1;
            let beyond = r.octave.at_least(last);
            let bits = bits_for(last);
            // With a coarse state the octave may be narrower than the table's row index.
            let octave = r.octave.zext(r.octave.width().max(bits)).slice(0, bits);
            let row = beyond.select(&W::constant(bits, last), &octave).named("octave_row");
            row.concat(&cell).named("table_row")
        }
    };
    evaluate(table, &entry, &offset).label(|| format!("{}_value", table.function.name()))
}

/// Turns `|x|` (`fraction` fraction bits) into an argument of `bits` bits: rounded half up to `b` fraction bits,
/// saturated.
pub fn rounded_argument<W: Word>(b: u32, bits: u32, magnitude: &W, fraction: u32) -> W {
    let aligned = if fraction > b {
        let wide = magnitude.width() + 1;
        let half = W::constant(wide, 1 << (fraction - b - 1));
        magnitude.zext(wide).add(&half).drop_low(fraction - b)
    } else {
        magnitude.append_zeros(b - fraction)
    };
    let aligned = aligned.zext(aligned.width().max(bits)).named("argument");
    match aligned.width() - bits {
        0 => aligned,
        _ => {
            let beyond = aligned.drop_low(bits).any();
            beyond.repeat(bits).or(&aligned.slice(0, bits)).named("argument_clamped")
        }
    }
}

/// `table(k, f) 2^-k` rounded to the format.
fn rounded_tail<W: Word>(n: &ExpNumerics, table: &Table, fmt: Format, r: &Reduced<W>) -> W {
    from_fixed(fmt, &W::zero(1), &octave_value(table, r), n.value_fraction as i32, &r.octave)
}

/// `2^-(k + f)` rounded to the format.
pub fn exp_tail<W: Word>(n: &ExpNumerics, fmt: Format, r: &Reduced<W>) -> W {
    rounded_tail(n, &n.exp, fmt, r)
}

/// `sigmoid(x)` rounded to the format, from the sign of x and `t = |x|`:
/// `H 2^-k` for negative x, `1 - H 2^-k` otherwise.
pub fn sigmoid_weight<W: Word>(n: &ExpNumerics, fmt: Format, negative: &W, t: &W) -> W {
    let r = reduce(n, t);
    let value = octave_value(&n.sigmoid, &r);
    let guarded = value.append_zeros(COMPLEMENT_GUARD_BITS).named("guarded");
    let bits = guarded.width();
    let fraction = n.value_fraction + COMPLEMENT_GUARD_BITS;
    let complement = W::constant(bits, 1 << fraction).sub(&guarded.shr(&r.octave)).named("complement");
    let magnitude = negative.select(&guarded, &complement).named("weight_magnitude");
    let right = negative.repeat(r.octave.width()).and(&r.octave);
    from_fixed(fmt, &W::zero(1), &magnitude, fraction as i32, &right)
}

/// `1 / (1 + 2^(k + f))` rounded to the format: the smaller of w and 1 - w.
pub fn sigmoid_tail<W: Word>(n: &ExpNumerics, fmt: Format, r: &Reduced<W>) -> W {
    rounded_tail(n, &n.sigmoid, fmt, r)
}

/// `log2(1 + 2^-(k + f))`, truncated to `fraction` fraction bits.
pub fn log2p1_tail<W: Word>(n: &ExpNumerics, r: &Reduced<W>, fraction: u32) -> W {
    let value = octave_value(&n.log2p1, r);
    let b = n.value_fraction;
    let placed = match fraction.checked_sub(b) {
        Some(left) => value.append_zeros(left),
        None => value.drop_low(b - fraction),
    };
    placed.shr(&r.octave).named("log2p1_shifted")
}

/// `|x|` of a canonical float in fixed point, as the exponential's argument: rounded to nearest even, saturated.
fn float_argument<W: Word>(n: &ExpNumerics, fmt: Format, x: &W) -> W {
    to_magnitude(fmt, x, n.value_fraction as i32, n.argument_bits()).named("argument")
}

fn is_negative<W: Word>(fmt: Format, x: &W) -> W {
    x.msb().and(&x.slice(0, fmt.width() - 1).any()).named("negative")
}

/// `exp(x)` rounded to the format, for x in (-inf, 0]; positive x counts as 0.
pub fn exp_unit<W: Word>(n: &ExpNumerics, fmt: Format, x: &W) -> W {
    let t = float_argument(n, fmt, x);
    let t = x.msb().repeat(t.width()).and(&t);
    exp_tail(n, fmt, &reduce(n, &t))
}

/// `sigmoid(x)` rounded to the format.
pub fn sigmoid_unit<W: Word>(n: &ExpNumerics, fmt: Format, x: &W) -> W {
    sigmoid_weight(n, fmt, &is_negative(fmt, x), &float_argument(n, fmt, x))
}

/// `softplus(x) = ln(1 + e^x)` rounded to the format: `tail = softplus(-|x|)` for negative x, otherwise `x + tail`,
/// and x itself where `|x|` saturates the argument.
pub fn softplus_unit<W: Word>(n: &ExpNumerics, fmt: Format, x: &W) -> W {
    let negative = is_negative(fmt, x);
    let t = float_argument(n, fmt, x);
    let r = reduce(n, &t);
    let value = octave_value(&n.softplus, &r).append_zeros(COMPLEMENT_GUARD_BITS).named("guarded");
    let bits = t.width() + COMPLEMENT_GUARD_BITS + 1;
    let sum =
        t.append_zeros(COMPLEMENT_GUARD_BITS).zext(bits).add(&value.shr(&r.octave).zext(bits)).named("sum");
    let magnitude = negative.select(&value.zext(bits), &sum).named("softplus_magnitude");
    let right = negative.repeat(r.octave.width()).and(&r.octave);
    let fraction = n.value_fraction + COMPLEMENT_GUARD_BITS;
    let rounded = from_fixed(fmt, &W::zero(1), &magnitude, fraction as i32, &right).named("rounded");
    negative.not().and(&t.all()).select(x, &rounded)
}

/// `log2(1 + 2^-|x|)` rounded to the format: the log-sum-exp's table as a unit, for x in (-inf, 0].
pub fn log2p1_unit<W: Word>(n: &ExpNumerics, fmt: Format, x: &W) -> W {
    rounded_tail(n, &n.log2p1, fmt, &octaves(n, &float_argument(n, fmt, x)))
}

/// `ln(x) = E ln 2 + ln M` rounded to the format, for x in (0, 1]; never positive. Zero and negative x count as
/// the smallest positive number, x > 1 as 1.
pub fn ln_unit<W: Word>(n: &ExpNumerics, fmt: Format, x: &W) -> W {
    let magnitude = x.slice(0, fmt.width() - 1);
    let unusable = x.msb().or(&magnitude.any().not()).named("not_positive");
    let smallest = W::constant(fmt.width() - 1, fmt.min_positive());
    let operand = W::zero(1).concat(&unusable.select(&smallest, &magnitude)).named("operand");
    let one_or_more = operand.at_least(fmt.one()).named("one_or_more");
    let (exponent, significand) = normalised(fmt, &operand);
    // f = M - 1, truncated to B bits.
    let b = n.value_fraction;
    let f_bits = fmt.fraction_bits;
    let fraction = significand.slice(0, f_bits);
    let f = if f_bits <= b { fraction.append_zeros(b - f_bits) } else { fraction.drop_low(f_bits - b) };
    let f = f.named("m_fraction");
    let table = &n.ln;
    let ln_m = evaluate(table, &f.drop_low(table.offset_bits), &f.slice(0, table.offset_bits)).named("ln_m");
    // -E = bias - exponent is positive below 1.
    let wide = exponent.width();
    let octaves = W::constant(wide, fmt.bias as u64).sub(&exponent).named("octaves_below_one");
    let ln2 = W::constant(bits_for(n.ln2), n.ln2);
    let product = octaves.mul(&ln2).named("octaves_ln2");
    let bits = product.width().max(ln_m.width()) + 1;
    let difference = product.zext(bits).sub(&ln_m.zext(bits)).named("difference");
    let zero = one_or_more.or(&difference.msb());
    let result = from_fixed(fmt, &W::constant(1, 1), &difference, b as i32, &W::zero(1)).named("rounded");
    let vanishes = zero.or(&difference.any().not());
    vanishes.select(&W::zero(fmt.width()), &result)
}

/// `1 / x` rounded to the format; for zero the largest finite number, with the zero's sign.
pub fn reciprocal_unit<W: Word>(n: &ReciprocalNumerics, fmt: Format, x: &W) -> W {
    let (exponent, significand) = normalised(fmt, x);
    let vr = n.table.value_fraction;
    let m = significand.append_zeros(vr - fmt.fraction_bits).named("m");
    let r = reciprocal(n, &m).named("reciprocal");
    // r 2^-E with r in (1/2, 1]: the top bit of r is at 2^0.
    let high = r.msb();
    let normal = high.select(&r, &r.slice(0, vr).append_zeros(1)).named("normalised");
    let wide = exponent.width() + 1;
    let twice_bias = W::constant(wide, 2 * fmt.bias as u64);
    let e = twice_bias.sub(&exponent.sext(wide)).sub(&high.not().zext(wide)).named("exponent");
    let unrounded = Unrounded::new(x.msb(), e, normal);
    let result = round_pack(fmt, &unrounded).named("rounded");
    let nonzero = x.slice(0, fmt.width() - 1).any();
    nonzero.select(&result, &x.msb().concat(&W::constant(fmt.width() - 1, fmt.max_finite())))
}

/// The paper's sigmoid: x clamped to [-6, 11), PWL over that range, rounded to the format.
pub fn paper_sigmoid_unit<W: Word>(n: &ExpNumerics, fmt: Format, x: &W) -> W {
    let table = &n.paper_sigmoid;
    let b = n.value_fraction;
    let t = float_argument(n, fmt, x);
    let bits = t.width() + 2;
    let magnitude = t.zext(bits).named("x_magnitude");
    let fixed = x.msb().select(&magnitude.negate(), &magnitude).named("x_fixed");
    let z = fixed.add(&W::constant(bits, 6 << b)).named("x_plus_6");
    let last = (17u64 << b) - 1;
    let above = W::constant(bits, last).slt(&z).named("above_range");
    let z = above.select(&W::constant(bits, last), &z).named("x_plus_6_clamped");
    let z = z.msb().not().repeat(bits).and(&z).named("z");
    let index_bits = bits_for(table.cells as u64 - 1);
    let entry = z.slice(table.offset_bits, index_bits);
    let value = evaluate(table, &entry, &z.slice(0, table.offset_bits)).named("sigmoid_value");
    from_fixed(fmt, &W::zero(1), &value, b as i32, &W::zero(1))
}

/// The paper unit's smallest and largest weight (encodings): the ends of [`paper_sigmoid_unit`]'s range.
pub fn paper_weight_limits(n: &ExpNumerics, fmt: Format) -> (u64, u64) {
    use crate::word::Num;
    let end = |sign: u64| {
        let far = Num::new(fmt.width(), sign | fmt.max_finite());
        paper_sigmoid_unit(n, fmt, &far).value()
    };
    (end(fmt.sign_bit()), end(0))
}

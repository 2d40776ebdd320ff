//! The integers of the contract: roundings, tables and significands, written directly from their definitions.

use crate::common::Dyadic;
use flashd_spec::format::Format;
use flashd_spec::pwl::Table;

/// `x 2^-places`, rounded half up.
pub fn round_half_up(x: i128, places: i32) -> i128 {
    match places {
        ..=0 => x << -places,
        120.. => 0,
        _ => (x + (1 << (places - 1))) >> places,
    }
}

/// `floor(x 2^exponent)` and the bit below it, for `x >= 0`.
pub fn floor_and_bit(x: i128, exponent: i32) -> (i128, i128) {
    match exponent {
        0.. => (x << exponent, 0),
        ..-120 => (0, 0),
        _ => (x >> -exponent, (x >> (-exponent - 1)) & 1),
    }
}

/// The value of a table at octave k and fraction f.
pub fn look_up(table: &Table, k: u64, f: u64) -> i128 {
    let octave = k.min(u64::from(table.octaves) - 1) * u64::from(table.cells);
    let entry = octave + (f >> table.offset_bits);
    table.eval(entry as usize, f & ((1 << table.offset_bits) - 1)) as i128
}

/// A value of `width` bits, times `2^-k`, as a factor `(m, right)` with a significand of `wm` bits.
pub fn significand(value: i128, width: u32, k: i128, wm: u32) -> (i128, i128) {
    let mut zeros = (0..width).rev().take_while(|&bit| value >> bit & 1 == 0).count() as i128;
    let mut m = round_half_up(value << zeros, width as i32 - wm as i32);
    if m == 1 << wm {
        (m, zeros) = (1 << (wm - 1), zeros - 1);
    }
    assert!(k + zeros >= 0 && m >> (wm - 1) == 1);
    (m, k + zeros)
}

/// `floor(x 2^left)`.
pub fn round_down(x: i128, left: i32) -> i128 {
    if left >= 0 { x << left } else { x >> -left }
}

/// Sign, significand and exponent field of a number as the lanes read it.
pub fn fields(format: Format, bits: u64) -> (i128, i128, i128) {
    let Dyadic { mantissa, exponent } = Dyadic::of(format, bits);
    // Inf and NaN are zeros in all fields.
    let field = if mantissa == 0 { 1 } else { exponent + format.bias + format.fraction_bits as i32 };
    (mantissa.signum(), mantissa.abs(), field.into())
}

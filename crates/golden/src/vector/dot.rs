//! Dot products of a block of queries with a tile of keys.
//!
//! The fast form is that of [`crate::dot`]'s fused unit in f32, several keys at a time; the others are that
//! module's own units, key by key.

use super::TILE;
use super::isa::{Isa, Kernel};
use super::operands::{Convert, Decoder, Extent, convert};
use crate::carrier::{Carrier, Carriers, Constants, Integer};
use crate::dot::{
    BLOCK, Block, BlockDot, DotUnit, dot_unit, exponent, sums_fit_i32, term_limits, term_shift, transpose,
};
use crate::round::{decode, pow2};
use flashd_hwmodel::config::Dot;
use flashd_hwmodel::numerics::Numerics;
use std::ops::Range;

/// What a dot product unit gives for each key of a tile.
pub(crate) struct Dots {
    /// Of the fused unit in f32: sums of terms.
    pub(crate) sums: [Block<i32>; TILE],
    /// Of the others, as [`BlockDot::dots`] gives them.
    pub(crate) values: [Block<f64>; TILE],
    /// Which of the two.
    pub(crate) integers: bool,
}

impl Dots {
    pub(crate) fn new() -> Box<Dots> {
        Box::new(Dots { sums: [[0; BLOCK]; TILE], values: [[0.0; BLOCK]; TILE], integers: false })
    }

    /// The results of one key, as [`BlockDot::dots`] gives them.
    #[inline(always)]
    pub(crate) fn values(&self, place: usize) -> Block<f64> {
        if self.integers { self.sums[place].map(f64::from) } else { self.values[place] }
    }
}

/// The unit with all keys of a run.
pub(crate) enum Unit {
    /// Fused, in f32.
    Narrow {
        decoder: Decoder,
        d: usize,
        /// Next to `k 2^shift`, away from zero, see [`crate::dot`].
        k: Vec<f32>,
    },
    /// Any other.
    Other(Box<dyn DotUnit>),
}

impl Unit {
    /// The unit; the extents are those of the queries and keys.
    pub(crate) fn new(
        isa: Isa,
        n: &Numerics,
        d: usize,
        [q, k]: [&[u64]; 2],
        [q_extent, k_extent]: [Extent; 2],
    ) -> Unit {
        let decoder = Decoder::new(n.format).filter(|_| fits_narrow(n, d, q_extent, k_extent));
        if let (Some(decoder), Dot::Fused) = (decoder, n.dot) {
            let k = convert(isa, k, &Scaled { decoder, scale: pow2(term_shift(n)) as f32 });
            return Unit::Narrow { decoder, d, k };
        }
        Unit::Other(dot_unit(n, d, q, k, Carriers::Fastest))
    }

    /// The unit with the queries of a block.
    pub(crate) fn block<'a>(&'a self, queries: &[u64]) -> BlockUnit<'a> {
        match self {
            Unit::Narrow { decoder, d, k } => {
                let queries = transpose(*d, queries, |q| decoder.of(q));
                BlockUnit::Narrow { d: *d, k, queries }
            }
            Unit::Other(unit) => BlockUnit::Other(unit.block(queries)),
        }
    }
}

/// Next to `k 2^shift`, away from zero.
struct Scaled {
    decoder: Decoder,
    scale: f32,
}

impl Convert for Scaled {
    type Number = f32;

    #[inline(always)]
    fn of(&self, bits: u64) -> f32 {
        (self.decoder.of(bits) * self.scale).away()
    }
}

/// Whether no term saturates, f32 has every operand and term, and i32 every sum: what [`crate::dot`] finds out number
/// by number, from the largest and smallest magnitudes.
fn fits_narrow(n: &Numerics, d: usize, q: Extent, k: Extent) -> bool {
    let value = |bits| decode(n.format, bits);
    let scale = pow2(term_shift(n));
    let (limit, top) = term_limits(n);
    let term = value(q.largest) * value(k.largest) * scale;
    let holds = |x: f64| (f64::from(f32::MIN_POSITIVE)..=f32::MAX.into()).contains(&x);
    2 * n.format.precision() + 2 <= f32::PRECISION
        && term < limit
        && exponent(n.format, q.largest) + exponent(n.format, k.largest) <= top
        && sums_fit_i32(term, d)
        && holds(scale)
        && (k.largest == 0 || holds(value(k.smallest) * scale) && holds(value(k.largest) * scale))
}

/// The unit with the queries of a block.
pub(crate) enum BlockUnit<'a> {
    Narrow { d: usize, k: &'a [f32], queries: Vec<Block<f32>> },
    Other(Box<dyn BlockDot + 'a>),
}

impl BlockUnit<'_> {
    /// The results for a range of at most [`TILE`] keys.
    pub(crate) fn tile(&mut self, isa: Isa, keys: Range<usize>, dots: &mut Dots) {
        match self {
            BlockUnit::Narrow { d, k, queries } => {
                dots.integers = true;
                let k = &k[keys.start * *d..keys.end * *d];
                isa.run(Fused { d: *d, k, queries, sums: &mut dots.sums[..keys.len()] });
            }
            BlockUnit::Other(unit) => {
                dots.integers = false;
                for (dots, key) in dots.values.iter_mut().zip(keys) {
                    *dots = unit.dots(key);
                }
            }
        }
    }
}

/// Keys whose sums are formed together: a query is then loaded once for all of them.
const TOGETHER: usize = 8;

struct Fused<'a> {
    d: usize,
    k: &'a [f32],
    queries: &'a [Block<f32>],
    sums: &'a mut [Block<i32>],
}

impl Fused<'_> {
    #[inline(always)]
    fn together<const KEYS: usize, const FMA: bool>(
        d: usize,
        k: &[f32],
        queries: &[Block<f32>],
        sums: &mut [Block<i32>],
    ) {
        let mut rows = [&k[..0]; KEYS];
        for (i, row) in rows.iter_mut().enumerate() {
            *row = &k[i * d..(i + 1) * d];
        }
        let mut partial = [[0i32; BLOCK]; KEYS];
        for (j, query) in queries.iter().enumerate().take(d) {
            for (sum, row) in partial.iter_mut().zip(&rows) {
                let k = row[j];
                for (sum, &q) in sum.iter_mut().zip(query) {
                    // The product is exact before it is rounded to an integer, or close enough above that (see
                    // `crate::dot`): either gives the same integer.
                    let term = if FMA { q.mul_add(k, f32::INTEGERS) } else { q * k + f32::INTEGERS };
                    *sum = sum.wrapping_add(term.to_bits() as i32);
                }
            }
        }
        let bias = f32::INTEGER_BIAS.wrapping_times(d);
        for (sums, partial) in sums.iter_mut().zip(partial) {
            *sums = partial.map(|sum| sum.wrapping_sub(bias));
        }
    }
}

impl Kernel for Fused<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Fused { d, k, queries, sums } = self;
        let mut rest = sums.len();
        let mut at = 0;
        while rest >= TOGETHER {
            Self::together::<TOGETHER, FMA>(d, &k[at * d..], queries, &mut sums[at..]);
            (at, rest) = (at + TOGETHER, rest - TOGETHER);
        }
        while rest > 0 {
            Self::together::<1, FMA>(d, &k[at * d..], queries, &mut sums[at..]);
            (at, rest) = (at + 1, rest - 1);
        }
    }
}

//! Dot products of a block of queries with a tile of keys.
//!
//! The fast unit is [`crate::dot`]'s fused unit in f32, several keys at a time. All others come from that module as
//! they are, key by key.

use super::TILE;
use super::layout::VectorLayout;
use super::operands::{Convert, Decoder, Extent, convert, convert_rows};
use crate::block::{BLOCK, Block, BlockDot, DotUnit, transpose};
use crate::carrier::{Carrier, Carriers, Constants, Integer};
use crate::dot::{dot_unit, exponent, sums_fit_i32, term_limits};
use crate::operand::OperandVectors;
use crate::recurrence::KeyScore;
use crate::round::{decode, pow2};
use crate::rows::tail_words;
use flashd_spec::isa::{Isa, Kernel};
use flashd_spec::numerics::Numerics;
use std::ops::Range;

/// Dot products, or their sums of terms, and biases of a tile.
pub(crate) struct Dots {
    /// Sums of terms, from the fused unit in f32.
    pub(crate) sums: [Block<i32>; TILE],
    /// What any other unit returns, see [`BlockDot::dots`].
    pub(crate) values: [Block<f64>; TILE],
    /// The results are in `sums`, otherwise in `values`.
    pub(crate) integers: bool,
    /// Biases in base 2 with FS fraction bits; zeros unless `biased`.
    pub(crate) biases: [Block<i64>; TILE],
    pub(crate) biased: bool,
}

impl Dots {
    pub(crate) fn new() -> Box<Dots> {
        Box::new(Dots {
            sums: [[0; BLOCK]; TILE],
            values: [[0.0; BLOCK]; TILE],
            integers: false,
            biases: [[0; BLOCK]; TILE],
            biased: false,
        })
    }

    /// Dot product and bias of the key at `place` in the tile, for one query.
    #[inline(always)]
    pub(crate) fn score(&self, place: usize, query: usize) -> KeyScore {
        let (sum, value) = (self.sums[place][query], self.values[place][query]);
        let dot = if self.integers { f64::from(sum) } else { value };
        KeyScore { dot, bias: self.biases[place][query] }
    }
}

/// A dot product unit with all keys of a run.
pub(crate) enum Unit<'a> {
    /// Fused, with terms in f32 and sums in i32.
    Narrow {
        /// Decodes queries.
        decoder: Decoder,
        d: usize,
        scaled: Scaled,
        /// Encodings of the keys.
        k: OperandVectors<'a>,
        /// The keys as [`Scaled`] converts them; empty where blocks convert them.
        all: Vec<f32>,
    },
    /// Any other unit.
    Other(Box<dyn DotUnit>),
    /// Any other unit, made for one tile after another: keys that are made on demand are not kept.
    Tiles(Tiles<'a>),
}

/// Operands of the units that are made for tiles.
#[derive(Clone, Copy)]
pub(crate) struct Tiles<'a> {
    n: &'a Numerics,
    d: usize,
    k: OperandVectors<'a>,
}

impl<'a> Unit<'a> {
    /// The unit for d elements. `q_extent` and `k_extent` are the extents of all queries and keys. `by_tile`: blocks
    /// convert the keys.
    pub(crate) fn new(
        isa: Isa,
        n: &'a Numerics,
        d: usize,
        (q, k): (&[u64], OperandVectors<'a>),
        [q_extent, k_extent]: [Extent; 2],
        by_tile: bool,
    ) -> Unit<'a> {
        let decoders = [n.formats.q, n.formats.k].map(Decoder::new);
        let narrow = !n.rounded_dot && tail_words(n) == 0 && fits_narrow(n, d, q_extent, k_extent);
        if let ([Some(decoder), Some(keys)], true) = (decoders, narrow) {
            let scaled = Scaled { decoder: keys, scale: pow2(n.term_shift()) as f32 };
            let all = if by_tile { Vec::new() } else { convert_rows(isa, k, d, &scaled) };
            return Unit::Narrow { decoder, d, scaled, k, all };
        }
        match k {
            OperandVectors::Source { .. } if by_tile => Unit::Tiles(Tiles { n, d, k }),
            _ => Unit::Other(dot_unit(n, d, q, &k.whole(), Carriers::Fastest)),
        }
    }

    /// The unit with the queries of a block.
    pub(crate) fn block<'b>(&'b self, queries: &[u64], layout: VectorLayout) -> BlockUnit<'b> {
        match self {
            Unit::Narrow { decoder, d, scaled, k, all } => {
                let queries = match layout {
                    VectorLayout::Queries => BlockQueries::Several(transpose(*d, queries, |q| decoder.of(q))),
                    VectorLayout::Elements => {
                        BlockQueries::One(queries.iter().map(|&q| decoder.of(q)).collect())
                    }
                };
                let tile = if all.is_empty() { vec![0.0; TILE * d] } else { Vec::new() };
                BlockUnit::Narrow { d: *d, scaled, k: *k, all, tile, words: Vec::new(), queries }
            }
            Unit::Other(unit) => BlockUnit::Other(unit.block(queries)),
            Unit::Tiles(of) => BlockUnit::Tiles { of: *of, queries: queries.to_vec(), words: Vec::new() },
        }
    }
}

/// Converts a key's element to the next number beyond `k 2^shift`, away from zero; see [`crate::dot`].
pub(crate) struct Scaled {
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

/// Whether no product is too large, f32 holds every operand and term, and i32 holds every sum. [`crate::dot`] checks every
/// number; this checks the largest and smallest magnitudes.
fn fits_narrow(n: &Numerics, d: usize, q: Extent, k: Extent) -> bool {
    let (q_format, k_format) = (n.formats.q, n.formats.k);
    let scale = pow2(n.term_shift());
    let (limit, top) = term_limits(n);
    let term = decode(q_format, q.largest) * decode(k_format, k.largest) * scale;
    let holds = |x: f64| (f64::from(f32::MIN_POSITIVE)..=f32::MAX.into()).contains(&x);
    q_format.precision() + k_format.precision() + 2 <= f32::PRECISION
        && term < limit
        && exponent(q_format, q.largest) + exponent(k_format, k.largest) <= top
        && sums_fit_i32(term, d)
        && holds(scale)
        && (k.largest == 0 || [k.smallest, k.largest].iter().all(|&k| holds(decode(k_format, k) * scale)))
}

/// The unit with the queries of a block.
pub(crate) enum BlockUnit<'a> {
    Narrow {
        d: usize,
        scaled: &'a Scaled,
        k: OperandVectors<'a>,
        all: &'a [f32],
        /// The converted keys of a tile; empty if `all` has them.
        tile: Vec<f32>,
        /// The encodings of a tile, if they are made on demand.
        words: Vec<u64>,
        queries: BlockQueries,
    },
    Other(Box<dyn BlockDot + 'a>),
    Tiles {
        of: Tiles<'a>,
        queries: Vec<u64>,
        words: Vec<u64>,
    },
}

/// The queries of a block.
pub(crate) enum BlockQueries {
    /// One vector for each element j, with element j of every query.
    Several(Vec<Block<f32>>),
    /// The elements of the only query.
    One(Vec<f32>),
}

impl BlockUnit<'_> {
    /// Computes the results for a range of at most [`TILE`] keys.
    pub(crate) fn tile(&mut self, isa: Isa, keys: Range<usize>, dots: &mut Dots) {
        match self {
            BlockUnit::Narrow { d, scaled, k, all, tile, words, queries } => {
                dots.integers = true;
                let (d, sums) = (*d, &mut dots.sums[..keys.len()]);
                let elements = keys.start * d..keys.end * d;
                let k = if tile.is_empty() {
                    &all[elements]
                } else {
                    let tile = &mut tile[..elements.len()];
                    convert(isa, k.rows(d, keys.clone(), words), *scaled, tile);
                    &*tile
                };
                match queries {
                    BlockQueries::Several(queries) => isa.run(FusedDots { d, k, queries, sums }),
                    BlockQueries::One(query) => isa.run(FusedOne { d, k, query, sums }),
                }
            }
            BlockUnit::Other(unit) => {
                dots.integers = false;
                for (dots, key) in dots.values.iter_mut().zip(keys) {
                    *dots = unit.dots(key);
                }
            }
            BlockUnit::Tiles { of: Tiles { n, d, k }, queries, words } => {
                dots.integers = false;
                let k = k.rows(*d + tail_words(n), keys.clone(), words);
                let unit = dot_unit(n, *d, queries, k, Carriers::Fastest);
                let mut unit = unit.block(queries);
                for (dots, place) in dots.values.iter_mut().zip(0..keys.len()) {
                    *dots = unit.dots(place);
                }
            }
        }
    }
}

/// Keys whose sums are formed together, so that an element of the queries is loaded once for all of them. With AVX2 the sums of eight do
/// not fit its registers, and the compiler made scalar code of them, half as fast in all; with AVX-512 eight are no faster.
const TOGETHER: usize = 4;

/// `q k` rounded to an integer, plus [`Carrier::INTEGER_BIAS`].
#[inline(always)]
fn term<const FMA: bool>(q: f32, k: f32) -> i32 {
    // Without FMA the product is rounded first. It may be slightly above the exact one (see `crate::dot`), and rounds
    // to the same integer.
    let sum = if FMA { q.mul_add(k, f32::INTEGERS) } else { q * k + f32::INTEGERS };
    sum.to_bits() as i32
}

struct FusedDots<'a> {
    d: usize,
    k: &'a [f32],
    queries: &'a [Block<f32>],
    sums: &'a mut [Block<i32>],
}

impl FusedDots<'_> {
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
                    *sum = sum.wrapping_add(term::<FMA>(q, k));
                }
            }
        }
        let bias = f32::INTEGER_BIAS.wrapping_times(d);
        for (sums, partial) in sums.iter_mut().zip(partial) {
            *sums = partial.map(|sum| sum.wrapping_sub(bias));
        }
    }
}

impl Kernel for FusedDots<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let FusedDots { d, k, queries, sums } = self;
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

/// Dot products of the only query: the lanes hold its elements, and their sum goes to lane 0.
struct FusedOne<'a> {
    d: usize,
    k: &'a [f32],
    query: &'a [f32],
    sums: &'a mut [Block<i32>],
}

impl Kernel for FusedOne<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let FusedOne { d, k, query, sums } = self;
        let bias = f32::INTEGER_BIAS.wrapping_times(d);
        for (sums, k) in sums.iter_mut().zip(k.chunks_exact(d)) {
            let mut partial = [0i32; BLOCK];
            for (q, k) in query.chunks_exact(BLOCK).zip(k.chunks_exact(BLOCK)) {
                for i in 0..BLOCK {
                    partial[i] = partial[i].wrapping_add(term::<FMA>(q[i], k[i]));
                }
            }
            sums[0] = partial.iter().fold(0i32, |sum, &part| sum.wrapping_add(part)).wrapping_sub(bias);
        }
    }
}

//! Dot products of a block of queries, key by key.
//!
//! **Fused.** A term of the sum is `q k 2^shift`, rounded to an integer, half away from zero. In floats, the
//! carrier multiplies q by the next number beyond `k 2^shift`. That product exceeds the exact one by one or two
//! ulps: too little to reach a midpoint (products are at least two bits shorter than the carrier), but enough to
//! lift a tie above it. So the nearest integer is the term, and sums of integers of the carrier's width are exact.

use crate::base2::round_half_up;
use crate::block::{BLOCK, Block, BlockDot, DotUnit, transpose};
use crate::carrier::{Carrier, Carriers, Integer};
use crate::round::{Rounder, biased_exponent, decode, pow2};
use crate::scaled::{ScaledUnit, SignificandsUnit};
use flashd_spec::format::{Format, Formats, Subnormals};
use flashd_spec::numerics::Numerics;

/// The core's dot product unit, with the keys of a run.
pub(crate) fn dot_unit(n: &Numerics, d: usize, q: &[u64], k: &[u64], carriers: Carriers) -> Box<dyn DotUnit> {
    if n.is_exact() {
        return Box::new(ScaledUnit::new(n, d, k));
    }
    if n.has_significands() {
        let unit = |q: &[u64], k: &[u64]| sums_unit(n, d, q, k, carriers);
        return Box::new(SignificandsUnit::new(n, d, [q, k], unit));
    }
    sums_unit(n, d, q, k, carriers)
}

/// The unit for operands without scales.
fn sums_unit(n: &Numerics, d: usize, q: &[u64], k: &[u64], carriers: Carriers) -> Box<dyn DotUnit> {
    let (formats, fastest) = (n.formats, carriers == Carriers::Fastest);
    // The tree takes both operands in one format.
    let format = formats.q;
    let narrow = formats.q.precision() + formats.k.precision() + 2 <= f32::PRECISION;
    if n.rounded_dot {
        return match (fastest && narrow, format.subnormals) {
            (true, Subnormals::Flushed) => Box::new(Tree::<f32, true>::new(format, d, k)),
            (true, Subnormals::Supported) => Box::new(Tree::<f32, false>::new(format, d, k)),
            (false, Subnormals::Flushed) => Box::new(Tree::<f64, true>::new(format, d, k)),
            (false, Subnormals::Supported) => Box::new(Tree::<f64, false>::new(format, d, k)),
        };
    }
    let terms = Terms::new(n, d, q, k);
    if !terms.fit {
        Box::new(Large::new(n, terms, k))
    } else if fastest && narrow && terms.fit_f32(q) {
        Box::new(Fused::<f32>::new(terms))
    } else {
        Box::new(Fused::<f64>::new(terms))
    }
}

/// Limits of terms: a product is too large if it reaches the first number, or if its operands' exponent fields add up to more
/// than the second.
pub(crate) fn term_limits(n: &Numerics) -> (f64, f64) {
    (pow2(n.term_bits() as i32 - 1), n.term_top(n.term_spare()).into())
}

/// Magnitude of a sum with a product that is too large. It is beyond every score, as are the sums that are cut to it, and f64
/// holds every sum below it.
const BEYOND: i64 = 1 << 52;

/// Whether f32 holds every term up to `largest`, and i32 every sum of d terms.
pub(crate) fn sums_fit_i32(largest: f64, d: usize) -> bool {
    largest < pow2(21) && (largest + 1.0) * (d as f64) < pow2(31)
}

/// The fused unit's keys, and the range of its terms.
struct Terms {
    formats: Formats,
    d: usize,
    /// `k 2^shift`.
    k: Vec<f64>,
    /// Upper bound of a term's magnitude, before rounding.
    largest: f64,
    /// See [`term_limits`].
    limit: f64,
    top: f64,
    /// No product is too large.
    fit: bool,
}

impl Terms {
    fn new(n: &Numerics, d: usize, q: &[u64], k: &[u64]) -> Self {
        let (formats, shift) = (n.formats, n.term_shift());
        let scaled = |format: Format, x: &[u64], scale: f64| -> Vec<f64> {
            x.iter().map(|&x| decode(format, x) * scale).collect()
        };
        let largest = |x: &[f64]| x.iter().fold(0f64, |m, x| m.max(x.abs()));
        let exponent =
            |format: Format, x: &[u64]| x.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(exponent(format, x)));
        let (limit, top) = term_limits(n);
        let k_scaled = scaled(formats.k, k, pow2(shift));
        let term = largest(&scaled(formats.q, q, 1.0)) * largest(&k_scaled);
        let fit = term < limit && exponent(formats.q, q) + exponent(formats.k, k) <= top;
        Terms { formats, d, k: k_scaled, largest: term, limit, top, fit }
    }

    /// Whether f32 holds every factor, and i32 every sum. Scales take elements beyond f32's exponents.
    fn fit_f32(&self, q: &[u64]) -> bool {
        let exact = |x: f64| x == 0.0 || x.abs() >= pow2(-126) && f64::from(x as f32) == x;
        let queries = || q.iter().all(|&q| exact(decode(self.formats.q, q)));
        sums_fit_i32(self.largest, self.d) && self.k.iter().all(|&k| exact(k)) && queries()
    }
}

/// Exponent field of an encoding: 1 for a subnormal, minus infinity for zero.
pub(crate) fn exponent(format: Format, bits: u64) -> f64 {
    match decode(format, bits) {
        0.0 => f64::NEG_INFINITY,
        _ => biased_exponent(format, bits) as f64,
    }
}

/// Products and an adder tree; every result is rounded to the format.
struct Tree<C, const FLUSH: bool> {
    format: Format,
    d: usize,
    rounder: Rounder<C>,
    k: Vec<C>,
}

impl<C: Carrier, const FLUSH: bool> Tree<C, FLUSH> {
    fn new(format: Format, d: usize, k: &[u64]) -> Self {
        let k = k.iter().map(|&k| C::from_f64(decode(format, k))).collect();
        Tree { format, d, rounder: Rounder::new(format), k }
    }
}

impl<C: Carrier, const FLUSH: bool> DotUnit for Tree<C, FLUSH> {
    fn block<'a>(&'a self, queries: &[u64]) -> Box<dyn BlockDot + 'a> {
        let queries = transpose(self.d, queries, |q| C::from_f64(decode(self.format, q)));
        Box::new(TreeBlock { unit: self, work: queries.clone(), queries })
    }
}

struct TreeBlock<'a, C, const FLUSH: bool> {
    unit: &'a Tree<C, FLUSH>,
    queries: Vec<Block<C>>,
    work: Vec<Block<C>>,
}

impl<C: Carrier, const FLUSH: bool> BlockDot for TreeBlock<'_, C, FLUSH> {
    fn dots(&mut self, key: usize) -> Block<f64> {
        let Tree { d, rounder, k, .. } = self.unit;
        let work = &mut self.work;
        for ((product, query), &k) in work.iter_mut().zip(&self.queries).zip(&k[key * d..]) {
            for (p, &q) in product.iter_mut().zip(query) {
                *p = rounder.round_as::<FLUSH>(q * k);
            }
        }
        let mut width = *d;
        while width > 1 {
            for i in 0..width / 2 {
                let (left, right) = (work[2 * i], work[2 * i + 1]);
                for (y, (a, b)) in work[i].iter_mut().zip(left.into_iter().zip(right)) {
                    *y = rounder.round_as::<FLUSH>(a + b);
                }
            }
            if width % 2 == 1 {
                work[width / 2] = work[width - 1];
            }
            width = width.div_ceil(2);
        }
        work[0].map(Carrier::to_f64)
    }
}

/// The exact sum of integer terms, no product being too large.
struct Fused<C> {
    /// Format of the queries.
    format: Format,
    d: usize,
    /// The next number beyond `k 2^shift`, see the module's documentation.
    k: Vec<C>,
}

impl<C: Carrier> Fused<C> {
    fn new(terms: Terms) -> Self {
        let k = terms.k.iter().map(|&k| C::from_f64(k).away()).collect();
        Fused { format: terms.formats.q, d: terms.d, k }
    }
}

impl<C: Carrier> DotUnit for Fused<C> {
    fn block<'a>(&'a self, queries: &[u64]) -> Box<dyn BlockDot + 'a> {
        let queries = transpose(self.d, queries, |q| C::from_f64(decode(self.format, q)));
        Box::new(FusedBlock { unit: self, queries })
    }
}

struct FusedBlock<'a, C> {
    unit: &'a Fused<C>,
    queries: Vec<Block<C>>,
}

impl<C: Carrier> BlockDot for FusedBlock<'_, C> {
    fn dots(&mut self, key: usize) -> Block<f64> {
        let Fused { d, k, .. } = self.unit;
        let mut sums = [C::Integer::default(); BLOCK];
        for (query, &k) in self.queries.iter().zip(&k[key * d..]) {
            for (sum, &q) in sums.iter_mut().zip(query) {
                *sum = sum.wrapping_add((q * k).biased_integer());
            }
        }
        let bias = C::INTEGER_BIAS.wrapping_times(*d);
        sums.map(|sum| {
            let sum: i64 = sum.wrapping_sub(bias).into();
            sum.clamp(-BEYOND, BEYOND) as f64
        })
    }
}

/// The exact sum of integer terms, of which some products may be too large. Their sum is then beyond every score, with the sign
/// that the hardware gives it: a term keeps the product's lower bits, and its highest bit is set.
struct Large {
    terms: Terms,
    /// Exponent fields of the keys.
    exponents: Vec<f64>,
    /// Bits of a term's magnitude.
    bits: u32,
    guard: i32,
}

impl Large {
    fn new(n: &Numerics, terms: Terms, k: &[u64]) -> Self {
        let exponents = k.iter().map(|&k| exponent(terms.formats.k, k)).collect();
        Large { terms, exponents, bits: n.term_bits() - 1, guard: n.dot_guard as i32 }
    }

    /// The term of an exact product that is too large. `excess`: the sum of the exponent fields minus its limit.
    fn term(&self, product: f64, excess: f64) -> i64 {
        // A product with too large an exponent stays at the top of the shifter.
        let placed = product.abs() * pow2(-(excess.max(0.0) as i32));
        let halves = (2.0 * placed) as u128;
        let highest = 1 << (self.bits - 1);
        let magnitude = (halves >> 1) as i64 & (2 * highest - 1) | highest;
        let rounded = magnitude + (halves & 1) as i64;
        if product < 0.0 { -rounded } else { rounded }
    }
}

impl DotUnit for Large {
    fn block<'a>(&'a self, queries: &[u64]) -> Box<dyn BlockDot + 'a> {
        let Terms { formats: Formats { q: format, .. }, d, .. } = self.terms;
        let queries = transpose(d, queries, |q| (decode(format, q), exponent(format, q)));
        Box::new(LargeBlock { unit: self, queries })
    }
}

struct LargeBlock<'a> {
    unit: &'a Large,
    /// Values and exponent fields.
    queries: Vec<Block<(f64, f64)>>,
}

impl BlockDot for LargeBlock<'_> {
    fn dots(&mut self, key: usize) -> Block<f64> {
        let Large { terms: Terms { d, k, limit, top, .. }, exponents, guard, .. } = self.unit;
        let row = key * d..(key + 1) * d;
        let (mut sums, mut large) = ([0i64; BLOCK], [false; BLOCK]);
        for (query, (&k, &e)) in self.queries.iter().zip(k[row.clone()].iter().zip(&exponents[row])) {
            for (i, &(q, exponent)) in query.iter().enumerate() {
                let (product, excess) = (q * k, exponent + e - top);
                let is_large = product.abs() >= *limit || excess > 0.0;
                large[i] |= is_large;
                sums[i] += match is_large {
                    true => self.unit.term(product, excess),
                    false => (q * k.away()).nearest_integer(),
                };
            }
        }
        let mut dots = [0.0; BLOCK];
        for (dot, (sum, large)) in dots.iter_mut().zip(sums.into_iter().zip(large)) {
            let beyond = if round_half_up(sum, *guard) < 0 { -BEYOND } else { BEYOND };
            *dot = if large { beyond } else { sum.clamp(-BEYOND, BEYOND) } as f64;
        }
        dots
    }
}

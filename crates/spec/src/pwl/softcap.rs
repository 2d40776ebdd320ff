//! The soft cap of scores, `c tanh(s / c)`, as a piecewise-linear table in base 2.
//!
//! ```text
//!  |s|          0 ........ 2^b ........ 2^(b+1) ........ 2^(b+2) ..       b: the power of two nearest to the cap
//!  range        0           1              2                3
//!  cells        n of one width, n of the same, n of twice the width, ...
//! ```
//!
//! The leading bits of `|s|` select a range, the bits after them a cell. Near the cap tanh bends most; there cells are `2^b / n` wide, which leaves an error of
//! about `2^b / (21 n^2)`. n is the least power of two from 2 on for which that is at most half the score's last place, but no more
//! than `2^MOST_CELL_BITS`. Beyond, tanh bends less and less. Within a range `y = c0[cell] + floor(c1[cell] dx / 2^F)`, where dx is the F bits below the cell's
//! index. F is the same in every range.

use super::{LOG2E, LOG2E_FRACTION};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Tabulated ranges beyond the first. From `2^(b+4)`, at least eleven times the cap, tanh is within one last place of 1.
const RANGES: u32 = 4;
/// Fraction bits of the values below the score's last place.
pub const GUARD_BITS: u32 = 2;
/// Errors are examined at all magnitudes of this many bits.
const EXAMINED_BITS: u32 = 20;

/// Most bits of a cell's index. A table for a large cap and a fine score would have tens of thousands of cells otherwise.
const MOST_CELL_BITS: u32 = 8;

/// A fitted table for scores of a given width.
#[derive(Clone, Debug, PartialEq)]
pub struct Softcap {
    /// The cap c, in natural units.
    pub cap: f64,
    /// Bits of `|s|` in the first range: b plus the score's fraction bits.
    pub first_bits: u32,
    /// Bits of a cell's index in its range.
    pub cell_bits: u32,
    /// Number of ranges.
    pub ranges: u32,
    /// Bits of the score's magnitude.
    pub score_bits: u32,
    /// Fraction bits of the score.
    pub fraction: u32,
    /// The largest result, `c log2(e)` in units of the score's last place.
    pub limit: u64,
    /// Value at the start of each cell, range after range, with [`GUARD_BITS`] below the score's last place. Half of that place is added, so that dropping the
    /// guard bits rounds half up.
    pub c0: Vec<u64>,
    /// Slope of each cell, in units of the value per unit of dx, with [`Softcap::offset_bits`] fraction bits.
    pub c1: Vec<u64>,
}

impl Softcap {
    /// Fits the table of a cap for scores of these widths.
    pub fn new(cap: f64, score_integer: u32, fraction: u32) -> Softcap {
        let base_2 = cap_in_base_2(cap);
        let b = (base_2.log2().round().max(0.0) as u32).min(score_integer);
        let first_bits = b + fraction;
        let cells = (f64::from(b + fraction + 1).exp2() / 21.0).sqrt();
        // Scores have at least 2 fraction bits.
        let cell_bits = (cells.log2().ceil() as u32).clamp(1, MOST_CELL_BITS.min(first_bits - 1));
        let mut table = Softcap {
            cap,
            first_bits,
            cell_bits,
            ranges: 1 + RANGES.min(score_integer - b),
            score_bits: score_integer + fraction,
            fraction,
            limit: (base_2 * (fraction as f64).exp2()).round() as u64,
            c0: Vec::new(),
            c1: Vec::new(),
        };
        for range in 0..table.ranges {
            for cell in 0..1 << cell_bits {
                let (c0, c1) = table.fit(range, cell);
                table.c0.push(c0);
                table.c1.push(c1);
            }
        }
        table
    }

    /// The table of a cap, fitted on first use.
    pub fn get(cap: f64, score_integer: u32, fraction: u32) -> Arc<Softcap> {
        type Cache = Mutex<HashMap<(u64, u32, u32), Arc<Softcap>>>;
        static CACHE: OnceLock<Cache> = OnceLock::new();
        let mut cache = CACHE.get_or_init(Cache::default).lock().unwrap_or_else(PoisonError::into_inner);
        let key = (cap.to_bits(), score_integer, fraction);
        let new = || Arc::new(Softcap::new(cap, score_integer, fraction));
        cache.entry(key).or_insert_with(new).clone()
    }

    /// Bits F of dx.
    pub fn offset_bits(&self) -> u32 {
        self.first_bits - self.cell_bits
    }

    /// Right shift of a range's magnitudes before cell and dx are read.
    pub fn right(range: u32) -> u32 {
        range.saturating_sub(1)
    }

    /// Width of c0.
    pub fn c0_bits(&self) -> u32 {
        bits_for(&self.c0)
    }

    /// Width of c1.
    pub fn c1_bits(&self) -> u32 {
        bits_for(&self.c1)
    }

    /// First magnitude of a cell, and the first beyond it.
    fn cell(&self, range: u32, cell: u64) -> (u64, u64) {
        let start = if range == 0 { 0 } else { 1 << (self.first_bits + range - 1) };
        let width = 1 << (self.offset_bits() + Softcap::right(range));
        (start + cell * width, start + (cell + 1) * width)
    }

    /// Magnitude of the exact result, in units of the score's last place.
    fn exact(&self, magnitude: f64) -> f64 {
        let unit = (self.fraction as f64).exp2();
        let base_2 = cap_in_base_2(self.cap);
        base_2 * (magnitude / unit / base_2).tanh() * unit
    }

    /// Capped magnitude of a score's magnitude, both in units of the score's last place.
    pub fn value(&self, magnitude: u64) -> u64 {
        let range = (64 - magnitude.leading_zeros()).saturating_sub(self.first_bits);
        if range >= self.ranges {
            return self.limit;
        }
        let word = (magnitude >> Softcap::right(range)) & ((1 << self.first_bits) - 1);
        let entry = (u64::from(range) << self.cell_bits) + (word >> self.offset_bits());
        let dx = word & ((1 << self.offset_bits()) - 1);
        let y = self.c0[entry as usize] + ((self.c1[entry as usize] * dx) >> self.offset_bits());
        (y >> GUARD_BITS).min(self.limit)
    }

    /// Largest error against the exact function, and the magnitude where it occurs, both in natural units. Examines all magnitudes, or 2^20 evenly spread ones.
    pub fn max_error(&self) -> (f64, f64) {
        let unit = (self.fraction as f64).exp2() * log2e();
        let error = |m: u64| ((self.value(m) as f64 - self.exact(m as f64)).abs() / unit, m as f64 / unit);
        let every = (self.score_bits.saturating_sub(EXAMINED_BITS)).min(31);
        (0..1u64 << self.score_bits)
            .step_by(1 << every)
            .map(error)
            .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
    }

    /// Fits a cell: the chord's slope (minimax for a concave piece), rounded, and the constant that balances the errors of the integer evaluation, with half of
    /// the score's last place added.
    fn fit(&self, range: u32, cell: u64) -> (u64, u64) {
        let (start, end) = self.cell(range, cell);
        let (offset_bits, guard) = (self.offset_bits(), (GUARD_BITS as f64).exp2());
        let exact = |magnitude: u64| self.exact(magnitude as f64) * guard;
        let chord = (exact(end) - exact(start)) / (1u64 << offset_bits) as f64;
        let c1 = (chord * (offset_bits as f64).exp2()).round() as u64;
        let step = 1u64 << Softcap::right(range);
        let count = 1u64 << offset_bits;
        let missing = (0..count).step_by((count / 1024).max(1) as usize).map(|dx| {
            // Error of a value before rounding, at the middle of the dropped bits.
            let at = start + dx * step + step / 2;
            exact(at) - ((c1 * dx) >> offset_bits) as f64
        });
        let (lo, hi) = missing.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
        // A score of 0 stays 0.
        let c0 = if start == 0 { 0.0 } else { ((lo + hi) / 2.0).round().max(0.0) };
        (c0 as u64 + (1 << GUARD_BITS) / 2, c1)
    }
}

/// `log2(e)` as the score is multiplied by it.
fn log2e() -> f64 {
    LOG2E as f64 / f64::from(1u32 << LOG2E_FRACTION)
}

/// The cap in base 2, in the units of scores.
fn cap_in_base_2(cap: f64) -> f64 {
    cap * log2e()
}

fn bits_for(values: &[u64]) -> u32 {
    (64 - values.iter().max().copied().unwrap_or(0).leading_zeros()).max(1)
}

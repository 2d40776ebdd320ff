//! Tables and factors of [`crate::base2`] in 32-bit lanes.

use crate::base2::Base2;
use flashd_spec::pwl::Table;

/// Entries of the largest table: 14 octaves of 32 cells.
const ENTRIES: usize = 512;

/// A piecewise linear table that is read without a branch.
pub struct Lookup {
    /// Both coefficients of each entry: c1 in the upper 32 bits, c0 in the lower ones.
    entries: Box<[u64; ENTRIES]>,
    last_octave: i32,
    cells: i32,
    offset_bits: u32,
    offset_mask: i32,
    slope_fraction: u32,
}

impl Lookup {
    /// The lookup for a table; `None` unless its numbers fit and the function decreases, as exponential, sigmoid and
    /// growth do.
    pub fn new(table: &Table) -> Option<Lookup> {
        let mut entries = Box::new([0; ENTRIES]);
        let fits = table.function.decreasing()
            && table.c0.len() <= ENTRIES
            && table.c0_bits() <= 28
            && table.c1_bits() + table.offset_bits <= 31;
        for (entry, (&c0, &c1)) in entries.iter_mut().zip(table.c0.iter().zip(&table.c1)) {
            *entry = c1 << 32 | c0;
        }
        fits.then(|| Lookup {
            entries,
            last_octave: table.octaves as i32 - 1,
            cells: table.cells as i32,
            offset_bits: table.offset_bits,
            offset_mask: (1 << table.offset_bits) - 1,
            slope_fraction: table.slope_fraction,
        })
    }

    /// The value at octave k and offset f, `c0 - c1 dx`, dx being the low bits of f; the product is truncated.
    #[inline(always)]
    pub fn at(&self, k: i32, f: i32) -> i32 {
        let entry = k.min(self.last_octave) * self.cells + (f >> (self.offset_bits & 31));
        let both = self.entries[entry as usize % ENTRIES];
        let dx = f & self.offset_mask;
        both as u32 as i32 - (((both >> 32) as i32 * dx) >> (self.slope_fraction & 31))
    }
}

/// Rounds `x 2^-places` to nearest, half up, for `places` known before the run; without a branch.
#[derive(Clone, Copy)]
pub(crate) struct ShiftRounding {
    left: u32,
    half: i32,
    right: u32,
}

impl ShiftRounding {
    pub(crate) fn new(places: i32) -> ShiftRounding {
        let right = places.max(0) as u32;
        ShiftRounding { left: (-places).max(0) as u32, half: (1 << right) >> 1, right }
    }

    #[inline(always)]
    pub(crate) fn of(&self, x: i32) -> i32 {
        ((x << (self.left & 31)) + self.half) >> (self.right & 31)
    }
}

/// Converts table values up to `2^fraction` to factors of `bits` significand bits.
#[derive(Clone, Copy)]
pub struct FactorTable {
    fraction: i32,
    bits: u32,
    rounding: ShiftRounding,
}

impl FactorTable {
    /// The conversion for the tables of a core.
    pub fn new(base2: &Base2, bits: u32) -> FactorTable {
        let fraction = base2.fraction() as i32;
        FactorTable { fraction, bits, rounding: ShiftRounding::new(fraction + 1 - bits as i32) }
    }

    /// [`crate::base2::Factor::new`] as `(m, right)`.
    #[inline(always)]
    pub fn of(&self, value: i32, k: i32) -> (i32, i32) {
        // The float's exponent is floor(log2(value)), because f32 holds the integer exactly.
        let log = ((value as f32).to_bits() >> 23) as i32 - 127;
        let zeros = self.fraction - log;
        let m = self.rounding.of(value << (zeros & 31));
        let carry = m >> (self.bits & 31);
        (m >> carry, k + zeros - carry)
    }
}

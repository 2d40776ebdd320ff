//! The soft cap of scores, `c tanh(s / c)`.

use flashd_spec::numerics::Numerics;
use flashd_spec::pwl::softcap::{GUARD_BITS, Softcap};
use std::sync::Arc;

/// The cap's unit; `None` in cores without a cap.
#[derive(Clone, Debug)]
pub(crate) struct CapUnit(Option<Arc<Softcap>>);

impl CapUnit {
    pub(crate) fn new(n: &Numerics) -> CapUnit {
        CapUnit(n.softcap.clone())
    }

    /// Whether scores are capped.
    pub(crate) fn caps(&self) -> bool {
        self.0.is_some()
    }

    /// The capped score, with FS fraction bits: the line segment of the magnitude's cell. Cores without a cap return `s`.
    pub(crate) fn of(&self, s: i64) -> i64 {
        let Some(table) = &self.0 else { return s };
        let magnitude = s.abs();
        // Where a range begins: at zero, then at each power of two from the first range's end on.
        let begins = |range: u32| if range == 0 { 0 } else { 1i64 << (table.first_bits + range - 1) };
        if magnitude >= begins(table.ranges) {
            return s.signum() * table.limit as i64;
        }
        let range = (0..table.ranges).rev().find(|&range| begins(range) <= magnitude).unwrap_or(0);
        // The first two ranges have cells of one width; each later range doubles it.
        let unit = 1i64 << range.max(1) >> 1;
        let steps = 1i64 << table.offset_bits();
        let place = (magnitude - begins(range)).div_euclid(unit);
        let entry = ((i64::from(range) << table.cell_bits) + place.div_euclid(steps)) as usize;
        let rise = (table.c1[entry] as i64 * place.rem_euclid(steps)).div_euclid(steps);
        let value = (table.c0[entry] as i64 + rise).div_euclid(1 << GUARD_BITS);
        s.signum() * value.min(table.limit as i64)
    }
}

//! Piecewise-linear tables.

use crate::word::Word;
use flashd_spec::pwl::Table;

/// `c0[entry] +- (c1[entry] * offset >> slope_fraction)`, minus for a decreasing function: one integer bit and
/// `value_fraction` fraction bits.
pub fn evaluate<W: Word>(table: &Table, entry: &W, offset: &W) -> W {
    let name = table.function.name();
    let (b0, b1) = (table.c0_bits(), table.c1_bits());
    let c0 = entry.lookup(&table.c0, b0).label(|| format!("{name}_c0"));
    let c1 = entry.lookup(&table.c1, b1).label(|| format!("{name}_c1"));
    let bits = table.value_fraction + 1;
    let product = c1.mul(offset).label(|| format!("{name}_slope_product"));
    let step = product.drop_low(table.slope_fraction).zext(bits.max(product.width() - table.slope_fraction));
    let step = step.slice(0, bits);
    let c0 = c0.zext(bits);
    match table.function.decreasing() {
        true => c0.sub(&step),
        false => c0.add(&step),
    }
}

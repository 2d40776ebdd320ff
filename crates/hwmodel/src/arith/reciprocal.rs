//! The reciprocal of a normalised significand.

use super::pwl::evaluate;
use crate::word::Word;
use flashd_spec::numerics::ReciprocalNumerics;

/// `1 / m` for m in [1, 2), in (1/2, 1]. Both have one integer bit and VR fraction bits, where VR is the table's
/// `value_fraction`. A PWL table gives the estimate, Newton steps `r <- r (2 - m r)` refine it; the error is at
/// most `2^-(p+2)` for the precision p that the numerics were made for.
pub fn reciprocal<W: Word>(numerics: &ReciprocalNumerics, m: &W) -> W {
    let table = &numerics.table;
    let vr = table.value_fraction;
    assert_eq!(m.width(), vr + 1);
    let fraction = m.slice(0, vr);
    let entry = fraction.drop_low(table.offset_bits);
    let offset = fraction.slice(0, table.offset_bits);
    let mut r = evaluate(table, &entry, &offset).named("reciprocal_estimate");
    for _ in 0..numerics.newton_steps {
        // m r is close to 1, so 2 - m r is positive and needs one integer bit.
        let mr = m.mul(&r).slice(vr, vr + 2).named("estimate_times_m");
        let correction = W::constant(vr + 2, 2 << vr).sub(&mr).named("newton_correction");
        let product = r.mul(&correction.slice(0, vr + 1));
        let half = W::constant(product.width(), 1 << (vr - 1));
        let refined = product.add(&half).drop_low(vr).named("newton_product");
        let above = refined.at_least(1 << vr);
        r = above
            .select(&W::constant(vr + 1, 1 << vr), &refined.slice(0, vr + 1))
            .named("reciprocal_refined");
    }
    r
}

//! The property of the loop's table on which docs/theory/hold.md bases the bound of a budget.

use flashd_golden::parts::{Base2, spent_after};
use flashd_spec::config::{CoreConfig, Design, Hold};
use flashd_spec::format::Format;
use flashd_spec::numerics::{BudgetNumerics, Numerics};

/// Bits of 65,536 keys, and of a budget's register for them.
const REGISTER: u32 = 16;

/// A kept key gives back a part of `spent` units, and shrinks the share of the held keys by as much as L grows. Returns
/// the smallest ratio of the units that remain to the share that remains, over all x below 2 that give anything back.
fn tightest(segments: u32, fraction: u32, spent: u64) -> f64 {
    let config = CoreConfig {
        segments: Some(segments),
        state_fraction_bits: Some(fraction),
        hold: Some(Hold::Budget(9)),
        ..CoreConfig::new(Design::FlashD, 2, Format::BF16)
    };
    let n = Numerics::new(&config);
    let base2 = Base2::new(&n);
    let ratio = |x: i64| {
        let growth = x.max(0) + base2.growth(base2.reduce_cut(x, fraction), fraction);
        let mass = spent as f64 * (-(growth as f64) * 2f64.powi(-(fraction as i32))).exp2();
        spent_after(spent, x >> fraction) as f64 / mass
    };
    let lowest = -(i64::from(REGISTER) + 2) << fraction;
    (lowest..2 << fraction).map(ratio).fold(f64::INFINITY, f64::min)
}

#[test]
fn no_key_gives_back_more_than_l_grows_by() {
    let most = (1 << REGISTER) - 1;
    let least = BudgetNumerics::least_state_fraction(REGISTER);
    for segments in [4, 8, 16, 32] {
        for fraction in [least, 18] {
            for spent in [1, 3, most] {
                let ratio = tightest(segments, fraction, spent);
                assert!(ratio >= 1.0, "{segments} segments, {fraction} bits, {spent} units: {ratio}");
            }
        }
    }
    // With fewer bits, L no longer grows by some keys that still give back units.
    assert!(tightest(8, least - 2, most) < 1.0);
}

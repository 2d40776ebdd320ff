//! The soft cap's table and unit, for every score.

use flashd_hwmodel::rtl::Function;
use flashd_hwmodel::score::softcap::SoftcapFunction;
use flashd_hwmodel::word::Num;
use flashd_spec::bits::{ones, signed};
use flashd_spec::numerics::{LOG2E, LOG2E_FRACTION};
use flashd_spec::pwl::softcap::Softcap;

/// `c tanh(s / c)` of a score in base 2, in units of its last place.
fn exact(cap: f64, fraction: u32, score: i64) -> f64 {
    let unit = f64::from(fraction).exp2();
    let base_2 = cap * LOG2E as f64 / f64::from(LOG2E_FRACTION).exp2();
    base_2 * (score as f64 / unit / base_2).tanh() * unit
}

/// Bound of the error in last places: 0.9 for rounding and truncation, and the error of linear interpolation in the
/// cells around the cap, half a last place but for large caps.
fn bound(table: &Softcap) -> f64 {
    let cells = f64::from(1u32 << table.cell_bits);
    0.9 + f64::from(table.first_bits).exp2() / (16.0 * cells * cells)
}

/// Soft caps, of public models too, and the integer and fraction bits of scores. The last tables have the most and the fewest cells that there are.
const CASES: [(f64, u32, u32); 10] = [
    (50.0, 9, 10),
    (30.0, 9, 5),
    (20.0, 9, 10),
    (1.0, 9, 10),
    (354.0, 9, 10),
    (2.5, 5, 2),
    (15.0, 5, 13),
    (50.0, 12, 6),
    (354.0, 9, 11),
    (1.0, 9, 2),
];

#[test]
fn every_score_is_capped_as_tanh_has_it() {
    for (cap, integer, fraction) in CASES {
        let table = Softcap::get(cap, integer, fraction);
        let unit = SoftcapFunction { table: table.clone() };
        let bits = integer + fraction;
        let mut last = 0;
        let mut worst = 0.0f64;
        for score in 0..1i64 << bits {
            let of = |score: i64| {
                let [capped] = unit.eval([Num::new(bits + 1, score as u64 & ones(bits + 1))]);
                signed(capped.value(), bits + 1)
            };
            let capped = of(score);
            assert_eq!(of(-score), -capped, "{cap}: odd at {score}");
            assert_eq!(capped as u64, table.value(score as u64), "{cap}: {score}");
            // A larger score is capped to no less, but for a last place by rounding.
            assert!(capped + 1 >= last && capped as u64 <= table.limit, "{cap}: {score}");
            last = capped;
            worst = worst.max((capped as f64 - exact(cap, fraction, score)).abs());
        }
        let bound = bound(&table);
        assert!(worst < bound, "{cap}: {worst} of {bound}");
        let told = table.max_error().0 * f64::from(fraction).exp2() * LOG2E as f64
            / f64::from(LOG2E_FRACTION).exp2();
        assert!((told - worst).abs() < 1e-6 * worst.max(1.0), "{cap}: {told}, {worst}");
    }
}

#[test]
fn zero_stays_zero_and_the_cap_limits() {
    for (cap, integer, fraction) in CASES {
        let table = Softcap::get(cap, integer, fraction);
        assert_eq!(table.value(0), 0);
        let last = (1u64 << (integer + fraction)) - 1;
        let wanted = exact(cap, fraction, last as i64).round();
        assert!((table.value(last) as f64 - wanted).abs() <= bound(&table), "{cap}");
    }
}

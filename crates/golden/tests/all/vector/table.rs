//! Tables and factors in 32-bit lanes against the model's.

use flashd_golden::parts::{Base2, Factor, FactorTable, Lookup, ReducedArgument, lookup};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;

#[test]
fn lanes_look_up_the_models_entries() {
    for segments in [4, 8, 16, 32] {
        let config =
            CoreConfig { segments: Some(segments), ..CoreConfig::new(Design::FlashD, 16, Format::BF16) };
        let n = Numerics::new(&config);
        let base2 = Base2::new(&n);
        for table in [&n.exp.exp, &n.exp.sigmoid, &n.exp.log2p1] {
            let lanes = Lookup::new(table).unwrap_or_else(|| panic!("{:?} {segments}", table.function));
            for k in 0..20 {
                for f in (0..1 << n.exp.value_fraction).step_by(7) {
                    let value = lookup(table, ReducedArgument { k, f });
                    assert_eq!(i64::from(lanes.at(k as i32, f as i32)), value as i64, "{segments} {k} {f}");
                    if value > 1 << n.exp.value_fraction {
                        continue;
                    }
                    for bits in [3, 9, 12, 16] {
                        let factor = Factor::new(value, n.exp.value_fraction, k, bits);
                        let (m, right) = FactorTable::new(&base2, bits).of(value as i32, k as i32);
                        assert_eq!((m as u64, right as u32), (factor.m, factor.right), "{value} {bits}");
                    }
                }
            }
        }
    }
}

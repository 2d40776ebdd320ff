//! A merge's units, one by one, against the model of the merge: whatever states and accumulators meet.

use crate::common::{any_finite, rng};
use flashd_golden::{Merge, PartialState, decode, encode};
use flashd_hwmodel::attention::factor::FactorForm;
use flashd_hwmodel::attention::lane::LaneSideFunction;
use flashd_hwmodel::flash_d::lse_step::{ExpArgumentFunction, SigmoidWeightFunction};
use flashd_hwmodel::rtl::Function;
use flashd_hwmodel::split::merge_formats;
use flashd_hwmodel::split::weight::LseDifferenceFunction;
use flashd_hwmodel::units::{MixedFunction, Operation};
use flashd_hwmodel::word::{Num, Word};
use flashd_spec::bits::ones;
use flashd_spec::config::{CoreConfig, FlashDVariant};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use flashd_spec::numerics::merge_numerics;
use rand::RngExt;
use std::sync::Arc;

/// FLASH-D's lanes whose every operation is rounded: weights of more bits than the format's, fine states, accumulators at the
/// edge of the format's range, log-sum-exps apart and close.
#[test]
fn rounded_lanes_merge_as_the_model_does() {
    for (format, weight_bits, state) in [
        (Format::FP16, Some(16), 26),
        (Format::FP16, None, 26),
        (Format::FP8_E4M3, Some(9), 20),
        (Format::BF16, Some(12), 26),
    ] {
        let config = CoreConfig {
            datapath: FlashDVariant::Rounded.into(),
            masks: true,
            partial: true,
            weight_bits,
            state_fraction_bits: state,
            ..CoreConfig::new(flashd_spec::config::Design::FlashD, 4, format)
        };
        config.validate().expect("a valid configuration");
        let n = Arc::new(Numerics::new(&config));
        let merge = Arc::new(merge_numerics(&n));
        let f = merge_formats(&n, merge.difference);
        let model = Merge::new(&config);
        let mut rng = rng(41);
        let (bits, acc) = (n.state_bits(), n.accumulator);
        for case in 0..20_000 {
            let spread = 1i64 << rng.random_range(0..bits - 1);
            let a_lse = rng.random_range(-(1i64 << (bits - 2))..1 << (bits - 2));
            let b_lse =
                (a_lse + rng.random_range(-spread..=spread)).clamp(-(1 << (bits - 2)), (1 << (bits - 2)) - 1);
            // What an accumulator holds: no subnormals where these are flushed.
            let [a, b] = [(); 2].map(|()| encode(acc, decode(acc, any_finite(&mut rng, acc))));
            let word = |width: u32, value: i64| Num::new(width, value as u64 & ones(width));
            let [x, ..] = LseDifferenceFunction { numerics: n.clone() }.eval([
                word(bits, a_lse),
                word(bits, b_lse),
                Num::zero(1),
                Num::zero(1),
            ]);
            let [t, negative] = ExpArgumentFunction { numerics: merge.clone() }.eval([x]);
            let [w] = SigmoidWeightFunction { numerics: merge.clone(), form: FactorForm::Format }
                .eval([t, Num::zero(1)]);
            let mixed = |operation, a_format, b_format, y_format, a: Num, b: Num| {
                let [y] = MixedFunction { operation, a_format, b_format, y_format }.eval([a, b]);
                y
            };
            let (oa, ob) = (Num::new(acc.width(), a), Num::new(acc.width(), b));
            let difference = mixed(Operation::Sub, f.value, f.accumulator, f.inner, ob, oa);
            let [way, base] = LaneSideFunction { formats: f }.eval([negative.not(), difference, oa, ob]);
            let product = mixed(Operation::Mul, f.weight, f.inner, f.inner, w, way);
            let sum = mixed(Operation::Add, f.accumulator, f.inner, f.accumulator, base, product);
            let state = |lse: i64, o| PartialState { scalars: [lse as u64 & ones(bits), 0], o: vec![o] };
            let merged = model.merge(Some(&state(a_lse, a)), Some(&state(b_lse, b))).expect("of two parts");
            assert_eq!(
                merged.o[0],
                sum.value(),
                "{}, case {case}: L {a_lse} and {b_lse}, o {a:#x} and {b:#x}: w {:#x} of {}, difference {:#x}, product {:#x}",
                config.name(),
                w.value(),
                f.weight,
                difference.value(),
                product.value()
            );
        }
    }
}

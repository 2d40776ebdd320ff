//! The units of a merge, one by one, against the model of the merge, for all kinds of states and accumulators.

use crate::common::{any_finite, rng};
use flashd_golden::{Merge, PartialState, decode, encode};
use flashd_hwmodel::attention::factor::FactorForm;
use flashd_hwmodel::attention::lane::LaneSideFunction;
use flashd_hwmodel::fa2::softmax::{ExpWeightFunction, ScoreMaximumFunction};
use flashd_hwmodel::fa2::widths::delta_bits;
use flashd_hwmodel::flash_d::lse_step::{ExpArgumentFunction, SigmoidWeightFunction};
use flashd_hwmodel::rtl::Function;
use flashd_hwmodel::split::fa2::{
    FactorMergedSumFunction, LaneShiftFunction, MergedTotalFunction, OctavesFunction,
    RaisedReferenceFunction, ShiftedMergedSumFunction,
};
use flashd_hwmodel::split::lane::{FactorMergeFunction, ShiftedMergeFunction};
use flashd_hwmodel::split::merge_formats;
use flashd_hwmodel::split::weight::LseDifferenceFunction;
use flashd_hwmodel::units::{MixedFunction, Operation};
use flashd_hwmodel::word::{Num, Word};
use flashd_spec::bits::ones;
use flashd_spec::config::{CoreConfig, Fa2Variant, FlashDVariant};
use flashd_spec::format::Format;
use flashd_spec::numerics::{Numerics, merge_numerics};
use rand::RngExt;
use std::sync::Arc;

/// FLASH-D's lanes that round every operation: wide weights, states with many fraction bits, accumulators at the limits of the
/// format's range, and log-sum-exps far apart and close.
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
            state_fraction_bits: Some(state),
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
            // An accumulator holds no subnormals if its format flushes them.
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

/// FA2's sums relative to a power of two, for any states: sum, reference and accumulators.
#[test]
fn shifted_sums_merge_as_the_model_does() {
    for format in [Format::BF16, Format::INT8] {
        let core = CoreConfig::with_datapath(Fa2Variant::LogReference.into(), 4, format);
        let config = CoreConfig { masks: true, partial: true, ..core };
        config.validate().expect("a valid configuration");
        let n = Numerics::new(&config);
        let model = Merge::new(&config);
        let [m_bits, bits] = n.scalar_bits(&config)[..] else { panic!("two scalars") };
        let o_bits = config.accumulator_bits();
        let delta = delta_bits(&n);
        let mut rng = rng(7);
        let (mut carries, mut kept) = (0, 0);
        for case in 0..20_000 {
            let references = [(); 2].map(|()| rng.random_range(-6..6i64));
            // Sums from 1 to the largest of the register.
            let sums = [(); 2]
                .map(|()| rng.random::<u64>() & ones(bits) >> rng.random_range(0..3) | 1 << n.state_fraction);
            let accumulators = [(); 2].map(|()| rng.random::<u64>() & ones(o_bits));
            let [a, b] = [0, 1].map(|i| PartialState {
                scalars: [references[i] as u64 & ones(m_bits), sums[i]],
                o: vec![accumulators[i]; 4],
            });
            let moved = references[1] > references[0];
            let octaves = Num::new(m_bits, references[0].abs_diff(references[1]));
            let bit = |b: bool| Num::new(1, b.into());
            let [shift] = OctavesFunction { octaves: m_bits, delta }.eval([octaves]);
            let word = |value| Num::new(bits, value);
            let [total] = ShiftedMergedSumFunction { bits, delta }.eval([
                word(sums[0]),
                word(sums[1]),
                shift,
                bit(moved),
            ]);
            let [l, carry] = MergedTotalFunction { bits }.eval([
                total,
                word(sums[0]),
                word(sums[1]),
                bit(false),
                bit(false),
            ]);
            let [w] = LaneShiftFunction { bits: delta }.eval([shift, carry]);
            let o = |i: usize| Num::new(o_bits, accumulators[i]);
            let [o] =
                ShiftedMergeFunction { bits: o_bits, delta: delta + 1 }.eval([o(0), o(1), w, bit(moved)]);
            let merged = model.merge(Some(&a), Some(&b)).expect("of two parts");
            let case = format!("{}, case {case}: {a:?} {b:?}", config.name());
            assert_eq!((merged.scalars[1], merged.o[0]), (l.value(), o.value()), "{case}");
            let reference = references[0].max(references[1]) + carry.value() as i64;
            assert_eq!(merged.scalars[0], reference as u64 & ones(m_bits), "{case}");
            (carries, kept) = (carries + carry.value(), kept + 1 - carry.value());
        }
        assert!(carries > 1000 && kept > 1000, "{carries} {kept}");
    }
}

/// FA2 in fixed point with a product, for any states, with accumulators also at the ends of their range.
#[test]
fn products_in_fixed_point_merge_as_the_model_does() {
    for format in [Format::BF16, Format::INT8, Format::FP8_E4M3] {
        let config = CoreConfig {
            masks: true,
            partial: true,
            ..CoreConfig::with_datapath(Fa2Variant::SharedLogReference.into(), 4, format)
        };
        config.validate().expect("a valid configuration");
        let n = Arc::new(Numerics::new(&config));
        let model = Merge::new(&config);
        let [m_bits, bits] = n.scalar_bits(&config)[..] else { panic!("two scalars") };
        let of_m = Arc::new(Numerics { score_integer: n.score_integer + 1, ..(*n).clone() });
        let (o_bits, factor) = (config.accumulator_bits(), n.factor_significand);
        let form = FactorForm::Shift(factor);
        let mut rng = rng(9);
        for case in 0..20_000 {
            let reach = 1i64 << rng.random_range(1..m_bits - 1);
            let references = [(); 2].map(|()| rng.random_range(-reach..reach));
            // Sums of at least 1/2.
            let sums = [(); 2].map(|()| rng.random_range(1 << (n.state_fraction - 1)..1 << bits));
            let ends = [0, 1, ones(o_bits), 1 << (o_bits - 1), ones(o_bits - 1)];
            let accumulators = [(); 2].map(|()| match rng.random_range(0..8) {
                0 => ends[rng.random_range(0..5)],
                _ => rng.random::<u64>() & ones(o_bits),
            });
            let [a, b] = [0, 1].map(|i| PartialState {
                scalars: [references[i] as u64 & ones(m_bits), sums[i]],
                o: vec![accumulators[i]; 4],
            });
            let bit = |b: bool| Num::new(1, b.into());
            let m = |i: usize| Num::new(m_bits, references[i] as u64 & ones(m_bits));
            let [larger, moved, distance] =
                ScoreMaximumFunction { numerics: of_m.clone() }.eval([m(1), m(0), bit(false)]);
            let [e] = ExpWeightFunction { numerics: of_m.clone(), form }.eval([distance, bit(false)]);
            let word = |value| Num::new(bits, value);
            let [total] = FactorMergedSumFunction { numerics: n.clone(), form }.eval([
                word(sums[0]),
                word(sums[1]),
                e,
                moved,
            ]);
            let [l, carry] = MergedTotalFunction { bits }.eval([
                total,
                word(sums[0]),
                word(sums[1]),
                bit(false),
                bit(false),
            ]);
            let [reference] =
                RaisedReferenceFunction { bits: m_bits, fraction: n.score_fraction }.eval([larger, carry]);
            let [w] = LaneShiftFunction { bits: form.bits(&n) }.eval([e, carry]);
            let o = |i: usize| Num::new(o_bits, accumulators[i]);
            let function = FactorMergeFunction { bits: o_bits, factor, w: 1 + form.bits(&n) };
            let [o] = function.eval([o(0), o(1), w, moved]);
            let merged = model.merge(Some(&a), Some(&b)).expect("of two parts");
            assert_eq!(
                (merged.scalars, merged.o[0]),
                ([reference.value(), l.value()], o.value()),
                "{}, case {case}: {a:?} {b:?}",
                config.name()
            );
        }
    }
}

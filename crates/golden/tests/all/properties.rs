//! Properties of the recurrences that hold bit for bit in every configuration.

use flashd_golden::{Action, Head, Model, QueryResult, v_exponent};
use flashd_spec::bits::ones;
use flashd_spec::config::{CoreConfig, Design, Hold, WeightUnit};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use proptest::prelude::*;

const D: usize = 3;

/// FLASH-D's cores with the log-sum-exp, in every format, update and precision.
fn flash_d() -> Vec<CoreConfig> {
    let lse = |c: &CoreConfig| c.design() == Design::FlashD && c.weight() == Some(WeightUnit::Lse);
    let formats = Format::NAMED.into_iter().flat_map(|(_, f)| CoreConfig::variants(D, f));
    let mixed = CoreConfig::mixed_precision(D);
    let thresholds =
        Format::NAMED.into_iter().flat_map(|(_, f)| CoreConfig::with_hold(D, f, Hold::Below(6.0)));
    formats.chain(mixed).chain(thresholds).filter(lse).collect()
}

/// All cores.
fn all() -> Vec<CoreConfig> {
    let formats = Format::NAMED.into_iter().flat_map(|(_, f)| CoreConfig::variants(D, f));
    formats.chain(CoreConfig::mixed_precision(D)).collect()
}

/// Finite encodings from random bits: any exponent, or exponents around one.
fn encodings(format: Format, bits: &[u64], wild: bool) -> Vec<u64> {
    let finite = |x: u64| {
        let magnitude = match wild {
            true => x & (format.sign_bit() - 1),
            false => format.one() - (4 << format.fraction_bits) + (x & (ones(format.fraction_bits + 3))),
        };
        magnitude.min(format.max_finite()) | if x >> 63 == 1 { format.sign_bit() } else { 0 }
    };
    bits.iter().map(|&x| finite(x)).collect()
}

fn run(
    core: &CoreConfig,
    q: &[u64],
    k: &[u64],
    v: &[u64],
    masked: &(dyn Fn(usize) -> bool + Sync),
) -> QueryResult {
    let exponent = v_exponent(core.format, v);
    let keys = k.len() / D;
    Model::new(core)
        .run(Head {
            masked: Some(&|_, key| masked(key)),
            ..Head::new(q, k, v, &[keys]).with_exponents(&[exponent]).with_steps()
        })
        .swap_remove(0)
}

fn without(x: &[u64], gone: &dyn Fn(usize) -> bool) -> Vec<u64> {
    x.chunks(D).enumerate().filter(|(i, _)| !gone(*i)).flat_map(|(_, row)| row.iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// A result of FLASH-D is an average of values, so no element is larger than the largest value of its lane.
    /// Fixed-point lanes hold values on a grid that follows from the largest value of the query: an element is at most
    /// the largest value of its lane rounded to the grid, and at most the largest value of all if the grid holds its
    /// whole significand (in fp32 it does not).
    #[test]
    fn flash_d_is_convex(
        core in 0..flash_d().len(), keys in prop::collection::vec(prop::array::uniform6(any::<u64>()), 1..40),
        q in prop::array::uniform3(any::<u64>()), wild: bool
    ) {
        let core = &flash_d()[core];
        let f = core.format;
        let k: Vec<u64> = keys.iter().flat_map(|x| x[..D].to_vec()).collect();
        let v: Vec<u64> = keys.iter().flat_map(|x| x[D..].to_vec()).collect();
        let (q, k, v) = (encodings(f, &q, false), encodings(f, &k, false), encodings(f, &v, wild));
        let result = run(core, &q, &k, &v, &|_| false);
        let largest = |values: &mut dyn Iterator<Item = u64>| values.map(|v| f.value(v).abs()).fold(0.0, f64::max);
        let exponent = v_exponent(f, &v);
        let model = Model::new(core);
        let alone: Vec<u64> = k
            .chunks(D)
            .zip(v.chunks(D))
            .flat_map(|(k, v)| model.run(Head::new(&q, k, v, &[1]).with_exponents(&[exponent])).swap_remove(0).o)
            .collect();
        let of_all = largest(&mut v.iter().copied());
        for (j, &o) in result.o.iter().enumerate() {
            let in_lane = |x: &[u64]| largest(&mut x.iter().skip(j).step_by(D).copied());
            let bound = in_lane(&alone);
            prop_assert!(f.value(o).abs() <= bound, "{}: {} > {bound}", core.name(), f.value(o));
            match Numerics::new(core).lane {
                Some(lane) if lane.v > f.fraction_bits + 1 => {
                    prop_assert!(bound <= of_all, "{}: {bound} > {of_all}", core.name());
                }
                Some(_) => {}
                None => prop_assert_eq!(bound, in_lane(&v), "{}", core.name()),
            }
        }
    }

    /// With equal keys and equal values, FLASH-D's result does not depend on their number.
    #[test]
    fn identical_keys_give_their_value(
        core in 0..flash_d().len(), n in 1..60usize, bits in prop::array::uniform9(any::<u64>())
    ) {
        let core = &flash_d()[core];
        let x = encodings(core.format, &bits, false);
        let of = |n: usize| run(core, &x[..D], &x[D..2 * D].repeat(n), &x[2 * D..].repeat(n), &|_| false).o;
        prop_assert_eq!(of(n), of(1), "{}", core.name());
    }

    /// Leaving out the masked keys does not change the result.
    #[test]
    fn masked_keys_change_nothing(
        core in 0..all().len(), keys in prop::collection::vec((prop::array::uniform6(any::<u64>()), any::<bool>()), 1..30),
        q in prop::array::uniform3(any::<u64>()), noise: u64
    ) {
        let core = &CoreConfig { masks: true, ..all()[core].clone() };
        let f = core.format;
        let k: Vec<u64> = keys.iter().flat_map(|(x, _)| x[..D].to_vec()).collect();
        let v: Vec<u64> = keys.iter().flat_map(|(x, _)| x[D..].to_vec()).collect();
        let (q, mut k, v) = (encodings(f, &q, false), encodings(f, &k, false), encodings(f, &v, false));
        let gone = |i: usize| keys[i].1;
        let expected = run(core, &q, &without(&k, &gone), &without(&v, &gone), &|_| false);
        // The operands of a masked key do not matter, not even Inf and NaN.
        for (i, row) in k.chunks_mut(D).enumerate().filter(|(i, _)| gone(*i)) {
            row.iter_mut().for_each(|x| *x = (noise >> (i % 32)) & ones(f.width()));
        }
        // Both runs use the exponent of all values. By default the second would use the visible values' exponent.
        let exponent = v_exponent(f, &v);
        let model = Model::new(core);
        let (length, exponents) = ([k.len() / D], [exponent]);
        let all = Head::new(&q, &k, &v, &length).with_exponents(&exponents);
        let masked = model.run(Head { masked: Some(&|_, i| gone(i)), ..all });
        let (k2, v2) = (without(&k, &gone), without(&v, &gone));
        let plain = model.run(Head::new(&q, &k2, &v2, &[k2.len() / D]).with_exponents(&exponents));
        prop_assert_eq!(&masked[0].o, &plain[0].o, "{}", core.name());
        prop_assert_eq!(masked[0].invalid, plain[0].invalid);
        prop_assert_eq!(masked[0].empty, expected.empty);
    }

    /// Leaving out the keys that a threshold holds does not change the result.
    #[test]
    fn held_keys_change_nothing(
        core in 0..flash_d().len(), keys in prop::collection::vec(prop::array::uniform6(any::<u64>()), 1..40),
        q in prop::array::uniform3(any::<u64>())
    ) {
        let core = &CoreConfig { hold: Some(Hold::Below(2.0)), ..flash_d()[core].clone() };
        let f = core.format;
        let k: Vec<u64> = keys.iter().flat_map(|x| x[..D].to_vec()).collect();
        let v: Vec<u64> = keys.iter().flat_map(|x| x[D..].to_vec()).collect();
        let (q, k, v) = (encodings(f, &q, false), encodings(f, &k, false), encodings(f, &v, false));
        let result = run(core, &q, &k, &v, &|_| false);
        let held = |i: usize| result.steps[i].action == Action::Hold;
        let exponent = v_exponent(f, &v);
        let (k2, v2) = (without(&k, &held), without(&v, &held));
        let (length, exponents) = ([k2.len() / D], [exponent]);
        let without = Head::new(&q, &k2, &v2, &length).with_exponents(&exponents);
        let again = Model::new(core).run(without.with_steps());
        prop_assert_eq!(&result.o, &again[0].o, "{}", core.name());
        prop_assert!(again[0].steps.iter().all(|step| step.action != Action::Hold));
    }
}

//! Scores of queries with a Q0.16 scale, against f64.

use crate::common::rng;
use flashd_golden::{Head, Model, decode};
use flashd_spec::bits::{ones, pack};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::{Encodings, Format, Scale, ScaleFormat};
use flashd_spec::numerics::{LOG2E, LOG2E_FRACTION, Numerics};
use rand::RngExt;

const D: usize = 16;

/// Cores whose queries have the scale: floats, integers with an exact sum and scaled keys, and without.
fn cores() -> Vec<CoreConfig> {
    let formats =
        [Format::BF16, Format::FP8_E4M3, Format::FP32, Format::INT8, Format::INT4, Format::fixed(16, 8)];
    let core = |design, format, k_scales| CoreConfig {
        q_scales: Some(Scale::RowQ16),
        k_scales,
        score_integer_bits: 18,
        score_fraction_bits: Some(12),
        ..CoreConfig::new(design, D, format)
    };
    let of = |format| [None, Some(Scale::None), Some(Scale::Row)].map(|k| core(Design::FlashD, format, k));
    formats.into_iter().flat_map(of).chain([core(Design::Fa2, Format::INT8, None)]).collect()
}

#[test]
fn scores_are_the_products_with_every_power_of_two_and_more() {
    let (mut rng, seed) = (rng(71), 71);
    let scales: Vec<u64> = [0, 1, 2, 3, 0x7fff, 0xffff]
        .into_iter()
        .chain((0..16).map(|bit| 1 << bit))
        .chain((0..60).map(|_| rng.random::<u64>() >> 48 >> rng.random_range(0..16)))
        .collect();
    for core in cores() {
        let (n, Encodings { formats, scales: kinds }) = (Numerics::new(&core), core.encodings());
        assert_eq!(core.score_shift(), 0, "the scale has the whole factor");
        let model = Model::new(&core);
        let element = |rng: &mut crate::common::Rng, format: Format| loop {
            let bits = rng.random::<u64>() & ones(format.width());
            // Small enough that no natural score saturates.
            if !format.is_special(bits) && (1e-6..100.0).contains(&decode(format, bits).abs()) {
                return bits;
            }
        };
        for &scale in &scales {
            let mut q: Vec<u64> = (0..D).map(|_| element(&mut rng, formats.q)).collect();
            let mut k: Vec<u64> = (0..D).map(|_| element(&mut rng, formats.k)).collect();
            let products = q.iter().zip(&k).map(|(&q, &k)| decode(formats.q, q) * decode(formats.k, k));
            let mut exact = products.sum::<f64>() * ScaleFormat::Q16.value(scale).0;
            q.extend(pack(&[scale], 16, formats.q.width()));
            if kinds.k == Scale::Row {
                let of_key = 0x3e80 + rng.random_range(0..0x100);
                exact *= ScaleFormat::Bf16.value(of_key).0;
                k.extend(pack(&[of_key], 16, formats.k.width()));
            }
            exact *= LOG2E as f64 / f64::from(1u32 << LOG2E_FRACTION);
            let v = vec![0; D];
            let result = &model.run(Head::new(&q, &k, &v, &[1]).with_exponents(&[1]).with_steps())[0];
            assert!(!result.invalid && !result.score_saturated, "{}, seed {seed}, {scale:#x}", core.name());
            let score = result.steps[0].s as f64 / f64::from(n.score_fraction).exp2();
            // Roundings of the score, of d terms, and of the multiplier to 24 bits.
            let ulps = if n.is_exact() { 0.5 } else { 2.5 };
            let bound = ulps / f64::from(n.score_fraction).exp2() + exact.abs() * f64::from(-22).exp2();
            assert!((score - exact).abs() <= bound, "{}, {scale:#x}: {score} for {exact}", core.name());
        }
    }
}

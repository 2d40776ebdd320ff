//! The carriers against each other: results are the same bits in each.

use flashd_golden::parts::{fits_f32, largest_finite};
use flashd_golden::{Carriers, Head, Model, decode, encode, v_exponent};
use flashd_spec::config::{Accumulator, CoreConfig, Design, Fa2Variant, FlashDVariant, Hold, LaneBits};
use flashd_spec::format::Format;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Operands for all corner cases: zeros, subnormals, the largest numbers, scores near each other.
fn operands(rng: &mut ChaCha8Rng, format: Format, spread: u64, n: usize) -> Vec<u64> {
    let mut one = || {
        let bits = rng.random::<u64>() & ((format.sign_bit() << 1) - 1);
        let exponent = (format.bias as u64).saturating_sub(rng.random_range(0..=spread));
        match rng.random_range(0..50) {
            0 => bits & format.sign_bit(),
            1 => bits & (format.sign_bit() | format.fraction_mask()),
            _ => bits & (format.sign_bit() | format.fraction_mask()) | (exponent << format.fraction_bits),
        }
    };
    (0..n).map(|_| one()).collect()
}

/// Every core with float lanes, and cores with fixed-point lanes of several widths.
fn cores(d: usize, format: Format) -> Vec<CoreConfig> {
    let flash_d = CoreConfig { score_shift: Some(3), ..CoreConfig::new(Design::FlashD, d, format) };
    let fa2 = CoreConfig { score_shift: Some(3), ..CoreConfig::new(Design::Fa2, d, format) };
    let update = |update: FlashDVariant| CoreConfig { datapath: update.into(), ..flash_d.clone() };
    let variant = |variant: Fa2Variant| CoreConfig { datapath: variant.into(), ..fa2.clone() };
    let floats = [
        update(FlashDVariant::Rounded),
        CoreConfig { datapath: FlashDVariant::Paper.into(), ..flash_d.clone() },
        variant(Fa2Variant::SeparateScale),
        variant(Fa2Variant::SharedScale),
        variant(Fa2Variant::Literal),
    ];
    let mut cores = Vec::new();
    for accumulator in
        [None, Some(Accumulator::Format), Some(Accumulator::Fraction(12)), Some(Accumulator::Fraction(16))]
    {
        if !matches!(accumulator, Some(Accumulator::Fraction(f)) if f < format.fraction_bits) {
            cores.extend(floats.iter().map(|core| CoreConfig { accumulator, ..core.clone() }));
        }
    }
    let mixed = CoreConfig::mixed_precision(d).into_iter().filter(|config| config.format == format);
    cores.extend(mixed.map(|core| CoreConfig { score_shift: Some(3), ..core }));
    for (o, v, w) in [(20, 12, 7), (14, 8, 3), (28, 20, 12), (10, 9, 4)] {
        let lane = Some(LaneBits { o, v, w });
        let fixed = [
            update(FlashDVariant::Fixed),
            variant(Fa2Variant::LogReference),
            variant(Fa2Variant::SharedLogReference),
        ];
        cores.extend(fixed.map(|core| CoreConfig { lane, ..core }));
    }
    for core in &cores {
        core.validate().unwrap_or_else(|e| panic!("{}: {e}", core.name()));
    }
    cores
}

#[test]
fn narrow_and_wide_carriers_give_the_same_bits() {
    let (seed, d, keys, queries) = (71, 9, 60, 20);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for (_, format) in Format::NAMED {
        for config in cores(d, format) {
            let model = Model::new(&config);
            for spread in [3, 30, 126] {
                let q = operands(&mut rng, format, spread / 8, queries * d);
                let k = operands(&mut rng, format, spread / 8, keys * d);
                let v = operands(&mut rng, format, spread, keys * d);
                let exponents = [v_exponent(format, &v); 20];
                let lengths = [keys; 20];
                let run = |carriers| {
                    let model = model.clone().with_carriers(carriers);
                    model.run(Head::new(&q, &k, &v, &lengths).with_exponents(&exponents).with_steps())
                };
                let same = run(Carriers::Fastest) == run(Carriers::Widest);
                assert!(same, "{}, seed {seed}, {spread}", config.name());
            }
        }
    }
}

#[test]
fn f32_carries_moderate_values_of_narrow_formats() {
    let fits = |format: Format, longest, v: &[u64]| {
        fits_f32(format, format, longest, || largest_finite(format, v), &[])
    };
    assert!(fits(Format::FP16, 24, &[0x7bff]) && !fits(Format::FP16, 25, &[]));
    assert!(fits(Format::BF16, 23, &[0x3f80, 0xbf80, 0x7fc0]), "a NaN is a zero");
    assert!(!fits(Format::BF16, 24, &[]) && !fits(Format::BF16, 23, &[0x3f80, 0xff7f]));
    // Intermediate results are beyond f32's range.
    let model = Model::new(&CoreConfig::new(Design::FlashD, 2, Format::BF16));
    let max = Format::BF16.max_finite();
    let v = [max, 0, max | 0x8000, 0];
    let result = &model.run(Head::new(&[0; 2], &[0; 4], &v, &[2]))[0];
    assert_eq!((result.o[0], result.saturated), (0, 0), "the mean of the two largest numbers");
}

#[test]
fn a_factor_beyond_f32_scales_exactly() {
    // Two scores 140 apart: the shared scale's factor is below f32's smallest number, but its product with 2^20 is not.
    // The second value is zero, so that the product decides the result.
    let (format, d) = (Format::BF16, 2);
    let config = CoreConfig {
        datapath: Fa2Variant::SharedScale.into(),
        hold: Some(Hold::None),
        score_shift: Some(0),
        ..CoreConfig::new(Design::Fa2, d, format)
    };
    let bits = |x: f64| encode(format, x);
    let (q, k) = ([bits(1.0), 0], [0, 0, bits(97.0), 0]);
    let v = [bits(2f64.powi(20)), bits(2f64.powi(60)), 0, 0];
    let result = &Model::new(&config).run(Head::new(&q, &k, &v, &[2]).with_steps())[0];
    assert!(result.steps[1].w >> (format.fraction_bits + 4) >= 139, "{:?}", result.steps[1]);
    let [small, large] = [0, 1].map(|j| decode(format, result.o[j]));
    assert_eq!(small * 2f64.powi(40), large, "the same factor for both lanes");
    assert!((large / 2f64.powi(60) / (-97f64).exp() - 1.0).abs() < 0.02, "{large}");
}

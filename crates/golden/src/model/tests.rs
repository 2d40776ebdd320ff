//! The carriers against each other: whichever is chosen, the bits are the same.

use super::*;
use flashd_hwmodel::config::{Accumulator, Design, Fa2Variant, WeightUnit};
use rand::{RngExt, SeedableRng};

/// Operands that reach every corner: zeros, subnormals, the largest numbers, scores near each other.
fn operands(rng: &mut rand_chacha::ChaCha8Rng, format: Format, spread: u64, n: usize) -> Vec<u64> {
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

#[test]
fn f32_and_f64_give_the_same_bits() {
    let (seed, d, keys, queries) = (71, 9, 60, 20);
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut in_f32 = 0;
    for (_, format) in Format::NAMED {
        for accumulator in [
            None,
            Some(Accumulator::Format),
            Some(Accumulator::Fraction(12)),
            Some(Accumulator::Fraction(16)),
        ] {
            if matches!(accumulator, Some(Accumulator::Fraction(f)) if f < format.fraction_bits) {
                continue;
            }
            for core in 0..4 {
                let design = if core < 2 { Design::FlashD } else { Design::Fa2 };
                let mut config =
                    CoreConfig { accumulator, score_shift: Some(3), ..CoreConfig::new(design, d, format) };
                match core {
                    1 => config.weight = WeightUnit::Paper,
                    3 => config.fa2 = Fa2Variant::Literal,
                    _ => {}
                }
                let model = Model::new(&config);
                for spread in [3, 30, 126] {
                    let q = operands(&mut rng, format, spread / 8, queries * d);
                    let k = operands(&mut rng, format, spread / 8, keys * d);
                    let v = operands(&mut rng, format, spread, keys * d);
                    let lengths = [keys; 20];
                    let chosen = model.carriers(&v);
                    in_f32 += usize::from(chosen.1);
                    let run = |carriers| model.run_in(&q, &k, &v, &lengths, true, carriers);
                    assert!(run(chosen) == run((false, false)), "{}, seed {seed}, {spread}", config.name());
                }
            }
        }
    }
    assert!(in_f32 >= 150, "f32 was chosen only {in_f32} times");
}

#[test]
fn large_bf16_values_take_f64() {
    let model = Model::new(&CoreConfig::new(Design::FlashD, 2, Format::BF16));
    assert_eq!(model.carriers(&[0x3f80, 0xbf80, 0x7fc0]), (true, true));
    assert_eq!(model.carriers(&[0x3f80, 0xff7f]), (true, false));
    let max = Format::BF16.max_finite();
    let v = [max, 0, max | 0x8000, 0];
    let result = &model.run(&[0; 2], &[0; 4], &v, &[2], false)[0];
    assert_eq!((result.o[0], result.saturated), (0, 0), "the mean of the two largest numbers");
}

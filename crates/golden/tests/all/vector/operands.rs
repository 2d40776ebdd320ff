//! Surveys and conversions of encodings, for every set of instructions.

use flashd_golden::parts::{Convert, Decoder, Survey, convert_all};
use flashd_golden::{Isa, decode, v_exponent};
use flashd_spec::format::Format;

/// All encodings of a format of up to 16 bits; of a wider one, many with all exponents.
fn encodings(format: Format) -> Vec<u64> {
    let high = format.width().saturating_sub(16);
    (0..1u64 << format.width().min(16))
        .map(|bits| bits << high | (bits & 3) >> (2 * u32::from(high == 0)))
        .collect()
}

#[test]
fn surveys_agree_with_the_values() {
    for (_, format) in Format::NAMED {
        let all = encodings(format);
        for (bits, d) in [(&all[..], 8), (&all[1..40], 3), (&all[..1], 1), (&[], 2)] {
            for isa in Isa::available() {
                let survey = Survey::of_encodings(isa, format, d, bits);
                let rows = bits.chunks(d);
                let special: Vec<bool> =
                    rows.map(|row| row.iter().any(|&bits| format.is_special(bits))).collect();
                assert_eq!(survey.special, special, "{format}");
                assert_eq!(survey.any_special, special.contains(&true), "{format}");
                let values = bits.iter().map(|&bits| decode(format, bits).abs()).filter(|&x| x > 0.0);
                let (least, most) = values.fold((f64::INFINITY, 0f64), |(l, m), x| (l.min(x), m.max(x)));
                assert_eq!(decode(format, survey.extent.largest), most, "{format}");
                if most > 0.0 {
                    assert_eq!(decode(format, survey.extent.smallest), least, "{format}");
                }
                for exponent in [1, 3, format.exponent_mask() / 2] {
                    let over =
                        |&bits: &u64| decode(format, bits) != 0.0 && v_exponent(format, &[bits]) > exponent;
                    let expected: Vec<bool> = bits.chunks(d).map(|row| row.iter().any(over)).collect();
                    assert_eq!(survey.overflow(format, exponent), expected, "{format} {exponent}");
                }
            }
        }
    }
}

struct Decoded(Decoder);

impl Convert for Decoded {
    type Number = f32;

    #[inline(always)]
    fn of(&self, bits: u64) -> f32 {
        self.0.of(bits)
    }
}

#[test]
fn decoders_give_the_values() {
    for (_, format) in Format::NAMED {
        let bits = encodings(format);
        let decoder = Decoder::new(format).unwrap_or_else(|| panic!("{format} fits"));
        for isa in Isa::available() {
            for (value, &bits) in convert_all(isa, &bits, &Decoded(decoder)).into_iter().zip(&bits) {
                let expected = decode(format, bits) as f32;
                assert_eq!(value.to_bits(), expected.to_bits(), "{format} {bits:#x}");
            }
        }
    }
}

//! Constants and special encodings of the formats.

use flashd_spec::format::Format;

#[test]
fn constants_of_the_named_formats() {
    assert_eq!(Format::BF16.value(Format::BF16.max_finite()), f32::from_bits(0x7f7f_0000) as f64);
    assert_eq!(Format::FP8_E4M3.value(Format::FP8_E4M3.max_finite()), 448.0);
    assert_eq!(Format::FP8_E5M2.value(Format::FP8_E5M2.max_finite()), 57344.0);
    assert_eq!(Format::FP16.value(Format::FP16.max_finite()), 65504.0);
    assert_eq!(Format::FP32.value(Format::FP32.max_finite()), f32::MAX as f64);
    assert_eq!(Format::FP8_E4M3.value(1), 2f64.powi(-9));
    for (_, f) in Format::NAMED {
        assert_eq!(f.value(f.one()), 1.0);
    }
}

#[test]
fn specials_count_as_zero() {
    assert!(Format::FP8_E4M3.is_special(0x7f) && Format::FP8_E4M3.is_special(0xff));
    assert!(!Format::FP8_E4M3.is_special(0x7e));
    assert!(Format::BF16.is_special(0x7f80) && Format::BF16.is_special(0xffc0));
    assert_eq!(Format::BF16.value(0x7f80), 0.0);
    assert!(Format::BF16.value(0x8001).is_sign_negative());
}

//! Latency, and the widths that follow from the formats.

use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_spec::numerics::{Numerics, argument_integer_bits, static_limits};

#[test]
fn latency_is_the_contract() {
    for (d, latency) in [(16, 8), (64, 10), (256, 12), (2, 5), (5, 7), (512, 13)] {
        let n = Numerics::new(&CoreConfig::new(Design::Fa2, d, Format::BF16));
        assert_eq!(n.latency(), latency, "d = {d}");
    }
}

#[test]
fn arguments_reach_below_every_format() {
    let bits = |f| argument_integer_bits(f, 18);
    assert_eq!([Format::BF16, Format::FP8_E4M3, Format::FP16, Format::FP32].map(bits), [7, 4, 5, 7]);
    for (_, f) in Format::NAMED {
        let limit = 2f64.powi(bits(f) as i32);
        assert!((-limit).exp() < f.value(f.min_positive()) / 2.0, "{f}");
        assert!((-limit).exp() < 2f64.powi(-19), "{f}");
    }
}

#[test]
fn static_limits_are_representable() {
    for (_, f) in Format::NAMED {
        let (low, high) = static_limits(f);
        assert_eq!(f.value(low), -6.0);
        assert!((11.0..=12.0).contains(&f.value(high)));
    }
}

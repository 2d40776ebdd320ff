//! The function units against the functions themselves.

use crate::common::bits_of;
use flashd_golden::decode;
use flashd_golden::units::{exp, ln, log2p1, paper_sigmoid, reciprocal, sigmoid, softplus};
use flashd_spec::format::Format;
use std::f64::consts::LOG2_E;

/// All encodings of a narrow format, a sample of a wide one.
fn operands(format: Format) -> impl Iterator<Item = u64> {
    let step = if format.width() > 16 { 999_983 } else { 1 };
    (0..format.sign_bit() << 1).step_by(step).filter(move |&b| !format.is_special(b))
}

/// Half an ulp of the format at the lower end of x's binade, up to a whole one at the upper end.
fn half_unit(format: Format, x: f64) -> f64 {
    let p = format.precision() as i32;
    let smallest = 2f64.powi(format.min_exponent());
    (x.abs() * 2f64.powi(-p)).max(smallest * 2f64.powi(-p))
}

/// Checks `unit` on all operands for which `exact` returns a number: the error is at most half an ulp of the format
/// plus the relative error of the tables plus an absolute one.
fn check(
    name: &str,
    unit: fn(Format, u32, u64) -> u64,
    exact: fn(f64) -> Option<f64>,
    relative: f64,
    absolute: f64,
) {
    for (_, format) in Format::NAMED {
        for segments in [4u32, 8, 16, 32] {
            let fit = 1.0 / (segments * segments) as f64;
            for a in operands(format) {
                let x = decode(format, a);
                if let Some(y) = exact(x) {
                    let got = decode(format, unit(format, segments, a));
                    let flushed = if format.fraction_bits == 7 || format.fraction_bits == 23 {
                        2f64.powi(-126)
                    } else {
                        0.0
                    };
                    let allowed = half_unit(format, y) + fit * (relative * y.abs() + absolute) + flushed;
                    assert!(
                        (got - y).abs() <= allowed,
                        "{name} {format} {segments}: {x} gives {got}, not {y}"
                    );
                }
            }
        }
    }
}

#[test]
fn exponential() {
    check("exp", exp, |x| (-87.0..=0.0).contains(&x).then(|| x.exp()), 0.12, 0.0);
    let bf16 = |x| bits_of(Format::BF16, x);
    assert_eq!(exp(Format::BF16, 8, bf16(0.0)), bf16(1.0));
    assert_eq!(exp(Format::BF16, 8, bf16(3.0)), bf16(1.0));
    for (_, format) in Format::NAMED {
        let lowest = format.sign_bit() | format.max_finite();
        assert_eq!(exp(format, 8, lowest), 0, "{format}: exp of the most negative number vanishes");
    }
}

#[test]
fn sigmoid_is_relatively_accurate() {
    let exact = |x: f64| {
        (x > -87.0).then(|| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) })
    };
    check("sigmoid", sigmoid, exact, 0.2, 0.0);
    for (_, format) in Format::NAMED {
        for zero in [0, format.sign_bit()] {
            assert_eq!(decode(format, sigmoid(format, 8, zero)), 0.5);
        }
        for a in operands(format) {
            for segments in [4, 8, 16, 32] {
                let y = decode(format, sigmoid(format, segments, a));
                // FLASH-D's lanes rely on a factor of at most 1/2.
                let most = if decode(format, a) < 0.0 { 0.5 } else { 1.0 };
                assert!((0.0..=most).contains(&y), "{format} {segments}: sigmoid of {a:#x} is {y}");
            }
        }
    }
}

#[test]
fn softplus_is_relatively_accurate() {
    let exact = |x: f64| (x > -87.0).then(|| x.max(0.0) + (-x.abs()).exp().ln_1p());
    check("softplus", softplus, exact, 0.2, 0.02);
}

#[test]
fn log2p1_is_relatively_accurate() {
    check("log2p1", log2p1, |x| (-15.0..=0.0).contains(&x).then(|| x.exp2().ln_1p() * LOG2_E), 0.3, 0.0);
    for (_, format) in Format::NAMED {
        assert_eq!(log2p1(format, 8, 0), format.one(), "{format}: two equal scores make twice one");
    }
}

#[test]
fn logarithm() {
    check("ln", ln, |x| (x > 0.0 && x < 1.0).then(|| x.ln()), 0.02, 0.15);
    for (_, format) in Format::NAMED {
        let least = ln(format, 8, format.min_positive());
        for bits in [0, format.sign_bit(), format.one() | format.sign_bit()] {
            assert_eq!(ln(format, 8, bits), least);
        }
        assert_eq!(ln(format, 8, format.one()), 0);
        assert_eq!(ln(format, 8, format.max_finite()), 0);
    }
}

#[test]
fn papers_sigmoid_on_its_range() {
    // The segments are spread over 17 units of x, so the error is a few per cent of 1 with 8 segments.
    for (_, format) in Format::NAMED {
        for a in operands(format) {
            let x = decode(format, a);
            let y = decode(format, paper_sigmoid(format, 8, a));
            let clamped = x.clamp(-6.0, 11.0);
            let exact = 1.0 / (1.0 + (-clamped).exp());
            assert!((y - exact).abs() < 0.02 + half_unit(format, exact), "{format} {x}: {y}, not {exact}");
        }
    }
}

#[test]
fn reciprocal_is_within_three_quarters_of_a_unit() {
    for (_, format) in Format::NAMED {
        let max = decode(format, format.max_finite());
        for a in operands(format) {
            let x = decode(format, a);
            let got = decode(format, reciprocal(format, a));
            if x == 0.0 {
                assert_eq!(got, max.copysign(x));
                continue;
            }
            let y = (1.0 / x).clamp(-max, max);
            let flushed = if y.abs() < 2f64.powi(format.min_exponent()) { y.abs() } else { 0.0 };
            // Half an ulp of rounding and a quarter of an ulp of the divider.
            let allowed = half_unit(format, y) * 2.0 * 0.76 + flushed;
            assert!((got - y).abs() <= allowed, "{format}: 1 / {x} gives {got}, not {y}");
        }
    }
}

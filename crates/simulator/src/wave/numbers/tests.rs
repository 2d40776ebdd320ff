use super::super::signals;
use super::super::variants::variants;
use super::*;
use flashd_hwmodel::catalogue::build;
use flashd_spec::config::{Accumulator, LaneBits};
use std::collections::BTreeSet;

/// All variants in a format, with widths that no two quantities share as far as they can be chosen, so that a bus
/// whose row is gone or wrong has no number.
fn configurations(format: Format, d: usize) -> Vec<CoreConfig> {
    let unusual = |config: CoreConfig| {
        // A multiplier that also does the final scale takes no narrower factor.
        let w = if config.kind().scales_in_lane { 12 } else { 7 };
        let lane = config.has_fixed_lanes().then_some(LaneBits { o: 26, v: 19, w });
        let accumulator =
            (!config.has_fixed_lanes()).then_some(Accumulator::Fraction(17.max(format.fraction_bits)));
        CoreConfig { accumulator, lane, score_integer_bits: 10, ..config }.without_what_does_not_apply()
    };
    let mixed = CoreConfig::mixed_precision(d).into_iter().filter(|config| config.format == format);
    variants(d, format).into_iter().map(unusual).chain(mixed).collect()
}

#[test]
fn every_wide_bus_is_a_number_or_known_as_bits() {
    let mut unknown = BTreeSet::new();
    for (_, format) in Format::NAMED {
        for d in [2, 5, 16] {
            for config in configurations(format, d) {
                let signals = signals::list("core", &build(&config).unwrap());
                let numbers = Numbers::new(&config);
                for s in signals.iter().filter(|s| s.width > 1) {
                    let path = s.below_top();
                    let bits = numbers.row(path).is_some_and(|(_, quantity)| quantity == Quantity::Bits);
                    if !bits && numbers.of(path, s.width).is_none() {
                        unknown.insert(format!("{}: {path}", config.name()));
                    }
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// A bus without a row is decoded as a float of the format by its width alone. So no other quantity may have that
/// width.
#[test]
fn only_floats_of_the_format_have_no_row() {
    use Quantity::{Accumulator, Bias, Inner, Key, Port, PortValue, Result, Weight};
    for format in [Format::BF16, Format::FP8_E4M3] {
        for config in configurations(format, 5) {
            let numbers = Numbers::new(&config);
            let floats = [Bias, Port, Key, PortValue, Result, Quantity::Value, Weight, Accumulator, Inner];
            for (row, quantity) in numbers.rows.iter().filter(|(_, quantity)| !floats.contains(quantity)) {
                let width = numbers.number(*quantity, u32::MAX).map(Number::width);
                assert_ne!(width, Some(format.width()), "{}: {row}", config.name());
            }
        }
    }
}

#[test]
fn every_row_is_a_bus() {
    let (mut rows, mut met) = (BTreeSet::new(), BTreeSet::new());
    let capped = CoreConfig { softcap: Some(30.0), ..CoreConfig::new(Design::FlashD, 5, Format::BF16) };
    for config in variants(64, Format::BF16).iter().chain(&variants(5, Format::BF16)).chain([&capped]) {
        let numbers = Numbers::new(config);
        rows.extend(numbers.rows.iter().map(|(row, _)| *row));
        let signals = signals::list("core", &build(config).unwrap());
        met.extend(signals.iter().filter_map(|s| numbers.row(s.below_top())).map(|(row, _)| row));
    }
    let unused: Vec<_> = rows.difference(&met).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn flash_d_shows_the_weight_beside_the_bit_that_tells_which_side() {
    for config in variants(5, Format::BF16) {
        let signals = signals::list("core", &build(&config).unwrap());
        let numbers = Numbers::new(&config);
        let weights: Vec<Beside> = (0..signals.len())
            .filter_map(|i| numbers.beside(&signals, i))
            .filter(|beside| matches!(beside.reading, Reading::Weight(_)))
            .collect();
        let expected = config.weight() == Some(flashd_spec::config::WeightUnit::Lse);
        assert_eq!(weights.len(), expected as usize, "{}", config.name());
        assert!(weights.iter().all(|beside| beside.name == "weight_real"));
    }
}

#[test]
fn values() {
    let fixed = |signed| Number::Fixed { signed, width: 8, fraction: 4 };
    assert_eq!((fixed(true).value(0xf8), fixed(false).value(0xf8)), (-0.5, 15.5));
    assert_eq!(Number::Float(Format::BF16).value(0xbfc0), -1.5);
    let factor = Number::Factor { width: 9, significand: 4, fraction: 3 };
    assert_eq!([0x008, 0x03c, 0x1f0].map(|bits| factor.value(bits)), [1.0, 0.1875, 0.0]);
    for number in [Number::Float(Format::BF16), Number::Factor { width: 18, significand: 8, fraction: 7 }] {
        let quarter = match number {
            Number::Float(_) => 0x3e80,
            _ => 2 << 8 | 0x80,
        };
        let weight = Reading::Weight(number);
        assert_eq!((weight.value(0, quarter), weight.value(1, quarter)), (0.25, 0.75));
    }
}

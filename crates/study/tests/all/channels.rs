//! Errors where channels of V differ in size.

use flashd_spec::config::{CoreConfig, Design, Fa2Variant, FlashDVariant};
use flashd_spec::format::Format;
use flashd_study::channels::{D, FACTORS, LargeChannels, measure, steps};
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn float_lanes_keep_small_channels_and_a_common_exponent_does_not() {
    let format = Format::BF16;
    let datapaths =
        [FlashDVariant::Fixed.into(), FlashDVariant::Rounded.into(), Fa2Variant::SharedScale.into()];
    let cores: Vec<CoreConfig> =
        datapaths.into_iter().map(|datapath| CoreConfig::with_datapath(datapath, D, format)).collect();
    let sets = [(format.into(), cores)];
    let done = AtomicUsize::new(0);
    let count = || {
        done.fetch_add(1, Ordering::Relaxed);
    };
    let all = measure(&sets, &count).unwrap();
    assert_eq!(done.into_inner(), steps(&sets));
    let [fixed, rounded, fa2] = &all[0].cores[..] else { panic!("three cores") };
    assert_eq!(fixed.errors.len(), LargeChannels::ALL.len() * FACTORS.len());
    for ((fixed, rounded), fa2) in fixed.errors.iter().zip(&rounded.errors).zip(&fa2.errors) {
        assert_eq!((fixed.large, fixed.factor), (fa2.large, fa2.factor));
        assert_eq!(fa2.over_fa2, Some(1.0));
        // Powers of two change no rounding of floats, but the choice of counted channels.
        let (first, other) = (all[0].cores[1].errors[0].mean, rounded.mean);
        assert!((other / first - 1.0).abs() < 0.2, "{:?} {}: {other} and {first}", fixed.large, fixed.factor);
        if fixed.factor >= 256 {
            assert!(fixed.over_fa2 > Some(3.0), "{:?} {}: {:?}", fixed.large, fixed.factor, fixed.over_fa2);
        } else if fixed.factor == 1 {
            assert!(fixed.over_fa2 < Some(1.1), "{:?}", fixed.over_fa2);
        }
        assert!(fixed.worst >= fixed.mean);
    }
    assert_eq!(all[0].cores[0].configuration.channel_spread(), Some(4.0));
    assert_eq!(CoreConfig::new(Design::Fa2, D, format).channel_spread(), None);
}

/// Lanes with separate ranges are as good for small channels as float lanes, however large the others are.
#[test]
fn ranged_lanes_keep_small_channels() {
    for format in [Format::BF16, Format::FP8_E4M3] {
        let ranged = CoreConfig::with_datapath(FlashDVariant::Ranged.into(), D, format);
        let staged = CoreConfig { value_stage: Some(true), ..ranged.clone() };
        let fa2 = CoreConfig::new(Design::Fa2, D, format);
        assert_eq!(ranged.channel_spread(), None);
        let all = measure(&[(format.into(), vec![ranged, staged, fa2])], &|| {}).unwrap();
        let [ranged, staged, _] = &all[0].cores[..] else { panic!("three cores") };
        assert_eq!(ranged.errors, staged.errors);
        for error in &ranged.errors {
            let over = error.over_fa2.unwrap();
            assert!(over <= 1.05, "{format}, {:?} {}: {over} of FA2's", error.large, error.factor);
        }
    }
}

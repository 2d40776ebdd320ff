//! The rule of equal error.

use flashd_spec::config::{Accumulator, CoreConfig, Design, Fa2Variant};
use flashd_spec::format::Format;
use flashd_study::equal_error::{Judged, RULE, growing, judge};

/// Cores of both designs for so many keys, and FA2 with a sum in the format and four bits more, which is enough for some hundred keys.
fn cores(format: Format, max_keys: usize) -> [CoreConfig; 3] {
    let [flash_d, fa2] = [Design::FlashD, Design::Fa2]
        .map(|design| CoreConfig { max_keys, ..CoreConfig::new(design, 16, format) });
    let narrow = CoreConfig {
        accumulator: Some(Accumulator::Fraction(format.fraction_bits + 4)),
        ..CoreConfig::with_datapath(Fa2Variant::SharedScale.into(), 16, format)
    };
    [flash_d, fa2, CoreConfig { max_keys, ..narrow }]
}

fn check(format: Format, keys: usize) {
    let cores = cores(format, keys);
    let judged = judge(format.into(), &cores, &growing(), &[keys], &|| ()).unwrap();
    let text = |core: &CoreConfig, judged: &Judged| {
        let Judged { mean, worst_mean, worst_max, .. } = judged;
        format!("{}, {keys} keys: {mean:.3} {worst_mean:.2} {worst_max:.2}", core.name())
    };
    for (core, judged) in cores.iter().zip(&judged) {
        println!("{}", text(core, judged));
    }
    for place in [0, 1] {
        assert!(judged[place].holds(RULE), "{}", text(&cores[place], &judged[place]));
    }
    assert!(!judged[2].holds(RULE), "{}", text(&cores[2], &judged[2]));
}

#[test]
fn shipped_cores_hold_for_short_contexts() {
    for format in [Format::BF16, Format::FP8_E4M3, Format::FP8_E5M2] {
        check(format, 2048);
    }
}

#[test]
#[ignore = "minutes: cargo test --release -p flashd-study --test all equal_error -- --ignored"]
fn shipped_cores_hold_for_their_default_length() {
    for format in [Format::BF16, Format::FP8_E4M3, Format::FP8_E5M2, Format::FP16] {
        check(format, 65_536);
    }
}

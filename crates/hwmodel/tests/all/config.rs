//! Names, limits and combinations of configurations.

use flashd_spec::config::{
    Accumulator, ArrayConfig, CoreConfig, DEFAULT_HOLD, Design, Fa2Variant, FlashDVariant, Hold, LaneBits,
    SplitConfig, WrapperConfig, default_score_shift, without_digest,
};
use flashd_spec::format::Format;

#[test]
fn names_list_non_default_options() {
    let c = CoreConfig::new(Design::FlashD, 64, Format::BF16);
    assert_eq!(c.name(), "flash_d_bf16_d64");
    assert_eq!(
        CoreConfig { datapath: FlashDVariant::Paper.into(), ..c.clone() }.name(),
        "flash_d_paper_bf16_d64"
    );
    let odd = CoreConfig {
        hold: Some(Hold::None),
        datapath: FlashDVariant::Rounded.into(),
        accumulator: Some(Accumulator::Fraction(16)),
        segments: Some(16),
        score_shift: Some(-5),
        ..c
    };
    assert_eq!(odd.name(), "flash_d_rounded_nohold_acc16_seg16_shiftm5_bf16_d64");
    let literal = CoreConfig {
        datapath: Fa2Variant::Literal.into(),
        ..CoreConfig::new(Design::Fa2, 16, Format::FP8_E4M3)
    };
    assert_eq!(literal.name(), "fa2_literal_fp8_e4m3_d16");
    let names = |hold| -> Vec<String> {
        CoreConfig::with_hold(16, Format::BF16, hold).iter().map(CoreConfig::name).collect()
    };
    let has = |hold, name: &str| assert!(names(hold).iter().any(|n| n == name), "{name}");
    // G - 4, with 2^G keys.
    has(Hold::Budget(12), "flash_d_bf16_d16");
    has(Hold::Budget(4), "flash_d_budget4_bf16_d16");
    has(Hold::Below(DEFAULT_HOLD), "flash_d_unstaged_hold12_bf16_d16");
    has(Hold::Below(DEFAULT_HOLD), "flash_d_fixed_staged_hold12_bf16_d16");
    let coarse =
        CoreConfig { state_fraction_bits: Some(12), ..CoreConfig::new(Design::FlashD, 16, Format::BF16) };
    // ln 65,536 + 9 ln 2, rounded up: held keys together stay below an ulp of bf16.
    assert_eq!(coarse.hold(), Hold::Below(18.0));
}

/// Names of files and tops have a limit, and truncated ones are still distinct.
#[test]
fn names_of_many_options_are_cut() {
    let core = |softcap| CoreConfig {
        hold: Some(Hold::Below(22.572340581701507)),
        datapath: FlashDVariant::Rounded.into(),
        accumulator: Some(Accumulator::Float(Format::FP8_E4M3)),
        softcap: Some(softcap),
        bias: true,
        value_latency: 14,
        weight_bits: Some(11),
        segments: Some(16),
        score_shift: Some(2),
        k_format: Some(Format::FP8_E5M2),
        v_format: Some(Format::FP6_E2M3),
        ..CoreConfig::new(Design::FlashD, 17, Format::FP4_E2M1)
    };
    let names: Vec<String> = [20.0, 30.0]
        .into_iter()
        .flat_map(|softcap| {
            let core = core(softcap);
            let array = ArrayConfig { key_index_bits: Some(27), ..ArrayConfig::new(core.clone(), 16) };
            let split = SplitConfig::new(core.clone(), 16);
            [core.name(), array.name(), split.name(), WrapperConfig::new(array).name()]
        })
        .collect();
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
    for name in &names {
        assert!(name.len() <= 123 && name.starts_with("flash_d_rounded_"), "{name}");
        assert_ne!(without_digest(name), name);
    }
}

#[test]
fn the_shipped_cores_are_valid_and_have_distinct_names() {
    let cores = CoreConfig::shipped();
    let names: std::collections::BTreeSet<_> = cores.iter().map(CoreConfig::name).collect();
    assert_eq!((cores.len(), names.len()), (24, 24));
    assert!(cores.iter().all(|c| c.validate().is_ok()));
}

#[test]
fn variants_are_valid_and_have_distinct_names() {
    for (_, format) in Format::NAMED {
        let cores = CoreConfig::variants(16, format);
        let names: std::collections::BTreeSet<_> = cores.iter().map(CoreConfig::name).collect();
        assert_eq!(names.len(), cores.len());
        for core in cores.into_iter().chain(CoreConfig::with_hold(16, format, Hold::Below(DEFAULT_HOLD))) {
            assert_eq!(core.validate(), Ok(()), "{}", core.name());
        }
    }
}

/// `format` keeps the exponents of the format; a number of fraction bits adds exponents for the sum.
#[test]
fn the_formats_own_accumulator_is_another_core() {
    let of = |accumulator| CoreConfig {
        accumulator: Some(accumulator),
        ..CoreConfig::with_datapath(Fa2Variant::SharedScale.into(), 16, Format::FP8_E4M3)
    };
    let [own, bits] = [Accumulator::Format, Accumulator::Fraction(3)].map(of);
    assert_ne!(own.accumulator_format(), bits.accumulator_format());
    assert_ne!(own.name(), bits.name());
}

#[test]
fn combinations_that_do_not_exist_are_refused() {
    let flash_d = CoreConfig::new(Design::FlashD, 16, Format::BF16);
    let fa2 = CoreConfig::new(Design::Fa2, 16, Format::BF16);
    let paper = CoreConfig { datapath: FlashDVariant::Paper.into(), ..flash_d.clone() };
    let lane = Some(LaneBits { o: 18, v: 11, w: 7 });
    let refused = [
        ("lane", CoreConfig { lane, datapath: FlashDVariant::Rounded.into(), ..flash_d.clone() }),
        ("lane", CoreConfig { lane, ..paper.clone() }),
        (
            "lane",
            CoreConfig {
                lane: Some(LaneBits { o: 10, v: 12, w: 7 }),
                datapath: FlashDVariant::Fixed.into(),
                ..flash_d.clone()
            },
        ),
        (
            "accumulator",
            CoreConfig {
                accumulator: Some(Accumulator::Format),
                datapath: FlashDVariant::Fixed.into(),
                ..flash_d.clone()
            },
        ),
        (
            "hold",
            CoreConfig { datapath: Fa2Variant::Literal.into(), hold: Some(Hold::Below(8.0)), ..fa2.clone() },
        ),
        ("hold", CoreConfig { hold: Some(Hold::Budget(9)), ..fa2.clone() }),
        ("hold", CoreConfig { datapath: Fa2Variant::Literal.into(), hold: Some(Hold::Budget(9)), ..fa2 }),
        ("hold", CoreConfig { hold: Some(Hold::Budget(9)), ..paper.clone() }),
        ("hold", CoreConfig { hold: Some(Hold::Budget(3)), ..flash_d.clone() }),
        ("hold", CoreConfig { hold: Some(Hold::Budget(23)), ..flash_d.clone() }),
        (
            "state_fraction_bits",
            CoreConfig { hold: Some(Hold::Budget(9)), state_fraction_bits: Some(13), ..flash_d.clone() },
        ),
    ];
    for (field, config) in refused {
        assert_eq!(config.validate().unwrap_err().field, field, "{config:?}");
    }
}

#[test]
fn bad_values_are_named() {
    let c = CoreConfig::new(Design::FlashD, 1, Format::BF16);
    assert_eq!(c.validate().unwrap_err().to_string(), "d: 1 is outside 2 to 576");
    let c = CoreConfig { segments: Some(7), ..CoreConfig::new(Design::Fa2, 16, Format::BF16) };
    assert_eq!(c.validate().unwrap_err().field, "segments");
}

#[test]
fn score_shift_leaves_a_remainder_between_half_and_one() {
    for d in 2..=512usize {
        let rest = 2f64.powi(-default_score_shift(d)) / (d as f64).sqrt();
        assert!(rest > 0.5 && rest <= 1.0, "d = {d}: {rest}");
    }
    assert_eq!([16, 64, 256].map(default_score_shift), [-2, -3, -4]);
}

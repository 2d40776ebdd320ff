use super::*;
use flashd_spec::config::FlashDVariant;

use std::io::Write;

fn grid(text: &str) -> Result<GridFile, GridError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    GridFile::read(file.path())
}

fn names(text: &str, format: Format) -> Vec<String> {
    grid(text).unwrap().cores(16, &[format]).unwrap().iter().map(stem).collect()
}

fn refused(text: &str) -> String {
    match grid(text) {
        Err(e) => e.to_string(),
        Ok(grid) => grid.cores(16, &[Format::BF16]).unwrap_err().to_string(),
    }
}

#[test]
fn lists_stand_for_all_combinations() {
    let text = r#"[{"design": "flash-d", "update": "fixed", "lane": {"o": [16, 18], "v": 12, "w": [7, 8]}},
                   {"design": "flash-d", "update": "rounded", "accumulator": ["format", {"fraction": [9, 19]}]},
                   {"design": "fa2", "fa2": "shared-scale", "accumulator": ["format", {"fraction": [9, 19]}]}]"#;
    let expected = [
        "flash_d_fixed_o16v12w7",
        "flash_d_fixed_o16v12w8",
        "flash_d_fixed_o18v12w7",
        "flash_d_fixed_o18v12w8",
        "flash_d_rounded_acc_format",
        "flash_d_rounded_acc9",
        "flash_d_rounded_acc19",
        "fa2_shared_acc_format",
        "fa2_shared_acc9",
        "fa2_shared_acc19",
    ];
    let mut found = names(text, Format::BF16);
    let mut expected: Vec<String> = expected.iter().map(|name| name.to_string()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

/// Names of the cores in two formats.
fn in_two_formats(text: &str) -> Vec<String> {
    let cores = grid(text).unwrap().cores(16, &[Format::BF16, Format::FP8_E4M3]).unwrap();
    cores.iter().map(CoreConfig::name).collect()
}

#[test]
fn an_entry_may_be_for_one_format() {
    let text = r#"[{"design": "fa2", "format": "fp16", "segments": 32}, {"design": "fa2"}]"#;
    assert_eq!(in_two_formats(text), ["fa2_seg32_fp16_d16", "fa2_bf16_d16", "fa2_fp8_e4m3_d16"]);
}

#[test]
fn operands_and_scales_may_be_lists() {
    let operands =
        r#"[{"design": "fa2", "format": "fp8-e4m3", "v_format": ["fp8-e4m3", "int8"], "o_format": "bf16"}]"#;
    assert_eq!(in_two_formats(operands), ["fa2_o_bf16_fp8_e4m3_d16", "fa2_v_int8_o_bf16_fp8_e4m3_d16"]);
    let queries = r#"[{"design": "fa2", "q_format": ["bf16", "fp8-e4m3"]}]"#;
    assert_eq!(in_two_formats(queries).len(), 4);
    let scales =
        r#"[{"design": "fa2", "format": "fp8-e4m3", "scales": ["none", "mx"], "v_scales": [null, "none"]}]"#;
    assert_eq!(in_two_formats(scales).len(), 3);
}

#[test]
fn a_core_is_measured_once() {
    // The default for 65,536 keys.
    let text = r#"[{"design": "fa2", "fa2": "shared-scale"}, {"design": "fa2", "fa2": "shared-scale", "accumulator": {"fraction": 23}}]"#;
    assert_eq!(names(text, Format::BF16), ["fa2_shared"]);
}

#[test]
fn bad_grids_name_the_entry_and_the_field() {
    for (text, parts) in [
        ("{", &["a JSON list of objects"][..]),
        ("[]", &["empty"]),
        ("[{\"design\": \"fa2\"}, 3]", &["entry 2 is 3"]),
        (r#"[{"design": "fa2"}, {"design": "fa2", "colour": 3}]"#, &["entry 2", "colour"]),
        (r#"[{"d": 16, "design": "fa2"}]"#, &["entry 1", "d: "]),
        (r#"[{"update": "fixed"}]"#, &["entry 1", "design"]),
        (
            r#"[{"design": "fa2", "fa2": "shared-scale", "lane": {"o": 18, "v": 12, "w": 8}}]"#,
            &["entry 1", "lane"],
        ),
        (r#"[{"design": "fa2", "segments": [8, 9]}]"#, &["segments: 9"]),
        (r#"[{"design": "fa2", "format": "fp8-e4m3", "segments": 9}]"#, &["segments: 9"]),
    ] {
        let message = refused(text);
        assert!(parts.iter().all(|part| message.contains(part)), "{text}: {message}");
    }
    let digits: Vec<String> = (0..30).map(|i| i.to_string()).collect();
    let list = digits.join(",");
    let many =
        format!(r#"[{{"design": "fa2", "segments": [{list}], "score_shift": [{list}], "x": [{list}]}}]"#);
    assert!(refused(&many).contains("more than 10000"));
}

#[test]
fn the_default_grid_has_every_variant_and_every_default() {
    for (_, format) in Format::NAMED {
        let cores = default_grid(16, format);
        let found: HashSet<String> = cores.iter().map(CoreConfig::name).collect();
        assert_eq!(found.len(), cores.len());
        for core in CoreConfig::variants(16, format).iter().filter(|core| core.validate().is_ok()) {
            assert!(found.contains(&core.name()), "{}", core.name());
        }
        assert!(cores.iter().all(|core| core.validate().is_ok()));
    }
    let lanes = |design| {
        let all = default_grid(16, Format::BF16);
        all.iter().filter(|c| c.design() == design && c.has_fixed_lanes()).count()
    };
    // Accumulators and factors; of FLASH-D twice, as its lanes have one range or each its own, their defaults, and both with the other value stage. FA2
    // has a variant with three factors and two with two, and their defaults.
    assert_eq!(lanes(Design::FlashD), 2 * 4 * 4 + 4);
    assert_eq!(lanes(Design::Fa2), (3 * 3 + 1) + 2 * (3 * 2 + 1));
}

#[test]
fn a_variant_is_a_name_without_widths() {
    let lane = Some(LaneBits { o: 18, v: 12, w: 8 });
    let core = CoreConfig {
        datapath: FlashDVariant::Fixed.into(),
        lane,
        ..CoreConfig::new(Design::FlashD, 32, Format::FP8_E4M3)
    };
    assert_eq!(core.name(), format!("{}_fp8_e4m3_d32", stem(&core)));
    assert_eq!(stem(&core), "flash_d_fixed_o18v12w8");
    assert_eq!(variant(&core), "flash_d_fixed");
}

#[test]
fn a_variant_is_a_name_without_scales() {
    let text = r#"[{"design": ["flash-d", "fa2"], "format": ["fp8-e4m3", "int8", "fp4-e2m1"], "scales": "mx"},
                   {"design": "fa2", "format": "int8", "scales": "none", "lane": {"o": 18, "v": 12, "w": 8}}]"#;
    let cores = grid(text).unwrap().cores(32, &[]).unwrap();
    assert_eq!(cores.len(), 7);
    for core in &cores {
        let design = if core.design() == Design::FlashD { "flash_d" } else { "fa2" };
        assert_eq!(variant(core), design, "{}", core.name());
        let variants = variants_like(core);
        assert!(variants.iter().all(|variant| variant.encodings() == core.encodings()));
        assert!(variants.iter().any(|variant| stem_without_scales(variant) == design), "{}", core.name());
    }
    assert_eq!(stem_without_scales(&cores[6]), "fa2_o18v12w8");
}

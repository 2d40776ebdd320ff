use super::*;
use flashd_spec::config::FlashDVariant;
use serde_json::json;
use std::io::Write;

fn grid(text: &str) -> Result<GridFile, GridError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    GridFile::read(file.path())
}

fn names(text: &str, format: Format) -> Vec<String> {
    cores(&grid(text).unwrap(), 16, &[format]).unwrap().iter().map(stem).collect()
}

fn refused(text: &str) -> String {
    match grid(text) {
        Err(e) => e.to_string(),
        Ok(grid) => cores(&grid, 16, &[Format::BF16]).unwrap_err().to_string(),
    }
}

#[test]
fn lists_expand_to_all_combinations() {
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
    let cores = cores(&grid(text).unwrap(), 16, &[Format::BF16, Format::FP8_E4M3]).unwrap();
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

fn all(value: Value) -> Result<Vec<Value>, String> {
    let found = grid(&value.to_string()).and_then(|grid| grid.combinations(1_000_000, |_| Ok(())));
    found
        .map(|all| all.into_iter().map(|(_, fields)| Value::Object(fields)).collect())
        .map_err(|e| e.to_string())
}

#[test]
fn lists_and_ranges_stand_for_all_combinations() {
    let found = all(json!([
        {"kind": "a", "x": [1, 2], "y": {"type": "int", "minmax": [4, 9], "step": 2}},
        {"kind": "b", "n": {"all": [1, 2]}, "z": {"type": "float", "minmax": [0.1, 0.3], "step": 0.1}},
        {"kind": "c", "s": ["u", "v"], "core": {"lane": {"o": [7, 8]}}},
    ]))
    .unwrap();
    let mut expected = Vec::new();
    for x in [1, 2] {
        expected.extend([4, 6, 8].map(|y| json!({"kind": "a", "x": x, "y": y})));
    }
    expected.extend([0.1, 0.2, 0.1 + 2.0 * 0.1].map(|z| json!({"kind": "b", "n": {"all": [1, 2]}, "z": z})));
    for o in [7, 8] {
        expected.extend(["u", "v"].map(|s| json!({"kind": "c", "s": s, "core": {"lane": {"o": o}}})));
    }
    assert_eq!(found, expected);
}

#[test]
fn samples_are_drawn_from_a_seed() {
    let entry = |seed: u64| {
        json!([{
            "x": {"type": "float", "minmax": [2.0, 3.0], "step": 0}, "y": {"type": "int", "minmax": [1, 6]},
            "z": ["a", "b"], "samples": {"count": 200, "seed": seed},
        }])
    };
    let found = all(entry(3)).unwrap();
    assert_eq!((found.len(), &found), (200, &all(entry(3)).unwrap()));
    assert_ne!(found, all(entry(4)).unwrap());
    assert!(found.iter().all(|v| (2.0..=3.0).contains(&v["x"].as_f64().unwrap())));
    for y in 1..=6 {
        for z in ["a", "b"] {
            // 200 / 12 on average; none in 200 draws is a chance of 3e-8.
            assert!(found.iter().any(|v| v["y"] == y && v["z"] == z), "{y} {z}");
        }
    }
}

#[test]
fn what_is_no_grid_is_refused() {
    for (entry, part) in [
        (json!(3), "entry 1 is 3"),
        (json!({"x": []}), "x: the list is empty"),
        (json!({"core": {"x": [1, "a", 1]}}), "entry 1: core: x: 1 is there twice"),
        (json!({"x": {"type": "int", "minmax": [1, 2]}}), "x: step: 0"),
        (json!({"x": {"type": "int", "minmax": [1, 2.5], "step": 1}}), "whole numbers"),
        (json!({"x": {"type": "int", "minmax": [2, 1], "step": 1}}), "2 to 1"),
        (json!({"x": {"type": "text", "minmax": [2, 1]}}), "text"),
        (json!({"x": {"type": "float", "minmax": [0, 1], "step": 1e-9}}), "larger step"),
        (json!({"x": {"all": [1], "y": 2}}), "only field"),
        (json!({"samples": 3}), "samples"),
        (
            json!({"a": (0..2000).collect::<Vec<_>>(), "b": (0..2000).collect::<Vec<_>>()}),
            "more than 1000000 combinations",
        ),
    ] {
        let message = all(json!([entry])).unwrap_err();
        assert!(message.contains(part), "{entry}: {message}");
    }
    let twice = all(json!([{"kind": "a"}, {"kind": "b"}, {"kind": "a"}])).unwrap_err();
    assert!(twice.ends_with("entry 3: is the same as entry 1; one is needed"), "{twice}");
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
    let cores = cores(&grid(text).unwrap(), 32, &[]).unwrap();
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

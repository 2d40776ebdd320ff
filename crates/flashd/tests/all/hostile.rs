//! Hostile configurations: refused with one line, or generated; never a panic.

use proptest::prelude::*;
use std::process::Command;

/// A field of a configuration file with a value that may suit it.
fn field() -> impl Strategy<Value = (String, String)> {
    let names = [
        "design",
        "d",
        "format",
        "weight",
        "fa2",
        "update",
        "lane",
        "value_stage",
        "masks",
        "partial",
        "hold",
        "accumulator",
        "weight_bits",
        "segments",
        "score_shift",
        "score_integer_bits",
        "score_fraction_bits",
        "state_fraction_bits",
        "queries",
        "key_index_bits",
        "core",
        "nonsense",
    ];
    let values = [
        "\"flash-d\"",
        "\"fa2\"",
        "\"lse\"",
        "\"paper\"",
        "\"literal\"",
        "\"shared-scale\"",
        "\"fixed\"",
        "\"rounded\"",
        "\"bf16\"",
        "\"fp8-e4m3\"",
        "\"fp16\"",
        "\"fp32\"",
        "\"fp8-e5m2\"",
        "\"none\"",
        "\"static\"",
        "{\"below\":1e308}",
        "{\"below\":12.0}",
        "{\"budget\":9}",
        "{\"budget\":4294967295}",
        "{\"fraction\":12}",
        "{\"float\":\"bf16\"}",
        "{\"o\":23,\"v\":14,\"w\":9}",
        "{\"o\":0,\"v\":0,\"w\":0}",
        "null",
        "true",
        "false",
        "0",
        "1",
        "2",
        "3",
        "5",
        "8",
        "12",
        "20",
        "26",
        "32",
        "64",
        "-64",
        "-1",
        "65",
        "512",
        "513",
        "18446744073709551615",
        "1e999",
        "\"\"",
        "[]",
        "{}",
    ];
    (prop::sample::select(names.to_vec()), prop::sample::select(values.to_vec()))
        .prop_map(|(name, value)| (name.to_string(), value.to_string()))
}

fn not_a_panic(args: &[&str]) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let out =
        Command::new(env!("CARGO_BIN_EXE_flashd")).current_dir(folder.path()).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    prop_assert!(matches!(out.status.code(), Some(0 | 2)), "{args:?}: {:?} {said}", out.status);
    prop_assert!(!said.contains("panicked"), "{args:?}: {said}");
    prop_assert_eq!(out.status.code() == Some(2), !said.is_empty(), "{:?}: {}", args, said);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn configuration_files(fields in prop::collection::vec(field(), 0..6), small in 2..6usize, fa2: bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core.json");
        let design = if fa2 { "fa2" } else { "flash-d" };
        let mut text = format!("{{\"design\":\"{design}\",\"d\":{small},\"format\":\"fp8-e4m3\"");
        let mut seen = vec!["design".to_string(), "d".into(), "format".into()];
        for (name, value) in fields {
            if seen.contains(&name) {
                continue;
            }
            text += &format!(",\"{name}\":{value}");
            seen.push(name);
        }
        std::fs::write(&path, text + "}").unwrap();
        not_a_panic(&["generate", "--config", path.to_str().unwrap(), "--out", "out"])?;
    }

    #[test]
    fn damaged_configuration_files(place in 0..60usize, byte: u8, keep in 0..80usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core.json");
        let mut bytes = br#"{"design":"fa2","d":4,"format":"fp8-e4m3","hold":{"below":12.0}}"#.to_vec();
        bytes[place] = byte;
        bytes.truncate(keep);
        std::fs::write(&path, bytes).unwrap();
        not_a_panic(&["generate", "--config", path.to_str().unwrap(), "--out", "out"])?;
    }

    #[test]
    fn selections(
        flags in prop::collection::vec((
            prop::sample::select(vec![
                "--d", "--format", "--weight", "--fa2", "--update", "--lane", "--value-stage", "--hold",
                "--accumulator", "--weight-bits", "--segments", "--score-shift", "--score-integer-bits",
                "--score-fraction-bits", "--state-fraction-bits", "--queries", "--key-index-bits", "--seed", "--keys",
            ]),
            prop::sample::select(vec![
                "0", "1", "2", "3", "4", "5", "8", "9", "12", "16", "26", "32", "64", "65", "-1", "nan", "inf", "1e400",
                "bf16", "fp16", "fp8-e5m2", "paper", "lse", "literal", "fixed", "log-reference", "shared-log-reference", "rounded",
                "none", "static", "budget:4", "budget:99", "format", "18,14,9", "1,2", "true", "",
            ]),
        ), 0..4),
        fa2: bool, masks: bool, partial: bool
    ) {
        let mut args = vec!["generate", "--design", if fa2 { "fa2" } else { "flash-d" }, "--out", "out"];
        if !flags.iter().any(|(name, _)| *name == "--d") {
            args.extend(["--d", "3"]);
        }
        if masks {
            args.push("--masks");
        }
        if partial {
            args.push("--partial");
        }
        let mut seen: Vec<&str> = Vec::new();
        for (name, value) in &flags {
            if !seen.contains(name) {
                seen.push(name);
                args.extend([*name, *value]);
            }
        }
        not_a_panic(&args)?;
    }
}

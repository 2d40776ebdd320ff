//! `flashd check-random`: what it draws is what the command line has, and a failure says how to repeat it.

use crate::common::{refusal, root};
use flashd_simulator::random::{Drawn, LONGEST};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, to_value};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

fn flashd(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).args(args).current_dir(root()).output().unwrap()
}

/// What has no part in a configuration, or another name there.
const OTHERS: [&str; 11] =
    ["config", "unit", "all", "testbench", "seed", "keys", "out", "json", "help", "wrapper", "split"];

/// Every option of a configuration that `generate` takes is drawn, with every value of those that have a few.
#[test]
fn every_option_of_the_command_line_is_drawn() {
    let mut drawn = BTreeSet::new();
    let mut words = BTreeSet::new();
    for seed in 0..300 {
        let config = match Drawn::new(&mut ChaCha8Rng::seed_from_u64(seed), LONGEST) {
            Drawn::Core(core) => to_value(core),
            Drawn::Array(array) => to_value(array),
            Drawn::Split(split) => to_value(split),
            Drawn::Wrapper(wrapper) => to_value(wrapper),
        };
        let mut parts = vec![config.unwrap()];
        while let Some(Value::Object(fields)) = parts.pop() {
            for (name, value) in fields {
                words.extend(value.as_str().map(String::from));
                match name.as_str() {
                    // What is inside has options of its own.
                    "core" | "block" => parts.push(value),
                    _ => drop(drawn.insert(name)),
                }
            }
        }
    }
    let help = String::from_utf8(flashd(&["generate", "--help"]).stdout).unwrap();
    // An option's line begins with it; its values follow, each with a dash, or between brackets.
    let mut compared = 0;
    let mut of_others = false;
    for line in help.lines().map(str::trim_start) {
        let line = line.strip_prefix("-h, ").unwrap_or(line);
        if let Some(option) = line.strip_prefix("--") {
            let name = option.split([' ', '=']).next().unwrap_or_default();
            let field = if name == "beat" { "beat_bits".into() } else { name.replace('-', "_") };
            of_others = OTHERS.contains(&name);
            assert!(of_others || drawn.contains(&field), "--{name} is not drawn");
            compared += 1;
        }
        if let Some(value) = line.strip_prefix("- ").and_then(|rest| rest.split([':', ' ']).next()) {
            assert!(of_others || words.contains(value), "'{value}' is not drawn");
            compared += 1;
        }
        let values = line.strip_prefix("[possible values: ").and_then(|rest| rest.strip_suffix(']'));
        for value in values
            .into_iter()
            .flat_map(|values| values.split(", "))
            .filter(|v| !["true", "false"].contains(v))
        {
            assert!(of_others || words.contains(value), "'{value}' is not drawn");
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

/// A folder that looks like the repository, in which the lint does this.
fn repository(folder: &Path, lint: &str) {
    for file in ["scripts/lint", "testbench/axis/packets.py"] {
        std::fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
        std::fs::write(folder.join(file), lint).unwrap();
    }
}

#[test]
fn a_failure_names_its_seed_and_the_command_that_repeats_it() {
    let folder = tempfile::tempdir().unwrap();
    repository(folder.path(), "echo this is wrong; exit 1");
    let path = folder.path().to_str().unwrap();
    let args = ["check-random", "--seed", "41", "--count", "2", "--longest", "3", "--keys", "50"];
    let out = flashd(&[&args[..], &["--verilator", "0", "--repository", path]].concat());
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.contains("seed 41, ") && text.contains("lint: this is wrong"), "{text}");
    let again = format!(
        "again: flashd check-random --seed 42 --count 1 --longest 3 --keys 50 --verilator 0 --repository {path} --out DIR"
    );
    assert!(text.contains(&again), "{text}");
    assert!(text.contains("2 of 2 configurations failed"), "{text}");
}

#[test]
fn it_needs_the_repository() {
    let args = ["check-random", "--repository", "crates"];
    let text = refusal(flashd(&args), &args);
    assert!(text.contains("--repository crates: there is no scripts/lint"), "{text}");
}

//! `cargo xtask check-random`: every option of the command line is drawn, and a failure says how to repeat it.

use flashd_simulator::random::{LONGEST, draw};
use flashd_spec::machine::Machine;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, to_value};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// The check, with the programs of a folder before all others.
fn check_random(programs: &Path, args: &[&str]) -> Output {
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("check-random").args(args).env("PATH", format!("{}:{path}", programs.display()));
    command.output().unwrap()
}

/// Puts a program in place of Icarus.
fn replace_icarus(folder: &Path, does: &str) {
    let program = folder.join("iverilog");
    std::fs::write(&program, format!("#!/bin/sh\n{does}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Options without a field in a configuration, or with another name there, and those of attention units, whose jobs have a random
/// test of their own in the simulator.
const OTHERS: [&str; 18] = [
    "config",
    "core",
    "prefix",
    "sva",
    "unit",
    "all",
    "testbench",
    "cocotb",
    "seed",
    "keys",
    "out",
    "json",
    "help",
    "wrapper",
    "split",
    "address-bits",
    "in-flight",
    "kv-buffer",
];

/// Every option of a configuration that `generate` takes is drawn, with every value of options that have a few.
#[test]
fn every_option_of_the_command_line_is_drawn() {
    let mut drawn = BTreeSet::new();
    let mut words = BTreeSet::new();
    for seed in 0..300 {
        let config = match draw(&mut ChaCha8Rng::seed_from_u64(seed), LONGEST) {
            Machine::Core(core) => to_value(core),
            Machine::Array(array) => to_value(array),
            Machine::Split(split) => to_value(split),
            Machine::Wrapper(wrapper) => to_value(wrapper),
            Machine::Unit(unit) => to_value(unit),
        };
        let mut parts = vec![config.unwrap()];
        while let Some(Value::Object(fields)) = parts.pop() {
            for (name, value) in fields {
                words.extend(value.as_str().map(String::from));
                match name.as_str() {
                    // Inner configurations have options, too.
                    "core" | "block" => parts.push(value),
                    _ => drop(drawn.insert(name)),
                }
            }
        }
    }
    let help = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["flashd", "generate", "--help"]).output();
    let help = String::from_utf8(help.unwrap().stdout).unwrap();
    // An option's line begins with it; its values follow, each with a dash, or between brackets.
    let mut compared = 0;
    let mut of_others = false;
    for line in help.lines().map(str::trim_start) {
        let line = line.strip_prefix("-h, ").unwrap_or(line);
        if let Some(option) = line.strip_prefix("--") {
            let name = option.split([' ', '=']).next().unwrap_or_default();
            let field = match name {
                "beat" => "beat_bits".into(),
                // In JSON the format of the queries is the core's.
                "q-format" => "format".into(),
                name => name.replace('-', "_"),
            };
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

#[test]
fn a_failure_names_its_seed_and_the_command_that_repeats_it() {
    let folder = tempfile::tempdir().unwrap();
    replace_icarus(folder.path(), "echo this is wrong; exit 1");
    let args = ["--seed", "41", "--count", "2", "--longest", "3", "--keys", "50", "--verilator", "0"];
    let out = check_random(folder.path(), &args);
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.contains("seed 41, ") && text.contains("testbench: this is wrong"), "{text}");
    let again =
        "again: cargo xtask check-random --seed 42 --count 1 --longest 3 --keys 50 --verilator 0 --out DIR";
    assert!(text.contains(again), "{text}");
    assert!(text.contains("2 configurations failed"), "{text}");
}

/// Only failed configurations and incomplete lines are checked again.
#[test]
fn a_check_that_was_stopped_continues() {
    let folder = tempfile::tempdir().unwrap();
    // Icarus leaves a mark each time, and fails for the second.
    let mark = folder.path().join("marks");
    let real = "PATH=${PATH#*:}; exec iverilog \"$@\"";
    replace_icarus(
        folder.path(),
        &format!("echo >> '{0}'; [ $(wc -l < '{0}') != 2 ] || exit 1; {real}", mark.display()),
    );
    let results = folder.path().join("results.jsonl");
    let results = results.to_str().unwrap();
    let run = |results: &str, keys: &str, count: &str| {
        let args = ["--seed", "41", "--longest", "3", "--verilator", "0", "--jobs", "1"];
        let options = ["--results", results, "--keys", keys, "--count", count];
        let out = check_random(folder.path(), &[&args[..], &options].concat());
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let marks = || std::fs::read_to_string(&mark).unwrap().lines().count();
    assert_eq!(run(results, "50", "3").0, Some(1));
    assert_eq!(marks(), 3);
    // The first again without a check, the second again with one.
    assert_eq!(run(results, "50", "2").0, Some(0));
    assert_eq!(marks(), 4);
    let text = std::fs::read_to_string(results).unwrap();
    std::fs::write(results, &text[..text.len() - 5]).unwrap();
    assert_eq!(run(results, "50", "3").0, Some(0));
    assert_eq!(marks(), 5);
    assert_eq!(std::fs::read_to_string(results).unwrap().lines().count(), 5);
    let (code, text) = run(results, "60", "3");
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("--results") && text.contains("results of other options; name another file"),
        "{text}"
    );
    for others in ["a line\n", "no line's end"] {
        std::fs::write(results, others).unwrap();
        let (code, text) = run(results, "50", "1");
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("these are not results of check-random"), "{text}");
        assert_eq!(std::fs::read_to_string(results).unwrap(), others);
    }
    let path = folder.path().to_str().unwrap();
    let (code, text) = run(path, "50", "1");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains(&format!("--results {path}: it is not a regular file")), "{text}");
}

/// A core of d = 4 asks for the scalars of a state in the cycle in which the state comes: packets of this wrapper could not be made.
#[test]
fn packets_of_states_that_are_asked_for_at_once_are_made() {
    let is_one = |name: &str| ["_partial_", "_d4_", "_axis"].iter().all(|part| name.contains(part));
    let seed = (0..).find(|&seed| is_one(&draw(&mut ChaCha8Rng::seed_from_u64(seed), 6).name())).unwrap();
    let args = format!("--seed {seed} --count 1 --longest 6 --keys 60 --verilator 0 --json");
    let out = check_random(Path::new("."), &args.split(' ').collect::<Vec<_>>());
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    let name = report[0]["name"].as_str().unwrap();
    assert!(is_one(name), "{name}");
    assert_eq!(out.status.code(), Some(0), "{}", report[0]["failure"]);
}

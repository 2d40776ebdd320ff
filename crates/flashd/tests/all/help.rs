//! Help, examples, completions, the manual, errors in JSON, how much is said.

use crate::common::{root, words};
use flashd::parts::groups;
use flashd::{commands, examples};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program in a folder; returns its output.
fn run_in(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One screen: what `-h` prints of each command, with its examples.
#[test]
fn short_help_is_one_screen() {
    for command in commands() {
        let help = text(&run_in(&root(), &[&command, "-h"]).stdout);
        assert!(help.lines().count() <= 40, "{command} -h has {} lines:\n{help}", help.lines().count());
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

/// Every command is in one group, and help and README list the groups in the order of the table.
#[test]
fn commands_are_in_groups() {
    let help = text(&run_in(&root(), &["--help"]).stdout);
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let groups = groups();
    let mut places = Vec::new();
    for (heading, names) in &groups {
        places.push(help.find(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("{heading}\n{help}")));
        places.extend(names.iter().map(|name| help.find(&format!("\n  {name} ")).unwrap()));
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        assert!(readme.contains(&format!("| {heading} | {} |", names.join(", "))), "{heading}");
    }
    assert!(places.is_sorted(), "{help}");
    let mut grouped: Vec<&str> = groups.iter().flat_map(|(_, names)| names).copied().collect();
    let mut all = commands();
    grouped.sort_unstable();
    all.sort_unstable();
    assert_eq!(grouped, all);
    assert!(
        groups.iter().all(|(heading, _)| groups.iter().filter(|(other, _)| other == heading).count() == 1)
    );
}

/// Every command has two examples, short ones in `-h` and with their purpose in `--help`.
#[test]
fn every_command_has_two_examples() {
    for command in commands() {
        for help in ["-h", "--help"] {
            let help = text(&run_in(&root(), &[&command, help]).stdout);
            let (_, shown) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{command}:\n{help}"));
            let beginning = format!("flashd {command}");
            assert_eq!(
                shown.lines().filter(|line| line.trim().starts_with(&beginning)).count(),
                2,
                "{shown}"
            );
        }
    }
}

/// All examples are commands of this program, and the quick ones run.
#[test]
fn the_examples_run() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("testbench"), folder.path().join("testbench")).unwrap();
    let mut ran = 0;
    for (line, quick) in examples() {
        let words = words(line.strip_prefix("flashd ").unwrap());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // Arguments before it are looked at first.
        let parsed = run_in(folder.path(), &[&words[..], &["--help"]].concat());
        assert!(parsed.status.success(), "{line}: {}", text(&parsed.stderr));
        if quick {
            let out = run_in(folder.path(), &words);
            assert!(out.status.success() && !out.stdout.is_empty(), "{line}: {}", text(&out.stderr));
            ran += 1;
        }
    }
    assert!(ran > 15, "{ran}");
}

/// Options are listed under headings, and the long help has the reasons.
#[test]
fn options_are_grouped() {
    let help = text(&run_in(&root(), &["generate", "--help"]).stdout);
    let headings = [
        "Core:",
        "Number formats:",
        "Ports of the core:",
        "Precision:",
        "Arrays, split keys, wrappers, units:",
        "Output:",
    ];
    let places: Vec<usize> = headings
        .map(|heading| help.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{heading}\n{help}")))
        .to_vec();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!help.contains("\nOptions:\n      --"), "{help}");
    assert!(help.contains("budget:F (FLASH-D"), "{help}");
}

#[test]
fn shells_get_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let out = run_in(&root(), &["completions", shell]);
        let script = text(&out.stdout);
        assert!(["explore", "value-stage"].iter().all(|word| script.contains(word)), "{shell}");
        // Not all of them complete values.
        let values = ["bash", "zsh", "fish"].contains(&shell);
        assert_eq!(script.contains("shared-log-reference"), values, "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("flashd.bash");
    fs::write(&script, run_in(&root(), &["completions", "bash"]).stdout).unwrap();
    let complete = format!(
        "source {}; COMP_WORDS=(flashd generate --update ra); COMP_CWORD=3; \
         _flashd flashd ra --update; echo ${{COMPREPLY[@]}}",
        script.display()
    );
    let out = Command::new("bash").args(["-c", &complete]).output().unwrap();
    assert_eq!(text(&out.stdout).trim(), "ranged", "{}", text(&out.stderr));
}

/// A page for every command, with its options and examples.
#[test]
fn the_manual_has_every_command() {
    let folder = tempfile::tempdir().unwrap();
    assert!(run_in(folder.path(), &["man", "--out", "man"]).status.success());
    for command in commands() {
        let page = fs::read_to_string(folder.path().join(format!("man/flashd-{command}.1"))).unwrap();
        // Dashes are escaped.
        let page = page.replace("\\-", "-");
        assert!(page.contains(".TH") && page.contains("Examples:"), "{command}: {page}");
        assert!(page.contains(&format!("flashd {command}")), "{command}");
        assert!(page.contains("quiet"), "{command}: {page}");
    }
    assert!(folder.path().join("man/flashd-sweep-plan.1").exists());
    assert!(folder.path().join("man/flashd.1").exists());
    let main = text(&run_in(folder.path(), &["man"]).stdout);
    assert_eq!(main.trim_end(), fs::read_to_string(folder.path().join("man/flashd.1")).unwrap().trim_end());
}

/// With `--json` an error is one object, whoever found it, and standard output has no half result.
#[test]
fn errors_are_json_with_json() {
    for (arguments, said) in [
        (&["generate", "--design", "fa2", "--d", "1", "--json"][..], "--d: 1 is outside 2 to 576"),
        (&["generate", "--json", "--dsign", "fa2"], "unexpected argument '--dsign' found"),
        (
            &["simulate", "--json", "--design", "fa2", "--data", "x"],
            "--data: means nothing without --results",
        ),
        (&["traffic", "--json", "--br", "4"], "--br: means nothing without --bc"),
    ] {
        let out = run_in(&root(), arguments);
        assert_eq!((out.status.code(), out.stdout.len()), (Some(2), 0), "{arguments:?}");
        let error: serde_json::Value = serde_json::from_slice(&out.stderr).unwrap();
        assert_eq!(
            (error["kind"].as_str(), error["exit_code"].as_u64()),
            (Some("input"), Some(2)),
            "{error}"
        );
        assert!(error["error"].as_str().unwrap().contains(said), "{error}");
    }
    // Without it they are text.
    let out = run_in(&root(), &["generate", "--design", "fa2", "--d", "1"]);
    assert_eq!(
        (out.status.code(), text(&out.stderr).as_str()),
        (Some(2), "error: --d: 1 is outside 2 to 576\n")
    );
}

/// `--quiet` leaves standard error to errors, `--verbose` logs each step; the result is the same.
#[test]
fn verbosity_can_be_chosen() {
    let head = |x: &str| format!("testbench/data/bytes_math-d16-layer04-head03-{x}.npy");
    let [q, k, v] = ["q", "k", "v"].map(head);
    let run = |more: &[&str]| {
        let arguments = ["simulate", "--design", "fa2", "--q", &q, "--k", &k, "--v", &v, "--json"];
        let out = run_in(&root(), &[&arguments[..], more].concat());
        assert!(out.status.success());
        (text(&out.stdout), text(&out.stderr))
    };
    let (result, said) = run(&[]);
    assert_eq!(said, "");
    assert_eq!(run(&["--quiet"]), (result.clone(), String::new()));
    let (verbose, said) = run(&["-v"]);
    assert_eq!(verbose, result);
    let lines: Vec<&str> = said.lines().collect();
    for step in ["1 heads read", "attention in f64", "in lock-step with the model", "done"] {
        assert!(lines.iter().any(|line| line.contains(" s  ") && line.contains(step)), "{step}: {said}");
    }
    // Before or after the command, and not both.
    assert_eq!(run_in(&root(), &["-q", "list"]).status.code(), Some(0));
    assert_eq!(run_in(&root(), &["list", "-q", "-v"]).status.code(), Some(2));
}

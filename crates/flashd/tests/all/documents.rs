//! The commands of the READMEs are commands of this program, and those that take no time do what is said there.

use crate::common::root;
use std::process::{Command, Output};

/// The words of a line of a shell, as far as quotes go.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            (' ', None) => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|w| !w.is_empty());
    words
}

/// The arguments of every call of the program in the shell examples of a file.
fn calls(file: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join(file)).unwrap().replace("\\\n", " ");
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|b| b.strip_prefix("sh\n"));
    let calls: Vec<_> = blocks
        .flat_map(str::lines)
        .filter_map(|l| l.strip_prefix("cargo run --release -- ").or(l.strip_prefix("flashd ")))
        .map(|l| words(l.split(" > ").next().unwrap()))
        .collect();
    assert!(!calls.is_empty(), "{file}");
    calls
}

fn run(folder: &std::path::Path, args: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).args(args).current_dir(folder).output().unwrap()
}

#[test]
fn the_commands_of_the_documents_are_known() {
    for args in ["README.md", "testbench/README.md"].into_iter().flat_map(calls) {
        // Arguments before it are looked at first.
        let args = [args, vec!["--help".to_string()]].concat();
        let out = run(&root(), &args);
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

#[cfg(unix)]
#[test]
fn what_the_documents_generate_and_simulate_can_be_had() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["configs", "testbench"] {
        std::os::unix::fs::symlink(root().canonicalize().unwrap().join(name), folder.path().join(name))
            .unwrap();
    }
    let quick = |args: &Vec<String>| {
        ["generate", "simulate", "list"].contains(&args[0].as_str())
            && !args.iter().any(|a| a.contains("../shared"))
    };
    let mut runs = 0;
    for args in ["README.md", "testbench/README.md"].into_iter().flat_map(calls).filter(quick) {
        let out = run(folder.path(), &args);
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        runs += 1;
    }
    assert!(runs > 10, "{runs}");
}

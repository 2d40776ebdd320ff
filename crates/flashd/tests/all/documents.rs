//! The commands of the documents run, and print the documented output.

#![cfg(unix)]

mod markdown;
mod reproduce;
mod workshop;

use crate::common::{root, words};
use markdown::{Command, commands};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use workshop::{Workshop, agrees};

/// Folders of documents, in addition to the repository's own.
const FOLDERS: [&str; 3] = ["configs", "docs", "testbench"];

/// Every document, by its path in the repository.
fn documents() -> Vec<String> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>, deeper: bool) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && deeper {
                below(&path, found, true);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    below(&root(), &mut found, false);
    FOLDERS.iter().for_each(|folder| below(&root().join(folder), &mut found, true));
    let mut names: Vec<String> =
        found.iter().map(|path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_string()).collect();
    names.sort();
    names
}

/// Commands that are not run, by a part of them, and why. Sections with longer checks are not run either.
const NOT_RUN: [(&str, &str); 32] = [
    ("scripts/test", "it runs every check, these tests among them"),
    ("scripts/lint r", "scripts/test lints all cores and drawn designs, which takes minutes"),
    ("cargo xtask cosim", "scripts/test runs it"),
    ("cargo xtask attention-unit", "scripts/test runs it"),
    ("cargo test -p flashd --test all documents", "it is these tests"),
    ("check-random", "scripts/test runs it"),
    ("references::", "it needs packages that scripts/venv installs"),
    ("faults::drawn", "a hundred simulations take minutes"),
    ("gtkwave ", "it needs a screen"),
    ("python3 -c", "it needs NumPy"),
    ("rtl-out/long.fst", "the reader makes its tensors"),
    ("--data traces", "the reader makes the folder"),
    ("--example", "it needs the folder that the reader makes"),
    ("--liberty asap7.lib", "the reader brings the library"),
    ("liberty merge ", "the reader brings the library"),
    ("--from asap7.json", "the reader brings the library"),
    ("--checkpoint stories260K.bin", "the reader brings the model"),
    ("ppa --design flash-d --d 16 --breakdown", "mapping takes minutes"),
    ("ppa --variants", "mapping takes hours"),
    ("ppa --clock 30", "mapping takes hours"),
    ("explore --errors-only", "it takes hours"),
    ("explore --clock 30", "mapping takes minutes"),
    ("size --design", "mapping takes minutes"),
    ("accuracy", "it takes minutes"),
    ("snakemake ", "workflow/test runs it"),
    ("sweep.sbatch", "workflow/test runs it"),
    ("workflow/table.py", "workflow/test runs it"),
    ("workflow/slurm ", "workflow/test runs it"),
    ("docker ", "it needs Docker and a network"),
    ("apptainer ", "it needs Apptainer and a network"),
    ("fusesoc ", "cargo xtask axis, which installs it, runs the same"),
    ("venv", "cargo xtask axis, which installs cocotb, runs the same"),
];

/// Commands that take about 5 seconds or more each, by a part of them: they run with the ignored tests.
const LATER: [&str; 10] = [
    // scripts/test generates them all to lint them.
    "generate --all",
    "verilator --lint-only -Wall rtl-out/flash_d_bf16_d64.v",
    "traffic --n 1024,4096",
    "ppa --d 16 --format fp8-e4m3 --clock 30",
    "make -",
    "verilator --binary",
    "obj_dir/",
    "cosim --design flash-d --d 64 --format bf16",
    "scripts/synth-yosys.sh",
    "skips --worst-case",
];

fn has(command: &Command, part: &str) -> bool {
    command.text.contains(part)
}

/// The page of commands; `help::the_examples_run` runs its quick examples.
const COMMANDS: &str = "docs/reference/commands.md";

fn is_run(command: &Command) -> bool {
    !command.long
        && !command.place.starts_with(COMMANDS)
        && !NOT_RUN.iter().any(|(part, _)| has(command, part))
}

fn is_later(command: &Command) -> bool {
    LATER.iter().any(|part| has(command, part))
}

fn all() -> impl Iterator<Item = Command> {
    documents().into_iter().flat_map(|file| commands(&root(), &file))
}

/// Runs the commands of a document that are `wanted`, in order, in a copy of the repository.
fn run(file: &str, wanted: impl Fn(&Command) -> bool) -> usize {
    let workshop = Workshop::new(&root());
    let mut wrong = Vec::new();
    let mut runs = 0;
    for command in commands(&root(), file).iter().filter(|command| is_run(command) && wanted(command)) {
        runs += 1;
        let Command { place, text, output, .. } = command;
        match (workshop.run(command), output) {
            (Err(e), _) => wrong.push(format!("{place}: {text}\n{e}")),
            (Ok(printed), Some((line, documented))) if !agrees(documented, &printed) => {
                wrong
                    .push(format!("{file}:{line}: {text}\nprints\n{printed}\nin the document\n{documented}"));
            }
            _ => (),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    runs
}

/// Runs the short commands of the documents whose path has this beginning.
fn short(beginning: &str) -> usize {
    let files = documents().into_iter().filter(|file| file.starts_with(beginning));
    files.map(|file| run(&file, |command| !is_later(command))).sum()
}

#[test]
fn the_readme_agrees_with_the_output() {
    assert!(short("README.md") > 2);
}

#[test]
fn the_guides_agree_with_the_output() {
    assert!(short("docs/guide/") > 10);
}

#[test]
fn the_reference_agrees_with_the_output() {
    assert!(short("docs/reference/") > 6);
}

#[test]
fn the_readmes_of_testbenches_agree_with_the_output() {
    assert!(short("configs/") + short("testbench/") + short("docs/theory/") > 8);
}

/// Where a link leads: to a file, and in it to a heading.
#[test]
fn links_lead_somewhere() {
    let mut links = 0;
    for file in documents() {
        let text = fs::read_to_string(root().join(&file)).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            if link.starts_with("http") {
                continue;
            }
            let (path, heading) = link.split_once('#').map_or((link, None), |(path, h)| (path, Some(h)));
            let folder = root().join(&file).parent().unwrap().to_path_buf();
            let target = if path.is_empty() { root().join(&file) } else { folder.join(path) };
            assert!(target.exists(), "{file}: {link}");
            if let Some(heading) = heading {
                let there = fs::read_to_string(&target).unwrap();
                let headings = there.lines().filter(|line| line.starts_with('#')).map(anchor);
                assert!(headings.into_iter().any(|name| name == heading), "{file}: {link}");
            }
            links += 1;
        }
    }
    assert!(links > 50, "{links}");
}

/// The name by which a heading is linked to.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    words
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// The book has every page of `docs`.
#[test]
fn the_summary_has_every_page() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for file in
        documents().iter().filter_map(|file| file.strip_prefix("docs/")).filter(|file| *file != "SUMMARY.md")
    {
        assert!(summary.contains(&format!("]({file})")), "{file}");
    }
}

/// Applies to pages that people read: all but the derivation of the hold rules, and generated pages.
#[test]
fn pages_are_short() {
    let mut pages = 0;
    for file in documents() {
        let most = match file.as_str() {
            "README.md" => 180,
            "ARCHITECTURE.md" => 70,
            "docs/develop/style.md" => 40,
            "docs/theory/hold.md" => continue,
            file if file.starts_with("docs/") => 150,
            _ => continue,
        };
        let lines = fs::read_to_string(root().join(&file)).unwrap().lines().count();
        assert!(lines <= most, "{file} has {lines} lines, at most {most}");
        pages += 1;
    }
    assert!(pages > 30, "{pages}");
}

/// All commands, also the long ones.
#[test]
#[ignore = "some minutes"]
fn longer_commands_agree_with_the_documents() {
    for file in documents() {
        run(&file, |_| true);
    }
}

/// Commands that are left out are in the documents, and commands with an output are run.
#[test]
fn commands_left_out_are_in_the_documents() {
    let all: Vec<Command> = all().collect();
    for (part, reason) in NOT_RUN {
        assert!(all.iter().any(|command| has(command, part) && !command.long), "{part}: no such command");
        assert!(!reason.is_empty(), "{part}");
    }
    for part in LATER {
        assert!(all.iter().any(|command| has(command, part) && is_run(command)), "{part}: no such command");
    }
    for command in all.iter().filter(|command| command.output.is_some()) {
        assert!(is_run(command), "{}: {} has an output and is not run", command.place, command.text);
    }
}

/// Commands that are not run are commands of this program, too.
#[test]
fn the_commands_of_the_documents_are_known() {
    let mut known = 0;
    for command in all() {
        let text =
            command.text.strip_prefix("cargo run --release -- ").or(command.text.strip_prefix("flashd "));
        let Some(text) = text else { continue };
        let text = text.split([';', '|']).next().unwrap().split(" > ").next().unwrap();
        // Arguments before it are looked at first.
        let args = [words(text), vec!["--help".to_string()]].concat();
        let out =
            process::Command::new(env!("CARGO_BIN_EXE_flashd")).args(&args).current_dir(root()).output();
        let out = out.unwrap();
        assert!(
            out.status.success(),
            "{}: {args:?}: {}",
            command.place,
            String::from_utf8_lossy(&out.stderr)
        );
        known += 1;
    }
    assert!(known > 40, "{known}");
}

#[test]
fn outputs_are_compared() {
    let printed = "─────\n a   b\n─────\n 1   2.5 s\n 3   4\n─────\n";
    for (documented, same) in [
        ("a b\n1 9.9 s\n3 4", true),
        (" a b\n ...", true),
        ("...\n3 4", true),
        ("a b\n3 4", false),
        ("a b\n1 2.5 s\n3 5", false),
        ("a b\n1 2.5 s", false),
    ] {
        assert_eq!(agrees(documented, printed), same, "{documented}");
    }
}

/// The book's preprocessor: links that leave the book become paths in the repository, and pages called README are mdBook's index.
#[test]
fn the_book_has_no_link_that_leaves_it() {
    let page = "[a](../../testbench/README.md#b) [c](core.md#d) [e](../results/README.md) ![f](../../g.svg) [h](https://i.example)";
    let chapter =
        serde_json::json!({"Chapter": {"path": "guide/verify.md", "content": page, "sub_items": []}});
    let book = serde_json::json!([{}, {"items": [chapter, "Separator"]}]);
    let mut python = process::Command::new("python3");
    python.arg(root().join("docs/links.py")).stdin(process::Stdio::piped()).stdout(process::Stdio::piped());
    let mut child = python.spawn().unwrap();
    serde_json::to_writer(child.stdin.take().unwrap(), &book).unwrap();
    let out: serde_json::Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(
        out["items"][0]["Chapter"]["content"],
        "a (`testbench/README.md` in the repository) [c](core.md#d) [e](../results/index.md) ![f](../../g.svg) [h](https://i.example)"
    );
}

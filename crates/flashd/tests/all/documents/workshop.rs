//! A copy of the repository in which commands run as a user types them.

use super::markdown::Command;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Replaces cargo: the program is built already.
const CARGO: &str = r#"#!/bin/sh
[ "$1 $2 $3" = "run --release --" ] || { echo "cargo $*: not in this copy" >&2; exit 9; }
shift 3
exec flashd "$@"
"#;

/// Folders that are not copied.
const LEFT_OUT: [&str; 3] = [".git", "target", "crates"];

pub struct Workshop {
    folder: TempDir,
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (name, kind) = (entry.file_name(), entry.file_type().unwrap());
        if LEFT_OUT.iter().any(|out| *out == name) {
            continue;
        }
        let target = to.join(&name);
        if kind.is_dir() {
            copy(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

impl Workshop {
    pub fn new(root: &Path) -> Workshop {
        let folder = tempfile::tempdir().unwrap();
        copy(root, &folder.path().join("repository"));
        let programs = folder.path().join("bin");
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_flashd"), programs.join("flashd")).unwrap();
        fs::write(programs.join("cargo"), CARGO).unwrap();
        fs::set_permissions(programs.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
        Workshop { folder }
    }

    /// The copy.
    pub fn repository(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    /// Runs a command; returns its output.
    ///
    /// # Errors
    /// Its output, if it failed.
    pub fn run(&self, command: &Command) -> Result<String, String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let programs = self.folder.path().join("bin");
        let out = std::process::Command::new("bash")
            .args(["-o", "pipefail", "-c", &command.text])
            .current_dir(self.repository().join(&command.folder))
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("FLASHD", programs.join("flashd"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        match out.status.success() {
            true => Ok(said),
            false => Err(format!("{}: {said}{}", out.status, String::from_utf8_lossy(&out.stderr))),
        }
    }
}

/// A line's words; times and rules of tables are not compared.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = line.split_whitespace().map(String::from).collect();
    for i in 1..words.len() {
        let is_time = ["s", "seconds", "min"].contains(&words[i].trim_end_matches([',', ';', '.', ')']));
        if is_time && words[i - 1].trim_start_matches('(').parse::<f64>().is_ok() {
            words[i - 1] = "#".into();
        }
    }
    words.retain(|word| !word.chars().all(|c| c == '─'));
    words
}

fn lines(text: &str) -> Vec<Vec<String>> {
    text.lines().map(words).filter(|words| !words.is_empty()).collect()
}

/// Whether an output agrees with a document, where a line of dots matches any number of lines.
pub fn agrees(documented: &str, printed: &str) -> bool {
    let (documented, printed) = (lines(documented), lines(printed));
    matches(&documented, &printed)
}

fn matches(documented: &[Vec<String>], printed: &[Vec<String>]) -> bool {
    match documented.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if *first == ["..."] => (0..=printed.len()).any(|n| matches(rest, &printed[n..])),
        Some((first, rest)) => printed.first() == Some(first) && matches(rest, &printed[1..]),
    }
}

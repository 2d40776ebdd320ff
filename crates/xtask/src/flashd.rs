//! The program whose output is checked.

use crate::failure::{Failure, Outcome, input, with};
use crate::process::{Said, command, root, run, target};
use crate::selection::Selection;
use crate::work;
use flashd_files::TemporaryFolder;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `flashd`, and a folder for its configurations.
pub struct Flashd {
    program: PathBuf,
    folder: TemporaryFolder,
    configurations: AtomicUsize,
}

impl Flashd {
    /// The program that the environment's FLASHD names, or the one of this repository, which is built.
    pub fn find() -> Outcome<Flashd> {
        let program = match std::env::var_os("FLASHD") {
            Some(program) => PathBuf::from(program),
            None => build()?,
        };
        let program = program.canonicalize().map_err(with(format!("FLASHD={}", program.display())))?;
        Ok(Flashd { program, folder: work::temporary()?, configurations: AtomicUsize::new(0) })
    }

    /// Where it is.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// A command of it, in the folder of the configurations.
    pub fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = command(&self.program, arguments);
        // What is compared must not depend on revision, command and folder.
        command.env(flashd_files::REPRODUCIBLE, "1");
        command.current_dir(self.folder.path());
        command
    }

    /// Flags for a selection, as [`Flashd::command`] takes them: a configuration is written to its folder, and has no
    /// folder and so no spaces in its name.
    pub fn flags(&self, selection: &Selection) -> Outcome<Vec<String>> {
        let number = self.configurations.fetch_add(1, Ordering::Relaxed);
        let name = format!("{number}.json");
        if let Some(text) = selection.configuration()? {
            work::write(&self.folder.path().join(&name), &text)?;
        }
        Ok(selection.flags(&name))
    }

    /// Generates a selection into a folder.
    pub fn generate(&self, selection: &Selection, options: &[&str], out: &Path) -> Outcome {
        let flags = self.flags(selection)?;
        let words = ["generate"].into_iter().chain(flags.iter().map(String::as_str));
        let mut command = self.command(words.chain(options.iter().copied()));
        command.arg("--out").arg(out);
        // What a user names is where the user is.
        if matches!(selection, Selection::Flags(_)) {
            command.current_dir(std::env::current_dir().map_err(with("."))?);
        }
        succeeds(run(command)?, &selection.to_string()).map(drop)
    }
}

/// What the program said, or the failure that it told of: with its exit code 2, bad input.
pub fn succeeds(said: Said, what: &str) -> Outcome<Said> {
    let text = format!("{what}: {}", said.last(20));
    match said.status.code() {
        Some(0) => Ok(said),
        Some(2) => Err(Failure::Input(text)),
        _ => Err(Failure::Check(format!("{text} ({})", said.status))),
    }
}

fn build() -> Outcome<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = command(cargo, ["build", "--release", "--quiet", "-p", "flashd"]);
    let status = build.current_dir(root()).status().map_err(with("cargo"))?;
    match status.success() {
        true => Ok(target()?.join("release/flashd")),
        false => input("flashd cannot be built; FLASHD can name one that is there"),
    }
}

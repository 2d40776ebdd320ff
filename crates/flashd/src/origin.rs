//! Where files come from: the revision of the program, and the command that runs.

use flashd_generator::Origin;
use flashd_revision::REVISION;
use std::ffi::OsString;
use std::sync::OnceLock;

/// What `--version` prints after the name.
pub fn version() -> String {
    format!("{} ({REVISION})", env!("CARGO_PKG_VERSION"))
}

static COMMAND: OnceLock<String> = OnceLock::new();

/// Keeps the words of the command line, its own name first.
pub fn keep(words: &[OsString]) {
    let arguments = words.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    let words: Vec<String> = std::iter::once("flashd".to_string()).chain(arguments).collect();
    let _ = COMMAND.set(words.join(" "));
}

/// What emitted files say of their origin; nothing if they have to be reproducible, or no command line runs.
pub fn origin() -> Origin {
    match COMMAND.get().filter(|_| !flashd_files::reproducible()) {
        None => Origin::default(),
        command => Origin { revision: REVISION.into(), command: command.cloned() },
    }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

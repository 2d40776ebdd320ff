//! How a check ends that does not pass.

use std::fmt::{self, Display, Formatter};
use std::process::ExitCode;

/// What becomes of a check.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why a check does not pass.
#[derive(Debug)]
pub enum Failure {
    /// It cannot begin or go on: bad input, a missing tool, a full disk. Exit code 2.
    Input(String),
    /// It found something. Exit code 1.
    Check(String),
}

impl Failure {
    /// The exit code that tells which of both.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Input(_) => ExitCode::from(2),
            Failure::Check(_) => ExitCode::from(1),
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(text) | Failure::Check(text) => f.write_str(text),
        }
    }
}

/// Something is not as it has to be for a check to begin.
pub fn input<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Failure::Input(text.into()))
}

/// A check found something.
pub fn check<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Failure::Check(text.into()))
}

/// The failure of something that is done with a file, a folder or a program of this name.
pub fn with<E: Display>(name: impl Display) -> impl Fn(E) -> Failure {
    move |e| Failure::Input(format!("{name}: {e}"))
}

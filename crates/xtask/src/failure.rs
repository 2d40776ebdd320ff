//! How a check ends that does not pass.

pub use flashd::Failure;
use std::fmt::Display;

/// What becomes of a check.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Something is not as it has to be for a check to begin.
pub fn input<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Failure::Input(text.into()))
}

/// A check found something.
pub fn check<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Failure::Check(text.into()))
}

/// Succeeds if the number of failures is zero.
pub fn none(failures: usize, what: &str) -> Outcome {
    if failures == 0 { Ok(()) } else { check(format!("{failures} {what}")) }
}

/// The failure of something that is done with a file, a folder or a program of this name.
pub fn with<E: Display>(name: impl Display) -> impl Fn(E) -> Failure {
    move |e| Failure::Input(format!("{name}: {e}"))
}

/// The failure with the name of its subject.
pub fn of(what: impl Display) -> impl Fn(Failure) -> Failure {
    move |failure| match failure {
        Failure::Input(text) => Failure::Input(format!("{what}: {text}")),
        Failure::Check(text) => Failure::Check(format!("{what}: {text}")),
        interrupted => interrupted,
    }
}

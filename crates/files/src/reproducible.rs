//! Files that are the same wherever and whenever they are written.

/// The variable that asks for them.
pub const REPRODUCIBLE: &str = "FLASHD_REPRODUCIBLE";

/// Whether files leave out the revision of the program, its command line and absolute paths.
pub fn reproducible() -> bool {
    std::env::var_os(REPRODUCIBLE).is_some_and(|value| !value.is_empty())
}

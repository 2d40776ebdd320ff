//! The git revision that the program was compiled from.
//!
//! A package by itself, because a commit compiles it again, and all that depends on it.

/// Short hash, with `-dirty` if the sources differed from it; `unknown` outside git.
pub const REVISION: &str = env!("FLASHD_REVISION_OF_SOURCES");

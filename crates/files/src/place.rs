//! Where files go that nobody named.

use etcetera::base_strategy::{BaseStrategy, choose_base_strategy};
use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;

/// The program's folder `name` in the user's cache folder: `flashd/<name>` in `XDG_CACHE_HOME`, else in `~/.cache`. It
/// may not be there yet.
///
/// # Errors
/// If the user has no home.
pub fn user_cache(name: &str) -> Result<PathBuf> {
    let base = choose_base_strategy().map_err(|e| Error::new(ErrorKind::NotFound, e.to_string()))?;
    Ok(base.cache_dir().join("flashd").join(name))
}

//! Errors of files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A model or tokenizer that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    /// The operating system refuses.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Its explanation.
        error: io::Error,
    },
    /// The file is not of the expected kind.
    #[error("{}: {problem}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The error and the accepted values.
        problem: String,
    },
    /// The model has a size that the core cannot have, or a scale that it cannot apply.
    #[error("{0}")]
    Core(String),
}

impl LlmError {
    pub(crate) fn unusable(path: &Path, problem: impl Into<String>) -> LlmError {
        LlmError::Unusable { path: path.to_path_buf(), problem: problem.into() }
    }
}

/// Opens an ordinary file, and its length.
pub(crate) fn open(path: &Path) -> Result<(File, u64), LlmError> {
    flashd_files::open(path).map_err(|error| LlmError::Unreadable { path: path.to_path_buf(), error })
}

/// Reads exactly `bytes` bytes.
pub(crate) fn read_exactly(path: &Path, file: &mut File, bytes: usize) -> Result<Vec<u8>, LlmError> {
    let mut data = vec![0; bytes];
    file.read_exact(&mut data).map_err(|error| LlmError::Unreadable { path: path.to_path_buf(), error })?;
    Ok(data)
}

/// The little-endian words of a file.
pub(crate) fn words(data: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    data.as_chunks::<4>().0.iter().copied()
}

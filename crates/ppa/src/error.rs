//! Errors between a configuration and its figures.

use std::path::PathBuf;

/// Names the tool, file or option at fault, the fault and the accepted values.
#[derive(Debug, thiserror::Error)]
pub enum PpaError {
    /// A program is not installed.
    #[error("{tool} was not found in PATH: install the Debian package {package}, or put {tool} into PATH")]
    MissingTool {
        /// Program.
        tool: &'static str,
        /// Debian package that contains it.
        package: &'static str,
    },
    /// The default library is not installed.
    #[error(
        "no cell library: {searched} does not exist; install the Debian package qflow-tech-osu018, or name a Liberty file with --liberty"
    )]
    MissingLibrary {
        /// Paths that were tried.
        searched: String,
    },
    /// A Liberty file cannot be used.
    #[error("{}: {detail}", path.display())]
    Library {
        /// The file.
        path: PathBuf,
        /// The fault and the requirement.
        detail: String,
    },
    /// A file is not Liberty, or is incomplete.
    #[error(transparent)]
    Liberty(#[from] crate::liberty::LibertyError),
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `read`, `write`, `create`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A program failed.
    #[error("{tool} failed on {task}: {message}")]
    Tool {
        /// Program.
        tool: &'static str,
        /// Module or step.
        task: String,
        /// Its last words.
        message: String,
    },
    /// A netlist or report of a tool is malformed.
    #[error("{what}: {detail}")]
    Unexpected {
        /// File or report.
        what: String,
        /// The fault.
        detail: String,
    },
    /// The configuration cannot be generated.
    #[error(transparent)]
    Generate(#[from] flashd_generator::GenerateError),
}

impl PpaError {
    /// For `map_err` on file operations.
    pub fn file(action: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> PpaError {
        let path = path.to_path_buf();
        move |source| PpaError::File { action, path, source }
    }
}

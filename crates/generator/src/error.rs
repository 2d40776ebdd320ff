//! What can go wrong.

use flashd_spec::config::ConfigError;

/// A design that cannot be turned into Verilog: always a mistake in the design's description.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// RustHDL's own check failed (open input, logic loop, write to an input).
    #[error("{module}: RustHDL check failed: {detail}")]
    Check {
        /// The design.
        module: String,
        /// RustHDL's report.
        detail: String,
    },
    /// A kernel uses a construct that structural modules may not contain.
    #[error("{module}: kernel of a structural module may only connect signals: {detail}")]
    Kernel {
        /// The module.
        module: String,
        /// The construct.
        detail: String,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// The reason.
        source: std::io::Error,
    },
}

//! Errors.

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
    /// Two designs need a module of the same name.
    #[error("module {module}: {first} and {second} both have it{how}")]
    Clash {
        /// The module.
        module: String,
        /// The design that was emitted first.
        first: String,
        /// The other one.
        second: String,
        /// The incompatibility, and the accepted values.
        how: &'static str,
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

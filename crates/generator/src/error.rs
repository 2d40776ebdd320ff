//! Errors.

use flashd_spec::config::ConfigError;

/// A design that cannot be turned into Verilog: always a mistake in the design's description.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A description that has no Verilog.
    #[error("{module}: {detail}")]
    Description {
        /// The module.
        module: String,
        /// The problem.
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

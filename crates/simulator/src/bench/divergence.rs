//! Why a lock-step run ended early.

use flashd_spec::config::ConfigError;
use std::fmt;

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Hardware and model differ.
    #[error("{0}")]
    Divergence(Box<Divergence>),
    /// An observer could not write.
    #[error("cannot write the recording: {0}")]
    Observer(#[from] std::io::Error),
}

/// The first difference between hardware and model.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// Name of the machine.
    pub core: String,
    /// Cycle from the start of the run in which they differ.
    pub cycle: u64,
    /// Port, or quantity inside.
    pub signal: String,
    /// The model's bits and value.
    pub expected: (u64, String),
    /// The hardware's bits and value.
    pub actual: (u64, String),
    /// The last steps or transfers before, the oldest first.
    pub history: Vec<String>,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: cycle {}: {} differs from the model", self.core, self.cycle, self.signal)?;
        writeln!(f, "  expected {:#x} = {}", self.expected.0, self.expected.1)?;
        writeln!(f, "  actual   {:#x} = {}", self.actual.0, self.actual.1)?;
        for step in &self.history {
            writeln!(f, "  before: {step}")?;
        }
        Ok(())
    }
}

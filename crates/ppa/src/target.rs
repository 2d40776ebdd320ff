//! The measured core or array.

use crate::PpaError;
use flashd_generator::{Emission, Prefix};
use flashd_spec::config::{ArrayConfig, ConfigError, CoreConfig};
use flashd_spec::machine::Machine;

/// A core, or an array of cores that share keys and values.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// One core.
    Core(CoreConfig),
    /// An array.
    Array(ArrayConfig),
}

impl Target {
    /// Module and file name.
    pub fn name(&self) -> String {
        match self {
            Target::Core(config) => config.name(),
            Target::Array(config) => config.name(),
        }
    }

    /// The core, or an array's.
    pub fn core(&self) -> &CoreConfig {
        match self {
            Target::Core(config) => config,
            Target::Array(config) => &config.core,
        }
    }

    /// Queries that share a key: 1 for a core.
    pub fn queries(&self) -> usize {
        match self {
            Target::Core(_) => 1,
            Target::Array(config) => config.queries,
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// Names the field, its value and the allowed ones.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Target::Core(config) => config.validate(),
            Target::Array(config) => config.validate(),
        }
    }

    /// Name and text of its Verilog file. Modules have names without a prefix: cores share mappings of equal modules.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn verilog(&self) -> Result<(String, String), PpaError> {
        let emission = Emission::from(Prefix::Plain);
        let files = match self {
            Target::Core(config) => flashd_generator::core_files_in(config, &emission)?,
            Target::Array(config) => flashd_generator::array_files_in(config, &emission)?,
        };
        let file = files.into_iter().find(|file| file.name.ends_with(".v")).ok_or_else(|| {
            PpaError::Unexpected { what: self.name(), detail: "no Verilog was generated".to_string() }
        })?;
        Ok((file.name, file.text))
    }
}

impl From<CoreConfig> for Target {
    fn from(config: CoreConfig) -> Self {
        Target::Core(config)
    }
}

impl From<ArrayConfig> for Target {
    fn from(config: ArrayConfig) -> Self {
        Target::Array(config)
    }
}

impl From<&Target> for Machine {
    fn from(target: &Target) -> Machine {
        match target {
            Target::Core(config) => config.into(),
            Target::Array(config) => config.into(),
        }
    }
}

//! A configuration of anything that runs.

use flashd_hwmodel::rtl::Circuit;
use flashd_hwmodel::{array, catalogue, split, wrapper};
use flashd_spec::config::{ArrayConfig, ConfigError, CoreConfig, SplitConfig, WrapperConfig};

/// A configuration of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyConfig {
    /// A core.
    Core(CoreConfig),
    /// Cores that share their keys.
    Array(ArrayConfig),
    /// Cores that share a query.
    Split(SplitConfig),
    /// An array with streams around it.
    Wrapper(WrapperConfig),
}

impl AnyConfig {
    /// Its design.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn build(&self) -> Result<Circuit, ConfigError> {
        match self {
            AnyConfig::Core(config) => catalogue::build(config),
            AnyConfig::Array(config) => array::build(config),
            AnyConfig::Split(config) => split::build(config),
            AnyConfig::Wrapper(config) => wrapper::build(config),
        }
    }

    /// The core, and how many of them there are.
    pub fn cores(&self) -> (&CoreConfig, usize) {
        match self {
            AnyConfig::Core(config) => (config, 1),
            AnyConfig::Array(config) => (&config.core, config.queries),
            AnyConfig::Split(config) => (&config.core, config.parts),
            AnyConfig::Wrapper(config) => (&config.array.core, config.array.queries),
        }
    }

    /// The name of the module.
    pub fn name(&self) -> String {
        match self {
            AnyConfig::Core(config) => config.name(),
            AnyConfig::Array(config) => config.name(),
            AnyConfig::Split(config) => config.name(),
            AnyConfig::Wrapper(config) => config.name(),
        }
    }

    /// Whether it can be.
    ///
    /// # Errors
    /// What is wrong.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            AnyConfig::Core(config) => config.validate(),
            AnyConfig::Array(config) => config.validate(),
            AnyConfig::Split(config) => config.validate(),
            AnyConfig::Wrapper(config) => config.validate(),
        }
    }
}

//! Everything that can be generated and simulated: cores, and machines made of cores.

use crate::config::{ArrayConfig, ConfigError, CoreConfig, SplitConfig, WrapperConfig};
use crate::numerics::Numerics;
use crate::unit::UnitConfig;

/// The configuration of a machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Machine {
    /// A core.
    Core(CoreConfig),
    /// Cores that share keys, each with a query.
    Array(ArrayConfig),
    /// Cores that share a query, each with a part of its keys, and the tree that merges their results.
    Split(SplitConfig),
    /// An array with streams at its ports.
    Wrapper(WrapperConfig),
    /// An array that fetches its operands from a memory.
    Unit(UnitConfig),
}

impl Machine {
    /// The core, or the configuration of each core.
    pub fn core(&self) -> &CoreConfig {
        match self {
            Machine::Core(config) => config,
            Machine::Array(config) => &config.core,
            Machine::Split(config) => &config.core,
            Machine::Wrapper(config) => &config.array.core,
            Machine::Unit(config) => &config.array.core,
        }
    }

    /// Number of cores.
    pub fn cores(&self) -> usize {
        match self {
            Machine::Core(_) => 1,
            Machine::Array(config) => config.cores(),
            Machine::Split(config) => config.parts,
            Machine::Wrapper(config) => config.array.cores(),
            Machine::Unit(config) => config.array.cores(),
        }
    }

    /// Cores, each counted for every query that takes turns in it.
    pub fn places(&self) -> usize {
        self.cores() * self.turns()
    }

    /// Queries that take turns in a core.
    pub fn turns(&self) -> usize {
        match self {
            Machine::Core(_) | Machine::Split(_) => 1,
            Machine::Array(config) => config.interleave,
            Machine::Wrapper(config) => config.array.interleave,
            Machine::Unit(config) => config.array.interleave,
        }
    }

    /// Name of the module.
    pub fn name(&self) -> String {
        match self {
            Machine::Core(config) => config.name(),
            Machine::Array(config) => config.name(),
            Machine::Split(config) => config.name(),
            Machine::Wrapper(config) => config.name(),
            Machine::Unit(config) => config.name(),
        }
    }

    /// Cycles from the acceptance of a query's last key to its result, in an array to the first result of the block. A wrapper or
    /// a unit has its array's latency: its streams may stall.
    pub fn latency(&self) -> u32 {
        match self {
            Machine::Core(config) => Numerics::new(config).latency(),
            Machine::Array(config) => config.latency(),
            Machine::Split(config) => config.latency(),
            Machine::Wrapper(config) => config.array.latency(),
            Machine::Unit(config) => config.array.latency(),
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// Names the field, the given value and the allowed ones.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Machine::Core(config) => config.validate(),
            Machine::Array(config) => config.validate(),
            Machine::Split(config) => config.validate(),
            Machine::Wrapper(config) => config.validate(),
            Machine::Unit(config) => config.validate(),
        }
    }
}

impl From<CoreConfig> for Machine {
    fn from(config: CoreConfig) -> Machine {
        Machine::Core(config)
    }
}

impl From<ArrayConfig> for Machine {
    fn from(config: ArrayConfig) -> Machine {
        Machine::Array(config)
    }
}

impl From<SplitConfig> for Machine {
    fn from(config: SplitConfig) -> Machine {
        Machine::Split(config)
    }
}

impl From<WrapperConfig> for Machine {
    fn from(config: WrapperConfig) -> Machine {
        Machine::Wrapper(config)
    }
}

impl From<UnitConfig> for Machine {
    fn from(config: UnitConfig) -> Machine {
        Machine::Unit(config)
    }
}

impl<C: Clone> From<&C> for Machine
where
    Machine: From<C>,
{
    fn from(config: &C) -> Machine {
        config.clone().into()
    }
}

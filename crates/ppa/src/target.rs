//! The measured core or array.

use crate::PpaError;
use flashd_generator::{Emission, Prefix, machine_files};
use flashd_spec::config::{ArrayConfig, CoreConfig};
use flashd_spec::machine::Machine;
use std::ops::Deref;

/// A machine that can be measured: a core, or an array of cores that share keys and values.
#[derive(Clone, Debug, PartialEq)]
pub struct Target(Machine);

impl Target {
    /// Name and text of its Verilog file. Modules have names without a prefix: cores share mappings of equal modules.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn verilog(&self) -> Result<(String, String), PpaError> {
        let files = machine_files(&self.0, &Emission::from(Prefix::Plain))?;
        let file = files.into_iter().find(|file| file.name.ends_with(".v")).ok_or_else(|| {
            PpaError::Unexpected { what: self.name(), detail: "no Verilog was generated".to_string() }
        })?;
        Ok((file.name, file.text))
    }
}

impl Deref for Target {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.0
    }
}

impl From<CoreConfig> for Target {
    fn from(config: CoreConfig) -> Self {
        Target(config.into())
    }
}

impl From<ArrayConfig> for Target {
    fn from(config: ArrayConfig) -> Self {
        Target(config.into())
    }
}

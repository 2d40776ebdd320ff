//! A core: score, scalar path and lanes, and the flags beside them.

use super::ports::{CoreInputs, CoreOutputs};
use crate::config::CoreConfig;
use crate::numerics::Numerics;
use crate::rtl::{Module, Name};
use std::sync::Arc;

/// The core of a (valid) configuration.
pub fn core(
    around: &mut Module,
    name: impl Into<Name>,
    config: &CoreConfig,
    n: &Arc<Numerics>,
    inputs: &CoreInputs,
) -> CoreOutputs {
    let _ = (around, name.into(), config, n, inputs);
    unimplemented!("to come")
}

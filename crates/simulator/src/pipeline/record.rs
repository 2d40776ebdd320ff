//! When keys are offered and taken.

use crate::array::{ArrayInputs, ArrayObserver, ArrayOutputs};
use crate::core::engine::{Engine, Inputs, Outputs};
use crate::core::lockstep::Observer;
use crate::running::Running;
use crate::split::{SplitInputs, SplitObserver, SplitOutputs};
use std::io::Result;

/// Observes a run at its key port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipelineRecorder {
    /// Of each key that was taken, in order: the cycle in which it was offered first, and that in which it was taken.
    pub(super) keys: Vec<(u64, u64)>,
    /// Since when a key is offered.
    offered: Option<u64>,
}

impl PipelineRecorder {
    fn cycle(&mut self, cycle: u64, reset: bool, valid: bool, ready: bool) {
        // A reset forgets what was offered; keys of before stay keys of the run.
        if reset || !valid {
            self.offered = None;
            return;
        }
        let offered = *self.offered.get_or_insert(cycle);
        if ready {
            self.keys.push((offered, cycle));
            self.offered = None;
        }
    }
}

impl Observer for PipelineRecorder {
    fn cycle(&mut self, engine: &Engine, i: &Inputs, _: &Outputs) -> Result<()> {
        PipelineRecorder::cycle(self, engine.cycle(), i.rst, i.k_valid, true);
        Ok(())
    }
}

impl ArrayObserver for PipelineRecorder {
    fn cycle(&mut self, array: &Running, i: &ArrayInputs, o: &ArrayOutputs) -> Result<()> {
        PipelineRecorder::cycle(self, array.cycle(), i.core.rst, i.core.k_valid, o.k_ready);
        Ok(())
    }
}

impl SplitObserver for PipelineRecorder {
    fn cycle(&mut self, split: &Running, i: &SplitInputs, _: &SplitOutputs) -> Result<()> {
        PipelineRecorder::cycle(self, split.cycle(), i.core.rst, i.core.k_valid, true);
        Ok(())
    }
}

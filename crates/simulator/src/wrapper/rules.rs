//! The rule of every stream and of the register port: an offer stays unchanged until it is taken.

use super::engine::{Beat, WrapperInputs, WrapperOutputs};

/// Pending offers: request, result beat, `bresp`, `rdata` and `rresp`.
type Waiting = (Option<u64>, Option<Beat>, Option<u64>, Option<(u64, u64)>);

/// The offers of the cycle before that have not been taken.
#[derive(Default)]
pub(super) struct WrapperRules {
    waiting: Waiting,
}

impl WrapperRules {
    /// Compares the cycle's offers with the pending ones.
    ///
    /// # Errors
    /// An offer that changed.
    pub(super) fn check(&self, cycle: u64, outputs: &WrapperOutputs) -> Result<(), String> {
        let (vreq, o, b, r) = &self.waiting;
        let kept = vreq.is_none_or(|waiting| outputs.vreq == Some(waiting))
            && o.as_ref().is_none_or(|waiting| outputs.o.as_ref() == Some(waiting))
            && b.is_none_or(|waiting| outputs.lite.b == Some(waiting))
            && r.is_none_or(|waiting| outputs.lite.r == Some(waiting));
        match kept {
            true => Ok(()),
            false => Err(format!(
                "cycle {cycle}: an offer changed before it was taken: {:?}, now {outputs:?}",
                self.waiting
            )),
        }
    }

    /// Stores the offers that stay pending after the cycle.
    pub(super) fn advance(&mut self, inputs: &WrapperInputs, outputs: &WrapperOutputs) {
        let lite = &outputs.lite;
        self.waiting = (
            outputs.vreq.filter(|_| !inputs.vreq_ready),
            outputs.o.clone().filter(|_| !inputs.o_ready),
            lite.b.filter(|_| !inputs.lite.bready),
            lite.r.filter(|_| !inputs.lite.rready),
        );
    }
}

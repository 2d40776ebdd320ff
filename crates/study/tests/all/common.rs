//! What tests of errors and skips begin with.

use flashd_simulator::Scenario;
use flashd_workload::{TensorScale, Trace};

/// A head of a folder of traces as a core gets it.
pub fn scenario(trace: &Trace) -> Scenario {
    Scenario {
        attention: trace.attention.clone(),
        visible: trace.visible(),
        score_scale: trace.score_scale(),
        tensor_scale: TensorScale::Auto,
    }
}

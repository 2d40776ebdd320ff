//! The array's enable, and which counter counts a cycle.

use crate::function;

function! {
    /// Active-high reset from the active-low port.
    pub struct ResetFunction {}
    name(this) = "reset_high";
    doc = "rst = not aresetn.";
    inputs { aresetn: 1 }
    outputs { rst: 1 }
    eval<W> { [aresetn.not()] }
}

function! {
    /// The array's clock enable `ce`.
    pub struct AdvanceFunction {}
    name(this) = "array_advance";
    doc = "The array is frozen while a key or a value is missing, a request or a result cannot leave. A reset reaches it.";
    inputs { rst: 1, key_missing: 1, value_missing: 1, request_blocked: 1, result_blocked: 1 }
    outputs { ce: 1 }
    eval<W> {
        let missing = value_missing.or(&key_missing).named("missing");
        let stall = missing.or(&request_blocked).or(&result_blocked).named("stall");
        [rst.or(&stall.not())]
    }
}

function! {
    /// Decides which counter counts a cycle.
    pub struct ActivityFunction {}
    name(this) = "array_activity";
    doc = "A cycle is counted once: frozen for a result, a request or a value, in this order; waiting; or with a key.";
    inputs {
        ce: 1, value_missing: 1, request_blocked: 1, result_blocked: 1, running: 1, k_valid: 1, k_ready: 1,
        q_ready: 1, run: 1, v_step: 1, v_ren: 1
    }
    outputs { values_read: 1, values_skipped: 1, stall_value: 1, stall_result: 1, wait_keys: 1, wait_queries: 1 }
    eval<W> {
        let blocked = value_missing.or(&request_blocked).or(&result_blocked).named("blocked");
        let held_last = ce.and(&running).and(&k_valid).and(&k_ready.not()).named("held_last");
        let steps = ce.and(&v_step).named("steps");
        [
            steps.and(&v_ren),
            steps.and(&v_ren.not()),
            value_missing.and(&request_blocked.or(&result_blocked).not()),
            result_blocked.or(&held_last),
            running.and(&k_valid.not()).and(&blocked.not()),
            ce.and(&running.not()).and(&q_ready).and(&run),
        ]
    }
}

function! {
    /// Set if a request that cannot leave freezes the array, and no result does.
    pub struct RequestStallFunction {}
    name(this) = "request_stall";
    doc = "A blocked request, counted where no result is blocked.";
    inputs { request_blocked: 1, result_blocked: 1 }
    outputs { stall: 1 }
    eval<W> { [request_blocked.and(&result_blocked.not())] }
}

function! {
    /// Set when the last beat of a block's results leaves.
    pub struct DoneFunction {}
    name(this) = "block_done";
    doc = "A packet of results has left.";
    inputs { tvalid: 1, tready: 1, tlast: 1 }
    outputs { done: 1 }
    eval<W> { [tvalid.and(&tready).and(&tlast)] }
}

function! {
    /// Packs the flags of a result for `tuser`.
    pub struct ResultFlagsFunction {}
    name(this) = "result_flags";
    doc = "tuser of a result: invalid, overflow, empty, saturated, from bit 0 on.";
    inputs { invalid: 1, overflow: 1, empty: 1, saturated: 1 }
    outputs { flags: flashd_spec::streams::FLAG_BITS }
    eval<W> { [saturated.concat(&empty).concat(&overflow).concat(&invalid)] }
}

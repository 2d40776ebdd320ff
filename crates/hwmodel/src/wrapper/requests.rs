//! Requests for the values that some query of the block needs.

use super::later::{announce, hold, reserve};
use super::ports::RequestOutputs;
use crate::array::results::SelectFunction;
use crate::function;
use crate::rtl::{Module, Name, Tag, Wire};

/// Bits of a request: the place of a key in its block.
pub const INDEX_BITS: u32 = 32;

function! {
    /// When a request leaves.
    pub struct RequestRulesFunction {}
    name(this) = "request_rules";
    doc = "A step's request shows at once, even while the array is frozen, and once. If it is not taken in that cycle, it is\n\
           kept; then the next one freezes the array until it has left.";
    inputs { v_ren: 1, asked: 1, kept: 1, tready: 1, ce: 1 }
    outputs { tvalid: 1, blocked: 1, keep: 1, next_kept: 1, next_asked: 1 }
    eval<W> {
        let wants = v_ren.and(&asked.not()).named("wants");
        let tvalid = kept.or(&wants).named("valid");
        let passes = wants.and(&kept.not()).named("passes");
        let keep = passes.and(&tready.not());
        let next_asked = asked.or(&passes).and(&ce.not());
        [tvalid.clone(), wants.and(&kept), keep, tvalid.and(&tready.not()), next_asked]
    }
}

/// What the stream of requests gets.
pub struct RequestInputs {
    /// The array's step needs its value.
    pub v_ren: Wire,
    /// Place of its key.
    pub index: Wire,
    /// The array is not frozen.
    pub ce: Wire,
    /// A request is taken if offered.
    pub tready: Wire,
}

/// The requests for values: one place to wait. Beside the stream, whether a request cannot leave: then the array is frozen.
pub fn request_stream(
    around: &mut Module,
    name: impl Into<Name>,
    inputs: &RequestInputs,
) -> (RequestOutputs, Wire) {
    around.part(name, Tag::module("request_stream", "Requests for values."), |m| {
        m.clock();
        m.reset();
        let v_ren = m.input("v_ren", inputs.v_ren);
        let (index, ce) = (m.input("index", inputs.index), m.input("ce", inputs.ce));
        let (valid, tvalid) = announce(m, "tvalid", 1);
        let tready = m.input("tready", inputs.tready);

        reserve(m, &["asked_q", "kept_q", "index_q"]);
        // The step has asked; a request waits.
        let (asked, kept) = (m.later(1), m.later(1));
        let [now, blocked, keep, next_kept, next_asked] =
            m.call("rules", RequestRulesFunction {}, [v_ren, asked, kept, tready, ce]);
        m.drive(valid, now);
        hold(m, "asked_q", asked, next_asked);
        hold(m, "kept_q", kept, next_kept);
        let kept_index = m.register_if("index_q", keep, index);
        let [request] = m.call("select", SelectFunction { width: INDEX_BITS }, [kept, kept_index, index]);
        let requests = RequestOutputs { tvalid, tdata: m.output("tdata", request) };
        (requests, m.output("blocked", blocked))
    })
}

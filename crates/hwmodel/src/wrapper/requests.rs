//! The stream of requests for values: one for each key whose value some query of the block needs.

use crate::array::results::SelectFunction;
use crate::function;
use crate::rtl::{Module, Name, Tag, Wire};
use flashd_spec::streams::INDEX_BITS;

function! {
    /// Rules by which a request leaves, waits, or freezes the array.
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

/// The requests for values, with one register to wait in. Returns the stream `[tvalid, tdata]`, where `tdata` is the place of the key in
/// its block, and `blocked`: a request cannot leave, and the array must freeze.
///
/// `step`: `v_ren`, the step needs its value; `index`, the place of its key, or its address; `ce`, the array is not frozen.
pub fn request_stream(
    around: &mut Module,
    name: impl Into<Name>,
    step: [(&str, Wire); 3],
    tready: Wire,
) -> ([Wire; 2], Wire) {
    let width = step[1].1.width();
    let suffix = if width == INDEX_BITS { String::new() } else { format!("_{width}") };
    around.part(name, Tag::module(format!("request_stream{suffix}"), "Requests for values."), |m| {
        m.clock();
        m.reset();
        let [v_ren, index, ce] = m.input_each(step);
        let tready = m.input("tready", tready);

        // The current step has asked already; a request waits in index_q.
        let (asked, kept) = (m.state("asked_q", 1), m.state("kept_q", 1));
        let [tvalid, blocked, keep, next_kept, next_asked] =
            m.call("rules", RequestRulesFunction {}, [v_ren, asked, kept, tready, ce]);
        m.next_all(&[asked, kept], &[next_asked, next_kept]);
        let kept_index = m.register_if("index_q", keep, index);
        let [tdata] = m.call("select", SelectFunction { width }, [kept, kept_index, index]);
        let stream = m.output_each([("tvalid", tvalid), ("tdata", tdata)]);
        (stream, m.output("blocked", blocked))
    })
}

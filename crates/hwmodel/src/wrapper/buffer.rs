//! A buffer of two beats, registered on both sides, that passes a beat a cycle.

use super::ports::SourceOutputs;
use crate::array::results::SelectFunction;
use crate::function;
use crate::rtl::{Module, Tag, Wire};
use flashd_spec::streams::FLAG_BITS;

function! {
    /// Decides which place of the buffer a beat goes to.
    pub struct BufferRulesFunction {}
    name(this) = "buffer_rules";
    doc = "Two places: the first is on the port, the second takes what comes while that cannot leave.";
    inputs { push: 1, tready: 1, valid: 1, full: 1 }
    outputs { to_first: 1, to_second: 1, next_valid: 1, next_full: 1 }
    eval<W> {
        let moves = valid.not().or(&tready).named("moves");
        let some = full.or(&push).named("some");
        [moves.and(&some), push.and(&moves.not()), moves.not().or(&some), moves.not().and(&some)]
    }
}

/// A buffer of two beats. Returns the stream that leaves it, and `full`: there is no room.
///
/// `push`: a beat comes, only while the buffer is not full; `x`: its words; `tready`: the sink takes the beat on the port.
pub fn beat_buffer(
    around: &mut Module,
    name: &str,
    push: Wire,
    x: &[Wire],
    [x_flags, x_last]: [Wire; 2],
    tready: Wire,
) -> (SourceOutputs, Wire) {
    let (words, width) = (x.len(), x[0].width());
    let tag = Tag::module(format!("beat_buffer_{words}x{width}"), "Two beats on their way out.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let push = m.input("push", push);
        let x = m.inputs("x", x);
        let [x_flags, x_last] = m.input_each([("x_flags", x_flags), ("x_last", x_last)]);
        let tready = m.input("tready", tready);

        // valid: the first place holds a beat; full: both do.
        let (valid, full) = (m.state("valid_q", 1), m.state("full_q", 1));
        let [to_first, to_second, next_valid, next_full] =
            m.call("rules", BufferRulesFunction {}, [push, tready, valid, full]);
        m.next_all(&[valid, full], &[next_valid, next_full]);
        let second = m.registers_if("second_q", to_second, &x);
        let second_flags = m.register_if("second_flags_q", to_second, x_flags);
        let second_last = m.register_if("second_last_q", to_second, x_last);
        // Input of the first place: the second place if that holds a beat, otherwise the incoming beat.
        let words = second.iter().zip(&x).map(|(&second, &x)| [full, second, x]);
        let first = m.call_each("select", SelectFunction { width }, words);
        let select = SelectFunction { width: FLAG_BITS };
        let [first_flags] = m.call("select_flags", select, [full, second_flags, x_flags]);
        let [first_last] = m.call("select_last", SelectFunction { width: 1 }, [full, second_last, x_last]);

        let tdata = m.registers_if("data_q", to_first, &first);
        let tuser = m.register_if("flags_q", to_first, first_flags);
        let tlast = m.register_if("last_q", to_first, first_last);
        let stream = SourceOutputs { tvalid: valid, tdata, tuser, tlast }.hand_out(m, "");
        (stream, m.output("full", full))
    })
}

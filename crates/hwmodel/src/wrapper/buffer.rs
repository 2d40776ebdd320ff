//! A buffer of two beats: registered on both sides, a beat a cycle.

use super::later::{announce, hold, reserve};
use super::ports::SourceOutputs;
use crate::array::results::SelectFunction;
use crate::function;
use crate::rtl::{Module, Tag, Wire};

/// Bits of `m_axis_o_tuser`: invalid, overflow, empty.
pub const FLAG_BITS: u32 = 3;

function! {
    /// Where a beat goes in the buffer.
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

/// What goes into a buffer.
pub struct BufferInputs<'a> {
    /// A beat comes; only while the buffer is not full.
    pub push: Wire,
    /// Its data, in words.
    pub x: &'a [Wire],
    /// Its flags.
    pub x_flags: Wire,
    /// It is its packet's last.
    pub x_last: Wire,
    /// The beat on the port is taken.
    pub tready: Wire,
}

/// A buffer of two beats: the stream that leaves it, and whether there is no room.
pub fn beat_buffer(around: &mut Module, name: &str, inputs: &BufferInputs) -> (SourceOutputs, Wire) {
    let (words, width) = (inputs.x.len(), inputs.x[0].width());
    let tag = Tag::module(format!("beat_buffer_{words}x{width}"), "Two beats on their way out.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let push = m.input("push", inputs.push);
        let x = m.inputs("x", inputs.x);
        let (x_flags, x_last) = (m.input("x_flags", inputs.x_flags), m.input("x_last", inputs.x_last));
        let (valid, tvalid) = announce(m, "tvalid", 1);
        let tready = m.input("tready", inputs.tready);

        reserve(m, &["data_q", "flags_q", "last_q", "valid_q"]);
        reserve(m, &["second_q", "second_flags_q", "second_last_q", "full_q"]);
        // Both places hold a beat; `valid`: the first one does.
        let full = m.later(1);
        let [to_first, to_second, next_valid, next_full] =
            m.call("rules", BufferRulesFunction {}, [push, tready, valid, full]);
        hold(m, "valid_q", valid, next_valid);
        hold(m, "full_q", full, next_full);
        let second = m.registers_if("second_q", to_second, &x);
        let second_flags = m.register_if("second_flags_q", to_second, x_flags);
        let second_last = m.register_if("second_last_q", to_second, x_last);
        // What goes to the first place.
        let mut first = Vec::new();
        for (w, (&x, &second)) in x.iter().zip(&second).enumerate() {
            first.extend(m.call(("select", w), SelectFunction { width }, [full, second, x]));
        }
        let select = SelectFunction { width: FLAG_BITS };
        let [first_flags] = m.call("select_flags", select, [full, second_flags, x_flags]);
        let [first_last] = m.call("select_last", SelectFunction { width: 1 }, [full, second_last, x_last]);

        let data = m.registers_if("data_q", to_first, &first);
        let flags = m.register_if("flags_q", to_first, first_flags);
        let last = m.register_if("last_q", to_first, first_last);
        let tdata = m.outputs("tdata", &data);
        let (tuser, tlast) = (m.output("tuser", flags), m.output("tlast", last));
        (SourceOutputs { tvalid, tdata, tuser, tlast }, m.output("full", full))
    })
}

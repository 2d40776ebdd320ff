//! The stream of results.
//!
//! The first beat of a result leaves the array's port at once. The others wait in a shift register that moves down by a
//! beat at a time. A buffer of two beats follows: it passes a beat a cycle and leaves no combinational path between the
//! array's port and the sink's `tready`.

use super::beat::Shape;
use super::buffer::beat_buffer;
use super::ports::SourceOutputs;
use super::vector::{by_width, port_of};
use crate::array::ZeroFunction;
use crate::array::results::SelectFunction;
use crate::function;
use crate::rtl::{Module, Tag, VectorLeaf, Wire};
use crate::word::bits_for;
use flashd_spec::streams::FLAG_BITS;

function! {
    /// Rules for results of several beats: room for a result, and which beat leaves.
    pub struct SendRulesFunction { bits: u32, rest: u64 }
    name(this) = format!("send_rules_{}", this.rest);
    doc = "A result may come when no beat of the one before waits and the buffer has room.";
    inputs { o_valid: 1, ce: 1, buffer_full: 1, left: this.bits }
    outputs { blocked: 1, load: 1, push: 1, waiting: 1, last_beat: 1, next_left: this.bits }
    eval<W> {
        let waiting = left.any().named("waiting");
        let room = waiting.not().and(&buffer_full.not()).named("room");
        let load = o_valid.and(&ce).named("load");
        let shift = waiting.and(&buffer_full.not()).named("shift");
        let minus_one = W::constant(this.bits, crate::word::ones(this.bits));
        let less = left.add(&minus_one).named("less");
        let next_left = load.select(&W::constant(this.bits, this.rest), &shift.select(&less, &left));
        let last_beat = left.eq(&W::constant(this.bits, 1)).named("final_beat");
        [o_valid.and(&room.not()), load.clone(), load.or(&shift), waiting, last_beat, next_left]
    }
}
function! {
    /// [`SendRulesFunction`] for results of one beat.
    pub struct SendWholeFunction {}
    name(this) = "send_whole";
    doc = "A result may come when the buffer has room.";
    inputs { o_valid: 1, ce: 1, buffer_full: 1 }
    outputs { blocked: 1, push: 1 }
    eval<W> { [o_valid.and(&buffer_full), o_valid.and(&ce)] }
}
function! {
    /// The flags that leave with a beat, and whether it ends the packet.
    pub struct SendFlagsFunction {}
    name(this) = "send_flags";
    doc = "The flags of the result that waits, or of the new one; a packet ends with the last beat of its last result.";
    inputs { waiting: 1, last_beat: 1, own: FLAG_BITS, kept: FLAG_BITS, kept_last: 1 }
    outputs { flags: FLAG_BITS, last: 1 }
    eval<W> { [waiting.select(&kept, &own), last_beat.and(&kept_last)] }
}
/// Splits the elements of a vector into words.
fn words(m: &mut Module, shape: &Shape, x: &[Wire]) -> Vec<Wire> {
    let split = |(&x, (run, e, element)): (&Wire, (usize, usize, (u32, usize)))| match shape
        .element(element, false)
    {
        Some(split) => m.leaf((&*port_of("split", run), e), VectorLeaf::new(split), &[x]),
        None => vec![x],
    };
    x.iter().zip(shape.places()).flat_map(split).collect()
}

/// The result stream. A packet is the results of a block. The second output says that a result cannot leave, and the array must freeze.
///
/// `o`: the array's result, with partial results followed by its state. `result`: `o_valid`; `o_last`, the result is the last of its
/// block; `o_flags`, [`FLAG_BITS`] bits; `ce`, the array is not frozen. `tready`: the sink takes a beat.
pub fn result_stream(
    around: &mut Module,
    name: &str,
    shape: &Shape,
    o: &[Wire],
    result: [(&str, Wire); 4],
    tready: Wire,
) -> (SourceOutputs, Wire) {
    let tag = Tag::module(format!("result_stream_{}", shape.ident()), "Results of a block, one packet.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let o: Vec<Wire> =
            by_width(shape, o).flat_map(|(place, o)| m.inputs(&port_of("o", place), o)).collect();
        let [o_valid, o_last, o_flags, ce] = m.input_each(result);
        let tready = m.input("tready", tready);

        let mut words = words(m, shape, &o);
        if words.len() < shape.beats * shape.words {
            let [fill] = m.call("fill", ZeroFunction { width: shape.word_bits() }, []);
            words.resize(shape.beats * shape.words, fill);
        }
        let no_room = m.later(1);
        let sent = if shape.beats > 1 {
            send(m, shape, &words, [o_valid, o_last, o_flags, ce], no_room)
        } else {
            let [blocked, push] = m.call("whole", SendWholeFunction {}, [o_valid, ce, no_room]);
            Sent { push, x: words, flags: o_flags, last: o_last, blocked }
        };
        let (buffer, full) = beat_buffer(m, "buffer", sent.push, &sent.x, [sent.flags, sent.last], tready);
        m.drive(no_room, full);
        (buffer.hand_out(m, ""), m.output("blocked", sent.blocked))
    })
}

/// The input of the buffer.
struct Sent {
    push: Wire,
    x: Vec<Wire>,
    flags: Wire,
    last: Wire,
    /// The result cannot leave.
    blocked: Wire,
}

/// Sends a result of several beats from the array's port to the buffer, unless that has `no_room`.
fn send(
    m: &mut Module,
    shape: &Shape,
    words: &[Wire],
    [o_valid, o_last, o_flags, ce]: [Wire; 4],
    no_room: Wire,
) -> Sent {
    let rest_beats = shape.beats - 1;
    let bits = bits_for(rest_beats as u64);
    let width = shape.word_bits();
    // Beats that wait in rest_q.
    let left = m.state("left_q", bits);
    let rules = SendRulesFunction { bits, rest: rest_beats as u64 };
    let [blocked, load, push, waiting, last_beat, next_left] =
        m.call("rules", rules, [o_valid, ce, no_room, left]);
    m.next(left, next_left);
    // rest_q holds the beats after the first. It loads a new result's or shifts by a beat; nothing moves into the last place.
    let (first, following) = words.split_at(shape.words);
    let shifted = following.len() - shape.words;
    let rest: Vec<Wire> = (0..following.len())
        .map(|i| m.state_if(("rest_q", i), width, if i < shifted { push } else { load }))
        .collect();
    for (i, &new) in following.iter().enumerate() {
        let next = match rest.get(i + shape.words) {
            Some(&behind) => m.call(("shift", i), SelectFunction { width }, [load, new, behind])[0],
            None => new,
        };
        m.next(rest[i], next);
    }
    let sent = rest.iter().zip(first).map(|(&rest, &first)| [waiting, rest, first]);
    let x = m.call_each("send", SelectFunction { width }, sent);
    let kept = m.register_if("flags_q", load, o_flags);
    let kept_last = m.register_if("last_q", load, o_last);
    let inputs = [waiting, last_beat, o_flags, kept, kept_last];
    let [flags, last] = m.call("send_flags", SendFlagsFunction {}, inputs);
    Sent { push, x, flags, last, blocked }
}

//! The value stream: the array waits for a value and takes it.

use super::beat::Shape;
use super::logic::credit;
use super::ports::SinkInputs;
use super::vector::{VectorOutputs, vector_input};
use crate::function;
use crate::rtl::{Module, Tag, Wire};

function! {
    /// Values that were asked for: the array waits (`missing`) or takes one (`take`).
    pub struct ValueRulesFunction {}
    name(this) = "value_rules";
    doc = "A value that is due and not there freezes the array; it is taken with the step that it is due for.";
    inputs { due: 1, full: 1, ce: 1 }
    outputs { missing: 1, take: 1 }
    eval<W> { [due.and(&full.not()), due.and(&ce)] }
}
function! {
    /// [`ValueRulesFunction`] for packets with one value for each key.
    pub struct ValuePacketRulesFunction {}
    name(this) = "value_packet_rules";
    doc = "Each step takes a value, needed or not. A packet that is too short leaves the rest of its block without values;\n\
           of one that is too long the rest is dropped.";
    inputs { due: 1, due_last: 1, full: 1, last: 1, exhausted: 1, dropping: 1, ce: 1 }
    outputs { missing: 1, take: 1, too_long: 1, too_short: 1, next_exhausted: 1, next_dropping: 1 }
    eval<W> {
        let waits = due.and(&exhausted.not()).named("wanted");
        let missing = waits.and(&dropping.or(&full.not()));
        let uses = waits.and(&ce).named("uses");
        let take = uses.or(&dropping.and(&full));
        let too_long = uses.and(&due_last).and(&last.not()).named("exceeds");
        let too_short = uses.and(&last).and(&due_last.not()).named("lacks");
        let end = due.and(&ce).and(&due_last).named("ended");
        let next_exhausted = too_short.or(&exhausted.and(&end.not()));
        let next_dropping = too_long.or(&dropping.and(&full.and(&last).not()));
        [missing, take, too_long, too_short, next_exhausted, next_dropping]
    }
}
/// The condition under which values may come.
#[derive(Clone, Copy, Debug)]
pub enum Permit {
    /// Values that were asked for, while the wire says that a block is under way.
    Busy(Wire),
    /// One packet with all values of a block.
    Packets {
        /// A packet of keys begins.
        block: Wire,
        /// The value due now belongs to the block's last key.
        due_last: Wire,
        /// Width of the counter of blocks whose values have not begun to come.
        credit_bits: u32,
    },
}

/// Outputs of the value stream.
pub struct ValueOutputs {
    /// `tready`: a beat is taken if offered.
    pub tready: Wire,
    /// A value is due and has not come: the array must freeze.
    pub missing: Wire,
    /// The value, d words.
    pub v: Vec<Wire>,
    /// Errors of packets, in the order of their bits in STATUS.
    pub error: Vec<Wire>,
}

/// The value stream. `due`: a step reads its value in this cycle; `ce`: the array is not frozen.
pub fn value_stream(
    around: &mut Module,
    name: &str,
    shape: &Shape,
    stream: &SinkInputs,
    permit: Permit,
    due: Wire,
    ce: Wire,
) -> ValueOutputs {
    let (suffix, doc) = match permit {
        Permit::Busy(_) => ("", "Values that were asked for, in order."),
        Permit::Packets { .. } => (
            "_packets",
            "A value for each key of a block, one packet; those that no query needs are dropped.",
        ),
    };
    around.part(name, Tag::module(format!("value_stream_{}{suffix}", shape.ident()), doc), |m| {
        m.clock();
        m.reset();
        let stream = stream.enter(m, "");
        let values = match permit {
            Permit::Busy(busy) => requested(m, shape, &stream, busy, [due, ce]),
            Permit::Packets { block, due_last, credit_bits } => {
                packets(m, shape, &stream, credit_bits, [block, due, due_last, ce])
            }
        };
        ValueOutputs {
            tready: m.output("tready", values.vectors.tready),
            missing: m.output("missing", values.missing),
            v: m.outputs("v", &values.vectors.y),
            error: m.outputs("error", &values.errors),
        }
    })
}

/// The vectors, and the outputs of the rules for them.
struct Ruled {
    vectors: VectorOutputs,
    missing: Wire,
    errors: Vec<Wire>,
}

/// Values that were asked for, without packets.
fn requested(m: &mut Module, shape: &Shape, stream: &SinkInputs, busy: Wire, [due, ce]: [Wire; 2]) -> Ruled {
    let permit = m.input("busy", busy);
    let [due, ce] = m.input_each([("due", due), ("ce", ce)]);
    let take = m.later(1);
    let vectors = vector_input(m, "vectors", shape, stream, permit, None, take);
    let [missing, takes] = m.call("alone", ValueRulesFunction {}, [due, vectors.full, ce]);
    m.drive(take, takes);
    Ruled { vectors, missing, errors: Vec::new() }
}

/// A packet of values for each block.
fn packets(
    m: &mut Module,
    shape: &Shape,
    stream: &SinkInputs,
    credit_bits: u32,
    [block, due, due_last, ce]: [Wire; 4],
) -> Ruled {
    let block = m.input("block", block);
    let due = m.input("due", due);
    let due_last = m.input("due_last", due_last);
    let ce = m.input("ce", ce);
    let (opens, take) = (m.later(1), m.later(1));
    // Blocks whose values have not begun to come.
    let permit = credit(m, "credit", credit_bits, block, opens);
    // The packet had too few values: the rest of its block goes without. It had too many: the rest is dropped.
    let (exhausted, dropping) = (m.state("exhausted_q", 1), m.state("dropping_q", 1));
    let vectors = vector_input(m, "vectors", shape, stream, permit, None, take);
    let packet = vectors.packet();
    m.drive(opens, packet.opens);
    let rules = [due, due_last, vectors.full, packet.last, exhausted, dropping, ce];
    let [missing, takes, too_long, too_short, next_exhausted, next_dropping] =
        m.call("packet", ValuePacketRulesFunction {}, rules);
    m.drive(take, takes);
    m.next_all(&[exhausted, dropping], &[next_exhausted, next_dropping]);
    let errors = [too_long, too_short].into_iter().chain(packet.partial).collect();
    Ruled { vectors, missing, errors }
}

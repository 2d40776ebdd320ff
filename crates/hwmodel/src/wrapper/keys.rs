//! The key stream.

use super::beat::Shape;
use super::logic::{KEY_CREDIT_BITS, credit};
use super::packet::{NextPlaceFunction, TakeFunction};
use super::ports::SinkInputs;
use super::vector::vector_input;
use crate::function;
use crate::rtl::{Module, Tag, Wire};

function! {
    /// Compares the number of a key with LENGTH.
    pub struct KeyLimitFunction { bits: u32 }
    name(this) = "key_limit";
    doc = "The LENGTH-th key ends the block; a packet that ends before is too short. LENGTH 0: the packet decides.";
    inputs { place: this.bits, length: this.bits, vector: 1, ends: 1 }
    outputs { stop: 1, too_short: 1 }
    eval<W> {
        let number = place.add(&W::constant(this.bits, 1)).named("number");
        let limited = length.any().named("limited");
        let stop = number.eq(&length).and(&limited).named("at_length");
        let short = vector.and(&ends).and(&limited).and(&stop.not());
        [stop, short]
    }
}

/// Width of LENGTH.
const LENGTH_BITS: u32 = 32;

/// Outputs of the key stream.
pub struct KeyOutputs {
    /// `tready`: a beat is taken if offered.
    pub tready: Wire,
    /// A key is offered.
    pub k_valid: Wire,
    /// The offered key is the last of its block.
    pub k_last: Wire,
    /// Cores with masks: no query sees the key.
    pub k_mask: Option<Wire>,
    /// The key's words, followed by its scales.
    pub k: Vec<Wire>,
    /// Cores with a bias: one for each query of the block, added to its score.
    pub biases: Vec<Wire>,
    /// The array takes the key.
    pub taken: Wire,
    /// Where all values come in packets: a packet of keys begins.
    pub opens: Option<Wire>,
    /// Errors, in the order of their bits in STATUS.
    pub error: Vec<Wire>,
}

/// The key stream. A packet is the keys of a block. With `packets_of_values` the module says when a packet begins.
///
/// Cores with masks: `tuser` says that no query sees the key. `ports`: `block`, a packet of queries begins; `length`, the keys of a block,
/// 32 bits, 0 for as many as the packet has; `ready`, the array takes a key if offered; `ce`, the array is not frozen.
pub fn key_stream(
    around: &mut Module,
    name: &str,
    shape: &Shape,
    packets_of_values: bool,
    stream: &SinkInputs,
    ports: [(&str, Wire); 4],
) -> KeyOutputs {
    let suffix = if stream.tuser.is_some() { "_masks" } else { "" };
    let tag = Tag::module(
        format!("key_stream_{}{suffix}", shape.ident()),
        "Keys of a block, one packet; it may begin when the packet of queries has.",
    );
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let stream = stream.enter(m, "");
        let [block, length, ready, ce] = m.input_each(ports);

        let [opens, vector, ends, full] = [(); 4].map(|()| m.later(1));
        // Blocks whose keys have not begun to come.
        let permit = credit(m, "credit", KEY_CREDIT_BITS, block, opens);
        // Keys of the block so far; stop: the incoming one is the LENGTH-th.
        let bits = LENGTH_BITS;
        let place = m.state("place_q", bits);
        let [stop, too_short] = m.call("limit", KeyLimitFunction { bits }, [place, length, vector, ends]);
        let [next] = m.call("next_place", NextPlaceFunction { bits }, [vector, ends, place]);
        m.next(place, next);
        let [take] = m.call("takes", TakeFunction {}, [full, ready, ce]);
        let vectors = vector_input(m, "vectors", shape, &stream, permit, Some(stop), take);
        let (packet, limits) = (vectors.packet(), vectors.limits());
        m.drive_all(&[opens, vector, ends, full], &[packet.opens, limits.vector, limits.ends, vectors.full]);

        let errors: Vec<Wire> = [limits.too_long, too_short].into_iter().chain(packet.partial).collect();
        KeyOutputs {
            tready: m.output("tready", vectors.tready),
            k_valid: m.output("k_valid", full),
            k_last: m.output("k_last", packet.last),
            k_mask: m.optional_output("k_mask", vectors.flag),
            k: m.outputs("k", &vectors.y[..shape.runs()[0].count]),
            biases: match shape.runs() {
                [k, _] => m.outputs("bias", &vectors.y[k.count..]),
                _ => Vec::new(),
            },
            taken: m.output("taken", take),
            opens: m.optional_output("opens", packets_of_values.then_some(packet.opens)),
            error: m.outputs("error", &errors),
        }
    })
}

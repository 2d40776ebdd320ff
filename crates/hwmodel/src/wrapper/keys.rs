//! The key stream.

use super::beat::Shape;
use super::logic::{KEY_CREDIT_BITS, credit};
use super::packet::{NextPlaceFunction, TakeFunction};
use super::ports::{Last, SinkInputs};
use super::vector::vector_input;
use crate::function;
use crate::rtl::{Module, Tag, Wire};

function! {
    /// Whether a key is the last one by its number.
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

/// Bits of LENGTH.
const LENGTH_BITS: u32 = 32;

/// What the key stream hands out.
pub struct KeyOutputs {
    /// A beat is taken if offered.
    pub tready: Wire,
    /// A key is offered.
    pub k_valid: Wire,
    /// It is its block's last.
    pub k_last: Wire,
    /// With masks: no query sees it.
    pub k_mask: Option<Wire>,
    /// The key, with its scales behind.
    pub k: Vec<Wire>,
    /// With a bias: what each query of the block adds to its score.
    pub biases: Vec<Wire>,
    /// It is taken.
    pub taken: Wire,
    /// With packets of values: a packet begins.
    pub opens: Option<Wire>,
    /// Errors, as STATUS has them.
    pub error: Vec<Wire>,
}

/// The key stream: a packet is a block's keys. With `packets_of_values` it says when one begins.
///
/// Of a beat, with masks `tuser`: no query sees the key. By the names of the ports: a packet of queries begins, and with it a `block`; its
/// keys (`length`, 32 bits; 0: as many as come); the array takes a key if offered (`ready`), and is not frozen (`ce`).
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
        let stream = stream.enter(m, "", Last::Always);
        let [block, length, ready, ce] = m.input_each(ports);

        let [opens, vector, ends, full] = [(); 4].map(|()| m.later(1));
        // Blocks whose keys have not begun to come.
        let permit = credit(m, "credit", KEY_CREDIT_BITS, block, opens);
        // Keys of the block so far, and whether this is the last.
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

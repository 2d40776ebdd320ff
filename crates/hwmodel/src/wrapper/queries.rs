//! The query stream.

use super::beat::Shape;
use super::logic::HighFunction;
use super::packet::{NextPlaceFunction, TakeFunction};
use super::ports::SinkInputs;
use super::vector::vector_input;
use crate::function;
use crate::rtl::{Module, Tag, Wire};
use crate::word::index_bits;

function! {
    /// Set if the vector at `place` is the last that its packet may have.
    pub struct LastPlaceFunction { bits: u32, last: u64 }
    name(this) = format!("last_place_{}", this.last);
    doc = "Whether no more may follow.";
    inputs { place: this.bits }
    outputs { stop: 1 }
    eval<W> { [place.eq(&W::constant(this.bits, this.last))] }
}

/// Set if the incoming vector fills its packet, which has at most one vector for each of the block's queries. For more than one
/// query, also two open wires for the caller to drive: a vector is complete; it ends its packet.
pub(super) fn last_of_packet(m: &mut Module, queries: usize) -> (Wire, Option<[Wire; 2]>) {
    if queries == 1 {
        return (m.call("high", HighFunction {}, [])[0], None);
    }
    let bits = index_bits(queries);
    let [vector, ends] = [m.later(1), m.later(1)];
    // Complete vectors of the packet so far.
    let place = m.state("place_q", bits);
    let last_place = LastPlaceFunction { bits, last: queries as u64 - 1 };
    let [stop] = m.call("last_place", last_place, [place]);
    let [next] = m.call("next_place", NextPlaceFunction { bits }, [vector, ends, place]);
    m.next(place, next);
    (stop, Some([vector, ends]))
}

/// Outputs of the query stream.
pub struct QueryOutputs {
    /// `tready`: a beat is taken if offered.
    pub tready: Wire,
    /// A query is offered.
    pub q_valid: Wire,
    /// The offered query is the last of its block.
    pub q_last: Wire,
    /// The query, d words.
    pub q: Vec<Wire>,
    /// The array takes the query.
    pub taken: Wire,
    /// A packet begins.
    pub opens: Wire,
    /// Errors, in the order of their bits in STATUS.
    pub error: Vec<Wire>,
}

/// The query stream. A packet is the queries of a block, at most `queries`.
///
/// `ports`: `run`, a packet may begin; `ready`, the array takes a query if offered; `ce`, the array is not frozen.
pub fn query_stream(
    around: &mut Module,
    name: &str,
    shape: &Shape,
    queries: usize,
    stream: &SinkInputs,
    ports: [(&str, Wire); 3],
) -> QueryOutputs {
    let tag = Tag::module(
        format!("query_stream_{}_{queries}", shape.ident()),
        "Queries of a block, one packet; what goes beyond the array's queries is dropped.",
    );
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let stream = stream.enter(m, "");
        let [run, ready, ce] = m.input_each(ports);

        let (stop, counted) = last_of_packet(m, queries);
        let full = m.later(1);
        let [take] = m.call("takes", TakeFunction {}, [full, ready, ce]);
        let vectors = vector_input(m, "vectors", shape, &stream, run, Some(stop), take);
        let (packet, limits) = (vectors.packet(), vectors.limits());
        m.drive(full, vectors.full);
        if let Some(counted) = counted {
            m.drive_all(&counted, &[limits.vector, limits.ends]);
        }

        let errors: Vec<Wire> = [limits.too_long].into_iter().chain(packet.partial).collect();
        QueryOutputs {
            tready: m.output("tready", vectors.tready),
            q_valid: m.output("q_valid", vectors.full),
            q_last: m.output("q_last", packet.last),
            q: m.outputs("q", &vectors.y),
            taken: m.output("taken", take),
            opens: m.output("opens", packet.opens),
            error: m.outputs("error", &errors),
        }
    })
}

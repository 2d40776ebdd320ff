//! The stream of states that queries start from, and the logic that offers them to the array as steps.
//!
//! A state is a step of the array ([`crate::attention::partial`]). The array reads its scalars soon after the step, and its accumulators
//! at the time of a value. So one register serves all queries of a block: a state waits in it from its last beat until the array has read
//! the accumulators, and the next state waits at the port. If states came in the packets of queries, each query of a block would need a
//! register of d A bits, because all queries are loaded before the first step. If they came in the key stream, a state would have to be
//! as wide as a whole number of keys, and its accumulators would still need a register.

use super::beat::Shape;
use super::logic::{BothFunction, EitherFunction, KEY_CREDIT_BITS, WithoutFunction, credit};
use super::packet::NextPlaceFunction;
use super::parts::no_key;
use super::ports::SinkInputs;
use super::queries::last_of_packet;
use super::vector::vector_input;
use crate::function;
use crate::rtl::{Module, Tag, Wire};
use crate::word::index_bits;
use flashd_spec::config::Design;

function! {
    /// Rules for the state in the register: it is offered as a step, dropped, or held until its accumulators have been read.
    pub struct StateRulesFunction {}
    name(this) = "state_rules";
    doc = "A block's keys wait until its packet of states has become steps. A state becomes one when the accumulators of the one before\n\
           have been read; one that says that there is none is dropped.";
    inputs {
        enabled: 1, full: 1, none: 1, last: 1, held: 1, done: 1, k_ready: 1, due: 1, key_ends: 1, ce: 1
    }
    outputs { stating: 1, offers: 1, take: 1, passes: 1, next_held: 1, next_done: 1 }
    eval<W> {
        let stating = enabled.and(&done.not()).named("open");
        let waits = stating.and(&full).and(&held.not()).named("waits");
        let offers = waits.and(&none.not()).named("offered");
        let enters = offers.and(&k_ready).and(&ce).named("enters");
        let drops = waits.and(&none).named("drops");
        let leaves = due.and(&ce).named("leaves");
        let passes = enters.or(&drops).named("passed");
        let next_done = passes.and(&last).or(&done.and(&key_ends.not()));
        [
            stating.clone(),
            offers.clone(),
            drops.or(&leaves),
            passes.clone(),
            enters.or(&held.and(&leaves.not())),
            next_done,
        ]
    }
}

/// Outputs of the stream of states.
pub struct StateOutputs {
    /// `tready`: a beat is taken if offered.
    pub tready: Wire,
    /// The block's states are still coming; keys wait.
    pub stating: Wire,
    /// A state is offered as a step.
    pub offers: Wire,
    /// The place of its query in the block.
    pub index: Wire,
    /// Its accumulators.
    pub o: Vec<Wire>,
    /// Its scalars.
    pub scalars: Vec<Wire>,
    /// Errors, in the order of their bits in STATUS.
    pub error: Vec<Wire>,
}

/// The stream of states. A packet has one state for each query of a block, in order. Queries after the last state start without one.
///
/// `tuser` of a beat: the query has no state, as after an empty result; without `tuser` the scalars say so. `ports`: `enabled`, blocks bring states; `block`, a packet of
/// queries begins; `k_ready`, the array takes a step if offered; `due`, it reads the state's accumulators in this cycle; `key_ends`, it
/// takes the last key of its block; `ce`, it is not frozen.
pub fn state_stream(
    around: &mut Module,
    name: &str,
    shape: &Shape,
    (queries, design): (usize, Design),
    stream: &SinkInputs,
    ports: [(&str, Wire); 6],
) -> StateOutputs {
    let tag = Tag::module(
        format!("state_stream_{}_{queries}", shape.ident()),
        "The states that the queries of a block start from, one packet; it may begin when the packet of queries has.",
    );
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let stream = stream.enter(m, "");
        let [enabled, block, k_ready, due, key_ends, ce] = m.input_each(ports);

        let [opens, take] = [(); 2].map(|()| m.later(1));
        // Blocks whose states have not begun to come.
        let [owed] = m.call("owed", BothFunction {}, [block, enabled]);
        let permit = credit(m, "credit", KEY_CREDIT_BITS, owed, opens);
        let (stop, counted) = last_of_packet(m, queries);
        let vectors = vector_input(m, "vectors", shape, &stream, permit, Some(stop), take);
        let (packet, limits) = (vectors.packet(), vectors.limits());
        m.drive(opens, packet.opens);
        if let Some(counted) = counted {
            m.drive_all(&counted, &[limits.vector, limits.ends]);
        }

        // held: the step was taken, its accumulators have not been read. done: all states of the block have become steps.
        let (held, done) = (m.state("held_q", 1), m.state("done_q", 1));
        let (o, scalars) = vectors.y.split_at(shape.runs()[0].count);
        let none = vectors.flag.unwrap_or_else(|| no_key(m, design, scalars));
        let rules = [enabled, vectors.full, none, packet.last, held, done, k_ready, due, key_ends, ce];
        let [stating, offers, takes, passes, next_held, next_done] =
            m.call("rules", StateRulesFunction {}, rules);
        m.drive(take, takes);
        m.next_all(&[held, done], &[next_held, next_done]);
        // The place of the query whose state waits.
        let bits = index_bits(queries);
        let place = m.state("index_q", bits);
        let [next] = m.call("next_index", NextPlaceFunction { bits }, [passes, packet.last, place]);
        m.next(place, next);

        let errors: Vec<Wire> = [limits.too_long].into_iter().chain(packet.partial).collect();
        StateOutputs {
            tready: m.output("tready", vectors.tready),
            stating: m.output("stating", stating),
            offers: m.output("offers", offers),
            index: m.output("index", place),
            o: m.outputs("o", o),
            scalars: (scalars.iter().enumerate())
                .map(|(i, &scalar)| m.output(&format!("scalar_{i}"), scalar))
                .collect(),
            error: m.outputs("error", &errors),
        }
    })
}

/// The steps offered to the array: the block's states, then its keys.
pub struct StepInputs {
    /// A step is offered.
    pub k_valid: Wire,
    /// The step is the last of its block.
    pub k_last: Wire,
    /// No query sees the step's key.
    pub k_mask: Option<Wire>,
    /// The step is a key.
    pub key_valid: Wire,
}

/// Merges states and keys to steps; keys wait until the block's states are done. `[k_valid, k_last]` and `k_mask` belong to the key.
pub fn steps_of(
    m: &mut Module,
    states: &StateOutputs,
    [k_valid, k_last]: [Wire; 2],
    k_mask: Option<Wire>,
) -> StepInputs {
    let behind =
        |m: &mut Module, name: &str, x: Wire| m.call(name, WithoutFunction {}, [x, states.stating])[0];
    let key_valid = behind(m, "key_valid", k_valid);
    let k_last = behind(m, "key_last", k_last);
    let k_mask = k_mask.map(|k_mask| behind(m, "key_mask", k_mask));
    let [k_valid] = m.call("step_valid", EitherFunction {}, [key_valid, states.offers]);
    StepInputs { k_valid, k_last, k_mask, key_valid }
}

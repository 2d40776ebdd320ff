//! The array of a wrapper or an attention unit, and the streams to and from it.

use super::advance::*;
use super::beat::{ElementWords, Shape};
use super::keys::{KeyOutputs, key_stream};
use super::logic::{BothFunction, Low, WithoutFunction, value_credit_bits};
use super::parts::parts_of;
use super::ports::*;
use super::queries::{QueryOutputs, query_stream};
use super::requests::request_stream;
use super::results::result_stream;
use super::states::{StateOutputs, StepInputs, state_stream, steps_of};
use super::steps::{StepOutputs, StepTimes, step_tracker};
use super::values::{Permit, ValueOutputs, value_stream};
use crate::array::{ArrayInputs, ArrayOutputs, array};
use crate::attention::ports::CoreInputs;
use crate::catalogue::v_step_latency;
use crate::rtl::{Module, VectorLeaf, Wire};
use flashd_spec::config::{ArrayConfig, Carried, Values, WrapperConfig};
use flashd_spec::numerics::Numerics;
use flashd_spec::unit::UnitConfig;
use std::sync::Arc;

/// The shapes of the streams.
#[derive(Clone)]
pub struct Shapes {
    /// Queries.
    pub q: Shape,
    /// Keys.
    pub k: Shape,
    /// Values.
    pub v: Shape,
    /// Results.
    pub o: Shape,
    /// With partial results: states.
    pub s: Option<Shape>,
    /// Where each part of a result begins with a beat: the words of zeros that follow each part.
    pub fills: Vec<usize>,
}

impl Shapes {
    /// The shapes of a wrapper.
    pub fn of(config: &WrapperConfig) -> Shapes {
        Shapes::by(&config.array, |carried| Shape::of(config, carried))
    }

    /// Shapes of rows in memory, whose beats are all as wide as its bus. With states each part of a result has whole beats.
    pub fn of_bus(config: &UnitConfig) -> Shapes {
        let row = |carried| Shape::in_beats(config.row_words(carried), config.beat_bits);
        let shapes = Shapes::by(&config.array, row);
        let parts = config.result_parts();
        if parts.len() == 1 {
            return shapes;
        }
        let (o, fills) = Shape::in_parts(&parts, config.beat_bits);
        Shapes { o, fills, ..shapes }
    }

    fn by(array: &ArrayConfig, shape: impl Fn(Carried) -> Shape) -> Shapes {
        Shapes {
            q: shape(Carried::Query),
            k: shape(Carried::Key),
            v: shape(Carried::Value),
            o: shape(Carried::Result),
            s: array.core.partial.then(|| shape(Carried::State)),
            fills: Vec::new(),
        }
    }
}

/// The signals that come to the streams from outside.
pub struct Sinks {
    /// Queries.
    pub q: SinkInputs,
    /// Keys.
    pub k: SinkInputs,
    /// Values.
    pub v: SinkInputs,
    /// With partial results: states.
    pub s: Option<SinkInputs>,
    /// Where values are asked for: a request is taken.
    pub vreq_tready: Option<Wire>,
    /// A beat of results is taken.
    pub o_tready: Wire,
}

/// What decides which blocks run, and how.
pub struct Control {
    /// Blocks may begin.
    pub run: Wire,
    /// Where values are asked for: a block is under way, or may begin.
    pub busy: Option<Wire>,
    /// Keys of a block, 32 bits; 0: as many as its packet has.
    pub length: Wire,
    /// Fixed-point lanes: the exponent field of max|v|.
    pub v_exponent: Option<Wire>,
    /// The scale of all queries, 16 bits, if it does not come with them.
    pub q_scale: Option<Wire>,
    /// Cores with masks: place of the first key that the next query sees.
    pub q_from: Option<Wire>,
    /// Cores with masks: place after the last key that it sees.
    pub q_to: Option<Wire>,
    /// Cores with partial results: each block brings a packet of states.
    pub states: Option<Wire>,
    /// Where values are asked for: the contents of a step's request, if it is not the place of its key.
    pub request: Option<Wire>,
}

/// The signals that leave the streams.
pub struct Sources {
    /// `tready` of queries.
    pub q_tready: Wire,
    /// `tready` of keys.
    pub k_tready: Wire,
    /// `tready` of values.
    pub v_tready: Wire,
    /// `tready` of states.
    pub s_tready: Option<Wire>,
    /// Requests for values: `tvalid` and `tdata`.
    pub vreq: Option<[Wire; 2]>,
    /// Results.
    pub o: SourceOutputs,
    /// Events for registers and counters.
    pub events: AroundEvents,
}

/// Events in the streams.
pub struct AroundEvents {
    /// A block begins.
    pub opens: Wire,
    /// A block's last result leaves.
    pub done: Wire,
    /// The array takes a query.
    pub taken: Wire,
    /// The array takes a key.
    pub key: Wire,
    /// Cycles by their use, as [`ActivityFunction`] has them.
    pub counted: [Wire; 6],
    /// Where values are asked for: a cycle frozen for a request alone.
    pub request_stall: Option<Wire>,
    /// Errors, in the order of their bits in STATUS.
    pub error: Vec<Wire>,
    /// Where values are asked for: a step of a key, and its request, while the array moves.
    pub steps: [Wire; 2],
    /// The array moves.
    pub moves: Wire,
}

/// Inputs of the streams' parts that come from the array, which is built after them.
struct FromArray {
    /// The array moves: its clock enable.
    ce: Wire,
    q_ready: Wire,
    k_ready: Wire,
    /// A value is due.
    value_due: Wire,
    /// With values in packets: the value is its block's last.
    value_due_last: Option<Wire>,
    /// With partial results: accumulators are due.
    state_due: Option<Wire>,
}

/// The streams into the array.
struct StreamsIn {
    queries: QueryOutputs,
    keys: KeyOutputs,
    values: ValueOutputs,
    states: Option<StateOutputs>,
    /// States, then keys.
    offered: StepInputs,
}

/// The array of a configuration, and the streams to and from it. `rst` is synchronous, active high.
pub fn around_array(
    m: &mut Module,
    config: &WrapperConfig,
    n: &Arc<Numerics>,
    shapes: &Shapes,
    (sinks, control): (&Sinks, &Control),
    rst: Wire,
) -> Sources {
    // These parts depend on each other in a circle.
    let mut low = Low::default();
    let [ce, q_ready, k_ready, value_due] = [(); 4].map(|()| m.later(1));
    let mut from = FromArray { ce, q_ready, k_ready, value_due, value_due_last: None, state_due: None };
    let streams = streams_in(m, config, shapes, (sinks, control), &mut from);
    let StreamsIn { queries, keys, values, states, offered } = &streams;

    // The parts that stall with the array.
    let q_scale = control.q_scale.map_or_else(Vec::new, |scale| scale_words(m, config, scale));
    let inputs = streams.array_inputs(control, &q_scale);
    let (array, key_steps, steps) = m.gated("gate", ce, |m| {
        let array = array(m, "array", &config.array, n, &inputs);
        let of_keys = key_steps(m, &array);
        let placed = control.request.is_none();
        let steps = follow_steps(m, config, offered, &array, (of_keys, placed));
        (array, of_keys, steps)
    });
    if let (Some(later), Some(due)) = (from.state_due, steps.state_due) {
        m.drive(later, due);
    }
    m.drive_all(&[q_ready, k_ready, value_due], &[array.q_ready, array.k_ready, steps.due]);
    if let (Some(later), Some(due_last)) = (from.value_due_last, steps.due_last) {
        m.drive(later, due_last);
    }

    // The streams out of the array.
    let requests = sinks.vreq_tready.zip(control.request.or(steps.index)).map(|(tready, index)| {
        let step = [("v_ren", key_steps[1]), ("index", index), ("ce", ce)];
        request_stream(m, "requests", step, tready)
    });
    let request_blocked = requests.map(|(_, blocked)| blocked);
    let core = &array.core;
    let o = match &shapes.fills[..] {
        [] => [&core.o[..], &core.o_state, &core.state_scalars].concat(),
        fills => parts_of(m, (&config.array.core, n), core, fills, shapes.o.word_bits()),
    };
    let (results, done, result_blocked) =
        results_out(m, &mut low, (&shapes.o, &o), &array, ce, sinks.o_tready);

    // The array's enable, and which counter counts the cycle.
    let blocked = request_blocked.unwrap_or_else(|| low.wire(m));
    let activity = [
        ce,
        values.missing,
        blocked,
        result_blocked,
        steps.running,
        offered.k_valid,
        array.k_ready,
        array.q_ready,
        control.run,
        key_steps[0],
        key_steps[1],
    ];
    let counted: [Wire; 6] = m.call("activity", ActivityFunction {}, activity);
    let request_stall = request_blocked
        .map(|blocked| m.call("request_stall", RequestStallFunction {}, [blocked, result_blocked])[0]);
    let key_missing = steps.key_missing.unwrap_or_else(|| low.wire(m));
    let advance = [rst, key_missing, values.missing, blocked, result_blocked];
    let [moves] = m.call("advance", AdvanceFunction {}, advance);
    m.drive(ce, moves);

    let of_states = states.as_ref().map_or(&[][..], |states| &states.error);
    Sources {
        q_tready: queries.tready,
        k_tready: keys.tready,
        v_tready: values.tready,
        s_tready: states.as_ref().map(|states| states.tready),
        vreq: requests.map(|(stream, _)| stream),
        o: results,
        events: AroundEvents {
            opens: queries.opens,
            done,
            taken: queries.taken,
            key: keys.taken,
            counted,
            request_stall,
            error: [&queries.error, &keys.error, &values.error, of_states].concat(),
            steps: key_steps,
            moves,
        },
    }
}

fn streams_in(
    m: &mut Module,
    config: &WrapperConfig,
    shapes: &Shapes,
    (sinks, control): (&Sinks, &Control),
    from: &mut FromArray,
) -> StreamsIn {
    let (all, queries) = (config.values == Values::All, config.array.queries);
    let FromArray { ce, q_ready, k_ready, value_due, .. } = *from;
    let signals = [("run", control.run), ("ready", q_ready), ("ce", ce)];
    let queries_in = query_stream(m, "queries", &shapes.q, queries, &sinks.q, signals);
    let key_ready = if sinks.s.is_some() { m.later(1) } else { k_ready };
    let signals = [("block", queries_in.opens), ("length", control.length), ("ready", key_ready), ("ce", ce)];
    let keys = key_stream(m, "keys", &shapes.k, all, &sinks.k, signals);
    let permit = match (control.busy, keys.opens) {
        (Some(busy), _) => Permit::Busy(busy),
        (None, Some(block)) => {
            let (due_last, credit_bits) = (m.later(1), value_credit_bits(&config.array));
            from.value_due_last = Some(due_last);
            Permit::Packets { block, due_last, credit_bits }
        }
        (None, None) => unreachable!("values are asked for, or all of them come"),
    };
    let values = value_stream(m, "values", &shapes.v, &sinks.v, permit, value_due, ce);

    from.state_due = sinks.s.is_some().then(|| m.later(1));
    let with_states = sinks.s.as_ref().zip(shapes.s.as_ref()).zip(control.states).zip(from.state_due);
    let states = with_states.map(|(((s, shape), enabled), due)| {
        let [key_ends] = m.call("key_ends", BothFunction {}, [keys.taken, keys.k_last]);
        let signals = [
            ("enabled", enabled),
            ("block", queries_in.opens),
            ("k_ready", k_ready),
            ("due", due),
            ("key_ends", key_ends),
            ("ce", ce),
        ];
        let of_block = (queries, config.array.core.design());
        let states = state_stream(m, "states", shape, of_block, s, signals);
        let [ready] = m.call("key_ready", WithoutFunction {}, [k_ready, states.stating]);
        m.drive(key_ready, ready);
        states
    });
    let offered = match &states {
        Some(states) => steps_of(m, states, [keys.k_valid, keys.k_last], keys.k_mask),
        None => StepInputs {
            k_valid: keys.k_valid,
            k_last: keys.k_last,
            k_mask: keys.k_mask,
            key_valid: keys.k_valid,
        },
    };
    StreamsIn { queries: queries_in, keys, values, states, offered }
}

impl StreamsIn {
    /// The inputs of the array. `q_scale`: the words that follow the elements of each query, if they do not come with it.
    fn array_inputs(&self, control: &Control, q_scale: &[Wire]) -> ArrayInputs {
        let StreamsIn { queries, keys, values, states, offered } = self;
        let states = states.as_ref();
        let core = CoreInputs {
            q: [&queries.q, q_scale].concat(),
            q_valid: queries.q_valid,
            v_exponent: control.v_exponent,
            k: keys.k.clone(),
            k_valid: offered.k_valid,
            k_last: offered.k_last,
            k_mask: offered.k_mask,
            k_bias: keys.biases.clone(),
            k_state: states.map(|states| states.stating),
            state_scalars: states.map_or_else(Vec::new, |states| states.scalars.clone()),
            state_o: states.map_or_else(Vec::new, |states| states.o.clone()),
            v: values.v.clone(),
        };
        ArrayInputs {
            core,
            q_last: queries.q_last,
            q_from: control.q_from,
            q_to: control.q_to,
            k_index: states.map(|states| states.index),
        }
    }
}

/// A scale of queries in words as wide as their elements, the lowest first.
fn scale_words(m: &mut Module, config: &WrapperConfig, scale: Wire) -> Vec<Wire> {
    let core = &config.array.core;
    let (format, bits) = (core.formats().q, scale.width());
    let words =
        ElementWords { parts: core.port_words().q - core.d, width: format.width(), bits, join: false };
    match words.parts == 1 && words.width == bits {
        true => vec![scale],
        false => m.leaf("q_scale", VectorLeaf::new(words), &[scale]),
    }
}

/// The stream of results `o`: its last beat is taken, and the array must wait for it.
fn results_out(
    m: &mut Module,
    low: &mut Low,
    (shape, o): (&Shape, &[Wire]),
    array: &ArrayOutputs,
    ce: Wire,
    tready: Wire,
) -> (SourceOutputs, Wire, Wire) {
    let core = &array.core;
    let overflow = core.o_overflow.unwrap_or_else(|| low.wire(m));
    let empty = core.o_empty.unwrap_or_else(|| low.wire(m));
    let saturated = core.o_saturated.unwrap_or_else(|| low.wire(m));
    let [o_flags] = m.call("flags", ResultFlagsFunction {}, [core.o_invalid, overflow, empty, saturated]);
    let result = [("o_valid", core.o_valid), ("o_last", array.o_last), ("o_flags", o_flags), ("ce", ce)];
    let (results, blocked) = result_stream(m, "results", shape, o, result, tready);
    let [done] = m.call("done", DoneFunction {}, [results.tvalid, tready, results.tlast]);
    (results, done, blocked)
}

/// `[v_step, v_ren]` of keys alone, without the steps of states.
fn key_steps(m: &mut Module, array: &ArrayOutputs) -> [Wire; 2] {
    let steps = [("key_step", array.core.v_step), ("key_ask", array.core.v_ren)];
    match array.core.v_state {
        Some(state) => steps.map(|(name, x)| m.call(name, WithoutFunction {}, [x, state])[0]),
        None => steps.map(|(_, x)| x),
    }
}

/// The tracker of the array's steps. Values come for the steps of keys that ask for one, or for all keys.
fn follow_steps(
    m: &mut Module,
    config: &WrapperConfig,
    offered: &StepInputs,
    array: &ArrayOutputs,
    ([v_step, v_ren], placed): ([Wire; 2], bool),
) -> StepOutputs {
    let times = StepTimes {
        v_step_latency: v_step_latency(&config.array.core),
        value_latency: config.array.value_latency(),
        dense: config.is_dense(),
        all: config.values == Values::All,
    };
    let (step, ask) = match config.values {
        Values::Requested => (placed.then_some(v_step), v_ren),
        Values::All => (None, v_step),
    };
    let handshakes = [
        ("k_valid", offered.key_valid),
        ("k_ready", array.k_ready),
        ("k_last", offered.k_last),
        ("q_ready", array.q_ready),
    ];
    step_tracker(m, "steps", times, handshakes, step, ask, array.core.v_state)
}

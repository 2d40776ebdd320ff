//! The top of the wrapper: streams and registers around an array.

use super::advance::*;
use super::beat::Shape;
use super::host::{Events, HostOutputs, host_control};
use super::keys::{KeyOutputs, key_stream};
use super::logic::{BothFunction, Low, WithoutFunction, value_credit_bits};
use super::ports::*;
use super::queries::{QueryOutputs, query_stream};
use super::registers::{counters, errors};
use super::requests::request_stream;
use super::results::result_stream;
use super::states::{StateOutputs, StepInputs, state_stream, steps_of};
use super::steps::{StepOutputs, StepTimes, step_tracker};
use super::values::{Permit, ValueOutputs, value_stream};
use crate::array::{ArrayInputs, ArrayOutputs, array};
use crate::attention::ports::CoreInputs;
use crate::catalogue::v_step_latency;
use crate::rtl::{Circuit, Module, Role, Stage, Tag, Wire};
use flashd_spec::config::{Carried, ConfigError, Values, WrapperConfig};
use flashd_spec::numerics::Numerics;
use flashd_spec::streams::{REGISTER_PORT, STREAMS, StreamPort};
use std::sync::Arc;

/// Builds the wrapper of a configuration. Its clock is `aclk`.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &WrapperConfig) -> Result<Circuit, ConfigError> {
    config.validate()?;
    let n = Arc::new(Numerics::new(&config.array.core));
    let shapes = Shapes::of(config);
    let mut bench = Module::bench();
    let open = Ports::open(&mut bench, config, &shapes);
    let tag = Tag::module(config.name(), "Streams and registers around the array.");
    bench.part("top", tag, |m| {
        m.clock_port("aclk");
        let ports = open.enter(m);
        wrapper(m, config, &n, &shapes, &ports);
        m.order_ports(interface_order);
    });
    Ok(bench.into_circuit())
}

/// The order of ports: clock and reset, the streams as in their table, and the registers.
fn interface_order(name: &str) -> usize {
    let stream = STREAMS.iter().position(|row| name.starts_with(row.name));
    stream.map_or(if name.starts_with(REGISTER_PORT) { STREAMS.len() + 1 } else { 0 }, |place| place + 1)
}

/// The shapes of the streams.
struct Shapes {
    q: Shape,
    k: Shape,
    v: Shape,
    o: Shape,
    /// With partial results.
    s: Option<Shape>,
}

impl Shapes {
    fn of(config: &WrapperConfig) -> Shapes {
        let shape = |carried| Shape::of(config, carried);
        Shapes {
            q: shape(Carried::Query),
            k: shape(Carried::Key),
            v: shape(Carried::Value),
            o: shape(Carried::Result),
            s: config.array.core.partial.then(|| shape(Carried::State)),
        }
    }
}

/// The input ports.
struct Ports {
    aresetn: Wire,
    q: SinkInputs,
    k: SinkInputs,
    v: SinkInputs,
    /// With partial results.
    s: Option<SinkInputs>,
    /// Where values are asked for.
    vreq_tready: Option<Wire>,
    o_tready: Wire,
    host: LiteHost,
}

impl Ports {
    /// Open wires for them.
    fn open(bench: &mut Module, config: &WrapperConfig, shapes: &Shapes) -> Ports {
        let mut sink = |stream, shape| SinkInputs::open(bench, config, stream, shape);
        let q = sink(StreamPort::Queries, &shapes.q);
        let k = sink(StreamPort::Keys, &shapes.k);
        let v = sink(StreamPort::Values, &shapes.v);
        let s = shapes.s.as_ref().map(|shape| sink(StreamPort::States, shape));
        let vreq_tready = StreamPort::Requests.row().exists(config).then(|| bench.open(1));
        let [aresetn, o_tready] = [(); 2].map(|()| bench.open(1));
        let host = LiteHost::open(bench);
        Ports { aresetn, q, k, v, s, vreq_tready, o_tready, host }
    }

    /// Declares them.
    fn enter(&self, m: &mut Module) -> Ports {
        let aresetn = m.input("aresetn", self.aresetn);
        let sink = |m: &mut Module, stream: StreamPort, sink: &SinkInputs| sink.enter(m, &stream.port(""));
        let q = sink(m, StreamPort::Queries, &self.q);
        let k = sink(m, StreamPort::Keys, &self.k);
        let v = sink(m, StreamPort::Values, &self.v);
        let s = self.s.as_ref().map(|s| sink(m, StreamPort::States, s));
        let vreq_tready = m.optional_input(&StreamPort::Requests.port("tready"), self.vreq_tready);
        let o_tready = m.input(&StreamPort::Results.port("tready"), self.o_tready);
        let host = m.enter(REGISTER_PORT, &self.host);
        Ports { aresetn, q, k, v, s, vreq_tready, o_tready, host }
    }
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

/// Registers, and the streams into the array.
struct StreamsIn {
    host: HostOutputs,
    queries: QueryOutputs,
    keys: KeyOutputs,
    values: ValueOutputs,
    states: Option<StateOutputs>,
    /// States, then keys.
    offered: StepInputs,
}

fn wrapper(m: &mut Module, config: &WrapperConfig, n: &Arc<Numerics>, shapes: &Shapes, ports: &Ports) {
    let [rst] = m.call("reset", ResetFunction {}, [ports.aresetn]);
    m.reset_by(rst);
    // These parts depend on each other in a circle.
    let mut low = Low::default();
    let [ce, q_ready, k_ready, value_due] = [(); 4].map(|()| m.later(1));
    let mut from = FromArray { ce, q_ready, k_ready, value_due, value_due_last: None, state_due: None };
    let events = Events::new(m, config);
    let streams = streams_in(m, config, shapes, ports, (rst, &events), &mut from);
    let StreamsIn { host, queries, keys, values, states, offered } = &streams;

    // The parts that stall with the array.
    let inputs = streams.array_inputs();
    let (array, key_steps, steps) = m.gated("gate", ce, |m| {
        let array = array(m, "array", &config.array, n, &inputs);
        let of_keys = key_steps(m, &array);
        let steps = follow_steps(m, config, offered, &array, of_keys);
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
    let requests = ports.vreq_tready.zip(steps.index).map(|(tready, index)| {
        let step = [("v_ren", key_steps[1]), ("index", index), ("ce", ce)];
        let ([tvalid, tdata], blocked) = request_stream(m, "requests", step, tready);
        m.output(&StreamPort::Requests.port("tvalid"), tvalid);
        m.output(&StreamPort::Requests.port("tdata"), tdata);
        blocked
    });
    let (done, result_blocked) = results_out(m, &mut low, &shapes.o, &array, ce, ports.o_tready);

    // The array's enable, and which counter counts the cycle.
    let request_blocked = requests.unwrap_or_else(|| low.wire(m));
    let activity = [
        ce,
        values.missing,
        request_blocked,
        result_blocked,
        steps.running,
        offered.k_valid,
        array.k_ready,
        array.q_ready,
        host.run,
        key_steps[0],
        key_steps[1],
    ];
    let counted: [Wire; 6] = m.call("activity", ActivityFunction {}, activity);
    let request_stall = requests
        .map(|blocked| m.call("request_stall", RequestStallFunction {}, [blocked, result_blocked])[0]);
    let key_missing = steps.key_missing.unwrap_or_else(|| low.wire(m));
    let advance = [rst, key_missing, values.missing, request_blocked, result_blocked];
    let [moves] = m.call("advance", AdvanceFunction {}, advance);
    m.drive(ce, moves);

    m.drive_all(&[events.opens, events.done], &[queries.opens, done]);
    if let Some(taken) = events.taken {
        m.drive(taken, queries.taken);
    }
    let of_states = states.as_ref().map_or(&[][..], |states| &states.error);
    m.drive_all(&events.error, &[&queries.error, &keys.error, &values.error, of_states].concat());
    let occurs: Vec<Wire> = [keys.taken].into_iter().chain(counted).chain(request_stall).collect();
    m.drive_all(&events.occurs, &occurs);
    show_streams(m, config);
}

/// Rows for the handshakes in the order of the packets, and for the array's clock enable.
fn show_streams(m: &mut Module, config: &WrapperConfig) {
    m.stage(Stage::Streams);
    m.show_port("aclk", 0);
    m.show_role(Role::NoReset, "aresetn", "aresetn");
    for row in STREAMS.iter().filter(|row| row.exists(config)) {
        let last = row.packet(config).map(|_| "tlast");
        let signals = ["tvalid", "tready"].into_iter().chain(last);
        signals.for_each(|signal| m.show_port(&row.stream.port(signal), 0));
    }
    m.show_role(Role::Moves, ("gate", "enable"), "the array moves");
    if StreamPort::Requests.row().exists(config) {
        m.show_port(&StreamPort::Requests.port("tdata"), 0);
    }
    m.show_port(&StreamPort::Results.port("tuser"), 0);
}

fn streams_in(
    m: &mut Module,
    config: &WrapperConfig,
    shapes: &Shapes,
    ports: &Ports,
    (rst, events): (Wire, &Events),
    from: &mut FromArray,
) -> StreamsIn {
    let (all, queries) = (config.values == Values::All, config.array.queries);
    let FromArray { ce, q_ready, k_ready, value_due, .. } = *from;
    let host = host_control(m, "host", config, rst, &ports.host, events);
    m.hand_out(REGISTER_PORT, &host.lite);
    let signals = [("run", host.run), ("ready", q_ready), ("ce", ce)];
    let queries_in = query_stream(m, "queries", &shapes.q, queries, &ports.q, signals);
    m.output(&StreamPort::Queries.port("tready"), queries_in.tready);
    let key_ready = if ports.s.is_some() { m.later(1) } else { k_ready };
    let signals = [("block", queries_in.opens), ("length", host.length), ("ready", key_ready), ("ce", ce)];
    let keys = key_stream(m, "keys", &shapes.k, all, &ports.k, signals);
    m.output(&StreamPort::Keys.port("tready"), keys.tready);
    let permit = match (host.busy, keys.opens) {
        (Some(busy), _) => Permit::Busy(busy),
        (None, Some(block)) => {
            let (due_last, credit_bits) = (m.later(1), value_credit_bits(&config.array));
            from.value_due_last = Some(due_last);
            Permit::Packets { block, due_last, credit_bits }
        }
        (None, None) => unreachable!("values are asked for, or all of them come"),
    };
    let values = value_stream(m, "values", &shapes.v, &ports.v, permit, value_due, ce);
    m.output(&StreamPort::Values.port("tready"), values.tready);

    from.state_due = ports.s.is_some().then(|| m.later(1));
    let with_states = ports.s.as_ref().zip(shapes.s.as_ref()).zip(host.states).zip(from.state_due);
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
        let states = state_stream(m, "states", shape, queries, s, signals);
        m.output(&StreamPort::States.port("tready"), states.tready);
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
    StreamsIn { host, queries: queries_in, keys, values, states, offered }
}

impl StreamsIn {
    /// The inputs of the array.
    fn array_inputs(&self) -> ArrayInputs {
        let StreamsIn { host, queries, keys, values, states, offered } = self;
        let states = states.as_ref();
        let core = CoreInputs {
            q: queries.q.clone(),
            q_valid: queries.q_valid,
            v_exponent: host.v_exponent,
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
            q_from: host.q_from,
            q_to: host.q_to,
            k_index: states.map(|states| states.index),
        }
    }
}

/// The stream of results: its last beat is taken, and the array must wait for it.
fn results_out(
    m: &mut Module,
    low: &mut Low,
    shape: &Shape,
    array: &ArrayOutputs,
    ce: Wire,
    tready: Wire,
) -> (Wire, Wire) {
    let core = &array.core;
    let overflow = core.o_overflow.unwrap_or_else(|| low.wire(m));
    let empty = core.o_empty.unwrap_or_else(|| low.wire(m));
    let saturated = core.o_saturated.unwrap_or_else(|| low.wire(m));
    let [o_flags] = m.call("flags", ResultFlagsFunction {}, [core.o_invalid, overflow, empty, saturated]);
    let result = [("o_valid", core.o_valid), ("o_last", array.o_last), ("o_flags", o_flags), ("ce", ce)];
    let o = [&core.o[..], &core.o_state, &core.state_scalars].concat();
    let (results, blocked) = result_stream(m, "results", shape, &o, result, tready);
    results.hand_out(m, &StreamPort::Results.port(""));
    let [done] = m.call("done", DoneFunction {}, [results.tvalid, tready, results.tlast]);
    (done, blocked)
}

impl Events {
    fn new(m: &mut Module, config: &WrapperConfig) -> Events {
        // The first two, cycles and blocks, count `working` and `done`.
        let counted = counters(config).into_iter().skip(2);
        Events {
            opens: m.later(1),
            done: m.later(1),
            taken: config.array.core.masks.then(|| m.later(1)),
            error: errors(config).iter().map(|_| m.later(1)).collect(),
            occurs: counted.map(|_| m.later(1)).collect(),
        }
    }
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
    [v_step, v_ren]: [Wire; 2],
) -> StepOutputs {
    let times = StepTimes {
        v_step_latency: v_step_latency(&config.array.core),
        value_latency: config.array.value_latency(),
        dense: config.is_dense(),
    };
    let (step, ask) = match config.values {
        Values::Requested => (Some(v_step), v_ren),
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

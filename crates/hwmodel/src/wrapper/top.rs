//! The top of the wrapper: streams and registers around an array.

use super::advance::*;
use super::beat::Shape;
use super::host::{Events, host_control};
use super::keys::key_stream;
use super::logic::{BothFunction, Low, WithoutFunction, value_credit_bits};
use super::ports::*;
use super::queries::query_stream;
use super::registers::{counters, errors};
use super::requests::request_stream;
use super::results::result_stream;
use super::states::{StepInputs, state_stream, steps_of};
use super::steps::{StepOutputs, StepTimes, step_tracker};
use super::values::{Permit, value_stream};
use crate::array::{ArrayInputs, ArrayOutputs, array};
use crate::attention::ports::CoreInputs;
use crate::catalogue::v_step_latency;
use crate::rtl::{Circuit, Module, Tag, Wire};
use flashd_spec::config::{Carried, ConfigError, Values, WrapperConfig};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Builds the wrapper of a configuration. Its clock is `aclk`.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &WrapperConfig) -> Result<Circuit, ConfigError> {
    config.validate()?;
    let n = Arc::new(Numerics::new(&config.array.core));
    let shape = |carried| Shape::of(config, carried);
    let [q_shape, k_shape, v_shape, o_shape] =
        [Carried::Query, Carried::Key, Carried::Value, Carried::Result].map(shape);
    let s_shape = n.partial.then(|| shape(Carried::State));
    let all = config.values == Values::All;
    let mut bench = Module::bench();
    // Queries and keys come in a packet for each block; so do values, unless they are asked for one by one.
    let q = SinkInputs::open(&mut bench, &q_shape, true, false);
    let k = SinkInputs::open(&mut bench, &k_shape, true, config.array.core.masks);
    let v = SinkInputs::open(&mut bench, &v_shape, all, false);
    // A packet of states for each block, with a flag for each query that has none.
    let s = s_shape.as_ref().map(|shape| SinkInputs::open(&mut bench, shape, true, true));
    let [aresetn, vreq_tready, o_tready] = [(); 3].map(|()| bench.open(1));
    let host = open_lite(&mut bench);
    bench.part("top", Tag::module(config.name(), "Streams and registers around the array."), |m| {
        m.clock_port("aclk");
        let aresetn = m.input("aresetn", aresetn);
        let q = q.enter(m, "s_axis_q_", Last::Always);
        let k = k.enter(m, "s_axis_k_", Last::Always);
        // The port of requests, where values are asked for. A vector of one wire is an optional port.
        m.reserve_ports(&["m_axis_vreq_tvalid"]);
        let vreq_tready = (!all).then(|| m.inputs("m_axis_vreq_tready", &[vreq_tready])[0]);
        m.reserve_ports(&["m_axis_vreq_tdata"]);
        let v = v.enter(m, "s_axis_v_", Last::Optional);
        let s = s.map(|s| s.enter(m, "s_axis_s_", Last::Always));
        m.reserve_ports(&["m_axis_o_tvalid"]);
        let o_tready = m.input("m_axis_o_tready", o_tready);
        m.reserve_ports(&["m_axis_o_tdata", "m_axis_o_tlast", "m_axis_o_tuser"]);
        let host = enter_lite(m, "s_axil_", &host);

        let [rst] = m.call("reset", ResetFunction {}, [aresetn]);
        m.reset_by(rst);
        // These parts depend on each other in a circle; the reserved names give their order in the Verilog.
        m.reserve(&[
            "gate", "host", "queries", "keys", "states", "values", "requests", "results", "flags", "done",
        ]);
        m.reserve(&["steps", "activity", "request_stall", "advance", "low", "array"]);
        let mut low = Low::default();
        let [ce, q_ready, k_ready, due] = [(); 4].map(|()| m.later(1));

        // Registers, and the streams into the array.
        let events = Events::new(m, config);
        let host = host_control(m, "host", config, rst, &host, &events);
        answer_lite(m, "s_axil_", &host.lite);
        let ports = [("run", host.run), ("ready", q_ready), ("ce", ce)];
        let queries = query_stream(m, "queries", &q_shape, config.array.queries, &q, ports);
        m.output("s_axis_q_tready", queries.tready);
        let key_ready = if s.is_some() { m.later(1) } else { k_ready };
        let ports = [("block", queries.opens), ("length", host.length), ("ready", key_ready), ("ce", ce)];
        let keys = key_stream(m, "keys", &k_shape, all, &k, ports);
        m.output("s_axis_k_tready", keys.tready);
        let permit = match (host.busy, keys.opens) {
            (Some(busy), _) => Permit::Busy(busy),
            (None, Some(block)) => {
                let credit_bits = value_credit_bits(&config.array);
                Permit::Packets { block, due_last: m.later(1), credit_bits }
            }
            (None, None) => unreachable!("values are asked for, or all of them come"),
        };
        let values = value_stream(m, "values", &v_shape, &v, permit, due, ce);
        m.output("s_axis_v_tready", values.tready);

        // States, then keys.
        let state_due = s.is_some().then(|| m.later(1));
        let states = s.zip(s_shape).zip(host.states).zip(state_due).map(|(((s, shape), enabled), due)| {
            let [key_ends] = m.call(("key_ends", 0), BothFunction {}, [keys.taken, keys.k_last]);
            let ports = [
                ("enabled", enabled),
                ("block", queries.opens),
                ("k_ready", k_ready),
                ("due", due),
                ("key_ends", key_ends),
                ("ce", ce),
            ];
            let states = state_stream(m, "states", &shape, config.array.queries, &s, ports);
            m.outputs("s_axis_s_tready", &[states.tready]);
            let [ready] = m.call(("key_ready", 0), WithoutFunction {}, [k_ready, states.stating]);
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

        // The parts that freeze with the array.
        let none = Vec::new();
        let core = CoreInputs {
            q: &queries.q,
            q_valid: queries.q_valid,
            v_exponent: host.v_exponent,
            k: &keys.k,
            k_valid: offered.k_valid,
            k_last: offered.k_last,
            k_mask: offered.k_mask,
            k_bias: None,
            k_state: states.as_ref().map(|states| states.stating),
            state_scalars: states.as_ref().map_or(&none, |states| &states.scalars),
            state_o: states.as_ref().map_or(&none, |states| &states.o),
            v: &values.v,
        };
        let inputs = ArrayInputs {
            core,
            q_last: queries.q_last,
            k_bias: &keys.biases,
            q_from: host.q_from,
            q_to: host.q_to,
            k_index: states.as_ref().map(|states| states.index),
        };
        let (array, key_steps, steps) = m.gated("gate", ce, |m| {
            let array = array(m, "array", &config.array, &n, &inputs);
            let of_keys = key_steps(m, &array);
            let steps = follow_steps(m, config, &offered, &array, of_keys);
            (array, of_keys, steps)
        });
        if let (Some(later), Some(due)) = (state_due, steps.state_due) {
            m.drive(later, due);
        }
        m.drive_all(&[q_ready, k_ready, due], &[array.q_ready, array.k_ready, steps.due]);
        if let (Permit::Packets { due_last: later, .. }, Some(due_last)) = (permit, steps.due_last) {
            m.drive(later, due_last);
        }

        // The streams out of the array.
        let requests = vreq_tready.zip(steps.index).map(|(tready, index)| {
            let step = [("v_ren", key_steps[1]), ("index", index), ("ce", ce)];
            let ([tvalid, tdata], blocked) = request_stream(m, ("requests", 0), step, tready);
            m.outputs("m_axis_vreq_tvalid", &[tvalid]);
            m.outputs("m_axis_vreq_tdata", &[tdata]);
            blocked
        });
        let overflow = array.core.o_overflow.unwrap_or_else(|| low.wire(m));
        let empty = array.core.o_empty.unwrap_or_else(|| low.wire(m));
        let saturated = array.core.o_saturated.unwrap_or_else(|| low.wire(m));
        let flags = [array.core.o_invalid, overflow, empty, saturated];
        let [o_flags] = m.call("flags", ResultFlagsFunction {}, flags);
        let result =
            [("o_valid", array.core.o_valid), ("o_last", array.o_last), ("o_flags", o_flags), ("ce", ce)];
        let o = [array.core.o, array.core.o_state, array.core.state_scalars].concat();
        let (results, result_blocked) = result_stream(m, "results", &o_shape, &o, result, o_tready);
        results.hand_out(m, "m_axis_o_");
        let [done] = m.call("done", DoneFunction {}, [results.tvalid, o_tready, results.tlast]);

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
        let request_stall = requests.map(|blocked| {
            m.call(("request_stall", 0), RequestStallFunction {}, [blocked, result_blocked])[0]
        });
        let key_missing = steps.key_missing.unwrap_or_else(|| low.wire(m));
        let advance = [rst, key_missing, values.missing, request_blocked, result_blocked];
        let [moves] = m.call("advance", AdvanceFunction {}, advance);
        m.drive(ce, moves);

        m.drive_all(&[events.opens, events.done], &[queries.opens, done]);
        if let Some(taken) = events.taken {
            m.drive(taken, queries.taken);
        }
        let of_states = states.map_or_else(Vec::new, |states| states.error);
        m.drive_all(&events.error, &[queries.error, keys.error, values.error, of_states].concat());
        let occurs: Vec<Wire> = [keys.taken].into_iter().chain(counted).chain(request_stall).collect();
        m.drive_all(&events.occurs, &occurs);
    });
    Ok(bench.into_circuit())
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
        Some(state) => steps.map(|(name, x)| m.call((name, 0), WithoutFunction {}, [x, state])[0]),
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

//! The wrapper: streams and registers around an array.

use super::advance::*;
use super::beat::Shape;
use super::host::{Events, host_control};
use super::keys::{KeyOutputs, key_stream};
use super::logic::{Low, value_credit_bits};
use super::ports::*;
use super::queries::query_stream;
use super::registers::{counters, errors};
use super::requests::request_stream;
use super::results::result_stream;
use super::steps::{StepOutputs, StepTimes, step_tracker};
use super::values::{Permit, value_stream};
use crate::array::{ArrayInputs, ArrayOutputs, array};
use crate::attention::ports::CoreInputs;
use crate::catalogue::v_step_latency;
use crate::rtl::{Circuit, Module, Tag, Wire};
use flashd_spec::config::{ConfigError, Values, WrapperConfig};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Builds the wrapper of a configuration. Its clock is `aclk`.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &WrapperConfig) -> Result<Circuit, ConfigError> {
    config.validate()?;
    let n = Arc::new(Numerics::new(&config.array.core));
    let shape = Shape::of(config);
    let all = config.values == Values::All;
    let mut bench = Module::bench();
    // Queries and keys, a packet for each block; values one by one where they are asked for, otherwise a packet for each block.
    let q = SinkInputs::open(&mut bench, &shape, true, false);
    let k = SinkInputs::open(&mut bench, &shape, true, config.array.core.masks);
    let v = SinkInputs::open(&mut bench, &shape, all, false);
    let [aresetn, vreq_tready, o_tready] = [(); 3].map(|()| bench.open(1));
    let host = open_lite(&mut bench);
    bench.part("top", Tag::module(config.name(), "Streams and registers around the array."), |m| {
        m.clock_port("aclk");
        let aresetn = m.input("aresetn", aresetn);
        let q = q.enter(m, "s_axis_q_", Last::Always);
        let k = k.enter(m, "s_axis_k_", Last::Always);
        // Where values are asked for: requests, by vectors of one.
        m.reserve_ports(&["m_axis_vreq_tvalid"]);
        let vreq_tready = (!all).then(|| m.inputs("m_axis_vreq_tready", &[vreq_tready])[0]);
        m.reserve_ports(&["m_axis_vreq_tdata"]);
        let v = v.enter(m, "s_axis_v_", Last::Optional);
        m.reserve_ports(&["m_axis_o_tvalid"]);
        let o_tready = m.input("m_axis_o_tready", o_tready);
        m.reserve_ports(&["m_axis_o_tdata", "m_axis_o_tlast", "m_axis_o_tuser"]);
        let host = enter_lite(m, "s_axil_", &host);

        let [rst] = m.call("reset", ResetFunction {}, [aresetn]);
        m.reset_by(rst);
        // All of these wait for each other; this is the order in which they stand in the text.
        m.reserve(&["gate", "host", "queries", "keys", "values", "requests", "results", "flags", "done"]);
        m.reserve(&["steps", "activity", "request_stall", "advance", "low", "array"]);
        let mut low = Low::default();
        let [ce, q_ready, k_ready, due] = [(); 4].map(|()| m.later(1));

        // Registers, and the streams into the array.
        let events = Events::new(m, config);
        let host = host_control(m, "host", config, rst, &host, &events);
        answer_lite(m, "s_axil_", &host.lite);
        let ports = [("run", host.run), ("ready", q_ready), ("ce", ce)];
        let queries = query_stream(m, "queries", shape, config.array.queries, &q, ports);
        m.output("s_axis_q_tready", queries.tready);
        let ports = [("block", queries.opens), ("length", host.length), ("ready", k_ready), ("ce", ce)];
        let keys = key_stream(m, "keys", shape, all, &k, ports);
        m.output("s_axis_k_tready", keys.tready);
        let permit = match (host.busy, keys.opens) {
            (Some(busy), _) => Permit::Busy(busy),
            (None, Some(block)) => {
                let credit_bits = value_credit_bits(&config.array);
                Permit::Packets { block, due_last: m.later(1), credit_bits }
            }
            (None, None) => unreachable!("values are asked for, or all of them come"),
        };
        let values = value_stream(m, "values", shape, &v, permit, due, ce);
        m.output("s_axis_v_tready", values.tready);

        // What freezes with the array.
        let core = CoreInputs {
            q: &queries.q,
            q_valid: queries.q_valid,
            v_exponent: host.v_exponent,
            k: &keys.k,
            k_valid: keys.k_valid,
            k_last: keys.k_last,
            k_mask: keys.k_mask,
            k_bias: None,
            k_state: None,
            state_scalars: &[],
            state_o: &[],
            v: &values.v,
        };
        let inputs = ArrayInputs {
            core,
            q_last: queries.q_last,
            k_bias: &[],
            q_from: host.q_from,
            q_to: host.q_to,
            k_index: None,
        };
        let (array, steps) = m.gated("gate", ce, |m| {
            let array = array(m, "array", &config.array, &n, &inputs);
            let steps = follow_steps(m, config, &keys, &array);
            (array, steps)
        });
        m.drive_all(&[q_ready, k_ready, due], &[array.q_ready, array.k_ready, steps.due]);
        if let (Permit::Packets { due_last: later, .. }, Some(due_last)) = (permit, steps.due_last) {
            m.drive(later, due_last);
        }

        // The streams out of it.
        let requests = vreq_tready.zip(steps.index).map(|(tready, index)| {
            let step = [("v_ren", array.core.v_ren), ("index", index), ("ce", ce)];
            let ([tvalid, tdata], blocked) = request_stream(m, ("requests", 0), step, tready);
            m.outputs("m_axis_vreq_tvalid", &[tvalid]);
            m.outputs("m_axis_vreq_tdata", &[tdata]);
            blocked
        });
        let overflow = array.core.o_overflow.unwrap_or_else(|| low.wire(m));
        let empty = array.core.o_empty.unwrap_or_else(|| low.wire(m));
        let [o_flags] = m.call("flags", ResultFlagsFunction {}, [array.core.o_invalid, overflow, empty]);
        let result =
            [("o_valid", array.core.o_valid), ("o_last", array.o_last), ("o_flags", o_flags), ("ce", ce)];
        let (results, result_blocked) = result_stream(m, "results", shape, &array.core.o, result, o_tready);
        results.hand_out(m, "m_axis_o_");
        let [done] = m.call("done", DoneFunction {}, [results.tvalid, o_tready, results.tlast]);

        // When the array moves, and what a cycle is counted as.
        let request_blocked = requests.unwrap_or_else(|| low.wire(m));
        let activity = [
            ce,
            values.missing,
            request_blocked,
            result_blocked,
            steps.running,
            keys.k_valid,
            array.k_ready,
            array.q_ready,
            host.run,
            array.core.v_step,
            array.core.v_ren,
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
        m.drive_all(&events.error, &[queries.error, keys.error, values.error].concat());
        let occurs: Vec<Wire> = [keys.taken].into_iter().chain(counted).chain(request_stall).collect();
        m.drive_all(&events.occurs, &occurs);
    });
    Ok(bench.into_circuit())
}

impl Events {
    fn new(m: &mut Module, config: &WrapperConfig) -> Events {
        // The first two, of cycles and blocks, need no event of their own.
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

/// The steps in the array. Values are asked for by the steps that need one, or all of them come.
fn follow_steps(
    m: &mut Module,
    config: &WrapperConfig,
    keys: &KeyOutputs,
    array: &ArrayOutputs,
) -> StepOutputs {
    let times = StepTimes {
        v_step_latency: v_step_latency(&config.array.core),
        value_latency: config.array.value_latency(),
        dense: config.is_dense(),
    };
    let (step, ask) = match config.values {
        Values::Requested => (Some(array.core.v_step), array.core.v_ren),
        Values::All => (None, array.core.v_step),
    };
    let handshakes = [
        ("k_valid", keys.k_valid),
        ("k_ready", array.k_ready),
        ("k_last", keys.k_last),
        ("q_ready", array.q_ready),
    ];
    step_tracker(m, "steps", times, handshakes, step, ask)
}

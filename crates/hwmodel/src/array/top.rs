//! The array: B cores, shadow registers for their queries, and a queue of their results.

use super::control::{ControlOutputs, array_control};
use super::cores::{CoreSteps, Front, Places, places};
use super::interleaved::interleaved_array;
use super::ports::{ArrayInputs, ArrayOutputs, show_ports};
use super::shadow::{Query, query_shadow};
use super::window::{KeyWindow, StateMaskFunction, key_counter, key_window};
use crate::attention::ports::{CoreInputs, CoreOutputs, OpenInputs, contract_order};
use crate::rtl::{Circuit, Module, Name, Number, Tag, Wire};
use flashd_spec::config::{ArrayConfig, ConfigError};
use flashd_spec::numerics::Numerics;
use flashd_spec::ports::Port;
use std::sync::Arc;

/// Builds the array of a configuration as a circuit.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &ArrayConfig) -> Result<Circuit, ConfigError> {
    config.validate()?;
    let n = Arc::new(Numerics::new(&config.core));
    let mut bench = Module::bench();
    let b = &mut bench;
    let open = OpenInputs::new(b, &config.into());
    let inputs = ArrayInputs {
        core: open.core(),
        q_last: open.one(Port::QLast),
        q_from: open.optional(Port::QFrom),
        q_to: open.optional(Port::QTo),
        k_index: open.optional(Port::KIndex),
    };
    array(b, "top", config, &n, &inputs);
    Ok(bench.into_circuit())
}

/// Builds the array of a valid configuration in a module: every key meets the query of every core.
pub fn array(
    around: &mut Module,
    name: impl Into<Name>,
    config: &ArrayConfig,
    n: &Arc<Numerics>,
    ArrayInputs { core: inputs, q_last, q_from, q_to, k_index }: &ArrayInputs,
) -> ArrayOutputs {
    let queries = config.queries;
    if config.interleave > 1 {
        let limits = [*q_from, *q_to].into_iter().flatten().collect();
        return interleaved_array(around, name, config, n, inputs, *q_last, limits);
    }
    let tag = Tag::module(
        config.name(),
        format!("{queries} queries at once: every key meets the query of every core."),
    );
    around.part(name, tag, |m| {
        let inside = inputs.enter(m, &config.core);
        let CoreInputs { q_valid, k_valid, k_last, k_mask, k_state, .. } = inside;
        let q_last = m.input("q_last", *q_last);
        let [q_from, q_to] =
            [("q_from", q_from), ("q_to", q_to)].map(|(name, wire)| m.optional_input(name, *wire));
        let k_index = m.optional_input("k_index", *k_index);

        let control = array_control(m, queries, [q_valid, q_last], [k_valid, k_last]);
        let query = Query {
            q: inside.q.clone(),
            exponent: inside.v_exponent,
            limits: [q_from, q_to].into_iter().flatten().collect(),
        };
        let loads = control.load.iter().map(|&load| (load, query.clone()));
        let waiting: Vec<Query> =
            m.each("shadow", loads, |m, name, (load, query)| query_shadow(m, name, *load, query));
        let masks = k_mask
            .map(|k_mask| key_masks(m, config, &control, &waiting, [k_last, k_mask], k_state.zip(k_index)));
        let steps = CoreSteps { take_query: &control.take_query, key: &control.key, masks };
        let Places { v_step, v_ren, state_ren, v_state, front } =
            places(m, config, n, &inside, &waiting, &steps);
        let Front { results, index, last, flags, o, o_state } = front;
        let [o_invalid, o_saturated, o_overflow, o_empty] = flags;
        m.output("o_index", index);
        m.number_each(&inside.q[..config.core.d], Number::Float(n.encodings.formats.q));
        m.number_each(&o, Number::Float(n.formats.o));
        let outputs = ArrayOutputs {
            q_ready: m.output("q_ready", control.q_ready),
            k_ready: m.output("k_ready", control.k_ready),
            o_last: m.output("o_last", last),
            core: CoreOutputs {
                v_step: m.output("v_step", v_step),
                v_ren: m.output("v_ren", v_ren),
                o: m.outputs("o", &o),
                scaling: None,
                o_valid: m.output("o_valid", results.first.valid),
                o_invalid: m.optional_output("o_invalid", o_invalid).unwrap_or(results.low),
                o_saturated: m.optional_output("o_saturated", o_saturated),
                o_empty: m.optional_output("o_empty", o_empty),
                o_overflow: m.optional_output("o_overflow", o_overflow),
                state_ren: m.optional_output("state_ren", state_ren),
                v_state: m.optional_output("v_state", v_state),
                state_scalars: (config.core.state_scalars().iter().zip(&results.first.scalars))
                    .map(|(name, &wire)| m.output(&format!("o_{name}"), wire))
                    .collect(),
                o_state: if k_state.is_some() { m.outputs("o_state", &o_state) } else { Vec::new() },
            },
        };
        m.order_ports(contract_order);
        show_ports(m, k_mask.is_some());
        outputs
    })
}

/// Whether each core's query does not see the key on the port.
fn key_masks(
    m: &mut Module,
    config: &ArrayConfig,
    control: &ControlOutputs,
    waiting: &[Query],
    [k_last, k_mask]: [Wire; 2],
    state: Option<(Wire, Wire)>,
) -> Vec<Wire> {
    // A state belongs to one query, and the others see a masked key instead. It does not count as a key. The first core has a query in
    // every block, so it sees every key of the block.
    let is_state = state.map(|(state, _)| state);
    let index = key_counter(m, config.key_index_bits(), control.key[0], k_last, is_state);
    let windows = control.take_query.iter().zip(waiting);
    let windows =
        windows.map(|(&load, query)| KeyWindow { load, limits: query.limits.clone(), index, k_mask });
    let outside = m.each("window", windows, key_window);
    let mask = |(b, outside): (usize, Wire)| match state {
        Some((state, place)) => {
            let function = StateMaskFunction { bits: config.index_bits(), core: b as u64 };
            m.call(("mask", b), function, [outside, k_mask, state, place])[0]
        }
        None => outside,
    };
    outside.into_iter().enumerate().map(mask).collect()
}

//! Arrays whose queries take turns in their cores, C queries to a core.
//!
//! The cores, the shadow registers and the queue of results are those of an array of one turn, each of whose registers is C registers deep, see
//! [`Interleaving`]. What the host sees is an array of B queries that takes a key every C cycles. Control and ports are at the clock of the turns.

use super::BothFunction;
use super::cores::{CoreSteps, Front, Places, places};
use super::ports::{ArrayOutputs, show_ports};
use super::results::OrderFunction;
use super::shadow::{Query, query_shadow};
use super::turns::{MoreTurnsFunction, any_turn, of_turn, turn_control, turns};
use super::window::{KeyWindow, key_counter, key_window};
use crate::attention::ports::{CoreInputs, CoreOutputs, contract_order};
use crate::rtl::{Interleaving, Module, Name, Number, Tag, Wire};
use flashd_spec::config::ArrayConfig;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// What the cores are given besides keys and values.
struct Given<'a> {
    config: &'a ArrayConfig,
    n: &'a Arc<Numerics>,
    /// The ports of the array; `k_bias` has a word for each core, of its turn.
    inputs: CoreInputs,
    limits: Vec<Wire>,
    load: Vec<Wire>,
    take_query: Vec<Wire>,
    key: Vec<Wire>,
    /// With masks: the place of the key in its block.
    index: Option<Wire>,
}

/// What the cores hand out. Results come one a cycle.
struct HandedOut {
    v_step: Wire,
    v_ren: Wire,
    /// The result on the port is the last of its turn's.
    last: Wire,
    valid: Wire,
    /// `valid` of the next cycle.
    follows: Wire,
    flags: [Option<Wire>; 4],
    o: Vec<Wire>,
}

/// Names of inputs of the cores that are low in reset.
const LOW: [&str; 3] = ["load", "take_query", "key"];

/// The name of the output that is a cycle early.
const FOLLOWS: &str = "follows";

/// Builds an array whose queries take turns. `limits` are, with masks, the places of the first key that a query sees, and after the last one.
pub(super) fn interleaved_array(
    around: &mut Module,
    name: impl Into<Name>,
    config: &ArrayConfig,
    n: &Arc<Numerics>,
    inputs: &CoreInputs,
    q_last: Wire,
    limits: Vec<Wire>,
) -> ArrayOutputs {
    let (queries, count) = (config.queries, config.interleave);
    let doc = format!(
        "{queries} queries at once, {count} of which take turns in a core: every key meets every query."
    );
    around.part(name, Tag::module(config.name(), doc), |m| {
        let inside = inputs.enter(m, &config.core);
        let CoreInputs { q_valid, k_valid, k_last, k_mask, .. } = inside;
        let q_last = m.input("q_last", q_last);
        let names = ["q_from", "q_to"];
        let limits = names.iter().zip(limits).map(|(name, limit)| m.input(name, limit)).collect();

        let phase = turns(m, count);
        let last_turn = phase[count - 1];
        let (control, taken) = turn_control(m, queries, &phase, [q_valid, q_last], [k_valid, k_last]);
        let index = k_mask.map(|_| {
            let [counts] = m.call("counts", BothFunction {}, [taken, last_turn]);
            key_counter(m, config.key_index_bits(), counts, k_last, None)
        });
        let k_bias = of_turn(m, "bias", &phase, &inside.k_bias);
        let given = Given {
            config,
            n,
            inputs: CoreInputs { k_bias, ..inside.clone() },
            limits,
            load: control.load,
            take_query: control.take_query,
            key: control.key,
            index,
        };
        let handed_out = cores(m, &given);
        let v_step = any_turn(m, "steps", &phase, handed_out.v_step);
        let v_ren = any_turn(m, "reads", &phase, handed_out.v_ren);

        let ended = m.register_if("ended_q", phase[0], handed_out.last);
        let HandedOut { valid, follows, flags: [o_invalid, o_saturated, o_overflow, o_empty], o, .. } =
            handed_out;
        let [more] = m.call("more", MoreTurnsFunction {}, [valid, follows, last_turn, ended]);
        let place = m.state("index_q", config.index_bits());
        let order = OrderFunction { bits: config.index_bits() };
        let [last, next_place] = m.call("order", order, [valid, more, place]);
        m.next(place, next_place);
        m.output("o_index", place);
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
                o_valid: m.output("o_valid", valid),
                o_invalid: m.optional_output("o_invalid", o_invalid).unwrap_or(valid),
                o_saturated: m.optional_output("o_saturated", o_saturated),
                o_empty: m.optional_output("o_empty", o_empty),
                o_overflow: m.optional_output("o_overflow", o_overflow),
                state_ren: None,
                v_state: None,
                state_scalars: Vec::new(),
                o_state: Vec::new(),
            },
        };
        m.order_ports(contract_order);
        show_ports(m, k_mask.is_some());
        outputs
    })
}

/// The cores, with all that is C deep.
fn cores(m: &mut Module, given: &Given) -> HandedOut {
    let Given { config, n, inputs, .. } = given;
    let one = config.one_turn();
    let interleaving = Interleaving {
        factor: config.interleave as u32,
        period: None,
        low: &|name| LOW.contains(&name),
        late: &|name| if name == FOLLOWS { -1 } else { 0 },
    };
    let tag = Tag::module(
        format!("{}_cores", one.name()),
        "Cores, the queries of their next block, and the queue of their results.",
    );
    m.interleaved_part("cores", tag, &interleaving, |m| {
        m.clock();
        m.reset();
        let [load, take_query, key] =
            [("load", &given.load), ("take_query", &given.take_query), ("key", &given.key)]
                .map(|(name, wires)| m.inputs(name, wires));
        let query = Query {
            q: m.inputs("q", &inputs.q),
            exponent: inputs.v_exponent.map(|wire| m.input("v_exponent", wire)),
            limits: m.inputs("limit", &given.limits),
        };
        let k = m.inputs("k", &inputs.k);
        let k_last = m.input("k_last", inputs.k_last);
        let k_mask = m.optional_input("k_mask", inputs.k_mask);
        let index = m.optional_input("index", given.index);
        let inside = CoreInputs {
            q: query.q.clone(),
            q_valid: take_query[0],
            v_exponent: query.exponent,
            k,
            k_valid: key[0],
            k_last,
            k_mask,
            k_bias: m.inputs("k_bias", &inputs.k_bias),
            k_state: None,
            state_scalars: Vec::new(),
            state_o: Vec::new(),
            v: m.inputs("v", &inputs.v),
        };
        let loads = load.iter().map(|&load| (load, query.clone()));
        let waiting: Vec<Query> =
            m.each("shadow", loads, |m, name, (load, query)| query_shadow(m, name, *load, query));
        let masks = k_mask.zip(index).map(|(k_mask, index)| {
            let windows = take_query.iter().zip(&waiting);
            let windows =
                windows.map(|(&load, query)| KeyWindow { load, limits: query.limits.clone(), index, k_mask });
            m.each("window", windows, key_window)
        });
        let steps = CoreSteps { take_query: &take_query, key: &key, masks };
        let Places { v_step, v_ren, front, .. } = places(m, &one, n, &inside, &waiting, &steps);
        let Front { results, last, flags, o, .. } = front;
        let valid = results.first.valid;
        let names = ["o_invalid", "o_saturated", "o_overflow", "o_empty"];
        let flags: Vec<Option<Wire>> =
            names.iter().zip(flags).map(|(name, flag)| m.optional_output(name, flag)).collect();
        HandedOut {
            v_step: m.output("v_step", v_step),
            v_ren: m.output("v_ren", v_ren),
            last: m.output("last", last),
            valid: m.output("valid", valid),
            follows: m.output(FOLLOWS, valid),
            flags: std::array::from_fn(|i| flags[i]),
            o: m.outputs("o", &o),
        }
    })
}

//! The array: B cores, shadow registers for their queries, and a queue of their results.

use super::LowFunction;
use super::control::{ControlOutputs, array_control};
use super::flag_tree::flag_tree;
use super::pick::picked;
use super::port::{Turn, converted, scaled_results};
use super::results::{OrderFunction, QueryResult, SelectFunction, kept_result, result_select};
use super::shadow::{Query, query_shadow};
use super::window::{KeyWindow, StateMaskFunction, key_counter, key_window};
use crate::attention::masks::UnmaskedFunction;
use crate::attention::port_result::PortResult;
use crate::attention::ports::{CoreInputs, CoreOutputs, OpenInputs, contract_order};
use crate::catalogue::{at_port, core_at_port};
use crate::rtl::{Circuit, Module, Name, Number, Role, Stage, Tag, Wire, Wires};
use flashd_spec::config::{ArrayConfig, ConfigError, Design};
use flashd_spec::numerics::Numerics;
use flashd_spec::ports::Port;
use std::sync::Arc;

/// The inputs of an array, by the names of the contract (`docs/reference/array.md`).
pub struct ArrayInputs {
    /// The inputs that a core has, too. `q_valid` and `k_valid` say that a query and a key are offered, `k_mask` that
    /// no query of the block sees the key. `k_bias` has a word for each query.
    pub core: CoreInputs,
    /// The query is the last of its block.
    pub q_last: Wire,
    /// With masks: the place in the block of the first key that the query sees.
    pub q_from: Option<Wire>,
    /// With masks: the place after the last key that the query sees.
    pub q_to: Option<Wire>,
    /// With partial results: the place in the block of the query that a state belongs to.
    pub k_index: Option<Wire>,
}

/// The outputs of an array.
pub struct ArrayOutputs {
    /// The array takes a query in this cycle if one is offered.
    pub q_ready: Wire,
    /// The array takes a key in this cycle if one is offered.
    pub k_ready: Wire,
    /// The outputs that a core has, too. `v_ren` says that at least one query of the block reads the value; results
    /// come one a cycle, in the order of the queries.
    pub core: CoreOutputs,
    /// The result is the last of its block.
    pub o_last: Wire,
}

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
        let at_port = at_port(&config.core, n).filter(|_| queries > 1);
        let cores = waiting.iter().enumerate().map(|(b, query)| CoreInputs {
            q: query.q.clone(),
            q_valid: control.take_query[b],
            v_exponent: query.exponent,
            k_valid: control.key[b],
            k_mask: masks.as_ref().map(|masks| masks[b]),
            k_bias: inside.k_bias.get(b..=b).unwrap_or_default().to_vec(),
            ..inside.clone()
        });
        let cores: Vec<CoreOutputs> =
            m.each("core", cores, |m, name, inputs| core_at_port(m, name, &config.core, n, inputs, at_port));
        let of_cores = |flag: fn(&CoreOutputs) -> Wire| cores.iter().map(flag).collect::<Vec<Wire>>();
        let v_step = flag_tree(m, "steps", &of_cores(|core| core.v_step));
        let v_ren = flag_tree(m, "reads", &of_cores(|core| core.v_ren));
        let any = |m: &mut Module, name: &str, flag: fn(&CoreOutputs) -> Option<Wire>| {
            let flags: Option<Vec<Wire>> = cores.iter().map(flag).collect();
            flags.map(|flags| flag_tree(m, name, &flags))
        };
        let state_ren = any(m, "state_asks", |core| core.state_ren);
        let v_state = any(m, "state_reads", |core| core.v_state);

        let Front { results, index, last, flags, o, o_state } = front(m, config, n, &cores, at_port);
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

/// Rows for control in the order of the protocol, then for the first elements of vectors.
fn show_ports(m: &mut Module, masks: bool) {
    use Port::*;
    m.stage(Stage::Ports);
    ["clk", Rst.name()].into_iter().for_each(|name| m.show_port(name, 0));
    [QValid, QLast, QReady].into_iter().for_each(|port| m.show_port(port.name(), 0));
    m.show_role(Role::KeyValid, KValid.name(), KValid.name());
    m.show_port(KLast.name(), 0);
    m.show_role(Role::KeyReady, KReady.name(), KReady.name());
    [VStep, VRen, OValid, OIndex, OLast, OInvalid].into_iter().for_each(|port| m.show_port(port.name(), 0));
    let elements = [KMask].into_iter().filter(|_| masks).chain([Q, K, O]);
    elements.for_each(|port| m.show_port(port.name(), 0));
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

/// The result on the port.
struct Front {
    results: Results,
    /// The place of its query.
    index: Wire,
    /// It is its block's last.
    last: Wire,
    /// `o_invalid`, `o_saturated`, `o_overflow` and `o_empty`, if cores have them.
    flags: [Option<Wire>; 4],
    o: Vec<Wire>,
    o_state: Vec<Wire>,
}

/// The front of the queue of results.
fn front(
    m: &mut Module,
    config: &ArrayConfig,
    n: &Arc<Numerics>,
    cores: &[CoreOutputs],
    at_port: Option<&'static PortResult>,
) -> Front {
    let holds = config.core.design() == Design::Fa2 && config.queries > 1;
    let results = results(m, cores, holds);
    let index = m.state("index_q", config.index_bits());
    let more = match results.second {
        Some([own, behind]) => {
            m.call("more", SelectFunction { width: 1 }, [cores[0].o_valid, own, behind])[0]
        }
        None => results.low,
    };
    let order = OrderFunction { bits: config.index_bits() };
    let [last, next_index] = m.call("order", order, [results.first.valid, more, index]);
    m.next(index, next_index);
    let mut flags = results.first.flags.iter().copied();
    let flags = cores[0].flags().map(|flag| flag.and_then(|_| flags.next()));
    let o_empty = flags[3];
    let (o, o_state) = match (at_port, holds) {
        (Some(at_port), true) => {
            let turn = Turn { index, next: next_index, more };
            scaled_results(m, n, at_port, cores, &turn, o_empty)
        }
        (Some(at_port), false) => {
            let (words, valid) = (results.first.o.clone(), results.first.valid);
            let done = match o_empty {
                Some(empty) => m.call("shows", UnmaskedFunction {}, [valid, empty])[0],
                None => valid,
            };
            (converted(m, n, at_port, &words, None, done), words)
        }
        (None, true) => (
            picked(m, "pick", index, cores.iter().map(|core| &core.o[..])),
            picked(m, "pick_state", index, cores.iter().map(|core| &core.o_state[..])),
        ),
        (None, false) => (results.first.o.clone(), results.first.state.clone()),
    };
    Front { results, index, last, flags, o, o_state }
}

/// The queue of results, at the port.
struct Results {
    /// The result on the port; without its elements if the cores hold them.
    first: QueryResult,
    /// In an array of several cores, two flags that say whether another result follows: that of the second core, when
    /// the results of the cores are complete; otherwise, that in the second place of the queue.
    second: Option<[Wire; 2]>,
    /// Constant zero.
    low: Wire,
}

/// Queues the results of all cores. With `holds`, the cores hold their elements and accumulators, and only the rest is
/// queued. A single core needs no queue.
fn results(m: &mut Module, cores: &[CoreOutputs], holds: bool) -> Results {
    let own: Vec<QueryResult> = (cores.iter())
        .map(|core| QueryResult {
            o: if holds { Vec::new() } else { core.o.clone() },
            state: if holds { Vec::new() } else { core.o_state.clone() },
            scalars: core.state_scalars.clone(),
            valid: core.o_valid,
            flags: core.flags().into_iter().flatten().collect(),
        })
        .collect();
    let [low] = m.call("low", LowFunction {}, []);
    let take = own[0].valid;
    let followers = &own[1..];
    // The last place has no successor: it reads invalid results, of any data.
    let mut behind: Vec<QueryResult> =
        followers.iter().skip(1).map(|own| own.map(&mut |wire| m.later(wire.width()))).collect();
    behind.extend(followers.last().map(|own| QueryResult {
        valid: low,
        flags: vec![low; own.flags.len()],
        ..own.clone()
    }));
    let places = followers.iter().cloned().zip(behind.iter().cloned());
    let kept: Vec<QueryResult> =
        m.each("kept", places.map(|place| (take, place)), |m, name, (take, place)| {
            kept_result(m, name, *take, &place.0, &place.1)
        });
    for (behind, kept) in behind.iter().zip(kept.iter().skip(1)) {
        m.drive_wires(behind, kept);
    }
    match kept.first() {
        Some(behind) => Results {
            first: result_select(m, "front", take, &own[0], behind),
            second: Some([own[1].valid, kept.get(1).map_or(low, |second| second.valid)]),
            low,
        },
        None => Results { first: own[0].clone(), second: None, low },
    }
}

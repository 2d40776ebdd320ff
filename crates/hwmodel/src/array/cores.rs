//! The cores of an array, and the queue of their results.

use super::LowFunction;
use super::flag_tree::flag_tree;
use super::pick::picked;
use super::port::{Turn, converted, scaled_results};
use super::results::{OrderFunction, QueryResult, SelectFunction, kept_result, result_select};
use super::shadow::Query;
use crate::attention::masks::UnmaskedFunction;
use crate::attention::port_result::PortResult;
use crate::attention::ports::{CoreInputs, CoreOutputs};
use crate::catalogue::{at_port, core_at_port};
use crate::rtl::{Module, Wire, Wires};
use flashd_spec::config::{ArrayConfig, Design};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// What the cores of an array do in a cycle.
pub(super) struct CoreSteps<'a> {
    /// A core takes its waiting query.
    pub(super) take_query: &'a [Wire],
    /// A core takes the key on the port.
    pub(super) key: &'a [Wire],
    /// With masks: its query does not see it.
    pub(super) masks: Option<Vec<Wire>>,
}

/// The cores of an array, and the front of the queue of their results.
pub(super) struct Places {
    pub(super) v_step: Wire,
    pub(super) v_ren: Wire,
    pub(super) state_ren: Option<Wire>,
    pub(super) v_state: Option<Wire>,
    pub(super) front: Front,
}

/// The cores of an array, and the queue of their results.
pub(super) fn places(
    m: &mut Module,
    config: &ArrayConfig,
    n: &Arc<Numerics>,
    inside: &CoreInputs,
    waiting: &[Query],
    steps: &CoreSteps,
) -> Places {
    let at_port = at_port(&config.core, n).filter(|_| config.queries > 1);
    let cores = waiting.iter().enumerate().map(|(b, query)| CoreInputs {
        q: query.q.clone(),
        q_valid: steps.take_query[b],
        v_exponent: query.exponent,
        k_valid: steps.key[b],
        k_mask: steps.masks.as_ref().map(|masks| masks[b]),
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
    let front = front(m, config, n, &cores, at_port);
    Places { v_step, v_ren, state_ren, v_state, front }
}

/// The result on the port.
pub(super) struct Front {
    pub(super) results: Results,
    /// The place of its query.
    pub(super) index: Wire,
    /// It is its block's last.
    pub(super) last: Wire,
    /// `o_invalid`, `o_saturated`, `o_overflow` and `o_empty`, if cores have them.
    pub(super) flags: [Option<Wire>; 4],
    pub(super) o: Vec<Wire>,
    pub(super) o_state: Vec<Wire>,
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
pub(super) struct Results {
    /// The result on the port; without its elements if the cores hold them.
    pub(super) first: QueryResult,
    /// In an array of several cores, two flags that say whether another result follows: that of the second core, when
    /// the results of the cores are complete; otherwise, that in the second place of the queue.
    second: Option<[Wire; 2]>,
    /// Constant zero.
    pub(super) low: Wire,
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

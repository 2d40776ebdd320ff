//! Results that are made at the port, one unit for each of its elements.
//!
//! FLASH-D's accumulators wait in the queue of [`results`](super::results) and are rounded at its front. FA2's cores keep them in registers, which load as a
//! query ends. The accumulators of the next result go through the multiplier into the register of the port; the first core's come straight from
//! its lanes.

use super::pick::picked;
use crate::attention::group::blanked;
use crate::attention::port_result::{Accumulated, PortResult, Scaling};
use crate::attention::ports::CoreOutputs;
use crate::function;
use crate::rtl::{Module, Name, Tag, Wire};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// Whether the port shows a result in the next cycle.
    pub struct FollowsFunction {}
    name(this) = "result_follows";
    doc = "y = more or done: of the same block, or the first one of a block.";
    inputs { more: 1, done: 1 }
    outputs { y: 1 }
    eval<W> { [more.or(&done)] }
}

/// Whose result the port shows.
pub struct Turn {
    /// The core in this cycle.
    pub index: Wire,
    /// The core in the next cycle; the first one, unless more follow.
    pub next: Wire,
    /// Another result of the block follows.
    pub more: Wire,
}

/// Makes the elements of a result of their accumulators; zeros unless `done`.
pub fn converted(
    around: &mut Module,
    n: &Arc<Numerics>,
    at_port: &PortResult,
    words: &[Wire],
    scale: Option<Wire>,
    done: Wire,
) -> Vec<Wire> {
    let tag = format!("{}_result", (at_port.lanes)(n));
    let tag = Tag::module(tag, "An element of a result, of its accumulator.");
    let inputs = words.iter().map(|&word| Accumulated { word, scale, done });
    around.each("result", inputs, |m, name, &Accumulated { word, scale, done }| {
        m.part(name, tag.clone(), |m| {
            let word = m.input("accumulator", word);
            let scale = scale.map(|scale| m.input("scale", scale));
            let done = m.input("done", done);
            let o = (at_port.convert)(m, n, &Accumulated { word, scale, done });
            m.output("o", o)
        })
    })
}

/// The accumulators of a core, registered as its query ends.
fn held(around: &mut Module, name: Name, done: Wire, words: &[Wire]) -> Vec<Wire> {
    let tag = Tag::module(
        format!("held_accumulators_{}x{}", words.len(), words[0].width()),
        "Accumulators of a query that has ended.",
    );
    around.part(name, tag, |m| {
        m.clock();
        let done = m.input("done", done);
        let words = m.inputs("accumulator", words);
        let held = m.registers_if("held_q", done, &words);
        m.outputs("held", &held)
    })
}

/// FA2's results, of the accumulators and final scales of its cores, in the port's register; `empty`: the query of the result on the port
/// has seen no key, and the result is zero. With partial results also the accumulators of that query.
pub fn scaled_results(
    m: &mut Module,
    n: &Arc<Numerics>,
    at_port: &PortResult,
    cores: &[CoreOutputs],
    turn: &Turn,
    empty: Option<Wire>,
) -> (Vec<Wire>, Vec<Wire>) {
    let scaling: Vec<Scaling> = cores.iter().filter_map(|core| core.scaling).collect();
    let first = usize::from(!n.partial);
    let ended = scaling.iter().zip(cores).skip(first).map(|(scaling, core)| (scaling.done, core.o.clone()));
    let held = m.each_from(first, "held", ended, |m, name, (done, words)| held(m, name, *done, words));
    let [done] = m.call("follows", FollowsFunction {}, [turn.more, scaling[0].done]);
    let words = [&cores[0].o[..]].into_iter().chain(held.iter().skip(1 - first).map(|held| &held[..]));
    let words = picked(m, "pick", turn.next, words);
    let scales: Vec<[Wire; 1]> = scaling.iter().map(|scaling| [scaling.scale]).collect();
    let scale = picked(m, "pick_scale", turn.next, scales.iter().map(|scale| &scale[..]));
    let o = converted(m, n, at_port, &words, Some(scale[0]), done);
    let o = m.registers("o_q", &o);
    let o = match empty {
        Some(empty) => blanked(m, &o, empty),
        None => o,
    };
    let state = match n.partial {
        true => picked(m, "pick_state", turn.index, held.iter().map(|held| &held[..])),
        false => Vec::new(),
    };
    (o, state)
}

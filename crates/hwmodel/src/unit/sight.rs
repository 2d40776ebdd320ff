//! The keys that each query sees, as places in its block.

use super::fields::Fields;
use super::places::places;
use super::segments::VisibleFunction;
use crate::array::results::SelectFunction;
use crate::function;
use crate::rtl::{Module, Tag, Wire};
use crate::word::ones;

function! {
    /// Places in a block.
    pub struct RelativeFunction { width: u32 }
    name(this) = format!("place_in_block_{}", this.width);
    doc = "Places from the block's first key on. From all ones on, no query sees a key.";
    inputs { from: 32, to: 32, first: 32 }
    outputs { q_from: this.width, q_to: this.width }
    eval<W> {
        let place = |key: &W| {
            let place = key.sub(&first);
            let beyond = W::constant(32, ones(this.width)).lt(&place);
            beyond.repeat(this.width).or(&place.slice(0, this.width))
        };
        [place(&from), place(&to)]
    }
}

/// The range `[q_from, q_to)` of the next query that the array takes, `bits` bits each. `taken`: it takes it.
pub fn sight(
    around: &mut Module,
    name: &str,
    (width, bits): (usize, u32),
    job: &Fields,
    flags: [Wire; 2],
    taken: Wire,
) -> [Wire; 2] {
    const FIELDS: [&str; 6] = ["GROUP", "QUERIES", "K_HEADS", "POSITION", "WINDOW", "KEYS"];
    let tag = Tag::module(format!("sight_{width}_{bits}"), "The keys that each query sees.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let job = job.enter(m, &FIELDS);
        let [causal, windowed] = m.input_each([("causal", flags[0]), ("windowed", flags[1])]);
        let taken = m.input("taken", taken);
        let place = places(m, "places", width, &job, taken);
        let inputs = [causal, windowed, job.get("POSITION"), job.get("WINDOW"), job.get("KEYS"), place.token];
        let [from, to] = m.call("sees", VisibleFunction {}, inputs);
        // The block's keys begin with the first that its first query sees.
        let kept = m.state_if("first_q", 32, place.first);
        m.next(kept, from);
        let [first] = m.call("first", SelectFunction { width: 32 }, [place.first, from, kept]);
        let [q_from, q_to] = m.call("place", RelativeFunction { width: bits }, [from, to, first]);
        m.output_each([("q_from", q_from), ("q_to", q_to)])
    })
}

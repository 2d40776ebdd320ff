//! How many blocks a stream is behind another.

use super::packet::UpDownFunction;
use crate::rtl::{Module, Name, Tag, Wire};

/// Counts what has begun (`up`) and has not been followed up (`down`), in so many bits, at least two. Whether any are left.
pub fn credit(around: &mut Module, name: impl Into<Name>, bits: u32, up: Wire, down: Wire) -> Wire {
    let tag = Tag::module(format!("credit_{bits}"), "Counts up and down, and says whether any are left.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let [up, down] = m.input_each([("up", up), ("down", down)]);
        let count = m.state("count_q", bits);
        let [next, some] = m.call("step", UpDownFunction { bits }, [count, up, down]);
        m.next(count, next);
        m.output("some", some)
    })
}

//! Gates and counters that several parts of the wrapper use.

use super::packet::UpDownFunction;
use crate::array::LowFunction;
pub use crate::array::{BothFunction, HighFunction};
use crate::catalogue::v_step_latency;
use crate::function;
use crate::rtl::{Module, Name, Tag, Wire};
use crate::word::bits_for;
use flashd_spec::config::ArrayConfig;

/// The constant zero of a module. The first use makes it, the others share it.
#[derive(Default)]
pub struct Low(Option<Wire>);

impl Low {
    /// The wire of the constant.
    pub fn wire(&mut self, m: &mut Module) -> Wire {
        *self.0.get_or_insert_with(|| m.call("low", LowFunction {}, [])[0])
    }
}

function! {
    /// Whether a word is zero.
    pub struct IsZeroFunction { bits: u32 }
    name(this) = format!("is_zero_{}", this.bits);
    doc = "Whether x is 0.";
    inputs { x: this.bits }
    outputs { y: 1 }
    eval<W> { [x.any().not()] }
}

function! {
    /// OR of two flags.
    pub struct EitherFunction {}
    name(this) = "either";
    doc = "y = a or b.";
    inputs { a: 1, b: 1 }
    outputs { y: 1 }
    eval<W> { [a.or(&b)] }
}

function! {
    /// The first flag without the second.
    pub struct WithoutFunction {}
    name(this) = "without";
    doc = "y = a and not b.";
    inputs { a: 1, b: 1 }
    outputs { y: 1 }
    eval<W> { [a.and(&b.not())] }
}

/// Width of the counter of blocks under way, from their first query to their last result: one loads, one waits, one
/// meets keys, at most one is in each stage of the array, and the results of three wait for the port.
pub fn block_count_bits(array: &ArrayConfig) -> u32 {
    bits_for(u64::from(array.latency() + array.value_latency()) + 6)
}

/// Width of the counter of blocks whose keys have begun to come and whose values have not: at most one for each step
/// before the value stage, and one in the key register.
pub fn value_credit_bits(array: &ArrayConfig) -> u32 {
    bits_for(u64::from(v_step_latency(&array.core) + array.value_latency()) + 2)
}

/// Width of the counter of blocks whose queries have begun to come and whose keys have not: one loads, one waits, and one
/// is in the cores.
pub const KEY_CREDIT_BITS: u32 = bits_for(3);

/// Counts up with `up` and down with `down`, in `bits` bits, at least two. Returns whether the count is above zero.
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

//! Logic that several parts of the wrapper need.

use super::packet::UpDownFunction;
use crate::array::LowFunction;
use crate::catalogue::v_step_latency;
use crate::function;
use crate::rtl::{Module, Name, Tag, Wire};
use crate::word::bits_for;
use flashd_spec::config::ArrayConfig;

/// A constant zero of a module, made where it is first needed, once for all that need it.
#[derive(Default)]
pub struct Low(Option<Wire>);

impl Low {
    /// The constant.
    pub fn wire(&mut self, m: &mut Module) -> Wire {
        *self.0.get_or_insert_with(|| m.call(("low", 0), LowFunction {}, [])[0])
    }
}

function! {
    /// Constant one.
    pub struct HighFunction {}
    name(this) = "high";
    doc = "y = 1.";
    inputs {}
    outputs { y: 1 }
    eval<W> { [W::constant(1, 1)] }
}

function! {
    /// One or the other.
    pub struct EitherFunction {}
    name(this) = "either";
    doc = "y = a or b.";
    inputs { a: 1, b: 1 }
    outputs { y: 1 }
    eval<W> { [a.or(&b)] }
}

function! {
    /// One and the other.
    pub struct BothFunction {}
    name(this) = "both";
    doc = "y = a and b.";
    inputs { a: 1, b: 1 }
    outputs { y: 1 }
    eval<W> { [a.and(&b)] }
}

function! {
    /// One without the other.
    pub struct WithoutFunction {}
    name(this) = "without";
    doc = "y = a and not b.";
    inputs { a: 1, b: 1 }
    outputs { y: 1 }
    eval<W> { [a.and(&b.not())] }
}

/// Width of a counter of blocks whose queries have begun to come and whose results have not all left: one loads, one
/// waits, one meets keys, one is in each stage of the array at most, and results of three wait for the port.
pub fn block_count_bits(array: &ArrayConfig) -> u32 {
    bits_for(u64::from(array.latency() + array.value_latency()) + 6)
}

/// Width of a counter of blocks whose keys have begun to come and whose values have not: at most one for each step
/// before the value stage, and the one in the key register.
pub fn value_credit_bits(array: &ArrayConfig) -> u32 {
    bits_for(u64::from(v_step_latency(&array.core) + array.value_latency()) + 2)
}

/// Width of a counter of blocks whose queries have begun to come and whose keys have not: one that loads, one that waits
/// and one that the cores have taken over.
pub const KEY_CREDIT_BITS: u32 = bits_for(3);

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

//! Logic that several parts of the wrapper need.

use crate::function;
use crate::rtl::{Module, Wire};

function! {
    /// Constant zero, for an input behind which there is nothing.
    pub struct LowFunction {}
    name(this) = "low";
    doc = "y = 0.";
    inputs {}
    outputs { y: 1 }
    eval<W> { [W::zero(1)] }
}

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
    /// A place's own result, or the one behind it.
    pub struct SelectFunction { width: u32 }
    name(this) = format!("result_select_{}", this.width);
    doc = "y = take ? own : behind.";
    inputs { take: 1, own: this.width, behind: this.width }
    outputs { y: this.width }
    eval<W> { [take.select(&own, &behind)] }
}

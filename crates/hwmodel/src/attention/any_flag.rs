//! The or of many flags.

use crate::netlist::{Body, Net, verilog_body};
use crate::rtl::{Leaf, Pins, Tag};
use crate::word::Word;

/// The or of `count` flags, 1 bit.
pub struct AnyFlag {
    /// Number of flags.
    pub count: usize,
    /// The meaning of the result, for the header of the module.
    pub doc: &'static str,
}

impl Leaf for AnyFlag {
    fn tag(&self) -> Tag {
        Tag::module(format!("any_of_{}", self.count), self.doc)
    }

    fn inputs(&self) -> Vec<Pins> {
        vec![Pins::vector("x", self.count, 1)]
    }

    fn outputs(&self) -> Vec<Pins> {
        vec![Pins::word("any", 1)]
    }

    fn eval(&self, flags: &[u64], any: &mut [u64]) {
        any[0] = flags.iter().any(|&flag| flag != 0).into();
    }

    /// One operator over the whole vector instead of a chain.
    fn verilog(&self) -> Body {
        let any = Net::input("x", self.count as u32).any();
        verilog_body(&["x"], &[("any".to_string(), any)])
    }

    /// A chain of ors, because a word has at most 64 bits and there may be more flags.
    fn netlist(&self) -> Vec<Net> {
        let flags = (0..self.count).map(|i| Net::element("x", i, 1));
        vec![flags.reduce(|any, flag| any.or(&flag)).unwrap_or_else(|| Net::zero(1))]
    }
}

//! Whether some flag of many is set.

use crate::netlist::{Net, verilog_body};
use crate::rtl::{Leaf, Pins, Tag};
use crate::word::Word;

/// The or of `count` flags; `doc` says what it means.
pub struct AnyFlag {
    /// How many.
    pub count: usize,
    /// For the module's header.
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
    fn verilog(&self) -> String {
        let any = Net::input("x", self.count as u32).any();
        verilog_body(&["x"], &[("any".to_string(), any)])
    }

    /// Flag by flag: a word has 64 bits at most.
    fn netlist(&self) -> Vec<Net> {
        let flags = (0..self.count).map(|i| Net::element("x", i, 1));
        vec![flags.reduce(|any, flag| any.or(&flag)).unwrap_or_else(|| Net::zero(1))]
    }
}

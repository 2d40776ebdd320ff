//! Detection of Inf and NaN in a whole vector.

use crate::arith;
use crate::netlist::{Body, Net, verilog_body};
use crate::rtl::{Leaf, Pins, Tag};
use crate::word::{Num, Word};
use flashd_spec::format::Format;

/// Whether any element of a vector is Inf or NaN.
pub struct AnySpecial {
    /// Format of the elements.
    pub format: Format,
    /// Number of elements.
    pub elements: usize,
}

impl Leaf for AnySpecial {
    fn tag(&self) -> Tag {
        let name = format!("{}_any_special_{}", self.format.ident(), self.elements);
        Tag::module(name, "any = some element of x is Inf or NaN.")
    }

    fn inputs(&self) -> Vec<Pins> {
        vec![Pins::vector("x", self.elements, self.format.width())]
    }

    fn outputs(&self) -> Vec<Pins> {
        vec![Pins::word("any", 1)]
    }

    fn eval(&self, x: &[u64], any: &mut [u64]) {
        let width = self.format.width();
        let mut flags = x.iter().map(|&e| arith::is_special(self.format, &Num::new(width, e)));
        any[0] = flags.any(|flag| flag.value() != 0).into();
    }

    fn verilog(&self) -> Body {
        let results: Vec<(String, Net)> =
            self.netlist().into_iter().map(|any| ("any".to_string(), any)).collect();
        verilog_body(&["x"], &results)
    }

    fn netlist(&self) -> Vec<Net> {
        let width = self.format.width();
        let words = (0..self.elements).map(|i| Net::element("x", i, width));
        let mut flags: Vec<Net> = words.map(|e| arith::is_special(self.format, &e)).collect();
        // Joins eight flags to a word and reduces each word to a flag, until one flag is left.
        let mut elements = 1;
        while flags.len() > 1 {
            let several = flags.len() > 8;
            let word = |(i, flags): (usize, &[Net])| {
                let joined = flags.iter().rev().cloned().reduce(|high, low| high.concat(&low));
                let first = i * 8 * elements;
                let last = (first + 8 * elements).min(self.elements) - 1;
                let word = joined.unwrap_or_else(|| Net::zero(1));
                // The last word gets no name if it has few groups: it is short enough to be inlined.
                match (several || elements == 1, flags.len()) {
                    (true, _) => word.named(&format!("special_{first}_to_{last}")).any(),
                    (false, 3..) => word.named("special_groups").any(),
                    (false, _) => word.any(),
                }
            };
            flags = flags.chunks(8).enumerate().map(word).collect();
            elements *= 8;
        }
        vec![flags.pop().unwrap_or_else(|| Net::zero(1))]
    }
}

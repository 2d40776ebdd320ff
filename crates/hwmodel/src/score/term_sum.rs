//! Adds a few terms of the fused dot product in one expression, so that synthesis can save the carries in between.

use crate::netlist::{Body, Net, verilog_body};
use crate::rtl::{Leaf, Pins, Tag};
use crate::word::{Num, Word};

/// Most terms of a sum: two levels of a tree, see [`FrontSchedule`](crate::attention::schedule::FrontSchedule).
const MOST_TERMS: usize = 4;

/// `y + carry = sum of x[i] + c[i]`, signed; `carry` is the last of the `c[i]`.
pub struct TermSum {
    terms: usize,
    width: u32,
    grown: u32,
}

impl TermSum {
    /// A sum of `terms` words of `width` bits in `grown` bits.
    ///
    /// # Panics
    /// If there are more than four terms.
    pub fn new(terms: usize, width: u32, grown: u32) -> Self {
        assert!(terms <= MOST_TERMS, "{terms} terms in one go");
        TermSum { terms, width, grown }
    }

    /// Adds pairwise in place, one bit wider at each level. Each adder takes the carry of its first operand.
    fn add_up<W: Word>(terms: &mut [(W, W)], grown: u32) -> [W; 2] {
        let count = terms.len();
        let mut n = count;
        // How many terms each place is the sum of.
        let mut span = 1;
        while n > 1 {
            for i in 0..n.div_ceil(2) {
                let (a, ca) = &terms[2 * i];
                let wide = a.width() + 1;
                terms[i] = if 2 * i + 1 < n {
                    let (b, cb) = &terms[2 * i + 1];
                    // A one below the last place lets the same adder take the carry.
                    let sum = a.sext(wide).concat(&W::constant(1, 1)).add(&b.sext(wide).concat(ca));
                    let last = (2 * (i + 1) * span).min(count) - 1;
                    (sum.label(|| format!("sum_{}_to_{last}_halves", 2 * i * span)).drop_low(1), cb.clone())
                } else {
                    (a.sext(wide), ca.clone())
                };
            }
            n = n.div_ceil(2);
            span *= 2;
        }
        let (sum, carry) = &terms[0];
        [sum.sext(grown), carry.clone()]
    }
}

impl Leaf for TermSum {
    fn tag(&self) -> Tag {
        let TermSum { terms, width, .. } = self;
        Tag::module(
            format!("term_sum_{terms}_{width}"),
            format!("y + carry = sum of {terms} terms x + c, signed."),
        )
    }

    fn inputs(&self) -> Vec<Pins> {
        vec![Pins::vector("x", self.terms, self.width), Pins::vector("c", self.terms, 1)]
    }

    fn outputs(&self) -> Vec<Pins> {
        vec![Pins::word("y", self.grown), Pins::word("carry", 1)]
    }

    fn eval(&self, inputs: &[u64], outputs: &mut [u64]) {
        let (x, c) = inputs.split_at(self.terms);
        let mut room = [(Num::zero(1), Num::zero(1)); MOST_TERMS];
        let terms = &mut room[..self.terms];
        for (term, (&x, &c)) in terms.iter_mut().zip(x.iter().zip(c)) {
            *term = (Num::new(self.width, x), Num::new(1, c));
        }
        let sums = TermSum::add_up(terms, self.grown);
        outputs.iter_mut().zip(sums).for_each(|(output, sum)| *output = sum.value());
    }

    fn verilog(&self) -> Body {
        let results: Vec<(String, Net)> =
            ["y", "carry"].map(String::from).into_iter().zip(self.netlist()).collect();
        verilog_body(&["x", "c"], &results)
    }

    fn netlist(&self) -> Vec<Net> {
        let terms = (0..self.terms).map(|i| (Net::element("x", i, self.width), Net::element("c", i, 1)));
        TermSum::add_up(&mut terms.collect::<Vec<_>>(), self.grown).into()
    }
}

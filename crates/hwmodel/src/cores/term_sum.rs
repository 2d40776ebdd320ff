//! A few terms of the fused dot product added in one go, so that synthesis can save the carries in between.

use crate::netlist::{Net, verilog_body};
use crate::rtl::bus::Port;
use crate::rtl::{Block, Bus, In, Logic, Out, Part, Probe, Tag, Verilog};
use crate::word::{Num, Word};

/// `y + carry = sum of x[i] + c[i]`, signed.
pub struct TermSum {
    tag: Tag,
    /// The terms.
    pub x: Vec<Bus<In>>,
    /// Their carries.
    pub c: Vec<Bus<In>>,
    /// The sum with all carries but the last.
    pub y: Bus<Out>,
    /// The last carry.
    pub carry: Bus<Out>,
    width: u32,
    grown: u32,
    /// Room for the terms and what they add up to.
    terms: Vec<(Num, Num)>,
    evaluated: bool,
}

impl TermSum {
    /// A sum of `terms` words of `width` bits in `grown` bits.
    pub fn new(terms: usize, width: u32, grown: u32) -> Self {
        TermSum {
            tag: Tag::module(
                format!("term_sum_{terms}_{width}"),
                format!("y + carry = sum of {terms} terms x + c, signed."),
            ),
            x: Bus::vector(terms, width),
            c: Bus::vector(terms, 1),
            y: Bus::new(grown),
            carry: Bus::new(1),
            width,
            grown,
            terms: Vec::with_capacity(terms),
            evaluated: false,
        }
    }

    /// Pairwise in place, one bit wider at each level; each adder takes the carry of its first operand.
    fn eval<W: Word>(terms: &mut [(W, W)], grown: u32) -> (W, W) {
        let count = terms.len();
        let mut n = count;
        // Terms behind each place.
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
        (sum.sext(grown), carry.clone())
    }
}

impl Logic for TermSum {
    fn update(&mut self) {
        self.terms.clear();
        let terms = self.x.iter().zip(&self.c);
        self.terms.extend(terms.map(|(x, c)| (Num::new(self.width, x.val()), Num::new(1, c.val()))));
        let (y, carry) = TermSum::eval(&mut self.terms, self.grown);
        self.y.next = y.value();
        self.carry.next = carry.value();
    }
    fn connect(&mut self) {
        self.y.connect();
        self.carry.connect();
    }
    fn hdl(&self) -> Verilog {
        let terms = (0..self.x.len()).map(|i| (Net::element("x", i, self.width), Net::element("c", i, 1)));
        let (y, carry) = TermSum::eval(&mut terms.collect::<Vec<_>>(), self.grown);
        let outputs = [("y".to_string(), y), ("carry".to_string(), carry)];
        Verilog::Custom(verilog_body(&["x", "c"], &outputs))
    }
}

impl Block for TermSum {
    fn connect_all(&mut self) {
        self.connect();
    }
    fn update_all(&mut self) {
        if !self.settle() {
            self.y.update_all();
            self.carry.update_all();
        }
    }
    fn has_changed(&self) -> bool {
        self.y.has_changed() || self.carry.has_changed()
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_start_scope(name, self);
        self.tag.accept("tag", probe);
        self.x.accept("x", probe);
        self.c.accept("c", probe);
        self.y.accept("y", probe);
        self.carry.accept("carry", probe);
        probe.visit_end_scope(name, self);
    }
}

impl Part for TermSum {
    fn settle(&mut self) -> bool {
        if !self.is_restless() {
            return false;
        }
        self.evaluated = true;
        self.update();
        self.x.take();
        self.c.take();
        self.y.take() | self.carry.take()
    }
    fn is_restless(&self) -> bool {
        !self.evaluated || self.x.is_pending() || self.c.is_pending()
    }
}

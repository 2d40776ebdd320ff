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
            evaluated: false,
        }
    }

    /// Pairwise, one bit wider at each level; each adder takes the carry of its first operand.
    fn eval<W: Word>(mut terms: Vec<(W, W)>, grown: u32) -> (W, W) {
        while terms.len() > 1 {
            terms = terms
                .chunks(2)
                .map(|pair| match pair {
                    [(a, ca), (b, cb)] => {
                        let wide = a.width() + 1;
                        // A one below the last place lets the same adder take the carry.
                        let sum = a.sext(wide).concat(&W::constant(1, 1)).add(&b.sext(wide).concat(ca));
                        (sum.named("sum").drop_low(1), cb.clone())
                    }
                    _ => (pair[0].0.sext(pair[0].0.width() + 1), pair[0].1.clone()),
                })
                .collect();
        }
        let (sum, carry) = terms.swap_remove(0);
        (sum.sext(grown), carry)
    }
}

impl Logic for TermSum {
    fn update(&mut self) {
        let terms = self.x.iter().zip(&self.c);
        let terms = terms.map(|(x, c)| (Num::new(self.width, x.val()), Num::new(1, c.val()))).collect();
        let (y, carry) = TermSum::eval(terms, self.grown);
        self.y.next = y.value();
        self.carry.next = carry.value();
    }
    fn connect(&mut self) {
        self.y.connect();
        self.carry.connect();
    }
    fn hdl(&self) -> Verilog {
        let terms = (0..self.x.len()).map(|i| (Net::element("x", i, self.width), Net::element("c", i, 1)));
        let (y, carry) = TermSum::eval(terms.collect(), self.grown);
        let outputs = [("y".to_string(), y), ("carry".to_string(), carry)];
        Verilog::Custom(verilog_body(&["x", "c"], &outputs))
    }
}

impl Block for TermSum {
    fn connect_all(&mut self) {
        self.connect();
    }
    fn update_all(&mut self) {
        if !self.is_restless() {
            self.y.update_all();
            self.carry.update_all();
            return;
        }
        self.evaluated = true;
        self.update();
        self.x.update_all();
        self.c.update_all();
        self.y.update_all();
        self.carry.update_all();
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
    fn is_restless(&self) -> bool {
        !self.evaluated || self.x.is_pending() || self.c.is_pending()
    }
}

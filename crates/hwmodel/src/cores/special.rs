//! Detection of Inf and NaN in a whole vector.

use crate::arith;
use crate::format::Format;
use crate::netlist::{Net, verilog_body};
use crate::rtl::bus::Port;
use crate::rtl::{Block, Bus, In, Logic, Out, Part, Probe, Tag, Verilog};
use crate::word::{Num, Word};

/// Whether any element of a vector is Inf or NaN.
pub struct AnySpecial {
    tag: Tag,
    /// The vector.
    pub x: Vec<Bus<In>>,
    /// 1 if some element is Inf or NaN.
    pub any: Bus<Out>,
    format: Format,
    evaluated: bool,
}

impl AnySpecial {
    /// A detector for `d` elements.
    pub fn new(format: Format, d: usize) -> Self {
        let name = format!("{}_any_special_{d}", format.ident());
        AnySpecial {
            tag: Tag::module(name, "any = some element of x is Inf or NaN."),
            x: Bus::vector(d, format.width()),
            any: Bus::new(1),
            format,
            evaluated: false,
        }
    }

    fn eval<W: Word>(format: Format, x: impl Iterator<Item = W>) -> W {
        x.map(|e| arith::is_special(format, &e)).reduce(|a, b| a.or(&b)).unwrap_or_else(|| W::zero(1))
    }
}

impl Logic for AnySpecial {
    fn update(&mut self) {
        let width = self.format.width();
        let words = self.x.iter().map(|e| Num::new(width, e.val()));
        self.any.next = AnySpecial::eval(self.format, words).value();
    }
    fn connect(&mut self) {
        self.any.connect();
    }
    fn hdl(&self) -> Verilog {
        let width = self.format.width();
        let words = (0..self.x.len()).map(|i| Net::element("x", i, width));
        let mut flags: Vec<Net> = words.map(|e| arith::is_special(self.format, &e)).collect();
        // Words of eight flags, as long as there are several of them.
        let mut elements = 1;
        while flags.len() > 1 {
            let several = flags.len() > 8;
            let word = |(i, flags): (usize, &[Net])| {
                let joined = flags.iter().rev().cloned().reduce(|high, low| high.concat(&low));
                let first = i * 8 * elements;
                let last = (first + 8 * elements).min(self.x.len()) - 1;
                let word = joined.unwrap_or_else(|| Net::zero(1));
                // A last word of few groups is short enough to be written where it is read.
                match (several || elements == 1, flags.len()) {
                    (true, _) => word.named(&format!("special_{first}_to_{last}")).any(),
                    (false, 3..) => word.named("special_groups").any(),
                    (false, _) => word.any(),
                }
            };
            flags = flags.chunks(8).enumerate().map(word).collect();
            elements *= 8;
        }
        let any = flags.pop().unwrap_or_else(|| Net::zero(1));
        Verilog::Custom(verilog_body(&["x"], &[("any".to_string(), any)]))
    }
}

impl Block for AnySpecial {
    fn connect_all(&mut self) {
        self.connect();
    }
    fn update_all(&mut self) {
        if !self.settle() {
            self.any.update_all();
        }
    }
    fn has_changed(&self) -> bool {
        self.any.has_changed()
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_start_scope(name, self);
        self.tag.accept("tag", probe);
        self.x.accept("x", probe);
        self.any.accept("any", probe);
        probe.visit_end_scope(name, self);
    }
}

impl Part for AnySpecial {
    fn settle(&mut self) -> bool {
        if !self.is_restless() {
            return false;
        }
        self.evaluated = true;
        self.update();
        self.x.take();
        self.any.take()
    }
    fn is_restless(&self) -> bool {
        !self.evaluated || self.x.is_pending()
    }
}

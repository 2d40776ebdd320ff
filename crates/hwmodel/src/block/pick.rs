//! Choice of one of the results that the cores hold.

use crate::netlist::{Net, verilog_body};
use crate::rtl::bus::Port;
use crate::rtl::{Block, Bus, In, Logic, Out, Part, Probe, Tag, Verilog};
use crate::word::{Num, Word, index_bits};

/// One element of the result at an index.
pub struct ResultPick {
    tag: Tag,
    /// Which core's.
    pub index: Bus<In>,
    /// The element in every core.
    pub x: Vec<Bus<In>>,
    /// The element of the chosen one.
    pub y: Bus<Out>,
    width: u32,
    evaluated: bool,
}

impl ResultPick {
    /// For elements of `width` bits of `queries` cores, at least two.
    pub fn new(queries: usize, width: u32) -> Self {
        ResultPick {
            tag: Tag::module(format!("result_pick_{queries}x{width}"), "y = x[index]."),
            index: Bus::new(index_bits(queries)),
            x: Bus::vector(queries, width),
            y: Bus::new(width),
            width,
            evaluated: false,
        }
    }

    /// A tree that decides on one bit of the index a level, the lowest first.
    fn eval<W: Word>(index: &W, x: Vec<W>) -> Option<W> {
        let mut level = x;
        let mut bit = 0;
        while level.len() > 1 {
            let odd = index.bit(bit);
            level = level
                .chunks(2)
                .map(|pair| match pair {
                    [even, other] => odd.select(other, even).named("pair"),
                    single => single[0].clone(),
                })
                .collect();
            bit += 1;
        }
        level.pop()
    }
}

impl Logic for ResultPick {
    fn update(&mut self) {
        let index = Num::new(self.index.width(), self.index.val());
        let x = self.x.iter().map(|e| Num::new(self.width, e.val())).collect();
        self.y.next = ResultPick::eval(&index, x).map_or(0, Num::value);
    }
    fn connect(&mut self) {
        self.y.connect();
    }
    fn hdl(&self) -> Verilog {
        let index = Net::input("index", self.index.width());
        let x = (0..self.x.len()).map(|i| Net::element("x", i, self.width)).collect();
        let y = ResultPick::eval(&index, x).unwrap_or_else(|| Net::zero(self.width));
        Verilog::Custom(verilog_body(&["index", "x"], &[("y".to_string(), y)]))
    }
}

impl Block for ResultPick {
    fn connect_all(&mut self) {
        self.connect();
    }
    fn update_all(&mut self) {
        if !self.settle() {
            self.y.update_all();
        }
    }
    fn has_changed(&self) -> bool {
        self.y.has_changed()
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_start_scope(name, self);
        self.tag.accept("tag", probe);
        self.index.accept("index", probe);
        self.x.accept("x", probe);
        self.y.accept("y", probe);
        probe.visit_end_scope(name, self);
    }
}

impl Part for ResultPick {
    fn settle(&mut self) -> bool {
        if !self.is_restless() {
            return false;
        }
        self.evaluated = true;
        self.update();
        self.index.take();
        self.x.take();
        self.y.take()
    }
    fn is_restless(&self) -> bool {
        !self.evaluated || self.index.is_pending() || self.x.is_pending()
    }
}

//! Whether some flag of many is set.

use crate::netlist::{Net, verilog_body};
use crate::rtl::bus::Port;
use crate::rtl::{Block, Bus, In, Logic, Out, Part, Probe, Tag, Verilog};
use crate::word::Word;

/// The or of a vector of flags.
pub struct AnyFlag {
    tag: Tag,
    /// The flags.
    pub x: Vec<Bus<In>>,
    /// 1 if some flag is set.
    pub any: Bus<Out>,
    evaluated: bool,
}

impl AnyFlag {
    /// The or of `count` flags; `doc` says what it means.
    pub fn new(count: usize, doc: &str) -> Self {
        AnyFlag {
            tag: Tag::module(format!("any_of_{count}"), doc),
            x: Bus::vector(count, 1),
            any: Bus::new(1),
            evaluated: false,
        }
    }
}

impl Logic for AnyFlag {
    fn update(&mut self) {
        self.any.next = u64::from(self.x.iter().any(|flag| flag.val() != 0));
    }
    fn connect(&mut self) {
        self.any.connect();
    }
    fn hdl(&self) -> Verilog {
        let any = Net::input("x", self.x.len() as u32).any();
        Verilog::Custom(verilog_body(&["x"], &[("any".to_string(), any)]))
    }
}

impl Block for AnyFlag {
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

impl Part for AnyFlag {
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

//! The signals of a design, in the order in which RustHDL's probe visits them.
//!
//! A signal is a name for a net of the design: what is recorded is read from there, and a signal nobody records costs nothing.

use flashd_hwmodel::rtl::{Block, Circuit, Probe, Tag};
use rust_hdl::core::prelude::Atom;
use std::collections::HashMap;

/// One bus of the design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    /// Dotted path from the core: `flash_d_bf16_d16.weight.score.score`.
    pub path: String,
    /// Width in bits.
    pub width: u32,
    /// The net that it shows.
    pub net: u32,
}

impl Signal {
    /// The path below the core: `weight.score.score`.
    pub(super) fn below_core(&self) -> &str {
        self.path.split_once('.').map_or(&self.path, |(_, rest)| rest)
    }

    /// Every module's clock is the core's.
    pub(super) fn is_clock(&self) -> bool {
        self.width == 1 && self.path.rsplit('.').next() == Some("clk")
    }
}

/// Lists the signals of a core that is called `name`.
pub(super) fn list(name: &str, design: &Circuit) -> Vec<Signal> {
    let mut walk = List { scope: String::new(), nets: design.nets_of_pins(), signals: Vec::new() };
    design.accept(name, &mut walk);
    walk.signals
}

struct List {
    scope: String,
    nets: HashMap<usize, u32>,
    signals: Vec<Signal>,
}

/// RustHDL calls element 3 of a vector `x$3`. It becomes `x_3`, as in the emitted Verilog's instances:
/// GTKWave takes `x[3]` for bit 3 of a bus `x`.
fn readable(name: &str) -> String {
    name.replace('$', "_")
}

impl Probe for List {
    fn visit_start_scope(&mut self, name: &str, _node: &dyn Block) {
        if !self.scope.is_empty() {
            self.scope.push('.');
        }
        self.scope += &readable(name);
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        if Tag::of(signal).is_none() {
            let path = format!("{}.{}", self.scope, readable(name));
            self.signals.push(Signal { path, width: signal.bits() as u32, net: self.nets[&signal.id()] });
        }
    }

    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.scope.truncate(self.scope.rfind('.').unwrap_or(0));
    }
}

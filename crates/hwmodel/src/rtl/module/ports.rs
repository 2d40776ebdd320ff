//! Inputs and outputs of a module.

use super::{Declared, Driver, Module, Wire};
use crate::rtl::structure::Port;

impl Module {
    /// Declares the clock port `clk`, for all registers and parts of the module.
    pub fn clock(&mut self) {
        self.clock_port("clk");
    }

    /// Declares a clock port under another name.
    pub fn clock_port(&mut self, name: &str) {
        assert!(self.clock.is_none(), "{}: two clocks", self.tag.name);
        self.clock = Some(name.into());
        let slot = self.slot(1, Driver::Own);
        self.add_port(name, false, false, &[self.wire(slot)], Vec::new());
    }

    /// Declares the port `rst`, a synchronous, active-high reset for registers and parts of the module, driven by the reset of the module around.
    pub fn reset(&mut self) {
        let from = self.around.as_ref().and_then(|around| around.reset);
        let from = from.unwrap_or_else(|| panic!("{}: the module around has no reset", self.tag.name));
        self.reset = Some(self.input("rst", from));
    }

    /// Sets the reset of all registers and parts that are added from here on.
    pub fn reset_by(&mut self, wire: Wire) {
        self.check(wire);
        self.reset = Some(wire);
    }

    /// Declares an input, driven by a wire of the module around; returns its wire in this module.
    pub fn input(&mut self, name: &str, from: Wire) -> Wire {
        self.bring_in(name, false, &[from])[0]
    }

    /// [`Module::input`] for several inputs.
    pub fn input_each<const N: usize>(&mut self, ports: [(&str, Wire); N]) -> [Wire; N] {
        ports.map(|(name, from)| self.input(name, from))
    }

    /// Declares an input that is a vector of words.
    pub fn inputs(&mut self, name: &str, from: &[Wire]) -> Vec<Wire> {
        self.bring_in(name, true, from)
    }

    /// Declares an input that only some configurations have.
    pub fn optional_input(&mut self, name: &str, from: Option<Wire>) -> Option<Wire> {
        from.map(|wire| self.input(name, wire))
    }

    fn bring_in(&mut self, name: &str, vector: bool, from: &[Wire]) -> Vec<Wire> {
        let module = &self.tag.name;
        let Some(around) = &self.around else { panic!("{module}: nothing is around it to drive {name}") };
        let of_around = from.iter().all(|wire| wire.module == around.id);
        assert!(of_around, "{module}.{name}: driven by a wire that is not of the module around");
        let own = |wire: &Wire| Wire { slot: self.slot(wire.width, Driver::Own), module: self.id, ..*wire };
        let inside: Vec<Wire> = from.iter().map(own).collect();
        self.add_port(name, vector, false, &inside, from.iter().map(|wire| wire.slot).collect());
        inside
    }

    /// Declares an output; returns its wire in the module around.
    pub fn output(&mut self, name: &str, from: Wire) -> Wire {
        self.output_port(name, false, &[from])[0]
    }

    /// [`Module::output`] for several outputs.
    pub fn output_each<const N: usize>(&mut self, ports: [(&str, Wire); N]) -> [Wire; N] {
        ports.map(|(name, from)| self.output(name, from))
    }

    /// Declares an output that is a vector of words.
    pub fn outputs(&mut self, name: &str, from: &[Wire]) -> Vec<Wire> {
        self.output_port(name, true, from)
    }

    /// Declares an output that only some configurations have.
    pub fn optional_output(&mut self, name: &str, from: Option<Wire>) -> Option<Wire> {
        from.map(|wire| self.output(name, wire))
    }

    fn output_port(&mut self, name: &str, vector: bool, from: &[Wire]) -> Vec<Wire> {
        from.iter().for_each(|&wire| self.check(wire));
        let Some(around) = &mut self.around else {
            panic!("{}: nothing is around it to read {name}", self.tag.name)
        };
        let out = |wire: &Wire| {
            around.outputs.push(wire.width);
            let slot = around.first_output + around.outputs.len() as u32 - 1;
            Wire { module: around.id, slot, ..*wire }
        };
        let outside: Vec<Wire> = from.iter().map(out).collect();
        self.add_port(name, vector, true, from, outside.iter().map(|wire| wire.slot).collect());
        outside
    }

    /// Sorts the ports that are declared so far by the rank of their names; equal ranks keep their order.
    pub fn order_ports(&mut self, rank: impl Fn(&str) -> usize) {
        self.ports.sort_by_key(|declared| rank(&declared.port.name));
    }

    fn add_port(&mut self, name: &str, vector: bool, output: bool, words: &[Wire], outside: Vec<u32>) {
        let port = || format!("{}.{name}", self.tag.name);
        assert!(self.ports.iter().all(|other| other.port.name != name), "{}: two of that name", port());
        let width = words.first().map_or(1, |wire| wire.width);
        assert!(words.iter().all(|wire| wire.width == width), "{}: words of several widths", port());
        let slots = words.iter().map(|wire| wire.slot).collect();
        let port = Port { name: name.into(), vector, output, width, slots };
        self.ports.push(Declared { port, outside });
    }
}

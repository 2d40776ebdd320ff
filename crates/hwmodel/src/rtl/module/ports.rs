//! What a module takes in and hands out.

use super::{Declared, Driver, Module, Wire};
use crate::rtl::structure::Port;
use rust_hdl::core::signal::get_signal_id;

impl Module {
    /// The clock port `clk` of all registers and parts here.
    pub fn clock(&mut self) {
        self.clock_port("clk");
    }

    /// A clock port of another name.
    pub fn clock_port(&mut self, name: &str) {
        assert!(self.clock.is_none(), "{}: two clocks", self.tag.name);
        self.clock = Some(name.into());
        let slot = self.slot(1, Driver::Own);
        self.add_port(name, false, false, &[self.wire(slot)], Vec::new());
    }

    /// The port `rst` of a synchronous reset, for registers and parts here: that of the module around.
    pub fn reset(&mut self) {
        let from = self.around.as_ref().and_then(|around| around.reset);
        let from = from.unwrap_or_else(|| panic!("{}: the module around has no reset", self.tag.name));
        self.reset = Some(self.input("rst", from));
    }

    /// Another reset for registers and parts from here on.
    pub fn reset_by(&mut self, wire: Wire) {
        self.check(wire);
        self.reset = Some(wire);
    }

    /// An input of a part, driven by a wire of the module around.
    pub fn input(&mut self, name: &str, from: Wire) -> Wire {
        self.bring_in(name, false, &[from])[0]
    }

    /// Several inputs by their names.
    pub fn input_each<const N: usize>(&mut self, ports: [(&str, Wire); N]) -> [Wire; N] {
        ports.map(|(name, from)| self.input(name, from))
    }

    /// A vector of inputs of a part.
    pub fn inputs(&mut self, name: &str, from: &[Wire]) -> Vec<Wire> {
        self.bring_in(name, true, from)
    }

    /// An input that only some configurations have: as a port, a vector of none or one.
    pub fn optional_input(&mut self, name: &str, from: Option<Wire>) -> Option<Wire> {
        self.bring_in(name, true, from.as_slice()).pop()
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

    /// An output; returns its wire in the module around.
    pub fn output(&mut self, name: &str, from: Wire) -> Wire {
        self.hand_out(name, false, &[from])[0]
    }

    /// Several outputs by their names.
    pub fn output_each<const N: usize>(&mut self, ports: [(&str, Wire); N]) -> [Wire; N] {
        ports.map(|(name, from)| self.output(name, from))
    }

    /// A vector of outputs.
    pub fn outputs(&mut self, name: &str, from: &[Wire]) -> Vec<Wire> {
        self.hand_out(name, true, from)
    }

    /// An output that only some configurations have: as a port, a vector of none or one.
    pub fn optional_output(&mut self, name: &str, from: Option<Wire>) -> Option<Wire> {
        self.hand_out(name, true, from.as_slice()).pop()
    }

    fn hand_out(&mut self, name: &str, vector: bool, from: &[Wire]) -> Vec<Wire> {
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

    /// Keeps places among the ports for those of these names, which are declared later: outputs whose drivers come after inputs that
    /// stand behind them.
    pub fn reserve_ports(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.port_places.keep(name));
    }

    fn add_port(&mut self, name: &str, vector: bool, output: bool, words: &[Wire], outside: Vec<u32>) {
        let port = || format!("{}.{name}", self.tag.name);
        assert!(self.ports.iter().all(|other| other.port.name != name), "{}: two of that name", port());
        let width = words.first().map_or(1, |wire| wire.width);
        assert!(words.iter().all(|wire| wire.width == width), "{}: words of several widths", port());
        let slots = words.iter().map(|wire| wire.slot).collect();
        let atoms = words.iter().map(|_| get_signal_id() as u32).collect();
        let port = Port { name: name.into(), vector, output, width, slots, atoms };
        self.ports.push(Declared { port, stands: self.port_places.of(name), outside });
    }
}

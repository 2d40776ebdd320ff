//! The signals of a module: numbers on its wires, and rows that show them.

use super::{Module, Name, Wire};
use crate::rtl::signal::{NUMBER, Number, Place, Role, Row, SHOWN_ELEMENTS, Signal, Stage, readable};
use crate::rtl::structure::{Kind, Node, numbered};

/// The pin that a row shows.
#[derive(Clone, Copy, Debug)]
pub enum Pin<'a> {
    /// The pin that drives a wire.
    Wire(Wire),
    /// A port, or an element of it.
    Port(&'a str, usize),
    /// A pin of a leaf, or the first register of this name in a module.
    Of(&'a str, &'a str),
}

impl From<Wire> for Pin<'_> {
    fn from(wire: Wire) -> Self {
        Pin::Wire(wire)
    }
}

impl<'a> From<&'a str> for Pin<'a> {
    fn from(port: &'a str) -> Self {
        Pin::Port(port, 0)
    }
}

impl<'a> From<(&'a str, &'a str)> for Pin<'a> {
    fn from((part, pin): (&'a str, &'a str)) -> Self {
        Pin::Of(part, pin)
    }
}

impl Module {
    /// Rows that follow, also those of parts, belong to this stage.
    pub fn stage(&mut self, stage: Stage) {
        self.place.stage = Some(stage);
    }

    /// Rows that follow, also those of parts, are folded away under a title.
    pub fn fold(&mut self, title: Option<&'static str>) {
        self.place.fold = title;
    }

    /// The format of the number on a wire. A flag is none.
    ///
    /// # Panics
    /// If the wire is too narrow for it.
    pub fn number(&mut self, wire: Wire, number: Number) {
        self.check(wire);
        if wire.width() > 1 {
            let width = wire.width();
            assert!(number.fits(width), "{}: {number:?} on a wire of {width} bits", self.tag.name);
            self.numbers.push((wire.slot, number));
        }
    }

    /// [`Module::number`] for several wires.
    pub fn number_each(&mut self, wires: &[Wire], number: Number) {
        wires.iter().for_each(|&wire| self.number(wire, number));
    }

    /// A wire with the format of its number and a row in the current stage. In a lane, `#` in the text is the number of the lane.
    pub fn signal(&mut self, wire: Wire, number: Number, label: &str) {
        self.number(wire, number);
        self.show(wire, label);
    }

    /// [`Module::signal`] for the elements of a vector; `#` in the text is the number of the element.
    pub fn signals(&mut self, wires: &[Wire], number: Number, label: &str) {
        self.number_each(wires, number);
        for (j, &wire) in wires.iter().enumerate() {
            self.show_element(Row::Plain, wire, j, label);
        }
    }

    /// A row in the current stage: bits, or a number if the net has one.
    pub fn show<'a>(&mut self, pin: impl Into<Pin<'a>>, label: &str) {
        self.show_as(Row::Plain, pin, label);
    }

    /// A row in the current stage, of this kind.
    pub fn show_as<'a>(&mut self, row: Row, pin: impl Into<Pin<'a>>, label: &str) {
        self.row(row, &pin.into(), label);
    }

    /// [`Module::show_as`] for element `j` of a vector. The later ones have no rows.
    pub fn show_element<'a>(&mut self, row: Row, pin: impl Into<Pin<'a>>, j: usize, label: &str) {
        if j < SHOWN_ELEMENTS
            && let Some(signal) = self.row(row, &pin.into(), label)
        {
            signal.number(j);
        }
    }

    /// A row for a port under its own name.
    pub fn show_port(&mut self, name: &str, element: usize) {
        let pin = Pin::Port(name, element);
        let label = self.path(&pin);
        self.row(Row::Plain, &pin, &label);
    }

    /// A row for a bit with a role.
    pub fn show_role<'a>(&mut self, role: Role, pin: impl Into<Pin<'a>>, label: &str) {
        let row = match role {
            Role::Valid | Role::First => Row::Flag,
            _ => Row::Plain,
        };
        if let Some(signal) = self.row(row, &pin.into(), label) {
            signal.role = Some(role);
        }
    }

    /// A row for the weight w. The output `smaller` has the smaller one of w and `1 - w`; the output `side` says which.
    pub fn show_weight(&mut self, side: &str, smaller: &str, label: &str) {
        self.weights.push([side, smaller].map(|output| self.path(&output.into())));
        self.row(Row::Trace, &side.into(), label);
    }

    fn row(&mut self, row: Row, pin: &Pin, label: &str) -> Option<&mut Signal> {
        let Place { stage, fold } = self.place;
        let (stage, path, label) = (stage?, self.path(pin), label.into());
        let signal = Signal { stage, row, label, fold, element: None, role: None, path };
        self.signals.push(signal);
        self.signals.last_mut()
    }

    /// The path of a pin below this module.
    fn path(&self, pin: &Pin) -> String {
        let pins = |node: &Node| node.pins(|slot| self.slots[slot as usize].width);
        let found = match *pin {
            Pin::Wire(wire) => {
                self.check(wire);
                let slot = self.resolve(wire.slot);
                let mut own = self.ports.iter().map(|declared| &declared.port).filter(|port| !port.output);
                let own = own.find_map(|port| {
                    let element = port.slots.iter().position(|&own| own == slot)?;
                    Some(numbered(&port.name, port.vector.then_some(element)))
                });
                let of_part = || {
                    self.nodes.iter().find_map(|node| {
                        let place = node.outputs.iter().position(|&output| output == slot)?;
                        let pin = pins(node).into_iter().filter(|pin| pin.output).nth(place)?;
                        Some(below(node, &pin.name))
                    })
                };
                own.or_else(of_part)
            }
            Pin::Port(name, element) => {
                let mut ports = self.ports.iter().map(|declared| &declared.port);
                let port = ports.find(|port| port.name == name && element < port.slots.len());
                port.map(|port| numbered(name, port.vector.then_some(element)))
            }
            Pin::Of(part, name) => self.nodes.iter().find(|node| node.name == part).and_then(|node| {
                let pin = match &node.kind {
                    Kind::Module(inner) => {
                        let mut registers = inner.nodes.iter();
                        registers.find(|register| register.name == name).map(|register| below(register, "q"))
                    }
                    _ => pins(node).iter().any(|pin| pin.name == name).then(|| name.to_string()),
                };
                Some(below(node, &pin?))
            }),
        };
        readable(&found.unwrap_or_else(|| panic!("{}: nothing to show at {pin:?}", self.tag.name)))
    }
}

impl Signal {
    /// Sets the number of its element.
    fn number(&mut self, j: usize) {
        self.label = self.label.replace(NUMBER, &j.to_string());
        self.element = Some(j);
    }

    /// The row, seen from the module around `part`.
    pub(super) fn of_part(mut self, part: &str) -> Signal {
        self.path = format!("{part}.{}", self.path);
        self
    }

    /// The row, seen from the design `top` itself.
    pub(super) fn leave(&mut self, top: &str) {
        self.path.replace_range(..=top.len(), "");
    }

    /// The row of instance `j` of a vector of parts: all rows of the first one, and the rows of elements of the first few.
    pub(super) fn of_instance(mut self, [pattern, part]: [&str; 2], first: bool, j: usize) -> Option<Signal> {
        if self.element.is_none() && self.label.contains(NUMBER) {
            if j >= SHOWN_ELEMENTS {
                return None;
            }
            self.number(j);
        } else if !first {
            return None;
        }
        self.path.replace_range(..pattern.len(), part);
        Some(self)
    }
}

/// The name of a part in paths.
pub(super) fn part_name(name: &Name) -> String {
    readable(&numbered(&name.base, name.index))
}

/// The path of a pin of a part.
fn below(node: &Node, pin: &str) -> String {
    format!("{}.{pin}", node.label())
}

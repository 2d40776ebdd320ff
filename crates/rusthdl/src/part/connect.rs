//! The connections inside a module, from its description.

use crate::part::Part;
use flashd_hwmodel::rtl::combinational_loop;
use flashd_hwmodel::rtl::structure::{Kind, Structure};
use std::sync::Arc;
use thiserror::Error;

/// A description that is no hardware. Paths lead from the design to a pin, `lanes$3.v`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// Two outputs drive one wire.
    #[error("{first} and {second} drive one wire")]
    TwoDrivers {
        /// One pin.
        first: String,
        /// The other one.
        second: String,
    },
    /// A pin is not as wide as its wire.
    #[error("{pin} has {bits} bits on a wire of {wire}")]
    Width {
        /// The pin.
        pin: String,
        /// Its width.
        bits: u32,
        /// The width of the wire.
        wire: u32,
    },
    /// RustHDL's own checks refuse the design.
    #[error("RustHDL refuses the design: {0}")]
    Refused(String),
}

impl Fault {
    /// The same fault seen from the module around `part`.
    pub(crate) fn inside(self, part: &str) -> Fault {
        let at = |pin: String| format!("{part}.{pin}");
        match self {
            Fault::TwoDrivers { first, second } => Fault::TwoDrivers { first: at(first), second: at(second) },
            Fault::Width { pin, bits, wire } => Fault::Width { pin: at(pin), bits, wire },
            refused => refused,
        }
    }
}

/// Where a value comes from: a pin of the module, or a pin of one of its parts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Own(usize),
    Part(usize, usize),
}

/// The connections of one part: for each of its pins that has a source.
pub(crate) struct Inputs {
    pub(crate) part: usize,
    pub(crate) pins: Vec<(usize, Source)>,
}

/// The connections inside a module, which all its instances share.
pub(crate) struct Connections {
    /// Clock pins of gates, of registers, then of modules.
    pub(crate) clocks: Vec<(usize, usize, Source)>,
    /// Data inputs: of leaves and modules in the order of the data flow, then of registers and gates.
    pub(crate) data: Vec<Inputs>,
    /// The outputs of the module.
    pub(crate) outputs: Vec<(usize, Source)>,
    /// The wire that closes the combinational loop of a module, if it has one.
    pub(crate) closes: Option<Source>,
}

impl Connections {
    /// The connections of a module with these parts.
    ///
    /// # Errors
    /// If a wire has two drivers, or a pin has not the width of its wire.
    pub(crate) fn of(module: &Arc<Structure>, own: &Part, parts: &[Part]) -> Result<Connections, Fault> {
        let drivers = Drivers::of(module, own, parts)?;
        let (mut clocks, mut data) = (Vec::new(), Vec::new());
        let clock_pin = module.pins().iter().position(|pin| pin.clock);
        for (place, node) in module.nodes.iter().enumerate() {
            let clock = match node.gate {
                Some(gate) => Some(Source::Part(gate as usize, GATED)),
                None => clock_pin.map(Source::Own),
            };
            let mut slots = node.inputs.iter();
            let mut pins = Vec::new();
            for (pin, described) in module.pins_of(node).iter().enumerate().filter(|(_, pin)| !pin.output) {
                if described.clock {
                    clocks.extend(clock.map(|clock| (place, pin, clock)));
                } else if let Some(&slot) = slots.next() {
                    let path = || format!("{}.{}", node.label(), described.name);
                    drivers.check(path, described.width, slot)?;
                    pins.extend(drivers.source(slot).map(|source| (pin, source)));
                }
            }
            data.push(Inputs { part: place, pins });
        }
        clocks.sort_by_key(|&(place, ..)| match module.nodes[place].kind {
            Kind::Gate => 0,
            Kind::Register(_) => 1,
            _ => 2,
        });
        let is_logic = |part: usize| matches!(module.nodes[part].kind, Kind::Leaf(_) | Kind::Module(_));
        let (data, in_order) = data_flow(data, is_logic);
        let slots = module.ports.iter().flat_map(|port| &port.slots);
        let outputs = own.pins().iter().zip(slots).enumerate().filter(|(_, (pin, _))| pin.is_output());
        let outputs = outputs.filter_map(|(pin, (_, &slot))| Some((pin, drivers.source(slot)?))).collect();
        let closes = if in_order { None } else { closing(module, &data) };
        Ok(Connections { clocks, data, outputs, closes })
    }
}

/// The place of the output among the pins of a clock gate.
const GATED: usize = 2;

/// The drivers of the wires of a module.
struct Drivers<'a> {
    module: &'a Structure,
    drivers: Vec<Option<(Source, String)>>,
}

impl<'a> Drivers<'a> {
    fn of(module: &'a Structure, own: &Part, parts: &[Part]) -> Result<Drivers<'a>, Fault> {
        let mut drivers = Drivers { module, drivers: vec![None; module.widths.len()] };
        let slots = module.ports.iter().flat_map(|port| &port.slots);
        for (pin, (at, &slot)) in own.pins().iter().zip(slots).enumerate() {
            drivers.check(|| at.name.clone(), at.width, slot)?;
            if !at.is_output() {
                drivers.add(slot, Source::Own(pin), at.name.clone())?;
            }
        }
        for (place, (node, part)) in module.nodes.iter().zip(parts).enumerate() {
            let outputs = part.pins().iter().enumerate().filter(|(_, pin)| pin.is_output());
            for ((pin, at), &slot) in outputs.zip(&node.outputs) {
                let path = || format!("{}.{}", node.label(), at.name);
                drivers.check(path, at.width, slot)?;
                drivers.add(slot, Source::Part(place, pin), path())?;
            }
        }
        Ok(drivers)
    }

    fn add(&mut self, slot: u32, source: Source, path: String) -> Result<(), Fault> {
        match self.drivers[slot as usize].replace((source, path.clone())) {
            Some((_, first)) => Err(Fault::TwoDrivers { first, second: path }),
            None => Ok(()),
        }
    }

    fn check(&self, pin: impl Fn() -> String, bits: u32, slot: u32) -> Result<(), Fault> {
        match self.module.widths[slot as usize] {
            wire if wire == bits => Ok(()),
            wire => Err(Fault::Width { pin: pin(), bits, wire }),
        }
    }

    fn source(&self, slot: u32) -> Option<Source> {
        self.drivers[slot as usize].as_ref().map(|(source, _)| *source)
    }
}

/// Sorts leaves and modules by the data flow, followed by registers and gates. False if some feed each other: they then need several updates.
fn data_flow(data: Vec<Inputs>, is_logic: impl Fn(usize) -> bool) -> (Vec<Inputs>, bool) {
    let from = |inputs: &Inputs| -> Vec<usize> {
        let parts = inputs.pins.iter().filter_map(|(_, source)| match source {
            Source::Part(part, _) => Some(*part),
            Source::Own(_) => None,
        });
        parts.filter(|&part| is_logic(part)).collect()
    };
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); data.len()];
    let mut waits = vec![0; data.len()];
    for inputs in data.iter().filter(|inputs| is_logic(inputs.part)) {
        for driver in from(inputs) {
            readers[driver].push(inputs.part);
            waits[inputs.part] += 1;
        }
    }
    let mut ready: Vec<usize> =
        (0..data.len()).rev().filter(|&part| is_logic(part) && waits[part] == 0).collect();
    let mut order = Vec::new();
    while let Some(part) = ready.pop() {
        order.push(part);
        for &reader in &readers[part] {
            waits[reader] -= 1;
            if waits[reader] == 0 {
                ready.push(reader);
            }
        }
    }
    let rest = |logic: bool| {
        let (waits, is_logic) = (&waits, &is_logic);
        (0..waits.len()).filter(move |&part| is_logic(part) == logic && (!logic || waits[part] > 0))
    };
    let in_order = rest(true).next().is_none();
    let order: Vec<usize> = order.into_iter().chain(rest(true)).chain(rest(false)).collect();
    let mut data: Vec<Option<Inputs>> = data.into_iter().map(Some).collect();
    (order.into_iter().filter_map(|part| data[part].take()).collect(), in_order)
}

/// The wire that closes a combinational loop between the parts of a module itself.
fn closing(module: &Arc<Structure>, data: &[Inputs]) -> Option<Source> {
    let found = combinational_loop(module).filter(|found| found.module == module.tag.name)?;
    let label = |part: usize| module.nodes[part].label();
    let (reader, driver) = (&found.parts[0], &found.parts[1 % found.parts.len()]);
    let inputs = data.iter().find(|inputs| label(inputs.part) == *reader)?;
    inputs.pins.iter().map(|(_, source)| *source).find(|source| match source {
        Source::Part(part, _) => label(*part) == *driver,
        Source::Own(_) => false,
    })
}

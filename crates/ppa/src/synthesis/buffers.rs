//! Buffer trees on nets that the mapper cannot see.
//!
//! ABC works on one module's gates. A register that feeds sixteen lanes, or full-adder cells, drives nets
//! without gates on them as far as ABC knows. Here, with the submodules' mappings chosen, every net is
//! compared with its driver's maximum load; if it exceeds that, the pins get buffers, in the order of the netlist,
//! level by level until the driver can drive the rest.

use super::library_file::CellLibrary;
use super::structure::{JsonBit, JsonCell, JsonModule};
use crate::liberty::Cell;
use std::collections::{BTreeMap, HashMap};

/// How much a cell may drive, as a part of the library's `max_capacitance`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Effort {
    /// The library's limit.
    Legal,
    /// The load of least delay, on nets that the mapper cannot see.
    Quick,
}

impl Effort {
    fn part(self) -> f64 {
        match self {
            Effort::Legal => 1.0,
            // A load of about eight inverters per unit of drive in the libraries that we know.
            Effort::Quick => 0.15,
        }
    }
}

/// Maximum load of a cell in units of its input capacitance, if the library gives no `max_capacitance`.
const MAX_LOAD_IN_INPUTS: f64 = 64.0;
/// A tree has no more levels than this; three serve thousands of pins.
const MAX_LEVELS: usize = 5;

/// Loads at a module's ports, in F by port and bit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interface {
    /// Capacitance of the pins on an input's net.
    inputs: HashMap<String, Vec<f64>>,
    /// Largest load of an output's driver, and the part of it inside the module.
    outputs: HashMap<String, Vec<(f64, f64)>>,
}

/// A pin on a net.
#[derive(Clone, Debug)]
struct NetPin {
    cell: String,
    port: String,
    index: usize,
    load: f64,
}

/// A net with its driver's abilities.
#[derive(Clone, Debug, Default)]
struct Driven {
    sinks: Vec<NetPin>,
    /// Largest load of the driver, without regard to the effort.
    limit: f64,
    /// Load that cannot be moved: inside of the submodule that drives the net.
    fixed: f64,
    /// It has pins that the mapper does not know: of submodules, or of adder cells.
    unseen: bool,
    /// A gated clock: like the clock itself, it has no buffers of ours.
    gated: bool,
}

/// Inserts buffers into a module whose submodules have these interfaces, and returns its own.
pub(crate) fn insert(
    module: &mut JsonModule,
    library: &CellLibrary,
    children: &HashMap<String, Interface>,
    effort: Effort,
    clock: &str,
) -> Interface {
    let mut nets = nets(module, library, children);
    let clock = module.ports.get(clock).and_then(|port| port.bits.first()).cloned();
    let mut next_net = module.first_free_net();
    for (&number, net) in &mut nets {
        // The mapper has sized the nets that it sees.
        let effort = if net.unseen { effort } else { Effort::Legal };
        if clock == Some(JsonBit::Net(number)) || net.gated || net.load() <= net.limit * effort.part() {
            continue;
        }
        if let Some(buffer) = choose(net, library, effort) {
            buffer.build(module, net, number, effort, &mut next_net);
        }
    }
    interface(module, &nets)
}

impl Driven {
    fn load(&self) -> f64 {
        self.fixed + self.sinks.iter().map(|sink| sink.load).sum::<f64>()
    }
}

fn nets(
    module: &JsonModule,
    library: &CellLibrary,
    children: &HashMap<String, Interface>,
) -> BTreeMap<usize, Driven> {
    let mut nets: BTreeMap<usize, Driven> = BTreeMap::new();
    // Ports are assumed to be driven by the buffer `driver`.
    let driver = library.cells.cell(&library.roles.driver).map_or(f64::INFINITY, max_load);
    for port in module.ports.values().filter(|port| port.direction == "input") {
        for bit in &port.bits {
            if let JsonBit::Net(n) = bit {
                nets.entry(*n).or_default().limit = driver;
            }
        }
    }
    for (name, cell) in &module.cells {
        let kind = library.cells.cell(&cell.kind);
        for (port, bits) in &cell.connections {
            for (index, bit) in bits.iter().enumerate() {
                let JsonBit::Net(n) = bit else { continue };
                let net = nets.entry(*n).or_default();
                let inner = children.get(&cell.kind);
                net.unseen |=
                    kind.is_none_or(|kind| kind.outputs().count() > 1 && kind.flip_flop().is_none());
                if cell.drives(port) {
                    net.gated = library.is_clock_gate(&cell.kind);
                    let output = inner.and_then(|i| i.outputs.get(port)?.get(index)).copied();
                    (net.limit, net.fixed) =
                        output.unwrap_or((kind.map_or(f64::INFINITY, |k| pin_limit(k, port)), 0.0));
                } else {
                    let load = match kind {
                        Some(kind) => kind.pin(port).map_or(0.0, |pin| pin.capacitance),
                        None => inner.and_then(|i| i.inputs.get(port)?.get(index)).copied().unwrap_or(0.0),
                    };
                    net.sinks.push(NetPin { cell: name.clone(), port: port.clone(), index, load });
                }
            }
        }
    }
    nets
}

fn interface(module: &JsonModule, nets: &BTreeMap<usize, Driven>) -> Interface {
    let mut interface = Interface::default();
    let net = |bit: &JsonBit| match bit {
        JsonBit::Net(n) => nets.get(n).cloned().unwrap_or_default(),
        JsonBit::Constant(_) => Driven { limit: f64::INFINITY, ..Driven::default() },
    };
    for (name, port) in &module.ports {
        let bits = port.bits.iter().map(net);
        if port.direction == "input" {
            interface.inputs.insert(name.clone(), bits.map(|net| net.load()).collect());
        } else {
            interface.outputs.insert(name.clone(), bits.map(|net| (net.limit, net.load())).collect());
        }
    }
    interface
}

fn pin_limit(cell: &Cell, port: &str) -> f64 {
    let own_input = cell.inputs().next().map_or(f64::INFINITY, |pin| pin.capacitance);
    let given = cell.pin(port).and_then(|pin| pin.max_capacitance);
    given.unwrap_or(own_input * MAX_LOAD_IN_INPUTS)
}

fn max_load(cell: &Cell) -> f64 {
    cell.outputs().next().map_or(f64::INFINITY, |pin| pin_limit(cell, &pin.name))
}

/// A buffer cell with its limits.
struct Buffer<'a> {
    cell: &'a Cell,
    input: &'a str,
    output: &'a str,
    load: f64,
    limit: f64,
}

/// The buffer with which the net takes the fewest levels, then the least area (if legal is enough: area first).
fn choose<'a>(net: &Driven, library: &'a CellLibrary, effort: Effort) -> Option<Buffer<'a>> {
    let buffers = library.cells.buffers().into_iter().filter_map(|cell| {
        let (input, output) = (cell.inputs().next()?, cell.outputs().next()?);
        let limit = pin_limit(cell, &output.name);
        Some(Buffer { cell, input: &input.name, output: &output.name, load: input.capacitance, limit })
    });
    let cost = |buffer: &Buffer| {
        let levels = buffer.groups(net, effort);
        let count: usize = levels.iter().map(Vec::len).sum();
        let area = count as f64 * buffer.cell.area;
        match effort {
            Effort::Legal => (area, levels.len() as f64),
            Effort::Quick => (levels.len() as f64, area),
        }
    };
    buffers
        .map(|buffer| (cost(&buffer), buffer))
        .filter(|((a, b), _)| *a > 0.0 && *b > 0.0)
        .min_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)))
        .map(|(_, buffer)| buffer)
}

impl Buffer<'_> {
    /// Sizes of the groups of neighbouring pins, level by level from the pins to the driver.
    fn groups(&self, net: &Driven, effort: Effort) -> Vec<Vec<usize>> {
        let (limit, own) = (net.limit * effort.part(), self.limit * effort.part());
        let mut loads: Vec<f64> = net.sinks.iter().map(|sink| sink.load).collect();
        let mut levels = Vec::new();
        while net.fixed + loads.iter().sum::<f64>() > limit && levels.len() < MAX_LEVELS {
            // The fewest groups, of equal load.
            let total: f64 = loads.iter().sum();
            let target = total / (total / own).ceil();
            let mut groups = Vec::new();
            let (mut size, mut sum) = (0, 0.0);
            for load in &loads {
                if size > 0 && sum + load / 2.0 > target {
                    groups.push(size);
                    (size, sum) = (0, 0.0);
                }
                size += 1;
                sum += load;
            }
            groups.push(size);
            if groups.len() as f64 * self.load >= total {
                break;
            }
            loads = vec![self.load; groups.len()];
            levels.push(groups);
        }
        levels
    }

    fn build(
        &self,
        module: &mut JsonModule,
        net: &mut Driven,
        number: usize,
        effort: Effort,
        next: &mut usize,
    ) {
        let mut inserted = 0;
        for level in self.groups(net, effort) {
            let mut sinks = std::mem::take(&mut net.sinks).into_iter();
            for size in level {
                let name = format!("_buf{number}_{inserted}_");
                inserted += 1;
                for sink in sinks.by_ref().take(size) {
                    let cell = module.cells.get_mut(&sink.cell);
                    if let Some(bits) = cell.and_then(|cell| cell.connections.get_mut(&sink.port)) {
                        bits[sink.index] = JsonBit::Net(*next);
                    }
                }
                let pins = [
                    (self.input, JsonBit::Net(number), "input"),
                    (self.output, JsonBit::Net(*next), "output"),
                ];
                let cell = JsonCell {
                    kind: self.cell.name.clone(),
                    parameters: BTreeMap::new(),
                    port_directions: pins.iter().map(|(p, _, d)| (p.to_string(), d.to_string())).collect(),
                    connections: pins.iter().map(|(p, bit, _)| (p.to_string(), vec![bit.clone()])).collect(),
                };
                module.cells.insert(name.clone(), cell);
                net.sinks.push(NetPin {
                    cell: name,
                    port: self.input.to_string(),
                    index: 0,
                    load: self.load,
                });
                *next += 1;
            }
        }
    }
}

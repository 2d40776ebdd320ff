//! From modules to cells on nets.

use super::program::{Program, ProgramInput};
use super::yosys::{CONSTANT_NETS, YosysModule};
use super::{CellInstance, CellKind, Net, NetlistError, NetlistPort, OPEN, Submodule};
use crate::liberty::{Cell, CellFunction, Direction, Expression, FlipFlop, Library};
use std::collections::HashMap;

/// A flat netlist whose nets are numbered as they came.
pub(super) struct FlatNetlist {
    pub ports: Vec<NetlistPort>,
    pub instances: Vec<Submodule>,
    pub kinds: Vec<CellKind>,
    pub cells: Vec<CellInstance>,
    /// Names of the cells of each module.
    pub names: Vec<Vec<String>>,
    pub pins: Vec<Net>,
    pub nets: usize,
}

pub(super) fn flatten(
    top: &str,
    modules: &[YosysModule],
    library: &Library,
) -> Result<FlatNetlist, NetlistError> {
    let by_name: HashMap<&str, usize> =
        modules.iter().enumerate().map(|(index, module)| (module.name.as_str(), index)).collect();
    let &index = by_name
        .get(top)
        .ok_or_else(|| NetlistError::structure(top, "there is no module of this name in the netlist"))?;
    let mut flattener = Flattener {
        modules,
        resolved: Vec::new(),
        flat: FlatNetlist {
            ports: Vec::new(),
            instances: Vec::new(),
            kinds: Vec::new(),
            cells: Vec::new(),
            names: vec![Vec::new(); modules.len()],
            pins: Vec::new(),
            nets: 0,
        },
        // A constant's representative is itself.
        joined: (0..CONSTANT_NETS).collect(),
    };
    flattener.resolve(&by_name, library)?;
    let mut outer = vec![OPEN; modules[index].nets as usize];
    for port in &modules[index].ports {
        let nets: Vec<Net> = port.bits.iter().map(|_| flattener.fresh()).collect();
        flattener.connect(&mut outer, &port.bits, &nets, top)?;
        flattener.flat.ports.push(NetlistPort { name: port.name.clone(), is_input: port.is_input, nets });
    }
    flattener.instantiate(index, None, top, outer)?;
    Ok(flattener.finish())
}

/// A leaf or a submodule of a module, looked up once for all instances.
enum Content<'a> {
    /// Index of the kind, position among the module's leaves, and the module's net for each pin.
    Leaf { kind: u32, leaf: u32, pins: Vec<u32> },
    /// Index of the module, instance name, and for each of its ports its bits and ours.
    Child { module: usize, name: &'a str, ports: Vec<(usize, Vec<u32>)> },
}

struct Flattener<'a> {
    modules: &'a [YosysModule],
    resolved: Vec<Vec<Content<'a>>>,
    flat: FlatNetlist,
    /// Union-find over nets: a port that is only passed on joins the nets outside.
    joined: Vec<Net>,
}

impl<'a> Flattener<'a> {
    fn fresh(&mut self) -> Net {
        self.joined.push(self.joined.len() as Net);
        (self.joined.len() - 1) as Net
    }

    fn find(&mut self, mut net: Net) -> Net {
        while self.joined[net as usize] != net {
            let above = self.joined[self.joined[net as usize] as usize];
            self.joined[net as usize] = above;
            net = above;
        }
        net
    }

    /// Makes `inner` nets of a module be the `nets` given.
    fn connect(
        &mut self,
        outer: &mut [Net],
        inner: &[u32],
        nets: &[Net],
        place: &str,
    ) -> Result<(), NetlistError> {
        for (&bit, &net) in inner.iter().zip(nets) {
            let known = match bit {
                0 | 1 => bit,
                _ => outer[bit as usize],
            };
            if known == OPEN {
                outer[bit as usize] = net;
                continue;
            }
            let (a, b) = (self.find(known), self.find(net));
            if a.max(b) < CONSTANT_NETS && a != b {
                return Err(NetlistError::structure(place, "constants 0 and 1 are connected"));
            }
            // The smaller number stays: constants survive.
            self.joined[a.max(b) as usize] = a.min(b);
        }
        Ok(())
    }

    fn resolve(&mut self, by_name: &HashMap<&'a str, usize>, library: &Library) -> Result<(), NetlistError> {
        let mut kinds: HashMap<&str, u32> = HashMap::new();
        for (index, module) in self.modules.iter().enumerate() {
            let mut contents = Vec::new();
            for cell in &module.cells {
                let error = |problem: String| {
                    NetlistError::structure(format!("module {}, {}", module.name, cell.name), problem)
                };
                if let Some(&child) = by_name.get(cell.kind.as_str()) {
                    let mut ports = Vec::new();
                    for (name, bits) in &cell.connections {
                        let position = self.modules[child].ports.iter().position(|port| port.name == *name);
                        let position = position
                            .filter(|&position| self.modules[child].ports[position].bits.len() == bits.len())
                            .ok_or_else(|| {
                                error(format!("{} has no port {name} of {} bits", cell.kind, bits.len()))
                            })?;
                        ports.push((position, bits.clone()));
                    }
                    contents.push(Content::Child { module: child, name: &cell.name, ports });
                    continue;
                }
                let kind = match kinds.get(cell.kind.as_str()) {
                    Some(&kind) => kind,
                    None => {
                        let found = library.cell(&cell.kind).ok_or_else(|| {
                            error(format!("{} is neither a module nor a cell of {}", cell.kind, library.name))
                        })?;
                        self.flat.kinds.push(cell_kind(found, false).map_err(error)?);
                        let kind = (self.flat.kinds.len() - 1) as u32;
                        kinds.insert(&cell.kind, kind);
                        kind
                    }
                };
                let mut pins = Vec::new();
                for pin in &self.flat.kinds[kind as usize].cell.pins {
                    match cell.connections.get(&pin.name).map(Vec::as_slice) {
                        Some(&[net]) => pins.push(net),
                        _ if pin.direction == Direction::Input => {
                            return Err(error(format!("input {} of {} is open", pin.name, cell.kind)));
                        }
                        _ => pins.push(OPEN),
                    }
                }
                let names = &mut self.flat.names[index];
                names.push(cell.name.clone());
                contents.push(Content::Leaf { kind, leaf: names.len() as u32 - 1, pins });
            }
            self.resolved.push(contents);
        }
        Ok(())
    }

    /// `outer` holds the nets of the module's ports, by the module's own numbers.
    fn instantiate(
        &mut self,
        module: usize,
        parent: Option<u32>,
        name: &str,
        mut outer: Vec<Net>,
    ) -> Result<(), NetlistError> {
        let modules = self.modules;
        let instance = self.flat.instances.len() as u32;
        let module_name = modules[module].name.clone();
        if std::iter::successors(parent, |&i| self.flat.instances[i as usize].parent)
            .any(|i| self.flat.instances[i as usize].module == module_name)
        {
            return Err(NetlistError::structure(module_name, "contains itself"));
        }
        let index = module as u32;
        self.flat.instances.push(Submodule { parent, name: name.to_string(), module: module_name, index });
        for net in 0..CONSTANT_NETS {
            outer[net as usize] = net;
        }
        for net in outer.iter_mut().filter(|net| **net == OPEN) {
            *net = self.joined.len() as Net;
            self.joined.push(*net);
        }
        // Taken out for the time of the loop, which needs the rest of `self`.
        let contents = std::mem::take(&mut self.resolved[module]);
        for content in &contents {
            match content {
                Content::Leaf { kind, leaf, pins } => {
                    let first_pin = self.flat.pins.len() as u32;
                    self.flat.pins.extend(pins.iter().map(|&pin| match pin {
                        OPEN => OPEN,
                        pin => outer[pin as usize],
                    }));
                    self.flat.cells.push(CellInstance { kind: *kind, instance, leaf: *leaf, first_pin });
                }
                Content::Child { module: child, name, ports } => {
                    let mut inner = vec![OPEN; modules[*child].nets as usize];
                    for (port, bits) in ports {
                        let nets: Vec<Net> = bits.iter().map(|&bit| outer[bit as usize]).collect();
                        self.connect(&mut inner, &modules[*child].ports[*port].bits, &nets, name)?;
                    }
                    self.instantiate(*child, Some(instance), name, inner)?;
                }
            }
        }
        self.resolved[module] = contents;
        Ok(())
    }

    fn finish(mut self) -> FlatNetlist {
        let mut pins = std::mem::take(&mut self.flat.pins);
        let mut ports = std::mem::take(&mut self.flat.ports);
        let ends = ports.iter_mut().flat_map(|port| &mut port.nets);
        for net in pins.iter_mut().chain(ends).filter(|net| **net != OPEN) {
            *net = self.find(*net);
        }
        FlatNetlist { pins, ports, nets: self.joined.len(), ..self.flat }
    }
}

/// A kind of cells. A flip-flop with a `gated` clock keeps its state where the gate lets no edge pass; the net of its clock
/// has the value of [`ClockGate::passes`](crate::liberty::ClockGate).
pub(super) fn cell_kind(cell: &Cell, gated: bool) -> Result<CellKind, String> {
    let inputs: Vec<(&str, ProgramInput)> = cell
        .pins
        .iter()
        .enumerate()
        .filter(|(_, pin)| pin.direction == Direction::Input)
        .map(|(index, pin)| (pin.name.as_str(), ProgramInput::Pin(index)))
        .collect();
    let mut functions = Vec::new();
    for pin in cell.outputs() {
        let function = pin.function.as_ref().filter(|_| !pin.three_state);
        functions.push(
            function.ok_or_else(|| format!("output {} of {} has no plain function", pin.name, cell.name))?,
        );
    }
    let described = |problem: String| format!("{}: {problem}", cell.name);
    let (outputs, next) = match &cell.kind {
        CellFunction::Combinational | CellFunction::ClockGate(_) => (Program::new(&functions, &inputs), None),
        CellFunction::FlipFlop(ff) => {
            let state =
                [(ff.state.as_str(), ProgramInput::State), (ff.inverse.as_str(), ProgramInput::InverseState)];
            let all: Vec<(&str, ProgramInput)> = inputs.iter().chain(&state).copied().collect();
            let next = if gated { kept_unless_clocked(ff) } else { ff.next_state.clone() };
            let next = Program::new(&[&next], &all).map_err(described)?;
            (Program::new(&functions, &state), Some(next))
        }
        CellFunction::Other => return Err(format!("{} is neither logic nor a single flip-flop", cell.name)),
    };
    Ok(CellKind { cell: cell.clone(), outputs: outputs.map_err(described)?, next })
}

/// `clock & next | !clock & state`.
fn kept_unless_clocked(ff: &FlipFlop) -> Expression {
    let clock = || Box::new(ff.clocked_on.clone());
    let captured = Expression::And(clock(), Box::new(ff.next_state.clone()));
    let kept =
        Expression::And(Box::new(Expression::Not(clock())), Box::new(Expression::Pin(ff.state.clone())));
    Expression::Or(Box::new(captured), Box::new(kept))
}

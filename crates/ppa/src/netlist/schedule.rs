//! The order of evaluation: cells by level, equal cells side by side, nets numbered in that order.

use super::flatten::{FlatNetlist, cell_kind};
use super::program::ProgramInput;
use super::yosys::CONSTANT_NETS;
use super::{CellInstance, CellKind, Direction, Net, Netlist, NetlistError, OPEN, constants, path};
use crate::liberty::{Cell, Expression};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Equal cells that are evaluated one after another. Output `o` of cell `i` is net `first_output + o * cells + i`;
/// in a flip-flop output 0 is the state.
#[derive(Clone, Debug)]
pub(super) struct EqualCells {
    pub kind: u32,
    pub cells: usize,
    /// Nets of the program's inputs, `[input][cell]`.
    pub sources: Vec<Net>,
    pub first_output: Net,
}

const UNDRIVEN: u32 = u32::MAX;

pub(super) fn schedule(mut flat: FlatNetlist) -> Result<Netlist, NetlistError> {
    let drivers = drivers(&flat)?;
    let levels = levels(&flat, &drivers)?;
    // Flip-flops have level 0; within a level equal cells together, otherwise in the order of the hierarchy,
    // so that neighbouring cells read neighbouring nets.
    let mut order: Vec<u32> = (0..flat.cells.len() as u32).collect();
    order.sort_by_key(|&cell| (levels[cell as usize], flat.cells[cell as usize].kind));
    let (clock, gated) = clock(&flat, &drivers, &constants::constants(&flat, &order))?;
    if give_own_kinds(&mut flat, &gated)? {
        order.sort_by_key(|&cell| (levels[cell as usize], flat.cells[cell as usize].kind));
    }
    let same = |a: &u32, b: &u32| {
        let key = |cell: u32| (levels[cell as usize], flat.cells[cell as usize].kind);
        key(*a) == key(*b)
    };
    let groups: Vec<&[u32]> = order.chunk_by(same).collect();
    let numbers = NetNumbers::new(&flat, &groups);
    let mut ports = flat.ports;
    for net in ports.iter_mut().flat_map(|port| &mut port.nets) {
        *net = numbers.of_nets[*net as usize];
    }
    let mut netlist = Netlist {
        ports,
        nets: numbers.next as usize,
        clock: clock.map(|net| numbers.of_nets[net as usize]),
        instances: flat.instances,
        kinds: flat.kinds,
        // From here on cells are in the order of evaluation.
        cells: order.iter().map(|&cell| flat.cells[cell as usize]).collect(),
        names: flat.names,
        pins: numbers.of_pins,
        flip_flops: Vec::new(),
        logic: Vec::new(),
    };
    let mut done = 0;
    for (group, first_output) in groups.iter().zip(numbers.first_outputs) {
        let run = equal_cells(&netlist, &netlist.cells[done..done + group.len()], first_output);
        done += group.len();
        match netlist.kinds[run.kind as usize].next {
            Some(_) => netlist.flip_flops.push(run),
            None => netlist.logic.push(run),
        }
    }
    Ok(netlist)
}

/// Nets in the order of evaluation: constants, inputs, outputs of equal cells side by side.
struct NetNumbers {
    of_nets: Vec<Net>,
    of_pins: Vec<Net>,
    /// The first output of each group of equal cells.
    first_outputs: Vec<Net>,
    next: Net,
}

impl NetNumbers {
    fn new(flat: &FlatNetlist, groups: &[&[u32]]) -> NetNumbers {
        let (of_nets, of_pins) = (vec![OPEN; flat.nets], vec![OPEN; flat.pins.len()]);
        let mut numbers = NetNumbers { of_nets, of_pins, first_outputs: Vec::new(), next: 0 };
        let inputs = flat.ports.iter().filter(|port| port.is_input).flat_map(|port| &port.nets).copied();
        (0..CONSTANT_NETS).chain(inputs).for_each(|net| {
            numbers.give(net);
        });
        for group in groups {
            numbers.first_outputs.push(numbers.next);
            for output in output_slots(&flat.kinds[flat.cells[group[0] as usize].kind as usize]) {
                for &cell in *group {
                    let pin = output.map(|pin| flat.cells[cell as usize].first_pin as usize + pin);
                    let number = numbers.give(pin.map_or(OPEN, |pin| flat.pins[pin]));
                    if let Some(pin) = pin {
                        // Also where nothing is connected: the output toggles all the same.
                        numbers.of_pins[pin] = number;
                    }
                }
            }
        }
        for (pin, &net) in numbers.of_pins.iter_mut().zip(&flat.pins) {
            if *pin == OPEN && net != OPEN {
                *pin = numbers.of_nets[net as usize];
            }
        }
        numbers
    }

    /// The next number, for a net that may have one already.
    fn give(&mut self, net: Net) -> Net {
        if net != OPEN && self.of_nets[net as usize] == OPEN {
            self.of_nets[net as usize] = self.next;
        }
        self.next += 1;
        self.next - 1
    }
}

/// Equal cells with the nets that their program reads.
fn equal_cells(netlist: &Netlist, cells: &[CellInstance], first_output: Net) -> EqualCells {
    let kind = cells[0].kind;
    let description = &netlist.kinds[kind as usize];
    let program = description.next.as_ref().unwrap_or(&description.outputs);
    let mut sources = Vec::with_capacity(program.inputs.len() * cells.len());
    for input in &program.inputs {
        sources.extend(cells.iter().zip(first_output..).map(|(cell, state)| match input {
            ProgramInput::Pin(pin) => netlist.pins(cell)[*pin],
            ProgramInput::State | ProgramInput::InverseState => state,
        }));
    }
    EqualCells { kind, cells: cells.len(), sources, first_output }
}

/// Output pins in the order of their nets; in a flip-flop first the state, which is the first output that
/// shows it as it is, or no pin at all.
pub(super) fn output_slots(kind: &CellKind) -> Vec<Option<usize>> {
    let outputs: Vec<usize> = kind
        .cell
        .pins
        .iter()
        .enumerate()
        .filter(|(_, pin)| pin.direction == Direction::Output)
        .map(|(index, _)| index)
        .collect();
    if kind.next.is_none() {
        return outputs.into_iter().map(Some).collect();
    }
    let state = (0..outputs.len()).find(|&index| kind.outputs.is_state(index));
    let others = (0..outputs.len()).filter(|&index| Some(index) != state);
    std::iter::once(state.map(|index| outputs[index])).chain(others.map(|i| Some(outputs[i]))).collect()
}

fn place(flat: &FlatNetlist, cell: usize) -> String {
    let cell = &flat.cells[cell];
    let names = path(&flat.instances, cell.instance as usize).join(".");
    let kind = &flat.kinds[cell.kind as usize].cell.name;
    match names.is_empty() {
        true => format!("a {kind} of the top module"),
        false => format!("a {kind} in {names}"),
    }
}

/// Pins of a cell with their nets.
fn pins(flat: &FlatNetlist, cell: usize) -> impl Iterator<Item = (Direction, Net)> {
    let pins = &flat.kinds[flat.cells[cell].kind as usize].cell.pins;
    let nets = &flat.pins[flat.cells[cell].first_pin as usize..];
    pins.iter().zip(nets).map(|(pin, &net)| (pin.direction, net)).filter(|&(_, net)| net != OPEN)
}

/// Cell that drives each net; checks that every net that is read has exactly one driver.
fn drivers(flat: &FlatNetlist) -> Result<Vec<u32>, NetlistError> {
    let mut drivers = vec![UNDRIVEN; flat.nets];
    let mut driven = vec![false; flat.nets];
    driven[..CONSTANT_NETS as usize].fill(true);
    for port in flat.ports.iter().filter(|port| port.is_input) {
        for &net in &port.nets {
            if std::mem::replace(&mut driven[net as usize], true) {
                return Err(NetlistError::structure(&port.name, "the input port is driven from inside"));
            }
        }
    }
    for cell in 0..flat.cells.len() {
        for (_, net) in pins(flat, cell).filter(|(direction, _)| *direction == Direction::Output) {
            if std::mem::replace(&mut driven[net as usize], true) {
                return Err(NetlistError::structure(place(flat, cell), "its net has a second driver"));
            }
            drivers[net as usize] = cell as u32;
        }
    }
    for cell in 0..flat.cells.len() {
        if pins(flat, cell).any(|(direction, net)| direction == Direction::Input && !driven[net as usize]) {
            return Err(NetlistError::structure(place(flat, cell), "an input's net has no driver"));
        }
    }
    for port in flat.ports.iter().filter(|port| !port.is_input) {
        if port.nets.iter().any(|&net| !driven[net as usize]) {
            return Err(NetlistError::structure(&port.name, "a bit of the output port has no driver"));
        }
    }
    Ok(drivers)
}

/// Gives clock-gated flip-flops separate kinds. Returns whether there are any.
fn give_own_kinds(flat: &mut FlatNetlist, gated: &[u32]) -> Result<bool, NetlistError> {
    let mut kinds: HashMap<u32, u32> = HashMap::new();
    for &cell in gated {
        let plain = flat.cells[cell as usize].kind;
        let own = match kinds.entry(plain) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let kind = cell_kind(&flat.kinds[plain as usize].cell, true)
                    .map_err(|problem| NetlistError::structure(place(flat, cell as usize), problem))?;
                flat.kinds.push(kind);
                *new.insert((flat.kinds.len() - 1) as u32)
            }
        };
        flat.cells[cell as usize].kind = own;
    }
    Ok(!gated.is_empty())
}

/// The net on which all flip-flops are clocked, and the clock-gated ones among them; checks the simulation's assumptions.
fn clock(
    flat: &FlatNetlist,
    drivers: &[u32],
    known: &[Option<bool>],
) -> Result<(Option<Net>, Vec<u32>), NetlistError> {
    let mut clock = None;
    let mut gated = Vec::new();
    for (index, cell) in flat.cells.iter().enumerate() {
        let kind = &flat.kinds[cell.kind as usize].cell;
        let Some(ff) = kind.flip_flop() else { continue };
        let error = |problem: &str| Err(NetlistError::structure(place(flat, index), problem));
        let net_of = |cell: &CellInstance, kind: &Cell, name: &str| {
            let pin = kind.pins.iter().position(|pin| pin.name == name)?;
            Some(flat.pins[cell.first_pin as usize + pin])
        };
        let net = |name: &str| net_of(cell, kind, name);
        let nets = &flat.pins[cell.first_pin as usize..][..kind.pins.len()];
        for asynchronous in [&ff.clear, &ff.preset].into_iter().flatten() {
            if constants::value(asynchronous, kind, nets, known) != Some(false) {
                return error("its asynchronous set or reset is in use, which is not simulated");
            }
        }
        let Expression::Pin(pin) = &ff.clocked_on else {
            return error("it is not clocked on the rising edge of a pin");
        };
        let mut net = net(pin);
        let driver = net.and_then(|net| flat.cells.get(drivers[net as usize] as usize));
        let gate = driver.map(|driver| (driver, &flat.kinds[driver.kind as usize].cell));
        if let Some((driver, kind)) = gate
            && let Some(pins) = kind.clock_gate()
        {
            gated.push(index as u32);
            net = net_of(driver, kind, &pins.clock);
        }
        if clock.is_some() && clock != net {
            return error("it is clocked on another net than the others");
        }
        clock = net;
    }
    let is_input = |net| flat.ports.iter().any(|port| port.is_input && port.nets.contains(&net));
    match clock {
        Some(net) if !is_input(net) => {
            Err(NetlistError::structure("the clock", "is not an input port of the top module"))
        }
        _ => Ok((clock, gated)),
    }
}

/// Level of each cell: 0 for flip-flops, else one more than the deepest cell that it reads, at least 1.
fn levels(flat: &FlatNetlist, drivers: &[u32]) -> Result<Vec<u32>, NetlistError> {
    let count = flat.cells.len();
    let sequential: Vec<bool> =
        flat.cells.iter().map(|cell| flat.kinds[cell.kind as usize].next.is_some()).collect();
    let edges = |cell: usize| {
        pins(flat, cell)
            .filter(|(direction, _)| *direction == Direction::Input)
            .map(|(_, net)| drivers[net as usize])
            .filter(|&driver| driver != UNDRIVEN && !sequential[driver as usize])
    };
    // Readers of each cell, in one array.
    let mut start = vec![0u32; count + 1];
    let mut waiting = vec![0u32; count];
    for cell in (0..count).filter(|&cell| !sequential[cell]) {
        for driver in edges(cell) {
            start[driver as usize + 1] += 1;
            waiting[cell] += 1;
        }
    }
    for index in 0..count {
        start[index + 1] += start[index];
    }
    let mut fill = start.clone();
    let mut readers = vec![0u32; start[count] as usize];
    for cell in (0..count).filter(|&cell| !sequential[cell]) {
        for driver in edges(cell) {
            readers[fill[driver as usize] as usize] = cell as u32;
            fill[driver as usize] += 1;
        }
    }
    let mut levels = vec![0u32; count];
    let mut ready: Vec<usize> = (0..count).filter(|&cell| !sequential[cell] && waiting[cell] == 0).collect();
    ready.iter().for_each(|&cell| levels[cell] = 1);
    while let Some(cell) = ready.pop() {
        for &reader in &readers[start[cell] as usize..start[cell + 1] as usize] {
            let reader = reader as usize;
            levels[reader] = levels[reader].max(levels[cell] + 1);
            waiting[reader] -= 1;
            if waiting[reader] == 0 {
                ready.push(reader);
            }
        }
    }
    match (0..count).find(|&cell| waiting[cell] > 0) {
        Some(cell) => Err(NetlistError::structure(place(flat, cell), "is part of a combinational loop")),
        None => Ok(levels),
    }
}

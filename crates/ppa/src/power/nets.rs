//! Loads and transition times of nets.

use crate::liberty::{Direction, Edge, LibertyTable, Library, Sense, TimingArc};
use crate::netlist::{CellKind, Netlist, OPEN};

/// Loads and transition times of all nets.
pub(super) struct NetLoads {
    /// Pins on each net, and its wires where the library has a wire load model by default, F.
    pub load: Vec<f64>,
    /// Mean transition time of each net, s: over its edges and arcs.
    pub transition: Vec<f64>,
    /// The longest transition time of each net, s: rising and falling, as timing tools take it for delays.
    pub slowest: Vec<[f64; 2]>,
}

/// Index of a rising and of a falling edge.
pub(super) const RISE: usize = 0;
/// As [`RISE`].
pub(super) const FALL: usize = 1;

impl NetLoads {
    /// Loads, and transition times from the library's tables along the order of evaluation. Inputs and the
    /// clock have the fastest edge that the library knows.
    pub(super) fn new(netlist: &Netlist, library: &Library) -> Self {
        let mut load = vec![0.0; netlist.nets];
        let mut fanout = vec![0usize; netlist.nets];
        for cell in &netlist.cells {
            let pins = &netlist.kinds[cell.kind as usize].cell.pins;
            for (pin, &net) in pins.iter().zip(netlist.pins(cell)) {
                if pin.direction == Direction::Input && net != OPEN {
                    load[net as usize] += pin.capacitance;
                    fanout[net as usize] += 1;
                }
            }
        }
        if let Some(model) = &library.default_wire_load {
            for (load, &pins) in load.iter_mut().zip(&fanout).filter(|(_, pins)| **pins > 0) {
                *load += model.at(pins);
            }
        }
        let pins = netlist.kinds.iter().flat_map(|kind| &kind.cell.pins);
        let edges = pins.flat_map(|pin| &pin.arcs).flat_map(|arc| [&arc.rise, &arc.fall]);
        let tables = edges.filter_map(|edge| edge.transition.as_ref());
        let fastest =
            tables.map(LibertyTable::first_transition).filter(|&t| t > 0.0).fold(f64::MAX, f64::min);
        let fastest = if fastest == f64::MAX { 0.0 } else { fastest };
        let mut nets = NetLoads {
            load,
            transition: vec![fastest; netlist.nets],
            slowest: vec![[fastest; 2]; netlist.nets],
        };
        let arcs: Vec<Vec<PinArcs>> = netlist.kinds.iter().map(pin_arcs).collect();
        for cell in &netlist.cells {
            let pins = netlist.pins(cell);
            for output in &arcs[cell.kind as usize] {
                if pins[output.pin] != OPEN {
                    nets.propagate(output, pins);
                }
            }
        }
        nets
    }

    /// Computes an output's transition times from its inputs'.
    fn propagate(&mut self, output: &PinArcs, pins: &[u32]) {
        let net = pins[output.pin] as usize;
        let load = self.load[net];
        let (mut sum, mut count) = (0.0, 0);
        let mut slowest = [0.0f64; 2];
        for (arc, causes) in &output.arcs {
            for (index, &cause) in causes.iter().enumerate() {
                let Some(&incoming) = self.slowest.get(pins[cause] as usize) else { continue };
                for (edge, slowest) in slowest.iter_mut().enumerate() {
                    let Some(table) = &of_edge(arc, edge).transition else { continue };
                    *slowest = slowest.max(table.at(slew(arc.sense, incoming, edge), load));
                    // An arc from several pins counts once in the mean, by its first pin.
                    if index == 0 {
                        sum += table.at(self.transition[pins[cause] as usize], load);
                        count += 1;
                    }
                }
            }
        }
        if count > 0 {
            self.transition[net] = sum / f64::from(count);
            // An arc of one edge alone leaves the other as it is.
            for (known, slowest) in self.slowest[net].iter_mut().zip(slowest) {
                if slowest > 0.0 {
                    *known = slowest;
                }
            }
        }
    }
}

/// Tables of an output's edge.
pub(super) fn of_edge(arc: &TimingArc, edge: usize) -> &Edge {
    match edge {
        RISE => &arc.rise,
        _ => &arc.fall,
    }
}

/// Transition time of the input's edge that causes an edge of the output: the slower one where either does.
pub(super) fn slew(sense: Sense, incoming: [f64; 2], edge: usize) -> f64 {
    match sense {
        Sense::Positive => incoming[edge],
        Sense::Negative => incoming[1 - edge],
        Sense::Both => incoming[RISE].max(incoming[FALL]),
    }
}

/// Arcs of an output pin, with the positions of the pins from which they start.
pub(super) struct PinArcs<'a> {
    pub pin: usize,
    pub arcs: Vec<(&'a TimingArc, Vec<usize>)>,
}

/// The arcs of every output of a kind; in a flip-flop only the arcs from its clock.
pub(super) fn pin_arcs(kind: &CellKind) -> Vec<PinArcs<'_>> {
    let pins = &kind.cell.pins;
    let clocks = kind.cell.flip_flop().map(|ff| ff.clocked_on.pins());
    let causes = |arc: &TimingArc| -> Vec<usize> {
        let position = |name: &String| pins.iter().position(|pin| pin.name == *name);
        let counts =
            |&pin: &usize| clocks.as_ref().is_none_or(|clocks| clocks.contains(pins[pin].name.as_str()));
        arc.related_pins.iter().filter_map(position).filter(counts).collect()
    };
    let outputs = pins.iter().enumerate().filter(|(_, pin)| pin.direction == Direction::Output);
    outputs
        .map(|(index, pin)| PinArcs {
            pin: index,
            arcs: pin.arcs.iter().map(|arc| (arc, causes(arc))).collect(),
        })
        .collect()
}

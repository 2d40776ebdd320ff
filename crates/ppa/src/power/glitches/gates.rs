//! A netlist as gates with truth tables and delays, ready for a simulation of events.

use super::super::nets::{FALL, NetLoads, PinArcs, RISE, of_edge, pin_arcs, slew};
use crate::liberty::{Cell, Direction, Expression, INPUT_COLUMNS, Library, Sense, TimingArc};
use crate::netlist::{CellKind, Net, Netlist, NetlistError};

/// Seconds in a unit of time of the simulation: a picosecond.
const TICK: f64 = 1e-12;
/// Most inputs of a cell: its truth table has a kilobyte.
const MOST_INPUTS: usize = 13;
/// A pin whose delay does not depend on the other pins.
pub(super) const ALWAYS: u32 = u32::MAX;

/// Delays of an output after an edge of an input, ps, by `2 * input edge + output edge`.
pub(super) type Delays = [u32; 4];

/// Position in [`Delays`]: the new values of input and output.
pub(super) fn edges(input: bool, output: bool) -> usize {
    let edge = |value| if value { RISE } else { FALL };
    2 * edge(input) + edge(output)
}

/// One output pin of a cell, an output of a flip-flop, or an input port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    /// The net that it drives.
    pub output: Net,
    /// First word of its truth table; of a source, the position of its delays.
    pub table: u32,
}

/// A gate's input on a net.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub gate: u32,
    /// Which bit of the gate's row it is.
    pub bit: u8,
    /// First of its delays.
    pub delays: u32,
    /// Position of the choice among its delays, by row; or [`ALWAYS`].
    pub choice: u32,
}

/// The gates of a netlist. First logic, then the sources: flip-flops and input ports but for the clock.
#[derive(Clone, Debug)]
pub(super) struct Gates {
    pub gates: Vec<Gate>,
    /// Where the sources begin.
    pub sources: usize,
    /// Truth tables, a bit a row.
    pub tables: Vec<u64>,
    pub delays: Vec<Delays>,
    /// Which of a pin's delays holds, by row.
    pub choices: Vec<u8>,
    /// Readers of a net: `loads[first_load[net]..first_load[net + 1]]`.
    pub loads: Vec<Load>,
    pub first_load: Vec<u32>,
    /// Longest delay, ps.
    pub longest: u32,
    /// When input ports change, ps after the clock's edge: with the median flip-flop.
    pub input_delay: u32,
}

/// Data shared by all cells of a kind.
struct GateKind<'a> {
    inputs: Vec<usize>,
    outputs: Vec<OutputPin<'a>>,
}

/// An output pin of a kind.
struct OutputPin<'a> {
    arcs: PinArcs<'a>,
    table: u32,
    /// For each input, its arcs by the state of the other pins, and the choice among them.
    pins: Vec<(Vec<Vec<&'a TimingArc>>, u32)>,
}

impl Gates {
    /// Gates with delays from the library's tables at the loads and transition times of the netlist.
    ///
    /// # Errors
    /// A cell with too many inputs.
    pub(super) fn new(netlist: &Netlist, library: &Library) -> Result<Self, NetlistError> {
        let nets = NetLoads::new(netlist, library);
        let mut all = Gates {
            gates: Vec::new(),
            sources: 0,
            tables: Vec::new(),
            delays: Vec::new(),
            choices: Vec::new(),
            loads: Vec::new(),
            first_load: vec![0; netlist.nets + 1],
            longest: 1,
            input_delay: 1,
        };
        let kinds: Vec<GateKind> =
            netlist.kinds.iter().map(|kind| all.kind(kind)).collect::<Result<_, NetlistError>>()?;
        let mut loads: Vec<(Net, Load)> = Vec::new();
        for cell in &netlist.cells {
            let kind = &kinds[cell.kind as usize];
            if netlist.kinds[cell.kind as usize].cell.flip_flop().is_some() {
                continue;
            }
            let pins = netlist.pins(cell);
            for output in &kind.outputs {
                let gate = all.gates.len() as u32;
                let net = pins[output.arcs.pin];
                all.gates.push(Gate { output: net, table: output.table });
                for (bit, (&input, (variants, choice))) in kind.inputs.iter().zip(&output.pins).enumerate() {
                    let delays = all.delays.len() as u32;
                    let incoming = nets.slowest[pins[input] as usize];
                    let load = nets.load[net as usize];
                    all.delays.extend(variants.iter().map(|arcs| delays_of(arcs, incoming, load)));
                    loads.push((pins[input], Load { gate, bit: bit as u8, delays, choice: *choice }));
                }
            }
        }
        all.sources = all.gates.len();
        all.add_sources(netlist, &kinds, &nets);
        all.longest = all.delays.iter().flatten().copied().max().unwrap_or(1);
        loads.sort_by_key(|(net, _)| *net);
        for (net, _) in &loads {
            all.first_load[*net as usize + 1] += 1;
        }
        for net in 0..netlist.nets {
            all.first_load[net + 1] += all.first_load[net];
        }
        all.loads = loads.into_iter().map(|(_, load)| load).collect();
        Ok(all)
    }

    /// Outputs of flip-flops with their delay from the clock, and input ports.
    fn add_sources(&mut self, netlist: &Netlist, kinds: &[GateKind], nets: &NetLoads) {
        let first = self.delays.len();
        for cell in &netlist.cells {
            let kind = &kinds[cell.kind as usize];
            if netlist.kinds[cell.kind as usize].cell.flip_flop().is_none() {
                continue;
            }
            let pins = netlist.pins(cell);
            for output in &kind.outputs {
                let net = pins[output.arcs.pin];
                let arcs: Vec<&TimingArc> = output
                    .arcs
                    .arcs
                    .iter()
                    .filter(|(_, from)| !from.is_empty())
                    .map(|(arc, _)| *arc)
                    .collect();
                let clock = netlist.clock.map_or([0.0; 2], |clock| nets.slowest[clock as usize]);
                self.gates.push(Gate { output: net, table: self.delays.len() as u32 });
                self.delays.push(delays_of(&arcs, clock, nets.load[net as usize]));
            }
        }
        let mut rising: Vec<u32> =
            self.delays[first..].iter().map(|delays| delays[edges(true, true)]).collect();
        rising.sort_unstable();
        self.input_delay = rising.get(rising.len() / 2).copied().unwrap_or(1);
        let input = self.delays.len() as u32;
        self.delays.push([self.input_delay; 4]);
        for port in netlist.ports.iter().filter(|port| port.is_input) {
            for &net in port.nets.iter().filter(|net| Some(**net) != netlist.clock) {
                self.gates.push(Gate { output: net, table: input });
            }
        }
    }

    /// Truth tables and arcs of a kind of cells.
    fn kind<'a>(&mut self, kind: &'a CellKind) -> Result<GateKind<'a>, NetlistError> {
        let cell = &kind.cell;
        let is_input = |index: &usize| cell.pins[*index].direction == Direction::Input;
        let inputs: Vec<usize> = (0..cell.pins.len()).filter(is_input).collect();
        let sequential = cell.flip_flop().is_some();
        if !sequential && inputs.len() > MOST_INPUTS {
            let problem =
                format!("has {} inputs; with delays at most {MOST_INPUTS} are simulated", inputs.len());
            return Err(NetlistError::structure(&cell.name, problem));
        }
        let mut outputs = Vec::new();
        for arcs in pin_arcs(kind) {
            let table = self.tables.len() as u32;
            let mut pins = Vec::new();
            if let (false, Some(function)) = (sequential, &cell.pins[arcs.pin].function) {
                self.tables.extend(truth_table(function, cell, &inputs));
                for &input in &inputs {
                    let of_input: Vec<&TimingArc> = arcs
                        .arcs
                        .iter()
                        .filter(|(_, causes)| causes.contains(&input))
                        .map(|(arc, _)| *arc)
                        .collect();
                    pins.push(self.variants(&of_input, cell, &inputs));
                }
            }
            outputs.push(OutputPin { arcs, table, pins });
        }
        Ok(GateKind { inputs, outputs })
    }

    /// Sorts the arcs from one pin by their conditions, and selects arcs for each row: the first whose condition holds,
    /// else arcs without a condition, else the first.
    fn variants<'a>(
        &mut self,
        arcs: &[&'a TimingArc],
        cell: &Cell,
        inputs: &[usize],
    ) -> (Vec<Vec<&'a TimingArc>>, u32) {
        let mut variants: Vec<(Option<&Expression>, Vec<&'a TimingArc>)> = Vec::new();
        for arc in arcs {
            match variants.iter_mut().find(|(when, _)| *when == arc.when.as_ref()) {
                Some((_, same)) => same.push(arc),
                None => variants.push((arc.when.as_ref(), vec![arc])),
            }
        }
        if variants.len() < 2 {
            let arcs = variants.pop().map_or(Vec::new(), |(_, arcs)| arcs);
            return (vec![arcs], ALWAYS);
        }
        let first = self.choices.len() as u32;
        let tables: Vec<Option<Vec<u64>>> =
            variants.iter().map(|(when, _)| when.map(|when| truth_table(when, cell, inputs))).collect();
        let plain = tables.iter().position(Option::is_none).unwrap_or(0);
        for row in 0..1usize << inputs.len() {
            let holds = |table: &Option<Vec<u64>>| table.as_ref().is_some_and(|table| bit(table, row));
            self.choices.push(tables.iter().position(holds).unwrap_or(plain) as u8);
        }
        (variants.into_iter().map(|(_, arcs)| arcs).collect(), first)
    }
}

/// Row `row` of a truth table.
pub(super) fn bit(table: &[u64], row: usize) -> bool {
    table[row / 64] >> (row % 64) & 1 == 1
}

/// The truth table of a function of a cell's inputs: bit j of a row is input j. Other variables count as 0.
fn truth_table(function: &Expression, cell: &Cell, inputs: &[usize]) -> Vec<u64> {
    let words = (1usize << inputs.len()).div_ceil(64);
    let word = |word: usize| {
        let column = |name: &str| {
            let position = inputs.iter().position(|&input| cell.pins[input].name == name);
            Some(match position {
                Some(low) if low < INPUT_COLUMNS.len() => INPUT_COLUMNS[low],
                Some(high) if word >> (high - INPUT_COLUMNS.len()) & 1 == 1 => u64::MAX,
                _ => 0,
            })
        };
        function.evaluate(&column).unwrap_or(0)
    };
    (0..words).map(word).collect()
}

/// Delays by the slowest of some arcs, from an input with the given transition times to an output with the given load.
/// Where no arc leads from one edge to another, the slowest to that edge holds. At least one unit of time, so that
/// all simultaneous inputs precede the output.
fn delays_of(arcs: &[&TimingArc], incoming: [f64; 2], load: f64) -> Delays {
    let mut known = [None::<f64>; 4];
    for arc in arcs {
        for input in [RISE, FALL] {
            for output in [RISE, FALL] {
                let leads = match arc.sense {
                    Sense::Positive => input == output,
                    Sense::Negative => input != output,
                    Sense::Both => true,
                };
                let Some(table) = of_edge(arc, output).delay.as_ref().filter(|_| leads) else { continue };
                let transition = match arc.sense {
                    Sense::Both => incoming[input],
                    sense => slew(sense, incoming, output),
                };
                let delay = table.at(transition, load);
                let slot = &mut known[2 * input + output];
                *slot = Some(slot.map_or(delay, |known| known.max(delay)));
            }
        }
    }
    std::array::from_fn(|slot| {
        let other = known[slot ^ 2];
        let any = known.iter().flatten().copied().fold(0.0, f64::max);
        (known[slot].or(other).unwrap_or(any) / TICK).round().max(1.0) as u32
    })
}

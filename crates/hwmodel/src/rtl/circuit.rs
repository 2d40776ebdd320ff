//! A module that has been built, and how it runs.
//!
//! A cycle is two calls: [`Circuit::settle`] while the clock is low, [`Circuit::clock`] at its rising edge.
//!
//! ```text
//!  clock    registers capture; what they captured does not show yet, so that none can race another
//!  settle   they show it, all of them before any logic runs; then each part whose inputs moved computes, sources first
//! ```
//!
//! Only what moves costs anything: a value that changes marks its readers, and a register whose inputs stay is not looked at.
//! RustHDL's own calls (`update_all`, `has_changed`) do the same by the level of the clock port.

use super::leaf::Leaf;
use super::{Tag, Watched};

/// A port of a circuit.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) name: String,
    /// A vector, whose elements are numbered; a vector may have one element.
    pub(super) vector: bool,
    pub(super) output: bool,
    pub(super) width: u32,
    /// Where its elements' values are.
    pub(super) slots: Vec<u32>,
    /// The elements as probes number them.
    pub(super) atoms: Vec<u32>,
}

/// A part of a circuit.
pub(super) struct Node {
    pub(super) name: String,
    /// Element of a vector of parts.
    pub(super) index: Option<usize>,
    pub(super) kind: Kind,
    /// Where the input words are, in the order of the ports; without clocks.
    pub(super) inputs: Vec<u32>,
    /// Where the output words go.
    pub(super) outputs: Vec<u32>,
    /// Of a register: its width.
    pub(super) width: u32,
    /// The gate before its clock, if there is one.
    pub(super) gate: Option<u32>,
    /// Its pins as probes number them, in the order in which they are visited; of a circuit its own ports have them.
    pub(super) atoms: Vec<u32>,
}

pub(super) enum Kind {
    Leaf {
        leaf: Box<dyn Leaf>,
        rest: Option<Rest>,
    },
    Register(Register),
    /// Lets the clock of others through while its input is high.
    Gate,
    Part(Box<Circuit>),
}

/// What a leaf that can be [at rest](Leaf::at_rest) has seen last.
pub(super) struct Rest {
    pub(super) gate: usize,
    pub(super) ignored: usize,
    pub(super) seen: Vec<u64>,
}

/// `q <= d`, with an enable or a reset. Inputs: the control, then d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    Plain,
    Enabled,
    Reset(u64),
}

/// Who reads a value: a node, and which of its inputs.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    pub(super) node: u32,
    pub(super) pin: u32,
}

/// A module: ports, parts and what connects them.
pub struct Circuit {
    pub(super) tag: Tag,
    pub(super) ports: Vec<Port>,
    pub(super) nodes: Vec<Node>,
    /// Names of clock and reset ports.
    pub(super) clock: Option<usize>,
    /// Places of the input words, clocks left out, in the order of the ports; and of the output words.
    pub(super) input_slots: Vec<u32>,
    pub(super) output_slots: Vec<u32>,
    pub(super) watches: Vec<Watched>,
    pub(super) widths: Vec<u32>,
    values: Vec<u64>,
    /// Readers of slot s are `readers[starts[s] .. starts[s + 1]]`.
    starts: Vec<u32>,
    readers: Vec<Reader>,
    is_output: Vec<bool>,
    /// Outputs that depend on an input in the same cycle.
    follows: Vec<bool>,
    /// Nodes that compute, sources first, and each node's place among them.
    order: Vec<u32>,
    rank: Vec<u32>,
    /// Places that have something to do, a bit each.
    dirty: Vec<u64>,
    /// Registers with an input that moved since they last captured, and whether a register is among them.
    armed: Vec<u32>,
    is_armed: Vec<bool>,
    /// Parts that have registers somewhere inside.
    clocked: Vec<u32>,
    captured: Vec<(u32, u64)>,
    /// Parts that hold something captured.
    holding: Vec<u32>,
    /// An output moved since the parent last looked.
    moved: bool,
    clock_was_high: bool,
    inputs_scratch: Vec<u64>,
    outputs_scratch: Vec<u64>,
}

/// What the builder hands over.
pub(super) struct Plan {
    pub(super) tag: Tag,
    pub(super) ports: Vec<Port>,
    pub(super) nodes: Vec<Node>,
    pub(super) clock: Option<usize>,
    pub(super) widths: Vec<u32>,
    pub(super) watches: Vec<Watched>,
}

/// A port of a circuit, for those who drive and read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRef(usize);

const NO_RANK: u32 = u32::MAX;

impl Circuit {
    pub(super) fn new(plan: Plan) -> Circuit {
        let Plan { tag, ports, nodes, clock, widths, watches } = plan;
        let of = |output: bool| {
            let clock = clock.map(|port| ports[port].name.clone());
            let ports = ports.iter().filter(move |p| p.output == output && Some(&p.name) != clock.as_ref());
            ports.flat_map(|p| p.slots.iter().copied()).collect::<Vec<u32>>()
        };
        let (input_slots, output_slots) = (of(false), of(true));
        let mut lists: Vec<Vec<Reader>> = vec![Vec::new(); widths.len()];
        for (node, n) in nodes.iter().enumerate() {
            for (pin, &slot) in n.inputs.iter().enumerate() {
                lists[slot as usize].push(Reader { node: node as u32, pin: pin as u32 });
            }
        }
        let mut starts = vec![0];
        let mut readers = Vec::new();
        for list in lists {
            readers.extend(list);
            starts.push(readers.len() as u32);
        }
        let mut is_output = vec![false; widths.len()];
        output_slots.iter().for_each(|&slot| is_output[slot as usize] = true);
        let order = super::order::evaluation_order(&nodes, &starts, &readers);
        let follows = follows(&nodes, &order, widths.len(), &input_slots);
        let follows = output_slots.iter().map(|&slot| follows[slot as usize]).collect();
        let mut rank = vec![NO_RANK; nodes.len()];
        order.iter().enumerate().for_each(|(place, &node)| rank[node as usize] = place as u32);
        let clocked = (0..nodes.len() as u32)
            .filter(|&n| matches!(&nodes[n as usize].kind, Kind::Part(part) if part.has_registers()))
            .collect();
        let mut dirty = vec![0; order.len().div_ceil(64)];
        (0..order.len()).for_each(|place| dirty[place / 64] |= 1 << (place % 64));
        // A register shows zero until it captures; with a zero before it, it has nothing to capture.
        let is_register = |n: &u32| matches!(nodes[*n as usize].kind, Kind::Register(_));
        let armed: Vec<u32> = (0..nodes.len() as u32).filter(is_register).collect();
        let mut is_armed = vec![false; nodes.len()];
        armed.iter().for_each(|&n| is_armed[n as usize] = true);
        Circuit {
            values: vec![0; widths.len()],
            tag,
            ports,
            nodes,
            clock,
            input_slots,
            output_slots,
            watches,
            widths,
            starts,
            readers,
            is_output,
            follows,
            order,
            rank,
            dirty,
            armed,
            is_armed,
            clocked,
            captured: Vec::new(),
            holding: Vec::new(),
            moved: true,
            clock_was_high: false,
            inputs_scratch: Vec::new(),
            outputs_scratch: Vec::new(),
        }
    }

    pub(super) fn has_registers(&self) -> bool {
        !self.clocked.is_empty() || self.nodes.iter().any(|n| matches!(n.kind, Kind::Register(_)))
    }

    /// The outputs as probes number them.
    pub(super) fn output_atoms(&self) -> impl Iterator<Item = u32> + '_ {
        self.ports.iter().filter(|port| port.output).flat_map(|port| port.atoms.iter().copied())
    }

    /// Whether an output, by its place, depends on an input in the same cycle.
    pub(super) fn follows_inputs(&self, output: usize) -> bool {
        self.follows[output]
    }

    /// Name of the module.
    pub fn name(&self) -> &str {
        &self.tag.name
    }

    /// The port of a name, if there is one.
    pub fn port(&self, name: &str) -> Option<PortRef> {
        self.ports.iter().position(|port| port.name == name).map(PortRef)
    }

    /// All ports by name.
    pub(super) fn named_ports(&self) -> impl Iterator<Item = (String, PortRef)> + '_ {
        self.ports.iter().enumerate().map(|(i, port)| (port.name.clone(), PortRef(i)))
    }

    /// Width of a port's words.
    pub fn width(&self, port: PortRef) -> u32 {
        self.ports[port.0].width
    }

    /// How many words a port has.
    pub fn elements(&self, port: PortRef) -> usize {
        self.ports[port.0].slots.len()
    }

    /// Drives a word of an input.
    #[inline]
    pub fn set(&mut self, port: PortRef, element: usize, value: u64) {
        let port = &self.ports[port.0];
        debug_assert!(!port.output && value >> (port.width - 1) >> 1 == 0, "{} = {value:#x}", port.name);
        self.assign(port.slots[element], value);
    }

    /// Reads a word of a port.
    #[inline]
    pub fn get(&self, port: PortRef, element: usize) -> u64 {
        self.values[self.ports[port.0].slots[element] as usize]
    }

    /// Drives the words of an input.
    pub fn set_words(&mut self, port: PortRef, words: &[u64]) {
        words.iter().enumerate().for_each(|(i, &word)| self.set(port, i, word));
    }

    /// The words of a port.
    pub fn words(&self, port: PortRef) -> impl Iterator<Item = u64> + '_ {
        self.ports[port.0].slots.iter().map(|&slot| self.values[slot as usize])
    }

    /// The value at a slot, where the circuit itself knows it.
    pub(super) fn value(&self, slot: u32) -> u64 {
        self.values[slot as usize]
    }

    /// The clock is low: registers show what they captured, and all logic settles.
    ///
    /// # Panics
    /// If the logic is a loop that does not settle, which RustHDL's check and the emitted Verilog's lints find, too.
    pub fn settle(&mut self) {
        self.show_clock(false);
        self.release();
        self.compute();
    }

    /// The clock rises: every register captures what its inputs have settled to.
    pub fn clock(&mut self) {
        self.show_clock(true);
        self.capture();
    }

    /// For probes: the level of the clock port.
    fn show_clock(&mut self, high: bool) {
        self.clock_was_high = high;
        if let Some(port) = self.clock {
            self.values[self.ports[port].slots[0] as usize] = high.into();
        }
    }

    #[inline]
    fn assign(&mut self, slot: u32, value: u64) {
        let slot = slot as usize;
        if self.values[slot] == value {
            return;
        }
        self.values[slot] = value;
        self.moved |= self.is_output[slot];
        for i in self.starts[slot]..self.starts[slot + 1] {
            let Reader { node, pin } = self.readers[i as usize];
            let n = node as usize;
            if let Kind::Part(part) = &mut self.nodes[n].kind {
                let inside = part.input_slots[pin as usize];
                part.assign(inside, value);
            }
            match self.rank[n] {
                NO_RANK => self.arm(node),
                place => self.dirty[place as usize / 64] |= 1 << (place % 64),
            }
        }
    }

    fn arm(&mut self, node: u32) {
        if !std::mem::replace(&mut self.is_armed[node as usize], true) {
            self.armed.push(node);
        }
    }

    /// Computes all that has something to do, sources first.
    fn compute(&mut self) {
        let mut steps = 0;
        let mut word = 0;
        while word < self.dirty.len() {
            if self.dirty[word] == 0 {
                word += 1;
                continue;
            }
            let place = word * 64 + self.dirty[word].trailing_zeros() as usize;
            self.dirty[word] &= self.dirty[word] - 1;
            steps += 1;
            assert!(steps <= 1000 * (self.order.len() + 1), "{}: a loop without a register", self.tag.name);
            let before = place;
            self.step(self.order[place] as usize);
            // Where parts feed each other, one before this one may have something to do again.
            if self.dirty[..=before / 64].iter().any(|&bits| bits != 0) {
                word = self.dirty.iter().position(|&bits| bits != 0).unwrap_or(word);
            }
        }
    }

    fn step(&mut self, n: usize) {
        if let Kind::Part(part) = &mut self.nodes[n].kind {
            part.compute();
            self.carry(n);
            return;
        }
        let mut inputs = std::mem::take(&mut self.inputs_scratch);
        let mut outputs = std::mem::take(&mut self.outputs_scratch);
        let node = &mut self.nodes[n];
        if let Kind::Leaf { leaf, rest } = &mut node.kind {
            inputs.clear();
            inputs.extend(node.inputs.iter().map(|&slot| self.values[slot as usize]));
            if !rest
                .as_mut()
                .is_some_and(|rest| rest.stays(leaf.as_ref(), &inputs, &self.values, &node.outputs))
            {
                outputs.clear();
                outputs.resize(node.outputs.len(), 0);
                leaf.eval(&inputs, &mut outputs);
                for (i, &value) in outputs.iter().enumerate() {
                    let slot = self.nodes[n].outputs[i];
                    debug_assert!(
                        value >> (self.widths[slot as usize] - 1) >> 1 == 0,
                        "{}: {} = {value:#x}",
                        self.tag.name,
                        self.nodes[n].name
                    );
                    self.assign(slot, value);
                }
            }
        }
        self.inputs_scratch = inputs;
        self.outputs_scratch = outputs;
    }

    /// The outputs of a part, carried on.
    fn carry(&mut self, n: usize) {
        let Kind::Part(part) = &mut self.nodes[n].kind else { return };
        if !std::mem::take(&mut part.moved) {
            return;
        }
        for i in 0..self.nodes[n].outputs.len() {
            let Kind::Part(part) = &self.nodes[n].kind else { return };
            let value = part.values[part.output_slots[i] as usize];
            self.assign(self.nodes[n].outputs[i], value);
        }
    }

    /// Whether anything waits for the next sweep.
    fn capture(&mut self) -> bool {
        let mut kept = 0;
        for i in 0..self.armed.len() {
            let n = self.armed[i];
            let node = &self.nodes[n as usize];
            if node.gate.is_some_and(|gate| !self.is_open(gate)) {
                self.armed[kept] = n;
                kept += 1;
                continue;
            }
            self.is_armed[n as usize] = false;
            let Kind::Register(register) = node.kind else { continue };
            let (Some(&d), Some(&q)) = (node.inputs.last(), node.outputs.first()) else { continue };
            let [d, q] = [d, q].map(|slot| self.values[slot as usize]);
            let control = || self.values[node.inputs[0] as usize] != 0;
            let next = match register {
                Register::Plain => d,
                Register::Enabled => {
                    if control() {
                        d
                    } else {
                        q
                    }
                }
                Register::Reset(reset) => {
                    if control() {
                        reset
                    } else {
                        d
                    }
                }
            };
            if next != q {
                self.captured.push((node.outputs[0], next));
            }
        }
        self.armed.truncate(kept);
        for i in 0..self.clocked.len() {
            let n = self.clocked[i] as usize;
            let open = self.nodes[n].gate.is_none_or(|gate| self.is_open(gate));
            if let Kind::Part(part) = &mut self.nodes[n].kind
                && open
                && part.capture()
            {
                self.holding.push(n as u32);
            }
        }
        !self.captured.is_empty() || !self.holding.is_empty()
    }

    /// A gate lets the next edge through if its enable has settled high.
    fn is_open(&self, gate: u32) -> bool {
        self.values[self.nodes[gate as usize].inputs[0] as usize] != 0
    }

    /// Registers show what they captured, here and in all parts, before anything computes.
    fn release(&mut self) {
        for (slot, value) in std::mem::take(&mut self.captured) {
            self.assign(slot, value);
        }
        for n in std::mem::take(&mut self.holding) {
            if let Kind::Part(part) = &mut self.nodes[n as usize].kind {
                part.release();
            }
            self.carry(n as usize);
            let place = self.rank[n as usize];
            self.dirty[place as usize / 64] |= 1 << (place % 64);
        }
    }

    /// Something is left to do before the values are those of the inputs.
    pub(super) fn is_restless(&self) -> bool {
        !self.captured.is_empty() || !self.holding.is_empty() || self.dirty.iter().any(|&bits| bits != 0)
    }

    pub(super) fn clock_was_high(&self) -> bool {
        self.clock_was_high
    }
}

/// The slots whose values depend on an input in the same cycle.
fn follows(nodes: &[Node], order: &[u32], slots: usize, inputs: &[u32]) -> Vec<bool> {
    let mut follows = vec![false; slots];
    inputs.iter().for_each(|&slot| follows[slot as usize] = true);
    // Once more for parts that feed each other.
    for _ in 0..2 {
        for &n in order {
            let node = &nodes[n as usize];
            if node.inputs.iter().any(|&slot| follows[slot as usize]) {
                for (output, &slot) in node.outputs.iter().enumerate() {
                    follows[slot as usize] |= match &node.kind {
                        Kind::Part(part) => part.follows[output],
                        _ => true,
                    };
                }
            }
        }
    }
    follows
}

impl Rest {
    /// Whether the outputs stay because only the ignored input moved, with the gate low. With debug assertions they are computed all
    /// the same, and compared.
    fn stays(&mut self, leaf: &dyn Leaf, inputs: &[u64], values: &[u64], outputs: &[u32]) -> bool {
        let same = |i: usize| i == self.ignored || inputs[i] == self.seen[i];
        let stays = inputs[self.gate] == 0 && self.seen.len() == inputs.len() && (0..inputs.len()).all(same);
        if stays && cfg!(debug_assertions) {
            let mut now = vec![0; outputs.len()];
            leaf.eval(inputs, &mut now);
            let before = outputs.iter().map(|&slot| values[slot as usize]);
            assert!(now.iter().copied().eq(before), "{} at rest", leaf.tag().name);
        }
        self.seen.clear();
        self.seen.extend_from_slice(inputs);
        stays
    }
}

//! A design as leaves and registers between nets, and its event-driven simulation.
//!
//! A cycle is two calls: [`Flat::settle`] while the clock is low, [`Flat::capture`] at its rising edge.
//!
//! ```text
//!  capture  each register samples its input; outputs do not change yet, so that no register races another
//!  settle   all registers update their outputs; then each leaf with a changed input is evaluated, in topological order
//! ```
//!
//! Only changes cost time: a net that changes marks its readers, and a register whose inputs have not changed is not visited.

use super::design::{Instance, Register};
use super::leaf::Leaf;
use std::sync::Arc;

/// The net of the clock; it carries the clock's level.
pub(super) const CLOCK: u32 = 0;

/// A leaf between nets.
pub(super) struct FlatLeaf {
    leaf: Arc<dyn Leaf>,
    inputs: Box<[u32]>,
    outputs: Box<[u32]>,
    rest: Option<Rest>,
}

/// The last inputs of a leaf that can be [at rest](Leaf::at_rest).
struct Rest {
    gate: usize,
    ignored: usize,
    seen: Vec<u64>,
}

/// A design without hierarchy.
pub(super) struct Flat {
    nets: Nets,
    /// In topological order as far as there is one.
    leaves: Vec<FlatLeaf>,
    /// Set if two leaves feed each other through independent outputs: one of them may have to be evaluated twice.
    loops: bool,
    registers: Vec<Register>,
    captured: Vec<(u32, u64)>,
    inputs: Vec<u64>,
    outputs: Vec<u64>,
}

/// The values of all nets, and the leaves and registers whose inputs have changed.
struct Nets {
    values: Vec<u64>,
    /// The readers of net n are `readers[starts[n] .. starts[n + 1]]`: places of leaves, and of registers with [`REGISTER`] set.
    starts: Vec<u32>,
    readers: Vec<u32>,
    /// One bit for each leaf: set if it must be evaluated.
    dirty: Vec<u64>,
    /// The registers whose inputs have changed since they last captured, as a list and as flags.
    armed: Vec<u32>,
    is_armed: Vec<bool>,
}

impl Nets {
    #[inline]
    fn assign(&mut self, net: u32, value: u64) {
        let net = net as usize;
        if self.values[net] == value {
            return;
        }
        self.values[net] = value;
        for &reader in &self.readers[self.starts[net] as usize..self.starts[net + 1] as usize] {
            if reader & REGISTER == 0 {
                self.dirty[reader as usize / 64] |= 1 << (reader % 64);
            } else {
                let register = reader & !REGISTER;
                if !std::mem::replace(&mut self.is_armed[register as usize], true) {
                    self.armed.push(register);
                }
            }
        }
    }
}

/// Limit of evaluations of a leaf until leaves that feed each other settle, on average. Only a combinational loop takes more.
const EVALUATIONS: usize = 1000;

/// The bit that marks a reader as a register.
const REGISTER: u32 = 1 << 31;

impl FlatLeaf {
    pub(super) fn new(leaf: Arc<dyn Leaf>, inputs: Vec<u32>, outputs: Vec<u32>) -> FlatLeaf {
        let rest = leaf.at_rest().map(|(gate, ignored)| Rest { gate, ignored, seen: Vec::new() });
        FlatLeaf { leaf, inputs: inputs.into(), outputs: outputs.into(), rest }
    }
}

impl Flat {
    pub(super) fn new(nets: usize, leaves: Vec<FlatLeaf>, registers: Vec<Register>) -> Flat {
        let (leaves, loops) = sources_first(nets, leaves);
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); nets];
        for (place, leaf) in leaves.iter().enumerate() {
            leaf.inputs.iter().for_each(|&net| lists[net as usize].push(place as u32));
        }
        for (i, register) in registers.iter().enumerate() {
            let Register { d, enable, reset, .. } = register;
            let inputs = [Some(*d), *enable, reset.map(|(net, _)| net)];
            inputs.into_iter().flatten().for_each(|net| lists[net as usize].push(i as u32 | REGISTER));
        }
        let mut starts = vec![0];
        let mut readers = Vec::new();
        for mut list in lists {
            list.dedup();
            readers.extend(list);
            starts.push(readers.len() as u32);
        }
        let mut dirty = vec![0; leaves.len().div_ceil(64)];
        (0..leaves.len()).for_each(|place| dirty[place / 64] |= 1 << (place % 64));
        let nets = Nets {
            values: vec![0; nets],
            starts,
            readers,
            dirty,
            armed: (0..registers.len() as u32).collect(),
            is_armed: vec![true; registers.len()],
        };
        Flat { nets, leaves, loops, registers, captured: Vec::new(), inputs: Vec::new(), outputs: Vec::new() }
    }

    #[inline]
    pub(super) fn value(&self, net: u32) -> u64 {
        self.nets.values[net as usize]
    }

    #[inline]
    pub(super) fn assign(&mut self, net: u32, value: u64) {
        self.nets.assign(net, value);
    }

    /// Number of nets.
    pub(super) fn nets(&self) -> usize {
        self.nets.values.len()
    }

    /// The leaves and the registers.
    pub(super) fn parts(&self) -> (Vec<Instance>, Vec<Register>) {
        let leaves = self.leaves.iter().map(|FlatLeaf { leaf, inputs, outputs, .. }| Instance {
            leaf: leaf.clone(),
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
        });
        (leaves.collect(), self.registers.clone())
    }

    /// Registers update their outputs, then all logic settles. Returns false if a combinational loop oscillates.
    pub(super) fn settle(&mut self) -> bool {
        let Flat { nets, captured, .. } = self;
        nets.values[CLOCK as usize] = 0;
        captured.drain(..).for_each(|(net, value)| nets.assign(net, value));
        let mut left = self.leaves.len() * EVALUATIONS;
        // A leaf marks only leaves after it, unless `loops` is set.
        loop {
            for word in 0..self.nets.dirty.len() {
                while self.nets.dirty[word] != 0 {
                    let place = word * 64 + self.nets.dirty[word].trailing_zeros() as usize;
                    self.nets.dirty[word] &= self.nets.dirty[word] - 1;
                    self.compute(place);
                    if self.loops {
                        left -= 1;
                        if left == 0 {
                            return false;
                        }
                    }
                }
            }
            if !self.loops || self.nets.dirty.iter().all(|&bits| bits == 0) {
                return true;
            }
        }
    }

    #[inline]
    fn compute(&mut self, place: usize) {
        let Flat { nets, leaves, inputs, outputs, .. } = self;
        let FlatLeaf { leaf, inputs: from, outputs: to, rest } = &mut leaves[place];
        inputs.clear();
        inputs.extend(from.iter().map(|&net| nets.values[net as usize]));
        if rest.as_mut().is_some_and(|rest| rest.stays(leaf.as_ref(), inputs, &nets.values, to)) {
            return;
        }
        outputs.resize(to.len(), 0);
        leaf.eval(inputs, outputs);
        to.iter().zip(outputs).for_each(|(&net, value)| nets.assign(net, *value));
    }

    /// Every register samples its settled inputs.
    pub(super) fn capture(&mut self) {
        let Flat { nets, registers, captured, .. } = self;
        let Nets { values, armed, is_armed, .. } = nets;
        values[CLOCK as usize] = 1;
        armed.retain(|&i| {
            let register = &registers[i as usize];
            let is_high = |net: u32| values[net as usize] != 0;
            // A gated clock: the register stays armed.
            if register.gate.is_some_and(|gate| !is_high(gate)) {
                return true;
            }
            is_armed[i as usize] = false;
            let next = match (register.enable, register.reset) {
                (Some(enable), _) if !is_high(enable) => return false,
                (_, Some((reset, value))) if is_high(reset) => value,
                _ => values[register.d as usize],
            };
            if next != values[register.q as usize] {
                captured.push((register.q, next));
            }
            false
        });
    }
}

impl Rest {
    /// Set if the outputs cannot change: the gate is low and only the ignored input changed. With debug assertions the leaf is evaluated
    /// anyway, and the outputs are compared.
    fn stays(&mut self, leaf: &dyn Leaf, inputs: &[u64], values: &[u64], outputs: &[u32]) -> bool {
        let same = |i: usize| i == self.ignored || inputs[i] == self.seen[i];
        let stays = inputs[self.gate] == 0 && self.seen.len() == inputs.len() && (0..inputs.len()).all(same);
        if stays {
            if cfg!(debug_assertions) {
                let mut now = vec![0; outputs.len()];
                leaf.eval(inputs, &mut now);
                let before = outputs.iter().map(|&net| values[net as usize]);
                assert!(now.iter().copied().eq(before), "{} at rest", leaf.tag().name);
            }
            return true;
        }
        self.seen.clear();
        self.seen.extend_from_slice(inputs);
        false
    }
}

/// The leaves in topological order, and whether some leaves have none because they feed each other.
fn sources_first(nets: usize, leaves: Vec<FlatLeaf>) -> (Vec<FlatLeaf>, bool) {
    let mut readers: Vec<Vec<u32>> = vec![Vec::new(); nets];
    for (i, leaf) in leaves.iter().enumerate() {
        leaf.inputs.iter().for_each(|&net| readers[net as usize].push(i as u32));
    }
    let mut waits = vec![0u32; leaves.len()];
    for leaf in &leaves {
        for &net in &leaf.outputs {
            readers[net as usize].iter().for_each(|&reader| waits[reader as usize] += 1);
        }
    }
    // A stack, not a queue: the readers of a leaf follow it closely, while its outputs are in the cache.
    let mut ready: Vec<u32> = (0..leaves.len() as u32).rev().filter(|&i| waits[i as usize] == 0).collect();
    let mut order = Vec::with_capacity(leaves.len());
    let mut placed = vec![false; leaves.len()];
    let mut unplaced = 0..leaves.len() as u32;
    let mut loops = false;
    while order.len() < leaves.len() {
        // Two leaves that feed each other through independent outputs are no combinational loop, but they have no order: take either first.
        let first = || unplaced.find(|&i| !placed[i as usize]).inspect(|_| loops = true);
        let Some(i) = ready.pop().or_else(first) else { break };
        if std::mem::replace(&mut placed[i as usize], true) {
            continue;
        }
        order.push(i);
        for &net in &leaves[i as usize].outputs {
            for &reader in &readers[net as usize] {
                waits[reader as usize] = waits[reader as usize].saturating_sub(1);
                if waits[reader as usize] == 0 && !placed[reader as usize] {
                    ready.push(reader);
                }
            }
        }
    }
    let mut leaves: Vec<Option<FlatLeaf>> = leaves.into_iter().map(Some).collect();
    (order.into_iter().filter_map(|i| leaves[i as usize].take()).collect(), loops)
}

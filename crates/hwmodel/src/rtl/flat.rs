//! A design as leaves and registers between nets, and how it runs.
//!
//! A cycle is two calls: [`Flat::settle`] while the clock is low, [`Flat::capture`] at its rising edge.
//!
//! ```text
//!  capture  registers take what their inputs have settled to; it does not show yet, so that none can race another
//!  settle   they show it, all of them before any logic runs; then each leaf whose inputs moved computes, sources first
//! ```
//!
//! Only what moves costs anything: a net that changes marks its readers, and a register whose inputs stay is not looked at.

use super::design::{Instance, Register};
use super::leaf::Leaf;
use std::sync::Arc;

/// The net of the clock, which shows its level.
pub(super) const CLOCK: u32 = 0;

/// A leaf between nets.
pub(super) struct FlatLeaf {
    leaf: Arc<dyn Leaf>,
    inputs: Box<[u32]>,
    outputs: Box<[u32]>,
    rest: Option<Rest>,
}

/// What a leaf that can be [at rest](Leaf::at_rest) has seen last.
struct Rest {
    gate: usize,
    ignored: usize,
    seen: Vec<u64>,
}

/// A design without hierarchy.
pub(super) struct Flat {
    nets: Nets,
    /// Sources first.
    leaves: Vec<FlatLeaf>,
    /// Leaves that feed each other, by other outputs than those that depend on what they are fed: one may have to compute twice.
    loops: bool,
    registers: Vec<Register>,
    captured: Vec<(u32, u64)>,
    inputs: Vec<u64>,
    outputs: Vec<u64>,
}

/// The values, and who has something to do because one has moved.
struct Nets {
    values: Vec<u64>,
    /// Readers of net n are `readers[starts[n] .. starts[n + 1]]`: leaves by their place, registers with [`REGISTER`].
    starts: Vec<u32>,
    readers: Vec<u32>,
    /// Leaves that have something to do, a bit each.
    dirty: Vec<u64>,
    /// Registers with an input that moved since they last captured, and whether a register is among them.
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

/// Passes after which leaves that feed each other have settled, unless they are a loop, which RustHDL's check finds.
const PASSES: usize = 1000;

/// Marks a reader that is a register.
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

    /// How many nets there are.
    pub(super) fn nets(&self) -> usize {
        self.nets.values.len()
    }

    /// What computes and what holds.
    pub(super) fn parts(&self) -> (Vec<Instance>, Vec<Register>) {
        let leaves = self.leaves.iter().map(|FlatLeaf { leaf, inputs, outputs, .. }| Instance {
            leaf: leaf.clone(),
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
        });
        (leaves.collect(), self.registers.clone())
    }

    /// Registers show what they captured, and all logic settles.
    pub(super) fn settle(&mut self) {
        let Flat { nets, captured, .. } = self;
        nets.values[CLOCK as usize] = 0;
        captured.drain(..).for_each(|(net, value)| nets.assign(net, value));
        // A leaf marks leaves after it only, but for loops.
        for pass in 0.. {
            for word in 0..self.nets.dirty.len() {
                while self.nets.dirty[word] != 0 {
                    let place = word * 64 + self.nets.dirty[word].trailing_zeros() as usize;
                    self.nets.dirty[word] &= self.nets.dirty[word] - 1;
                    self.compute(place);
                }
            }
            if !self.loops || self.nets.dirty.iter().all(|&bits| bits == 0) {
                break;
            }
            assert!(pass < PASSES, "a loop without a register does not settle");
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

    /// Every register captures what its inputs have settled to.
    pub(super) fn capture(&mut self) {
        let Flat { nets, registers, captured, .. } = self;
        let Nets { values, armed, is_armed, .. } = nets;
        values[CLOCK as usize] = 1;
        armed.retain(|&i| {
            let register = &registers[i as usize];
            let is_high = |net: u32| values[net as usize] != 0;
            // A register whose clock stands still waits.
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

    /// The values do not follow the inputs yet.
    pub(super) fn is_restless(&self) -> bool {
        !self.captured.is_empty() || self.nets.dirty.iter().any(|&bits| bits != 0)
    }
}

impl Rest {
    /// Whether the outputs stay because only the ignored input moved, with the gate low. With debug assertions they are computed all
    /// the same, and compared.
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

/// The leaves in an order in which each comes after those whose outputs it reads, and whether there are some for which there is none.
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
    // The last that is ready first: what a leaf feeds is computed close to it, while its outputs are at hand.
    let mut ready: Vec<u32> = (0..leaves.len() as u32).rev().filter(|&i| waits[i as usize] == 0).collect();
    let mut order = Vec::with_capacity(leaves.len());
    let mut placed = vec![false; leaves.len()];
    let mut unplaced = 0..leaves.len() as u32;
    let mut loops = false;
    while order.len() < leaves.len() {
        // Two leaves that feed each other through different outputs make no loop, but have no order either: one of them comes first.
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

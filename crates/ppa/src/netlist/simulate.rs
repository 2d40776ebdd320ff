//! Simulation of 64 machines, one in each bit of a word, without delays.

use super::program::{BLOCK, Program, Words};
use super::schedule::EqualCells;
use super::{Net, Netlist};

/// State of 64 machines that run the same netlist on different inputs.
///
/// A cycle is [`Simulation::set`] for the inputs, [`Simulation::settle`], reading of outputs with
/// [`Simulation::value`], [`Simulation::clock`].
pub struct Simulation<'a> {
    netlist: &'a Netlist,
    values: Vec<u64>,
    toggles: Vec<u32>,
    registers: Vec<Words>,
    next_states: Vec<u64>,
    /// The machines whose toggles count.
    counted: u64,
    gated_clocks: Vec<Net>,
}

impl<'a> Simulation<'a> {
    /// All machines with zeros in every net and flip-flop; the first `machines` of the 64 are counted.
    pub fn new(netlist: &'a Netlist, machines: u32) -> Self {
        let programs =
            netlist.kinds.iter().flat_map(|kind| [Some(&kind.outputs), kind.next.as_ref()]).flatten();
        let registers = programs.map(Program::registers).max().unwrap_or(0);
        let mut values = vec![0; netlist.nets];
        values[1] = u64::MAX;
        let mut simulation = Simulation {
            netlist,
            values,
            toggles: vec![0; netlist.nets],
            registers: vec![[0; BLOCK]; registers],
            next_states: Vec::new(),
            counted: u64::MAX >> (u64::BITS - machines.clamp(1, u64::BITS)),
            gated_clocks: netlist.gated_clocks().collect(),
        };
        simulation.show_states();
        simulation.settle();
        simulation.reset_toggles();
        simulation
    }

    /// Value of a net in all machines.
    pub fn value(&self, net: Net) -> u64 {
        self.values[net as usize]
    }

    /// Values of all nets.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// Toggles of each net since the start or the last reset of the counts, over all machines. Every net
    /// changes at most once in a cycle: there are no glitches. The clock is not counted; a gated one toggles twice with each edge that passes.
    pub fn toggles(&self) -> &[u32] {
        &self.toggles
    }

    /// The machines that are counted, as bits.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// Resets the counts.
    pub(crate) fn reset_toggles(&mut self) {
        self.toggles.fill(0);
    }

    /// Gives an input net its value.
    pub fn set(&mut self, net: Net, value: u64) {
        let old = std::mem::replace(&mut self.values[net as usize], value);
        self.toggles[net as usize] += ((old ^ value) & self.counted).count_ones();
    }

    /// Evaluates all logic.
    pub fn settle(&mut self) {
        for run in &self.netlist.logic {
            let kind = &self.netlist.kinds[run.kind as usize];
            let program = &kind.outputs;
            // A clock gate's toggles are counted as pulses, in `clock`.
            let counted = if kind.cell.clock_gate().is_some() { 0 } else { self.counted };
            for start in (0..run.cells).step_by(BLOCK) {
                let length = BLOCK.min(run.cells - start);
                gather(program, run, start, length, &self.values, &mut self.registers);
                program.run(&mut self.registers);
                for function in 0..program.functions() {
                    let output = program.output(&self.registers, function);
                    let first = run.first_output as usize + function * run.cells + start;
                    let nets = first..first + length;
                    store(output, counted, &mut self.values[nets.clone()], &mut self.toggles[nets]);
                }
            }
        }
    }

    /// The rising edge: every flip-flop that it reaches captures.
    pub fn clock(&mut self) {
        for &net in &self.gated_clocks {
            self.toggles[net as usize] += 2 * (self.values[net as usize] & self.counted).count_ones();
        }
        self.next_states.clear();
        for run in &self.netlist.flip_flops {
            let kind = &self.netlist.kinds[run.kind as usize];
            let Some(program) = &kind.next else { continue };
            for start in (0..run.cells).step_by(BLOCK) {
                let length = BLOCK.min(run.cells - start);
                gather(program, run, start, length, &self.values, &mut self.registers);
                program.run(&mut self.registers);
                self.next_states.extend_from_slice(&program.output(&self.registers, 0)[..length]);
            }
        }
        let mut captured = 0;
        for run in &self.netlist.flip_flops {
            let nets = run.first_output as usize..run.first_output as usize + run.cells;
            let states = &self.next_states[captured..captured + run.cells];
            store(states, self.counted, &mut self.values[nets.clone()], &mut self.toggles[nets]);
            captured += run.cells;
        }
        self.show_states();
    }

    /// Outputs of flip-flops that are not the state itself.
    fn show_states(&mut self) {
        for run in &self.netlist.flip_flops {
            let program = &self.netlist.kinds[run.kind as usize].outputs;
            let state = (0..program.functions()).find(|&index| program.is_state(index));
            let others = (0..program.functions()).filter(|&index| Some(index) != state);
            for (slot, function) in others.enumerate() {
                for start in (0..run.cells).step_by(BLOCK) {
                    let length = BLOCK.min(run.cells - start);
                    let states = run.first_output as usize + start;
                    if let Some(register) = self.registers.first_mut() {
                        register[..length].copy_from_slice(&self.values[states..states + length]);
                    }
                    program.run(&mut self.registers);
                    let first = states + (slot + 1) * run.cells;
                    let nets = first..first + length;
                    let output = program.output(&self.registers, function);
                    store(output, self.counted, &mut self.values[nets.clone()], &mut self.toggles[nets]);
                }
            }
        }
    }
}

/// Loads a block's inputs into the first registers.
fn gather(
    program: &Program,
    run: &EqualCells,
    start: usize,
    length: usize,
    values: &[u64],
    registers: &mut [Words],
) {
    for (input, register) in registers.iter_mut().enumerate().take(program.inputs.len()) {
        let nets = &run.sources[input * run.cells + start..][..length];
        for (word, &net) in register.iter_mut().zip(nets) {
            *word = values[net as usize];
        }
    }
}

/// Stores a block's outputs and counts toggles.
fn store(new: &[u64], counted: u64, values: &mut [u64], toggles: &mut [u32]) {
    for ((value, toggles), &new) in values.iter_mut().zip(toggles).zip(new) {
        *toggles += ((*value ^ new) & counted).count_ones();
        *value = new;
    }
}

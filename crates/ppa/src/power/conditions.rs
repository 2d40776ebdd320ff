//! How often the conditions of a library's tables hold.

use crate::liberty::Expression;
use crate::netlist::program::{BLOCK, Program, ProgramInput, Words};
use crate::netlist::{Netlist, OPEN, Simulation};

/// Conditions of every cell, counted in samples of the simulation.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    kinds: Vec<KindConditions>,
    /// Index of each cell within its kind.
    position: Vec<u32>,
    samples: u32,
}

#[derive(Clone, Debug)]
struct KindConditions {
    expressions: Vec<Expression>,
    program: Option<Program>,
    cells: Vec<u32>,
    /// `[condition][cell]`.
    counts: Vec<u32>,
}

impl Conditions {
    /// The conditions of all cells of a netlist, not sampled yet.
    pub(super) fn new(netlist: &Netlist) -> Self {
        let mut kinds: Vec<KindConditions> = netlist
            .kinds
            .iter()
            .map(|kind| {
                let names: Vec<(&str, ProgramInput)> = kind
                    .cell
                    .pins
                    .iter()
                    .enumerate()
                    .map(|(index, pin)| (pin.name.as_str(), ProgramInput::Pin(index)))
                    .collect();
                let known = |when: &&Expression| {
                    when.pins().iter().all(|pin| names.iter().any(|(name, _)| name == pin))
                };
                let mut expressions: Vec<Expression> = Vec::new();
                for when in kind.cell.conditions().filter(known) {
                    if !expressions.contains(when) {
                        expressions.push(when.clone());
                    }
                }
                let functions: Vec<&Expression> = expressions.iter().collect();
                let program = match functions.is_empty() {
                    true => None,
                    false => Program::new(&functions, &names).ok(),
                };
                KindConditions { expressions, program, cells: Vec::new(), counts: Vec::new() }
            })
            .collect();
        let mut position = Vec::with_capacity(netlist.cells.len());
        for (index, cell) in netlist.cells.iter().enumerate() {
            let cells = &mut kinds[cell.kind as usize].cells;
            position.push(cells.len() as u32);
            cells.push(index as u32);
        }
        for kind in &mut kinds {
            kind.counts = vec![0; kind.expressions.len() * kind.cells.len()];
        }
        Conditions { kinds, position, samples: 0 }
    }

    /// Looks at the state of the counted machines, once with the clock low and once with the clock high.
    pub(super) fn sample(&mut self, netlist: &Netlist, simulation: &Simulation) {
        let mut values = simulation.values().to_vec();
        for clock in [0, u64::MAX] {
            if let Some(net) = netlist.clock {
                values[net as usize] = clock;
            }
            // A gated clock is high with the clock in the cycles whose edge passes; the fraction of these is the same before and after the edge.
            for net in netlist.gated_clocks() {
                values[net as usize] = simulation.value(net) & clock;
            }
            self.kinds.iter_mut().for_each(|kind| kind.count(netlist, &values, simulation.counted()));
            self.samples += simulation.counted().count_ones();
        }
    }

    /// Index of a condition of a kind, for [`Conditions::probability`]; `None` if it depends on something that
    /// is no pin of the cell.
    pub(super) fn index(&self, kind: usize, when: &Expression) -> Option<usize> {
        self.kinds[kind].expressions.iter().position(|expression| expression == when)
    }

    /// Fraction of the samples in which a condition of a cell held.
    pub(super) fn probability(&self, netlist: &Netlist, cell: usize, condition: usize) -> f64 {
        let kind = &self.kinds[netlist.cells[cell].kind as usize];
        let count = kind.counts[condition * kind.cells.len() + self.position[cell] as usize];
        f64::from(count) / f64::from(self.samples.max(1))
    }
}

impl KindConditions {
    fn count(&mut self, netlist: &Netlist, values: &[u64], counted: u64) {
        let Some(program) = &self.program else { return };
        let mut registers: Vec<Words> = vec![[0; BLOCK]; program.registers()];
        for (block, cells) in self.cells.chunks(BLOCK).enumerate() {
            for (register, source) in registers.iter_mut().zip(&program.inputs) {
                for (word, &cell) in register.iter_mut().zip(cells) {
                    let pins = netlist.pins(&netlist.cells[cell as usize]);
                    *word = match source {
                        ProgramInput::Pin(pin) if pins[*pin] != OPEN => values[pins[*pin] as usize],
                        _ => 0,
                    };
                }
            }
            program.run(&mut registers);
            for condition in 0..program.functions() {
                let first = condition * self.cells.len() + block * BLOCK;
                let held = program.output(&registers, condition);
                for (count, word) in self.counts[first..first + cells.len()].iter_mut().zip(held) {
                    *count += (word & counted).count_ones();
                }
            }
        }
    }
}

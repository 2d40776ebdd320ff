//! Cells by Boolean function.

use super::{Cell, ClockGate, Library};
use std::collections::HashMap;

/// Most inputs of a truth table in one word.
const TABLE_INPUTS: usize = 6;

/// Value of input j in each of the 64 rows of a truth table.
pub(crate) const INPUT_COLUMNS: [u64; TABLE_INPUTS] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

/// A cell that computes a function asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// Cell.
    pub cell: String,
    /// Pin of each input of the function.
    pub inputs: Vec<String>,
    /// Pin of each output of the function.
    pub outputs: Vec<String>,
}

/// An output that may come complemented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GateOutput {
    /// Pin.
    pub pin: String,
    /// The cell gives the complement.
    pub inverted: bool,
}

/// A full or half adder cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Adder {
    /// Cell.
    pub cell: String,
    /// Its summands: three in a full adder, two in a half adder.
    pub inputs: Vec<String>,
    /// Exclusive or of the inputs.
    pub sum: GateOutput,
    /// Majority, or conjunction of two.
    pub carry: GateOutput,
}

impl Library {
    /// The logic cells that compute exactly the functions `tables` of `inputs` inputs, in any order of pins; smallest first.
    /// Bit r of a table is the output when input j has bit j of r; rows beyond 2^inputs repeat.
    pub(crate) fn find(&self, inputs: usize, tables: &[u64]) -> Vec<Match> {
        let mut cells: Vec<&Cell> = self
            .cells
            .iter()
            .filter(|c| c.is_logic() && c.inputs().count() == inputs && c.outputs().count() == tables.len())
            .collect();
        cells.sort_by(|a, b| a.area.total_cmp(&b.area).then_with(|| a.name.cmp(&b.name)));
        cells.into_iter().filter_map(|cell| match_cell(cell, tables)).collect()
    }

    /// The smallest two-input NAND, by which areas are expressed in gate equivalents.
    pub(crate) fn nand2(&self) -> Option<&Cell> {
        self.smallest(2, !(INPUT_COLUMNS[0] & INPUT_COLUMNS[1]))
    }

    /// The smallest clock gate for the rising edge, with its pins.
    pub(crate) fn clock_gate(&self) -> Option<(&Cell, &ClockGate)> {
        let gates = self.cells.iter().filter(|cell| !cell.dont_use);
        let gates = gates.filter_map(|cell| cell.clock_gate().map(|gate| (cell, gate)));
        gates.min_by(|(a, _), (b, _)| a.area.total_cmp(&b.area).then_with(|| a.name.cmp(&b.name)))
    }

    /// Inverters, smallest first.
    pub(crate) fn inverters(&self) -> Vec<&Cell> {
        self.cells_of(1, !INPUT_COLUMNS[0])
    }

    /// Buffers, smallest first.
    pub(crate) fn buffers(&self) -> Vec<&Cell> {
        self.cells_of(1, INPUT_COLUMNS[0])
    }

    /// The smallest cell that gives a constant, and its output pin.
    pub(crate) fn tie(&self, value: bool) -> Option<(&Cell, &str)> {
        let cell = self.smallest(0, if value { u64::MAX } else { 0 })?;
        Some((cell, cell.outputs().next()?.name.as_str()))
    }

    /// Full adders, also with complemented outputs; smallest first.
    pub(crate) fn full_adders(&self) -> Vec<Adder> {
        let [a, b, c, ..] = INPUT_COLUMNS;
        self.adders(3, a ^ b ^ c, (a & b) | (b & c) | (c & a))
    }

    fn cells_of(&self, inputs: usize, table: u64) -> Vec<&Cell> {
        self.find(inputs, &[table]).iter().filter_map(|found| self.cell(&found.cell)).collect()
    }

    fn smallest(&self, inputs: usize, table: u64) -> Option<&Cell> {
        self.cells_of(inputs, table).into_iter().next()
    }

    fn adders(&self, inputs: usize, sum: u64, carry: u64) -> Vec<Adder> {
        let mut adders = Vec::new();
        for (sum_inverted, carry_inverted) in [(false, false), (true, true), (false, true), (true, false)] {
            let flip = |table: u64, inverted| if inverted { !table } else { table };
            for found in self.find(inputs, &[flip(sum, sum_inverted), flip(carry, carry_inverted)]) {
                let output =
                    |index: usize, inverted| GateOutput { pin: found.outputs[index].clone(), inverted };
                adders.push(Adder {
                    sum: output(0, sum_inverted),
                    carry: output(1, carry_inverted),
                    cell: found.cell,
                    inputs: found.inputs,
                });
            }
        }
        let area: HashMap<&str, f64> = self.cells.iter().map(|c| (c.name.as_str(), c.area)).collect();
        adders.sort_by(|a, b| area[a.cell.as_str()].total_cmp(&area[b.cell.as_str()]));
        adders
    }
}

/// Tries every order of the inputs; outputs are identified by their functions.
fn match_cell(cell: &Cell, wanted: &[u64]) -> Option<Match> {
    let inputs: Vec<&str> = cell.inputs().map(|pin| pin.name.as_str()).collect();
    for order in permutations(inputs.len()) {
        let column = |name: &str| {
            let position = inputs.iter().position(|&input| input == name)?;
            INPUT_COLUMNS.get(order[position]).copied()
        };
        let tables: Vec<(u64, &str)> = cell
            .outputs()
            .filter_map(|pin| Some((pin.function.as_ref()?.evaluate(&column)?, pin.name.as_str())))
            .collect();
        let outputs: Option<Vec<String>> = wanted
            .iter()
            .map(|table| tables.iter().find(|(found, _)| found == table).map(|(_, pin)| pin.to_string()))
            .collect();
        if let Some(outputs) = outputs {
            let mut by_input = vec![String::new(); inputs.len()];
            for (position, &input) in order.iter().enumerate() {
                by_input[input] = inputs[position].to_string();
            }
            return Some(Match { cell: cell.name.clone(), inputs: by_input, outputs });
        }
    }
    None
}

/// All orders of `0..n`.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for next in 0..n {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                (0..=order.len()).map(move |place| {
                    let mut longer = order.clone();
                    longer.insert(place, next);
                    longer
                })
            })
            .collect();
    }
    orders
}

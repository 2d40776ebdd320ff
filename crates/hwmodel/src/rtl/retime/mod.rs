//! Interleaving: a design that runs C independent copies of itself in turn, at C times the clock.
//!
//! Each register becomes C registers (C-slow), so that the copies take turns cycle by cycle. Then the registers move through the logic, into
//! the leaves, to the places where the period is met with the fewest register bits.
//!
//! | file | what |
//! | --- | --- |
//! | `graph` | the design as a graph of operations |
//! | `delays` | the delays of operations |
//! | `solve`, `closure` | the number of registers on each connection |
//! | `known`, `reset` | which of them need a reset |
//! | `modules`, `leaves`, `chains` | the design with these registers |
//! | `rows` | where its signals are |
//!
//! Source: C. Leiserson and J. Saxe, Retiming synchronous circuitry, Algorithmica 6, 1991.

mod chains;
mod closure;
mod delays;
mod graph;
mod known;
mod leaves;
mod modules;
mod reset;
mod rows;
mod solve;

use super::structure::Structure;
use super::watch::Watched;
use delays::ASAP7;
use graph::Classes;
use modules::{Moved, Rebuilt};
use solve::Graph;
use std::sync::Arc;

/// How a design is interleaved.
pub struct Interleaving<'a> {
    /// C, the number of copies that take turns.
    pub factor: u32,
    /// The period of the clock in ps; by default the least that the loops of the design allow.
    pub period: Option<f64>,
    /// Inputs that are low in reset, by name.
    pub low: &'a dyn Fn(&str) -> bool,
    /// By name of an output: the cycles by which it is later than in the original design at C times the clock.
    pub late: &'a dyn Fn(&str) -> i32,
}

/// An interleaved design.
pub(super) struct Interleaved {
    /// The module.
    pub(super) structure: Arc<Structure>,
    /// By class of modules: where words are.
    moved: Vec<Arc<Moved>>,
    classes: Classes,
}

/// The least period of a graph, in ps and to a ps; none if no period is long enough.
fn least_period(graph: &Graph) -> Option<f64> {
    let (mut low, mut high) = (1, LONGEST_PERIOD);
    graph.least(f64::from(high))?;
    while high - low > 1 {
        let middle = (low + high) / 2;
        match graph.least(f64::from(middle)) {
            Some(_) => high = middle,
            None => low = middle,
        }
    }
    Some(f64::from(high))
}

/// A period that any design meets, in ps.
const LONGEST_PERIOD: u32 = 1 << 16;

/// The design that runs C copies of this one in turn. None if no placement of registers meets the period.
pub(super) fn interleaved(top: &Arc<Structure>, interleaving: &Interleaving) -> Option<Interleaved> {
    let Interleaving { factor, period, low, late } = *interleaving;
    let mut classes = Classes::of(top, factor, &ASAP7);
    classes.find_known(low);
    let last = classes.modules.len() - 1;
    let ports = top.ports.iter().zip(classes.modules[last].ports.clone());
    for (port, node) in ports.filter(|(_, node)| *node != graph::NONE) {
        match port.output {
            true => classes.graph.outputs.push((node, late(&port.name))),
            false => classes.graph.inputs.push(node),
        }
    }
    let period = match period {
        Some(period) => period - ASAP7.register,
        None => least_period(&classes.graph)?,
    };
    let labels = classes.graph.labels(period)?;
    let mut rebuilt = Rebuilt::new(&classes, &labels, factor);
    let (structure, _) = rebuilt.module(last);
    let moved = (0..classes.modules.len()).map(|class| rebuilt.module(class).1).collect();
    Some(Interleaved { structure, moved, classes })
}

impl Interleaved {
    /// A watched value of the original.
    pub(in crate::rtl) fn watched(&self, watched: &Watched) -> Watched {
        let (path, slot, late) = self.find(&watched.path, watched.slot);
        Watched { path, slot, late: watched.late + late, ..watched.clone() }
    }

    /// Where a word of a module is that a path of places of parts leads to: its path, its slot, and the cycles by which it is later.
    fn find(&self, path: &[u32], slot: u32) -> (Vec<u32>, u32, i32) {
        let mut class = self.classes.modules.len() - 1;
        let mut new = Vec::new();
        for &part in path {
            new.extend(self.moved[class].parts[part as usize]);
            match self.classes.modules[class].parts[part as usize] {
                graph::Part::Module(inner) => class = inner,
                _ => unreachable!("a path through a part that is no module"),
            }
        }
        let (slot, late) = match Some(slot) == self.classes.modules[class].reset {
            true => (chains::RESET, 0),
            false => self.moved[class].slots[slot as usize],
        };
        (new, slot, late)
    }
}

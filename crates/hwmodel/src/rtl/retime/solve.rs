//! Places registers: retiming (Leiserson and Saxe, Retiming synchronous circuitry, Algorithmica 6, 1991, section 8) with the fewest register
//! bits at a period and the least latency.
//!
//! A label `r` of a node says how many cycles later than in the original design its value is there. An edge from u to v with `w` registers gets
//! `w + r(v) - r(u)`. Labels are such that
//!
//! - no edge has a negative number of registers;
//! - a path without registers takes no longer than the period: for a path from u to v that does, of `w` registers, `r(v) - r(u) >= 1 - w`;
//! - labels of ports are given.
//!
//! All are differences of two labels, so there is a least solution, which has the least latency. From there, labels of sets of nodes are raised
//! while this saves register bits. The number of bits is an L-natural-convex function of the labels, of which the sets of steepest descent
//! are maximum-weight closures, and which has no local minimum but the global one (Murota, Discrete Convex Analysis, SIAM 2003, section 10.3).

use super::closure::best_closure;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A connection with registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Registers of the original design.
    pub(super) registers: i32,
}

/// A value and its readers, with one chain of registers for all of them.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) source: usize,
    /// Bits of a register: its width times the number of instances.
    pub(super) bits: i64,
    /// The readers, and the registers on the way.
    pub(super) readers: Vec<(usize, i32)>,
}

/// A graph of operations.
#[derive(Default)]
pub(super) struct Graph {
    /// The delay of each node, in ps.
    pub(super) delays: Vec<f64>,
    /// Nodes whose label is 0.
    pub(super) inputs: Vec<usize>,
    /// Nodes with a given label: outputs.
    pub(super) outputs: Vec<(usize, i32)>,
    pub(super) edges: Vec<Edge>,
    pub(super) values: Vec<Value>,
}

/// The label of a node that no input reaches.
const UNREACHED: i32 = i32::MIN;

/// A condition `r(to) >= r(from) + least`.
#[derive(Clone, Copy)]
struct Condition {
    from: usize,
    to: usize,
    least: i32,
}

/// Whether nodes have set each other's times in a circle: then times grow without end.
fn has_cycle(set_by: &[usize]) -> bool {
    // The walk that has visited a node first.
    let mut visited = vec![usize::MAX; set_by.len()];
    (0..set_by.len()).any(|start| {
        let mut at = start;
        while at != usize::MAX && visited[at] == usize::MAX {
            visited[at] = start;
            at = set_by[at];
        }
        at != usize::MAX && visited[at] == start
    })
}

impl Graph {
    /// A new node.
    pub(super) fn node(&mut self, delay: f64) -> usize {
        self.delays.push(delay);
        self.delays.len() - 1
    }

    /// The labels of all nodes, for this period in ps; none if a loop or an operation is too slow for it.
    pub(super) fn labels(&self, period: f64) -> Option<Vec<i32>> {
        let mut labels = self.least(period)?;
        self.save_bits(period, &mut labels);
        Some(labels)
    }

    /// The least labels.
    pub(super) fn least(&self, period: f64) -> Option<Vec<i32>> {
        if self.delays.iter().any(|&delay| delay > period) {
            return None;
        }
        let mut out: Vec<Vec<Edge>> = vec![Vec::new(); self.delays.len()];
        self.edges.iter().for_each(|edge| out[edge.from].push(*edge));
        // The label of a node, and when in its cycle its value is there. Nothing is known of nodes that no input reaches.
        let mut times: Vec<(i32, f64)> = vec![(UNREACHED, 0.0); self.delays.len()];
        let mut open: VecDeque<usize> = self.inputs.iter().copied().collect();
        let mut waits = vec![false; times.len()];
        open.iter().for_each(|&input| (times[input], waits[input]) = ((0, 0.0), true));
        // The node that has set the time of each node.
        let (mut set_by, mut updates) = (vec![usize::MAX; times.len()], 0);
        while let Some(from) = open.pop_front() {
            waits[from] = false;
            let (label, at) = times[from];
            if updates > times.len() {
                updates = 0;
                if has_cycle(&set_by) {
                    return None;
                }
            }
            for &Edge { to, registers, .. } in &out[from] {
                let delay = self.delays[to];
                let earliest = label - registers;
                let time = if at + delay > period { (earliest + 1, delay) } else { (earliest, at + delay) };
                if time > times[to] {
                    times[to] = time;
                    (set_by[to], updates) = (from, updates + 1);
                    if !std::mem::replace(&mut waits[to], true) {
                        open.push_back(to);
                    }
                }
            }
        }
        let fixed = self.inputs.iter().all(|&input| times[input].0 == 0)
            && self.outputs.iter().all(|&(output, label)| times[output].0 <= label);
        let mut labels: Vec<i32> = times.into_iter().map(|(label, _)| label).collect();
        // Constants come when their first reader reads them.
        while labels.contains(&UNREACHED) {
            let before = labels.clone();
            for edge in self
                .edges
                .iter()
                .filter(|edge| before[edge.from] == UNREACHED && before[edge.to] != UNREACHED)
            {
                let latest = labels[edge.to] + edge.registers;
                let label = &mut labels[edge.from];
                *label = if *label == UNREACHED { latest } else { latest.min(*label) };
            }
            if labels == before {
                labels.iter_mut().filter(|label| **label == UNREACHED).for_each(|label| *label = 0);
            }
        }
        self.outputs.iter().for_each(|&(output, label)| labels[output] = label);
        fixed.then_some(labels)
    }

    /// Raises labels while this saves register bits.
    fn save_bits(&self, period: f64, labels: &mut Vec<i32>) {
        let mut conditions: Vec<Condition> = self.conditions(period);
        // The last registers of a value are a node, not before any reader's.
        let mut weights: Vec<i64> = vec![0; self.delays.len()];
        for value in &self.values {
            weights[value.source] += value.bits;
            let end = match value.readers[..] {
                [(reader, _)] => reader,
                _ => {
                    let end = labels.len();
                    let of = |&(reader, registers): &(usize, i32)| labels[reader] + registers;
                    labels.push(value.readers.iter().map(of).max().unwrap_or(0));
                    weights.push(0);
                    let of = |&(from, least): &(usize, i32)| Condition { from, to: end, least };
                    conditions.extend(value.readers.iter().map(of));
                    end
                }
            };
            weights[end] -= value.bits;
        }
        let mut weights: Vec<Option<i64>> = weights.into_iter().map(Some).collect();
        let outputs = self.outputs.iter().map(|(output, _)| output);
        self.inputs.iter().chain(outputs).for_each(|&node| weights[node] = None);
        loop {
            let tight = conditions.iter().filter(|c| labels[c.to] - labels[c.from] == c.least);
            let raised = best_closure(&weights, tight.map(|c| (c.from, c.to)));
            if raised.is_empty() {
                break;
            }
            raised.into_iter().for_each(|node| labels[node] += 1);
        }
        labels.truncate(self.delays.len());
    }

    /// All conditions on labels.
    fn conditions(&self, period: f64) -> Vec<Condition> {
        let mut least: HashMap<(usize, usize), i32> = HashMap::new();
        let mut add = |from, to, at_least: i32| {
            let entry = least.entry((from, to)).or_insert(at_least);
            *entry = at_least.max(*entry);
        };
        self.edges.iter().for_each(|edge| add(edge.from, edge.to, -edge.registers));
        let mut out: Vec<Vec<Edge>> = vec![Vec::new(); self.delays.len()];
        self.edges.iter().for_each(|edge| out[edge.from].push(*edge));
        let order = self.order(&out);
        for from in 0..self.delays.len() {
            self.slow_paths(from, period, (&out, &order), &mut add);
        }
        let of = |((from, to), least)| Condition { from, to, least };
        least.into_iter().filter(|((from, to), _)| from != to).map(of).collect()
    }

    /// The places of nodes in topological order of the edges without registers.
    fn order(&self, out: &[Vec<Edge>]) -> Vec<usize> {
        let mut before = vec![0; self.delays.len()];
        let direct = |edge: &&Edge| edge.registers == 0;
        self.edges.iter().filter(direct).for_each(|edge| before[edge.to] += 1);
        let mut open: Vec<usize> = (0..before.len()).filter(|&node| before[node] == 0).collect();
        let (mut place, mut order) = (0, vec![usize::MAX; before.len()]);
        while let Some(node) = open.pop() {
            (order[node], place) = (place, place + 1);
            for edge in out[node].iter().filter(direct) {
                before[edge.to] -= 1;
                if before[edge.to] == 0 {
                    open.push(edge.to);
                }
            }
        }
        order
    }

    /// The ends of paths from a node that take longer than the period, but do not without the first or the last node.
    fn slow_paths(
        &self,
        from: usize,
        period: f64,
        (out, order): (&[Vec<Edge>], &[usize]),
        add: &mut impl FnMut(usize, usize, i32),
    ) {
        let first = self.delays[from];
        if first == 0.0 {
            return;
        }
        // By registers on the way and place in the order: the node, and the longest path to it.
        let mut longest: BTreeMap<(i32, usize), (usize, f64)> =
            BTreeMap::from([((0, order[from]), (from, first))]);
        while let Some(((registers, _), (node, so_far))) = longest.pop_first() {
            for edge in &out[node] {
                let (to, registers) = (edge.to, registers + edge.registers);
                let delay = so_far + self.delays[to];
                if delay - first > period {
                    continue;
                }
                if delay > period {
                    add(from, to, 1 - registers);
                    continue;
                }
                let known = longest.entry((registers, order[to])).or_insert((to, delay));
                known.1 = delay.max(known.1);
            }
        }
    }
}

//! The known bits of each word in reset.

use super::graph::{Classes, Part};
use super::known::Known;
use crate::netlist::Operator;
use crate::rtl::structure::{Kind, Register};
use std::collections::HashMap;

impl Classes {
    /// Finds the known bits of each word in reset, with the inputs that `low` names at zero.
    ///
    /// # Panics
    /// If a register with a reset does not keep its value while its input follows from that: no register could be moved across it.
    pub(super) fn find_known(&mut self, low: &dyn Fn(&str) -> bool) {
        let Some(top) = self.modules.len().checked_sub(1) else { return };
        for port in self.modules[top].structure.clone().ports.iter().filter(|port| low(&port.name)) {
            port.slots.iter().for_each(|&slot| {
                self.modules[top].known[slot as usize] = Known::number(port.width, 0);
            });
        }
        while (0..self.modules.len()).rev().fold(false, |changed, class| self.spread(class) | changed) {}
        self.modules.iter().for_each(|class| {
            for node in &class.structure.nodes {
                if let Kind::Register(Register::Reset(value)) = node.kind {
                    let kept = class.known[node.inputs[1] as usize].all();
                    let name = &class.structure.tag.name;
                    assert_eq!(
                        kept,
                        Some(value),
                        "{name}.{}: a register that changes in reset",
                        node.label()
                    );
                }
            }
        });
    }

    /// Carries knowledge through a module and into its parts. Returns whether there is more of it.
    fn spread(&mut self, place: usize) -> bool {
        let structure = self.modules[place].structure.clone();
        let parts = self.modules[place].parts.clone();
        let mut known = self.modules[place].known.clone();
        let mut given: HashMap<usize, Vec<Known>> = HashMap::new();
        let mut changed = false;
        for (node, part) in structure.nodes.iter().zip(&parts) {
            let inputs: Vec<Known> = node.inputs.iter().map(|&slot| known[slot as usize]).collect();
            let outputs = match (part, &node.kind) {
                (Part::Leaf(class), _) => self.leaf_outputs(*class),
                (Part::Module(class), _) => {
                    let class = &self.modules[*class];
                    class.structure.output_slots().map(|slot| class.known[slot as usize]).collect()
                }
                (_, Kind::Register(Register::Reset(value))) => {
                    vec![Known::number(structure.widths[node.outputs[0] as usize], *value)]
                }
                (Part::Hold(_), _) if inputs[0].all() != Some(1) => vec![known[node.outputs[0] as usize]],
                _ => vec![inputs[inputs.len() - 1]],
            };
            for (&slot, output) in node.outputs.iter().zip(outputs) {
                changed |= std::mem::replace(&mut known[slot as usize], output) != output;
            }
            let (Part::Leaf(class) | Part::Module(class)) = *part else { continue };
            let class = if matches!(part, Part::Leaf(_)) { class } else { usize::MAX - class };
            let all = given.entry(class).or_insert_with(|| inputs.clone());
            all.iter_mut().zip(&inputs).for_each(|(all, input)| *all = all.common(*input));
        }
        self.modules[place].known = known;
        for (class, inputs) in given {
            changed |= if class < self.leaves.len() {
                self.settle_leaf(class, &inputs)
            } else {
                let class = &mut self.modules[usize::MAX - class];
                let slots: Vec<u32> = class.structure.input_slots().collect();
                let mut more = false;
                for (slot, input) in slots.into_iter().zip(inputs) {
                    more |= std::mem::replace(&mut class.known[slot as usize], input) != input;
                }
                more
            };
        }
        changed
    }

    fn leaf_outputs(&self, class: usize) -> Vec<Known> {
        let leaf = &self.leaves[class];
        leaf.steps.outputs.iter().map(|&output| leaf.known[output as usize]).collect()
    }

    fn settle_leaf(&mut self, class: usize, inputs: &[Known]) -> bool {
        let leaf = &mut self.leaves[class];
        let before = leaf.known.clone();
        for (place, step) in leaf.steps.steps.iter().enumerate() {
            let operands: Vec<Known> =
                step.operands.iter().map(|&operand| leaf.known[operand as usize]).collect();
            leaf.known[place] = match step.operator {
                Operator::Input(word) => inputs[word as usize],
                _ => Known::of_step(step, &operands),
            };
        }
        leaf.known != before
    }
}

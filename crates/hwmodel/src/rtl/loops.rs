//! Combinational loops: paths through leaves, without a register, that return to the word where they begin.
//!
//! Each described module is searched once, inner modules first. Of a part the search knows only the inputs on which each output depends.

use super::boundary::sources;
use super::leaf::Leaf;
use super::structure::{Kind, Structure};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// A combinational loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The module.
    pub module: String,
    /// The parts of the module on the loop, against the data flow.
    pub parts: Vec<String>,
}

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} has a combinational loop through {}", self.module, self.parts.join(", "))
    }
}

/// A combinational loop of a design, if it has one.
pub fn combinational_loop(design: &Arc<Structure>) -> Option<Loop> {
    Search::default().module(design).err()
}

/// For each output word of a part, the places of the input words on which it depends.
type Paths = Rc<[Vec<usize>]>;

/// The parts that have been searched.
#[derive(Default)]
struct Search {
    leaves: HashMap<*const (), Paths>,
    modules: HashMap<*const Structure, Paths>,
}

impl Search {
    fn leaf(&mut self, leaf: &Arc<dyn Leaf>) -> Paths {
        let inputs = |leaf: &dyn Leaf| {
            let places = |words: Vec<super::boundary::Source>| words.iter().map(|word| word.input).collect();
            sources(leaf).into_iter().map(places).collect()
        };
        self.leaves.entry(Arc::as_ptr(leaf).cast()).or_insert_with(|| inputs(&**leaf)).clone()
    }

    fn module(&mut self, module: &Arc<Structure>) -> Result<Paths, Loop> {
        if let Some(paths) = self.modules.get(&Arc::as_ptr(module)) {
            return Ok(paths.clone());
        }
        // The slots on which each slot depends, and the part that drives it.
        let mut from: Vec<Vec<u32>> = vec![Vec::new(); module.widths.len()];
        let mut parts = vec![String::new(); module.widths.len()];
        for node in &module.nodes {
            let paths = match &node.kind {
                Kind::Leaf(leaf) => self.leaf(leaf),
                Kind::Module(inner) => self.module(inner)?,
                Kind::Register(_) | Kind::Gate => continue,
            };
            for (&output, inputs) in node.outputs.iter().zip(&*paths) {
                from[output as usize] = inputs.iter().map(|&input| node.inputs[input]).collect();
                parts[output as usize] = node.label();
            }
        }
        if let Some(slots) = cycle(&from) {
            let parts = slots.into_iter().map(|slot| std::mem::take(&mut parts[slot as usize])).collect();
            return Err(Loop { module: module.tag.name.clone(), parts });
        }
        let paths = reached(module, &from);
        self.modules.insert(Arc::as_ptr(module), paths.clone());
        Ok(paths)
    }
}

/// The slots of a cycle, each of which depends on the next.
fn cycle(from: &[Vec<u32>]) -> Option<Vec<u32>> {
    let (mut seen, mut on_path) = (vec![false; from.len()], vec![false; from.len()]);
    let mut open: Vec<std::slice::Iter<u32>> = Vec::new();
    let mut path: Vec<u32> = Vec::new();
    for start in 0..from.len() as u32 {
        let mut next = Some(start).filter(|&start| !seen[start as usize]);
        loop {
            match next {
                Some(slot) if on_path[slot as usize] => {
                    return Some(path.into_iter().skip_while(|&first| first != slot).collect());
                }
                Some(slot) if !seen[slot as usize] => {
                    (seen[slot as usize], on_path[slot as usize]) = (true, true);
                    path.push(slot);
                    open.push(from[slot as usize].iter());
                }
                _ => {}
            }
            let Some(sources) = open.last_mut() else { break };
            next = sources.next().copied();
            if next.is_none() {
                open.pop();
                path.pop().into_iter().for_each(|slot| on_path[slot as usize] = false);
            }
        }
    }
    None
}

/// The inputs that each output of a module depends on.
fn reached(module: &Structure, from: &[Vec<u32>]) -> Paths {
    let inputs: HashMap<u32, usize> = module.input_slots().zip(0..).collect();
    // When a slot was seen, for the output of that number.
    let mut seen = vec![usize::MAX; from.len()];
    let of_output = |(output, slot): (usize, u32)| {
        let (mut found, mut open) = (Vec::new(), vec![slot]);
        while let Some(slot) = open.pop() {
            if std::mem::replace(&mut seen[slot as usize], output) != output {
                found.extend(inputs.get(&slot));
                open.extend(&from[slot as usize]);
            }
        }
        found
    };
    module.output_slots().enumerate().map(of_output).collect()
}

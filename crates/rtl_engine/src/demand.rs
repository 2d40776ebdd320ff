//! Demand-driven evaluation of the logic behind a clock gate.
//!
//! Logic that only D inputs, enables and resets of registers behind the gate depend on is deferred: at an edge with the gate low no register
//! captures it. It runs after the other logic of a cycle, and only if the gate is high or all nets are to be right.

use crate::job::Task;
use crate::register::{DataInput, Enable, RegisterGroup};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Tasks that only registers behind a gate depend on.
#[derive(Clone, Debug)]
pub(crate) struct Deferred {
    pub(crate) gate: u32,
    /// The word that is not zero if the tasks run with the gate low too.
    pub(crate) always: u32,
    pub(crate) tasks: Vec<Task>,
    /// Words of event flags, and the words that hold them until these tasks have run.
    pub(crate) held: Vec<(u32, u32)>,
}

impl Deferred {
    /// Takes the deferred tasks from `tasks`, behind the gate of the most registers, if there is a gate. `outputs` are words of output ports.
    pub(crate) fn of(
        tasks: &mut Vec<Task>,
        registers: &[RegisterGroup],
        outputs: impl Iterator<Item = u32>,
        memory: &mut u32,
    ) -> Option<Deferred> {
        let mut behind: FxHashMap<u32, u32> = FxHashMap::default();
        for group in registers {
            group.gate.into_iter().for_each(|gate| *behind.entry(gate).or_default() += group.words);
        }
        let (&gate, _) = behind.iter().max_by_key(|&(&gate, &words)| (words, gate))?;
        let mut needed: FxHashSet<u32> = outputs.chain([gate]).collect();
        registers
            .iter()
            .filter(|group| group.gate != Some(gate))
            .for_each(|group| needed.extend(read(group)));
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for task in std::mem::take(tasks).into_iter().rev() {
            match task.written().iter().any(|word| needed.contains(word)) {
                true => {
                    needed.extend(task.read());
                    first.push(task);
                }
                false => last.push(task),
            }
        }
        first.reverse();
        last.reverse();
        *tasks = first;
        let always = *memory;
        *memory += 1;
        let mut held = BTreeMap::new();
        for (word, _) in last.iter_mut().flat_map(Task::events_mut).flatten() {
            *word = *held.entry(*word).or_insert_with(|| {
                *memory += 1;
                *memory - 1
            });
        }
        Some(Deferred { gate, always, tasks: last, held: held.into_iter().collect() })
    }
}

/// All words that registers read at an edge.
fn read(group: &RegisterGroup) -> Vec<u32> {
    let mut all: Vec<u32> = group.controls().chain(group.reset.map(|(reset, _)| reset)).collect();
    match &group.d {
        DataInput::Vector(from) => all.extend(*from..from + group.words),
        DataInput::Words(list) => all.extend(list),
    }
    if let Some(Enable::Each(from)) = group.enable {
        all.extend(from..from + group.elements());
    }
    all
}

//! When values can move at all.
//!
//! Registers with an enable, or behind a clock gate, take something at few edges. A flag tells that they did, until logic has settled
//! behind that edge. What is computed from such registers alone can only move then, and need not be computed in other cycles.

use crate::held::Enable;
use crate::job::Job;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The set of events of what may move at any time.
pub(crate) const ALWAYS: usize = 0;

/// Events that are told apart in one value; more are any time.
const MOST: usize = 2;

/// Steps for a block of elements that are worth a look at a flag.
const WORTH: usize = 24;

/// Events, and with which of them each word of memory can move.
#[derive(Default)]
pub(crate) struct Events {
    /// Where the flags are.
    pub(crate) flags: Vec<u32>,
    known: FxHashMap<(Option<Enable>, Option<u32>), u32>,
    /// Sets of flags; the first one stands for any time.
    sets: Vec<Vec<u32>>,
    of_word: FxHashMap<u32, usize>,
}

impl Events {
    fn set(&mut self, flags: Vec<u32>) -> usize {
        if self.sets.is_empty() {
            self.sets.push(Vec::new());
        }
        if flags.len() > MOST {
            return ALWAYS;
        }
        // The first place is taken: a set of nothing is told from any time.
        match self.sets.iter().skip(1).position(|set| *set == flags) {
            Some(place) => place + 1,
            None => {
                self.sets.push(flags);
                self.sets.len() - 1
            }
        }
    }

    /// The flag of registers under an enable and a gate, whose words are these.
    pub(crate) fn of_registers(
        &mut self,
        controls: (Option<Enable>, Option<u32>),
        memory: &mut u32,
        q: Range<u32>,
    ) -> Option<u32> {
        if controls == (None, None) {
            return None;
        }
        let flag = *self.known.entry(controls).or_insert_with(|| {
            *memory += 1;
            self.flags.push(*memory - 1);
            *memory - 1
        });
        let set = self.set(vec![flag]);
        self.of_word.extend(q.map(|word| (word, set)));
        Some(flag)
    }

    /// Words that go elsewhere move as they did.
    pub(crate) fn copied(&mut self, list: &[(u32, u32)]) {
        for (from, to) in list {
            if let Some(&set) = self.of_word.get(from) {
                self.of_word.insert(*to, set);
            }
        }
    }

    fn of(&self, word: u32) -> usize {
        self.of_word.get(&word).copied().unwrap_or(ALWAYS)
    }

    /// With which events an input of a job moves, if it is the same for all elements.
    pub(crate) fn of_source(&self, job: &Job, place: usize) -> usize {
        let mut sets = job.read(place).map(|word| self.of(word));
        let first = sets.next().unwrap_or(ALWAYS);
        if sets.all(|set| set == first) { first } else { ALWAYS }
    }

    /// The flags of the events with which some words move, if they do not move at any time.
    pub(crate) fn of_words(&self, mut words: Range<u32>) -> Option<&[u32]> {
        let first = self.of(words.start);
        (first != ALWAYS && words.all(|word| self.of(word) == first)).then(|| self.sets[first].as_slice())
    }

    /// With which events a job's inputs move.
    pub(crate) fn of_sources(&mut self, job: &Job) -> usize {
        let mut flags = Vec::new();
        for place in 0..job.sources.len() {
            match self.of_source(job, place) {
                ALWAYS => return ALWAYS,
                set => flags.extend(&self.sets[set]),
            }
        }
        flags.sort_unstable();
        flags.dedup();
        self.set(flags)
    }

    /// Says when a job has to run, and with it its outputs move.
    pub(crate) fn of_job(&mut self, job: &mut Job) {
        let set = self.of_sources(job);
        if set == ALWAYS {
            return;
        }
        let blocks = job.elements.div_ceil(8) as usize;
        if job.steps.steps.len() * blocks > WORTH {
            job.when = self.sets[set].clone();
        }
        self.of_word.extend(job.written().into_iter().map(|word| (word, set)));
    }
}

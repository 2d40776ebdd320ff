//! Event-driven evaluation.
//!
//! Registers with a clock enable or a clock gate capture at few edges. Each control has an event flag, high from a capture until logic has
//! settled. Logic that depends on these registers alone has their flags as its event mask, and is skipped in other cycles.

use crate::job::Job;
use crate::register::Enable;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The event mask of words that may change in any cycle.
pub(crate) const ALWAYS: usize = 0;

/// The most flags of a mask; with more a word may change in any cycle.
const MOST: usize = 2;

/// The fewest steps, over all blocks, that are worth the test of a flag.
const WORTH: usize = 24;

/// Event flags, and the event mask of each word of memory.
#[derive(Default)]
pub(crate) struct EventFlags {
    /// The words of the flags.
    pub(crate) flags: Vec<u32>,
    known: FxHashMap<(Option<Enable>, Option<u32>), u32>,
    /// Masks, as lists of flags; the first one is [`ALWAYS`].
    masks: Vec<Vec<u32>>,
    of_word: FxHashMap<u32, usize>,
}

impl EventFlags {
    fn mask(&mut self, flags: Vec<u32>) -> usize {
        if self.masks.is_empty() {
            self.masks.push(Vec::new());
        }
        if flags.len() > MOST {
            return ALWAYS;
        }
        // The empty mask, of constants, differs from `ALWAYS`.
        match self.masks.iter().skip(1).position(|mask| *mask == flags) {
            Some(place) => place + 1,
            None => {
                self.masks.push(flags);
                self.masks.len() - 1
            }
        }
    }

    /// The flag of the registers `q` under an enable and a gate.
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
        let mask = self.mask(vec![flag]);
        self.of_word.extend(q.map(|word| (word, mask)));
        Some(flag)
    }

    /// Copied words have the masks of the originals.
    pub(crate) fn copied(&mut self, list: &[(u32, u32)]) {
        for (from, to) in list {
            if let Some(&mask) = self.of_word.get(from) {
                self.of_word.insert(*to, mask);
            }
        }
    }

    fn of(&self, word: u32) -> usize {
        self.of_word.get(&word).copied().unwrap_or(ALWAYS)
    }

    /// The mask of an input of a job, if all elements have the same.
    pub(crate) fn of_source(&self, job: &Job, place: usize) -> usize {
        let mut masks = job.read(place).map(|word| self.of(word));
        let first = masks.next().unwrap_or(ALWAYS);
        if masks.all(|mask| mask == first) { first } else { ALWAYS }
    }

    /// The flags of the common mask of some words, unless it is [`ALWAYS`].
    pub(crate) fn of_words(&self, mut words: Range<u32>) -> Option<&[u32]> {
        let first = self.of(words.start);
        (first != ALWAYS && words.all(|word| self.of(word) == first)).then(|| self.masks[first].as_slice())
    }

    /// The union of the masks of a job's inputs.
    pub(crate) fn of_sources(&mut self, job: &Job) -> usize {
        let mut flags = Vec::new();
        for place in 0..job.sources.len() {
            match self.of_source(job, place) {
                ALWAYS => return ALWAYS,
                mask => flags.extend(&self.masks[mask]),
            }
        }
        flags.sort_unstable();
        flags.dedup();
        self.mask(flags)
    }

    /// Sets the event mask of a job and of its outputs.
    pub(crate) fn of_job(&mut self, job: &mut Job) {
        let mask = self.of_sources(job);
        if mask == ALWAYS {
            return;
        }
        let blocks = job.elements.div_ceil(8) as usize;
        if job.steps.steps.len() * blocks > WORTH {
            job.events = self.masks[mask].clone();
        }
        self.of_word.extend(job.written().into_iter().map(|word| (word, mask)));
    }
}

//! Event-driven evaluation.
//!
//! Registers with a clock enable or a clock gate capture at few edges. Each pair of controls has an event flag, a bit that is high from a
//! capture until logic has settled. Logic that depends on these registers alone has their flags as its event mask, and is skipped in other
//! cycles.

use crate::job::{EventMask, IdleGating, Job, Snapshot};
use crate::register::Enable;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// The number of the event mask of words that may change in any cycle.
pub(crate) const ALWAYS: usize = 0;

/// The most words of flags of a mask; with more a word may change in any cycle.
const MOST: usize = 8;

/// The fewest steps, over all blocks, that are worth the test of a word of flags.
const WORTH: usize = 24;

/// The fewest steps for each word of a comparison with snapshots.
const WORTH_COMPARING: usize = 3;

/// Sets the flags of `from` too.
fn add(to: &mut EventMask, from: &[(u32, u32)]) {
    for &(word, bits) in from {
        match to.binary_search_by_key(&word, |flags| flags.0) {
            Ok(place) => to[place].1 |= bits,
            Err(place) => to.insert(place, (word, bits)),
        }
    }
}

/// Event flags, and the event mask of each word of memory.
#[derive(Default)]
pub(crate) struct EventFlags {
    /// The words of the flags.
    pub(crate) words: Vec<u32>,
    known: FxHashMap<(Option<Enable>, Option<u32>), (u32, u32)>,
    /// Masks by number; the first one is [`ALWAYS`].
    masks: Vec<EventMask>,
    numbers: FxHashMap<EventMask, usize>,
    of_word: FxHashMap<u32, usize>,
}

impl EventFlags {
    fn number(&mut self, mask: EventMask) -> usize {
        if self.masks.is_empty() {
            self.masks.push(EventMask::new());
        }
        if mask.len() > MOST {
            return ALWAYS;
        }
        // The empty mask, of constants, differs from `ALWAYS`.
        *self.numbers.entry(mask).or_insert_with_key(|mask| {
            self.masks.push(mask.clone());
            self.masks.len() - 1
        })
    }

    /// The flag of the registers `q` under an enable and a gate.
    pub(crate) fn of_registers(
        &mut self,
        controls: (Option<Enable>, Option<u32>),
        memory: &mut u32,
        q: Range<u32>,
    ) -> Option<(u32, u32)> {
        if controls == (None, None) {
            return None;
        }
        let bit = self.known.len() as u32 % u32::BITS;
        let flag = *self.known.entry(controls).or_insert_with(|| {
            if bit == 0 {
                self.words.push(*memory);
                *memory += 1;
            }
            (self.words[self.words.len() - 1], 1 << bit)
        });
        let mask = self.number(vec![flag]);
        self.of_word.extend(q.map(|word| (word, mask)));
        Some(flag)
    }

    /// Copied words have the masks of the originals. Returns the mask of the copy, if it is worth a test.
    pub(crate) fn copied(&mut self, list: &[(u32, u32)]) -> EventMask {
        for (from, to) in list {
            if let Some(&mask) = self.of_word.get(from) {
                self.of_word.insert(*to, mask);
            }
        }
        let mask = if list.len() > WORTH { self.union(list.iter().map(|&(from, _)| from)) } else { ALWAYS };
        self.flags(mask)
    }

    /// The flags of a mask, none of [`ALWAYS`].
    fn flags(&self, mask: usize) -> EventMask {
        self.masks.get(mask).cloned().unwrap_or_default()
    }

    fn of(&self, word: u32) -> usize {
        self.of_word.get(&word).copied().unwrap_or(ALWAYS)
    }

    /// The union of the masks of some words.
    fn union(&mut self, words: impl IntoIterator<Item = u32>) -> usize {
        let masks: FxHashSet<usize> = words.into_iter().map(|word| self.of(word)).collect();
        if masks.contains(&ALWAYS) {
            return ALWAYS;
        }
        let mut all = EventMask::new();
        masks.into_iter().for_each(|mask| add(&mut all, &self.masks[mask]));
        self.number(all)
    }

    /// The mask of an input of a job, the union over its elements.
    pub(crate) fn of_source(&mut self, job: &Job, place: usize) -> usize {
        self.union(job.read(place))
    }

    /// The flags of the mask of some words, unless it is [`ALWAYS`].
    pub(crate) fn of_words(&mut self, words: Range<u32>) -> Option<EventMask> {
        let mask = self.union(words);
        (mask != ALWAYS).then(|| self.flags(mask))
    }

    /// The union of the masks of a job's inputs.
    pub(crate) fn of_sources(&mut self, job: &Job) -> usize {
        self.union((0..job.sources.len()).flat_map(|place| job.read(place)))
    }

    /// Gates a job without an event mask: it is skipped while the inputs without a mask equal their snapshots, and no flag of the others is
    /// high. Not if the comparison does not pay.
    pub(crate) fn gate_by_comparison(&mut self, job: &mut Job, memory: &mut u32) {
        if job.gating.is_some() || !job.events.is_empty() {
            return;
        }
        let (mut events, mut compared) = (EventMask::new(), Vec::new());
        for word in (0..job.sources.len()).flat_map(|place| job.words_read(place)) {
            match self.of(word) {
                ALWAYS => compared.push(word),
                mask => add(&mut events, &self.masks[mask]),
            }
        }
        compared.sort_unstable();
        compared.dedup();
        if job.cost() < WORTH_COMPARING * (4 + compared.len() + events.len()) {
            return;
        }
        let valid = *memory;
        *memory += 1;
        let snapshots = compared.chunk_by(|a, b| a + 1 == *b).map(|run| {
            let (from, count, copy) = (run[0], run.len() as u32, *memory);
            *memory += count;
            Snapshot { from, count, copy, each: false }
        });
        job.gating = Some(IdleGating { gate: None, snapshots: snapshots.collect(), events, valid });
    }

    /// Sets the event mask of a job and of its outputs.
    pub(crate) fn of_job(&mut self, job: &mut Job) {
        let mask = self.of_sources(job);
        if mask == ALWAYS {
            return;
        }
        let flags = self.flags(mask);
        if job.cost() > WORTH * flags.len() {
            job.events = flags;
        }
        self.of_word.extend(job.written().into_iter().map(|word| (word, mask)));
    }
}

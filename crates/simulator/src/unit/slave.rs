//! A memory at an AXI4 port: it takes requests and answers them after some cycles.

use super::memory::{ErrorRange, Memory};
use super::signals::{Burst, MasterSide, MemorySide, ReadBeat, WriteAnswer, WriteBeat};
use crate::wrapper::{Pace, Side};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// How a memory behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryTiming {
    /// Cycles from a burst of reads to its first beat, and from the last beat of a burst of writes to its answer, at least 1.
    pub latency: u64,
    /// Random cycles more, up to this number.
    pub jitter: u64,
    /// Cycles from a beat of a read to the next, at least.
    pub gap: u64,
    /// Bursts of different IDs are answered in random order, and their beats interleave. Otherwise bursts are answered in the order in
    /// which they were taken.
    pub shuffled: bool,
    /// When it takes bursts of reads, bursts of writes and data.
    pub ready: Pace,
}

impl MemoryTiming {
    /// A memory with a latency that takes everything at once and answers in order, a beat in `gap` cycles.
    pub fn fixed(latency: u64, gap: u64) -> MemoryTiming {
        MemoryTiming { latency, jitter: 0, gap, shuffled: false, ready: Pace::Always }
    }

    /// One by chance.
    pub fn random(seed: u64) -> MemoryTiming {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        MemoryTiming {
            latency: rng.random_range(1..40),
            jitter: if rng.random() { rng.random_range(0..60) } else { 0 },
            gap: if rng.random() { rng.random_range(1..5) } else { 1 },
            shuffled: rng.random(),
            ready: Pace::ALL[rng.random_range(0..Pace::ALL.len())],
        }
    }
}

/// A burst of reads that was taken.
#[derive(Clone, Debug)]
struct ReadUnderWay {
    burst: Burst,
    /// Its place in [`MemoryPort::accesses`].
    access: usize,
    due: u64,
    /// Its next beat.
    next: u64,
}

/// An answer to a burst of writes.
#[derive(Clone, Debug)]
struct AnswerUnderWay {
    answer: WriteAnswer,
    /// The place of its burst in [`MemoryPort::accesses`].
    access: usize,
    due: u64,
}

/// A burst that was taken, for statistics and checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The burst.
    pub burst: Burst,
    /// It writes.
    pub writes: bool,
    /// The cycle in which its address was taken.
    pub cycle: u64,
    /// The cycle of its last beat, or of its answer; 0 while that has not come.
    pub ended: u64,
}

/// A memory, its port and the bursts that are under way.
pub struct MemoryPort {
    /// The bytes.
    pub memory: Memory,
    /// Addresses that answer with an error.
    pub errors: Vec<ErrorRange>,
    /// The bursts so far.
    pub accesses: Vec<Access>,
    timing: MemoryTiming,
    /// Bytes of the bus.
    bytes: u64,
    rng: ChaCha8Rng,
    sides: [Side; 3],
    reads: Vec<ReadUnderWay>,
    /// The beat that is offered.
    beat: Option<ReadBeat>,
    /// Cycle from which the next beat may come.
    free: u64,
    /// Bursts of writes, with their places in `accesses`.
    addresses: VecDeque<(Burst, usize)>,
    data: VecDeque<WriteBeat>,
    /// Beats of the first of `addresses` that are written.
    written: u64,
    answers: VecDeque<AnswerUnderWay>,
    answer: Option<WriteAnswer>,
}

/// Bursts and beats that a memory takes before it has answered the first of them.
const CAPACITY: usize = 256;

impl MemoryPort {
    /// A memory with a bus of `bits` bits.
    pub fn new(memory: Memory, bits: u32, timing: MemoryTiming, seed: u64) -> MemoryPort {
        let side = |n: u64| Side::new(timing.ready, seed.wrapping_mul(41).wrapping_add(n));
        MemoryPort {
            memory,
            errors: Vec::new(),
            accesses: Vec::new(),
            sides: [side(1), side(2), side(3)],
            timing,
            bytes: u64::from(bits / 8),
            rng: ChaCha8Rng::seed_from_u64(seed),
            reads: Vec::new(),
            beat: None,
            free: 0,
            addresses: VecDeque::new(),
            data: VecDeque::new(),
            written: 0,
            answers: VecDeque::new(),
            answer: None,
        }
    }

    /// Forgets all bursts that are under way, as at a reset of both sides.
    pub fn reset(&mut self) {
        self.reads.clear();
        self.addresses.clear();
        self.data.clear();
        self.answers.clear();
        (self.beat, self.answer, self.written) = (None, None, 0);
    }

    /// Nothing is under way.
    pub fn is_idle(&self) -> bool {
        let writes = self.addresses.len() + self.data.len() + self.answers.len();
        self.reads.is_empty() && writes == 0 && self.beat.is_none() && self.answer.is_none()
    }

    /// The signals of a cycle. To be called once a cycle.
    pub fn offer(&mut self, cycle: u64) -> MemorySide {
        if self.beat.is_none() && self.free <= cycle {
            self.beat = self.next_beat(cycle);
        }
        if self.answer.is_none() && self.answers.front().is_some_and(|answer| answer.due <= cycle) {
            self.answer = self.answers.pop_front().map(|answer| {
                self.accesses[answer.access].ended = cycle;
                answer.answer
            });
        }
        let [ar, aw, w] = &mut self.sides;
        MemorySide {
            arready: ar.acts() && self.reads.len() < CAPACITY,
            awready: aw.acts() && self.addresses.len() < CAPACITY,
            wready: w.acts() && self.data.len() < CAPACITY,
            b: self.answer,
            r: self.beat.clone(),
        }
    }

    /// The next beat of a burst that is due. A burst waits for the bursts of its ID that were taken before it.
    fn next_beat(&mut self, cycle: u64) -> Option<ReadBeat> {
        let first = |n: usize| self.reads[..n].iter().all(|read| read.burst.id != self.reads[n].burst.id);
        let may = if self.timing.shuffled { self.reads.len() } else { self.reads.len().min(1) };
        let due: Vec<usize> = (0..may).filter(|&n| self.reads[n].due <= cycle && first(n)).collect();
        let n = match due[..] {
            [] => return None,
            [n] => n,
            _ => due[self.rng.random_range(0..due.len())],
        };
        let ReadUnderWay { burst, access, next, .. } = self.reads[n].clone();
        let range = burst.beat(next);
        // Bytes of the bus outside of the beat are noise.
        let base = range.start & !(self.bytes - 1);
        let noise: u64 = self.rng.random();
        let word = |word: u64| {
            let base = base + 8 * word;
            if range.start <= base && base + 8 <= range.end {
                return self.memory.word(base);
            }
            let inside = (0..8).filter(|lane| range.contains(&(base + lane)));
            let mask = inside.fold(0, |mask, lane| mask | 0xff << (8 * lane));
            self.memory.word(base) & mask | noise & !mask
        };
        let data = (0..self.bytes / 8).map(word).collect();
        let last = next == burst.len;
        match last {
            true => {
                self.accesses[access].ended = cycle;
                self.reads.remove(n);
            }
            false => self.reads[n].next += 1,
        }
        self.free = cycle + self.timing.gap;
        Some(ReadBeat { id: burst.id, data, resp: ErrorRange::answer(&self.errors, &range), last })
    }

    /// Takes the transfers of a cycle.
    pub fn advance(&mut self, cycle: u64, offered: &MemorySide, master: &MasterSide) {
        let seen = [master.ar.is_some(), master.aw.is_some(), master.w.is_some()];
        self.sides.iter_mut().zip(seen).for_each(|(side, seen)| side.saw(seen));
        if offered.r.is_some() && master.rready {
            self.beat = None;
        }
        if offered.b.is_some() && master.bready {
            self.answer = None;
        }
        if let Some(burst) = master.ar.filter(|_| offered.arready) {
            let due = self.due(cycle);
            self.reads.push(ReadUnderWay { burst, access: self.accesses.len(), due, next: 0 });
            self.accesses.push(Access { burst, writes: false, cycle, ended: 0 });
        }
        if let Some(burst) = master.aw.filter(|_| offered.awready) {
            self.addresses.push_back((burst, self.accesses.len()));
            self.accesses.push(Access { burst, writes: true, cycle, ended: 0 });
        }
        if let Some(beat) = master.w.as_ref().filter(|_| offered.wready) {
            self.data.push_back(beat.clone());
        }
        self.write(cycle);
    }

    /// The cycle of an answer to something that was taken in this cycle.
    fn due(&mut self, cycle: u64) -> u64 {
        cycle + self.timing.latency.max(1) + self.rng.random_range(0..=self.timing.jitter)
    }

    /// Writes the data whose addresses have come.
    fn write(&mut self, cycle: u64) {
        while let (Some((burst, access)), false) = (self.addresses.front().copied(), self.data.is_empty()) {
            let Some(beat) = self.data.pop_front() else { return };
            let range = burst.beat(self.written);
            let base = range.start & !(self.bytes - 1);
            let lanes = (0..self.bytes).filter(|lane| beat.strobes >> lane & 1 != 0);
            for lane in lanes.filter(|_| ErrorRange::answer(&self.errors, &range) == super::OKAY) {
                let word = beat.data.get((lane / 8) as usize).copied().unwrap_or(0);
                self.memory.set(base + lane, (word >> (lane % 8 * 8)) as u8);
            }
            self.written += 1;
            if self.written > burst.len {
                self.written = 0;
                self.addresses.pop_front();
                let resp = ErrorRange::answer(&self.errors, &burst.range());
                // Answers of one ID are in order.
                let due = self.due(cycle).max(self.answers.back().map_or(0, |answer| answer.due));
                let answer = WriteAnswer { id: burst.id, resp };
                self.answers.push_back(AnswerUnderWay { answer, access, due });
            }
        }
    }
}

//! The value changes of an FST: blocks of chains.
//!
//! A chain lists the changes of one variable: the distance from its last change, in times of the block's list, and the value. For a
//! single bit one number has all, `time << 2 | bit << 1`. For a bus the number is `time << 1`, followed by the bits from the top of
//! the first byte on. For a decimal it is `time << 1 | 1`, followed by the eight bytes of an f64. (GTKWave's `fstapi.c` has the
//! format; marks for bits that are neither 0 nor 1 are of no use here.)

use super::super::sink::{Column, Kind, Variable};

/// Changes of a block: enough that most repetitions in a chain are within reach of zlib.
const CHANGES: usize = 4_000_000;
/// Changes that become bytes together.
const TOGETHER: usize = 64;
/// Bytes of the longest time before a value, and of the value.
const LONGEST_TIME: usize = 10;
const LONGEST_VALUE: usize = 8;

impl Kind {
    /// Bytes of a value, after its time.
    pub(super) fn bytes(self) -> usize {
        match self {
            Kind::Bits(1) => 0,
            Kind::Bits(width) => width.div_ceil(8) as usize,
            Kind::Real => LONGEST_VALUE,
        }
    }
}

/// A variable in a block.
#[derive(Clone)]
pub(super) struct Chain {
    pub kind: Kind,
    pub bytes: Vec<u8>,
    /// Its value at the start of the block.
    pub first: Option<u64>,
    /// The place of its last change among the times.
    time: u64,
    last: Option<u64>,
}

/// Changes of all variables in some time.
#[derive(Clone)]
pub(super) struct Block {
    /// Chains of the variables with handles from 1 on.
    pub chains: Vec<Chain>,
    /// Differences of the times, how many they are, the first and the last one.
    pub times: Vec<u8>,
    pub count: u64,
    pub begin: u64,
    pub now: u64,
    changes: usize,
}

impl Block {
    /// Before the first time.
    pub(super) fn new(kinds: &[Kind]) -> Block {
        let chain = |&kind: &Kind| Chain { kind, bytes: Vec::new(), first: None, time: 0, last: None };
        Block {
            chains: kinds.iter().map(chain).collect(),
            times: Vec::new(),
            count: 0,
            begin: 0,
            now: 0,
            changes: 0,
        }
    }

    /// Makes this the block that follows another one.
    pub(super) fn follow(&mut self, other: &Block) {
        for (chain, before) in self.chains.iter_mut().zip(&other.chains) {
            chain.bytes.clear();
            (chain.time, chain.first, chain.last) = (0, before.last, before.last);
        }
        self.times.clear();
        (self.count, self.changes) = (0, 0);
    }

    /// What follows happens at a time, which is not before the last one.
    pub(super) fn time(&mut self, time: u64) {
        let since = if self.count == 0 { time } else { time - self.now };
        if self.count == 0 {
            self.begin = time;
        } else if since == 0 {
            return;
        }
        put_number(since, &mut self.times);
        self.count += 1;
        self.now = time;
    }

    /// How many times there are.
    pub(super) fn times(&self) -> u64 {
        self.count
    }

    /// Enough for a block.
    pub(super) fn is_full(&self) -> bool {
        self.changes >= CHANGES
    }

    /// A variable of one bit changes at the last time.
    pub(super) fn change_bit(&mut self, variable: Variable, bit: u64) {
        let time = self.count - 1;
        self.changes += 1;
        let chain = &mut self.chains[variable as usize - 1];
        put_number((time - chain.time) << 2 | bit << 1, &mut chain.bytes);
        (chain.time, chain.last) = (time, Some(bit));
    }

    /// A variable changes in cycles, each of two times, from a place among the times on.
    pub(super) fn changes(&mut self, column: &Column, from: u64) {
        let Column { variable, kind, ref changes } = *column;
        let Some(&(_, last)) = changes.last() else { return };
        self.changes += changes.len();
        let chain = &mut self.chains[variable as usize - 1];
        chain.last = Some(last);
        match kind {
            Kind::Bits(1) => chain.put::<0>(changes, from, |since, bit| (since << 2 | bit << 1, [])),
            Kind::Bits(width) => {
                let value = |since: u64, bits: u64| (since << 1, (bits << (64 - width)).to_be_bytes());
                chain.put(changes, from, value);
            }
            Kind::Real => chain.put(changes, from, |since, value| (since << 1 | 1, value.to_ne_bytes())),
        }
    }
}

impl Chain {
    /// Appends changes, each as a number and the first bytes of a value.
    fn put<const VALUE: usize>(
        &mut self,
        changes: &[(u32, u64)],
        from: u64,
        record: impl Fn(u64, u64) -> (u64, [u8; VALUE]),
    ) {
        let bytes = self.kind.bytes();
        // Writes whole values; the next record overwrites unused bytes. This is faster than copying the exact length.
        let mut buffer = [0; TOGETHER * (LONGEST_TIME + LONGEST_VALUE) + LONGEST_VALUE];
        for some in changes.chunks(TOGETHER) {
            let mut at = 0;
            for &(cycle, value) in some {
                let time = from + 2 * u64::from(cycle);
                let (mut number, value) = record(time - self.time, value);
                self.time = time;
                while number >= 0x80 {
                    buffer[at] = number as u8 | 0x80;
                    number >>= 7;
                    at += 1;
                }
                buffer[at] = number as u8;
                at += 1;
                buffer[at..at + VALUE].copy_from_slice(&value);
                at += bytes;
            }
            self.bytes.extend_from_slice(&buffer[..at]);
        }
    }
}

/// A number in parts of seven bits, the lowest first.
fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

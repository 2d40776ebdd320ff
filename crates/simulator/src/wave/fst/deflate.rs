//! Zlib streams (RFC 1950 and 1951) of the chains of an FST.
//!
//! A chain is a list of records, each a time and a value of a fixed number of bytes. Two things repeat in it: bytes that are a record
//! apart (the time, the zeros of a decimal), and whole records of long before (a key that comes again with every query). General
//! compressors look for repetitions at every byte, and took nine tenths of the time of a recording; here they are looked for where they
//! can be.

mod bits;
mod huffman;

use bits::Bits;
use huffman::{Code, put_codes};

/// As far as a match may reach back.
const WINDOW: usize = 32_768;
/// Bytes of the longest match, and of the shortest.
const LONGEST: usize = 258;
const SHORTEST: usize = 3;
/// Bits of a record's hash.
const HASH_BITS: u32 = 12;
/// Bytes whose marks are looked at together.
const SEEN: usize = 56;
/// Bytes that are hashed or compared at once.
const WORD: usize = 8;
/// No record has had this hash.
const NONE: u32 = u32::MAX;
/// The symbol behind the last one of a block.
const END: usize = 256;

/// The first length of each symbol from 257 on, and how many more bits it has.
const LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// The symbol of a length.
fn length_symbol(length: usize) -> usize {
    LENGTHS.partition_point(|&(first, _)| usize::from(first) <= length) - 1
}

/// The symbol of a distance, its first distance, and how many more bits it has.
fn distance_symbol(distance: usize) -> (usize, usize, u8) {
    let from_0 = distance - 1;
    if from_0 < 4 {
        return (from_0, distance, 0);
    }
    // Two symbols for each power of two.
    let bits = from_0.ilog2() - 1;
    let half = from_0 >> bits & 1;
    (2 * bits as usize + 2 + half, ((2 + half) << bits) + 1, bits as u8)
}

/// Compresses chain after chain with the same memory.
pub(super) struct Deflate {
    steps: Vec<Step>,
    /// Where the last record with a hash began.
    records: Vec<u32>,
    /// A bit a byte: whether it is that of one record before.
    marks: Vec<u8>,
    out: Vec<u8>,
}

/// Bytes as they are, then a match.
#[derive(Clone, Copy)]
struct Step {
    bytes: u32,
    length: u16,
    /// Less one.
    distance: u16,
}

impl Default for Deflate {
    fn default() -> Self {
        Deflate { steps: Vec::new(), records: vec![NONE; 1 << HASH_BITS], marks: Vec::new(), out: Vec::new() }
    }
}

impl Deflate {
    /// A zlib stream of a chain, whose values have so many bytes each; nothing if it were no shorter than the chain.
    pub(super) fn compress(&mut self, chain: &[u8], value: usize) -> Option<&[u8]> {
        self.find(chain, value);
        self.out.clear();
        // Deflate with a window of 32 KiB; the second byte makes the two a multiple of 31.
        self.out.extend([0x78, 0x01]);
        self.put_block(chain);
        self.out.extend(adler32(chain).to_be_bytes());
        (self.out.len() < chain.len()).then_some(&self.out)
    }

    /// Tells what repeats: records of before where a record begins, and between those what is as a record before. What is behind the last
    /// step are bytes as they are.
    fn find(&mut self, chain: &[u8], value: usize) {
        self.steps.clear();
        self.records.fill(NONE);
        let period = 1 + value;
        self.compare(chain, period);
        let (mut at, mut record) = (0, 0);
        // The last bytes of a chain begin no match.
        while let Some(first) = word(chain, record) {
            let before = &mut self.records[hash(first)];
            let from = std::mem::replace(before, record as u32);
            // Mostly the time has one byte: what is guessed need not be waited for.
            let time = match first & 0x80 {
                0 => 1,
                _ => (!first & 0x8080_8080_8080_8080).trailing_zeros() as usize / 8 + 1,
            };
            let end = record + time + value;
            // The last match may have taken some of this record already.
            if from != NONE && at < end && record - from as usize <= WINDOW {
                let ahead = at.saturating_sub(record);
                let from = from as usize + ahead;
                let length = same(chain, from, record + ahead);
                // A match far back takes the bits of some three bytes.
                if length >= WORD {
                    at = self.find_period(at, record + ahead, period);
                    self.put_match(record + ahead - at, length, record + ahead - from);
                    at = record + ahead + length;
                }
            }
            record = end;
        }
        self.find_period(at, chain.len(), period);
    }

    /// Marks the bytes that are as those a period before, from the first one that has such on.
    fn compare(&mut self, chain: &[u8], period: usize) {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        self.marks.clear();
        let now = chain.get(period..).unwrap_or_default().as_chunks::<WORD>().0;
        let pairs = now.iter().zip(chain.as_chunks::<WORD>().0);
        self.marks.extend(pairs.map(|(now, before)| {
            let differ = u64::from_le_bytes(*now) ^ u64::from_le_bytes(*before);
            // The top bit of each byte that is the same; then all of them in one byte.
            let same = !(((differ & LOW) + LOW) | differ | LOW) >> 7;
            (same.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
        }));
        self.marks.extend([0; WORD]);
    }

    /// What is the same as a period before, between two places. Returns where the last of it ends.
    fn find_period(&mut self, from: usize, to: usize, period: usize) -> usize {
        let mut bytes = from;
        let mut at = from.max(period);
        while at < to {
            let marks = self.marks_from(at - period);
            let starts = marks & marks >> 1 & marks >> 2;
            if starts == 0 {
                at += SEEN - 2;
                continue;
            }
            let skip = starts.trailing_zeros() as usize;
            let mut length = (!(marks >> skip)).trailing_zeros() as usize;
            at += skip;
            if skip + length == SEEN {
                loop {
                    let more = (!self.marks_from(at - period + length)).trailing_zeros() as usize;
                    length += more;
                    if more < SEEN {
                        break;
                    }
                }
            }
            let length = length.min(to.saturating_sub(at));
            if length >= SHORTEST {
                self.put_match(at - bytes, length, period);
                bytes = at + length;
            }
            at += length;
        }
        bytes
    }

    /// Marks of some bytes.
    #[inline]
    fn marks_from(&self, at: usize) -> u64 {
        word(&self.marks, at / 8).unwrap_or(0) >> (at % 8) & ((1 << SEEN) - 1)
    }

    /// So many bytes as they are, and a match of any length from 3 on.
    fn put_match(&mut self, bytes: usize, mut length: usize, distance: usize) {
        let mut bytes = bytes as u32;
        let distance = (distance - 1) as u16;
        while length > LONGEST {
            // What is left is no match of one byte or two.
            let part = if length < LONGEST + SHORTEST { LONGEST - SHORTEST } else { LONGEST };
            self.steps.push(Step { bytes, length: part as u16, distance });
            bytes = 0;
            length -= part;
        }
        self.steps.push(Step { bytes, length: length as u16, distance });
    }

    /// All steps as one block with codes of its own.
    fn put_block(&mut self, chain: &[u8]) {
        let (mut symbols, mut distances) = ([0u32; 286], [0u32; 30]);
        // Two of each, as a count waits for the one before if it is of the same.
        let mut counts = [[0u32; 256]; 2];
        let mut lengths = [0u32; LONGEST + 1];
        // Few bytes are counted without branches, which would mostly be guessed wrong.
        let mut count_bytes = |rest: &[u8], count: usize| {
            if let (Some(three), ..=3) = (rest.first_chunk::<3>(), count) {
                for (i, byte) in three.iter().enumerate() {
                    counts[i & 1][usize::from(*byte)] += u32::from(i < count);
                }
                return;
            }
            let bytes = &rest[..count];
            let (pairs, rest) = bytes.as_chunks::<2>();
            for pair in pairs {
                counts[0][usize::from(pair[0])] += 1;
                counts[1][usize::from(pair[1])] += 1;
            }
            rest.iter().for_each(|byte| counts[0][usize::from(*byte)] += 1);
        };
        let mut rest = chain;
        // How often the last distance has come.
        let (mut known, mut run) = (0, 0);
        for step in &self.steps {
            count_bytes(rest, step.bytes as usize);
            lengths[usize::from(step.length)] += 1;
            if known != step.distance {
                distances[distance_symbol(usize::from(known) + 1).0] += run;
                (known, run) = (step.distance, 0);
            }
            run += 1;
            rest = &rest[step.bytes as usize + usize::from(step.length)..];
        }
        distances[distance_symbol(usize::from(known) + 1).0] += run;
        count_bytes(rest, rest.len());
        let last = rest;
        (0..256).for_each(|byte| symbols[byte] = counts[0][byte] + counts[1][byte]);
        (SHORTEST..=LONGEST).for_each(|length| symbols[257 + length_symbol(length)] += lengths[length]);
        symbols[END] = 1;
        let (symbols, distances) = (Code::of(&symbols, 15), Code::of(&distances, 15));
        // Of each length its whole code, and how long that is.
        let lengths: [(u32, u32); LONGEST + 1] = std::array::from_fn(|length| {
            if length < SHORTEST {
                return (0, 0);
            }
            let symbol = length_symbol(length);
            let ((code, bits), (first, more)) = (symbols.of_symbol(257 + symbol), LENGTHS[symbol]);
            (code | (length as u32 - u32::from(first)) << bits, bits + u32::from(more))
        });
        let literals: [(u32, u32); 256] = std::array::from_fn(|byte| symbols.of_symbol(byte));
        let mut bits = Bits::new(&mut self.out, 2 * chain.len() + 6 * self.steps.len());
        // The last block, of the kind with codes of its own.
        bits.put(1, 1);
        bits.put(2, 2);
        put_codes(&mut bits, &symbols, &distances);
        let mut known = (u16::MAX, (0, 0));
        let mut rest = chain;
        for step in &self.steps {
            bits.put_bytes(rest, step.bytes as usize, &literals);
            let (code, width) = lengths[usize::from(step.length)];
            // Mostly that of the match before.
            if known.0 != step.distance {
                let distance = usize::from(step.distance) + 1;
                let (symbol, first, more) = distance_symbol(distance);
                let (code, width) = distances.of_symbol(symbol);
                known =
                    (step.distance, (code | ((distance - first) as u32) << width, width + u32::from(more)));
            }
            let (far, wide) = known.1;
            bits.add(u64::from(code) | u64::from(far) << width, width + wide);
            bits.flush();
            rest = &rest[step.bytes as usize + usize::from(step.length)..];
        }
        bits.put_bytes(last, last.len(), &literals);
        let (code, length) = symbols.of_symbol(END);
        bits.put(code, length);
        bits.end();
    }
}

fn hash(word: u64) -> usize {
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - HASH_BITS)) as usize
}

/// How many bytes from `from` on are those from `at` on, which is behind it. (Of the last bytes of a chain some are not counted.)
#[inline]
fn same(bytes: &[u8], from: usize, at: usize) -> usize {
    let mut count = 0;
    while let (Some(before), Some(now)) = (word(bytes, from + count), word(bytes, at + count)) {
        let differ = before ^ now;
        if differ != 0 {
            return count + differ.trailing_zeros() as usize / 8;
        }
        count += WORD;
    }
    count
}

#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map(|word| u64::from_le_bytes(*word))
}

/// The check sum at the end of a zlib stream.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    /// Bytes of a row, and the most rows whose sums of sums fit 16 bits.
    const ROW: usize = 32;
    const ROWS: usize = 22;
    let (mut a, mut b) = (1u32, 0u32);
    for chunk in bytes.chunks(ROW * ROWS) {
        let (rows, rest) = chunk.as_chunks::<ROW>();
        // Each column's sum, and the sum of what that was before each row.
        let (mut sums, mut before) = ([0u16; ROW], [0u16; ROW]);
        for row in rows {
            for i in 0..ROW {
                before[i] += sums[i];
                sums[i] += u16::from(row[i]);
            }
        }
        // Each byte counts once for every one that follows it.
        b += a * (ROW * rows.len()) as u32;
        for (i, (&sum, &before)) in sums.iter().zip(&before).enumerate() {
            a += u32::from(sum);
            b += ROW as u32 * u32::from(before) + (ROW - i) as u32 * u32::from(sum);
        }
        for &byte in rest {
            a += u32::from(byte);
            b += a;
        }
        (a, b) = (a % MODULUS, b % MODULUS);
    }
    b << 16 | a
}

#[cfg(test)]
mod tests;

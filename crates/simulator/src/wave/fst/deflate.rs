//! Zlib streams (RFC 1950 and 1951) of the chains of an FST.
//!
//! A chain is a list of records, each a time and a value of a fixed number of bytes. Two things repeat in it: bytes that are a record
//! apart (the time, the zeros of a decimal), and whole records of long before (a key that comes again with every query). General
//! compressors look for repetitions at every byte, and took nine tenths of the time of a recording; here they are looked for where they
//! can be.

mod huffman;

use huffman::{Code, put_codes};
use std::ops::Range;

/// As far as a match may reach back.
const WINDOW: usize = 32_768;
/// Bytes of the longest match, and of the shortest.
const LONGEST: usize = 258;
const SHORTEST: usize = 3;
/// Bits of a record's hash.
const HASH_BITS: u32 = 12;
/// Bytes that are hashed.
const HASHED: usize = 8;
/// No record has had this hash.
const NONE: u32 = u32::MAX;
/// The symbol behind the last one of a block.
const END: usize = 256;
/// What marks a token as a match.
const MATCH: u32 = 1 << 31;

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
    /// Bytes, and matches as `MATCH | length << 16 | distance - 1`.
    tokens: Vec<u32>,
    /// Where the last record with a hash began.
    records: Vec<u32>,
    out: Vec<u8>,
}

impl Default for Deflate {
    fn default() -> Self {
        Deflate { tokens: Vec::new(), records: vec![NONE; 1 << HASH_BITS], out: Vec::new() }
    }
}

impl Deflate {
    /// A zlib stream of a chain, whose values have so many bytes each; nothing if it were no shorter than the chain.
    pub(super) fn compress(&mut self, chain: &[u8], value: usize) -> Option<&[u8]> {
        self.find(chain, value);
        self.out.clear();
        // Deflate with a window of 32 KiB; the second byte makes the two a multiple of 31.
        self.out.extend([0x78, 0x01]);
        self.put_block();
        self.out.extend(adler32(chain).to_be_bytes());
        (self.out.len() < chain.len()).then_some(&self.out)
    }

    /// Tells what repeats.
    fn find(&mut self, chain: &[u8], value: usize) {
        self.tokens.clear();
        self.records.fill(NONE);
        let period = 1 + value;
        let (mut at, mut record) = (0, 0);
        while record < chain.len() {
            let time = chain[record..].iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
            let end = (record + time + value).min(chain.len());
            if let Some(hashed) = chain.get(record..record + HASHED) {
                let before = &mut self.records[hash(hashed)];
                let from = std::mem::replace(before, record as u32);
                // The last match may have taken some of this record already.
                if at < end && from != NONE && record - from as usize <= WINDOW {
                    let from = from as usize + (at - record);
                    let length = same(chain, from, at..chain.len());
                    // A match far back takes the bits of some three bytes.
                    if length >= HASHED {
                        self.put_match(length, at - from);
                        at += length;
                    }
                }
            }
            while at < end {
                let length = match at >= period {
                    true => same(chain, at - period, at..chain.len().min(at + LONGEST)),
                    false => 0,
                };
                if length >= SHORTEST {
                    self.put_match(length, period);
                    at += length;
                } else {
                    self.tokens.push(chain[at].into());
                    at += 1;
                }
            }
            record = end;
        }
    }

    /// A match of any length from 3 on.
    fn put_match(&mut self, mut length: usize, distance: usize) {
        while length > 0 {
            // What is left is no match of one byte or two.
            let part = match length {
                ..=LONGEST => length,
                259 | 260 => LONGEST - SHORTEST,
                _ => LONGEST,
            };
            self.tokens.push(MATCH | (part as u32) << 16 | (distance as u32 - 1));
            length -= part;
        }
    }

    /// All tokens as one block with codes of its own.
    fn put_block(&mut self) {
        let (mut symbols, mut distances) = ([0u32; 286], [0u32; 30]);
        for &token in &self.tokens {
            match parts(token) {
                None => symbols[token as usize] += 1,
                Some((length, distance)) => {
                    symbols[257 + length_symbol(length)] += 1;
                    distances[distance_symbol(distance).0] += 1;
                }
            }
        }
        symbols[END] = 1;
        let (symbols, distances) = (Code::of(&symbols, 15), Code::of(&distances, 15));
        // Of each length its whole code, and how long that is.
        let lengths: Vec<(u32, u32)> = (0..=LONGEST)
            .map(|length| {
                if length < SHORTEST {
                    return (0, 0);
                }
                let symbol = length_symbol(length);
                let ((code, bits), (first, more)) = (symbols.of_symbol(257 + symbol), LENGTHS[symbol]);
                (code | (length as u32 - u32::from(first)) << bits, bits + u32::from(more))
            })
            .collect();
        let mut bits = Bits::new(&mut self.out, self.tokens.len());
        // The last block, of the kind with codes of its own.
        bits.put(1, 1);
        bits.put(2, 2);
        put_codes(&mut bits, &symbols, &distances);
        let mut last = (0, (0, 0, 0));
        for &token in &self.tokens {
            match parts(token) {
                None => {
                    let (code, length) = symbols.of_symbol(token as usize);
                    bits.put(code, length);
                }
                Some((length, distance)) => {
                    let (code, width) = lengths[length];
                    bits.put(code, width);
                    // Mostly that of the match before.
                    if last.0 != distance {
                        last = (distance, distance_symbol(distance));
                    }
                    let (symbol, first, more) = last.1;
                    let (code, width) = distances.of_symbol(symbol);
                    bits.put(code | ((distance - first) as u32) << width, width + u32::from(more));
                }
            }
        }
        let (code, length) = symbols.of_symbol(END);
        bits.put(code, length);
        bits.end();
    }
}

/// Length and distance of a match; nothing of a byte.
fn parts(token: u32) -> Option<(usize, usize)> {
    (token & MATCH != 0).then_some(((token >> 16 & 0x1ff) as usize, (token & 0xffff) as usize + 1))
}

fn hash(bytes: &[u8]) -> usize {
    let word = bytes.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - HASH_BITS)) as usize
}

/// How many bytes from `from` on are those of a range behind it.
fn same(bytes: &[u8], from: usize, of: Range<usize>) -> usize {
    let most = of.len();
    let (before, now) = (&bytes[from..from + most], &bytes[of]);
    let mut count = 0;
    for (a, b) in before.as_chunks::<8>().0.iter().zip(now.as_chunks::<8>().0) {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 {
            return count + differ.trailing_zeros() as usize / 8;
        }
        count += 8;
    }
    count + before[count..].iter().zip(&now[count..]).take_while(|(a, b)| a == b).count()
}

/// The check sum at the end of a zlib stream.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    /// The most bytes, in parts of 32, whose sums fit 32 bits.
    const CHUNK: usize = 5536;
    let (mut a, mut b) = (1u32, 0u32);
    for chunk in bytes.chunks(CHUNK) {
        let (whole, rest) = chunk.as_chunks::<32>();
        for part in whole {
            // Each byte counts once for every one that follows it.
            b += 32 * a + part.iter().zip(0..).map(|(&byte, i)| u32::from(byte) * (32 - i)).sum::<u32>();
            a += part.iter().map(|&byte| u32::from(byte)).sum::<u32>();
        }
        for &byte in rest {
            a += u32::from(byte);
            b += a;
        }
        (a, b) = (a % MODULUS, b % MODULUS);
    }
    b << 16 | a
}

/// Bits that are put behind bytes, the lowest first.
struct Bits<'a> {
    out: &'a mut Vec<u8>,
    at: usize,
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    /// Behind what is there already, with room for so many tokens.
    fn new(out: &'a mut Vec<u8>, tokens: usize) -> Bits<'a> {
        let at = out.len();
        // The longest code of a match is of 15 + 5 + 15 + 13 bits; the codes themselves take less than the rest.
        out.resize(at + 6 * tokens + 1024, 0);
        Bits { out, at, held: 0, count: 0 }
    }

    /// At most 31 bits.
    #[inline]
    fn put(&mut self, bits: u32, count: u32) {
        self.held |= u64::from(bits) << self.count;
        self.count += count;
        if self.count >= 32 {
            self.out[self.at..self.at + 4].copy_from_slice(&(self.held as u32).to_le_bytes());
            self.at += 4;
            self.held >>= 32;
            self.count -= 32;
        }
    }

    fn end(self) {
        let bytes = self.count.div_ceil(8) as usize;
        self.out[self.at..self.at + 8].copy_from_slice(&self.held.to_le_bytes());
        self.out.truncate(self.at + bytes);
    }
}

#[cfg(test)]
mod tests;

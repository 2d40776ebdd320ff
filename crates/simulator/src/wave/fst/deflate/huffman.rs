//! Huffman codes of deflate.

use super::bits::Bits;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The order in which the lengths of the code for lengths are written.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Bits of the longest code for a length.
const LONGEST_OF_LENGTHS: u32 = 7;

/// A code: for each symbol its bits, the first one lowest, and how many they are.
pub(super) struct Code {
    codes: Vec<(u32, u32)>,
}

impl Code {
    /// The shortest code for symbols that come so often, none longer than a limit.
    pub(super) fn of(counts: &[u32], limit: u32) -> Code {
        let mut counts = counts.to_vec();
        // A complete code has two symbols at least. What is added is not used.
        for symbol in 0..2 {
            if counts.iter().filter(|count| **count > 0).count() < 2 && counts[symbol] == 0 {
                counts[symbol] = 1;
            }
        }
        loop {
            let lengths = lengths(&counts);
            if lengths.iter().all(|length| *length <= limit) {
                return Code::of_lengths(&lengths);
            }
            // Flatter counts make a flatter tree: rare symbols of such a chain are too rare for it to matter.
            counts.iter_mut().filter(|count| **count > 0).for_each(|count| *count = *count / 4 + 1);
        }
    }

    /// Codes of one length are numbers that follow each other.
    fn of_lengths(lengths: &[u32]) -> Code {
        let mut codes = vec![(0, 0); lengths.len()];
        let mut next = 0u32;
        for length in 1..=15 {
            next <<= 1;
            for (symbol, _) in lengths.iter().enumerate().filter(|(_, l)| **l == length) {
                codes[symbol] = (next.reverse_bits() >> (32 - length), length);
                next += 1;
            }
        }
        Code { codes }
    }

    #[inline]
    pub(super) fn of_symbol(&self, symbol: usize) -> (u32, u32) {
        self.codes[symbol]
    }

    /// The lengths up to the last symbol that has a code, of so many at least.
    fn lengths(&self, least: usize) -> impl Iterator<Item = u32> {
        let used = self.codes.iter().rposition(|(_, length)| *length > 0).map_or(0, |last| last + 1);
        self.codes[..used.max(least)].iter().map(|(_, length)| *length)
    }
}

/// The lengths of a Huffman code, which are zero for what never comes.
fn lengths(counts: &[u32]) -> Vec<u32> {
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> = counts
        .iter()
        .enumerate()
        .filter(|(_, c)| **c > 0)
        .map(|(s, c)| Reverse((u64::from(*c), s)))
        .collect();
    // Symbols, and then the nodes above them: above each, the next one.
    let mut above = vec![0; counts.len()];
    while let (Some(Reverse((a, first))), Some(Reverse((b, second)))) = (heap.pop(), heap.pop()) {
        let node = above.len();
        (above[first], above[second]) = (node, node);
        above.push(0);
        heap.push(Reverse((a + b, node)));
        if heap.len() == 1 {
            break;
        }
    }
    let mut depth = vec![0; above.len()];
    // The last node is the root; those above are further behind.
    for node in (0..above.len()).rev() {
        if above[node] > 0 {
            depth[node] = depth[above[node]] + 1;
        }
    }
    depth.truncate(counts.len());
    depth
}

/// Writes two codes as lengths, runs of which are told by their number.
pub(super) fn put_codes(bits: &mut Bits, symbols: &Code, distances: &Code) {
    let first: Vec<u32> = symbols.lengths(257).collect();
    let second: Vec<u32> = distances.lengths(1).collect();
    let all = [&first[..], &second[..]].concat();
    // A length, or a run of it: what it is told by, and how many more bits with which number.
    let mut runs: Vec<(usize, u32, u32)> = Vec::new();
    for run in all.chunk_by(|a, b| a == b) {
        let (length, mut count) = (run[0], run.len() as u32);
        if length > 0 {
            runs.push((length as usize, 0, 0));
            count -= 1;
        }
        while count > 0 {
            let (told, taken) = match (length, count) {
                (_, ..3) => ((length as usize, 0, 0), 1),
                (0, ..11) => ((17, 3, count - 3), count),
                (0, _) => ((18, 7, count.min(138) - 11), count.min(138)),
                _ => ((16, 2, count.min(6) - 3), count.min(6)),
            };
            runs.push(told);
            count -= taken;
        }
    }
    let mut counts = [0; 19];
    runs.iter().for_each(|(told, ..)| counts[*told] += 1);
    let code = Code::of(&counts, LONGEST_OF_LENGTHS);
    let last = ORDER.iter().rposition(|told| code.of_symbol(*told).1 > 0).unwrap_or(0).max(3);
    bits.put(first.len() as u32 - 257, 5);
    bits.put(second.len() as u32 - 1, 5);
    bits.put(last as u32 - 3, 4);
    for &told in &ORDER[..=last] {
        bits.put(code.of_symbol(told).1, 3);
    }
    for (told, more, number) in runs {
        let (code, length) = code.of_symbol(told);
        bits.put(code, length);
        bits.put(number, more);
    }
}

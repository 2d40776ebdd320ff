//! The value changes of an FST: blocks of chains.
//!
//! A chain is what happens to one variable: how many times (of the block's list) have passed since it changed last, and its value. Its
//! first number tells of one bit, `time << 2 | bit << 1`, all; of a bus it is `time << 1`, and the bits follow from the top of the first
//! byte on; of a decimal it is `time << 1 | 1`, and the eight bytes of an f64 follow. (GTKWave's `fstapi.c` has the format; marks for
//! bits that are neither 0 nor 1 are of no use here.)

use super::deflate::Deflate;
use std::collections::HashMap;
use wavefst::Error;
use wavefst::block::{
    ChainIndexEntry, encode_chain_index_dyn_alias2, encode_frame_section, encode_time_section,
};
use wavefst::encoding::encode_varint;
use wavefst::{BlockType, PackType};

/// Changes of a block: so many that most of a chain's own repetitions are within reach of zlib.
const CHANGES: usize = 4_000_000;
/// Chains of no more bytes are left as they are.
const SMALL: usize = 32;
/// How hard the lists of times and of first values are compressed.
const LEVEL: u32 = 1;

/// What a variable carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A bus of so many bits.
    Bits(u32),
    /// An f64.
    Real,
}

impl Kind {
    /// Bytes of a value behind its time.
    fn bytes(self) -> usize {
        match self {
            Kind::Bits(1) => 0,
            Kind::Bits(width) => width.div_ceil(8) as usize,
            Kind::Real => 8,
        }
    }

    /// A value at the start of a block: a character a bit, x where there is none yet.
    fn put_first(self, value: Option<u64>, out: &mut Vec<u8>) {
        match (self, value) {
            (Kind::Bits(width), Some(bits)) => {
                out.extend((0..width).rev().map(|i| b'0' + (bits >> i & 1) as u8));
            }
            (Kind::Bits(width), None) => out.extend((0..width).map(|_| b'x')),
            (Kind::Real, value) => out.extend(value.unwrap_or(f64::NAN.to_bits()).to_ne_bytes()),
        }
    }
}

/// A variable in the current block.
struct Chain {
    kind: Kind,
    bytes: Vec<u8>,
    /// The place of its last change among the times.
    time: u64,
    value: Option<u64>,
    /// What it was when the block began.
    first: Option<u64>,
}

/// The current block.
pub(super) struct Blocks {
    chains: Vec<Chain>,
    deflate: Deflate,
    /// Differences of the times, how many they are, the first and the last one.
    times: Vec<u8>,
    count: u64,
    begin: u64,
    now: u64,
    changes: usize,
    /// Blocks that are finished.
    pub(super) finished: u64,
    /// The first time of all.
    pub(super) start: Option<u64>,
}

impl Blocks {
    /// Before the first time, of variables with handles from 1 on.
    pub(super) fn new(kinds: &[Kind]) -> Blocks {
        let chain = |&kind: &Kind| Chain { kind, bytes: Vec::new(), time: 0, value: None, first: None };
        Blocks {
            chains: kinds.iter().map(chain).collect(),
            deflate: Deflate::default(),
            times: Vec::new(),
            count: 0,
            begin: 0,
            now: 0,
            changes: 0,
            finished: 0,
            start: None,
        }
    }

    /// What follows happens at a time, which is not before the last one.
    pub(super) fn time(&mut self, time: u64) {
        let since = if self.count == 0 { time } else { time - self.now };
        if self.count == 0 {
            self.begin = time;
        } else if since == 0 {
            return;
        }
        self.start.get_or_insert(time);
        encode_varint(since, &mut self.times);
        self.count += 1;
        self.now = time;
    }

    /// The last time.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Enough for a block.
    pub(super) fn is_full(&self) -> bool {
        self.changes >= CHANGES
    }

    /// A variable changes.
    pub(super) fn change(&mut self, handle: u32, value: u64) {
        self.changes += 1;
        let now = self.count - 1;
        let chain = &mut self.chains[handle as usize - 1];
        let since = now - chain.time;
        chain.time = now;
        chain.value = Some(value);
        match chain.kind {
            Kind::Bits(1) => {
                encode_varint(since << 2 | value << 1, &mut chain.bytes);
            }
            Kind::Bits(width) => {
                encode_varint(since << 1, &mut chain.bytes);
                let bytes = (value << (64 - width)).to_be_bytes();
                chain.bytes.extend_from_slice(&bytes[..chain.kind.bytes()]);
            }
            Kind::Real => {
                encode_varint(since << 1 | 1, &mut chain.bytes);
                chain.bytes.extend_from_slice(&value.to_ne_bytes());
            }
        }
    }

    /// The block with its kind and length in front, if there is anything in it. Then the next one begins.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>, Error> {
        let mut block = vec![BlockType::VcDataDynAlias2 as u8];
        if self.changes == 0 {
            return Ok(Vec::new());
        }
        // The length is known last.
        block.extend([0; 8]);
        block.extend(self.begin.to_be_bytes());
        block.extend(self.now.to_be_bytes());
        let length: usize = self.chains.iter().map(|chain| chain.bytes.len()).sum();
        block.extend((length as u64).to_be_bytes());
        let mut first = Vec::new();
        self.chains.iter().for_each(|chain| chain.kind.put_first(chain.first, &mut first));
        let frame = encode_frame_section(first, Some(LEVEL))?;
        encode_varint(frame.uncompressed_len, &mut block);
        encode_varint(frame.compressed_len, &mut block);
        encode_varint(self.chains.len() as u64, &mut block);
        block.extend(frame.payload);
        encode_varint(self.chains.len() as u64, &mut block);
        block.push(PackType::Zlib.marker());
        let index = self.put_chains(&mut block);
        let index = encode_chain_index_dyn_alias2(&index)?;
        block.extend_from_slice(&index);
        block.extend((index.len() as u64).to_be_bytes());
        let times = encode_time_section(std::mem::take(&mut self.times), self.count, true, Some(LEVEL))?;
        block.extend(times.payload);
        for number in [times.uncompressed_len, times.compressed_len, times.item_count] {
            block.extend(number.to_be_bytes());
        }
        let length = block.len() as u64 - 1;
        block[1..9].copy_from_slice(&length.to_be_bytes());
        for chain in &mut self.chains {
            chain.bytes.clear();
            (chain.time, chain.first) = (0, chain.value);
        }
        (self.count, self.changes) = (0, 0);
        self.finished += 1;
        Ok(block)
    }

    /// The chains, each in front of it its length if it is compressed; where each of them is.
    fn put_chains(&mut self, block: &mut Vec<u8>) -> Vec<ChainIndexEntry> {
        let start = block.len();
        // Chains that are the same, as of flags in step, are written once. Of those of one length and kind, all are compared.
        let mut known: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
        let mut index = Vec::with_capacity(self.chains.len());
        for (place, chain) in self.chains.iter().enumerate() {
            if chain.bytes.is_empty() {
                index.push(ChainIndexEntry::Empty);
                continue;
            }
            let alike = known.entry((chain.bytes.len(), chain.kind.bytes())).or_default();
            if let Some(target) = alike.iter().find(|place| self.chains[**place].bytes == chain.bytes) {
                index.push(ChainIndexEntry::Alias { target: *target as u32 + 1 });
                continue;
            }
            alike.push(place);
            index.push(ChainIndexEntry::Data { offset: (block.len() - start) as u64 });
            let compressed = match chain.bytes.len() {
                ..=SMALL => None,
                _ => self.deflate.compress(&chain.bytes, chain.kind.bytes()),
            };
            let length = if compressed.is_some() { chain.bytes.len() } else { 0 };
            encode_varint(length as u64, block);
            block.extend_from_slice(compressed.unwrap_or(&chain.bytes));
        }
        index
    }
}

//! The fields of a descriptor: a row each. The decoder, the C header and the pages follow this table.

use super::job::{Flag, Job, Pages, Rows};
use crate::bits::ones;
use serde::Serialize;

/// Bytes of a descriptor, which is also its alignment.
pub const DESCRIPTOR_BYTES: u32 = 256;

/// A field: a little-endian number in a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DescriptorField {
    /// Name.
    pub name: &'static str,
    /// Place in bytes.
    pub offset: u32,
    /// Width in bits, from the lowest bit of the place on.
    pub bits: u32,
    /// Its meaning.
    pub meaning: &'static str,
}

const fn field(name: &'static str, offset: u32, bits: u32, meaning: &'static str) -> DescriptorField {
    DescriptorField { name, offset, bits, meaning }
}

/// All fields, by place. The other bytes are zero.
pub const FIELDS: [DescriptorField; 34] = [
    field("FLAGS", 0x00, 16, "what the job has, see the flags"),
    field(
        "SCALE",
        0x04,
        16,
        "the scores' factor, Q0.16: any with FEATURES.SCALE, 0 is 1; else that of the core, or 0",
    ),
    field("QUERIES", 0x08, 32, "tokens with queries"),
    field("KEYS", 0x0c, 32, "tokens with keys, of which queries see at most all"),
    field("GROUP", 0x10, 16, "heads of queries that share a head of keys, at least 1"),
    field("K_HEADS", 0x12, 16, "heads of keys and values, at least 1"),
    field(
        "POSITION",
        0x14,
        32,
        "with CAUSAL or WINDOW: place of the first query among the keys, in two's complement",
    ),
    field("WINDOW", 0x18, 32, "with WINDOW: a query sees so many keys up to its own place"),
    field("PAGE", 0x1c, 8, "with PAGED: a page has 2^PAGE tokens"),
    field("V_EXPONENT", 0x1d, 8, "fixed-point lanes: exponent field of the largest abs(v)"),
    field("Q", 0x20, 64, "address of the first query"),
    field("K", 0x28, 64, "address of the first key; with PAGED, of page 0"),
    field("V", 0x30, 64, "address of the first value; with PAGED, of page 0"),
    field("O", 0x38, 64, "address of the first result"),
    field("LSE", 0x40, 64, "with LSE: address of the first log-sum-exp, base 2, in binary32"),
    field("STATE_IN", 0x48, 64, "with STATE_IN: address of the first state that a query starts from"),
    field("STATE_OUT", 0x50, 64, "with STATE_OUT: address of the first state that a result ends with"),
    field("TABLE", 0x58, 64, "with PAGED: address of the block table, 32 bits a page"),
    field("NEXT", 0x60, 64, "with NEXT: address of the next descriptor"),
    field("Q_ROW", 0x68, 32, "bytes from a token's query to the next token's"),
    field("Q_HEAD", 0x6c, 32, "bytes from a head's query to the next head's"),
    field("K_ROW", 0x70, 32, "the same for keys"),
    field("K_HEAD", 0x74, 32, "the same for keys"),
    field("V_ROW", 0x78, 32, "the same for values"),
    field("V_HEAD", 0x7c, 32, "the same for values"),
    field("O_ROW", 0x80, 32, "the same for results"),
    field("O_HEAD", 0x84, 32, "the same for results"),
    field("K_PAGE", 0x88, 32, "with PAGED: bytes from a page of keys to the next"),
    field("V_PAGE", 0x8c, 32, "with PAGED: bytes from a page of values to the next"),
    field("PAGES", 0x90, 32, "with PAGED: pages in memory; the block table names those below it"),
    field("LSE_ROW", 0x94, 32, "with LSE: bytes from a token's log-sum-exp to the next token's"),
    field("LSE_HEAD", 0x98, 32, "with LSE: bytes from a head's log-sum-exp to the next head's"),
    field(
        "STATE_ROW",
        0x9c,
        32,
        "with STATE_IN or STATE_OUT: the same for states, those read and those written",
    ),
    field("STATE_HEAD", 0xa0, 32, "with STATE_IN or STATE_OUT: the same for states"),
];

/// The values of a descriptor's fields. A new one has zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    values: [u64; FIELDS.len()],
}

impl Default for Descriptor {
    fn default() -> Descriptor {
        Descriptor { values: [0; FIELDS.len()] }
    }
}

impl Descriptor {
    /// The place of a field in the table.
    fn place(name: &str) -> usize {
        let place = FIELDS.iter().position(|field| field.name == name);
        place.unwrap_or_else(|| panic!("no field has the name {name}"))
    }

    /// The value of a field.
    ///
    /// # Panics
    /// If there is no such field.
    pub fn get(&self, name: &str) -> u64 {
        self.values[Descriptor::place(name)]
    }

    /// Sets a field, to the bits that it holds.
    ///
    /// # Panics
    /// If there is no such field.
    pub fn set(&mut self, name: &str, value: u64) {
        let place = Descriptor::place(name);
        self.values[place] = value & ones(FIELDS[place].bits);
    }

    /// Whether the job has something.
    pub fn has(&self, flag: Flag) -> bool {
        self.get("FLAGS") >> flag as u32 & 1 != 0
    }

    /// Says that the job has something.
    pub fn add(&mut self, flag: Flag) {
        self.set("FLAGS", self.get("FLAGS") | 1 << flag as u32);
    }

    /// The descriptor in memory.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; DESCRIPTOR_BYTES as usize];
        for (field, value) in FIELDS.iter().zip(self.values) {
            let (place, count) = (field.offset as usize, field.bits.div_ceil(8) as usize);
            bytes[place..place + count].copy_from_slice(&value.to_le_bytes()[..count]);
        }
        bytes
    }

    /// The words that have a field: their places in bytes, and their values.
    pub fn words(&self) -> Vec<(u32, u32)> {
        let ends = |field: &DescriptorField| field.offset + field.bits.div_ceil(8);
        let has = |place: u32| FIELDS.iter().any(|field| field.offset < place + 4 && place < ends(field));
        let word = |(n, bytes): (usize, &[u8])| {
            (4 * n as u32, bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)))
        };
        self.bytes().chunks(4).enumerate().map(word).filter(|(place, _)| has(*place)).collect()
    }

    /// The job.
    pub fn job(&self) -> Job {
        let word = |name: &str| self.get(name) as u32;
        let strided = |base: &str, of: &str| Rows {
            base: self.get(base),
            row: word(&format!("{of}_ROW")),
            head: word(&format!("{of}_HEAD")),
        };
        let rows = |base: &str| strided(base, base);
        Job {
            queries: word("QUERIES"),
            keys: word("KEYS"),
            group: word("GROUP"),
            key_heads: word("K_HEADS"),
            causal: self.has(Flag::Causal).then(|| word("POSITION") as i32),
            window: self.has(Flag::Window).then(|| word("WINDOW")),
            q: rows("Q"),
            k: rows("K"),
            v: rows("V"),
            o: rows("O"),
            pages: self.has(Flag::Paged).then(|| Pages {
                table: self.get("TABLE"),
                tokens: word("PAGE"),
                key_stride: word("K_PAGE"),
                value_stride: word("V_PAGE"),
                count: word("PAGES"),
            }),
            scale: word("SCALE"),
            lse: self.has(Flag::Lse).then(|| rows("LSE")),
            state_in: self.has(Flag::StateIn).then(|| strided("STATE_IN", "STATE")),
            state_out: self.has(Flag::StateOut).then(|| strided("STATE_OUT", "STATE")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_aligned_and_do_not_overlap() {
        let mut end = 0;
        for field in &FIELDS {
            let bytes = field.bits.div_ceil(8);
            assert!(field.offset >= end && field.offset.is_multiple_of(bytes), "{}", field.name);
            end = field.offset + bytes;
        }
        assert!(end <= DESCRIPTOR_BYTES);
    }

    #[test]
    fn a_descriptor_has_its_fields_in_their_places() {
        for (n, field) in FIELDS.iter().enumerate() {
            let mut descriptor = Descriptor::default();
            descriptor.set(field.name, u64::MAX);
            assert_eq!(descriptor.get(field.name), ones(field.bits));
            let set: Vec<usize> = (0..256).filter(|&place| descriptor.bytes()[place] != 0).collect();
            let first = field.offset as usize;
            assert_eq!(set, (first..first + (field.bits / 8) as usize).collect::<Vec<_>>(), "{n}");
            let words = descriptor.words().into_iter().filter(|(_, word)| *word != 0);
            assert_eq!(words.count() as u32, field.bits.div_ceil(32));
        }
        let mut descriptor = Descriptor::default();
        descriptor.add(Flag::StateIn);
        assert_eq!(descriptor.get("FLAGS"), 1 << 4);
        assert!(descriptor.has(Flag::StateIn) && !descriptor.has(Flag::Lse));
    }

    #[test]
    fn a_job_is_read_from_a_descriptor() {
        let mut descriptor = Descriptor::default();
        let values = [("QUERIES", 5), ("KEYS", 9), ("GROUP", 2), ("K_HEADS", 3), ("POSITION", -4i64 as u64)];
        values.into_iter().for_each(|(name, value)| descriptor.set(name, value));
        assert_eq!(
            (descriptor.job().causal, descriptor.job().window, descriptor.job().pages),
            (None, None, None)
        );
        [Flag::Causal, Flag::Window, Flag::Paged].into_iter().for_each(|flag| descriptor.add(flag));
        let rows = [("V", 1 << 40), ("V_ROW", 32), ("V_HEAD", 640), ("WINDOW", 7), ("PAGE", 4), ("PAGES", 8)];
        rows.into_iter().for_each(|(name, value)| descriptor.set(name, value));
        let job = descriptor.job();
        assert_eq!((job.queries, job.keys, job.group, job.key_heads), (5, 9, 2, 3));
        assert_eq!((job.causal, job.window), (Some(-4), Some(7)));
        assert_eq!(job.v, Rows { base: 1 << 40, row: 32, head: 640 });
        assert_eq!(job.pages.map(|pages| (pages.tokens, pages.count)), Some((4, 8)));
        assert_eq!((job.lse, job.state_in, job.state_out), (None, None, None));
        [Flag::Lse, Flag::StateIn, Flag::StateOut].into_iter().for_each(|flag| descriptor.add(flag));
        let states = [("LSE_ROW", 4), ("STATE_IN", 256), ("STATE_OUT", 512), ("STATE_ROW", 48)];
        states.into_iter().for_each(|(name, value)| descriptor.set(name, value));
        let job = descriptor.job();
        assert_eq!(job.lse, Some(Rows { base: 0, row: 4, head: 0 }));
        assert_eq!(job.state_in, Some(Rows { base: 256, row: 48, head: 0 }));
        assert_eq!(job.state_out, Some(Rows { base: 512, row: 48, head: 0 }));
    }
}

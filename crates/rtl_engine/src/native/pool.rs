//! The constant pool, after the memory of a plan.

use super::LANES;
use rustc_hash::FxHashMap;

/// Words of memory that are initialised once.
pub(super) struct Pool {
    /// The first word that is free.
    pub(super) end: u32,
    pub(super) words: Vec<(u32, u32)>,
    constants: FxHashMap<u64, u32>,
    tables: FxHashMap<(Vec<u64>, bool), u32>,
}

impl Pool {
    /// A pool from a word of memory on.
    pub(super) fn new(start: u32) -> Pool {
        let end = start.next_multiple_of(LANES);
        Pool { end, words: Vec::new(), constants: FxHashMap::default(), tables: FxHashMap::default() }
    }

    /// The place of a vector of a repeated number of 64 bits.
    pub(super) fn constant(&mut self, value: u64) -> u32 {
        if let Some(&known) = self.constants.get(&value) {
            return known;
        }
        let at = self.table(&[value; LANES as usize / 2], true);
        self.constants.insert(value, at);
        at
    }

    /// The place of a table with entries of 32 bits, or of 64.
    pub(super) fn table(&mut self, entries: &[u64], wide: bool) -> u32 {
        if let Some(&known) = self.tables.get(&(entries.to_vec(), wide)) {
            return known;
        }
        let at = self.end;
        for &entry in entries {
            self.words.push((self.end, entry as u32));
            if wide {
                self.words.push((self.end + 1, (entry >> 32) as u32));
            }
            self.end += 1 + u32::from(wide);
        }
        self.end = self.end.next_multiple_of(LANES);
        self.tables.insert((entries.to_vec(), wide), at);
        at
    }
}

//! Numbers and tables that code reads, behind the memory of a plan.

use rustc_hash::FxHashMap;

/// Words of memory that are written once, when a design starts.
pub(super) struct Pool {
    /// The first word that is free.
    pub(super) end: u32,
    pub(super) words: Vec<(u32, u32)>,
    vector: u32,
    constants: FxHashMap<u64, u32>,
    tables: FxHashMap<(Vec<u64>, bool), u32>,
}

impl Pool {
    /// A pool from a word of memory on, for vectors of so many words.
    pub(super) fn new(start: u32, vector: u32) -> Pool {
        let end = start.next_multiple_of(vector);
        Pool { end, vector, words: Vec::new(), constants: FxHashMap::default(), tables: FxHashMap::default() }
    }

    /// Where a vector is that is full of a number of 64 bits.
    pub(super) fn constant(&mut self, value: u64) -> u32 {
        if let Some(&known) = self.constants.get(&value) {
            return known;
        }
        let at = self.table(&vec![value; self.vector as usize / 2], true);
        self.constants.insert(value, at);
        at
    }

    /// Where a table is whose entries are words of 32 bits, or of 64.
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
        self.end = self.end.next_multiple_of(self.vector);
        self.tables.insert((entries.to_vec(), wide), at);
        at
    }
}

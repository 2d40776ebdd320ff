//! Vectors as bytes in memory.

use flashd_spec::config::{Carried, StreamWords};
use flashd_spec::unit::UnitConfig;

/// How a row is packed: its elements from the lowest bit of the first byte on.
#[derive(Clone, Debug)]
pub(super) struct RowPacking(Vec<StreamWords>);

impl RowPacking {
    /// Rows of queries, keys, values, results or states.
    pub(super) fn of(config: &UnitConfig, carried: Carried) -> RowPacking {
        RowPacking(config.row_words(carried))
    }

    fn elements(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().flat_map(|words| std::iter::repeat_n((words.bits, words.room), words.count))
    }

    /// Bytes of a row.
    pub(super) fn bytes(&self) -> usize {
        self.elements().map(|(_, room)| room as usize).sum::<usize>().div_ceil(8)
    }

    /// The bytes of a vector.
    pub(super) fn pack(&self, vector: &[u64]) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes()];
        let mut place = 0;
        for ((bits, room), &element) in self.elements().zip(vector) {
            for bit in (0..bits as usize).filter(|bit| element >> bit & 1 != 0) {
                bytes[(place + bit) / 8] |= 1 << ((place + bit) % 8);
            }
            place += room as usize;
        }
        bytes
    }
}

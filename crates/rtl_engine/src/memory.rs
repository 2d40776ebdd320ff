//! Memory, aligned to cache lines so that no vector crosses one.

use std::ops::{Deref, DerefMut};

/// Words in a line of the cache.
const LINE: usize = 16;

/// Elements that an interpreted step is executed for at once, and their values.
pub(crate) const BLOCK: usize = 16;
pub(crate) type Block = [u64; BLOCK];

/// Memory of one run of a design, or of a vector of runs.
pub(crate) struct Memory {
    words: Vec<u32>,
    start: usize,
    count: usize,
    /// The two buffers of registers that capture at every edge are swapped.
    pub(crate) swapped: bool,
    /// The clock has risen since logic settled.
    pub(crate) clocked: bool,
    /// Values of the steps of an interpreted job.
    pub(crate) blocks: Vec<Block>,
}

impl Memory {
    /// Memory with a content.
    pub(crate) fn of(content: &[u32]) -> Memory {
        let mut words = vec![0; content.len() + LINE];
        // Alignment is only a matter of speed.
        let start = words.as_ptr().align_offset(LINE * size_of::<u32>()).min(LINE);
        words[start..start + content.len()].copy_from_slice(content);
        Memory { words, start, count: content.len(), swapped: false, clocked: false, blocks: Vec::new() }
    }
}

impl Deref for Memory {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.words[self.start..self.start + self.count]
    }
}

impl DerefMut for Memory {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut self.words[self.start..self.start + self.count]
    }
}

/// Words of a value.
pub(crate) fn words(width: u32) -> u32 {
    1 + u32::from(width > 32)
}

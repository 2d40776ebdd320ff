//! Words of memory that begin where a line of the cache does: vectors in it never lie across two.

use std::ops::{Deref, DerefMut};

/// Words in a line of the cache.
const LINE: usize = 16;

/// Elements that an interpreted step is done for at once, and their values.
pub(crate) const BLOCK: usize = 16;
pub(crate) type Block = [u64; BLOCK];

/// Memory of one run of a design, or of several beside each other.
pub(crate) struct Memory {
    words: Vec<u32>,
    start: usize,
    count: usize,
    /// What registers show that take something at every edge lies where it is otherwise what they take, and the other way round.
    pub(crate) turned: bool,
    /// The clock has risen since logic settled.
    pub(crate) risen: bool,
    /// What the steps of a job come to while they are interpreted.
    pub(crate) blocks: Vec<Block>,
}

impl Memory {
    /// Memory with a content.
    pub(crate) fn of(content: &[u32]) -> Memory {
        let mut words = vec![0; content.len() + LINE];
        // If that is not known, somewhere: it only takes longer.
        let start = words.as_ptr().align_offset(LINE * size_of::<u32>()).min(LINE);
        words[start..start + content.len()].copy_from_slice(content);
        Memory { words, start, count: content.len(), turned: false, risen: false, blocks: Vec::new() }
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

/// Words that a value takes.
pub(crate) fn words(width: u32) -> u32 {
    1 + u32::from(width > 32)
}

//! The keys and values of a run: stored, or made on demand, so that a long context needs no second copy.

use std::borrow::Cow;
use std::ops::Range;

/// Vectors of encodings that are made when they are read.
pub trait VectorSource: Send + Sync {
    /// Number of vectors.
    fn vectors(&self) -> usize;

    /// Appends the words of some vectors.
    fn read(&self, vectors: Range<usize>, words: &mut Vec<u64>);
}

/// The vectors of K or V, each of the same number of words.
#[derive(Clone, Copy)]
pub enum OperandVectors<'a> {
    /// All words, stored.
    Words(&'a [u64]),
    /// Vectors of `words` words, made on demand. Readers ask for a few vectors at a time and keep none.
    Source {
        /// Words of a vector.
        words: usize,
        /// Their source.
        source: &'a dyn VectorSource,
    },
}

impl Default for OperandVectors<'_> {
    fn default() -> Self {
        OperandVectors::Words(&[])
    }
}

impl<'a, T: AsRef<[u64]> + ?Sized> From<&'a T> for OperandVectors<'a> {
    fn from(words: &'a T) -> Self {
        OperandVectors::Words(words.as_ref())
    }
}

/// Words that are made in one piece where a tensor is read from its beginning to its end.
const PIECE: usize = 1 << 14;

impl<'a> OperandVectors<'a> {
    /// Number of words.
    pub fn len(&self) -> usize {
        match self {
            OperandVectors::Words(words) => words.len(),
            OperandVectors::Source { words, source } => words * source.vectors(),
        }
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words of some vectors of `words` words; `buffer` holds them if they are made.
    pub(crate) fn rows<'b>(&self, words: usize, rows: Range<usize>, buffer: &'b mut Vec<u64>) -> &'b [u64]
    where
        'a: 'b,
    {
        match self {
            OperandVectors::Words(all) => &all[rows.start * words..rows.end * words],
            OperandVectors::Source { source, .. } => {
                buffer.clear();
                source.read(rows, buffer);
                buffer
            }
        }
    }

    /// All words.
    pub(crate) fn whole(&self) -> Cow<'a, [u64]> {
        match self {
            OperandVectors::Words(all) => (*all).into(),
            OperandVectors::Source { source, .. } => {
                let mut all = Vec::with_capacity(self.len());
                source.read(0..source.vectors(), &mut all);
                all.into()
            }
        }
    }

    /// Shows all words in order, some whole vectors at a time.
    pub(crate) fn pieces(&self, mut show: impl FnMut(&[u64])) {
        match self {
            OperandVectors::Words(all) => show(all),
            OperandVectors::Source { words, source } => {
                let (vectors, step) = (source.vectors(), rows_of_piece(*words));
                let mut buffer = Vec::new();
                for start in (0..vectors).step_by(step) {
                    show(self.rows(*words, start..(start + step).min(vectors), &mut buffer));
                }
            }
        }
    }
}

/// Vectors in a piece, from the words of a vector.
pub(crate) fn rows_of_piece(words: usize) -> usize {
    PIECE.div_ceil(words.max(1))
}

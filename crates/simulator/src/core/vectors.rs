//! Keys or values of a workload: stored, or made when they are read.

use flashd_golden::{OperandVectors, VectorSource};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The words of all keys or values. Clones share them.
#[derive(Clone)]
pub enum Vectors {
    /// All words, vector after vector.
    Stored(Arc<Vec<u64>>),
    /// Vectors made on demand, with the words of each: long contexts need no second copy.
    Made(usize, Arc<dyn VectorSource>),
}

impl Vectors {
    /// Number of words.
    pub fn len(&self) -> usize {
        self.operand().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The vectors as a model takes them.
    pub fn operand(&self) -> OperandVectors<'_> {
        match self {
            Vectors::Stored(words) => OperandVectors::Words(words),
            Vectors::Made(words, source) => OperandVectors::Source { words: *words, source: &**source },
        }
    }

    /// All words.
    pub fn words(&self) -> Cow<'_, [u64]> {
        match self {
            Vectors::Stored(words) => Cow::Borrowed(words),
            Vectors::Made(_, source) => {
                let mut words = Vec::with_capacity(self.len());
                source.read(0..source.vectors(), &mut words);
                words.into()
            }
        }
    }

    /// All words, to change them; they are stored from then on.
    pub fn words_mut(&mut self) -> &mut Vec<u64> {
        if let Vectors::Made(..) = self {
            *self = self.words().into_owned().into();
        }
        match self {
            Vectors::Stored(words) => Arc::make_mut(words),
            Vectors::Made(..) => unreachable!("they are stored"),
        }
    }

    /// Puts a vector on a bus.
    pub(crate) fn read(&self, vector: usize, bus: &mut [u64]) {
        match self {
            Vectors::Stored(all) => bus.copy_from_slice(&all[vector * bus.len()..][..bus.len()]),
            Vectors::Made(_, source) => {
                let mut words = Vec::with_capacity(bus.len());
                source.read(vector..vector + 1, &mut words);
                bus.copy_from_slice(&words);
            }
        }
    }

    /// The same with a vector of zeros in front.
    pub(crate) fn after_zeros(self, words: usize) -> Vectors {
        match self {
            Vectors::Stored(mut all) => {
                Arc::make_mut(&mut all).splice(0..0, std::iter::repeat_n(0, words));
                Vectors::Stored(all)
            }
            Vectors::Made(words, rest) => Vectors::Made(words, Arc::new(AfterZeros { words, rest })),
        }
    }
}

/// A vector of zeros, followed by others.
struct AfterZeros {
    words: usize,
    rest: Arc<dyn VectorSource>,
}

impl VectorSource for AfterZeros {
    fn vectors(&self) -> usize {
        1 + self.rest.vectors()
    }

    fn read(&self, vectors: Range<usize>, words: &mut Vec<u64>) {
        if vectors.contains(&0) {
            words.extend(std::iter::repeat_n(0, self.words));
        }
        self.rest.read(vectors.start.saturating_sub(1)..vectors.end.saturating_sub(1), words);
    }
}

impl From<Vec<u64>> for Vectors {
    fn from(words: Vec<u64>) -> Self {
        Vectors::Stored(Arc::new(words))
    }
}

impl<'a> From<&'a Vectors> for OperandVectors<'a> {
    fn from(vectors: &'a Vectors) -> Self {
        vectors.operand()
    }
}

impl PartialEq for Vectors {
    fn eq(&self, other: &Vectors) -> bool {
        self.words() == other.words()
    }
}

impl Eq for Vectors {}

impl fmt::Debug for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Vectors::Stored(words) => words.fmt(f),
            Vectors::Made(words, source) => write!(f, "{} vectors of {words} words", source.vectors()),
        }
    }
}

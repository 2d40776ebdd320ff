//! Biases of scores: relative positions, ALiBi, masks.

use crate::positions::Positions;
use crate::tensor::{Attention, TensorError, added};
use crate::visible::Visible;
use std::path::Path;

/// An addend of scores, in natural units, after the scale: `s = q . k scale + bias`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Bias {
    /// Nothing.
    #[default]
    None,
    /// A number for each key.
    Keys(Vec<f32>),
    /// A number for each query and key, `[queries, keys]`.
    Pairs {
        /// The numbers.
        biases: Vec<f32>,
        /// Keys of a query.
        keys: usize,
    },
    /// ALiBi: `-slope |i - j|` for a query at position i and key j.
    Alibi {
        /// The slope of the head.
        slope: f32,
        /// The positions of its queries.
        positions: Positions,
    },
}

impl Bias {
    /// Reads a `.npy` file of shape `[keys]` or `[queries, keys]`, sizes of the head before any [cut](Attention::truncated), for the queries
    /// and keys of a head. -inf, or the least number of the file's type, hides a key: `visible` gets it. Biases
    /// of keys that are hidden anyway are ignored.
    ///
    /// # Errors
    /// Names the file, the problem and the remedy; also for NaN and +inf.
    pub fn from_npy(path: &Path, head: &Attention, visible: &mut Visible) -> Result<Bias, TensorError> {
        let added = added(path, head)?;
        let (keys, ranges) = (head.keys, visible.ranges(head));
        let rows = if added.is_one_row() && head.queries != 1 { 1 } else { head.queries };
        let mut biases = vec![0f32; rows * keys];
        let mut hidden = std::mem::take(&mut visible.hidden);
        for (query, range) in ranges.into_iter().enumerate() {
            for key in range {
                if hidden.get(query * keys + key).is_some_and(|&hidden| hidden) {
                    continue;
                }
                let number = added.of(query, key);
                if added.hides(query, key) {
                    hidden.resize(head.queries * keys, false);
                    hidden[query * keys + key] = true;
                } else if number.is_finite() {
                    biases[if rows == 1 { key } else { query * keys + key }] = number;
                } else {
                    return Err(added.refused(query, key));
                }
            }
        }
        visible.hidden = hidden;
        Ok(if rows == 1 { Bias::Keys(biases) } else { Bias::Pairs { biases, keys } })
    }

    /// The addend of a key's score for a query.
    pub fn of(&self, query: usize, key: usize) -> f32 {
        match self {
            Bias::None => 0.0,
            Bias::Keys(biases) => biases[key],
            Bias::Pairs { biases, keys } => biases[query * keys + key],
            Bias::Alibi { slope, positions } => -slope * positions.of(query).0.abs_diff(key as i64) as f32,
        }
    }
}

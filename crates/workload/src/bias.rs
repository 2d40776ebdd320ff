//! What is added to the scores of keys: relative positions, ALiBi.

use crate::positions::Positions;
use crate::tensor::{TensorError, bias_tensor};
use std::path::Path;

/// What is added to scores, in natural units, after the scale: `s = q . k scale + bias`.
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
    /// ALiBi: `-slope |i - j|` for a query that stands at key i, and key j.
    Alibi {
        /// The slope of the head.
        slope: f32,
        /// Where its queries stand.
        positions: Positions,
    },
}

impl Bias {
    /// Reads a `.npy` file of shape `[keys]` or `[queries, keys]`, for a head of so many of both.
    ///
    /// # Errors
    /// Names the file, what is wrong with it and what would be right.
    pub fn from_npy(path: &Path, queries: usize, keys: usize) -> Result<Bias, TensorError> {
        let (rows, biases) = bias_tensor(path, queries, keys)?;
        Ok(if rows == 1 && queries != 1 { Bias::Keys(biases) } else { Bias::Pairs { biases, keys } })
    }

    /// What a query has added to a key's score.
    pub fn of(&self, query: usize, key: usize) -> f32 {
        match self {
            Bias::None => 0.0,
            Bias::Keys(biases) => biases[key],
            Bias::Pairs { biases, keys } => biases[query * keys + key],
            Bias::Alibi { slope, positions } => -slope * positions.of(query).0.abs_diff(key as i64) as f32,
        }
    }
}

//! An additive mask from a file.

use super::error::{TensorError, TensorProblem};
use super::read::with_npy;
use std::path::Path;

/// Reads the addends of the scores of `queries` queries and `keys` keys from a `.npy` file of shape `[queries, keys]`, or `[keys]` for
/// all queries: row-major `[queries * keys]` in f64. An element is finite, or -inf for a key that its query does not see.
///
/// # Errors
/// Names the file, the error and the accepted values; NaN and +inf are refused.
pub fn read_mask(path: &Path, queries: usize, keys: usize) -> Result<Vec<f64>, TensorError> {
    with_npy(path, |place, mut data| {
        let rows = match data.header.shape[..] {
            [n] if n == keys as u64 => 1,
            [m, n] if m == queries as u64 && n == keys as u64 => queries,
            _ => {
                let shape = data.header.shape.clone();
                return Err(place.error(TensorProblem::MaskShape { shape, queries, keys }));
            }
        };
        let mask = data.table(rows, keys).map_err(|problem| place.error(problem))?;
        if let Some(at) = mask.iter().position(|&value| value.is_nan() || value == f64::INFINITY) {
            let (row, column, value) = (at / keys, at % keys, mask[at]);
            return Err(place.error(TensorProblem::NoMask { row, column, value }));
        }
        // One row is that of every query.
        Ok(if rows < queries { mask.repeat(queries) } else { mask })
    })
}

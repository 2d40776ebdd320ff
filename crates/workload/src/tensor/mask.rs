//! An additive mask from a file.

use super::error::{Place, Problem, TensorError};
use super::npy;
use std::path::Path;

/// Reads what is added to the scores of `queries` queries and `keys` keys from a `.npy` file of shape `[queries, keys]`, or `[keys]` for
/// all queries: row-major `[queries * keys]` in f64. An element is finite, or -inf for a key that its query does not see.
///
/// # Errors
/// Names the file, what is wrong with it and what would be right; NaN and +inf are refused.
pub fn read_mask(path: &Path, queries: usize, keys: usize) -> Result<Vec<f64>, TensorError> {
    let place = Place::file(path);
    let bytes = npy::read_file(path)?;
    let mut rest = bytes.as_slice();
    let header = npy::read_header(&mut rest).map_err(|problem| place.error(problem))?;
    let rows = match header.shape[..] {
        [n] if n == keys as u64 => 1,
        [m, n] if m == queries as u64 && n == keys as u64 => queries,
        _ => return Err(place.error(Problem::MaskShape { shape: header.shape.clone(), queries, keys })),
    };
    if header.data_bytes() != Some(rest.len() as u64) {
        return Err(place.error(header.wrong_size(rest.len() as u64)));
    }
    let mut mask = Vec::with_capacity(queries * keys);
    for row in 0..rows {
        for column in 0..keys {
            let value = header
                .value(rest, if header.fortran_order { column * rows + row } else { row * keys + column });
            if value.is_nan() || value == f64::INFINITY {
                return Err(place.error(Problem::NoMask { row, column, value }));
            }
            mask.push(value);
        }
    }
    // One row is that of every query.
    if rows < queries {
        mask = mask.repeat(queries);
    }
    Ok(mask)
}

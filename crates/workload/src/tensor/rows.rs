//! Rows of numbers.

/// Largest magnitude of a tensor, 0 for an empty one.
pub(crate) fn max_abs(data: &[f32]) -> f64 {
    // The encodings of magnitudes are in the order of the magnitudes, and vector instructions compare integers side by side.
    let largest = data.iter().fold(0, |max: i32, x| max.max(x.abs().to_bits() as i32));
    f32::from_bits(largest as u32).into()
}

/// Rows of `from` elements as rows of `to` elements, the rest filled up.
pub(crate) fn pad_rows<T: Copy>(data: &[T], from: usize, to: usize, fill: T) -> Vec<T> {
    assert!(to >= from, "rows of {from} elements do not fit into {to}");
    data.chunks(from)
        .flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(fill, to - from)))
        .collect()
}

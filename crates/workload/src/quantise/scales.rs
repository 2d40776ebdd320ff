//! Scales of integers: one for each query and each key, which the core gets, and one for each channel of V, which the host keeps.

use super::round::round_to;
use super::scaling::Scaling;
use flashd_spec::bits::{joined, ones};
use flashd_spec::format::Format;

/// The bits of the smallest bf16 number that is not below `x`, which is positive and finite.
fn bf16_not_below(x: f64) -> u64 {
    let format = Format::BF16;
    let nearest = round_to(format, x).max(format.min_positive());
    if format.value(nearest) < x { (nearest + 1).min(format.max_finite()) } else { nearest }
}

/// The words of a scale behind elements of `width` bits each, the low one first.
pub fn scale_words(scale: u64, width: u32) -> impl Iterator<Item = u64> {
    let words = Format::BF16.width().div_ceil(width);
    (0..words).map(move |word| scale >> (word * width) & ones(width))
}

/// The number that is the scale in the words behind a vector's elements of a format; one where there are none.
pub fn scale_value(words: &[u64], format: Format) -> f64 {
    match words.is_empty() {
        true => 1.0,
        false => Format::BF16.value(joined(words, format.width())),
    }
}

/// A row as integers with its scale behind them: the largest magnitude over the largest integer, rounded up to bf16, so that no element
/// saturates; each element then is rounded to nearest, ties to even.
pub fn encode_row(format: Format, row: &[f64]) -> Vec<u64> {
    let largest = row.iter().fold(0f64, |largest, x| largest.max(x.abs()));
    // Of zeros, or of numbers so small that no scale is: one.
    let ratio = largest / format.max_finite() as f64;
    let scale = if ratio > 0.0 && ratio.is_finite() { bf16_not_below(ratio) } else { Format::BF16.one() };
    let by = Format::BF16.value(scale);
    let elements = row.iter().map(|x| round_to(format, x / by));
    elements.chain(scale_words(scale, format.width())).collect()
}

/// What the channels of V are divided by before they are rounded, where values are integers: each channel's largest magnitude over the
/// largest integer. The host multiplies the results by it. One for floats, whose channels are as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Channels(Vec<f64>);

impl Channels {
    /// Those of values, `[keys, dv]`, that are to be rounded to a format.
    pub fn new(format: Format, v: &[f32], dv: usize) -> Channels {
        if !format.is_integer() {
            return Channels::default();
        }
        let mut largest = vec![0f64; dv];
        for row in v.chunks_exact(dv) {
            largest.iter_mut().zip(row).for_each(|(largest, &x)| *largest = largest.max(f64::from(x).abs()));
        }
        let scale = |largest: f64| {
            if largest > 0.0 && largest.is_finite() { largest / format.max_finite() as f64 } else { 1.0 }
        };
        Channels(largest.into_iter().map(scale).collect())
    }

    /// What a channel is divided by; one beyond the last, where rows are padded.
    pub fn scale(&self, channel: usize) -> f64 {
        self.0.get(channel).copied().unwrap_or(1.0)
    }

    /// The attention output that belongs to an element of a core's result in a format, by its place in the result.
    pub fn result(&self, scaling: &Scaling, format: Format, channel: usize, bits: u64) -> f64 {
        scaling.result(format, bits) * self.scale(channel)
    }
}

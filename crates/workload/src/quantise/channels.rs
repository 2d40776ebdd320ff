//! One scale for each channel of values, which the host keeps, where values or results are integers.

use super::scaling::{Scaling, channel_limit};
use flashd_spec::format::{Encodings, Format};

/// The divisors of the channels of V before they are rounded, so that each channel's largest magnitude becomes [`channel_limit`]. The
/// host multiplies the results by it. One where there is no such limit: channels are as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Channels(Vec<f64>);

impl Channels {
    /// Those of values, `[keys, dv]`, that are to be rounded.
    pub fn new(encodings: Encodings, v: &[f32], dv: usize) -> Channels {
        let Some(limit) = channel_limit(encodings) else {
            return Channels::default();
        };
        let mut largest = vec![0f64; dv];
        for row in v.chunks_exact(dv) {
            largest.iter_mut().zip(row).for_each(|(largest, &x)| *largest = largest.max(f64::from(x).abs()));
        }
        let scale = |largest: f64| if largest > 0.0 && largest.is_finite() { largest / limit } else { 1.0 };
        Channels(largest.into_iter().map(scale).collect())
    }

    /// Whether channels are as they are.
    pub(super) fn are_one(&self) -> bool {
        self.0.is_empty()
    }

    /// The divisor of a channel; one beyond the last, where rows are padded.
    pub fn scale(&self, channel: usize) -> f64 {
        self.0.get(channel).copied().unwrap_or(1.0)
    }

    /// The attention output that belongs to an element of a core's result in a format, by its place in the result.
    pub fn result(&self, scaling: &Scaling, format: Format, channel: usize, bits: u64) -> f64 {
        scaling.result(format, bits) * self.scale(channel)
    }
}

//! One scale for each channel of integer values, which the host keeps.

use super::scaling::Scaling;
use flashd_spec::format::{Format, Scale};

/// What the channels of V are divided by before they are rounded, where values are integers without scales of their own: each channel's
/// largest magnitude over the largest integer. The host multiplies the results by it. One for others, whose channels are as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Channels(Vec<f64>);

impl Channels {
    /// Those of values, `[keys, dv]`, that are to be rounded to a format with a scale.
    pub fn new(format: Format, scale: Scale, v: &[f32], dv: usize) -> Channels {
        if !format.is_integer() || scale != Scale::None {
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

    /// Whether channels are as they are.
    pub(super) fn are_one(&self) -> bool {
        self.0.is_empty()
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

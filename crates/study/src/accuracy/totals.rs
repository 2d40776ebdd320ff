//! Figures of one core: on a head, and on several.

use super::MeanMax;
use crate::errors::EncodedHead;
use flashd_golden::QueryResult;
use flashd_simulator::{Accuracy, SaturatedScores};
use flashd_workload::Scaling;
use serde::Serialize;

/// Errors of a core on several heads, against f64 attention on the unrounded data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoreErrors {
    /// Mean over the heads of their mean errors, a fraction of max|v|.
    pub mean: f64,
    /// Largest error of an output element, a fraction of max|v|.
    pub max: f64,
    /// Mean over the heads of the mean over their channels of each channel's mean error, a fraction of the channel's max|v|.
    pub channel_mean: f64,
    /// The worst channel's of all heads.
    pub channel_worst: f64,
    /// Root mean square of the error over the exact result's, the mean over the heads. Heads whose exact results
    /// are all 0 do not count; none without others.
    pub relative: Option<f64>,
    /// Cosine of the angle between result and exact result, the mean over the queries. 0 where the result is 0.
    /// Queries whose exact result is 0 do not count.
    pub cosine: Option<f64>,
    /// The smallest of these cosines.
    pub least_cosine: Option<f64>,
    /// Roundings in the output lanes that saturated.
    pub saturated_roundings: u64,
    /// Queries with a value beyond the range of fixed-point lanes.
    pub overflowed_queries: usize,
    /// Queries with a score, or a product of its sum, beyond the core's range.
    pub saturated_queries: usize,
    /// The fewest integer bits of the score that hold them; none if no number does, or if no query has one.
    pub enough_score_bits: Option<u32>,
    /// Elements of Q, K and V that saturated when they were rounded.
    pub saturated_inputs: [usize; 3],
}

/// A core on one head.
#[derive(Clone, Debug)]
pub(crate) struct Total {
    pub(crate) accuracy: Accuracy,
    /// Each channel's mean error as a fraction of the channel's max|v|.
    pub(crate) channels: Vec<f64>,
    pub(crate) scaling: Scaling,
    relative: Option<f64>,
    cosines: Vec<f64>,
    saturated_roundings: u64,
    overflowed_queries: usize,
    saturated_scores: Option<SaturatedScores>,
    saturated_inputs: [usize; 3],
}

impl Total {
    /// `saturated_values` elements of V saturated in this scaling.
    pub(crate) fn new(
        encoded: &EncodedHead,
        scaling: &Scaling,
        saturated_values: usize,
        results: &[QueryResult],
        saturated_scores: Option<SaturatedScores>,
    ) -> Total {
        let d = encoded.head.trace.attention.dv;
        let value = |(i, &o): (usize, &u64)| encoded.result(scaling, i, o);
        let (mut error, mut exact) = (0.0, 0.0);
        let mut cosines = Vec::new();
        for (result, row) in results.iter().zip(encoded.head.exact.chunks_exact(d)) {
            let (mut both, mut own, mut of_row) = (0.0, 0.0, 0.0);
            for (o, x) in result.o.iter().enumerate().map(value).zip(row) {
                error += (o - x) * (o - x);
                both += o * x;
                own += o * o;
                of_row += x * x;
            }
            exact += of_row;
            if of_row > 0.0 {
                cosines.push(if own > 0.0 { both / (own.sqrt() * of_row.sqrt()) } else { 0.0 });
            }
        }
        let [q, k] = encoded.saturated;
        let outputs = results.iter().flat_map(|r| r.o.iter().enumerate()).map(value);
        let (accuracy, channels) = encoded.head.accuracy_by_channel(outputs);
        Total {
            accuracy,
            channels,
            scaling: *scaling,
            relative: (exact > 0.0).then(|| (error / exact).sqrt()),
            cosines,
            saturated_roundings: results.iter().map(|result| result.saturated).sum(),
            saturated_scores,
            overflowed_queries: results.iter().filter(|result| result.overflow).count(),
            saturated_inputs: [q, k, saturated_values],
        }
    }
}

impl CoreErrors {
    /// Combines the heads of a row.
    pub(super) fn of(heads: &[&Total]) -> CoreErrors {
        let MeanMax { mean, max } = MeanMax::of(heads.iter().map(|head| head.accuracy));
        let average = |all: &[f64]| (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64);
        let relative: Vec<f64> = heads.iter().filter_map(|head| head.relative).collect();
        let cosines: Vec<f64> = heads.iter().flat_map(|head| head.cosines.iter().copied()).collect();
        let mut saturated_inputs = [0; 3];
        for head in heads {
            for (sum, &count) in saturated_inputs.iter_mut().zip(&head.saturated_inputs) {
                *sum += count;
            }
        }
        let saturated = || heads.iter().filter_map(|head| head.saturated_scores);
        let by_channel: Vec<f64> = heads.iter().map(|head| head.accuracy.channel_mean).collect();
        CoreErrors {
            mean,
            max,
            channel_mean: average(&by_channel).unwrap_or_default(),
            channel_worst: heads.iter().map(|head| head.accuracy.channel_worst).fold(0.0, f64::max),
            relative: average(&relative),
            cosine: average(&cosines),
            least_cosine: cosines.iter().copied().min_by(f64::total_cmp),
            saturated_roundings: heads.iter().map(|head| head.saturated_roundings).sum(),
            saturated_queries: saturated().map(|scores| scores.queries).sum(),
            enough_score_bits: saturated()
                .map(|scores| scores.enough)
                .try_fold(0, |most, bits| Some(most.max(bits?)))
                .filter(|&bits| bits > 0),
            overflowed_queries: heads.iter().map(|head| head.overflowed_queries).sum(),
            saturated_inputs,
        }
    }
}

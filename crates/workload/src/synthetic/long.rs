//! Long contexts: scores of a given spread, and values with and without a mean.

use super::source::RandomSource;
use crate::tensor::Attention;

/// Distribution of the values. A sum of many values of one sign grows with the number of keys; a sum of values of mean 0 does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Gaussian: mean 0, standard deviation 1.
    Gaussian,
    /// Uniform in [0, 1).
    Uniform,
    /// All 1.
    Ones,
    /// All 0.7. No format has it, and a multiple of it ends below any last place; a sum that rounds each the same way errs in proportion.
    Constant,
    /// Gaussian; the first channel has a mean of three standard deviations.
    MeanChannel,
}

impl ValueKind {
    /// Every kind that reports use.
    pub const ALL: [ValueKind; 4] =
        [ValueKind::Gaussian, ValueKind::Uniform, ValueKind::Ones, ValueKind::MeanChannel];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ValueKind::Gaussian => "gaussian",
            ValueKind::Uniform => "uniform",
            ValueKind::Ones => "ones",
            ValueKind::Constant => "constant",
            ValueKind::MeanChannel => "mean-channel",
        }
    }

    /// The element of a channel.
    fn draw(self, source: &mut RandomSource, channel: usize) -> f64 {
        match self {
            ValueKind::Gaussian => source.gaussian(),
            ValueKind::Uniform => source.uniform(),
            ValueKind::Ones => 1.0,
            ValueKind::Constant => 0.7,
            ValueKind::MeanChannel => source.gaussian() + if channel == 0 { 3.0 } else { 0.0 },
        }
    }
}

/// Distribution of the scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScoreKind {
    /// All scores of a query are equal.
    Equal,
    /// Gaussian with this standard deviation, after 1/sqrt(d).
    Gaussian(f64),
    /// An attention sink: Gaussian with standard deviation 1, but the first key's score is ln N. It has as much weight as all others
    /// together, each of which has next to none.
    Sink,
}

impl ScoreKind {
    /// Every kind that reports use.
    pub const ALL: [ScoreKind; 4] =
        [ScoreKind::Equal, ScoreKind::Gaussian(1.0), ScoreKind::Gaussian(4.0), ScoreKind::Sink];

    /// Its name in reports.
    pub fn name(self) -> String {
        match self {
            ScoreKind::Equal => "equal".into(),
            ScoreKind::Gaussian(sigma) => format!("sigma-{sigma}"),
            ScoreKind::Sink => "sink".into(),
        }
    }
}

/// First element of every query of a head with a sink; the same element of every other key is 0.
const SINK_QUERY: f64 = 4.0;

/// A head whose queries all see all keys; scores and values of the given kinds.
pub fn long_context(
    seed: u64,
    queries: usize,
    keys: usize,
    d: usize,
    scores: ScoreKind,
    values: ValueKind,
) -> Attention {
    let mut source = RandomSource::new(seed);
    let sigma = if let ScoreKind::Gaussian(sigma) = scores { sigma } else { 1.0 };
    let mut q: Vec<f32> = (0..queries * d).map(|_| (sigma * source.gaussian()) as f32).collect();
    let mut rows = |n: usize| -> Vec<f32> { source.gaussians(n * d).into_iter().map(|x| x as f32).collect() };
    let mut k = if scores == ScoreKind::Equal { rows(1).repeat(keys) } else { rows(keys) };
    if scores == ScoreKind::Sink {
        q.chunks_exact_mut(d).for_each(|q| q[0] = SINK_QUERY as f32);
        k.chunks_exact_mut(d).for_each(|k| k[0] = 0.0);
        k[..d].fill(0.0);
        k[0] = ((keys as f64).ln() * (d as f64).sqrt() / SINK_QUERY) as f32;
    }
    let v = (0..keys * d).map(|i| values.draw(&mut source, i % d) as f32).collect();
    Attention::new(d, q, k, v)
}

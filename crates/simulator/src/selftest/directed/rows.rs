//! Keys of given scores.

use super::super::scaled;
use flashd_spec::config::{CoreConfig, Dot, Scale};
use flashd_workload::{round_to, round_value};

/// Axes that a score is spread over, and how much finer the last one is, where there is one to spare.
const AXES: usize = 4;
const FINER: f64 = 1.0 / 128.0;

/// Vectors whose dot product is a score.
pub(super) struct Rows {
    config: CoreConfig,
    pub(super) q: Vec<u64>,
    /// What a one of the key brings to the natural score, by axis; empty where keys have scales.
    axes: Vec<f64>,
}

impl Rows {
    pub(super) fn new(config: &CoreConfig) -> Rows {
        if config.scales() == Scale::Row {
            return Rows { config: config.clone(), q: scaled::query(config), axes: Vec::new() };
        }
        let count = config.d.min(AXES);
        let mut axes = vec![1.0; count];
        // Sums of a fused dot product keep what the format cannot hold in one number.
        if config.dot() == Dot::Fused && count > 1 {
            axes[count - 1] = FINER;
        }
        let one = f64::from(-config.score_shift()).exp2();
        let mut q = vec![0; config.d];
        for (q, axis) in q.iter_mut().zip(&axes) {
            *q = round_to(config.format, one * axis);
        }
        Rows { config: config.clone(), q, axes }
    }

    /// A key of this natural score, as near as the format can bring it.
    pub(super) fn key(&self, score: f64) -> Vec<u64> {
        if self.axes.is_empty() {
            return scaled::key(&self.config, score);
        }
        let mut k = vec![0; self.config.d];
        let mut rest = score;
        for (k, axis) in k.iter_mut().zip(&self.axes) {
            *k = round_to(self.config.formats().k, rest / axis);
            rest -= round_value(self.config.formats().k, rest / axis) * axis;
        }
        k
    }
}

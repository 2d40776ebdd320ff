//! Keys of given scores.

use super::super::scaled;
use flashd_spec::config::CoreConfig;
use flashd_workload::{RowEncoding, ScaleRule, round_value, row_encodings};

/// Axes that a score is spread over, and how much finer the last one is, where there is one to spare.
const AXES: usize = 4;
const FINER: f64 = 1.0 / 128.0;

/// Vectors whose dot product is a score.
pub(super) struct ScoreRows {
    config: CoreConfig,
    pub(super) q: Vec<u64>,
    keys: RowEncoding,
    /// Natural score of a one in the key, by axis; empty where products are exact and keys have scales.
    axes: Vec<f64>,
}

impl ScoreRows {
    pub(super) fn new(config: &CoreConfig) -> ScoreRows {
        let [encoding, keys, _] = row_encodings(config.encodings(), ScaleRule::default());
        if config.encodings().is_exact() {
            return ScoreRows { config: config.clone(), q: scaled::query(config), axes: Vec::new(), keys };
        }
        let count = config.d.min(AXES);
        let mut axes = vec![1.0; count];
        // Exact sums keep more bits than a number of the format.
        if !config.follows_the_paper() && count > 1 {
            axes[count - 1] = FINER;
        }
        let one = f64::from(-config.score_shift()).exp2();
        let mut q = vec![0.0; config.d];
        for (q, axis) in q.iter_mut().zip(&axes) {
            *q = one * axis;
        }
        ScoreRows { config: config.clone(), q: encoding.encode(&q).0, axes, keys }
    }

    /// A key of this natural score, as near as the format can bring it.
    pub(super) fn key(&self, score: f64) -> Vec<u64> {
        if self.axes.is_empty() {
            return scaled::key(&self.config, score);
        }
        let mut k = vec![0.0; self.config.d];
        let mut rest = score;
        for (k, axis) in k.iter_mut().zip(&self.axes) {
            *k = round_value(self.keys.format, rest / axis);
            rest -= *k * axis;
        }
        self.keys.encode(&k).0
    }
}

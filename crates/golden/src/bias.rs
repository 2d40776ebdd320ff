//! Biases: numbers added to the scores of keys.

use crate::base2::Score;
use crate::head::Biases;
use crate::round::{decode, pow2};
use flashd_spec::numerics::{BIAS, LOG2E, LOG2E_FRACTION, Numerics};

/// A bias, ready to be added to a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EncodedBias {
    /// In base 2, with FS fraction bits.
    pub(crate) score: i64,
    /// The encoding is Inf or NaN; the bias then counts as zero.
    pub(crate) special: bool,
    /// The bias is beyond the score's range.
    pub(crate) saturated: bool,
}

/// Converts encodings of biases to base 2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BiasUnit {
    scale: f64,
    limit: f64,
}

impl BiasUnit {
    pub(crate) fn new(n: &Numerics) -> Self {
        let scale = LOG2E as f64 * pow2(n.score_fraction as i32 - LOG2E_FRACTION as i32);
        BiasUnit { scale, limit: Score::new(n).limit() as f64 }
    }

    /// `bias log2(e)` in ulps of the score, rounded half away from zero, saturated.
    pub(crate) fn of(&self, bits: u64) -> EncodedBias {
        // The product has 26 bits and the limit is an integer, so f64 is exact up to `round`.
        let rounded = (decode(BIAS, bits) * self.scale).round();
        EncodedBias {
            score: rounded.clamp(-self.limit, self.limit) as i64,
            special: BIAS.is_special(bits),
            saturated: rounded.abs() > self.limit,
        }
    }
}

/// The biases of a run.
#[derive(Clone, Copy)]
pub(crate) struct KeyBiases<'a> {
    unit: BiasUnit,
    biases: Option<Biases<'a>>,
}

impl<'a> KeyBiases<'a> {
    pub(crate) fn new(n: &Numerics, biases: Option<Biases<'a>>) -> Self {
        KeyBiases { unit: BiasUnit::new(n), biases }
    }

    /// Whether the run has biases.
    pub(crate) fn any(&self) -> bool {
        self.biases.is_some()
    }

    /// The bias of a key for a query, both by index; zero in a run without biases.
    pub(crate) fn of(&self, query: usize, key: usize) -> EncodedBias {
        self.biases.map_or(EncodedBias::default(), |biases| self.unit.of(biases(query, key)))
    }
}

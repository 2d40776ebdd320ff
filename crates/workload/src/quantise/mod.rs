//! What the host does before it hands a head to a core: scale, then round to the encodings of the format.
//!
//! The power of two of the score's scale goes to the core's `score_shift`, the rest is folded into Q
//! ([`Scaling`]). In narrow formats Q, K and V are multiplied by powers of two on top ([`choose_scaling`]),
//! which the shift and the reader of the results undo exactly.

mod round;
mod scaling;
mod search;

pub use round::{round_to, round_value};
pub use scaling::{Scaling, ScalingError, ScoreScale, TensorScale, v_candidates};
pub use search::choose_scaling;

use crate::tensor::{Attention, pad_rows};
use flashd_spec::config::Lengths;
use flashd_spec::format::{Format, Formats};

/// A head in the encodings of its operands' formats. Rows are contiguous, as in [`Attention`].
#[derive(Clone, Debug, PartialEq)]
pub struct Quantised {
    /// The formats of the encodings, and of the result.
    pub formats: Formats,
    /// How the tensors were scaled.
    pub scaling: Scaling,
    /// Length of a row of `q` and of `k`, d_k.
    pub d: usize,
    /// Length of a row of `v`, d_v.
    pub dv: usize,
    /// Rows of `q`.
    pub queries: usize,
    /// Rows of `k` and of `v`.
    pub keys: usize,
    /// Queries, `[queries, d_k]`.
    pub q: Vec<u64>,
    /// Keys, `[keys, d_k]`.
    pub k: Vec<u64>,
    /// Values, `[keys, d_v]`.
    pub v: Vec<u64>,
    /// Elements of q, k and v that were beyond the largest number of their format and became that number.
    pub saturated: [usize; 3],
    /// Elements of q, k and v that were not zero and became zero.
    pub vanished: [usize; 3],
}

/// Scales and rounds a head: one rounding for each element.
pub fn quantise(formats: impl Into<Formats>, scaling: Scaling, attention: &Attention) -> Quantised {
    let formats = formats.into();
    let mut counts = [(0, 0); 3];
    let mut tensor = |which: usize, format: Format, data: &[f32], scale: &dyn Fn(f32) -> f64| -> Vec<u64> {
        let largest = format.value(format.max_finite());
        let (saturated, vanished) = &mut counts[which];
        data.iter()
            .map(|&x| {
                let scaled = scale(x);
                let bits = round_to(format, scaled);
                *saturated += usize::from(scaled.abs() > largest);
                *vanished += usize::from(x != 0.0 && bits & !format.sign_bit() == 0);
                bits
            })
            .collect()
    };
    let q = tensor(0, formats.q, &attention.q, &|x| scaling.scale_q(x));
    let k = tensor(1, formats.k, &attention.k, &|x| scaling.scale_k(x));
    let v = tensor(2, formats.v, &attention.v, &|x| scaling.scale_v(x));
    Quantised {
        formats,
        scaling,
        d: attention.d,
        dv: attention.dv,
        queries: attention.queries,
        keys: attention.keys,
        q,
        k,
        v,
        saturated: counts.map(|(saturated, _)| saturated),
        vanished: counts.map(|(_, vanished)| vanished),
    }
}

impl Quantised {
    /// Row i of Q.
    pub fn query(&self, i: usize) -> &[u64] {
        &self.q[i * self.d..][..self.d]
    }

    /// Row j of K.
    pub fn key(&self, j: usize) -> &[u64] {
        &self.k[j * self.d..][..self.d]
    }

    /// Row j of V.
    pub fn value(&self, j: usize) -> &[u64] {
        &self.v[j * self.dv..][..self.dv]
    }

    /// The same head in rows of these lengths, filled with +0, for a core that is wider than the head. The scaling
    /// stays that of the original head dimension.
    ///
    /// # Panics
    /// If one is smaller than the rows are.
    pub fn pad_to(&self, lengths: impl Into<Lengths>) -> Quantised {
        let Lengths { k: d, v: dv } = lengths.into();
        let pad = |data: &[u64]| pad_rows(data, self.d, d, 0);
        Quantised { d, dv, q: pad(&self.q), k: pad(&self.k), v: pad_rows(&self.v, self.dv, dv, 0), ..*self }
    }

    /// The numbers that the encodings stand for, in the scale of the original tensors: what a core sees. Exact
    /// references run on this tell the error of a datapath from the error of the format.
    ///
    /// `score_scale` on these tensors gives the same score as `score_shift` on the encodings, to f64 rounding:
    /// the remainder is taken out of Q again.
    pub fn dequantised(&self) -> [Vec<f64>; 3] {
        let values = |format: Format, data: &[u64], factor: f64, exponent: i32| -> Vec<f64> {
            let value = |&bits: &u64| round::scale_by_power_of_two(format.value(bits), -exponent) / factor;
            data.iter().map(value).collect()
        };
        let (s, formats) = (&self.scaling, self.formats);
        [
            values(formats.q, &self.q, s.q_factor, s.q_exponent),
            values(formats.k, &self.k, 1.0, s.k_exponent),
            values(formats.v, &self.v, 1.0, s.v_exponent),
        ]
    }
}

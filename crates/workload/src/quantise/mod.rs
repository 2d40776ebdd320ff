//! What the host does before it hands a head to a core: scale, then round to the encodings of the format.
//!
//! The power of two of the score's scale goes to the core's `score_shift`, the rest is folded into Q
//! ([`Scaling`]). In narrow formats Q, K and V are multiplied by powers of two on top ([`choose_scaling`]),
//! which the shift and the reader of the results undo exactly.

mod round;
mod scales;
mod scaling;
mod search;

pub use round::{round_to, round_value, saturates};
pub use scales::{Channels, encode_row, scale_value, scale_words};
pub use scaling::{Scaling, ScalingError, ScoreScale, TensorScale, v_candidates};
pub use search::choose_scaling;

use crate::tensor::{Attention, pad_rows};
use flashd_spec::config::Lengths;
use flashd_spec::format::{Encodings, Format, Formats};
use std::iter::repeat_n;

/// A head in the encodings of its operands' formats. Rows are contiguous, as in [`Attention`].
#[derive(Clone, Debug, PartialEq)]
pub struct Quantised {
    /// The formats of the encodings, and of the result.
    pub formats: Formats,
    /// How the tensors were scaled.
    pub scaling: Scaling,
    /// Elements of a row of `q` and of `k`, d_k.
    pub d: usize,
    /// Words of the scale behind them; 0 where there are no scales.
    pub scale_words: usize,
    /// Length of a row of `v`, d_v.
    pub dv: usize,
    /// Rows of `q`.
    pub queries: usize,
    /// Rows of `k` and of `v`.
    pub keys: usize,
    /// Queries, `[queries, d_k + scale_words]`.
    pub q: Vec<u64>,
    /// Keys, `[keys, d_k + scale_words]`.
    pub k: Vec<u64>,
    /// Values, `[keys, d_v]`.
    pub v: Vec<u64>,
    /// What the channels of V were divided by.
    pub channels: Channels,
    /// Elements of q, k and v that were beyond the largest number of their format and became that number.
    pub saturated: [usize; 3],
    /// Elements of q, k and v that were not zero and became zero.
    pub vanished: [usize; 3],
}

/// A tensor's encodings.
#[derive(Clone, Debug, Default)]
pub struct Rounded {
    /// Rows one after another, each with its scale behind it where rows have scales.
    pub words: Vec<u64>,
    /// Elements that were beyond the largest number of the format and became that number.
    pub saturated: usize,
    /// Elements that were not zero and became zero.
    pub vanished: usize,
}

impl Rounded {
    /// Rounds rows of `d` elements, each element scaled by its place in the row first; with `scales`, each row gets a scale of its own.
    pub fn rows(
        format: Format,
        d: usize,
        scales: bool,
        data: &[f32],
        scale: impl Fn(usize, f32) -> f64,
    ) -> Rounded {
        let mut rounded = Rounded::default();
        for row in data.chunks(d.max(1)) {
            let scaled = row.iter().enumerate().map(|(place, &x)| scale(place, x));
            let from = rounded.words.len();
            if scales {
                rounded.words.extend(encode_row(format, &scaled.collect::<Vec<_>>()));
            } else {
                rounded.words.extend(scaled.map(|x| {
                    rounded.saturated += usize::from(saturates(format, x));
                    round_to(format, x)
                }));
            }
            let vanished = |(x, bits): &(&f32, &u64)| **x != 0.0 && format.magnitude(**bits) == 0;
            rounded.vanished += row.iter().zip(&rounded.words[from..]).filter(vanished).count();
        }
        rounded
    }
}

/// Scales and rounds a head: one rounding for each element. Integers get a scale for each query and key if the core takes it, and for each
/// channel of V.
pub fn quantise(encodings: impl Into<Encodings>, scaling: Scaling, attention: &Attention) -> Quantised {
    let Encodings { formats, scale_words } = encodings.into();
    let channels = Channels::new(formats.v, &attention.v, attention.dv);
    let scales = scale_words > 0;
    let q = Rounded::rows(formats.q, attention.d, scales, &attention.q, |_, x| scaling.scale_q(x));
    let k = Rounded::rows(formats.k, attention.d, scales, &attention.k, |_, x| scaling.scale_k(x));
    let in_channel = |channel, x| scaling.scale_v(x) / channels.scale(channel);
    let v = Rounded::rows(formats.v, attention.dv, false, &attention.v, in_channel);
    Quantised {
        formats,
        scaling,
        d: attention.d,
        scale_words,
        dv: attention.dv,
        queries: attention.queries,
        keys: attention.keys,
        saturated: [&q, &k, &v].map(|tensor| tensor.saturated),
        vanished: [&q, &k, &v].map(|tensor| tensor.vanished),
        q: q.words,
        k: k.words,
        v: v.words,
        channels,
    }
}

impl Quantised {
    /// Words of a row of `q` and of `k`.
    pub fn key_words(&self) -> usize {
        self.d + self.scale_words
    }

    /// The attention output that belongs to an element of a core's result, by its place in the result.
    pub fn result(&self, channel: usize, bits: u64) -> f64 {
        self.channels.result(&self.scaling, self.formats.o, channel, bits)
    }

    /// Row i of Q.
    pub fn query(&self, i: usize) -> &[u64] {
        &self.q[i * self.key_words()..][..self.key_words()]
    }

    /// Row j of K.
    pub fn key(&self, j: usize) -> &[u64] {
        &self.k[j * self.key_words()..][..self.key_words()]
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
        assert!(d >= self.d, "rows of {} elements do not fit into {d}", self.d);
        // Scales stay behind the elements.
        let pad = |data: &[u64]| -> Vec<u64> {
            let rows = data.chunks_exact(self.key_words().max(1)).map(|row| row.split_at(self.d));
            let zeros = repeat_n(&0, d - self.d);
            rows.flat_map(|(elements, scale)| elements.iter().chain(zeros.clone()).chain(scale).copied())
                .collect()
        };
        let (q, k) = (pad(&self.q), pad(&self.k));
        let channels = self.channels.clone();
        Quantised { d, dv, q, k, v: pad_rows(&self.v, self.dv, dv, 0), channels, ..*self }
    }

    /// The numbers that the encodings stand for, in the scale of the original tensors: what a core sees. Exact
    /// references run on this tell the error of a datapath from the error of the format.
    ///
    /// `score_scale` on these tensors gives the same score as `score_shift` on the encodings, to f64 rounding:
    /// the remainder is taken out of Q again.
    pub fn dequantised(&self) -> [Vec<f64>; 3] {
        let value = |format: Format, bits: u64, factor: f64, exponent: i32| {
            round::scale_by_power_of_two(format.value(bits), -exponent) / factor
        };
        let rows = |format: Format, data: &[u64], factor: f64, exponent: i32| -> Vec<f64> {
            let row = |row: &[u64]| -> Vec<f64> {
                let (elements, scale) = row.split_at(self.d);
                let by = scale_value(scale, format);
                elements.iter().map(|&bits| value(format, bits, factor, exponent) * by).collect()
            };
            data.chunks_exact(self.key_words().max(1)).flat_map(row).collect()
        };
        let (s, formats) = (&self.scaling, self.formats);
        let of_v = |(i, &bits): (usize, &u64)| {
            value(formats.v, bits, 1.0, s.v_exponent) * self.channels.scale(i % self.dv)
        };
        [
            rows(formats.q, &self.q, s.q_factor, s.q_exponent),
            rows(formats.k, &self.k, 1.0, s.k_exponent),
            self.v.iter().enumerate().map(of_v).collect(),
        ]
    }
}

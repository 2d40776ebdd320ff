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
pub use scales::{encode_row, scale_value, scale_words};
pub use scaling::{Scaling, ScalingError, ScoreScale, TensorScale, v_candidates};
pub use search::choose_scaling;

use crate::tensor::{Attention, pad_rows};
use flashd_spec::config::Lengths;
use flashd_spec::format::{Encodings, Format, Formats};

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
    /// What the channels of V were divided by, where values are integers; empty otherwise.
    pub channels: Vec<f64>,
    /// Elements of q, k and v that were beyond the largest number of their format and became that number.
    pub saturated: [usize; 3],
    /// Elements of q, k and v that were not zero and became zero.
    pub vanished: [usize; 3],
}

/// Scales and rounds a head: one rounding for each element. Integers get a scale for each query and key if the core takes it, and for each
/// channel of V.
pub fn quantise(encodings: impl Into<Encodings>, scaling: Scaling, attention: &Attention) -> Quantised {
    let Encodings { formats, scale_words } = encodings.into();
    let channels = scales::channel_scales(formats.v, &attention.v, attention.dv);
    let mut counts = [(0, 0); 3];
    let mut count = |which: usize, format: Format, x: f32, scaled: f64, bits: u64| {
        let (saturated, vanished): &mut (usize, usize) = &mut counts[which];
        *saturated += usize::from(saturates(format, scaled));
        *vanished += usize::from(x != 0.0 && format.magnitude(bits) == 0);
    };
    let mut tensor = |which: usize, format: Format, data: &[f32], scale: &dyn Fn(f32) -> f64| -> Vec<u64> {
        if scale_words == 0 {
            let element = |&x: &f32| {
                let scaled = scale(x);
                let bits = round_to(format, scaled);
                count(which, format, x, scaled, bits);
                bits
            };
            return data.iter().map(element).collect();
        }
        let row = |row: &[f32]| {
            let words = encode_row(format, &row.iter().map(|&x| scale(x)).collect::<Vec<_>>());
            row.iter().zip(&words).for_each(|(&x, &bits)| count(which, format, x, 0.0, bits));
            words
        };
        data.chunks_exact(attention.d).flat_map(row).collect()
    };
    let q = tensor(0, formats.q, &attention.q, &|x| scaling.scale_q(x));
    let k = tensor(1, formats.k, &attention.k, &|x| scaling.scale_k(x));
    let values = attention.v.iter().enumerate().map(|(i, &x)| {
        let channel = channels.get(i % attention.dv).copied().unwrap_or(1.0);
        let scaled = scaling.scale_v(x) / channel;
        let bits = round_to(formats.v, scaled);
        count(2, formats.v, x, scaled, bits);
        bits
    });
    let v = values.collect();
    Quantised {
        formats,
        scaling,
        d: attention.d,
        scale_words,
        dv: attention.dv,
        queries: attention.queries,
        keys: attention.keys,
        q,
        k,
        v,
        channels,
        saturated: counts.map(|(saturated, _)| saturated),
        vanished: counts.map(|(_, vanished)| vanished),
    }
}

impl Quantised {
    /// Words of a row of `q` and of `k`.
    pub fn key_words(&self) -> usize {
        self.d + self.scale_words
    }

    /// The attention output that belongs to an element of a core's result, by its place in the result.
    pub fn result(&self, channel: usize, bits: u64) -> f64 {
        self.scaling.result(self.formats.o, bits) * self.channels.get(channel).copied().unwrap_or(1.0)
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
        // Scales stay behind the elements.
        let pad = |data: &[u64]| -> Vec<u64> {
            let rows = data.chunks_exact(self.key_words().max(1)).map(|row| row.split_at(self.d));
            rows.flat_map(|(elements, scale)| [&pad_rows(elements, self.d, d, 0), scale].concat()).collect()
        };
        let (q, k) = match self.scale_words {
            0 => (pad_rows(&self.q, self.d, d, 0), pad_rows(&self.k, self.d, d, 0)),
            _ => (pad(&self.q), pad(&self.k)),
        };
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
        let channel = |i: usize| self.channels.get(i % self.dv).copied().unwrap_or(1.0);
        let of_v = |(i, &bits): (usize, &u64)| value(formats.v, bits, 1.0, s.v_exponent) * channel(i);
        [
            rows(formats.q, &self.q, s.q_factor, s.q_exponent),
            rows(formats.k, &self.k, 1.0, s.k_exponent),
            self.v.iter().enumerate().map(of_v).collect(),
        ]
    }
}

//! The host's work before it sends a head to a core: scale, then round to the encodings of the format.
//!
//! The power of two of the score's scale goes to the core's `score_shift`, the rest is folded into Q
//! ([`Scaling`]). In narrow formats Q, K and V are multiplied by powers of two on top ([`choose_scaling`]),
//! which the shift and the reader of the results undo exactly.

mod channels;
mod round;
mod scales;
mod scaling;
mod search;

pub use channels::Channels;
pub use round::{FormatRounding, round_to, round_value};
pub use scales::{RowEncoding, ScaleRule};
pub use scaling::{Scaling, ScalingError, ScoreScale, TensorScale, channel_limit, v_candidates};
pub use search::choose_scaling;

use crate::tensor::Attention;
use flashd_spec::config::Lengths;
use flashd_spec::format::{Encodings, Words};
use scaling::Factors;

/// A head in the encodings of its operands' formats. Rows are contiguous, as in [`Attention`].
#[derive(Clone, Debug, PartialEq)]
pub struct Quantised {
    /// The formats of the encodings and of the result, and the scales.
    pub encodings: Encodings,
    /// How the tensors were scaled.
    pub scaling: Scaling,
    /// Elements of a row of `q` and of `k`, d_k.
    pub d: usize,
    /// Length of a row of `v`, d_v.
    pub dv: usize,
    /// Rows of `q`.
    pub queries: usize,
    /// Rows of `k` and of `v`.
    pub keys: usize,
    /// Queries, `[queries, d_k]`, each followed by the words of its scales.
    pub q: Vec<u64>,
    /// Keys, `[keys, d_k]`, likewise.
    pub k: Vec<u64>,
    /// Values, `[keys, d_v]`, likewise.
    pub v: Vec<u64>,
    /// The divisors of the channels of V.
    pub channels: Channels,
    /// Elements of q, k and v that were beyond the largest number of their format and became that number.
    pub saturated: [usize; 3],
    /// Elements of q, k and v that were not zero and became zero.
    pub vanished: [usize; 3],
}

/// A tensor's encodings.
#[derive(Clone, Debug, Default)]
pub struct Rounded {
    /// Rows one after another, each followed by its scale if rows have scales.
    pub words: Vec<u64>,
    /// Elements that were beyond the largest number of the format and became that number.
    pub saturated: usize,
    /// Elements that were not zero and became zero.
    pub vanished: usize,
}

impl Rounded {
    /// Rounds rows of `d` elements, each element scaled by its place in the row first.
    pub fn rows(encoding: RowEncoding, d: usize, data: &[f32], scale: impl Fn(usize, f32) -> f64) -> Rounded {
        let rounding = FormatRounding::new(encoding.format);
        let mut rounded = Rounded { words: Vec::with_capacity(data.len()), ..Rounded::default() };
        let mut scaled = Vec::with_capacity(d);
        for row in data.chunks(d.max(1)) {
            scaled.clear();
            scaled.extend(row.iter().enumerate().map(|(place, &x)| scale(place, x)));
            let from = rounded.words.len();
            rounded.saturated += encoding.append(rounding, &mut scaled, &mut rounded.words);
            // The sign is not of the magnitude: -0 is zero.
            let zero = if encoding.format.is_integer() { 0 } else { encoding.format.sign_bit() };
            let vanished = |(&x, &bits): (&f32, &u64)| usize::from((x != 0.0) & (bits & !zero == 0));
            rounded.vanished += row.iter().zip(&rounded.words[from..]).map(vanished).sum::<usize>();
        }
        rounded
    }

    /// These rows of `from` elements filled up to `to`.
    fn padded(self, encoding: RowEncoding, from: usize, to: usize) -> Rounded {
        match from == to {
            true => self,
            false => Rounded { words: padded(encoding, &self.words, from, to), ..self },
        }
    }

    /// These rows, followed by others.
    #[must_use]
    pub fn and(mut self, behind: Rounded) -> Rounded {
        self.words.extend(behind.words);
        self.saturated += behind.saturated;
        self.vanished += behind.vanished;
        self
    }
}

/// How vectors of q, k and v are rounded.
pub fn row_encodings(encodings: Encodings, rule: ScaleRule) -> [RowEncoding; 3] {
    let Encodings { formats, scales } = encodings;
    [(formats.q, scales.q), (formats.k, scales.k), (formats.v, scales.v)].map(|(format, scale)| RowEncoding {
        format,
        scale,
        rule,
    })
}

/// Scales and rounds vectors of a head, any number at a time: one rounding for each element. Vectors and blocks get the scales that the
/// core takes, and channels of values those of [`Channels`].
#[derive(Clone, Debug)]
pub struct Quantiser {
    encodings: Encodings,
    factors: Factors,
    rule: ScaleRule,
    /// Lengths of the head's vectors, and of the core's, which are filled with +0.
    own: Lengths,
    core: Lengths,
    channels: Channels,
}

impl Quantiser {
    /// The quantiser of a head.
    pub fn new(encodings: impl Into<Encodings>, scaling: Scaling, attention: &Attention) -> Quantiser {
        let (encodings, own) = (encodings.into(), attention.lengths());
        Quantiser {
            encodings,
            factors: scaling.factors(),
            rule: scaling.rule,
            own,
            core: own,
            channels: Channels::new(encodings, &attention.v, attention.dv),
        }
    }

    /// The same for a core that is wider than the head, as [`Quantised::pad_to`].
    #[must_use]
    pub fn pad_to(self, lengths: impl Into<Lengths>) -> Quantiser {
        Quantiser { core: lengths.into(), ..self }
    }

    /// The divisors of V's channels.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Rows of Q.
    pub fn queries(&self, rows: &[f32]) -> Rounded {
        let [of_q, ..] = row_encodings(self.encodings, self.rule);
        Rounded::rows(of_q, self.own.k, rows, |_, x| self.factors.q(x)).padded(of_q, self.own.k, self.core.k)
    }

    /// Rows of K.
    pub fn keys(&self, rows: &[f32]) -> Rounded {
        let [_, of_k, _] = row_encodings(self.encodings, self.rule);
        Rounded::rows(of_k, self.own.k, rows, |_, x| self.factors.k(x)).padded(of_k, self.own.k, self.core.k)
    }

    /// Rows of V.
    pub fn values(&self, rows: &[f32]) -> Rounded {
        let [.., of_v] = row_encodings(self.encodings, self.rule);
        let rounded = match self.channels.are_one() {
            true => Rounded::rows(of_v, self.own.v, rows, |_, x| self.factors.v(x)),
            false => {
                let in_channel = |channel, x| self.factors.v(x) / self.channels.scale(channel);
                Rounded::rows(of_v, self.own.v, rows, in_channel)
            }
        };
        rounded.padded(of_v, self.own.v, self.core.v)
    }
}

/// Scales and rounds all vectors of a head, as [`Quantiser`] does.
pub fn quantise(encodings: impl Into<Encodings>, scaling: Scaling, attention: &Attention) -> Quantised {
    let encodings = encodings.into();
    let quantiser = Quantiser::new(encodings, scaling, attention);
    let q = quantiser.queries(&attention.q);
    let k = quantiser.keys(&attention.k);
    let v = quantiser.values(&attention.v);
    Quantised {
        encodings,
        scaling,
        d: attention.d,
        dv: attention.dv,
        queries: attention.queries,
        keys: attention.keys,
        saturated: [&q, &k, &v].map(|tensor| tensor.saturated),
        vanished: [&q, &k, &v].map(|tensor| tensor.vanished),
        q: q.words,
        k: k.words,
        v: v.words,
        channels: quantiser.channels,
    }
}

impl Quantised {
    /// Words of the rows of `q`, `k` and `v`.
    pub fn words(&self) -> Words {
        self.encodings.words(self.d, self.dv)
    }

    /// The attention output that belongs to an element of a core's result, by its place in the result.
    pub fn result(&self, channel: usize, bits: u64) -> f64 {
        self.channels.result(&self.scaling, self.encodings.formats.o, channel, bits)
    }

    /// Row i of Q.
    pub fn query(&self, i: usize) -> &[u64] {
        row(&self.q, self.words().q, i)
    }

    /// Row j of K.
    pub fn key(&self, j: usize) -> &[u64] {
        row(&self.k, self.words().k, j)
    }

    /// Row j of V.
    pub fn value(&self, j: usize) -> &[u64] {
        row(&self.v, self.words().v, j)
    }

    /// The same head in rows of these lengths, filled with +0, for a core that is wider than the head. The scaling
    /// stays that of the original head dimension.
    ///
    /// # Panics
    /// If one is smaller than the rows are.
    pub fn pad_to(self, lengths: impl Into<Lengths>) -> Quantised {
        let Lengths { k: d, v: dv } = lengths.into();
        assert!(d >= self.d, "rows of {} elements do not fit into {d}", self.d);
        assert!(dv >= self.dv, "rows of {} elements do not fit into {dv}", self.dv);
        if (d, dv) == (self.d, self.dv) {
            return self;
        }
        let [of_q, of_k, of_v] = row_encodings(self.encodings, self.scaling.rule);
        let q = padded(of_q, &self.q, self.d, d);
        let k = padded(of_k, &self.k, self.d, d);
        let v = padded(of_v, &self.v, self.dv, dv);
        Quantised { d, dv, q, k, v, ..self }
    }

    /// The numbers of the encodings, in the scale of the original tensors: the operands of a core. Exact
    /// references run on this separate the error of a datapath from the error of the format.
    ///
    /// `score_scale` on these tensors gives the same score as `score_shift` on the encodings, to f64 rounding:
    /// the remainder is taken out of Q again.
    pub fn dequantised(&self) -> [Vec<f64>; 3] {
        let s = &self.scaling;
        let [of_q, of_k, of_v] = row_encodings(self.encodings, s.rule);
        let words = self.words();
        let rows = |encoding: RowEncoding, data: &[u64], words: usize, d: usize, exponent: i32| -> Vec<f64> {
            let row = |row: &[u64]| encoding.decode(d, row);
            let values = data.chunks_exact(words.max(1)).flat_map(row);
            values.map(|x| round::scale_by_power_of_two(x, -exponent)).collect()
        };
        let mut q = rows(of_q, &self.q, words.q, self.d, s.q_exponent);
        q.iter_mut().for_each(|q| *q /= s.q_factor);
        let mut v = rows(of_v, &self.v, words.v, self.dv, s.v_exponent);
        v.iter_mut().enumerate().for_each(|(i, v)| *v *= self.channels.scale(i % self.dv));
        [q, rows(of_k, &self.k, words.k, self.d, s.k_exponent), v]
    }
}

/// Rows of `from` elements as rows of `to`; scales stay after the elements.
fn padded(encoding: RowEncoding, data: &[u64], from: usize, to: usize) -> Vec<u64> {
    let words = from + encoding.scale.words(encoding.format, from);
    data.chunks_exact(words.max(1)).flat_map(|row| encoding.padded(from, to, row)).collect()
}

/// Row i of rows of this number of words.
fn row(data: &[u64], words: usize, i: usize) -> &[u64] {
    &data[i * words..][..words]
}

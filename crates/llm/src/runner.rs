//! The transformer in f32, one token at a time.

use crate::attention::{AttentionBackend, LayerPosition};
use crate::checkpoint::Checkpoint;
use crate::products::dot;

/// Base of the rotations of queries and keys.
const ROTATION_BASE: f32 = 10_000.0;
/// Added to a mean square before its root.
const NORM_EPSILON: f32 = 1e-5;

/// Keys and values of one layer so far.
#[derive(Clone, Debug)]
struct KvCache {
    /// By kv head, `[position, head_size]`.
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
}

/// A model at some position of a sequence.
pub struct Runner<'a, A> {
    model: &'a Checkpoint,
    attention: A,
    cache: Vec<KvCache>,
    position: usize,
    logits: Vec<f32>,
}

impl<'a, A: AttentionBackend> Runner<'a, A> {
    /// A model at the start of a sequence.
    pub fn new(model: &'a Checkpoint, attention: A) -> Runner<'a, A> {
        let config = &model.config;
        let empty = vec![Vec::new(); config.kv_heads];
        let cache = vec![KvCache { keys: empty.clone(), values: empty }; config.layers];
        Runner { model, attention, cache, position: 0, logits: vec![0.0; config.vocab] }
    }

    /// The model.
    pub fn model(&self) -> &'a Checkpoint {
        self.model
    }

    /// Tokens taken since the start of the sequence.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Logits after the last token, zeros before the first.
    pub fn logits(&self) -> &[f32] {
        &self.logits
    }

    /// The implementation of attention that runs.
    pub fn attention(&self) -> &A {
        &self.attention
    }

    /// The same, to change it between two sequences.
    pub fn attention_mut(&mut self) -> &mut A {
        &mut self.attention
    }

    /// Returns the attention.
    pub fn into_attention(self) -> A {
        self.attention
    }

    /// Begins a new sequence.
    pub fn reset(&mut self) {
        self.position = 0;
        for cache in &mut self.cache {
            cache.keys.iter_mut().chain(&mut cache.values).for_each(Vec::clear);
        }
        self.attention.reset();
        self.logits.fill(0.0);
    }

    /// Takes the next token of the sequence and returns the logits of its successor.
    ///
    /// For each layer, with RMS norms before both parts: `x += wo attention(rotated q, rotated k, v)`, then
    /// `x += w2 (silu(w1 x) * w3 x)`.
    ///
    /// # Panics
    /// If the token is not in the vocabulary or the sequence is as long as the model's context.
    pub fn step(&mut self, token: usize) -> &[f32] {
        let (m, c) = (self.model, self.model.config);
        assert!(token < c.vocab && self.position < c.context, "no such token, or the context is full");
        let (dim, kv) = (c.dim, c.kv_dim());
        let mut x = m.embedding[token * dim..][..dim].to_vec();
        for layer in 0..c.layers {
            let normed = rms_norm(&x, &m.rms_att[layer * dim..][..dim]);
            let mut q = multiply(&m.wq[layer * dim * dim..][..dim * dim], &normed);
            let mut k = multiply(&m.wk[layer * kv * dim..][..kv * dim], &normed);
            let v = multiply(&m.wv[layer * kv * dim..][..kv * dim], &normed);
            rotate(&mut q, c.head_size(), self.position);
            rotate(&mut k, c.head_size(), self.position);
            let cache = &mut self.cache[layer];
            for (rows, new) in [(&mut cache.keys, &k), (&mut cache.values, &v)] {
                rows.iter_mut().zip(new.chunks_exact(c.head_size())).for_each(|(rows, row)| rows.extend(row));
            }
            let heads =
                LayerPosition { layer, size: c.head_size(), q: &q, keys: &cache.keys, values: &cache.values };
            let mut out = vec![0.0; dim];
            self.attention.attend(heads, &mut out);
            add(&mut x, &multiply(&m.wo[layer * dim * dim..][..dim * dim], &out));

            let (from, size) = (layer * c.hidden * dim, c.hidden * dim);
            let normed = rms_norm(&x, &m.rms_ffn[layer * dim..][..dim]);
            let mut hidden = multiply(&m.w1[from..][..size], &normed);
            let gate = multiply(&m.w3[from..][..size], &normed);
            hidden.iter_mut().zip(gate).for_each(|(h, g)| *h *= 1.0 / (1.0 + (-*h).exp()) * g);
            add(&mut x, &multiply(&m.w2[from..][..size], &hidden));
        }
        self.position += 1;
        let x = rms_norm(&x, &m.rms_final);
        self.logits = multiply(m.classifier.as_ref().unwrap_or(&m.embedding), &x);
        &self.logits
    }
}

/// `x_i weight_i / sqrt(mean(x^2) + 1e-5)`.
fn rms_norm(x: &[f32], weight: &[f32]) -> Vec<f32> {
    let mean = x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32;
    let factor = 1.0 / (mean + NORM_EPSILON).sqrt();
    x.iter().zip(weight).map(|(x, weight)| weight * (factor * x)).collect()
}

/// Row-major matrix times vector.
fn multiply(matrix: &[f32], x: &[f32]) -> Vec<f32> {
    matrix.chunks_exact(x.len()).map(|row| dot(row, x)).collect()
}

fn add(x: &mut [f32], y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

/// Rotates pairs of neighbours of every head: pair i by `position * 10000^(-2 i / head_size)` radians.
fn rotate(x: &mut [f32], head_size: usize, position: usize) {
    for (i, pair) in x.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let along = (2 * i % head_size) as f32 / head_size as f32;
        let (sin, cos) = (position as f32 / ROTATION_BASE.powf(along)).sin_cos();
        *pair = [pair[0] * cos - pair[1] * sin, pair[0] * sin + pair[1] * cos];
    }
}

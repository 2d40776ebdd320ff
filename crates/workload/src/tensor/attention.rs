//! The tensors of one head.

use super::error::{TensorError, TensorPlace, TensorProblem};
use super::npy::write_npy;
use super::rows::{max_abs, pad_rows};
use crate::positions::{CausalAlign, Positions};
use flashd_spec::config::Lengths;
use std::path::Path;
use std::sync::Arc;

/// How many queries and keys a head has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Rows of `q`.
    pub queries: usize,
    /// Rows of `k` and of `v`.
    pub keys: usize,
}

/// The tensors of one attention head. Rows are contiguous: row i of `q` is `q[i * d..(i + 1) * d]`, row j of `v` `v[j * dv..(j + 1) * dv]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Length of a row of `q` and of `k`, d_k.
    pub d: usize,
    /// Length of a row of `v`, d_v.
    pub dv: usize,
    /// Rows of `q`.
    pub queries: usize,
    /// Rows of `k` and of `v`.
    pub keys: usize,
    /// Queries, `[queries, d_k]`.
    pub q: Vec<f32>,
    /// Keys, `[keys, d_k]`.
    pub k: Vec<f32>,
    /// Values, `[keys, d_v]`.
    pub v: Vec<f32>,
    /// Its size before it was [cut](Attention::truncated), if it was: the queries' positions follow from that.
    pub cut_from: Option<Size>,
    /// Where it comes from, for messages.
    pub source: Origins,
}

/// The origin of a head, which messages about its elements name. All are equal: heads are compared by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Origins(Option<Arc<[TensorOrigin; 3]>>);

/// The origin of a head's q, k or v.
#[derive(Clone, Debug)]
pub(super) struct TensorOrigin {
    pub(super) place: TensorPlace,
    /// The head there, if there are several.
    pub(super) head: Option<usize>,
    /// Finite elements that float32 has as infinity, by their place in the tensor.
    pub(super) beyond: Vec<(usize, f64)>,
}

impl PartialEq for Origins {
    fn eq(&self, _: &Origins) -> bool {
        true
    }
}

impl Origins {
    pub(super) fn new(of: [TensorOrigin; 3]) -> Origins {
        Origins(Some(Arc::new(of)))
    }

    /// Tensors in memory, named by their letters, with the number of the head in each tensor of several heads.
    pub fn in_memory(heads: [Option<usize>; 3]) -> Origins {
        let mut places = ["q", "k", "v"].into_iter().map(|name| TensorPlace::file(Path::new(name)));
        let mut origin = |head| TensorOrigin {
            place: places.next().unwrap_or_else(|| TensorPlace::file(Path::new("v"))),
            head,
            beyond: Vec::new(),
        };
        Origins::new(heads.map(&mut origin))
    }

    /// The error of an element of a tensor, 0 to 2 for q to v, that is not finite.
    fn not_finite(&self, tensor: usize, at: usize, columns: usize, value: f32) -> TensorError {
        let origins = match &self.0 {
            Some(origins) => origins.clone(),
            None => return Origins::in_memory([None; 3]).not_finite(tensor, at, columns, value),
        };
        let TensorOrigin { place, head, beyond } = &origins[tensor];
        let wide = beyond.iter().find(|(place, _)| *place == at).map_or(f64::from(value), |(_, wide)| *wide);
        place.error(TensorProblem::NotFinite {
            head: *head,
            row: at / columns,
            column: at % columns,
            value: wide,
        })
    }
}

impl Attention {
    /// A head of queries and keys of `d` elements, and as many values as keys.
    ///
    /// # Panics
    /// If `d` is 0, a tensor is not whole rows, or V has no row for each of K.
    pub fn new(d: usize, q: Vec<f32>, k: Vec<f32>, v: Vec<f32>) -> Attention {
        let keys = k.len() / d;
        let dv = v.len().checked_div(keys).unwrap_or(d);
        assert!(
            q.len().is_multiple_of(d) && k.len() == keys * d && v.len() == keys * dv,
            "q has {} elements, k {} and v {}, in rows of {d}",
            q.len(),
            k.len(),
            v.len()
        );
        Attention { d, dv, queries: q.len() / d, keys, q, k, v, cut_from: None, source: Origins::default() }
    }

    /// d_k and d_v.
    pub fn lengths(&self) -> Lengths {
        Lengths { k: self.d, v: self.dv }
    }

    /// Row i of Q.
    pub fn query(&self, i: usize) -> &[f32] {
        &self.q[i * self.d..][..self.d]
    }

    /// Row j of K.
    pub fn key(&self, j: usize) -> &[f32] {
        &self.k[j * self.d..][..self.d]
    }

    /// Row j of V.
    pub fn value(&self, j: usize) -> &[f32] {
        &self.v[j * self.dv..][..self.dv]
    }

    /// Largest magnitude in V.
    pub fn max_abs_v(&self) -> f64 {
        max_abs(&self.v)
    }

    /// max|v| of each of the d_v channels.
    pub fn channel_max_abs_v(&self) -> Vec<f64> {
        let mut largest = vec![0f64; self.dv];
        for row in self.v.chunks_exact(self.dv) {
            largest.iter_mut().zip(row).for_each(|(max, &v)| *max = max.max(f64::from(v).abs()));
        }
        largest
    }

    /// The positions of the queries among the keys; a cut does not move them.
    pub fn positions(&self, align: CausalAlign) -> Positions {
        let Size { queries, keys } = self.uncut();
        Positions::new(queries, keys, align)
    }

    /// Its size before it was cut.
    pub fn uncut(&self) -> Size {
        self.cut_from.unwrap_or(Size { queries: self.queries, keys: self.keys })
    }

    /// The first `queries` queries and `keys` keys, or as many as there are. Queries keep their
    /// [positions](Attention::positions).
    pub fn truncated(&self, queries: usize, keys: usize) -> Attention {
        let (queries, keys) = (queries.min(self.queries), keys.min(self.keys));
        if (queries, keys) == (self.queries, self.keys) {
            return self.clone();
        }
        Attention {
            d: self.d,
            dv: self.dv,
            queries,
            keys,
            q: self.q[..queries * self.d].to_vec(),
            k: self.k[..keys * self.d].to_vec(),
            v: self.v[..keys * self.dv].to_vec(),
            cut_from: Some(self.uncut()),
            source: self.source.clone(),
        }
    }

    /// The same head in rows of these lengths, filled with zeros, for a core that is wider than the head.
    ///
    /// The scale 1/sqrt(d) stays that of the original head dimension: take the
    /// [`Scaling`](crate::quantise::Scaling) from the tensors as they were.
    ///
    /// # Panics
    /// If one is smaller than the head's.
    pub fn pad_to(&self, lengths: impl Into<Lengths>) -> Attention {
        let Lengths { k: d, v: dv } = lengths.into();
        let pad = |data: &[f32]| pad_rows(data, self.d, d, 0.0);
        let (q, k, v) = (pad(&self.q), pad(&self.k), pad_rows(&self.v, self.dv, dv, 0.0));
        Attention { d, dv, q, k, v, source: self.source.clone(), ..*self }
    }

    /// The same with K minus its mean over the keys that some query sees, channel by channel; `seen` has one element for each key. A query's
    /// scores all fall by `q . mean`, and the softmax of scores that all fall by the same is the same; but K without what its keys have in
    /// common fills a narrow format better (smooth K of SageAttention, arXiv 2410.02367, section 4.2). Means are formed in f64, differences
    /// rounded once to f32. Other keys stay as they are.
    #[must_use]
    pub fn smooth_k(&self, seen: &[bool]) -> Attention {
        let count = seen.iter().filter(|&&seen| seen).count();
        let mut means = vec![0f64; self.d];
        for (row, _) in self.k.chunks_exact(self.d).zip(seen).filter(|(_, seen)| **seen) {
            means.iter_mut().zip(row).for_each(|(mean, &k)| *mean += f64::from(k) / count as f64);
        }
        let mut k = self.k.clone();
        for (row, _) in k.chunks_exact_mut(self.d).zip(seen).filter(|(_, seen)| **seen) {
            row.iter_mut().zip(&means).for_each(|(k, mean)| *k = (f64::from(*k) - mean) as f32);
        }
        Attention { k, ..self.clone() }
    }

    /// The same with zeros in queries that see no key and in keys and values that no query sees, which may be anything; `queries` and `keys`
    /// have one element for each row, true for a visible row.
    ///
    /// # Errors
    /// Names the tensor and the first element that is seen and not finite.
    pub fn keep(mut self, queries: &[bool], keys: &[bool]) -> Result<Attention, TensorError> {
        let Attention { d, dv, q, k, v, source, .. } = &mut self;
        for (tensor, (data, columns, seen)) in
            [(q, *d, queries), (k, *d, keys), (v, *dv, keys)].into_iter().enumerate()
        {
            for (row, (elements, seen)) in data.chunks_exact_mut(columns.max(1)).zip(seen).enumerate() {
                if !seen {
                    elements.fill(0.0);
                } else if let Some(column) = not_finite(elements) {
                    return Err(source.not_finite(tensor, row * columns + column, columns, elements[column]));
                }
            }
        }
        Ok(self)
    }

    /// The same, if all of it is finite.
    ///
    /// # Errors
    /// Names the tensor and the first element that is not.
    pub fn finite(self) -> Result<Attention, TensorError> {
        let (queries, keys) = (vec![true; self.queries], vec![true; self.keys]);
        self.keep(&queries, &keys)
    }

    /// Writes `<stem>-q.npy`, `<stem>-k.npy` and `<stem>-v.npy` into a folder, the names that
    /// [`load_dir`](crate::load_dir) reads.
    ///
    /// # Errors
    /// Whatever the operating system reports.
    pub fn write_npy(&self, folder: &Path, stem: &str) -> std::io::Result<()> {
        for (role, shape, data) in [
            ("q", [self.queries, self.d], &self.q),
            ("k", [self.keys, self.d], &self.k),
            ("v", [self.keys, self.dv], &self.v),
        ] {
            write_npy(&folder.join(format!("{stem}-{role}.npy")), &shape, data)?;
        }
        Ok(())
    }
}

/// The first number that is not finite.
fn not_finite(numbers: &[f32]) -> Option<usize> {
    // To look for the place takes longer than to see that there is none.
    let all_are = numbers.iter().fold(true, |finite, x| finite & x.is_finite());
    if all_are { None } else { numbers.iter().position(|x| !x.is_finite()) }
}

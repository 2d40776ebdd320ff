//! Heads from files.

use super::attention::{Attention, Origins, Size, TensorOrigin};
use super::bundle;
use super::error::{TensorError, TensorProblem};
use super::read::{First, Rank, Requirements, Tensor, TensorRole, npy_file};
use std::path::Path;

/// One head, or the heads of a layer, as read from files. Elements may be anything; [`Attention::keep`] checks the visible rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// At least one.
    pub heads: Vec<Attention>,
    /// The sizes before the last two of Q's shape: none, `[heads]` or `[1, heads]`.
    pub shape: Vec<usize>,
}

impl Layer {
    /// [`Attention::from_npy`] for one head or the heads of a layer: Q is `[heads, queries, d]` too, K and V are
    /// `[heads, keys, d]`, each with a batch of one in front if there is one. Where K and V have fewer heads than Q
    /// (grouped queries), each serves as many heads of Q in a row.
    ///
    /// # Errors
    /// Names the file, the error and the accepted values.
    pub fn from_npy(q: &Path, k: &Path, v: &Path) -> Result<Layer, TensorError> {
        Layer::npy_rows([q, k, v], First::default())
    }

    /// [`Layer::from_npy`] with the first rows only: heads are [cut](Attention::truncated), and no more is in memory.
    ///
    /// # Errors
    /// As there.
    pub fn npy_rows(paths: [&Path; 3], first: First) -> Result<Layer, TensorError> {
        Layer::assemble(npy_files(paths, Rank::Layer, first)?)
    }

    /// [`Attention::from_bundle`] for one head or the heads of a layer, in the shapes of [`Layer::from_npy`].
    ///
    /// # Errors
    /// Names the file, the entry, the error and the accepted values.
    pub fn from_bundle(path: &Path) -> Result<Layer, TensorError> {
        Layer::bundle_rows(path, First::default())
    }

    /// [`Layer::from_bundle`] with the first rows only, as [`Layer::npy_rows`].
    ///
    /// # Errors
    /// As there.
    pub fn bundle_rows(path: &Path, first: First) -> Result<Layer, TensorError> {
        Layer::assemble(bundle::read(path, Rank::Layer, first)?)
    }

    /// Checks the shapes of three tensors against each other.
    fn check_shapes([q, k, v]: &[Tensor; 3]) -> Result<(), TensorError> {
        if k.columns != q.columns {
            return Err(k.place.error(TensorProblem::DimensionMismatch {
                d: k.columns,
                other: q.place.to_string(),
                other_d: q.columns,
            }));
        }
        if v.rows != k.rows {
            return Err(v.place.error(TensorProblem::RowMismatch {
                rows: v.rows,
                other: k.place.to_string(),
                other_rows: k.rows,
            }));
        }
        for (tensor, fits) in [(v, v.heads == k.heads), (q, q.heads.is_multiple_of(k.heads))] {
            if !fits {
                return Err(tensor.place.error(TensorProblem::HeadMismatch {
                    heads: tensor.heads,
                    other: k.place.to_string(),
                    other_heads: k.heads,
                }));
            }
        }
        Ok(())
    }

    /// The heads of three tensors, at least one.
    fn assemble(tensors: [Tensor; 3]) -> Result<Layer, TensorError> {
        Layer::check_shapes(&tensors)?;
        let [q, k, v] = tensors;
        let whole = Size { queries: q.rows, keys: k.rows };
        let size = Size { queries: q.taken, keys: k.taken };
        let (heads, served) = (q.heads, q.heads / k.heads);
        let place = |i: usize| [i, i / served, i / served];
        let origin = |tensor: &Tensor, head: usize| {
            let elements = tensor.taken * tensor.columns;
            let own = |&(at, value): &(usize, f64)| (at / elements == head).then_some((at % elements, value));
            let beyond = tensor.beyond.iter().filter_map(own).collect();
            TensorOrigin { place: tensor.place.clone(), head: (tensor.heads > 1).then_some(head), beyond }
        };
        let source = |i: usize| {
            let [of_q, of_k, of_v] = place(i);
            Origins::new([origin(&q, of_q), origin(&k, of_k), origin(&v, of_v)])
        };
        let sources: Vec<Origins> = (0..heads).map(source).collect();
        let (d, dv, leading) = (q.columns, v.columns, q.leading.clone());
        let head = |source, [q, k, v]: [Vec<f32>; 3]| Attention {
            d,
            dv,
            queries: size.queries,
            keys: size.keys,
            q,
            k,
            v,
            cut_from: (size != whole).then_some(whole),
            source,
        };
        let part = |tensor: &Tensor, head: usize| {
            let elements = tensor.taken * tensor.columns;
            tensor.data[head * elements..][..elements].to_vec()
        };
        let heads = match heads {
            // Nothing is copied.
            1 => sources
                .into_iter()
                .zip([[q.data, k.data, v.data]])
                .map(|(source, all)| head(source, all))
                .collect(),
            _ => {
                let parts = |(i, source): (usize, Origins)| {
                    let [of_q, of_k, of_v] = place(i);
                    head(source, [part(&q, of_q), part(&k, of_k), part(&v, of_v)])
                };
                sources.into_iter().enumerate().map(parts).collect()
            }
        };
        Ok(Layer { heads, shape: leading })
    }
}

impl Attention {
    /// Reads three `.npy` files: Q is `[queries, d]` or `[d]`, K is `[keys, d]`, V is `[keys, d]` or as wide as values are.
    ///
    /// # Errors
    /// Names the file, the error and the accepted values.
    pub fn from_npy(q: &Path, k: &Path, v: &Path) -> Result<Attention, TensorError> {
        Layer::assemble(npy_files([q, k, v], Rank::Head, First::default())?)?.heads.swap_remove(0).finite()
    }

    /// Reads the entries q, k and v (or Q, K and V) of a `.npz` or `.safetensors` file.
    ///
    /// # Errors
    /// Names the file, the entry, the error and the accepted values.
    pub fn from_bundle(path: &Path) -> Result<Attention, TensorError> {
        let tensors = bundle::read(path, Rank::Head, First::default())?;
        Layer::assemble(tensors)?.heads.swap_remove(0).finite()
    }
}

fn npy_files(paths: [&Path; 3], rank: Rank, first: First) -> Result<[Tensor; 3], TensorError> {
    let [q, k, v] = paths;
    let of = |path, role| npy_file(path, Requirements { role, rank, first });
    Ok([of(q, TensorRole::Q)?, of(k, TensorRole::K)?, of(v, TensorRole::V)?])
}

/// The biases of a head's scores from a file.
pub(crate) struct Added {
    tensor: Tensor,
    keys: usize,
}

/// Reads the biases of a head's scores. The head may be cut; the file has the numbers of the whole head.
pub(crate) fn added(path: &Path, head: &Attention) -> Result<Added, TensorError> {
    let first = First { queries: Some(head.queries), keys: Some(head.keys) };
    let tensor = npy_file(path, Requirements { role: TensorRole::Bias, rank: Rank::Head, first })?;
    let Size { queries, keys } = head.uncut();
    match tensor.columns == keys && (tensor.rows == 1 || tensor.rows == queries) {
        true => Ok(Added { tensor, keys: head.keys }),
        false => {
            let (rows, columns) = (tensor.rows, tensor.columns);
            Err(tensor.place.error(TensorProblem::BiasMismatch { rows, columns, queries, keys }))
        }
    }
}

impl Added {
    /// Whether there is one row for all queries.
    pub(crate) fn is_one_row(&self) -> bool {
        self.tensor.rows == 1
    }

    /// The number of a query and key.
    pub(crate) fn of(&self, query: usize, key: usize) -> f32 {
        self.tensor.data[self.row(query) * self.keys + key]
    }

    /// Whether it hides the key.
    pub(crate) fn hides(&self, query: usize, key: usize) -> bool {
        self.tensor.hides(self.of(query, key))
    }

    /// The error of a number that can be added to no score.
    pub(crate) fn refused(&self, query: usize, column: usize) -> TensorError {
        let value = self.of(query, column).into();
        self.tensor.place.error(TensorProblem::NoMask { row: self.row(query), column, value })
    }

    fn row(&self, query: usize) -> usize {
        if self.is_one_row() { 0 } else { query }
    }
}

//! Q, K and V as float32, from files.
//!
//! [`Attention::from_npy`] reads three `.npy` files, [`Attention::from_bundle`] one `.npz` or `.safetensors`
//! file with entries q, k and v. Float16, float64, bfloat16 and fp8 are converted; either byte order
//! and either array order is read. Everything that is read is checked: shapes agree and every element is finite.
//! [`Layer`] is all heads of a layer, stacked.

mod bundle;
mod element;
mod error;
mod mask;
mod npy;

pub use error::{Place, Problem, TensorError};
pub use mask::read_mask;
pub use npy::{npy_bytes, write_npy};

use crate::positions::{CausalAlign, Positions};
use flashd_spec::config::Lengths;
use std::path::Path;

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
        Attention { d, dv, queries: q.len() / d, keys, q, k, v, cut_from: None }
    }

    /// Reads three `.npy` files: Q is `[queries, d]` or `[d]`, K is `[keys, d]`, V is `[keys, d]` or as wide as values are.
    ///
    /// # Errors
    /// Names the file, what is wrong with it and what would be right.
    pub fn from_npy(q: &Path, k: &Path, v: &Path) -> Result<Attention, TensorError> {
        Ok(Layer::assemble(npy_files([q, k, v], Rank::Head)?)?.heads.swap_remove(0))
    }

    /// Reads the entries q, k and v (or Q, K and V) of a `.npz` or `.safetensors` file.
    ///
    /// # Errors
    /// Names the file and the entry, what is wrong with it and what would be right.
    pub fn from_bundle(path: &Path) -> Result<Attention, TensorError> {
        Ok(Layer::assemble(bundle::read(path, Rank::Head)?)?.heads.swap_remove(0))
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

    /// Where the queries stand among the keys; a cut does not move them.
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
        Attention { d, dv, q: pad(&self.q), k: pad(&self.k), v: pad_rows(&self.v, self.dv, dv, 0.0), ..*self }
    }

    /// The same with K minus its mean over the keys, channel by channel. A query's scores all fall by `q . mean`, and the softmax of
    /// scores that all fall by the same is the same; but K without what its keys have in common fills a narrow format better (smooth K of
    /// SageAttention, arXiv 2410.02367, section 4.2). Means are formed in f64, differences rounded once to f32.
    #[must_use]
    pub fn smooth_k(&self) -> Attention {
        let mut means = vec![0f64; self.d];
        for row in self.k.chunks_exact(self.d) {
            means.iter_mut().zip(row).for_each(|(mean, &k)| *mean += f64::from(k) / self.keys as f64);
        }
        let k = self.k.chunks_exact(self.d).flat_map(|row| row.iter().zip(&means));
        let k = k.map(|(&k, mean)| (f64::from(k) - mean) as f32).collect();
        Attention { k, ..self.clone() }
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

/// One head, or the heads of a layer.
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
    /// Names the file, what is wrong with it and what would be right.
    pub fn from_npy(q: &Path, k: &Path, v: &Path) -> Result<Layer, TensorError> {
        Layer::assemble(npy_files([q, k, v], Rank::Layer)?)
    }

    /// [`Attention::from_bundle`] for one head or the heads of a layer, in the shapes of [`Layer::from_npy`].
    ///
    /// # Errors
    /// Names the file and the entry, what is wrong with it and what would be right.
    pub fn from_bundle(path: &Path) -> Result<Layer, TensorError> {
        Layer::assemble(bundle::read(path, Rank::Layer)?)
    }

    /// The heads of three tensors, at least one.
    fn assemble([q, k, v]: [Tensor; 3]) -> Result<Layer, TensorError> {
        if k.columns != q.columns {
            return Err(k.place.error(Problem::DimensionMismatch {
                d: k.columns,
                other: q.place.to_string(),
                other_d: q.columns,
            }));
        }
        if v.rows != k.rows {
            return Err(v.place.error(Problem::RowMismatch {
                rows: v.rows,
                other: k.place.to_string(),
                other_rows: k.rows,
            }));
        }
        for (tensor, fits, other) in [(&v, v.heads == k.heads, &k), (&q, q.heads.is_multiple_of(k.heads), &k)]
        {
            if !fits {
                return Err(tensor.place.error(Problem::HeadMismatch {
                    heads: tensor.heads,
                    other: other.place.to_string(),
                    other_heads: other.heads,
                }));
            }
        }
        let (d, heads) = (q.columns, q.heads);
        if heads == 1 {
            let head = Attention::new(d, q.data, k.data, v.data);
            return Ok(Layer { heads: vec![head], shape: q.leading });
        }
        let served = heads / k.heads;
        let head = |i: usize| {
            let part = |tensor: &Tensor, head: usize| {
                let elements = tensor.rows * tensor.columns;
                tensor.data[head * elements..][..elements].to_vec()
            };
            Attention::new(d, part(&q, i), part(&k, i / served), part(&v, i / served))
        };
        Ok(Layer { heads: (0..heads).map(head).collect(), shape: q.leading.clone() })
    }
}

/// Largest magnitude of a tensor, 0 for an empty one.
pub(crate) fn max_abs(data: &[f32]) -> f64 {
    // The encodings of magnitudes are in the order of the magnitudes, and vector instructions compare integers side by side.
    let largest = data.iter().fold(0, |max: i32, x| max.max(x.abs().to_bits() as i32));
    f32::from_bits(largest as u32).into()
}

/// Rows of `from` elements as rows of `to` elements, the rest filled up.
pub(crate) fn pad_rows<T: Copy>(data: &[T], from: usize, to: usize, fill: T) -> Vec<T> {
    assert!(to >= from, "rows of {from} elements do not fit into {to}");
    data.chunks(from)
        .flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(fill, to - from)))
        .collect()
}

/// Which of the three a tensor is: it decides the shapes that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Q,
    K,
    V,
    /// What is added to scores.
    Bias,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Q => "q",
            Role::K => "k",
            Role::V => "v",
            Role::Bias => "bias",
        }
    }

    /// Heads, rows and columns of a shape, if it is allowed.
    fn heads(self, shape: &[u64], rank: Rank) -> Result<[u64; 3], Problem> {
        let size = match (rank, self, shape) {
            (_, _, &[rows, columns]) => [1, rows, columns],
            (_, Role::Q | Role::Bias, &[columns]) => [1, 1, columns],
            (Rank::Layer, _, &[heads, rows, columns] | &[1, heads, rows, columns]) => [heads, rows, columns],
            _ => {
                let needed = match (rank, self) {
                    (_, Role::Bias) => "[keys] or [queries, keys]",
                    (Rank::Head, Role::Q) => "[queries, d] or [d]",
                    (Rank::Head, _) => "[keys, d]",
                    (Rank::Layer, Role::Q) => {
                        "[queries, d], [d], [heads, queries, d] or [1, heads, queries, d]"
                    }
                    (Rank::Layer, _) => "[keys, d], [heads, keys, d] or [1, heads, keys, d]",
                };
                return Err(Problem::WrongRank { shape: shape.to_vec(), needed });
            }
        };
        if size.contains(&0) {
            return Err(Problem::Empty { shape: shape.to_vec() });
        }
        Ok(size)
    }
}

/// What a tensor may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    /// One head.
    Head,
    /// One head, or several along a first dimension.
    Layer,
}

/// One tensor and where it came from.
struct Tensor {
    place: Place,
    /// The sizes before those of rows and columns, as in the file.
    leading: Vec<usize>,
    heads: usize,
    rows: usize,
    columns: usize,
    /// `[heads, rows, columns]`.
    data: Vec<f32>,
}

impl Tensor {
    /// Checks shape and size before anything is allocated, then converts.
    fn new(
        place: Place,
        role: Role,
        rank: Rank,
        header: &npy::Header,
        data: &[u8],
    ) -> Result<Tensor, TensorError> {
        let size = role.heads(&header.shape, rank).map_err(|problem| place.error(problem))?;
        if header.data_bytes() != Some(data.len() as u64) {
            return Err(place.error(header.wrong_size(data.len() as u64)));
        }
        // All fit: the data that they describe is in memory.
        let [heads, rows, columns] = size.map(|n| n as usize);
        let mut values = Vec::with_capacity(heads * rows * columns);
        for position in 0..heads * rows * columns {
            let (head, row, column) =
                (position / (rows * columns), position / columns % rows, position % columns);
            let index = if header.fortran_order { (column * rows + row) * heads + head } else { position };
            let value = header.value(data, index);
            let converted = value as f32;
            if !converted.is_finite() {
                let head = (heads > 1).then_some(head);
                return Err(place.error(Problem::NotFinite { head, row, column, value }));
            }
            values.push(converted);
        }
        let leading =
            header.shape[..header.shape.len().saturating_sub(2)].iter().map(|&n| n as usize).collect();
        Ok(Tensor { place, leading, heads, rows, columns, data: values })
    }
}

fn npy_files(paths: [&Path; 3], rank: Rank) -> Result<[Tensor; 3], TensorError> {
    let [q, k, v] = paths;
    Ok([npy_file(q, Role::Q, rank)?, npy_file(k, Role::K, rank)?, npy_file(v, Role::V, rank)?])
}

fn npy_file(path: &Path, role: Role, rank: Rank) -> Result<Tensor, TensorError> {
    let place = Place::file(path);
    let bytes = npy::read_file(path)?;
    let mut rest = bytes.as_slice();
    let header = npy::read_header(&mut rest).map_err(|problem| place.error(problem))?;
    Tensor::new(place, role, rank, &header, rest)
}

/// What is added to the scores of a head of so many queries and keys: rows, one for all queries or one for each, and numbers.
pub(crate) fn bias_tensor(
    path: &Path,
    queries: usize,
    keys: usize,
) -> Result<(usize, Vec<f32>), TensorError> {
    let Tensor { place, rows, columns, data, .. } = npy_file(path, Role::Bias, Rank::Head)?;
    match columns == keys && (rows == 1 || rows == queries) {
        true => Ok((rows, data)),
        false => Err(place.error(Problem::BiasMismatch { rows, columns, queries, keys })),
    }
}

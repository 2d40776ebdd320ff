//! Q, K and V as float32, from files.
//!
//! [`Attention::from_npy`] reads three `.npy` files, [`Attention::from_bundle`] one `.npz` or `.safetensors`
//! file with entries q, k and v. Float16, float64 and (safetensors) bfloat16 are converted; either byte order
//! and either array order is read. Everything that is read is checked: shapes agree and every element is finite.

mod bundle;
mod error;
mod npy;

pub use error::{Place, Problem, TensorError};
pub use npy::write_npy;

use std::path::Path;

/// The tensors of one attention head. Rows are contiguous: row i of `q` is `q[i * d..(i + 1) * d]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Length of every row.
    pub d: usize,
    /// Rows of `q`.
    pub queries: usize,
    /// Rows of `k` and of `v`.
    pub keys: usize,
    /// Queries, `[queries, d]`.
    pub q: Vec<f32>,
    /// Keys, `[keys, d]`.
    pub k: Vec<f32>,
    /// Values, `[keys, d]`.
    pub v: Vec<f32>,
}

impl Attention {
    /// Reads three `.npy` files: Q is `[queries, d]` or `[d]`, K and V are `[keys, d]`.
    ///
    /// # Errors
    /// Names the file, what is wrong with it and what would be right.
    pub fn from_npy(q: &Path, k: &Path, v: &Path) -> Result<Attention, TensorError> {
        Attention::assemble([read_npy(q, Role::Q)?, read_npy(k, Role::K)?, read_npy(v, Role::V)?])
    }

    /// Reads the entries q, k and v (or Q, K and V) of a `.npz` or `.safetensors` file.
    ///
    /// # Errors
    /// Names the file and the entry, what is wrong with it and what would be right.
    pub fn from_bundle(path: &Path) -> Result<Attention, TensorError> {
        Attention::assemble(bundle::read(path)?)
    }

    fn assemble([q, k, v]: [Tensor; 3]) -> Result<Attention, TensorError> {
        for other in [&k, &v] {
            if other.columns != q.columns {
                return Err(other.place.error(Problem::DimensionMismatch {
                    d: other.columns,
                    other: q.place.to_string(),
                    other_d: q.columns,
                }));
            }
        }
        if v.rows != k.rows {
            return Err(v.place.error(Problem::RowMismatch {
                rows: v.rows,
                other: k.place.to_string(),
                other_rows: k.rows,
            }));
        }
        Ok(Attention { d: q.columns, queries: q.rows, keys: k.rows, q: q.data, k: k.data, v: v.data })
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
        &self.v[j * self.d..][..self.d]
    }

    /// Largest magnitude in V.
    pub fn max_abs_v(&self) -> f64 {
        max_abs(&self.v)
    }

    /// The first `queries` queries and `keys` keys, or as many as there are. Cutting both to the same number
    /// keeps the meaning of a causal head.
    pub fn truncated(&self, queries: usize, keys: usize) -> Attention {
        let (queries, keys) = (queries.min(self.queries), keys.min(self.keys));
        Attention {
            d: self.d,
            queries,
            keys,
            q: self.q[..queries * self.d].to_vec(),
            k: self.k[..keys * self.d].to_vec(),
            v: self.v[..keys * self.d].to_vec(),
        }
    }

    /// The same head in rows of length `d`, filled with zeros, for a core that is wider than the head.
    ///
    /// The scale 1/sqrt(d) stays that of the original head dimension: take the
    /// [`Scaling`](crate::quantise::Scaling) from the tensors as they were.
    ///
    /// # Panics
    /// If `d` is smaller than the head dimension.
    pub fn pad_to(&self, d: usize) -> Attention {
        let pad = |data: &[f32]| pad_rows(data, self.d, d, 0.0);
        Attention { d, q: pad(&self.q), k: pad(&self.k), v: pad(&self.v), ..*self }
    }

    /// Writes `<stem>-q.npy`, `<stem>-k.npy` and `<stem>-v.npy` into a folder, the names that
    /// [`traces`](crate::traces) reads.
    ///
    /// # Errors
    /// Whatever the operating system reports.
    pub fn write_npy(&self, folder: &Path, stem: &str) -> std::io::Result<()> {
        for (role, rows, data) in
            [("q", self.queries, &self.q), ("k", self.keys, &self.k), ("v", self.keys, &self.v)]
        {
            write_npy(&folder.join(format!("{stem}-{role}.npy")), &[rows, self.d], data)?;
        }
        Ok(())
    }
}

/// Largest magnitude of a tensor, 0 for an empty one.
pub(crate) fn max_abs(data: &[f32]) -> f64 {
    data.iter().fold(0f64, |max, &x| max.max(f64::from(x.abs())))
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
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Q => "q",
            Role::K => "k",
            Role::V => "v",
        }
    }

    /// Rows and columns of a shape, if it is allowed.
    fn matrix(self, shape: &[u64]) -> Result<(u64, u64), Problem> {
        let (rows, columns) = match (self, shape) {
            (_, &[rows, columns]) => (rows, columns),
            (Role::Q, &[columns]) => (1, columns),
            _ => {
                let needed = if self == Role::Q { "[queries, d] or [d]" } else { "[keys, d]" };
                return Err(Problem::WrongRank { shape: shape.to_vec(), needed });
            }
        };
        if rows == 0 || columns == 0 {
            return Err(Problem::Empty { shape: shape.to_vec() });
        }
        Ok((rows, columns))
    }
}

/// One tensor and where it came from.
struct Tensor {
    place: Place,
    rows: usize,
    columns: usize,
    data: Vec<f32>,
}

impl Tensor {
    /// Checks shape and size before anything is allocated, then converts.
    fn new(place: Place, role: Role, header: &npy::Header, data: &[u8]) -> Result<Tensor, TensorError> {
        let (rows, columns) = role.matrix(&header.shape).map_err(|problem| place.error(problem))?;
        if header.data_bytes() != Some(data.len() as u64) {
            return Err(place.error(header.wrong_size(data.len() as u64)));
        }
        // Both fit: the data that they describe is in memory.
        let (rows, columns) = (rows as usize, columns as usize);
        let width = header.element.bytes();
        let mut values = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let index = if header.fortran_order { column * rows + row } else { row * columns + column };
                let mut bytes = [0; 8];
                bytes[..width].copy_from_slice(&data[index * width..][..width]);
                if header.big_endian {
                    bytes[..width].reverse();
                }
                let value = header.element.value(&bytes[..width]);
                let converted = value as f32;
                if !converted.is_finite() {
                    return Err(place.error(Problem::NotFinite { row, column, value }));
                }
                values.push(converted);
            }
        }
        Ok(Tensor { place, rows, columns, data: values })
    }
}

fn read_npy(path: &Path, role: Role) -> Result<Tensor, TensorError> {
    let place = Place::file(path);
    let bytes = npy::read_file(path)?;
    let mut rest = bytes.as_slice();
    let header = npy::read_header(&mut rest).map_err(|problem| place.error(problem))?;
    Tensor::new(place, role, &header, rest)
}

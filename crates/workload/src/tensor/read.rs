//! From the bytes of a tensor to float32: the rows that are asked for, and no others.

use super::error::{TensorError, TensorPlace, TensorProblem};
use super::npy::{self, Header};
use super::stream::SkippableRead;
use std::io;
use std::path::Path;

/// How many rows are read; all without a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct First {
    /// Rows of Q.
    pub queries: Option<usize>,
    /// Rows of K and of V.
    pub keys: Option<usize>,
}

/// Which tensor it is: it decides the shapes that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TensorRole {
    Q,
    K,
    V,
    /// Biases of scores.
    Bias,
}

/// The number of heads that a tensor may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// One head.
    Head,
    /// One head, or several along a first dimension.
    Layer,
}

/// Requirements of a tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requirements {
    pub(super) role: TensorRole,
    pub(super) rank: Rank,
    pub(super) first: First,
}

/// One tensor and where it came from.
pub(super) struct Tensor {
    pub(super) place: TensorPlace,
    /// The sizes before rows and columns, as in the file.
    pub(super) leading: Vec<usize>,
    pub(super) heads: usize,
    /// Rows of a head in the file.
    pub(super) rows: usize,
    /// Columns in the file.
    pub(super) columns: usize,
    /// Rows of a head that were asked for and are there.
    pub(super) taken: usize,
    /// `[heads, taken, columns]`; biases have only the requested columns. Elements may be anything.
    pub(super) data: Vec<f32>,
    /// Finite elements that float32 has as infinity, by their place in `data`: the first ones.
    pub(super) beyond: Vec<(usize, f64)>,
    /// The least finite number of the type of its elements.
    pub(super) least: f64,
}

/// Elements that are read at a time.
const PART: usize = 8192;
/// As many finite numbers beyond float32 are remembered, for messages.
const MOST_BEYOND: usize = 64;

impl TensorRole {
    pub(super) fn name(self) -> &'static str {
        match self {
            TensorRole::Q => "q",
            TensorRole::K => "k",
            TensorRole::V => "v",
            TensorRole::Bias => "bias",
        }
    }

    /// Heads, rows and columns of a shape, if it is allowed.
    fn heads(self, shape: &[u64], rank: Rank) -> Result<[u64; 3], TensorProblem> {
        let size = match (rank, self, shape) {
            (_, _, &[rows, columns]) => [1, rows, columns],
            (_, TensorRole::Q | TensorRole::Bias, &[columns]) => [1, 1, columns],
            (Rank::Layer, _, &[heads, rows, columns] | &[1, heads, rows, columns]) => [heads, rows, columns],
            _ => {
                let needed = match (rank, self) {
                    (_, TensorRole::Bias) => "[keys] or [queries, keys]",
                    (Rank::Head, TensorRole::Q) => "[queries, d] or [d]",
                    (Rank::Head, _) => "[keys, d]",
                    (Rank::Layer, TensorRole::Q) => {
                        "[queries, d], [d], [heads, queries, d] or [1, heads, queries, d]"
                    }
                    (Rank::Layer, _) => "[keys, d], [heads, keys, d] or [1, heads, keys, d]",
                };
                return Err(TensorProblem::WrongRank { shape: shape.to_vec(), needed });
            }
        };
        if size.contains(&0) {
            return Err(TensorProblem::Empty { shape: shape.to_vec() });
        }
        Ok(size)
    }

    /// Rows and columns of these that are asked for.
    fn taken(self, first: First, rows: usize, columns: usize) -> [usize; 2] {
        let of = |n: Option<usize>, all: usize| n.map_or(all, |n| n.min(all));
        match self {
            TensorRole::Q => [of(first.queries, rows), columns],
            TensorRole::K | TensorRole::V => [of(first.keys, rows), columns],
            TensorRole::Bias => [of(first.queries, rows), of(first.keys, columns)],
        }
    }
}

/// The source of elements, and the problem of a failed read.
pub(super) struct ElementReader<'a> {
    pub(super) header: Header,
    pub(super) stream: &'a mut dyn SkippableRead,
    /// Bytes that there are.
    pub(super) held: u64,
    pub(super) failed: &'a dyn Fn(io::Error) -> TensorProblem,
}

impl ElementReader<'_> {
    /// Compares the number of bytes with the header.
    fn check_size(&self) -> Result<(), TensorProblem> {
        match self.header.data_bytes() == Some(self.held) {
            true => Ok(()),
            false => Err(self.header.wrong_size(self.held)),
        }
    }

    /// Shows the first rows and columns of each of `heads` tables of `rows` by `columns`, in the order of the file: `put` gets head, row,
    /// column and value. What follows the last of them is not read. An archive's entry that is read to its end is checked.
    fn each(
        &mut self,
        [heads, rows, columns]: [usize; 3],
        [taken_rows, taken_columns]: [usize; 2],
        put: &mut dyn FnMut([usize; 3], f64),
    ) -> Result<(), TensorProblem> {
        if taken_rows == 0 || taken_columns == 0 {
            return Ok(());
        }
        let width = self.header.element.bytes() as u64;
        let (mut buffer, mut pending) = (vec![0; PART * self.header.element.bytes()], 0u64);
        match self.header.fortran_order {
            // Whole rows follow each other.
            false if taken_columns == columns => {
                for head in 0..heads {
                    let put = &mut |i, x| put([head, i / columns, i % columns], x);
                    self.run(pending, taken_rows * columns, &mut buffer, put)?;
                    pending = width * (rows - taken_rows) as u64 * columns as u64;
                }
            }
            false => {
                for head in 0..heads {
                    for row in 0..taken_rows {
                        let put = &mut |i, x| put([head, row, i], x);
                        self.run(pending, taken_columns, &mut buffer, put)?;
                        pending = width * (columns - taken_columns) as u64;
                    }
                    pending += width * (rows - taken_rows) as u64 * columns as u64;
                }
            }
            // Heads change fastest, then rows.
            true => {
                for column in 0..taken_columns {
                    let put = &mut |i, x| put([i % heads, i / heads, column], x);
                    self.run(pending, taken_rows * heads, &mut buffer, put)?;
                    pending = width * (rows - taken_rows) as u64 * heads as u64;
                }
            }
        }
        match pending == 0 && taken_columns == columns {
            true => self.end(),
            false => Ok(()),
        }
    }

    /// Shows elements that follow each other, after bytes that are passed over.
    fn run(
        &mut self,
        skipped: u64,
        elements: usize,
        buffer: &mut [u8],
        put: &mut dyn FnMut(usize, f64),
    ) -> Result<(), TensorProblem> {
        let failed = self.failed;
        if skipped > 0 {
            self.stream.skip(skipped).map_err(failed)?;
        }
        let width = self.header.element.bytes();
        for from in (0..elements).step_by(PART) {
            let part = &mut buffer[..(elements - from).min(PART) * width];
            self.stream.read_exact(part).map_err(failed)?;
            self.header.values(part, &mut |i, x| put(from + i, x));
        }
        Ok(())
    }

    /// Reads on where nothing should be: an archive's reader checks the digest of an entry there.
    fn end(&mut self) -> Result<(), TensorProblem> {
        match self.stream.read(&mut [0]).map_err(self.failed)? {
            0 => Ok(()),
            more => Err(self.header.wrong_size(self.held + more as u64)),
        }
    }

    /// All elements of a table of these rows and columns, row by row, in f64.
    pub(super) fn table(&mut self, rows: usize, columns: usize) -> Result<Vec<f64>, TensorProblem> {
        self.check_size()?;
        let mut table = room(rows.checked_mul(columns), 8)?;
        table.resize(rows * columns, 0.0);
        let put = &mut |[_, row, column]: [usize; 3], x| table[row * columns + column] = x;
        self.each([1, rows, columns], [rows, columns], put)?;
        Ok(table)
    }
}

/// An empty vector with a capacity, or the problem that memory does not suffice.
fn room<T>(elements: Option<usize>, bytes: u64) -> Result<Vec<T>, TensorProblem> {
    let mut data = Vec::new();
    let taken = elements.filter(|&n| data.try_reserve_exact(n).is_ok());
    match taken {
        Some(_) => Ok(data),
        None => Err(TensorProblem::TooLarge { needed: elements.and_then(|n| (n as u64).checked_mul(bytes)) }),
    }
}

impl Tensor {
    /// Checks shape and size before anything is allocated, then converts the requested rows.
    pub(super) fn read(
        place: TensorPlace,
        wanted: Requirements,
        mut data: ElementReader,
    ) -> Result<Tensor, TensorError> {
        let Requirements { role, rank, first } = wanted;
        let header = &data.header;
        let wrong = |problem| place.error(problem);
        let size = role.heads(&header.shape, rank).map_err(wrong)?;
        data.check_size().map_err(wrong)?;
        let leading =
            header.shape[..header.shape.len().saturating_sub(2)].iter().map(|&n| n as usize).collect();
        let (least, fortran) = (header.element.least(), header.fortran_order);
        // All fit: there are as many bytes as they describe.
        let [heads, rows, columns] = size.map(|n| n as usize);
        let taken = role.taken(first, rows, columns);
        let elements = heads.checked_mul(taken[0]).and_then(|n| n.checked_mul(taken[1]));
        let mut values = room(elements, 4).map_err(wrong)?;
        if fortran {
            values.resize(heads * taken[0] * taken[1], 0f32);
        }
        let mut beyond = Vec::new();
        let put = &mut |[head, row, column]: [usize; 3], value: f64| {
            let at = (head * taken[0] + row) * taken[1] + column;
            let converted = value as f32;
            if converted.is_infinite() && value.is_finite() && beyond.len() < MOST_BEYOND {
                beyond.push((at, value));
            }
            match fortran {
                true => values[at] = converted,
                false => values.push(converted),
            }
        };
        data.each([heads, rows, columns], taken, put).map_err(wrong)?;
        Ok(Tensor { place, leading, heads, rows, columns, taken: taken[0], data: values, beyond, least })
    }

    /// Whether a number that is added to a score hides the key: minus infinity, or the least number of a type, which libraries take where minus
    /// infinity would give NaN.
    pub(super) fn hides(&self, added: f32) -> bool {
        f64::from(added) <= self.least.max(f64::from(f32::MIN)) / 2.0
    }
}

/// Opens a `.npy` file and shows its data.
pub(super) fn with_npy<T>(
    path: &Path,
    read: impl FnOnce(TensorPlace, ElementReader) -> Result<T, TensorError>,
) -> Result<T, TensorError> {
    let place = TensorPlace::file(path);
    let (mut stream, length) = npy::open(path)?;
    let header = npy::read_header(&mut stream).map_err(|problem| place.error(problem))?;
    let held = length.saturating_sub(header.preamble);
    read(place, ElementReader { header, stream: &mut stream, held, failed: &TensorProblem::Unreadable })
}

/// A tensor from a `.npy` file.
pub(super) fn npy_file(path: &Path, wanted: Requirements) -> Result<Tensor, TensorError> {
    with_npy(path, |place, data| Tensor::read(place, wanted, data))
}

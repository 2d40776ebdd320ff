//! Errors of tensor files, with the accepted values.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file, or an entry of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorPlace {
    /// The file.
    pub path: PathBuf,
    /// The entry as the file spells it, for bundles.
    pub entry: Option<String>,
}

impl TensorPlace {
    /// A whole file.
    pub fn file(path: &Path) -> TensorPlace {
        TensorPlace { path: path.to_path_buf(), entry: None }
    }

    /// An entry of a bundle.
    pub fn entry(path: &Path, entry: &str) -> TensorPlace {
        TensorPlace { path: path.to_path_buf(), entry: Some(entry.to_string()) }
    }

    /// The error of this place.
    pub fn error(&self, problem: TensorProblem) -> TensorError {
        TensorError { place: self.clone(), problem }
    }
}

impl fmt::Display for TensorPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entry {
            None => write!(f, "{}", self.path.display()),
            Some(entry) => write!(f, "{}, entry '{entry}'", self.path.display()),
        }
    }
}

/// A tensor that cannot be used, and its error.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct TensorError {
    /// The file or entry at fault.
    pub place: TensorPlace,
    /// The error and the accepted values.
    pub problem: TensorProblem,
}

/// An error of a tensor, with the accepted values.
#[derive(Debug, thiserror::Error)]
pub enum TensorProblem {
    /// The operating system refuses.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// The magic string is missing.
    #[error("is not a .npy file: it does not begin with \\x93NUMPY; write it with numpy.save")]
    NotNpy,
    /// The text after the magic string is not a header that numpy would write.
    #[error("has a damaged .npy header: {0}")]
    BadHeader(String),
    /// The archive around the tensors cannot be opened.
    #[error("is not a readable {kind} file: {reason}")]
    BadArchive {
        /// `.npz` or `.safetensors`.
        kind: &'static str,
        /// The reader's explanation.
        reason: String,
    },
    /// A bundle whose name says nothing about its layout.
    #[error("is neither a .npz nor a .safetensors file (judged by its name)")]
    UnknownBundle,
    /// Elements that are not floating-point numbers of a known type.
    #[error("holds elements of type {found}; these are read: {known}")]
    WrongType {
        /// As the file spells it.
        found: String,
        /// All that work in such a file.
        known: String,
    },
    /// Elements of one byte, whose type numpy does not write down.
    #[error(
        "holds elements of type {0}, which numpy writes for every type of one byte of ml_dtypes but float8_e5m2; save \
         them as float32 with x.astype(numpy.float32), or as .safetensors, where F8_E4M3 and F8_E5M2 are read"
    )]
    Nameless(String),
    /// Too few or too many dimensions.
    #[error("has shape {shape:?}; {needed} is needed")]
    WrongRank {
        /// As announced.
        shape: Vec<u64>,
        /// The required shape of the tensor.
        needed: &'static str,
    },
    /// No rows or no columns.
    #[error("has shape {shape:?}; at least one row and one column are needed")]
    Empty {
        /// As announced.
        shape: Vec<u64>,
    },
    /// More or fewer bytes than the header announces.
    #[error("announces shape {shape:?}, {}, but holds {found} bytes of data; {}", bytes(*.announced), damage(*.announced, *.found))]
    WrongSize {
        /// As announced.
        shape: Vec<u64>,
        /// Bytes that the shape and type need, none if that number overflows.
        announced: Option<u64>,
        /// Bytes that are there.
        found: u64,
    },
    /// More than memory holds.
    #[error("takes {} of memory, which are not to be had; ask for fewer rows (--first-queries, --first-keys)", bytes(*.needed))]
    TooLarge {
        /// Bytes, none if that number overflows.
        needed: Option<u64>,
    },
    /// NaN or infinity, or a float64 beyond the range of float32.
    #[error("{}row {row}, column {column} is {value}; every element must be a finite float32", in_head(*.head))]
    NotFinite {
        /// Head, counted from 0, where there are several.
        head: Option<usize>,
        /// Row, counted from 0.
        row: usize,
        /// Column, counted from 0.
        column: usize,
        /// As found.
        value: f64,
    },
    /// A mask of another size than the scores.
    #[error(
        "has shape {shape:?}; a mask of {queries} queries and {keys} keys has [{queries}, {keys}], or [{keys}] for all queries"
    )]
    MaskShape {
        /// As announced.
        shape: Vec<u64>,
        /// Queries of the head.
        queries: usize,
        /// Its keys.
        keys: usize,
    },
    /// NaN or +inf in a mask.
    #[error(
        "row {row}, column {column} is {value}; a mask has finite numbers, and -inf for a key that its query does not see"
    )]
    NoMask {
        /// Row, counted from 0.
        row: usize,
        /// Column, counted from 0.
        column: usize,
        /// As found.
        value: f64,
    },
    /// Vector lengths differ.
    #[error("has d = {d}, but {other} has d = {other_d}; Q and K need the same number of columns")]
    DimensionMismatch {
        /// Columns here.
        d: usize,
        /// The tensor it was compared with.
        other: String,
        /// Columns there.
        other_d: usize,
    },
    /// Keys and values do not pair up.
    #[error("has {rows} rows, but {other} has {other_rows}; K and V need one row for each key")]
    RowMismatch {
        /// Rows here.
        rows: usize,
        /// The tensor it was compared with.
        other: String,
        /// Rows there.
        other_rows: usize,
    },
    /// The addends of scores are not of the head's size.
    #[error(
        "has {rows} rows of {columns}; [{keys}] or [{queries}, {keys}] is needed, a number for each key or each query and key"
    )]
    BiasMismatch {
        /// Rows here.
        rows: usize,
        /// Columns here.
        columns: usize,
        /// Queries of the head.
        queries: usize,
        /// Keys of the head.
        keys: usize,
    },
    /// Heads do not pair up.
    #[error(
        "has {heads} heads, but {other} has {other_heads}; K and V need the same number, Q that number or a multiple"
    )]
    HeadMismatch {
        /// Heads here.
        heads: usize,
        /// The tensor it was compared with.
        other: String,
        /// Heads there.
        other_heads: usize,
    },
    /// The bundle lacks one of q, k, v.
    #[error("has no entry '{wanted}'; it holds {}", quoted(.found))]
    MissingEntry {
        /// `q`, `k` or `v`.
        wanted: &'static str,
        /// The contents of the bundle.
        found: Vec<String>,
    },
    /// The bundle spells an entry in more than one way.
    #[error("has more than one entry '{wanted}': {}; one is needed", quoted(.found))]
    AmbiguousEntry {
        /// `q`, `k` or `v`.
        wanted: &'static str,
        /// The entries that match.
        found: Vec<String>,
    },
}

fn in_head(head: Option<usize>) -> String {
    head.map_or_else(String::new, |head| format!("head {head}, "))
}

fn bytes(announced: Option<u64>) -> String {
    match announced {
        Some(bytes) => format!("{bytes} bytes"),
        None => "more bytes than a file can have".to_string(),
    }
}

fn damage(announced: Option<u64>, found: u64) -> &'static str {
    match announced.is_some_and(|announced| announced < found) {
        true => "one array alone is needed",
        false => "it is damaged",
    }
}

/// A list for a message: `'a', 'b'`, cut where it gets long, or `nothing`.
fn quoted(names: &[String]) -> String {
    const SHOWN: usize = 12;
    if names.is_empty() {
        return "nothing".to_string();
    }
    let mut list = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        list += &format!(" and {} more", names.len() - SHOWN);
    }
    list
}

//! The `.npy` layout: a short header, then the elements.
//!
//! ```text
//! \x93NUMPY | major minor | header length | {'descr': '<f4', 'fortran_order': False, 'shape': (203, 32), } | data
//!     6           2           2 or 4                         header length                                     rest
//! ```
//!
//! The header is read here rather than by a general parser of Python literals, because files come from
//! anywhere: this one allocates nothing that the file does not contain and cannot recurse or overflow.

use super::element::ElementType;
use super::error::{TensorError, TensorPlace, TensorProblem};
use npyz::WriterBuilder;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// The longest header that is read; numpy's own limit.
const MAX_HEADER: usize = 10_000;

/// A parsed header.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) element: ElementType,
    pub(super) big_endian: bool,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<u64>,
    /// Bytes before the data.
    pub(super) preamble: u64,
}

impl Header {
    /// Bytes of data that must follow; none if the number overflows.
    pub(super) fn data_bytes(&self) -> Option<u64> {
        let bytes = self.element.bytes() as u64;
        self.shape.iter().try_fold(bytes, |bytes, &n| bytes.checked_mul(n))
    }

    /// Shows the elements of bytes, each with its place. Exact: f64 holds all of them.
    pub(super) fn values(&self, bytes: &[u8], put: &mut dyn FnMut(usize, f64)) {
        let width = self.element.bytes();
        for (i, bytes) in bytes.chunks_exact(width).enumerate() {
            let mut le = [0; 8];
            le[..width].copy_from_slice(bytes);
            if self.big_endian {
                le[..width].reverse();
            }
            put(i, self.element.value(&le[..width]));
        }
    }

    pub(super) fn wrong_size(&self, found: u64) -> TensorProblem {
        TensorProblem::WrongSize { shape: self.shape.clone(), announced: self.data_bytes(), found }
    }
}

/// Reads the header and leaves the reader at the first byte of data.
pub(super) fn read_header(reader: &mut dyn Read) -> Result<Header, TensorProblem> {
    let cut = || TensorProblem::BadHeader("the file ends inside it".into());
    let take = |reader: &mut dyn Read, buffer: &mut [u8]| {
        reader.read_exact(buffer).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => cut(),
            _ => TensorProblem::Unreadable(e),
        })
    };
    let mut magic = [0; 6];
    match take(reader, &mut magic) {
        Err(TensorProblem::BadHeader(_)) => return Err(TensorProblem::NotNpy),
        other => other?,
    }
    if &magic != b"\x93NUMPY" {
        return Err(TensorProblem::NotNpy);
    }
    let mut version = [0; 2];
    take(reader, &mut version)?;
    let mut length = [0; 4];
    let width = match version {
        [1, _] => 2,
        [2 | 3, _] => 4,
        [major, minor] => {
            return Err(TensorProblem::BadHeader(format!(
                "version {major}.{minor} is not one of 1.0, 2.0, 3.0"
            )));
        }
    };
    take(reader, &mut length[..width])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER {
        return Err(TensorProblem::BadHeader(format!(
            "it is {length} bytes long, and {MAX_HEADER} is the limit"
        )));
    }
    let mut text = vec![0; length];
    take(reader, &mut text)?;
    let text = std::str::from_utf8(&text).map_err(|_| TensorProblem::BadHeader("it is not text".into()))?;
    let preamble = (magic.len() + version.len() + width + length) as u64;
    Ok(Header { preamble, ..parse(text)? })
}

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (203, 32), }`, keys in any order.
fn parse(text: &str) -> Result<Header, TensorProblem> {
    let bad = |what: &str| TensorProblem::BadHeader(what.to_string());
    let mut rest =
        text.trim().strip_prefix('{').ok_or_else(|| bad("it does not begin with '{'"))?.trim_start();
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    while !rest.starts_with('}') {
        let (key, after) = string(rest).ok_or_else(|| bad("a key is not a string"))?;
        let after =
            after.trim_start().strip_prefix(':').ok_or_else(|| bad("a key without ':'"))?.trim_start();
        rest = match key {
            "descr" => {
                // Anything but a string, that is a list, describes a structured array.
                let structured = || wrong_type(after.split_inclusive(']').next().unwrap_or(""));
                let (value, after) = string(after).ok_or_else(structured)?;
                descr = Some(value);
                after
            }
            "fortran_order" => {
                let (value, after) =
                    boolean(after).ok_or_else(|| bad("fortran_order is not True or False"))?;
                fortran_order = Some(value);
                after
            }
            "shape" => {
                let (value, after) =
                    tuple(after).ok_or_else(|| bad("shape is not a tuple of sizes such as (203, 32)"))?;
                shape = Some(value);
                after
            }
            other => return Err(TensorProblem::BadHeader(format!("unknown key '{other}'"))),
        }
        .trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if rest.starts_with('}') => {}
            None => return Err(bad("neither ',' nor '}' after a value")),
        }
    }
    let descr = descr.ok_or_else(|| bad("key 'descr' is missing"))?;
    let fortran_order = fortran_order.ok_or_else(|| bad("key 'fortran_order' is missing"))?;
    let shape = shape.ok_or_else(|| bad("key 'shape' is missing"))?;
    let (element, big_endian) = element(descr)?;
    Ok(Header { element, big_endian, fortran_order, shape, preamble: 0 })
}

/// The element type of a description, and whether the most significant byte comes first.
fn element(descr: &str) -> Result<(ElementType, bool), TensorProblem> {
    // Without an order it is the machine's that reads, as for NumPy: here little endian.
    let (big_endian, name) = match descr.as_bytes().first() {
        Some(b'>') => (true, &descr[1..]),
        Some(b'<' | b'=' | b'|') => (false, &descr[1..]),
        _ => (false, descr),
    };
    match name {
        // numpy knows the types of ml_dtypes by their size only; of one byte there are many.
        "V1" => Err(TensorProblem::Nameless(format!("'{descr}'"))),
        name => ElementType::find(|element| element.npy() == Some(name))
            .map(|element| (element, big_endian))
            .ok_or_else(|| wrong_type(&format!("'{descr}'"))),
    }
}

fn wrong_type(found: &str) -> TensorProblem {
    let known =
        ElementType::ALL.iter().filter(|element| element.npy().is_some()).map(|element| element.name());
    TensorProblem::WrongType { found: found.into(), known: known.collect::<Vec<_>>().join(", ") }
}

fn string(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

fn boolean(text: &str) -> Option<(bool, &str)> {
    let truth = text.strip_prefix("True").map(|rest| (true, rest));
    truth.or_else(|| text.strip_prefix("False").map(|rest| (false, rest)))
}

fn tuple(text: &str) -> Option<(Vec<u64>, &str)> {
    let (inside, rest) = text.strip_prefix('(')?.split_once(')')?;
    let inside = inside.trim();
    if inside.is_empty() {
        return Some((Vec::new(), rest));
    }
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    // Python 2 wrote long integers as `203L`.
    let size = |item: &str| item.trim().trim_end_matches('L').parse().ok();
    Some((inside.split(',').map(size).collect::<Option<Vec<u64>>>()?, rest))
}

/// Writes a float32 `.npy` file under a temporary name in the same folder and renames it, so that a reader
/// never sees half a file.
///
/// # Errors
/// Whatever the operating system reports, and a shape that does not match the number of elements; without the path.
pub fn write_npy(path: &Path, shape: &[usize], data: &[f32]) -> io::Result<()> {
    flashd_files::write(path, &npy_bytes(shape, data)?).map(drop)
}

/// The bytes of a float32 `.npy` file.
///
/// # Errors
/// A shape that does not match the number of elements.
pub fn npy_bytes(shape: &[usize], data: &[f32]) -> io::Result<Vec<u8>> {
    if shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size)) != Some(data.len()) {
        let text = format!("shape {shape:?} does not match {} elements", data.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let shape: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
    let mut bytes = Vec::new();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut bytes).begin_nd()?;
    writer.extend(data.iter().copied())?;
    writer.finish()?;
    Ok(bytes)
}

/// Opens a file; its length is in bytes.
pub(super) fn open(path: &Path) -> Result<(BufReader<File>, u64), TensorError> {
    let unreadable = |e| TensorPlace::file(path).error(TensorProblem::Unreadable(e));
    let (file, length) = flashd_files::open(path).map_err(unreadable)?;
    Ok((BufReader::with_capacity(1 << 16, file), length))
}

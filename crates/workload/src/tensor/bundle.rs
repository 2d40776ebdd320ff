//! Bundles: one `.npz` or `.safetensors` file with entries q, k and v, in either case of letter.

use super::element::ElementType;
use super::error::{TensorError, TensorPlace, TensorProblem};
use super::npy;
use super::read::{ElementReader, First, Rank, Requirements, Tensor, TensorRole};
use super::stream::{Inflated, SkippableRead};
use safetensors::tensor::Metadata;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use zip::ZipArchive;

/// Most bytes that one byte of an archive can expand to (deflate). An entry that announces more is not read.
const MAX_EXPANSION: u64 = 1032;

/// Reads the three tensors of a bundle, q, k and v, with the rows that are asked for.
pub(super) fn read(path: &Path, rank: Rank, first: First) -> Result<[Tensor; 3], TensorError> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("npz") => read_npz(path, rank, first),
        Some("safetensors") => read_safetensors(path, rank, first),
        _ => Err(TensorPlace::file(path).error(TensorProblem::UnknownBundle)),
    }
}

/// The one name that is `wanted` but for the case of its letter.
fn find(names: &[String], wanted: &'static str) -> Result<String, TensorProblem> {
    let matching: Vec<&String> = names.iter().filter(|name| name.eq_ignore_ascii_case(wanted)).collect();
    match matching[..] {
        [name] => Ok(name.clone()),
        [] => Err(TensorProblem::MissingEntry { wanted, found: names.to_vec() }),
        _ => Err(TensorProblem::AmbiguousEntry { wanted, found: matching.into_iter().cloned().collect() }),
    }
}

/// NumPy's suffix of array names, which is optional for reading.
const ENDING: &str = ".npy";

fn read_npz(path: &Path, rank: Rank, first: First) -> Result<[Tensor; 3], TensorError> {
    let file = TensorPlace::file(path);
    let bad = |e: std::io::Error| TensorProblem::BadArchive { kind: ".npz", reason: e.to_string() };
    let damaged = |reason: &str| TensorProblem::BadArchive { kind: ".npz", reason: reason.into() };
    let (mut headers, length) = npy::open(path)?;
    let (stream, _) = npy::open(path)?;
    let mut archive = ZipArchive::new(stream).map_err(|e| file.error(bad(e.into())))?;
    if archive.has_duplicate_names() {
        let reason = "it holds entries of one name; was it appended to? Write it anew";
        return Err(file.error(damaged(reason)));
    }
    let entries: Result<Vec<_>, _> = archive.file_names().map(|name| name.map(String::from)).collect();
    let entries = entries.map_err(|e| file.error(bad(e.into())))?;
    let mut names: Vec<String> =
        entries.iter().map(|name| name.strip_suffix(ENDING).unwrap_or(name).to_string()).collect();
    names.sort();
    let mut entry = |role: TensorRole| {
        let name = find(&names, role.name()).map_err(|problem| file.error(problem))?;
        let place = TensorPlace::entry(path, &name);
        let failed = |e| place.error(bad(e));
        let with_ending = format!("{name}{ENDING}");
        let in_archive = if entries.contains(&with_ending) { &with_ending } else { &name };
        let entry = archive.by_name(in_archive).map_err(|e| failed(e.into()))?;
        if !same_headers(&mut headers, entry.header_start(), entry.central_header_start()).unwrap_or(false) {
            return Err(place.error(damaged("its two headers differ; the archive is damaged")));
        }
        let size = entry.size();
        let mut stream = Inflated(entry);
        let header = npy::read_header(&mut stream).map_err(|problem| match problem {
            TensorProblem::Unreadable(e) => failed(e),
            other => place.error(other),
        })?;
        let held = size.saturating_sub(header.preamble);
        if held > MAX_EXPANSION.saturating_mul(length) {
            return Err(place.error(header.wrong_size(held)));
        }
        let data = ElementReader { header, stream: &mut stream, held, failed: &bad };
        Tensor::read(place.clone(), Requirements { role, rank, first }, data)
    };
    Ok([entry(TensorRole::Q)?, entry(TensorRole::K)?, entry(TensorRole::V)?])
}

/// A header of an entry with its name and extra field: `fixed` bytes, the lengths of both being at `lengths`.
fn header(file: &mut BufReader<File>, start: u64, fixed: usize, lengths: usize) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = vec![0; fixed];
    file.read_exact(&mut bytes).ok()?;
    let half = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let whole = fixed + half(lengths) + half(lengths + 2);
    bytes.resize(whole, 0);
    file.read_exact(&mut bytes[fixed..]).ok()?;
    Some(bytes)
}

/// Whether the header before an entry says what its copy in the directory says; none where one is cut. The archive's
/// reader looks at the copy alone.
fn same_headers(file: &mut BufReader<File>, local: u64, central: u64) -> Option<bool> {
    /// Sizes and CRC follow the data.
    const STREAMED: u16 = 1 << 3;
    /// The sizes are in a field of 64 bits each.
    const IN_FIELD: u32 = u32::MAX;
    let (local, central) = (&header(file, local, 30, 26)?[..], &header(file, central, 46, 28)?[..]);
    let half = |from: &[u8], at: usize| Some(u16::from_le_bytes(from.get(at..at + 2)?.try_into().ok()?));
    let word = |from: &[u8], at: usize| Some(u32::from_le_bytes(from.get(at..at + 4)?.try_into().ok()?));
    // Version, flags and method, time and date; then CRC and both sizes; then the name. There is one disk.
    let mut same = local.get(4..14)? == central.get(6..16)? && central.get(34..36)? == [0, 0];
    let streamed = half(local, 6)? & STREAMED != 0;
    let name = half(local, 26)? as usize;
    same &= local.get(26..28)? == central.get(28..30)?
        && local.get(30..30 + name)? == central.get(46..46 + name)?;
    let extra = local.get(30 + name..30 + name + half(local, 28)? as usize)?;
    let mut field = None;
    let mut rest = extra;
    while rest.len() >= 4 {
        let length = half(rest, 2)? as usize;
        field = field.or((half(rest, 0)? == 1).then_some(rest.get(4..4 + length)?));
        rest = rest.get(4 + length..)?;
    }
    for (i, at) in [14, 22, 18].into_iter().enumerate() {
        let (here, there) = (word(local, at)?, word(central, at + 2)?);
        let value = match (at, here) {
            (18 | 22, IN_FIELD) => {
                let size = field?.get(8 * (i - 1)..8 * i)?;
                u64::from_le_bytes(size.try_into().ok()?)
            }
            _ => here.into(),
        };
        same &= value == u64::from(there) || (streamed && value == 0) || there == IN_FIELD;
    }
    Some(same)
}

/// Longest header of a `.safetensors` file, as its own reader has it.
const MAX_HEADER: u64 = 100_000_000;

/// The description of a `.safetensors` file, and the bytes before its data.
fn safetensors_header(file: &mut BufReader<File>, length: u64) -> Result<(Metadata, u64), String> {
    let cut = "the file ends inside its header";
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes).map_err(|_| cut)?;
    let header = u64::from_le_bytes(bytes);
    if header > MAX_HEADER {
        return Err(format!("its header is {header} bytes long, and {MAX_HEADER} is the limit"));
    }
    let preamble = 8 + header;
    if preamble > length {
        return Err(cut.into());
    }
    let mut text = vec![0; header as usize];
    file.read_exact(&mut text).map_err(|e| e.to_string())?;
    let text = String::from_utf8(text).map_err(|_| "its header is not text in UTF-8")?;
    let metadata: Metadata = flashd_files::from_json(&text).map_err(|e| format!("its header: {e}"))?;
    match preamble.checked_add(metadata.data_len() as u64) == Some(length) {
        true => Ok((metadata, preamble)),
        false => Err(format!(
            "its header announces {} bytes of data, and {} follow it",
            metadata.data_len(),
            length - preamble
        )),
    }
}

fn read_safetensors(path: &Path, rank: Rank, first: First) -> Result<[Tensor; 3], TensorError> {
    let file = TensorPlace::file(path);
    let bad = |reason: String| file.error(TensorProblem::BadArchive { kind: ".safetensors", reason });
    let (mut stream, length) = npy::open(path)?;
    let (metadata, preamble) = safetensors_header(&mut stream, length).map_err(bad)?;
    let mut names = metadata.offset_keys();
    names.sort();
    let mut entry = |role: TensorRole| {
        let name = find(&names, role.name()).map_err(|problem| file.error(problem))?;
        let place = TensorPlace::entry(path, &name);
        let info = metadata.info(&name).ok_or_else(|| bad(format!("no entry '{name}'")))?;
        let known = || ElementType::ALL.map(|element| element.safetensors().to_string()).join(", ");
        let element = ElementType::find(|element| element.safetensors() == info.dtype).ok_or_else(|| {
            place.error(TensorProblem::WrongType { found: info.dtype.to_string(), known: known() })
        })?;
        let header = npy::Header {
            element,
            big_endian: false,
            fortran_order: false,
            shape: info.shape.iter().map(|&size| size as u64).collect(),
            preamble: 0,
        };
        let (from, to) = info.data_offsets;
        stream
            .seek(SeekFrom::Start(preamble + from as u64))
            .map_err(|e| place.error(TensorProblem::Unreadable(e)))?;
        let mut part = FilePart { stream: &mut stream, left: (to - from) as u64 };
        let held = part.left;
        let data = ElementReader { header, stream: &mut part, held, failed: &TensorProblem::Unreadable };
        Tensor::read(place, Requirements { role, rank, first }, data)
    };
    Ok([entry(TensorRole::Q)?, entry(TensorRole::K)?, entry(TensorRole::V)?])
}

/// A part of a file.
struct FilePart<'a> {
    stream: &'a mut BufReader<File>,
    left: u64,
}

impl Read for FilePart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.stream.by_ref().take(self.left).read(buffer)?;
        self.left -= read as u64;
        Ok(read)
    }
}

impl SkippableRead for FilePart<'_> {
    fn skip(&mut self, bytes: u64) -> std::io::Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or(std::io::ErrorKind::UnexpectedEof)?;
        self.stream.skip(bytes)
    }
}

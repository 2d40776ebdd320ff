//! Bundles: one `.npz` or `.safetensors` file with entries q, k and v, in either case of letter.

use super::element::Element;
use super::error::{Place, Problem, TensorError};
use super::npy;
use super::{Rank, Role, Tensor};
use safetensors::SafeTensors;
use std::io::{Cursor, Read};
use std::path::Path;
use zip::ZipArchive;

/// Most bytes that one byte of an archive can stand for (deflate). An entry that announces more is not read.
const MAX_EXPANSION: u64 = 1032;

/// Reads the three tensors of a bundle, in the order of [`Role::ALL`].
pub(super) fn read(path: &Path, rank: Rank) -> Result<[Tensor; 3], TensorError> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("npz") => read_npz(path, rank, &npy::read_file(path)?),
        Some("safetensors") => read_safetensors(path, rank, &npy::read_file(path)?),
        _ => Err(Place::file(path).error(Problem::UnknownBundle)),
    }
}

/// The one name that is `wanted` but for the case of its letter.
fn find(names: &[String], wanted: &'static str) -> Result<String, Problem> {
    let matching: Vec<&String> = names.iter().filter(|name| name.eq_ignore_ascii_case(wanted)).collect();
    match matching[..] {
        [name] => Ok(name.clone()),
        [] => Err(Problem::MissingEntry { wanted, found: names.to_vec() }),
        _ => Err(Problem::AmbiguousEntry { wanted, found: matching.into_iter().cloned().collect() }),
    }
}

fn read_npz(path: &Path, rank: Rank, bytes: &[u8]) -> Result<[Tensor; 3], TensorError> {
    let file = Place::file(path);
    let bad = |e: std::io::Error| Problem::BadArchive { kind: ".npz", reason: e.to_string() };
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| file.error(bad(e.into())))?;
    let entries: Result<Vec<_>, _> = archive.file_names().collect();
    let entries = entries.map_err(|e| file.error(bad(e.into())))?;
    let mut names: Vec<String> =
        entries.iter().filter_map(|name| name.strip_suffix(".npy")).map(str::to_string).collect();
    names.sort();
    let mut entry = |role: Role| {
        let name = find(&names, role.name()).map_err(|problem| file.error(problem))?;
        let place = Place::entry(path, &name);
        let failed = |e| place.error(bad(e));
        let mut entry = archive.by_name(&format!("{name}.npy")).map_err(|e| failed(e.into()))?;
        if !same_headers(bytes, entry.header_start(), entry.central_header_start()).unwrap_or(false) {
            let reason = "its two headers differ; the archive is damaged".into();
            return Err(place.error(Problem::BadArchive { kind: ".npz", reason }));
        }
        let header = npy::read_header(&mut entry).map_err(|problem| place.error(problem))?;
        let size = entry.size().saturating_sub(header.preamble);
        if header.data_bytes() != Some(size) || size > MAX_EXPANSION * bytes.len() as u64 {
            return Err(place.error(header.wrong_size(size)));
        }
        let mut data = Vec::new();
        // One byte more than there is: the archive's reader checks the CRC where the entry ends.
        entry.take(size + 1).read_to_end(&mut data).map_err(failed)?;
        Tensor::new(place.clone(), role, rank, &header, &data)
    };
    Ok([entry(Role::Q)?, entry(Role::K)?, entry(Role::V)?])
}

/// Whether the header before an entry says what its copy in the directory says; none where one is cut. The archive's
/// reader looks at the copy alone.
fn same_headers(bytes: &[u8], local: u64, central: u64) -> Option<bool> {
    /// Sizes and CRC come behind the data.
    const STREAMED: u16 = 1 << 3;
    /// The sizes are in a field of 64 bits each.
    const IN_FIELD: u32 = u32::MAX;
    let (local, central) = (bytes.get(local as usize..)?, bytes.get(central as usize..)?);
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

fn read_safetensors(path: &Path, rank: Rank, bytes: &[u8]) -> Result<[Tensor; 3], TensorError> {
    let file = Place::file(path);
    let bad = |e: safetensors::SafeTensorError| {
        file.error(Problem::BadArchive { kind: ".safetensors", reason: e.to_string() })
    };
    let bundle = SafeTensors::deserialize(bytes).map_err(bad)?;
    let mut names: Vec<String> = bundle.names().into_iter().map(str::to_string).collect();
    names.sort();
    let entry = |role: Role| {
        let name = find(&names, role.name()).map_err(|problem| file.error(problem))?;
        let place = Place::entry(path, &name);
        let view = bundle.tensor(&name).map_err(bad)?;
        let known = || Element::ALL.map(|element| element.safetensors().to_string()).join(", ");
        let element = Element::find(|element| element.safetensors() == view.dtype()).ok_or_else(|| {
            place.error(Problem::WrongType { found: view.dtype().to_string(), known: known() })
        })?;
        let header = npy::Header {
            element,
            big_endian: false,
            fortran_order: false,
            shape: view.shape().iter().map(|&size| size as u64).collect(),
            preamble: 0,
        };
        Tensor::new(place, role, rank, &header, view.data())
    };
    Ok([entry(Role::Q)?, entry(Role::K)?, entry(Role::V)?])
}

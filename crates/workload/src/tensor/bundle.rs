//! Bundles: one `.npz` or `.safetensors` file with entries q, k and v, in either case of letter.

use super::error::{Place, Problem, TensorError};
use super::npy::{self, Element};
use super::{Rank, Role, Tensor};
use safetensors::{Dtype, SafeTensors};
use std::io::{Cursor, Read};
use std::path::Path;

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
    let mut archive = npyz::npz::NpzArchive::new(Cursor::new(bytes)).map_err(|e| file.error(bad(e)))?;
    let mut names: Vec<String> = archive.array_names().map(str::to_string).collect();
    names.sort();
    let mut entry = |role: Role| {
        let name = find(&names, role.name()).map_err(|problem| file.error(problem))?;
        let place = Place::entry(path, &name);
        let failed = |e| place.error(bad(e));
        let mut entry = archive
            .zip_archive()
            .by_name(&npyz::npz::file_name_from_array_name(&name))
            .map_err(|e| failed(e.into()))?;
        let header = npy::read_header(&mut entry).map_err(|problem| place.error(problem))?;
        let size = entry.size().saturating_sub(header.preamble);
        if header.data_bytes() != Some(size) || size > MAX_EXPANSION * bytes.len() as u64 {
            return Err(place.error(header.wrong_size(size)));
        }
        let mut data = Vec::new();
        entry.take(size).read_to_end(&mut data).map_err(failed)?;
        Tensor::new(place.clone(), role, rank, &header, &data)
    };
    Ok([entry(Role::Q)?, entry(Role::K)?, entry(Role::V)?])
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
        let element = match view.dtype() {
            Dtype::F16 => Element::F16,
            Dtype::BF16 => Element::Bf16,
            Dtype::F32 => Element::F32,
            Dtype::F64 => Element::F64,
            other => return Err(place.error(Problem::WrongType(other.to_string()))),
        };
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

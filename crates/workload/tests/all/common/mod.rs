//! Files for the tests of the readers.
#![allow(dead_code)]

use flashd_workload::write_npy;
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder with a good triple: 2 queries, 3 keys, d = 4.
pub fn good() -> (TempDir, [PathBuf; 3]) {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["q", "k", "v"].map(|name| folder.path().join(format!("{name}.npy")));
    for (path, rows, start) in [(&paths[0], 2, 0.0), (&paths[1], 3, 100.0), (&paths[2], 3, -100.0)] {
        let data: Vec<f32> = (0..rows * 4).map(|i| start + i as f32 / 2.0).collect();
        write_npy(path, &[rows, 4], &data).unwrap();
    }
    (folder, paths)
}

/// A `.npy` file, byte by byte.
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

/// The bytes of a `.npy` file that numpy's own writer would make of these numbers.
pub fn written<T: npyz::AutoSerialize>(shape: &[u64], values: impl Iterator<Item = T>) -> Vec<u8> {
    use npyz::WriterBuilder;
    let mut bytes = Vec::new();
    let mut writer =
        npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut bytes).begin_nd().unwrap();
    writer.extend(values).unwrap();
    writer.finish().unwrap();
    bytes
}

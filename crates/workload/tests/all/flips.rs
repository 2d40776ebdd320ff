//! Archives with one wrong bit: refused, unless the bit means nothing.

use crate::common::npy;
use flashd_workload::Attention;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fs;
use std::io::Write;
use std::path::Path;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

/// An archive with q, k and v of `rows` rows of 16 float32 that have no pattern.
fn archive(path: &Path, rows: usize, method: CompressionMethod) {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    for name in ["q", "k", "v"] {
        let data: Vec<u8> = (0..rows * 16)
            .flat_map(|_| (f32::from(random.next_u32() as i16) / 4096.0).to_le_bytes())
            .collect();
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default().compression_method(method))
            .unwrap();
        zip.write_all(&npy("'<f4'", false, &format!("({rows}, 16)"), &data)).unwrap();
    }
    zip.finish().unwrap();
}

/// How many of the files with one bit flipped are read, and how many of these have other values.
fn accepted(path: &Path, bits: impl Iterator<Item = usize>) -> [usize; 2] {
    let bytes = fs::read(path).unwrap();
    let right = Attention::from_bundle(path).unwrap();
    let (mut read, mut wrong) = (0, 0);
    for bit in bits {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(path, damaged).unwrap();
        if let Ok(head) = Attention::from_bundle(path) {
            read += 1;
            wrong += usize::from(head != right);
        }
    }
    [read, wrong]
}

#[test]
fn none_of_150_flipped_bits_of_an_npz_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.npz");
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        archive(&path, 128, method);
        let bits = fs::metadata(&path).unwrap().len() as usize * 8;
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let drawn = (0..150).map(|_| random.next_u64() as usize % bits);
        assert_eq!(accepted(&path, drawn), [0, 0], "{method}: read, with other values");
    }
}

/// Flips every bit of a small file: a file that is still read has the written values.
#[test]
fn no_flipped_bit_of_an_npz_changes_a_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.npz");
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        archive(&path, 1, method);
        let bits = fs::metadata(&path).unwrap().len() as usize * 8;
        let [read, wrong] = accepted(&path, 0..bits);
        assert_eq!(wrong, 0, "{method}: of {read} of {bits} that are read");
    }
}

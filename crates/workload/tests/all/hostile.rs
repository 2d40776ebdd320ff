//! Readers on hostile bytes: an error or a tensor, never a panic.

use crate::common::good;
use flashd_workload::{Attention, Layer};
use proptest::prelude::*;
use std::fs;

/// Damage to a good file: bytes replaced, the end truncated or something appended.
#[derive(Clone, Debug)]
struct Damage {
    replace: Vec<(usize, u8)>,
    keep: Option<usize>,
    append: Vec<u8>,
}

fn damage() -> impl Strategy<Value = Damage> {
    // Headers are short: most of the damage is there.
    let place = prop_oneof![3 => 0..160usize, 1 => any::<usize>()];
    let byte = prop_oneof![any::<u8>(), prop::sample::select(b"0123456789'\"{}()[],:<>|f \n".to_vec())];
    (
        prop::collection::vec((place, byte), 0..12),
        prop::option::of(0..200usize),
        prop::collection::vec(any::<u8>(), 0..24),
    )
        .prop_map(|(replace, keep, append)| Damage { replace, keep, append })
}

impl Damage {
    fn apply(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for &(place, byte) in &self.replace {
            let length = bytes.len().max(1);
            if let Some(x) = bytes.get_mut(place % length) {
                *x = byte;
            }
        }
        if let Some(keep) = self.keep {
            bytes.truncate(keep);
        }
        bytes.extend(&self.append);
        bytes
    }
}

fn safetensors() -> Vec<u8> {
    let header = br#"{"q":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"k":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},"v":{"dtype":"F32","shape":[2,2],"data_offsets":[24,40]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend((0..10).flat_map(|i| (i as f32).to_le_bytes()));
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_npy_files(which in 0..3usize, damage in damage()) {
        let (_folder, paths) = good();
        let bytes = damage.apply(fs::read(&paths[which]).unwrap());
        fs::write(&paths[which], bytes).unwrap();
        if let Err(e) = Layer::from_npy(&paths[0], &paths[1], &paths[2]) {
            prop_assert!(e.to_string().contains(".npy"), "{e}");
        }
    }

    #[test]
    fn damaged_bundles(zip: bool, damage in damage()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(if zip { "head.npz" } else { "head.safetensors" });
        let bytes = match zip {
            true => {
                let (_good, paths) = good();
                let mut archive = zip::ZipWriter::new(fs::File::create(&path).unwrap());
                for (name, file) in ["q", "k", "v"].into_iter().zip(&paths) {
                    use std::io::Write;
                    archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
                    archive.write_all(&fs::read(file).unwrap()).unwrap();
                }
                archive.finish().unwrap();
                fs::read(&path).unwrap()
            }
            false => safetensors(),
        };
        fs::write(&path, damage.apply(bytes)).unwrap();
        if let Err(e) = Layer::from_bundle(&path) {
            prop_assert!(e.to_string().contains("head."), "{e}");
        }
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x.npy", "x.npz", "x.safetensors"] {
            let path = folder.path().join(name);
            fs::write(&path, &bytes).unwrap();
            prop_assert!(Layer::from_bundle(&path).is_err());
            prop_assert!(Layer::from_npy(&path, &path, &path).is_err());
        }
    }
}

/// The undamaged files are read: the damage above starts from something good.
#[test]
fn the_bundle_is_good() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.safetensors");
    fs::write(&path, safetensors()).unwrap();
    assert_eq!(Attention::from_bundle(&path).unwrap().d, 2);
}

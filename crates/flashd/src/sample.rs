//! The bundled attention heads, from `testbench/data`, so that the program needs no repository.

use crate::output::Failure;
use flashd_files::TemporaryFolder;
use std::path::{Path, PathBuf};

/// Name and contents of every file.
macro_rules! sample {
    ($($stem:literal),*) => {
        &[
            ("meta.json", include_bytes!("../../../testbench/data/meta.json") as &[u8]),
            $(
                (concat!($stem, "-q.npy"), include_bytes!(concat!("../../../testbench/data/", $stem, "-q.npy"))),
                (concat!($stem, "-k.npy"), include_bytes!(concat!("../../../testbench/data/", $stem, "-k.npy"))),
                (concat!($stem, "-v.npy"), include_bytes!(concat!("../../../testbench/data/", $stem, "-v.npy"))),
            )*
        ]
    };
}

const SAMPLE: &[(&str, &[u8])] = sample!(
    "bytes_code-d16-layer02-head05",
    "bytes_code-d256-layer02-head00",
    "bytes_math-d16-layer04-head03",
    "bytes_math-d64-layer02-head02",
    "minilm_list-layer02-head03"
);

/// The sample in reports.
const NAME: &str = "the bundled sample";

/// A folder of attention heads to measure on.
pub enum HeadsFolder {
    /// A user's.
    Folder(PathBuf),
    /// The sample, unpacked until this is dropped.
    Sample(TemporaryFolder),
}

impl HeadsFolder {
    /// The folder of `--data`, or the sample where there is none.
    pub fn new(folder: Option<&Path>) -> Result<HeadsFolder, Failure> {
        let Some(folder) = folder else {
            let io = |e: std::io::Error| Failure::input(format!("temporary folder for the sample: {e}"));
            let folder = TemporaryFolder::create_in(&std::env::temp_dir()).map_err(io)?;
            for (name, bytes) in SAMPLE {
                std::fs::write(folder.path().join(name), bytes).map_err(io)?;
            }
            return Ok(HeadsFolder::Sample(folder));
        };
        Ok(HeadsFolder::Folder(folder.to_path_buf()))
    }

    /// Where its files are.
    pub fn path(&self) -> &Path {
        match self {
            HeadsFolder::Folder(path) => path,
            HeadsFolder::Sample(folder) => folder.path(),
        }
    }

    /// What reports call it.
    pub fn name(&self) -> PathBuf {
        match self {
            HeadsFolder::Folder(path) => path.clone(),
            HeadsFolder::Sample(_) => name(None),
        }
    }
}

/// What reports call a folder of `--data`, or the sample where there is none.
pub fn name(folder: Option<&Path>) -> PathBuf {
    folder.unwrap_or(Path::new(NAME)).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_all_of_testbench_data() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data");
        let is_data = |name: &String| name.ends_with(".npy") || name == "meta.json";
        let names = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(is_data).collect();
        names.sort();
        let mut bundled: Vec<&str> = SAMPLE.iter().map(|(name, _)| *name).collect();
        bundled.sort();
        assert_eq!(bundled, names);
    }
}

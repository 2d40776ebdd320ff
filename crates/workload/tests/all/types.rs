//! The types of elements, in files that numpy, ml_dtypes and safetensors wrote (`tests/data/write_types.py`).

use flashd_workload::Attention;
use std::path::PathBuf;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

#[test]
fn elements_of_16_and_8_bits_have_the_values_that_numpy_gives_them() {
    for (name, expected) in
        [("types.safetensors", "expected-safetensors.npz"), ("types.npz", "expected-npz.npz")]
    {
        let (read, expected) = (Attention::from_bundle(&file(name)), Attention::from_bundle(&file(expected)));
        assert_eq!(read.unwrap(), expected.unwrap(), "{name}");
    }
}

#[test]
fn a_type_that_numpy_does_not_write_down_is_explained() {
    let [q, k] = ["types-e4m3.npy", "types-e4m3.npy"].map(file);
    let error = Attention::from_npy(&q, &k, &k).unwrap_err().to_string();
    let problem = "types-e4m3.npy: holds elements of type '<V1', which numpy writes for every type of one byte of \
                   ml_dtypes but float8_e5m2; save them as float32 with x.astype(numpy.float32), or as .safetensors, \
                   where F8_E4M3 and F8_E5M2 are read";
    assert!(error.ends_with(problem), "{error}");
}

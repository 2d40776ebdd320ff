//! Only the rows that are asked for are read, from every kind of file and in every order.

use crate::common::npy;
use flashd_workload::{Attention, First, Layer};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

const HEADS: usize = 2;
const ROWS: usize = 7;
const D: usize = 3;

/// Element of a tensor.
fn element(tensor: usize, head: usize, row: usize, column: usize) -> f32 {
    (tensor * 1000 + head * 100 + row * 10 + column) as f32
}

/// The bytes of a tensor of heads, or of the first one alone.
fn tensor(tensor: usize, heads: usize, fortran: bool) -> Vec<u8> {
    let shape = if heads == 1 { format!("({ROWS}, {D})") } else { format!("({heads}, {ROWS}, {D})") };
    let mut data = Vec::new();
    let places = |i: usize| match fortran {
        false => (i / (ROWS * D), i / D % ROWS, i % D),
        true => (i % heads, i / heads % ROWS, i / heads / ROWS),
    };
    for i in 0..heads * ROWS * D {
        let (head, row, column) = places(i);
        data.extend(element(tensor, head, row, column).to_le_bytes());
    }
    npy("'<f4'", fortran, &shape, &data)
}

fn archive(path: &Path, heads: usize, fortran: bool, method: CompressionMethod) {
    let mut zip = zip::ZipWriter::new(fs::File::create(path).unwrap());
    for (i, name) in ["q", "k", "v"].into_iter().enumerate() {
        // NumPy reads names without the ending, too.
        let name = if i == 1 { name.to_string() } else { format!("{name}.npy") };
        zip.start_file(name, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(&tensor(i, heads, fortran)).unwrap();
    }
    zip.finish().unwrap();
}

fn safetensors(path: &Path, heads: usize) {
    let bytes = 4 * heads * ROWS * D;
    let shape = if heads == 1 { format!("[{ROWS},{D}]") } else { format!("[1,{heads},{ROWS},{D}]") };
    let entry = |i: usize, name: &str| {
        format!(
            r#""{name}":{{"dtype":"F32","shape":{shape},"data_offsets":[{},{}]}}"#,
            i * bytes,
            (i + 1) * bytes
        )
    };
    let header = format!("{{{},{},{}}}", entry(0, "q"), entry(1, "k"), entry(2, "v"));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    for i in 0..3 {
        let all = tensor(i, heads, false);
        file.extend(&all[all.len() - bytes..]);
    }
    fs::write(path, file).unwrap();
}

/// A way to read heads with limits, by name.
type Reading = (String, Box<dyn Fn(First) -> Layer>);

/// Ways to read the same heads with limits.
fn all_files(folder: &Path, heads: usize) -> Vec<Reading> {
    let mut all: Vec<Reading> = Vec::new();
    for fortran in [false, true] {
        let paths = ["q", "k", "v"].map(|name| folder.join(format!("{name}-{heads}-{fortran}.npy")));
        paths.iter().enumerate().for_each(|(i, path)| fs::write(path, tensor(i, heads, fortran)).unwrap());
        let read = move |first| Layer::npy_rows(paths.each_ref().map(PathBuf::as_path), first).unwrap();
        all.push((format!("npy, Fortran {fortran}"), Box::new(read)));
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let path = folder.join(format!("{heads}-{fortran}-{method}.npz"));
            archive(&path, heads, fortran, method);
            let name = format!("npz, {method}, Fortran {fortran}");
            all.push((name, Box::new(move |first| Layer::bundle_rows(&path, first).unwrap())));
        }
    }
    let path = folder.join(format!("{heads}.safetensors"));
    safetensors(&path, heads);
    all.push(("safetensors".into(), Box::new(move |first| Layer::bundle_rows(&path, first).unwrap())));
    all
}

#[test]
fn the_first_rows_agree_with_the_truncated_head() {
    let folder = tempfile::tempdir().unwrap();
    for heads in [1, HEADS] {
        for (name, read) in all_files(folder.path(), heads) {
            let whole = read(First::default());
            assert_eq!(whole.heads.len(), heads, "{name}");
            for (i, head) in whole.heads.iter().enumerate() {
                assert_eq!((head.queries, head.keys, head.cut_from), (ROWS, ROWS, None));
                for row in 0..ROWS {
                    let expected =
                        |tensor: usize| (0..D).map(|c| element(tensor, i, row, c)).collect::<Vec<f32>>();
                    assert_eq!(
                        [head.query(row), head.key(row), head.value(row)],
                        [0, 1, 2].map(expected),
                        "{name}"
                    );
                }
            }
            for (queries, keys) in [(1, 1), (1, ROWS), (ROWS, 2), (3, 4), (ROWS, ROWS), (99, 99)] {
                let cut = read(First { queries: Some(queries), keys: Some(keys) });
                let expected: Vec<Attention> =
                    whole.heads.iter().map(|head| head.truncated(queries, keys)).collect();
                assert_eq!(cut.heads, expected, "{name}: {queries} queries, {keys} keys");
            }
            let none = read(First { queries: Some(0), keys: Some(0) });
            assert_eq!((none.heads.len(), none.heads[0].d, none.heads[0].q.len()), (heads, D, 0));
        }
    }
}

/// An entry whose second half cannot be decompressed: it is not needed.
#[test]
fn bytes_after_the_rows_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.npz");
    const MANY: usize = 100_000;
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as f32 / 65536.0
    };
    let data: Vec<u8> = (0..MANY * D).flat_map(|_| noise().to_le_bytes()).collect();
    let mut zip = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    for name in ["q", "v", "k"] {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        zip.write_all(&npy("'<f4'", false, &format!("({MANY}, {D})"), &data)).unwrap();
    }
    zip.finish().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.len() - bytes.len() / 10;
    bytes[place..place + 64].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let first = Layer::bundle_rows(&path, First { queries: Some(1), keys: Some(2) }).unwrap();
    assert_eq!((first.heads[0].queries, first.heads[0].keys, first.heads[0].k.len()), (1, 2, 2 * D));
    let error = Layer::bundle_rows(&path, First::default()).unwrap_err().to_string();
    assert!(error.contains("entry 'k': is not a readable .npz file: "), "{error}");
}

#[test]
fn archives_that_were_appended_to_and_sizes_beyond_memory_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.npz");
    archive(&path, 1, false, CompressionMethod::Stored);
    // The same name in another place of the directory: both names have one letter.
    let bytes = fs::read(&path).unwrap();
    let mut doubled = bytes.clone();
    for at in (0..bytes.len() - 5).filter(|&at| &bytes[at..at + 5] == b"v.npy") {
        doubled[at] = b'q';
    }
    fs::write(&path, doubled).unwrap();
    let error = Layer::from_bundle(&path).unwrap_err().to_string();
    assert!(error.ends_with("it holds entries of one name; was it appended to? Write it anew"), "{error}");
    // A sparse file of an exabyte less than memory has.
    let paths = ["q", "k", "v"].map(|name| folder.path().join(format!("{name}.npy")));
    for path in &paths {
        let rows = 1u64 << 39;
        let header = npy("'<f2'", false, &format!("({rows}, 4)"), &[]);
        fs::write(path, &header).unwrap();
        fs::OpenOptions::new()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(header.len() as u64 + rows * 8)
            .unwrap();
    }
    let cut =
        Layer::npy_rows(paths.each_ref().map(PathBuf::as_path), First { queries: Some(1), keys: Some(3) })
            .unwrap();
    assert_eq!(cut.heads[0].k, [0.0; 12]);
}

#[test]
fn descriptions_that_numpy_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q.npy");
    let little: Vec<u8> = (1..=4).flat_map(|x| (x as f32).to_le_bytes()).collect();
    for descr in ["'<f4'", "'=f4'", "'|f4'", "'f4'", "\"<f4\""] {
        fs::write(&path, npy(descr, false, "(2, 2)", &little)).unwrap();
        assert_eq!(Attention::from_npy(&path, &path, &path).unwrap().q, [1.0, 2.0, 3.0, 4.0], "{descr}");
    }
    for (version, length) in [(1u8, 2), (2, 4), (3, 4)] {
        let text = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }";
        let mut bytes = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
        bytes.extend(&(text.len() as u32).to_le_bytes()[..length]);
        bytes.extend(text.bytes());
        bytes.extend(&little);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(Attention::from_npy(&path, &path, &path).unwrap().q, [1.0, 3.0, 2.0, 4.0]);
        bytes.push(0);
        fs::write(&path, &bytes).unwrap();
        let error = Attention::from_npy(&path, &path, &path).unwrap_err().to_string();
        assert!(
            error.ends_with("16 bytes, but holds 17 bytes of data; one array alone is needed"),
            "{error}"
        );
    }
    for descr in ["'<i8'", "'|b1'", "'<c8'", "'|O'", "'<f16'", "'<U4'", "[('a', '<f4')]", "'<M8[s]'"] {
        fs::write(&path, npy(descr, false, "(2, 2)", &[0; 64])).unwrap();
        let error = Attention::from_npy(&path, &path, &path).unwrap_err().to_string();
        assert!(
            error.contains("holds elements of type") && error.contains("these are read: float32"),
            "{error}"
        );
    }
}

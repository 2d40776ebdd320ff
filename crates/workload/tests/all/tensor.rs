//! Reading `.npy` files: accepted ones, and the text of every error.

use crate::common::{good, npy};
use flashd_workload::{Attention, TensorProblem, write_npy};
use std::fs;

/// The error of reading the good triple with one file replaced, without its path.
fn error_with(which: usize, bytes: &[u8]) -> String {
    let (_folder, paths) = good();
    fs::write(&paths[which], bytes).unwrap();
    let error = Attention::from_npy(&paths[0], &paths[1], &paths[2]).unwrap_err();
    let text = error.to_string().replace(&format!("{}/", paths[0].parent().unwrap().display()), "");
    let name = paths[which].file_name().unwrap().to_str().unwrap().to_string();
    text.strip_prefix(&format!("{name}: ")).unwrap_or_else(|| panic!("{text}: not about {name}")).to_string()
}

#[test]
fn three_npy_files_are_one_head() {
    let (_folder, [q, k, v]) = good();
    let head = Attention::from_npy(&q, &k, &v).unwrap();
    assert_eq!((head.d, head.queries, head.keys), (4, 2, 3));
    assert_eq!(head.query(1), [2.0, 2.5, 3.0, 3.5]);
    assert_eq!(head.key(2), [104.0, 104.5, 105.0, 105.5]);
    assert_eq!(head.value(0), [-100.0, -99.5, -99.0, -98.5]);
    assert_eq!(head.max_abs_v(), 100.0);
}

#[test]
fn one_query_may_be_a_vector() {
    let (_folder, [q, k, v]) = good();
    write_npy(&q, &[4], &[1.0, 2.0, 3.0, 4.0]).unwrap();
    let head = Attention::from_npy(&q, &k, &v).unwrap();
    assert_eq!((head.queries, head.query(0)), (1, [1.0, 2.0, 3.0, 4.0].as_slice()));
}

#[test]
fn other_widths_byte_orders_and_array_orders_are_converted() {
    let (_folder, [q, k, v]) = good();
    let read = |bytes: Vec<u8>| {
        fs::write(&q, bytes).unwrap();
        Attention::from_npy(&q, &k, &v).unwrap().q
    };
    let halves: Vec<u8> = [0x3c00u16, 0xc000, 0x0001, 0x7bff].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(read(npy("'<f2'", false, "(1, 4)", &halves)), [1.0, -2.0, 2f32.powi(-24), 65504.0]);
    let doubles: Vec<u8> = [1.0, -2.0, 0.1, 1e-60].iter().flat_map(|x: &f64| x.to_le_bytes()).collect();
    assert_eq!(read(npy("'<f8'", false, "(1, 4)", &doubles)), [1.0, -2.0, 0.1, 0.0]);
    let big_endian: Vec<u8> = (1..=4).flat_map(|x| (x as f32).to_be_bytes()).collect();
    assert_eq!(read(npy("'>f4'", false, "(1L, 4L)", &big_endian)), [1.0, 2.0, 3.0, 4.0]);
    let columns: Vec<u8> = [1, 5, 2, 6, 3, 7, 4, 8].iter().flat_map(|&x| (x as f32).to_le_bytes()).collect();
    assert_eq!(read(npy("'<f4'", true, "(2, 4)", &columns)), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
}

#[test]
fn write_npy_leaves_one_file_with_aligned_data() {
    let (folder, [q, ..]) = good();
    let bytes = fs::read(&q).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let header = String::from_utf8_lossy(&bytes[10..]).into_owned();
    assert!(header.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4, ), }"), "{header}");
    assert_eq!((bytes.len() - 2 * 4 * 4) % 64, 0, "data begins at a multiple of 64 bytes");
    let leftover = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(leftover, 3, "no temporary file remains");
}

#[test]
fn errors_of_write_npy_name_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q.npy");
    let error = write_npy(&path, &[2, 3], &[0.0; 5]).unwrap_err().to_string();
    assert_eq!(error, "shape [2, 3] does not match 5 elements");
    let path = folder.path().join("missing/q.npy");
    let error = write_npy(&path, &[1], &[0.0]).unwrap_err().to_string();
    assert!(error.contains("missing does not exist") && !error.contains("q.npy"), "{error}");
}

#[test]
fn every_error_names_the_file_the_problem_and_a_remedy() {
    let four = [0u8; 16];
    assert_eq!(
        error_with(0, b"PK\x03\x04 and so on"),
        "is not a .npy file: it does not begin with \\x93NUMPY; write it with numpy.save"
    );
    assert_eq!(
        error_with(0, b""),
        "is not a .npy file: it does not begin with \\x93NUMPY; write it with numpy.save"
    );
    assert_eq!(
        error_with(1, &npy("'<i8'", false, "(3, 4)", &[0; 96])),
        "holds elements of type '<i8'; these are read: float32, float16, float64, bfloat16, float8_e5m2"
    );
    assert_eq!(
        error_with(1, &npy("[('a', '<f4'), ('b', '<f4')]", false, "(3, 4)", &[0; 96])),
        "holds elements of type [('a', '<f4'), ('b', '<f4')]; these are read: float32, float16, float64, bfloat16, float8_e5m2"
    );
    assert_eq!(
        error_with(0, &npy("'<f4'", false, "(1, 1, 4)", &four)),
        "has shape [1, 1, 4]; [queries, d] or [d] is needed"
    );
    assert_eq!(error_with(2, &npy("'<f4'", false, "(4,)", &four)), "has shape [4]; [keys, d] is needed");
    assert_eq!(
        error_with(0, &npy("'<f4'", false, "()", &four[..4])),
        "has shape []; [queries, d] or [d] is needed"
    );
    assert_eq!(
        error_with(1, &npy("'<f4'", false, "(0, 4)", &[])),
        "has shape [0, 4]; at least one row and one column are needed"
    );
    assert_eq!(
        error_with(0, &npy("'<f4'", false, "(2, 4)", &four)),
        "announces shape [2, 4], 32 bytes, but holds 16 bytes of data; it is damaged"
    );
    assert_eq!(
        error_with(1, &npy("'<f4'", false, "(3, 3)", &[0; 36])),
        "has d = 3, but q.npy has d = 4; Q and K need the same number of columns"
    );
    assert_eq!(
        error_with(2, &npy("'<f4'", false, "(2, 4)", &[0; 32])),
        "has 2 rows, but k.npy has 3; K and V need one row for each key"
    );
    let nan: Vec<u8> = (0..12).flat_map(|i| if i == 6 { f32::NAN } else { 1.0 }.to_le_bytes()).collect();
    assert_eq!(
        error_with(1, &npy("'<f4'", false, "(3, 4)", &nan)),
        "row 1, column 2 is NaN; every element must be a finite float32"
    );
    let huge: Vec<u8> = [1.0, 1e39, 1.0, 1.0].iter().flat_map(|x: &f64| x.to_le_bytes()).collect();
    assert!(error_with(0, &npy("'<f8'", false, "(4,)", &huge)).starts_with("row 0, column 1 is 1000"));
}

#[test]
fn an_absurd_shape_is_refused_before_anything_is_allocated() {
    assert_eq!(
        error_with(0, &npy("'<f4'", false, "(1099511627776, 4)", &[0; 16])),
        "announces shape [1099511627776, 4], 17592186044416 bytes, but holds 16 bytes of data; it is damaged"
    );
    assert_eq!(
        error_with(0, &npy("'<f4'", false, "(18446744073709551615, 18446744073709551615)", &[0; 16])),
        "announces shape [18446744073709551615, 18446744073709551615], more bytes than a file can have, but \
         holds 16 bytes of data; it is damaged"
    );
    let mut long_header = b"\x93NUMPY\x02\x00".to_vec();
    long_header.extend(u32::MAX.to_le_bytes());
    assert_eq!(
        error_with(0, &long_header),
        "has a damaged .npy header: it is 4294967295 bytes long, and 10000 is the limit"
    );
}

#[test]
fn a_damaged_header_is_described() {
    let header = |text: &str| {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        error_with(0, &bytes)
    };
    for (text, what) in [
        ("", "it does not begin with '{'"),
        ("{", "a key is not a string"),
        ("{'descr'", "a key without ':'"),
        ("{'descr': '<f4' 'shape'", "neither ',' nor '}' after a value"),
        ("{'colour': 'red'}", "unknown key 'colour'"),
        ("{'fortran_order': 0}", "fortran_order is not True or False"),
        ("{'shape': (-1, 4)}", "shape is not a tuple of sizes such as (203, 32)"),
        ("{'shape': 99999999999999999999}", "shape is not a tuple of sizes such as (203, 32)"),
        ("{'descr': '<f4', 'fortran_order': False}", "key 'shape' is missing"),
        ("{'descr': '<f4', 'shape': (1,)}", "key 'fortran_order' is missing"),
        ("{}", "key 'descr' is missing"),
    ] {
        assert_eq!(header(text), format!("has a damaged .npy header: {what}"), "{text}");
    }
    assert_eq!(error_with(0, b"\x93NUMPY\x01"), "has a damaged .npy header: the file ends inside it");
    assert_eq!(
        error_with(0, b"\x93NUMPY\x09\x00\x00\x00"),
        "has a damaged .npy header: version 9.0 is not one of 1.0, 2.0, 3.0"
    );
}

#[test]
fn a_missing_file_and_a_folder_cannot_be_read() {
    let (folder, [q, k, _]) = good();
    let missing = folder.path().join("none.npy");
    let error = Attention::from_npy(&q, &k, &missing).unwrap_err();
    assert!(matches!(error.problem, TensorProblem::Unreadable(_)));
    assert!(error.to_string().starts_with(&format!("{}: cannot be read: ", missing.display())), "{error}");
    let error = Attention::from_npy(folder.path(), &k, &missing).unwrap_err().to_string();
    assert_eq!(error, format!("{}: cannot be read: it is not a regular file", folder.path().display()));
}

#[test]
fn cutting_and_padding() {
    let (_folder, [q, k, v]) = good();
    let head = Attention::from_npy(&q, &k, &v).unwrap();
    let cut = head.truncated(1, 2);
    assert_eq!((cut.queries, cut.keys, cut.value(1)), (1, 2, head.value(1)));
    assert_eq!(head.truncated(100, 100), head);
    let wide = head.pad_to(6);
    assert_eq!((wide.d, wide.query(1)), (6, [2.0, 2.5, 3.0, 3.5, 0.0, 0.0].as_slice()));
    assert_eq!((wide.k.len(), wide.v.len()), (18, 18));
}

//! Checkpoints and tokenizers: reading them, and errors of bad files.

use crate::common::{model, shape, tokenizer};
use flashd_llm::{Checkpoint, LlmError, Tokenizer};
use proptest::prelude::*;

fn read(bytes: &[u8]) -> Result<Checkpoint, LlmError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.bin");
    std::fs::write(&path, bytes).unwrap();
    Checkpoint::read(&path)
}

fn refused(bytes: &[u8]) -> String {
    let text = read(bytes).unwrap_err().to_string();
    assert!(text.contains("model.bin: "), "{text}");
    text
}

#[test]
fn written_files_are_read() {
    for shared_classifier in [true, false] {
        let model = model(shape(shared_classifier), 5);
        let bytes = model.to_bytes();
        assert_eq!(bytes.len() as u128, model.config.bytes());
        assert_eq!(read(&bytes).unwrap(), model);
    }
}

#[test]
fn other_lengths_and_headers_are_refused() {
    let bytes = model(shape(true), 5).to_bytes();
    let n = bytes.len();
    assert!(refused(&bytes[..27]).contains("has 27 bytes"));
    assert!(
        refused(&bytes[..n - 1])
            .contains(&format!("has {} bytes, but a model of the shape in its header {n}", n - 1))
    );
    assert!(refused(&[&bytes[..], &[0]].concat()).contains(&format!("header {n}")));
    let with = |field: usize, value: i32| {
        let mut bytes = bytes.clone();
        bytes[4 * field..][..4].copy_from_slice(&value.to_le_bytes());
        refused(&bytes)
    };
    for (field, name) in ["dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads"].into_iter().enumerate() {
        assert!(with(field, 0).contains(&format!("{name} = 0")));
        assert!(with(field, -1).contains(&format!("{name} = -1")));
    }
    assert!(with(5, 0).contains("vocab_size = 0"));
    assert!(with(6, i32::MIN).contains("seq_len"));
    // A separate classifier, which the file does not have.
    assert!(with(5, -262).contains("bytes"));
    assert!(with(3, 5).contains("n_heads = 5"));
    assert!(with(4, 3).contains("n_kv_heads = 3"));
    assert!(with(2, i32::MAX).contains("bytes"));
    assert!(with(0, 0x616b_3432).contains("legacy"));
    assert!(Checkpoint::read("no-such-file".as_ref()).unwrap_err().to_string().contains("no-such-file"));
    assert!(Checkpoint::read(".".as_ref()).unwrap_err().to_string().contains("is not a regular file"));
}

#[test]
fn weights_that_are_not_finite_are_refused() {
    let mut bad = model(shape(true), 5);
    bad.w2[17] = f32::NAN;
    assert!(refused(&bad.to_bytes()).contains("element 17 of w2 is NaN"));
}

const PIECES: [(&str, f32); 11] = [
    (" ", -1.0),
    ("a", -2.0),
    ("b", -3.0),
    ("é", -4.0),
    ("ab", -1.5),
    ("ba", -1.0),
    ("aba", 0.5),
    (" a", 0.0),
    ("abab", 2.0),
    ("bb", -1.0),
    (" ab", -0.0),
];

fn vocabulary() -> Tokenizer {
    parse(&tokenizer(&PIECES), 259 + PIECES.len()).unwrap()
}

fn parse(bytes: &[u8], vocab: usize) -> Result<Tokenizer, LlmError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.bin");
    std::fs::write(&path, bytes).unwrap();
    Tokenizer::read(&path, vocab)
}

/// Byte-pair encoding as llama2.c does it: look through all pairs, merge the best, start over.
fn encode_slowly(text: &str) -> Vec<usize> {
    let find = |piece: &str| PIECES.iter().position(|(p, _)| *p == piece).map(|i| 259 + i);
    let mut tokens = vec![1];
    if !text.is_empty() {
        tokens.push(find(" ").unwrap());
    }
    for c in text.chars() {
        match find(&c.to_string()) {
            Some(id) => tokens.push(id),
            None => tokens.extend(c.to_string().bytes().map(|b| b as usize + 3)),
        }
    }
    loop {
        let mut best: Option<(f32, usize, usize)> = None;
        for i in 1..tokens.len().max(1) - 1 {
            let (a, b) = (tokens[i], tokens[i + 1]);
            if a < 259 || b < 259 {
                continue;
            }
            let Some(id) = find(&[PIECES[a - 259].0, PIECES[b - 259].0].concat()) else { continue };
            if best.is_none_or(|(score, ..)| PIECES[id - 259].1 > score) {
                best = Some((PIECES[id - 259].1, i, id));
            }
        }
        let Some((_, i, id)) = best else { return tokens };
        tokens[i] = id;
        tokens.remove(i + 1);
    }
}

proptest! {
    #[test]
    fn encoding_merges_as_llama2_does(text in "[ab é.]{0,40}") {
        let tokens = vocabulary().encode(&text);
        prop_assert_eq!(&tokens, &encode_slowly(&text));
        prop_assert_eq!(vocabulary().decode(&tokens), text);
    }

    #[test]
    fn any_text_comes_back(text in any::<String>()) {
        let tokenizer = vocabulary();
        prop_assert_eq!(tokenizer.decode(&tokenizer.encode(&text)), text);
    }
}

#[test]
fn equal_scores_merge_from_the_left() {
    // ba and bb have the same score, aba and abab more.
    let id = |piece: &str| 259 + PIECES.iter().position(|(p, _)| *p == piece).unwrap();
    assert_eq!(vocabulary().encode("bba"), [1, id(" "), id("bb"), id("a")]);
    assert_eq!(vocabulary().encode(""), [1]);
    assert_eq!(vocabulary().encode("~"), [1, id(" "), 3 + usize::from(b'~')]);
}

#[test]
fn bad_tokenizers_are_refused() {
    let bytes = tokenizer(&PIECES);
    let vocab = 259 + PIECES.len();
    let refused = |bytes: &[u8], vocab: usize| {
        let text = parse(bytes, vocab).unwrap_err().to_string();
        assert!(text.contains("tokenizer.bin: "), "{text}");
        text
    };
    assert!(refused(&bytes, vocab + 1).contains(&format!("ends in token {vocab}")));
    assert!(refused(&bytes, vocab - 1).contains("after the"));
    assert!(refused(&bytes[..bytes.len() - 1], vocab).contains("ends in token"));
    assert!(refused(&bytes, 100).contains("vocabulary of 100"));
    assert!(refused(&[], vocab).contains("ends in token 0"));
    let mut wrong = bytes.clone();
    wrong[8..12].copy_from_slice(&(-1i32).to_le_bytes());
    assert!(refused(&wrong, vocab).contains("length of -1"));
    wrong[8..12].copy_from_slice(&i32::MAX.to_le_bytes());
    assert!(refused(&wrong, vocab).contains("length of 2147483647"));
    let mut wrong = bytes;
    wrong[4..8].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(refused(&wrong, vocab).contains("score of token 0"));
}

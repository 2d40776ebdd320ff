//! The llama2.c tokenizer: a scored vocabulary, byte-pair encoding.
//!
//! ```text
//! longest  i32           then for each token:  score  f32    length  i32    bytes
//! ```
//!
//! Token 1 begins a text. Tokens 3 to 258 are the bytes, written `<0x00>` to `<0xFF>`.

use crate::error::{LlmError, open, read_exactly};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;

/// The token that begins a text, and ends it when it is generated.
pub const BOS: usize = 1;
/// Tokens before the 256 bytes.
const SPECIAL: usize = 3;
/// The largest file that is read; that of Llama 2 has 0.4 MB.
const MOST_BYTES: u64 = 64 << 20;

/// A vocabulary.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    pieces: Vec<Vec<u8>>,
    scores: Vec<f32>,
    ids: HashMap<Vec<u8>, usize>,
}

impl Tokenizer {
    /// Reads the tokenizer of a model with a vocabulary of `vocab` tokens.
    ///
    /// # Errors
    /// A file that cannot be read, that ends early or has bytes left over, and scores or lengths without sense.
    pub fn read(path: &Path, vocab: usize) -> Result<Tokenizer, LlmError> {
        let (mut file, length) = open(path)?;
        if length > MOST_BYTES {
            return Err(LlmError::unusable(
                path,
                format!("has {length} bytes; a tokenizer has at most {MOST_BYTES}"),
            ));
        }
        let data = read_exactly(path, &mut file, length as usize)?;
        Tokenizer::parse(&data, vocab).map_err(|problem| LlmError::unusable(path, problem))
    }

    fn parse(data: &[u8], vocab: usize) -> Result<Tokenizer, String> {
        if vocab < SPECIAL + 256 {
            return Err(format!(
                "a vocabulary of {vocab} has no room for {SPECIAL} special tokens and 256 bytes"
            ));
        }
        let mut rest = data;
        let short = |token: usize| move || format!("ends in token {token} of the {vocab} that the model has");
        let longest = i32::from_le_bytes(take(&mut rest).ok_or_else(short(0))?);
        let (mut pieces, mut scores) = (Vec::new(), Vec::new());
        for token in 0..vocab {
            let score = f32::from_le_bytes(take(&mut rest).ok_or_else(short(token))?);
            let length = i32::from_le_bytes(take(&mut rest).ok_or_else(short(token))?);
            if score.is_nan() {
                return Err(format!("the score of token {token} is not a number"));
            }
            if length < 0 || length > longest {
                return Err(format!("token {token} has a length of {length}, outside 0 to {longest}"));
            }
            let (piece, after) = rest.split_at_checked(length as usize).ok_or_else(short(token))?;
            rest = after;
            pieces.push(piece.to_vec());
            scores.push(score);
        }
        if !rest.is_empty() {
            return Err(format!("has {} bytes after the {vocab} tokens that the model has", rest.len()));
        }
        // The first of equal pieces counts.
        let ids = pieces.iter().cloned().enumerate().rev().map(|(id, piece)| (piece, id)).collect();
        Ok(Tokenizer { pieces, scores, ids })
    }

    /// Tokens of a text, [`BOS`] first.
    ///
    /// A space is put before the text if the vocabulary has one. Characters that it lacks are taken byte by byte.
    /// Then, as long as two neighbours form a token, the pair with the highest score is merged, the first of equals.
    pub fn encode(&self, text: &str) -> Vec<usize> {
        let mut tokens = vec![BOS];
        if !text.is_empty() {
            tokens.extend(self.ids.get(&b" "[..]));
        }
        let mut buffer = [0; 4];
        for character in text.chars() {
            let bytes = character.encode_utf8(&mut buffer).as_bytes();
            match self.ids.get(bytes) {
                Some(&id) => tokens.push(id),
                None => tokens.extend(bytes.iter().map(|&byte| SPECIAL + usize::from(byte))),
            }
        }
        let merged = self.merge(&tokens[1..]);
        tokens.truncate(1);
        tokens.extend(merged);
        tokens
    }

    /// Merges pairs, best score first. A pair is found when it comes about, and dropped when it is met again after
    /// one of its halves has gone.
    fn merge(&self, tokens: &[usize]) -> Vec<usize> {
        let n = tokens.len();
        let mut token: Vec<Option<usize>> = tokens.iter().copied().map(Some).collect();
        let mut next: Vec<usize> = (1..=n).collect();
        let mut previous: Vec<Option<usize>> = (0..n).map(|i| i.checked_sub(1)).collect();
        let mut pairs = BinaryHeap::new();
        let find = |left: usize, right: usize, token: &[Option<usize>]| {
            let halves = (token[left]?, token.get(right).copied().flatten()?);
            let piece = [self.pieces[halves.0].as_slice(), &self.pieces[halves.1]].concat();
            let id = *self.ids.get(&piece)?;
            Some(TokenPair { score: self.scores[id], left, right, halves, id })
        };
        for i in 0..n {
            pairs.extend(find(i, i + 1, &token));
        }
        while let Some(TokenPair { left, right, halves, id, .. }) = pairs.pop() {
            let current =
                token[left] == Some(halves.0) && token[right] == Some(halves.1) && next[left] == right;
            if !current {
                continue;
            }
            token[left] = Some(id);
            token[right] = None;
            next[left] = next[right];
            if next[left] < n {
                previous[next[left]] = Some(left);
                pairs.extend(find(left, next[left], &token));
            }
            if let Some(before) = previous[left] {
                pairs.extend(find(before, left, &token));
            }
        }
        token.into_iter().flatten().collect()
    }

    /// The bytes of a token after another: a byte token is its byte, and the space that [`Tokenizer::encode`] puts
    /// before a text is left out.
    pub fn piece(&self, previous: usize, token: usize) -> &[u8] {
        const BYTES: [u8; 256] = {
            let mut bytes = [0; 256];
            let mut i = 0;
            while i < 256 {
                bytes[i] = i as u8;
                i += 1;
            }
            bytes
        };
        let piece = &self.pieces[token];
        match byte_of(piece) {
            Some(byte) => &BYTES[usize::from(byte)..][..1],
            None if previous == BOS => piece.strip_prefix(b" ").unwrap_or(piece),
            None => piece,
        }
    }

    /// The text of tokens, without a [`BOS`] at the front. Bytes that are no UTF-8 become replacement characters.
    pub fn decode(&self, tokens: &[usize]) -> String {
        let bytes: Vec<u8> =
            tokens.windows(2).flat_map(|pair| self.piece(pair[0], pair[1])).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The byte of `<0x41>`.
fn byte_of(piece: &[u8]) -> Option<u8> {
    let digits = piece.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 2)?;
    u8::from_str_radix(digits, 16).ok()
}

fn take(rest: &mut &[u8]) -> Option<[u8; 4]> {
    let (word, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(*word)
}

/// Two neighbours that form a token.
struct TokenPair {
    score: f32,
    left: usize,
    right: usize,
    halves: (usize, usize),
    id: usize,
}

impl Ord for TokenPair {
    fn cmp(&self, other: &TokenPair) -> Ordering {
        // Adding 0 makes -0 and 0 equal, as they are in a comparison of floats.
        (self.score + 0.0).total_cmp(&(other.score + 0.0)).then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for TokenPair {
    fn partial_cmp(&self, other: &TokenPair) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for TokenPair {
    fn eq(&self, other: &TokenPair) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for TokenPair {}

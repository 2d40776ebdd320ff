//! Small models and vocabularies, made from a seed.
#![allow(dead_code)]

use flashd_llm::{Checkpoint, Config};
use std::path::{Path, PathBuf};

/// Uniform numbers in -1 to 1 (Knuth's generator).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    pub fn tensor(&mut self, n: usize, scale: f32) -> Vec<f32> {
        (0..n).map(|_| scale * self.next()).collect()
    }
}

/// A shape with two query heads for each kv head.
pub fn shape(shared_classifier: bool) -> Config {
    Config {
        dim: 24,
        hidden: 20,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        vocab: 262,
        context: 40,
        shared_classifier,
    }
}

pub fn model(c: Config, seed: u64) -> Checkpoint {
    let mut numbers = Numbers(seed);
    let mut ones = Numbers(seed + 1);
    // Weights of this size keep activations near 1 and scores within a few units.
    let wide = |n: usize| 1.7 / (n as f32).sqrt();
    let mut norm = |n: usize| -> Vec<f32> { (0..n).map(|_| 1.0 + 0.2 * ones.next()).collect() };
    Checkpoint {
        config: c,
        embedding: numbers.tensor(c.vocab * c.dim, 1.0),
        rms_att: norm(c.layers * c.dim),
        wq: numbers.tensor(c.layers * c.dim * c.dim, 2.0 * wide(c.dim)),
        wk: numbers.tensor(c.layers * c.kv_dim() * c.dim, 2.0 * wide(c.dim)),
        wv: numbers.tensor(c.layers * c.kv_dim() * c.dim, wide(c.dim)),
        wo: numbers.tensor(c.layers * c.dim * c.dim, wide(c.dim)),
        rms_ffn: norm(c.layers * c.dim),
        w1: numbers.tensor(c.layers * c.hidden * c.dim, wide(c.dim)),
        w2: numbers.tensor(c.layers * c.dim * c.hidden, wide(c.hidden)),
        w3: numbers.tensor(c.layers * c.hidden * c.dim, wide(c.dim)),
        rms_final: norm(c.dim),
        classifier: (!c.shared_classifier).then(|| numbers.tensor(c.vocab * c.dim, wide(c.dim))),
    }
}

/// A tokenizer file of scored pieces; the special tokens and bytes come first.
pub fn tokenizer(pieces: &[(&str, f32)]) -> Vec<u8> {
    let bytes = (0..=255).map(|byte| (format!("<0x{byte:02X}>"), 0.0));
    let special = ["<unk>", "\n<s>\n", "\n</s>\n"].map(|piece| (piece.to_string(), 0.0));
    let pieces = pieces.iter().map(|&(piece, score)| (piece.to_string(), score));
    let all: Vec<(String, f32)> = special.into_iter().chain(bytes).chain(pieces).collect();
    let longest = all.iter().map(|(piece, _)| piece.len()).max().unwrap();
    let mut file = (longest as i32).to_le_bytes().to_vec();
    for (piece, score) in all {
        file.extend(score.to_le_bytes());
        file.extend((piece.len() as i32).to_le_bytes());
        file.extend(piece.as_bytes());
    }
    file
}

/// A file next to the repository.
pub fn shared(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name)
}

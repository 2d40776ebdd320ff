//! The llama2.c checkpoint: seven integers, then float32 weights.
//!
//! ```text
//! dim  hidden_dim  n_layers  n_heads  n_kv_heads  vocab_size  seq_len        7 x i32, little endian
//! embedding  [vocab, dim]                         rms_att    [layers, dim]
//! wq  [layers, dim, dim]                          wk, wv     [layers, kv_heads * head_size, dim]
//! wo  [layers, dim, dim]                          rms_ffn    [layers, dim]
//! w1  [layers, hidden, dim]                       w2         [layers, dim, hidden]
//! w3  [layers, hidden, dim]                       rms_final  [dim]
//! two tables of rotations, no longer used         [seq_len, head_size / 2] each
//! classifier  [vocab, dim]                        only where vocab_size is negative
//! ```

use crate::error::{LlmError, open, read_exactly, words};
use std::path::Path;

/// The shape of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Length of the activations.
    pub dim: usize,
    /// Length of the feed-forward network's hidden layer.
    pub hidden: usize,
    /// Layers, each attention and a feed-forward network.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads: each serves `heads / kv_heads` query heads.
    pub kv_heads: usize,
    /// Tokens of the vocabulary.
    pub vocab: usize,
    /// Tokens of the longest sequence.
    pub context: usize,
    /// Whether the classifier is the embedding.
    pub shared_classifier: bool,
}

impl Config {
    /// Length of a head's vectors.
    pub fn head_size(&self) -> usize {
        self.dim / self.heads
    }

    /// Length of a layer's keys, of all kv heads together.
    pub fn kv_dim(&self) -> usize {
        self.kv_heads * self.head_size()
    }

    /// Reads and checks the header.
    fn of_header(header: [i32; 7]) -> Result<Config, String> {
        let [dim, hidden, layers, heads, kv_heads, vocab, context] = header;
        // Newer exports begin with a magic number and a version.
        if dim == i32::from_be_bytes(*b"ak42") {
            return Err(format!("is a version {hidden} export; only the legacy format is read"));
        }
        let names = ["dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "seq_len"];
        for (name, value) in names.into_iter().zip([dim, hidden, layers, heads, kv_heads, vocab, context]) {
            let positive = value > 0 || (name == "vocab_size" && value < 0);
            if !positive {
                return Err(format!("the header has {name} = {value}, which must be positive"));
            }
        }
        if dim % heads != 0 || (dim / heads) % 2 != 0 {
            return Err(format!(
                "the header has dim = {dim}, which must be an even multiple of n_heads = {heads}"
            ));
        }
        if heads % kv_heads != 0 {
            return Err(format!(
                "the header has n_heads = {heads}, not a multiple of n_kv_heads = {kv_heads}"
            ));
        }
        let size = |x: i32| x.unsigned_abs() as usize;
        Ok(Config {
            dim: size(dim),
            hidden: size(hidden),
            layers: size(layers),
            heads: size(heads),
            kv_heads: size(kv_heads),
            vocab: size(vocab),
            context: size(context),
            shared_classifier: vocab > 0,
        })
    }

    /// The tensors of the file in order, each with its number of elements.
    fn tensors(&self) -> [(&'static str, u128); 14] {
        let [dim, hidden, layers, vocab, context, kv, half] = [
            self.dim,
            self.hidden,
            self.layers,
            self.vocab,
            self.context,
            self.kv_dim(),
            self.head_size() / 2,
        ]
        .map(|x| x as u128);
        let classifier = if self.shared_classifier { 0 } else { vocab * dim };
        [
            ("embedding", vocab * dim),
            ("rms_att", layers * dim),
            ("wq", layers * dim * dim),
            ("wk", layers * kv * dim),
            ("wv", layers * kv * dim),
            ("wo", layers * dim * dim),
            ("rms_ffn", layers * dim),
            ("w1", layers * hidden * dim),
            ("w2", layers * dim * hidden),
            ("w3", layers * hidden * dim),
            ("rms_final", dim),
            ("freq_cis_real", context * half),
            ("freq_cis_imag", context * half),
            ("classifier", classifier),
        ]
    }

    /// Bytes of a checkpoint of this shape.
    pub fn bytes(&self) -> u128 {
        HEADER as u128 + 4 * self.tensors().iter().map(|(_, elements)| elements).sum::<u128>()
    }
}

/// Bytes of the header.
const HEADER: usize = 28;

/// A model: its shape and weights. Matrices are row-major, layers one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The shape.
    pub config: Config,
    /// `[vocab, dim]`.
    pub embedding: Vec<f32>,
    /// `[layers, dim]`.
    pub rms_att: Vec<f32>,
    /// `[layers, dim, dim]`.
    pub wq: Vec<f32>,
    /// `[layers, kv_dim, dim]`.
    pub wk: Vec<f32>,
    /// `[layers, kv_dim, dim]`.
    pub wv: Vec<f32>,
    /// `[layers, dim, dim]`.
    pub wo: Vec<f32>,
    /// `[layers, dim]`.
    pub rms_ffn: Vec<f32>,
    /// `[layers, hidden, dim]`.
    pub w1: Vec<f32>,
    /// `[layers, dim, hidden]`.
    pub w2: Vec<f32>,
    /// `[layers, hidden, dim]`.
    pub w3: Vec<f32>,
    /// `[dim]`.
    pub rms_final: Vec<f32>,
    /// `[vocab, dim]`, none where the embedding serves.
    pub classifier: Option<Vec<f32>>,
}

impl Checkpoint {
    /// Reads a file. Its length must match the shape in its header exactly; nothing is allocated before that
    /// is certain.
    ///
    /// # Errors
    /// A file that cannot be read, a header without sense, another length, and weights that are not finite.
    pub fn read(path: &Path) -> Result<Checkpoint, LlmError> {
        let (mut file, length) = open(path)?;
        if length < HEADER as u64 {
            return Err(LlmError::unusable(
                path,
                format!("has {length} bytes; a checkpoint begins with a header of {HEADER}"),
            ));
        }
        let header = read_exactly(path, &mut file, HEADER)?;
        let mut fields = [0; 7];
        fields.iter_mut().zip(words(&header)).for_each(|(field, word)| *field = i32::from_le_bytes(word));
        let config = Config::of_header(fields).map_err(|problem| LlmError::unusable(path, problem))?;
        if u128::from(length) != config.bytes() {
            return Err(LlmError::unusable(
                path,
                format!("has {length} bytes, but a model of the shape in its header {}", config.bytes()),
            ));
        }
        let mut tensors = Vec::new();
        for (name, elements) in config.tensors() {
            let data = read_exactly(path, &mut file, elements as usize * 4)?;
            let tensor: Vec<f32> = words(&data).map(f32::from_le_bytes).collect();
            // The old tables of rotations are read past.
            if let Some(i) = tensor.iter().position(|x| !x.is_finite()).filter(|_| !name.starts_with("freq"))
            {
                let problem = format!("element {i} of {name} is {}; weights are finite", tensor[i]);
                return Err(LlmError::unusable(path, problem));
            }
            tensors.push(tensor);
        }
        let mut tensors = tensors.into_iter();
        let mut next = || tensors.next().unwrap_or_default();
        let mut model = Checkpoint {
            config,
            embedding: next(),
            rms_att: next(),
            wq: next(),
            wk: next(),
            wv: next(),
            wo: next(),
            rms_ffn: next(),
            w1: next(),
            w2: next(),
            w3: next(),
            rms_final: next(),
            classifier: None,
        };
        let classifier = tensors.next_back().filter(|_| !config.shared_classifier);
        model.classifier = classifier;
        Ok(model)
    }

    /// The file that [`Checkpoint::read`] reads. The old tables of rotations are zeros.
    pub fn to_bytes(&self) -> Vec<u8> {
        let c = &self.config;
        let vocab = c.vocab as i32 * if c.shared_classifier { 1 } else { -1 };
        let size = |x: usize| x as i32;
        let header = [
            size(c.dim),
            size(c.hidden),
            size(c.layers),
            size(c.heads),
            size(c.kv_heads),
            vocab,
            size(c.context),
        ];
        let mut bytes: Vec<u8> = header.into_iter().flat_map(i32::to_le_bytes).collect();
        let rotations = vec![0.0; c.context * c.head_size()];
        for tensor in [
            &self.embedding,
            &self.rms_att,
            &self.wq,
            &self.wk,
            &self.wv,
            &self.wo,
            &self.rms_ffn,
            &self.w1,
            &self.w2,
            &self.w3,
            &self.rms_final,
            &rotations,
            self.classifier.as_ref().unwrap_or(&Vec::new()),
        ] {
            bytes.extend(tensor.iter().flat_map(|x| x.to_le_bytes()));
        }
        bytes
    }
}

//! Small language models, with the attention done by a core.
//!
//! A [`Runner`] computes the logits of a [`Checkpoint`] (a llama2.c file) token by token in f32, and leaves the attention to an
//! [`AttentionBackend`]: in f32 ([`F32Attention`]), or by the bit-exact model of a core ([`CoreAttention`]). A [`Tokenizer`] turns text into
//! tokens and back; [`generate`] decodes greedily, [`perplexity`] measures, [`compare`] compares two runs.
//!
//! ```
//! use flashd_llm::{AttentionBackend, Config, CoreAttention, LayerPosition, LlmError, RecordHeads};
//! use flashd_spec::config::{CoreConfig, Design};
//! use flashd_spec::format::Format;
//!
//! let (heads, kv_heads, layers, vocab, context) = (1, 1, 1, 1, 2);
//! let model = Config { dim: 2, hidden: 2, layers, heads, kv_heads, vocab, context, shared_classifier: true };
//! // The second position of the only layer, where both keys have the same score.
//! let (keys, values) = (&[vec![1.0; 4]], &[vec![1.0, 2.0, 3.0, 4.0]]);
//! let heads = LayerPosition { layer: 0, size: 2, q: &[1.0, 0.0], keys, values };
//! let (mut f32, mut by_core) = ([0.0; 2], [0.0; 2]);
//! let mut recorded = RecordHeads::default();
//! recorded.attend(heads, &mut f32);
//! let core = CoreConfig::new(Design::FlashD, 2, Format::BF16);
//! CoreAttention::new(&core, &model, &recorded)?.attend(heads, &mut by_core);
//! assert_eq!((f32, by_core), ([2.0, 3.0], [2.0, 3.0]));
//! # Ok::<(), LlmError>(())
//! ```

#![warn(unreachable_pub)]

mod attention;
mod checkpoint;
mod error;
mod generate;
mod products;
mod runner;
mod tokenizer;

// Weights and vocabulary, read from files.
pub use checkpoint::{Checkpoint, Config};
pub use error::LlmError;
pub use tokenizer::{BOS, Tokenizer};
// The model.
pub use runner::Runner;
// Implementations of its attention.
pub use attention::{AttentionBackend, CoreAttention, F32Attention, Holds, LayerPosition, RecordHeads};
// Generation and comparison.
pub use generate::{Comparison, Generation, Perplexity, TokenDifference, compare, generate, perplexity};

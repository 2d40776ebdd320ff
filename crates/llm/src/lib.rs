//! Small language models, with the attention done by a core.
//!
//! A [`Runner`] computes the logits of a [`Checkpoint`] (a llama2.c file) token by token in f32, and leaves the attention to an
//! [`Attention`]: in f32 ([`F32Attention`]), or by the bit-exact model of a core ([`CoreAttention`]). A [`Tokenizer`] turns text into
//! tokens and back; [`generate`] decodes greedily, [`perplexity`] measures, [`compare`] compares two runs.

#![warn(unreachable_pub)]

mod attention;
mod checkpoint;
mod error;
mod generate;
mod runner;
mod tokenizer;

// Weights and vocabulary, read from files.
pub use checkpoint::{Checkpoint, Config};
pub use error::LlmError;
pub use tokenizer::{BOS, Tokenizer};
// The model.
pub use runner::Runner;
// Who computes its attention.
pub use attention::{Attention, CoreAttention, F32Attention, Heads, Held, RecordHeads};
// What is done with it.
pub use generate::{Comparison, Difference, Generation, Perplexity, compare, generate, perplexity};

//! Small language models, with the attention done by a core.
//!
//! The flow, in the order of the modules:
//!
//! * [`checkpoint`] reads the weights of a llama2.c file ([`Checkpoint`]);
//! * [`tokenizer`] reads its vocabulary and turns text into tokens and back ([`Tokenizer`]);
//! * [`runner`] computes logits token by token in f32, attention left to an [`Attention`] ([`Runner`]);
//! * [`attention`] has two of these: in f32 ([`F32Attention`]), and by the bit-exact model of a core
//!   ([`CoreAttention`]);
//! * [`mod@generate`] decodes greedily, measures perplexity and compares two runs.

pub mod attention;
pub mod checkpoint;
mod error;
pub mod generate;
pub mod runner;
pub mod tokenizer;

pub use attention::{Attention, CoreAttention, F32Attention, Heads, Held, RecordHeads};
pub use checkpoint::{Checkpoint, Config};
pub use error::LlmError;
pub use generate::{Comparison, Generation, Perplexity, compare, generate, perplexity};
pub use runner::Runner;
pub use tokenizer::Tokenizer;

//! Attention workloads: where Q, K and V come from, and how a host prepares them for a core.
//!
//! Q, K and V are read from `.npy`, `.npz` and `.safetensors` files ([`Attention`]), with errors that say what is wrong and what would
//! be right, or from a folder of heads ([`load_dir`]). [`Visible`] says which keys each query sees. [`choose_scaling`] picks the
//! powers of two that fit a head into a number format ([`Scaling`]), and [`quantise`] rounds it to the encodings that a core takes
//! ([`Quantised`]).
//!
//! ```
//! use flashd_spec::format::Format;
//! use flashd_workload::{
//!     ScalingError, ScoreScale, TensorScale, choose_scaling, quantise, synthetic,
//! };
//!
//! let format = Format::FP8_E4M3;
//! let head = synthetic::attention_like(1, 3, 5, 8);
//! let scaling = choose_scaling(format, &head, ScoreScale::Auto, TensorScale::Auto)?;
//! let rounded = quantise(format, scaling, &head);
//! assert_eq!((rounded.q.len(), rounded.k.len(), rounded.v.len()), (3 * 8, 5 * 8, 5 * 8));
//! assert!(rounded.v.iter().all(|&bits| format.value(bits).abs() <= format.value(format.max_finite())));
//! # Ok::<(), ScalingError>(())
//! ```

#![warn(unreachable_pub)]

mod bias;
mod meta;
mod positions;
mod quantise;
mod seen;
pub mod synthetic;
mod tensor;
mod traces;
mod visible;

// Tensors in files.
pub use bias::Bias;
pub use tensor::{
    Attention, First, Layer, Origins, Size, TensorError, TensorPlace, TensorProblem, npy_bytes, read_mask,
    write_npy,
};
// Folders of heads.
pub use meta::MetaError;
pub use traces::{Trace, TraceEntry, TraceError, list_dir, load_dir, load_dir_as};
// Positions of queries among the keys, and the keys that each sees.
pub use positions::{CausalAlign, Position, Positions};
pub use seen::Seen;
pub use visible::{AskedVisible, Visible};
// Powers of two that fit a tensor into a format.
pub use quantise::{Scaling, ScalingError, ScoreScale, TensorScale, choose_scaling, v_candidates};
// Rounding to encodings.
pub use quantise::{
    Channels, FormatRounding, Quantised, Quantiser, Rounded, RowEncoding, ScaleRule, channel_limit, quantise,
    round_to, round_value, row_encodings,
};

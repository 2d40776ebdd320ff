//! Attention workloads: where Q, K and V come from, and how a host prepares them for a core.
//!
//! The flow, in the order of the modules:
//!
//! * [`tensor`] reads Q, K and V from `.npy`, `.npz` and `.safetensors` files ([`Attention`]), with errors that
//!   say what is wrong and what would be right;
//! * [`traces`] lists and loads a folder of attention heads ([`Trace`]);
//! * [`visible`] says where queries stand among the keys, and which keys each sees ([`Visible`]);
//! * [`synthetic`] makes seeded streams: realistic ones, worst cases and corner cases;
//! * [`quantise`](mod@quantise) picks the powers of two that fit a tensor into a number format ([`Scaling`]) and
//!   rounds it to the encodings that a core takes ([`Quantised`]).

pub mod quantise;
pub mod synthetic;
pub mod tensor;
pub mod traces;
pub mod visible;

pub use quantise::{
    Quantised, Scaling, ScalingError, ScoreScale, TensorScale, choose_scaling, quantise, round_to,
    v_candidates,
};
pub use tensor::{Attention, Layer, TensorError, npy_bytes, write_npy};
pub use traces::{Trace, load_dir};
pub use visible::{CausalAlign, Position, Positions, Visible};

//! Q, K and V as float32, from files.
//!
//! [`Attention::from_npy`] reads three `.npy` files, [`Attention::from_bundle`] one `.npz` or `.safetensors`
//! file with entries q, k and v. Float16, float64, bfloat16 and fp8 are converted; either byte order
//! and either array order is read. Shapes are checked to agree, and every element that some query sees to be finite.
//! [`Layer`] is all heads of a layer, stacked.

mod attention;
mod bundle;
mod element;
mod error;
mod layer;
mod mask;
mod npy;
mod read;
mod rows;
mod stream;

pub use attention::{Attention, Origins, Size};
pub use error::{TensorError, TensorPlace, TensorProblem};
pub use layer::Layer;
pub(crate) use layer::added;
pub use mask::read_mask;
pub use npy::{npy_bytes, write_npy};
pub use read::First;
pub(crate) use rows::max_abs;

//! FlashAttention-2: the scalar path and the lane of each variant, and their common units.
//!
//! | variant | scalar path | lane |
//! | --- | --- | --- |
//! | separate scale | `softmax` | `separate_lane` |
//! | shared scale | `shared_softmax` | `shared_lane` |
//! | log-reference | `log_reference` | `fixed_lane` |
//! | shared log-reference | `shared_log_reference` | `shared_fixed_lane` |
//! | ranged | `octave_reference` | `ranged_lane` |
//! | literal | `literal_softmax` | `literal_lane` |

pub mod fixed_lane;
pub mod literal_lane;
pub mod literal_softmax;
pub mod log_reference;
pub mod octave_reference;
pub mod ranged_lane;
pub mod reference;
pub mod scalars;
pub mod separate_lane;
pub mod shared_fixed_lane;
pub mod shared_lane;
pub mod shared_log_reference;
pub mod shared_softmax;
pub mod softmax;
pub mod widths;

//! Golden models of attention: the algorithms in f64, and a bit-exact model of the hardware cores.
//!
//! [`Model`] computes the results of a core, bit for bit, from float operations of the machine rounded to the core's formats and from
//! integers. It shares only data (formats, widths, table coefficients) with the hardware description, so comparing the two checks the
//! arithmetic of both. [`VectorModel`] has the same bits at the speed of whole workloads. Both take a [`Head`].
//!
//! ```
//! use flashd_golden::{Action, Head, Model, decode, encode};
//! use flashd_spec::config::{CoreConfig, Design};
//! use flashd_spec::format::Format;
//!
//! let format = Format::BF16;
//! let bits = |x: [f64; 4]| x.map(|x| encode(format, x));
//! // Two keys with the same score: the result is the mean of their values.
//! let [q, k, v] = [[1.0, 0.0, 0.0, 0.0], [2.0; 4], [1.0, 2.0, 3.0, 4.0]].map(bits);
//! let model = Model::new(&CoreConfig::new(Design::FlashD, 2, format));
//! let results = model.run(Head::new(&q, &k, &v, &[1, 2]).with_steps());
//! let values = |o: &[u64]| o.iter().map(|&o| decode(format, o)).collect::<Vec<f64>>();
//! assert_eq!(values(&results[0].o), [1.0, 2.0]);
//! assert_eq!(values(&results[1].o), [2.0, 3.0]);
//! assert_eq!(results[1].steps[1].action, Action::Update);
//! ```

#![warn(unreachable_pub)]

mod base2;
mod bias;
mod block;
mod carrier;
mod dot;
mod head;
mod lanes;
mod merge;
mod model;
mod operand;
mod parallel;
mod recurrence;
mod result;
mod round;
mod rows;
mod run;
mod scalar;
mod scalar_path;
mod scaled;
mod single;
mod softcap;
mod state;
mod steps;
mod vector;

// Attention in f64: safe softmax, FlashAttention-2 and FLASH-D from q, k and v; and every form that is in use, with counters of
// operations and memory accesses.
pub mod f64_attention;
pub mod family;

// Inputs and results of a run.
pub use head::{Biases, Head, Masked};
pub use operand::{OperandVectors, VectorSource};
pub use result::{Action, PartialState, QueryResult, Step, Take};
// The bit-exact model of a core, and of what merges partial results.
pub use merge::Merge;
pub use model::Model;
// One step at a time.
pub use steps::{StepError, Stepper};
// The same for whole workloads.
pub use vector::{Isa, Monitor, Path, StepCounts, StepUnits, VectorModel, VectorRun, Watch};
// The plain loop in f32 that its speed is measured against.
pub use vector::plain_attention;
// Encodings and their values.
pub use round::{decode, encode, v_exponent};
pub use rows::{exponent_of_values, values_exponent};

// For tests of single parts: units as functions on encodings, single lanes, parts of the models, slower carriers.
pub use carrier::Carriers;
pub mod parts;
pub use single::{fa2_fixed_lane, fixed_value, flash_d_fixed_lane, flash_d_lane, flash_d_ranged_lane};
pub mod units;

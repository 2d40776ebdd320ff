//! Parts of the models for tests. Running a model needs none of them.

pub use crate::base2::{Base2, Factor, round_half_up};
pub use crate::carrier::{Carrier, Integer};
pub use crate::model::{fits_f32, largest_finite};
pub use crate::recurrence::spent_after;
pub use crate::scalar::{ReducedArgument, lookup};
pub use crate::vector::{Blending, Convert, Decoder, Extent, FactorTable, Lookup, Survey, convert_all};

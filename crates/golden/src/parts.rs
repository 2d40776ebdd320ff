//! What the models are made of, as far as tests look at it alone. None of it is needed to run a model.

pub use crate::base2::{Base2, Factor, round_half_up};
pub use crate::carrier::{Carrier, Integer};
pub use crate::model::{fits_f32, largest_finite};
pub use crate::recurrence::spent_after;
pub use crate::scalar::{Reduced, lookup};
pub use crate::vector::{Blending, Convert, Decoder, Extent, Factors, Lookup, Survey, convert_all};

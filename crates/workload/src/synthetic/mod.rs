//! Seeded synthetic streams: a realistic head, prescribed scores, corner cases and worst cases.
//!
//! The same seed gives the same tensors on every machine, bit for bit.

mod adversarial;
mod corners;
mod head;
mod long;
mod scores;
mod source;

pub use adversarial::{ADVERSARIAL, adversarial, adversarial_stream};
pub use corners::{corner_cases, interesting};
pub use head::{attention_like, with_outlier_channels};
pub use long::{ScoreKind, ValueKind, long_context};
pub use scores::{equal_scores, long_holds, odd_means, saturating_scores, score_jumps};

//! Merges of partial results: P cores each meet a part of the keys, and a tree joins their partial results.
//!
//! ```text
//!  FLASH-D   w = sigmoid(L_b - L_a)     o = o_a + w (o_b - o_a)      L = max(L_a, L_b) + log2(1 + 2^-|L_b - L_a|)
//!  FA2       e = 2^-|m_b - m_a|         o = o_a e + o_b, l = l_a e + l_b, m = m_b   if m_b > m_a, else the other way round
//! ```
//!
//! A merge uses the units of a core, as wide as the state: `ExpArgumentFunction`, `Log2p1TailFunction`,
//! `SigmoidWeightFunction` and the lane's update. The log-sum-exp of part b replaces the score, and its accumulator
//! replaces the value. FA2's equations have two exponentials and two multiplications. As in FA2's cores one of both
//! factors is always 1, so one exponential and one multiplier a lane are enough.
//!
//! If one part is empty, the other one passes through, bit for bit.
//!
//! | file | what |
//! | --- | --- |
//! | `scalars` | a partial result as wires, ports of its scalars, and the unit that merges them |
//! | `weight` | FLASH-D's unit that merges scalars |
//! | `fa2` | FA2's unit that merges scalars |
//! | `lane` | one element of o, and the kinds of merges |
//! | `node` | a merge: scalars and lanes |
//! | `result` | from the last merge to the format |
//! | `tree` | cores and a tree of merges |

pub mod fa2;
pub mod lane;
pub mod node;
pub mod result;
pub mod scalars;
mod tree;
pub mod weight;

pub use flashd_spec::numerics::merge_numerics;
pub use tree::build;

use crate::attention::lane::LaneFormats;
use flashd_spec::numerics::Numerics;

/// The formats of a merge's float lanes: values are as wide as accumulators. `inner` is the format of differences and
/// products.
pub fn merge_formats(n: &Numerics, inner: flashd_spec::format::Format) -> LaneFormats {
    LaneFormats { value: n.accumulator, ..LaneFormats::new(n, inner) }
}

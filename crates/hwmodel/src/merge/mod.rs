//! Merging of partial results: what P cores have made of P parts of the keys becomes one result.
//!
//! ```text
//!  FLASH-D   w = sigmoid(L_b - L_a)     o = o_a + w (o_b - o_a)      L = max(L_a, L_b) + log2(1 + 2^-|L_b - L_a|)
//!  FA2       e = 2^-|m_b - m_a|         o = o_a e + o_b, l = l_a e + l_b, m = m_b   if m_b > m_a, else the other way round
//! ```
//!
//! A merge is to the units of a core what a key is: the score is the other part's log-sum-exp, the value its accumulator. So
//! the units are those of the core, made for the state's width: `ExpArgument`, `Log2p1Tail`, `SigmoidWeight` and the lane's
//! update. FA2 needs two exponentials and two multipliers as the equations are written; as in its cores one of both factors is
//! always 1, so that one exponential and a multiplier a lane do.
//!
//! The identity is an empty part: the other one passes through, bit for bit.
//!
//! | file | what |
//! | --- | --- |
//! | `config` | what a user chooses: a core and the number of parts |
//! | `weight` | FLASH-D's scalars of a merge |
//! | `fa2` | FA2's |
//! | `lane` | one element of o |
//! | `node` | a merge: scalars and lanes |
//! | `result` | from the last merge to the format |
//! | `split` | cores and a tree of merges |
//! | `kinds` | the same of each kind of core |

mod config;
pub mod fa2;
mod kinds;
pub mod lane;
mod node;
pub mod result;
mod split;
pub mod weight;

pub use config::{MERGE_CYCLES, PARTS_RANGE, SplitConfig};
pub use kinds::build;

use crate::config::LaneBits;
use crate::cores::Inside;
use crate::cores::lane::LaneFormats;
use crate::numerics::{Numerics, difference_format};
use crate::rtl::{Block, Bus, In, Out};
use crate::{function, unit};

/// The ports of cores and a tree of merges, by the names of the contract. Vectors of all parts stand one after another.
#[allow(missing_docs)]
pub struct SplitPorts<'a> {
    pub clk: &'a mut Bus<In>,
    pub rst: &'a mut Bus<In>,
    pub q: &'a mut [Bus<In>],
    pub q_valid: &'a mut Bus<In>,
    /// Of fixed-point lanes only.
    pub v_exponent: Option<&'a mut Bus<In>>,
    pub k: &'a mut [Bus<In>],
    pub k_valid: &'a mut Bus<In>,
    pub k_last: &'a mut Bus<In>,
    /// One bit a part.
    pub k_mask: &'a mut [Bus<In>],
    pub v_step: &'a Bus<Out>,
    /// One bit a part.
    pub v_ren: &'a [Bus<Out>],
    pub v: &'a mut [Bus<In>],
    pub o: &'a [Bus<Out>],
    pub o_valid: &'a Bus<Out>,
    pub o_invalid: &'a Bus<Out>,
    pub o_empty: &'a Bus<Out>,
    /// Of fixed-point lanes only.
    pub o_overflow: Option<&'a Bus<Out>>,
    /// The merged state, as a core hands it out.
    pub o_scalars: Vec<&'a Bus<Out>>,
    pub o_state: &'a [Bus<Out>],
}

/// Cores and a tree of merges as the simulator sees them.
pub trait SplitCore: Block + Send {
    /// The ports.
    fn ports(&mut self) -> SplitPorts<'_>;
    /// What is compared inside the core of each part, in the settled cycle.
    fn inside(&self) -> Vec<Vec<Inside>>;
}

/// The numbers of a merge: its scores are states, and its values accumulators.
pub fn merge_numerics(n: &Numerics) -> Numerics {
    Numerics {
        score_integer: n.score_integer + 1,
        score_fraction: n.state_fraction,
        hold_threshold: None,
        budget: None,
        value: n.accumulator,
        difference: difference_format(n.accumulator, n.weight, n.accumulator),
        lane: n.lane.map(|lane| LaneBits { v: lane.o, ..lane }),
        ..n.clone()
    }
}

/// The formats of a merge's float lanes.
pub fn merge_formats(n: &Numerics, inner: crate::format::Format) -> LaneFormats {
    LaneFormats { value: n.accumulator, ..LaneFormats::new(n, inner) }
}

function! {
    /// Constant zero.
    pub struct ZeroFunction { width: u32 }
    name(this) = format!("zero_{}", this.width);
    doc = "y = 0.";
    inputs {}
    outputs { y: this.width }
    eval<W> { [W::zero(this.width)] }
}
unit! {
    /// Constant zero, for a port that is not used.
    pub struct Zero(ZeroFunction) {} -> { y }
}

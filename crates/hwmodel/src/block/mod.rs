//! Blocks of queries: B cores that share one key and one value stream.
//!
//! ```text
//!  q --> shadow 0 .. B-1 --> core 0 .. B-1 --> o of core 0 ----------------------> o
//!             ^ start            ^ k, v     --> o of cores 1 .. B-1, kept or held --^ one after another
//!          control: ready, load, start, keys
//! ```
//!
//! Queries enter one after another into shadow registers, and the cores' own query registers take them all in the
//! cycle of the previous block's last key, at the earliest. A key goes to all cores that have a query. All of them
//! end in the same cycle; then the result of core 0 is on the port at once, and the others follow, one a cycle.
//!
//! | file | what |
//! | --- | --- |
//! | `config` | what a user chooses; cycles of a block |
//! | `control` | the two handshakes, and who has a query |
//! | `shadow` | the queries of the next block |
//! | `results` | results that wait for the port |
//! | `pick` | results that the cores hold |
//! | `window` | with masks: which keys each query sees |
//! | `array` | the array around a core |
//! | `kinds` | the array of each kind of core |

mod array;
mod config;
pub mod control;
pub mod kinds;
pub mod pick;
pub mod results;
pub mod shadow;
pub mod window;

pub use config::{BlockConfig, DEFAULT_KEY_INDEX_BITS, KEY_INDEX_BITS_RANGE, QUERIES_RANGE, TRANSFER_CYCLES};
pub use kinds::build;

use crate::cores::Inside;
use crate::rtl::{Block, Bus, In, Out};
use crate::{function, unit};

/// The ports of an array, by the names of the contract.
#[allow(missing_docs)]
pub struct ArrayPorts<'a> {
    pub clk: &'a mut Bus<In>,
    pub rst: &'a mut Bus<In>,
    pub q: &'a mut [Bus<In>],
    pub q_valid: &'a mut Bus<In>,
    pub q_last: &'a mut Bus<In>,
    pub q_ready: &'a Bus<Out>,
    /// With masks only.
    pub q_from: Option<&'a mut Bus<In>>,
    /// With masks only.
    pub q_to: Option<&'a mut Bus<In>>,
    /// Of fixed-point lanes only.
    pub v_exponent: Option<&'a mut Bus<In>>,
    pub k: &'a mut [Bus<In>],
    pub k_valid: &'a mut Bus<In>,
    pub k_last: &'a mut Bus<In>,
    pub k_ready: &'a Bus<Out>,
    /// With masks only.
    pub k_mask: Option<&'a mut Bus<In>>,
    pub v_step: &'a Bus<Out>,
    pub v_ren: &'a Bus<Out>,
    pub v: &'a mut [Bus<In>],
    pub o: &'a [Bus<Out>],
    pub o_valid: &'a Bus<Out>,
    pub o_index: &'a Bus<Out>,
    pub o_last: &'a Bus<Out>,
    pub o_invalid: &'a Bus<Out>,
    /// With masks only.
    pub o_empty: Option<&'a Bus<Out>>,
    /// Of fixed-point lanes only.
    pub o_overflow: Option<&'a Bus<Out>>,
}

/// An array as the simulator sees it.
pub trait QueryArray: Block + Send {
    /// The ports.
    fn ports(&mut self) -> ArrayPorts<'_>;
    /// What is compared inside each core, in the settled cycle.
    fn inside(&self) -> Vec<Vec<Inside>>;
}

function! {
    /// Constant zero.
    pub struct LowFunction {}
    name(this) = "low";
    doc = "y = 0.";
    inputs {}
    outputs { y: 1 }
    eval<W> { [W::zero(1)] }
}
unit! {
    /// Constant zero, for an input behind which there is nothing.
    pub struct Low(LowFunction) {} -> { y }
}

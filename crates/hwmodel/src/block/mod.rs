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
//! | `array` | the array around each of the cores |

mod array;
mod config;
pub mod control;
pub mod pick;
pub mod results;
pub mod shadow;

pub use array::build;
pub use config::{BlockConfig, QUERIES_RANGE, TRANSFER_CYCLES};

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
    /// Of fixed-point lanes only.
    pub v_exponent: Option<&'a mut Bus<In>>,
    pub k: &'a mut [Bus<In>],
    pub k_valid: &'a mut Bus<In>,
    pub k_last: &'a mut Bus<In>,
    pub k_ready: &'a Bus<Out>,
    pub v_step: &'a Bus<Out>,
    pub v_ren: &'a Bus<Out>,
    pub v: &'a mut [Bus<In>],
    pub o: &'a [Bus<Out>],
    pub o_valid: &'a Bus<Out>,
    pub o_index: &'a Bus<Out>,
    pub o_last: &'a Bus<Out>,
    pub o_invalid: &'a Bus<Out>,
    /// Of fixed-point lanes only.
    pub o_overflow: Option<&'a Bus<Out>>,
}

/// An array as the simulator sees it.
pub trait QueryArray: Block + Send {
    /// The ports.
    fn ports(&mut self) -> ArrayPorts<'_>;
}

function! {
    /// Constant zero.
    pub struct LowFunction {}
    name(this) = "low";
    doc = "y = 0.";
    inputs {}
    outputs { 1 }
    eval<W> { [W::zero(1)] }
}
unit! {
    /// Constant zero, for an input behind which there is nothing.
    pub struct Low(LowFunction) {} -> { y }
}

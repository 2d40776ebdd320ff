//! Arrays: B cores that share one key and one value stream, for a block of B queries.
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
//! | `top` | the array: everything below around cores of any kind |
//! | `control` | the two handshakes, and who has a query |
//! | `shadow` | the queries of the next block |
//! | `results` | results that wait for the port |
//! | `pick` | results that the cores hold |
//! | `window` | with masks: which keys each query sees |
//! | `flag_tree` | flags of all cores together |

pub mod control;
pub mod flag_tree;
pub mod pick;
pub mod results;
pub mod shadow;
mod top;
pub mod window;

pub use top::{ArrayInputs, ArrayOutputs, array, build};

use crate::function;

function! {
    /// Constant zero, for an input behind which there is nothing.
    pub struct LowFunction {}
    name(this) = "low";
    doc = "y = 0.";
    inputs {}
    outputs { y: 1 }
    eval<W> { [W::zero(1)] }
}

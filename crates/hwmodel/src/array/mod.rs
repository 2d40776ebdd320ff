//! Arrays: B cores that share one key and one value stream, for a block of B queries.
//!
//! ```text
//!  q --> shadow 0 .. B-1 --> core 0 .. B-1 --> o of core 0 ----------------------> o
//!             ^ start            ^ k, v     --> o of cores 1 .. B-1, kept or held --^ one after another
//!          control: ready, load, start, keys
//! ```
//!
//! Queries enter the shadow registers one after another. The query registers of the cores load them all at once, in the
//! cycle of the previous block's last key at the earliest. A key goes to all cores that have a query. All of them end
//! in the same cycle: the result of core 0 is on the port at once, and the others follow, one a cycle.
//!
//! | file | what |
//! | --- | --- |
//! | `top`, `ports` | the array: cores of any kind, and everything below around them; its ports |
//! | `cores` | the cores, and the front of the queue of their results |
//! | `control` | the handshakes of queries and keys, and which cores have a query |
//! | `shadow` | the queries of the next block |
//! | `results` | the queue of results that wait for the port |
//! | `pick` | the choice among results that the cores hold |
//! | `port` | results that are made at the port |
//! | `interleaved`, `turns` | cores whose queries take turns, and the handshakes of such arrays |
//! | `window` | with masks: which keys each query sees |
//! | `flag_tree` | the or of a flag of all cores |

pub mod control;
mod cores;
pub mod flag_tree;
mod interleaved;
pub mod pick;
pub mod port;
mod ports;
pub mod results;
pub mod shadow;
mod top;
pub mod turns;
pub mod window;

pub use ports::{ArrayInputs, ArrayOutputs};
pub use top::{array, build};

use crate::function;

function! {
    /// Constant zero, for an input without a source.
    pub struct LowFunction {}
    name(this) = "low";
    doc = "y = 0.";
    inputs {}
    outputs { y: 1 }
    eval<W> { [W::zero(1)] }
}

function! {
    /// The constant zero, for a port that is not used or the end of a row.
    pub struct ZeroFunction { width: u32 }
    name(this) = format!("zero_{}", this.width);
    doc = "y = 0.";
    inputs {}
    outputs { y: this.width }
    eval<W> { [W::zero(this.width)] }
}

function! {
    /// The constant one.
    pub struct HighFunction {}
    name(this) = "high";
    doc = "y = 1.";
    inputs {}
    outputs { y: 1 }
    eval<W> { [W::constant(1, 1)] }
}

function! {
    /// AND of two flags.
    pub struct BothFunction {}
    name(this) = "both";
    doc = "y = a and b.";
    inputs { a: 1, b: 1 }
    outputs { y: 1 }
    eval<W> { [a.and(&b)] }
}

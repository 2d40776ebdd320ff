//! Verilog from [`Word`](crate::word::Word) functions: records their operations as expressions and prints these as
//! named wires.

mod keywords;
mod narrow;
mod net;
mod print;
mod steps;
mod value;

pub use keywords::is_keyword;
pub use narrow::narrow;
pub use net::Net;
pub use print::{Body, range, rename, verilog_body};
pub use steps::{Operands, Operator, Step, Steps, apply};

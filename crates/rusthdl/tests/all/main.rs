//! Tests of the crate.

mod checks;
mod core;
#[allow(dead_code, reason = "its main")]
#[path = "../../examples/fifo.rs"]
mod fifo;
#[allow(dead_code, reason = "only the words at the ports are taken")]
#[path = "../../../rtl_engine/tests/all/random.rs"]
mod random;
mod same;
mod verilog;

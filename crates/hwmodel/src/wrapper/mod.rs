//! AXI4-Stream wrapper around an array of cores.
//!
//! ```text
//!  s_axis_q --> queries --> +-------+ --> results --> m_axis_o
//!  s_axis_k --> keys -----> | array | --> requests -> m_axis_vreq
//!  s_axis_v --> values ---> +-------+
//!                               ^ ce: every register of the array and of `steps`
//!  s_axil  --> host control    advance: value missing, request or result blocked
//! ```
//!
//! The array has no stall input: it reads a value a fixed number of cycles after `v_ren`. While a value is missing, or a
//! request or a result cannot leave, the wrapper freezes the whole array, by a [clock gate](crate::rtl::Module::gated) in
//! the simulation and a clock enable in Verilog. The enable depends on registers and reset alone, never on a stream's input.
//!
//! The alternative is a queue of factors and flags before each core's lanes, as deep as the value latency, so that the
//! score pipeline runs on while values come. Mapped flat with Yosys to osu018, whose flip-flops have no enable, an array of
//! two FLASH-D cores (d = 16, fp8-e4m3) takes 2.083 mm2, and 2.128 mm2 with the enable (+2.1 %; a clock gate costs almost
//! nothing). Two queues of eight 18-bit entries would take 0.064 mm2, and results would still need another place to wait.
//!
//! | file | what |
//! | --- | --- |
//! | `top`, `ports` | the wrapper and its ports |
//! | `around` | the array and all its streams, which the [unit](crate::unit) has too |
//! | `registers` | the table of registers |
//! | `host`, `lite`, `fields` | the registers, their AXI4-Lite port, the effect of a write |
//! | `vector`, `packet`, `beat` | assembling vectors from beats, rules of packets |
//! | `queries`, `keys`, `values`, `states` | the streams into the array |
//! | `requests` | the stream of value requests, with one register to wait in |
//! | `results`, `buffer` | the stream of results: splitting into beats, and a buffer of two beats |
//! | `parts` | states in memory: that of no key, and a result followed by its state |
//! | `steps` | tracks the steps in the array's pipeline |
//! | `advance` | the array's enable, and how a cycle is counted |
//! | `logic` | gates and counters that several of these use |
//!
//! The user's choices are in [`WrapperConfig`](flashd_spec::config::WrapperConfig).

pub(crate) mod advance;
pub mod around;
pub mod beat;
mod buffer;
pub(crate) mod fields;
mod host;
mod keys;
pub(crate) mod lite;
pub(crate) mod logic;
pub(crate) mod packet;
pub(crate) mod parts;
pub mod ports;
mod queries;
pub mod registers;
mod requests;
mod results;
mod states;
mod steps;
mod top;
mod values;
mod vector;

pub use beat::Shape;
pub use registers::{Access, Field, Register, RegisterName, registers};
pub use top::build;

//! AXI4-Stream wrapper of an array of cores.
//!
//! ```text
//!  s_axis_q --> queries --> +-------+ --> results --> m_axis_o
//!  s_axis_k --> keys -----> | array | --> requests -> m_axis_vreq
//!  s_axis_v --> values ---> +-------+
//!                               ^ ce: every register of the array and of `steps`
//!  s_axil  --> host control    advance: value missing, request or result blocked
//! ```
//!
//! The array has no stall input, and takes a value a fixed number of cycles after it has asked. So it is frozen as a
//! whole while a value is missing or something cannot leave: a [clock gate](crate::rtl::Module::gated) in the simulation,
//! a clock enable in Verilog. The enable depends on registers and reset alone, never on an input of a stream.
//!
//! The alternative would be a queue of factors and flags before each core's lanes, as deep as the way of a value, so
//! that scores go on while values come. Mapped flat with Yosys to the cells of osu018, which have no enable, an array of
//! two FLASH-D cores (d = 16, fp8-e4m3) has 2.083 mm2, with the enable 2.128 mm2 (2.1 % more; with a clock gate,
//! nearly nothing). Two queues of eight entries of 18 bits have 0.064 mm2, and results would have to wait elsewhere.
//!
//! | file | what |
//! | --- | --- |
//! | `top`, `ports` | the wrapper around an array, and its ports |
//! | `registers` | the table of registers |
//! | `host`, `lite`, `fields` | registers, their protocol, what a write does |
//! | `vector`, `packet`, `beat` | beats to vectors, packets |
//! | `queries`, `keys`, `values`, `states` | the streams into the array |
//! | `requests` | the stream of requests: one place to wait |
//! | `results`, `buffer` | the stream out of it: beats that follow, and a buffer of two |
//! | `steps` | steps on their way through the array |
//! | `advance` | when the array moves |
//! | `logic` | what several of these need |
//!
//! What a user chooses is [`WrapperConfig`](flashd_spec::config::WrapperConfig).

mod advance;
pub mod beat;
mod buffer;
mod fields;
mod host;
mod keys;
mod lite;
mod logic;
mod packet;
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
pub use requests::INDEX_BITS;
pub use top::build;

//! Designs as RustHDL blocks.
//!
//! | file | what |
//! | --- | --- |
//! | `pin` | a word at the border of a block: RustHDL's `Signal` with its width as data |
//! | `part` | the blocks: modules, leaves, registers, clock gates |
//! | `part/connect` | the connections inside a module, from its description, and the faults that are refused there |
//! | `part/verilog` | `hdl()` of each kind of block |
//! | `simulated` | a design in RustHDL's `Simulation`, driven cycle by cycle |
//! | `attention_core` | a core with `Signal`s as ports, for designs written in RustHDL |
//!
//! ```
//! use flashd_hwmodel::catalogue;
//! use flashd_rusthdl::Part;
//! use flashd_spec::config::{CoreConfig, Design};
//! use flashd_spec::format::Format;
//! use rust_hdl::prelude::{Block, generate_verilog};
//!
//! let circuit = catalogue::build(&CoreConfig::new(Design::FlashD, 2, Format::BF16)).expect("a valid configuration");
//! let mut core = Part::top(circuit.structure())?;
//! core.connect_all();
//! assert!(generate_verilog(&core).contains("module top(clk"));
//! # Ok::<(), flashd_rusthdl::Fault>(())
//! ```

#![warn(unreachable_pub)]

mod attention_core;
mod part;
mod pin;
mod simulated;

pub use attention_core::Core;

pub use part::{Fault, Part, verilog};
pub use pin::Pin;
pub use simulated::Simulated;

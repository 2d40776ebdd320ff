//! The compiled engine: a design of RustHDL modules as a list of word operations over vectors of equal instances.
//!
//! The leaves of a design are functions over [`Word`](flashd_hwmodel::word::Word). Here the reading of such a function as a netlist,
//! from which its Verilog is printed, is what runs: each distinct leaf is recorded once and made simpler, instances of it at the same
//! depth are the elements of vectors, and what carries the same is computed once. Nothing is compiled by another program.
//!
//! ```text
//!  Design --network.rs--> kinds of functions between nets, what is the same told once
//!         --bundles.rs--> what is equal side by side, in an order that fits its readers
//!         --plan.rs-----> places in memory, and the jobs of a cycle
//!         --native, or interpret.rs--> machine code for the jobs, or plain loops over their steps
//! ```
//!
//! ```
//! use flashd_rtl_engine::Compiled;
//! use flashd_hwmodel::catalogue::build;
//! use flashd_spec::config::{CoreConfig, Design};
//! use flashd_spec::format::Format;
//!
//! let circuit = build(&CoreConfig::new(Design::FlashD, 4, Format::BF16))?;
//! let mut core = Compiled::new(&circuit.design())?;
//! let [rst, o_valid] = ["rst", "o_valid"].map(|name| core.port(name).expect("every core has it"));
//! core.drive(rst, &[1u64]);
//! core.settle();
//! core.clock();
//! core.settle();
//! assert!(core.read(o_valid).eq([0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod bundles;
mod code;
mod engine;
mod events;
mod held;
mod interpret;
mod job;
mod layout;
mod levels;
mod memory;
#[cfg_attr(not(all(target_arch = "x86_64", unix)), path = "absent.rs")]
mod native;
mod network;
mod plan;
mod rows;

pub use batch::Batch;
pub use code::{evaluate, simplified};
pub use engine::{Backend, Compiled};
pub use native::Vectors;

/// Why a design cannot be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// Logic that depends on itself.
    #[error("a loop without a register")]
    Loop,
}

//! The compiled engine: a design as a list of word operations over vectors of equal instances.
//!
//! The leaves of a design are functions over [`Word`](flashd_hwmodel::word::Word). The engine runs their recorded netlists, from which the
//! Verilog is printed. No other program compiles anything. The passes, in their order:
//!
//! | pass | module |
//! | --- | --- |
//! | value numbering, constant folding and peephole rules in each kind of leaf; prefix adders and barrel shifters become operators | `simplify` |
//! | common-subexpression elimination between leaves and registers | `network` |
//! | scalarisation: functions of single inputs become instances | `network` |
//! | levelization, with splitting of false loops | `levelize` |
//! | packing of equal instances of a level into vectors, as in superword-level parallelism | `pack` |
//! | memory layout, with double-buffered registers | `plan` |
//! | jobs: dead-input elimination, vector reductions, hoisting of uniform parts, event masks, idle gating | `plan`, `job`, `events` |
//! | scheduling: jobs that depend on inputs last | `job` |
//! | demand-driven evaluation: jobs that only registers behind a clock gate depend on | `demand` |
//! | instruction selection, strip-mining, register allocation, assembly | `native` |
//!
//! Where no machine code can run, `interpret` executes the jobs.
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
mod demand;
mod engine;
mod events;
mod interpret;
mod job;
mod layout;
mod levelize;
mod memory;
#[cfg_attr(not(all(target_arch = "x86_64", unix)), path = "unsupported.rs")]
mod native;
mod network;
mod pack;
mod plan;
mod register;
mod simplify;
mod transpose;

pub use batch::Batch;
pub use engine::{Backend, Compiled};
pub use simplify::{evaluate, simplified};

/// Why a design cannot be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// A combinational loop.
    #[error("a loop without a register")]
    Loop,
}

//! RustHDL to Verilog-2005: one clean file per core, or one per module.
//!
//! ```text
//!  RustHDL module --elaborate--> hierarchy --kernel--> connections --emit--> distinct modules --files--> .v .json .sdc .f
//! ```
//!
//! * [`elaborate`] walks a RustHDL design with a probe and records modules, ports, instances and code.
//! * `kernel` unrolls the loops of a structural kernel and yields who drives whom.
//! * `emit` prints each distinct module once, registers as `always` blocks, buses packed.
//! * [`testbench`] prints a self-checking testbench from the layout of test vectors.
//! * [`Sources`] makes Verilog files of the modules.
//! * [`files`] adds manifest, constraints and file list, and writes them; [`axis`] does so for stream wrappers,
//!   with a description of ports and registers.

pub mod axis;
pub mod elaborate;
mod emit;
pub mod files;
pub mod fusesoc;
mod kernel;
pub mod testbench;
mod verilog;
pub mod wave_svg;

pub use axis::{AxisManifest, axis_files, axis_files_in};
pub use elaborate::elaborate;
pub use emit::{Emitted, EmittedModule, emit, references};
pub use files::{
    GeneratedFile, Manifest, block_files, block_files_in, core_files, core_files_in, split_files,
    split_files_in, unit_file, write_all,
};
pub use testbench::{inside_expressions, testbench_files, vector_file_name};
pub use verilog::Sources;

/// A design that cannot be turned into Verilog: always a mistake in the design's description.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] flashd_spec::config::ConfigError),
    /// RustHDL's own check failed (open input, logic loop, write to an input).
    #[error("{module}: RustHDL check failed: {detail}")]
    Check {
        /// The design.
        module: String,
        /// RustHDL's report.
        detail: String,
    },
    /// A kernel uses a construct that structural modules may not contain.
    #[error("{module}: kernel of a structural module may only connect signals: {detail}")]
    Kernel {
        /// The module.
        module: String,
        /// The construct.
        detail: String,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// The reason.
        source: std::io::Error,
    },
}

//! From designs to Verilog-2005: one clean file per core, or one per module.
//!
//! ```text
//!  description --emit--> distinct modules --files--> .v .json .sdc .f
//! ```
//!
//! - `emit` prints each described module once, registers as `always` blocks, buses packed.
//! - `prefix` says how names of modules begin, `company` checks that equal names of several designs are equal modules.
//! - `verilog` makes files of the modules, `files` adds manifest, constraints and file list; `axis` does so for stream wrappers, with a
//!   description of ports and registers.
//! - `testbench` prints a self-checking testbench from the layout of test vectors.
//!
//! ```
//! use flashd_generator::{Emission, GenerateError, machine_files};
//! use flashd_spec::config::{CoreConfig, Design};
//! use flashd_spec::format::Format;
//!
//! let config = CoreConfig::new(Design::FlashD, 4, Format::BF16);
//! let files = machine_files(&config, &Emission::default())?;
//! let verilog = files.iter().find(|file| file.name == format!("{}.v", config.name())).unwrap();
//! assert!(verilog.text.contains(&format!("module {}", config.name())));
//! # Ok::<(), GenerateError>(())
//! ```

#![warn(unreachable_pub)]

mod axis;
mod cocotb;
mod company;
mod emit;
mod error;
mod files;
mod fusesoc;
mod machine;
mod manifest;
mod prefix;
mod registers;
mod sva;
mod testbench;
mod unit;
mod verilog;

// A folder of files for each design; an emission says how the Verilog is cut into files, and how modules are named.
pub use company::Company;
pub use files::{unit_file, unit_file_in};
pub use machine::machine_files;
pub use prefix::{Prefix, PrefixError};
pub use verilog::{Emission, GeneratedFile, Origin, Sources, register_names};
// Emitted files, and writing them.
pub use files::write_all;
// Errors, always by a mistake in a design's description or a file that cannot be written.
pub use error::GenerateError;
// Attention units.
pub use unit::{UnitManifest, unit_descriptors, unit_registers};
// The manifests that they write.
pub use axis::{Stream, StreamSignal, WrapperManifest};
pub use files::EXTERNAL_SHARE;
pub use manifest::{Manifest, ManifestPort, ModuleEntry, PortPaths, ScalarEntry, StateEntry, port_paths};
// Testbenches that read test vectors.
pub use cocotb::{CocotbBench, cocotb_file};
pub use testbench::{inside_expressions, testbench_files, vector_file_name};

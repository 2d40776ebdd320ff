//! RustHDL building blocks: modules made by functions, and leaves made from Word functions.
//!
//! RustHDL's own `Signal<D, Bits<N>>` has its width in its type, so every width a user can configure would need its own compiled copy of
//! every module; and its `#[hdl_gen]` kernels reach parts by the names of fields and know no `if`, so that each optional port became a
//! vector of none or one and each variant a macro. Here a module is described by a function, see [`module`], and becomes a
//! [`Circuit`], a RustHDL block: it takes part in RustHDL's probes and checks, and its kernel is one of RustHDL's.
//!
//! | file | what |
//! | --- | --- |
//! | `module` | the description: ports, registers, parts, wires |
//! | `leaf` | combinational leaves: one function, read as numbers and as Verilog |
//! | `structure`, `circuit` | what was described, and the design made of it |
//! | `flatten`, `flat` | its leaves and registers between nets, and how they run |
//! | `design` | the same as data, for other engines |
//! | `probe` | the same as RustHDL sees it |
//! | `watch` | values inside that checks compare |
//! | `tag` | what a module is called |

mod circuit;
mod design;
mod flat;
mod flatten;
mod leaf;
pub mod module;
mod probe;
mod structure;
pub mod tag;
mod watch;

pub use circuit::Circuit;
pub use design::{Design, DesignPort, Instance, PortPlace, Register};
pub use leaf::{Function, Leaf, Pins, VectorFunction, VectorLeaf};
pub use module::{Module, Name, Wire};
pub use tag::{Tag, TagKind};
pub use watch::{Reading, Watched};

pub use rust_hdl::core::prelude::{Block, Probe, Verilog};

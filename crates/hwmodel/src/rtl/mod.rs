//! RustHDL building blocks: modules made by functions, and leaves made from Word functions.
//!
//! RustHDL's own `Signal<D, Bits<N>>` has its width in its type, so each width that a user can configure would need its own compiled copy
//! of each module. Its `#[hdl_gen]` kernels reach parts by field names and have no `if`, so each optional port would be a vector of
//! length 0 or 1, and each variant a macro. Here a function describes a module, see [`module`], and the result is a [`Circuit`], a RustHDL
//! block with a RustHDL kernel, which RustHDL's probes and checks can visit.
//!
//! | file | what |
//! | --- | --- |
//! | `module` | the description: ports, registers, parts, wires |
//! | `leaf` | combinational leaves: one function for numbers and for Verilog |
//! | `structure`, `circuit` | the described hierarchy, and the design made of it |
//! | `flatten`, `flat` | the design as leaves and registers between nets, and its simulation |
//! | `design` | the flat design as data, for other engines |
//! | `boundary` | the combinational paths at its ports |
//! | `loops` | the search for combinational loops |
//! | `probe` | the design as a RustHDL block |
//! | `watch` | internal values that checks compare |
//! | `signal` | the table of signals: numbers on wires, and the rows that show them |
//! | `tag` | names of modules |

mod boundary;
mod circuit;
mod design;
mod flat;
mod flatten;
mod leaf;
mod loops;
pub mod module;
mod probe;
mod signal;
pub mod structure;
pub mod tag;
mod watch;

pub use boundary::{Boundary, boundaries};
pub use circuit::Circuit;
pub use design::{Design, DesignPort, Instance, PortPlace, Register};
pub use leaf::{Function, Leaf, Pins, VectorFunction, VectorLeaf};
pub use loops::{Loop, combinational_loop};
pub use module::{Bundle, Module, Name, Pin, Wire, Wires};
pub(crate) use module::{bundle, wires};
pub use signal::{Number, Role, Row, SHOWN_ELEMENTS, Signal, Stage, readable, signed, unsigned};
pub use tag::{Tag, TagKind};
pub use watch::{Quantity, Reading, Watched};

pub use rust_hdl::core::prelude::{Block, Probe};

//! Hardware modules made by functions, and leaves made from Word functions.
//!
//! A function describes a module, see [`module`]; the result is a [`Circuit`]. Widths are data and optional ports an `if`. In RustHDL a width
//! is part of a signal's type, and an `#[hdl_gen]` kernel has no `if`; the crate `flashd-rusthdl` makes RustHDL blocks from the description.
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
//! | `visit` | the pins of parts, and a walk over all words |
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
mod retime;
mod signal;
pub mod structure;
pub mod tag;
mod visit;
mod watch;

pub use boundary::{Boundary, boundaries};
pub use circuit::Circuit;
pub use design::{Design, DesignPort, Instance, PortPlace, Register};
pub use leaf::{Function, Leaf, Pins, VectorFunction, VectorLeaf};
pub use loops::{Loop, combinational_loop};
pub use module::{Bundle, Module, Name, Pin, Wire, Wires};
pub(crate) use module::{bundle, wires};
pub use retime::Interleaving;
pub use signal::{Number, Role, Row, SHOWN_ELEMENTS, Signal, Stage, readable, signed, unsigned};
pub use tag::{Tag, TagKind};
pub use visit::{PartPin, Visitor};
pub use watch::{Quantity, Reading, Watched};

//! Hardware description of the FLASH-D and FlashAttention-2 per-query attention datapaths.
//!
//! From the bottom up:
//!
//! | module | what |
//! | --- | --- |
//! | [`word`] | the trait `Word`, over which all arithmetic is generic, and its implementation as numbers |
//! | [`netlist`] | its implementation as expressions, printed as Verilog |
//! | [`arith`] | floating- and fixed-point arithmetic over words |
//! | [`rtl`] | modules made by functions, leaves made from word functions, and the simulation engine |
//! | [`units`] | the combinational units as modules, some of which a user can emit alone |
//! | [`score`], [`flash_d`], [`fa2`] | the equations: scores, weights and states, output lanes |
//! | [`attention`] | the rest of every core: control, flags, groups of lanes, the schedule |
//! | [`catalogue`] | a row for each kind of core; [`catalogue::build`] makes a core from its configuration |
//! | [`mod@array`] | cores for a block of queries, which share keys and values |
//! | [`split`] | cores that share a query, and the tree that merges their results |
//! | [`wrapper`] | an array between AXI4 streams |
//! | [`vectors`] | the layout of test vectors of cores, arrays, splits and wrappers |
//! | [`pwl_report`] | the errors of the PWL tables and of the units built on them |
//!
//! ```
//! use flashd_hwmodel::catalogue;
//! use flashd_spec::config::{CoreConfig, Design};
//! use flashd_spec::format::Format;
//!
//! let config = CoreConfig::new(Design::Fa2, 4, Format::BF16);
//! let mut core = catalogue::build(&config)?;
//! let (elements, bits) = core.shape("o");
//! println!("{} has a result of {elements} elements of {bits} bits", config.name());
//! assert_eq!((elements, bits), (4, 16));
//! // After a cycle of reset there is no result.
//! core.set("rst", true);
//! core.settle();
//! core.clock();
//! core.settle();
//! assert!(!core.is_high("o_valid"));
//! # Ok::<(), flashd_spec::config::ConfigError>(())
//! ```

// Readers of these pages also read the source, so links to private items are useful.
#![allow(rustdoc::private_intra_doc_links, rustdoc::redundant_explicit_links)]

pub mod arith;
pub mod array;
pub mod attention;
pub mod catalogue;
pub mod fa2;
pub mod flash_d;
pub mod netlist;
pub mod pwl_report;
pub mod rtl;
pub mod score;
pub mod split;
pub mod unit;
pub mod units;
pub mod vectors;
pub mod word;
pub mod wrapper;

use flashd_spec::config::ConfigError;
use flashd_spec::machine::Machine;

/// Builds a machine as a circuit.
///
/// # Errors
/// If its configuration is not valid.
pub fn build(machine: &Machine) -> Result<rtl::Circuit, ConfigError> {
    match machine {
        Machine::Core(config) => catalogue::build(config),
        Machine::Array(config) => array::build(config),
        Machine::Split(config) => split::build(config),
        Machine::Wrapper(config) => wrapper::build(config),
        Machine::Unit(config) => unit::build(config),
    }
}

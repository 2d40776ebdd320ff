//! Hardware description of the FLASH-D and FlashAttention-2 per-query attention datapaths.
//!
//! From the bottom up:
//!
//! | module | what |
//! | --- | --- |
//! | [`word`] | words of a fixed width: the trait over which all arithmetic is written, and its reading as numbers |
//! | [`netlist`] | the other reading: expressions, printed as Verilog |
//! | [`arith`] | floating- and fixed-point arithmetic over words |
//! | [`rtl`] | modules made by functions, leaves made from word functions, and the engine that runs them |
//! | [`units`] | the combinational units as modules, those that a user can emit alone among them |
//! | [`score`], [`flash_d`], [`fa2`] | the equations: scores, weights and states, output lanes |
//! | [`attention`] | what is around them in every core: control, flags, groups of lanes, the schedule |
//! | [`catalogue`] | the kinds of cores, a row each; [`catalogue::build`] makes a core from its configuration |
//! | [`mod@array`] | cores for a block of queries, which share keys and values |
//! | [`split`] | cores that share a query, and the tree that merges their results |
//! | [`wrapper`] | an array between AXI streams |
//! | [`vectors`] | the layout of test vectors for all of these |
//! | [`pwl_report`] | the errors of the tables and of the units built on them |
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

// Docs here are for those who read the source beside them.
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
pub mod units;
pub mod vectors;
pub mod word;
pub mod wrapper;

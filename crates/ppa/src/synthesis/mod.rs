//! Mapping of emitted cores to the cells of a Liberty library.
//!
//! ```text
//!  .v --split--> modules --candidates--> mappings of each, cached --assemble, select--> Mapped
//!                             |  recipe, compressor, adders            |  buffers
//!                           Yosys                                   OpenSTA
//! ```
//!
//! Every distinct module is mapped by itself, with its submodules as black boxes, in several ways: arithmetic
//! as prefix adders, carry chains, or trees of the library's full-adder cells (`recipe.rs`), times goals from
//! area to speed. Cores that share modules map them once. A core takes one mapping for each module: first the
//! smallest, then faster ones along the paths that are too slow, as OpenSTA sees the whole (`select.rs`).

mod adders;
mod assemble;
mod buffers;
mod cache;
mod candidates;
mod clean;
mod clock_gates;
mod compressor;
mod flow;
mod library_file;
mod mapped;
mod parts;
mod recipe;
mod select;
mod split;
mod structure;
mod tools;

pub(crate) use cache::Digest;
pub(crate) use candidates::Candidate;
pub(crate) use recipe::LIBRARY;
pub(crate) use tools::{provide, work_folder};

pub use cache::Cache;
pub use clean::{KEPT_BYTES, KEPT_DAYS, Removed, SPARED_DAYS};
pub use flow::{Flow, MappedCore, Progress};
pub use library_file::{CellLibrary, library_text};
pub use mapped::{Mapped, MappedModule};
pub use parts::part;
pub use tools::Tools;

#[cfg(test)]
pub(crate) mod tests;

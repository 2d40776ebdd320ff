//! What a run measured, for people: tables, charts, an HTML page.
//!
//! ```text
//!  CoreFigures --compare--> groups measured alike, pairs, savings --tables--> text
//!   ^                                                   |   +-----charts--> SVG
//!   input: JSON of earlier runs                         +---------html----> page
//! ```

mod charts;
pub mod compare;
mod html;
mod input;
pub mod page;
pub mod tables;

pub use charts::{Measure, ReportChart, charts};
pub use html::{Commands, html};
pub use input::{join, read};

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

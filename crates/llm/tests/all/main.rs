//! The language model.
//!
//! One executable for all files: it is linked once, and its tests share the processors.

mod common;
mod files;
mod models;
mod runner;

//! The command line as its users meet it.
//!
//! One executable for all files: it is linked once, and its tests share the processors.

mod accuracy;
mod cli;
mod common;
mod documents;
mod engine;
mod explore;
mod hostile;
mod inputs;
mod llm;
mod positions;
mod ppa;
mod random;
mod skips;
mod testbench;
mod traffic;

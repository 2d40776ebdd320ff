//! The command line as its users meet it.
//!
//! One executable for all files: it is linked once, and its tests share the processors.

mod accuracy;
mod bias;
mod cli;
mod common;
mod cosim_build;
mod documents;
mod engine;
mod equations;
mod explore;
mod faults;
mod golden;
mod help;
mod hostile;
mod inputs;
mod interrupt;
mod liberty;
mod llm;
mod memory;
mod names;
mod npy;
mod numbers;
mod options;
mod other_design;
mod outputs;
mod pairs;
mod positions;
mod ppa;
mod range;
mod reports;
mod resume;
mod rusthdl;
mod size;
mod skips;
mod smooth;
mod sweep;
mod testbench;
mod traced;
mod traffic;
mod unit;
mod unseen;
mod wrapper;

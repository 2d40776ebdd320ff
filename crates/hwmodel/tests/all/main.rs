//! The hardware description: configurations, widths and tables, arithmetic on words, and what is made of them.
//!
//! One executable for all files: it is linked once, and its tests share the processors.

mod arrays;
mod bias;
mod clock_gate;
mod config;
mod formats;
mod netlist;
mod normalise;
mod numerics;
mod partial;
mod prefix;
mod schedule;
mod softcap;
mod structure;
mod tables;
mod vectors;
mod words;

//! Tests of the hardware description: configurations, widths and tables, arithmetic on words, and units and cores.
//!
//! All files are one executable: it is linked once, and its tests share the processors.

mod arrays;
mod bias;
mod clock_gate;
mod config;
mod float_results;
mod formats;
mod integer_results;
mod interleaved;
mod netlist;
mod normalise;
mod numerics;
mod partial;
mod ports;
mod prefix;
mod schedule;
mod signals;
mod softcap;
mod structure;
mod tables;
mod terms;
mod unit_host;
mod vectors;
mod words;

//! Cores, arrays, split keys and wrappers, cycle by cycle.
//!
//! One executable for all files: it is linked once, and its tests share the processors.

mod array;
mod array_masks;
mod array_partial;
mod axi;
mod bias;
mod hostile;
mod integers;
mod lockstep;
mod masks;
mod partial;
mod pipeline;
mod random;
mod real;
mod scales;
mod selftest;
mod shared_log;
mod softcap;
mod split;
mod throughput;
mod unit;
mod unit_registers;
mod unit_states;
mod unit_traffic;
mod units;
mod value_latency;
mod wave;
mod wrapper;
mod wrapper_registers;
mod wrapper_states;

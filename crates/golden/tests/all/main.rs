//! Tests of the bit-exact model and of the family of algorithms.
//!
//! All files are one executable: it is linked once, and its tests share the processors.

mod accuracy;
mod algorithms;
mod base2;
mod budget;
mod budget_growth;
mod carrier;
mod carrier_choice;
mod common;
mod contract;
mod cores;
mod equations;
mod family;
mod family_counts;
mod fixed;
mod hold;
mod large_scores;
mod merge;
mod pieces;
mod properties;
mod query_scale;
mod ranged;
mod rounding;
mod shared_log;
mod speed;
mod states;
mod units;
mod update;
mod vector;

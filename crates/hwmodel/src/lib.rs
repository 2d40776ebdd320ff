//! Hardware description of the FLASH-D and FlashAttention-2 per-query attention datapaths.

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

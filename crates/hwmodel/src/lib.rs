//! Hardware description of the FLASH-D and FlashAttention-2 per-query attention datapaths.

pub mod config;
pub mod format;
pub mod numerics;
pub mod pwl;

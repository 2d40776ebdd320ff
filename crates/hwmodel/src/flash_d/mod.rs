//! FLASH-D: weight units and output updates.

pub mod fixed_lane;
pub mod hold_budget;

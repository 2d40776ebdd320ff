//! The parts of every core apart from score unit, scalar path and lanes: control, flags, groups of lanes, and the core
//! itself.

pub mod any_flag;
pub mod control;
pub mod core;
pub mod delay;
pub mod factor;
pub mod flags;
pub mod group;
pub mod inside;
pub mod lane;
pub mod masks;
pub mod partial;
pub mod port_result;
pub mod ports;
pub mod results;
pub mod scalar_path;
pub mod schedule;

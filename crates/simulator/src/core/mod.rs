//! A core in lock-step with the model. [`array`](crate::array), [`split`](crate::split) and [`wrapper`](crate::wrapper) have the same
//! files for the same roles:
//!
//! | file | what |
//! | --- | --- |
//! | `engine` | the RustHDL circuit, driven cycle by cycle |
//! | `vectors` | keys and values, stored or made on demand |
//! | `workload` | what goes in, and what each query sees of it |
//! | `stream` | the same as port activity |
//! | `rules` | when ports may move, told in cycle numbers |
//! | `lockstep` | the comparison of every port in every cycle |
//! | `model` | results and counts without the circuit |

pub(crate) mod engine;
pub(crate) mod lockstep;
pub(crate) mod model;
pub(crate) mod rules;
pub(crate) mod stream;
pub(crate) mod vectors;
pub(crate) mod workload;

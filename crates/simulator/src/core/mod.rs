//! A core in lock-step with the model. [`array`](crate::array) and [`split`](crate::split) have the same files:
//!
//! | file | contents |
//! | --- | --- |
//! | `vectors` | keys and values, stored or made on demand |
//! | `workload` | queries, and the keys that each sees |
//! | `stimulus` | the inputs of a cycle |
//! | `protocol` | the outputs that are due, and the counts |
//! | `run` | runs of the hardware in lock-step with the model, and of the model alone |

pub(crate) mod protocol;
pub(crate) mod run;
pub(crate) mod stimulus;
pub(crate) mod vectors;
pub(crate) mod workload;

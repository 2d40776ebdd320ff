//! The attention unit: an array that fetches queries, keys and values from a memory and writes the results back.
//!
//! ```text
//!                 +--------------- job, check, segments ----------------+
//!  s_axil --> host|  rows of queries --> +-----------------+            |
//!                 |  rows of keys -----> | array and its   | --> writer |--> m_axi
//!  m_axi -------> |  rows of values ---> | streams         |            |
//!                 +-----------------------------------------------------+
//! ```
//!
//! Each kind of rows is read by its own identifier, into a queue that has room for every beat that is requested. So the memory never waits
//! for the unit, and no kind waits for another.
//!
//! | file | contents |
//! | --- | --- |
//! | `top`, `ports` | the unit and its ports |
//! | `host`, `registers`, `rules`, `counters`, `capabilities` | registers of the host, fields of the job |
//! | `job`, `check`, `ends`, `descriptors` | the states of a job, its check, descriptors and block tables |
//! | `places`, `sequence`, `segments`, `sight` | the order of queries, the rows of keys and values, the keys that a query sees |
//! | `streams`, `operands`, `rows`, `bursts`, `align`, `requests` | reading rows |
//! | `buffer` | rows that stay on chip |
//! | `values` | the addresses of values that are asked for |
//! | `results`, `lse`, `writer` | rows of results, states and log-sum-exps |
//! | `fifo`, `memory` | queues in memories |

mod align;
mod buffer;
mod bursts;
mod capabilities;
mod check;
pub mod counters;
mod descriptors;
mod ends;
mod fields;
mod fifo;
pub mod host;
mod job;
pub mod lse;
pub mod memory;
mod operands;
mod places;
mod ports;
pub mod registers;
mod requests;
mod results;
mod rows;
mod rules;
mod segments;
mod sequence;
mod sight;
mod streams;
mod top;
mod values;
mod writer;

pub use ports::ID_BITS;
pub use top::build;

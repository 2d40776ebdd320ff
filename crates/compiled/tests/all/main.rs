//! Everything that is tested about compiled designs, in one program.

mod beside;
mod faults;
mod random;
mod same;

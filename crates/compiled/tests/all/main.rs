//! Everything that is tested about compiled designs, in one program.

mod faults;
mod random;
mod same;

//! Everything that is tested about compiled designs, in one program.

mod random;
mod same;

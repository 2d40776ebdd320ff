//! Everything that is tested about compiled designs, in one program.

mod beside;
mod drawn;
mod faults;
mod prefix;
mod random;
mod same;
mod shift;

//! Everything that is tested about compiled designs, in one program.

mod barrel_shifter;
mod batch;
mod drawn;
mod faults;
mod prefix_adder;
mod random;
mod same;

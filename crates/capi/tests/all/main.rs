//! The C library: its header, and calls across the boundary.

mod border;
mod header;

//! The C library: its header, and what passes the border.

mod border;
mod header;

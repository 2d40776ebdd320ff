//! stub
pub mod special;

//! The operations, one module per chapter of the standard.

pub mod elementwise;

pub use elementwise::*;

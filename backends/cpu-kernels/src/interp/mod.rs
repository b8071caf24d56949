//! The block interpreter of programs.

mod apply;
mod cast;
pub(crate) mod grid;
pub(crate) mod half;
pub(crate) mod lanes;
pub(crate) mod machine;
pub(crate) mod scratch;
pub(crate) mod small;
pub(crate) mod tile;

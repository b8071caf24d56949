//! rustarr-cpu-kernels

pub mod cores;
pub mod fork;
pub mod maths;
pub mod memory;
pub mod par;
pub mod pool;

pub mod compact;
pub mod gather;
pub mod matmul;
mod nest;
mod order;
pub mod random;
pub mod search;
pub mod sort;

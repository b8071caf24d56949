//! rustarr-cpu-kernels

pub mod cores;
pub mod fork;
pub mod memory;
pub mod par;
pub mod pool;

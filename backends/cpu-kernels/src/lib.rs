//! rustarr-cpu-kernels

pub mod maths;

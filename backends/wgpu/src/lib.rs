//! The wgpu backend: recorded programs become WGSL compute shaders.

mod adapter;
mod device;
mod fault;
mod pool;

pub use adapter::{ALLOW_SOFTWARE_ENV, AdapterReport, Choice, Native, adapters};
pub use device::Gpu;
pub use fault::Fault;
pub use pool::{Block, Pool, Usage};

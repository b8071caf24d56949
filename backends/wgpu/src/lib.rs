//! The wgpu backend: recorded programs become WGSL compute shaders.
//!
//! * `adapter`, `device`, `pool`: what machines have, one opened device, its memory;
//! * `signature`, `render`: what a pipeline is compiled for, and its WGSL;
//! * `plan`, `launch`, `fold`, `random`: domains cut to the device's limits, dispatches,
//!   reductions, random numbers;
//! * `backend`: the verbs.

mod adapter;
mod backend;
mod device;
mod disk;
mod fault;
mod fold;
mod launch;
mod plan;
mod pool;
mod random;
mod render;
mod signature;

pub use adapter::{ALLOW_SOFTWARE_ENV, AdapterReport, Choice, Native, adapters};
pub use backend::WgpuBackend;
pub use device::Gpu;
pub use fault::Fault;
pub use pool::{Block, Pool, Usage};

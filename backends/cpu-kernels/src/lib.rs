//! The kernels of the CPU backends.
//!
//! Every kernel takes its parallelism as an argument ([`par::Par`]), and none gives other bits for another number of
//! threads.

pub mod cores;
pub mod fork;
mod interp;
mod map;
pub mod maths;
pub mod memory;
pub mod par;
pub mod pool;
mod reduce;
mod scan;
mod tasks;

pub use map::map;
pub use reduce::reduce;
pub use scan::scan;

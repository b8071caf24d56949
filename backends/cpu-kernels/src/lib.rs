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

mod compact;
mod gather;
mod matmul;
mod nest;
mod order;
mod random;
mod search;
mod sort;

pub use map::map;
pub use reduce::reduce;
pub use scan::scan;

pub use compact::compact;
pub use gather::{gather, scatter};
pub use matmul::matmul;
pub use random::random;
pub use search::search;
pub use sort::sort;

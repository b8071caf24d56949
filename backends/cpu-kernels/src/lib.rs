//! The kernels of the CPU backends, and [`Host`], the backend made of them.
//!
//! Every kernel takes its parallelism as an argument ([`par::Par`]), and none gives other bits for another number of
//! threads.

pub mod cores;
pub use rustarr_interface::fork;
pub mod maths;
pub mod memory;
pub mod par;
pub mod pool;

mod compact;
mod fft;
mod gather;
mod host;
mod interp;
mod linalg;
mod map;
mod matmul;
mod nest;
mod order;
mod random;
mod reduce;
mod scan;
mod search;
mod sort;
mod tasks;

pub use compact::compact;
pub use fft::fft;
pub use gather::{gather, scatter};
pub use host::{GRAIN, Host};
pub use linalg::linalg;
pub use map::map;
pub use matmul::matmul;
pub use random::random;
pub use reduce::reduce;
pub use scan::scan;
pub use search::search;
pub use sort::sort;

//! The operations, one module per chapter of the standard.
//!
//! Every function is a composition of recorded elementwise work, views, reductions and the verbs.

pub(crate) mod args;
mod compare;
mod creation;
mod decompose;
pub mod elementwise;
pub mod fft;
pub mod linalg;
mod manipulation;
pub mod random;
mod reduce;
mod scan;
mod search;
mod sort;

pub use args::shape;
pub(crate) use compare::truth;
pub use compare::{allclose, array_equal, clip, isclose};
pub use creation::*;
pub use elementwise::*;
pub use linalg::{matmul, outer, tensordot, vecdot};
pub use manipulation::*;
pub use reduce::*;
pub use scan::*;
pub(crate) use search::coordinates;
pub use search::*;
pub use sort::*;

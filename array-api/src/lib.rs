//! One array front end, interchangeable backends.
mod array;
mod base;
pub mod context;
mod graph;
pub mod indexing;
pub mod info;
mod ndarray;
mod operators;
pub mod ops;
pub mod promotion;

pub use array::{Array, Export, Ready};
pub use context::{Context, ContextOptions, Defer, Fallback, Stats};
pub use promotion::{Arg, Weak};
pub use rustarr_interface as interface;
pub use rustarr_interface::{DType, Error, ErrorKind, Result, Scalar};

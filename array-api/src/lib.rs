//! One array front end, interchangeable backends: NumPy-style arrays whose context says where they run.
//!
//! Contexts are opened by the registry crate, `rustarr-backends`, which re-exports all of this; a context can also be made
//! of any [`Backend`](interface::Backend):
//!
//! ```
//! use rustarr::{Context, ContextOptions, ops};
//! use std::sync::Arc;
//!
//! let cpu = Arc::new(rustarr_serial::open(None, None));
//! let ctx = Context::new("cpu-serial", cpu.clone(), cpu, ContextOptions::default());
//!
//! let x = ctx.array(&[0.0, 0.5, 1.0])?;
//! let y = &x * 2.0 + 1.0;                            // recorded; runs when a value is needed
//! assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
//! assert_eq!(ops::sum(&y, None, None, false)?.item()?.to_f64(), 6.0);
//!
//! // Operators carry errors instead of panicking; functions return them.
//! let wrong = &x + &ctx.array(&[1.0, 2.0])?;
//! assert!(wrong.to_vec::<f64>().is_err());
//!
//! // ndarray in and out, without a copy where the layout allows.
//! let a = ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn();
//! let t = rustarr::Array::from_ndarray(&ctx, a)?;
//! assert_eq!(t.export()?.view::<f64>()?[[1, 0]], 3.0);
//! # Ok::<(), rustarr::Error>(())
//! ```
//!
//! [`ops`] has the functions, one module per chapter of the array API standard; [`indexing`] keys; [`promotion`] the dtype rules;
//! [`info`] what a context can do.

mod array;
mod base;
pub mod context;
pub mod gate;
mod graph;
pub mod indexing;
pub mod info;
mod ndarray;
mod operators;
pub mod ops;
pub mod promotion;

pub use array::{Array, Export, Ready, WeakArray};
pub use context::{Context, ContextOptions, Defer, Fallback, Stats};
pub use promotion::{Arg, Weak};
pub use rustarr_interface as interface;
pub use rustarr_interface::{DType, Error, ErrorKind, Result, Scalar};

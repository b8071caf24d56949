//! Scalar function bodies for the block interpreter, written to be vectorised.
//!
//! Every real function is generic over [`Real`] (`f32`, `f64`), free of branches, tables and library calls, and marked
//! `#[inline(always)]`. A plain loop `for (y, x) in ... { *y = maths::exp(*x) }` inside a `target_feature` (or
//! `pulp::Arch::dispatch`) function therefore becomes SIMD code, and since every step is a correctly rounded IEEE
//! operation, the vector body, the scalar tail and every instruction set give the same bits (a NaN is only promised to
//! be a NaN: hardware differs in its sign and payload).
//!
//! Accuracy is below 1 ULP over the whole domain; `cargo run --example ulp_table` measures it. Special values are those
//! of the array API standard. `f32` functions mostly run in `f64`, so they are rounded correctly but for rare ties.
//!
//! **Five functions have arguments that no short branch-free code can serve**: `sin`, `cos`, `tan` of huge angles,
//! `remainder` and `floor_divide` of huge quotients. Each exists twice: the complete function, which branches, and a
//! branch-free one in [`near`] that gives the same bits wherever [`near::angle`] or [`near::quotient`] holds. A loop
//! over a block asks first:
//!
//! ```
//! use rustarr_cpu_kernels::maths;
//! fn sin(x: &[f64], y: &mut [f64]) {
//!     if x.iter().fold(true, |all, &x| all & maths::near::angle(x)) {
//!         x.iter().zip(y).for_each(|(&x, y)| *y = maths::near::sin(x)); // vectorised
//!     } else {
//!         x.iter().zip(y).for_each(|(&x, y)| *y = maths::sin(x));
//!     }
//! }
//! # let (x, mut y) = ([0.5, 1e300], [0.0; 2]);
//! # sin(&x, &mut y);
//! # assert_eq!(y[1], maths::sin(1e300));
//! ```
//!
//! Integer functions live in [`integer`], complex ones in [`complex`], under the same names.

mod dd;
mod division;
mod exp;
mod huge_angle;
mod hyperbolic;
mod inverse_trig;
mod log;
mod pow;
mod real;
mod rounding;
mod trig;

pub mod complex;
pub mod integer;
pub mod near;

#[cfg(test)]
mod tests;

pub use division::{floor_divide, remainder};
pub use exp::{exp, exp2, expm1};
pub use hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh};
pub use inverse_trig::{acos, asin, atan, atan2};
pub use log::{log, log1p, log2, log10, logaddexp};
pub use pow::{hypot, pow, reciprocal, sqrt, square};
pub use real::Real;
pub use rounding::{
    ceil, copysign, floor, maximum, minimum, nextafter, round, sign, signbit, trunc,
};
pub use trig::{cos, sin, tan};

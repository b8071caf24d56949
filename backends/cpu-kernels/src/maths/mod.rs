//! Scalar function bodies for the block interpreter, written to be vectorised.
//!
//! Every real function is generic over [`Real`] (`f32`, `f64`), free of branches, tables and library calls, and marked
//! `#[inline(always)]`. A plain loop `for (y, x) in ... { *y = maths::exp(*x) }` inside a `target_feature` (or
//! `pulp::Arch::dispatch`) function therefore becomes SIMD code, and since every step is a correctly rounded IEEE
//! operation, the vector body, the scalar tail and every instruction set give the same bits (a NaN is only promised to
//! be a NaN: hardware differs in its sign and payload).
//!
//! The loop must be inlined into the function that carries the features: give `pulp` a type that implements
//! `NullaryFnOnce` with `#[inline(always)] fn call`, since a plain closure reaches it through a shim that is not inlined
//! once it is large.
//!
//! Accuracy is below 1 ULP over the whole domain; `cargo run --example ulp_table` measures it. Special values are those
//! of the array API standard. `f32` functions mostly run in `f64`, so they are rounded correctly but for rare near-ties.
//!
//! **Six functions have arguments that no short branch-free code can serve**: `sin`, `cos`, `tan` of huge angles,
//! `remainder` and `floor_divide` of huge quotients, `logaddexp` of terms that cancel. Each exists twice: the complete
//! function, which branches, and a branch-free one in [`near`] that gives the same bits wherever [`near::angle`],
//! [`near::quotient`] or [`near::sum`] holds. A loop over a block mends what it does not serve:
//!
//! ```
//! use rustarr_cpu_kernels::maths;
//! fn sin(x: &[f64], y: &mut [f64]) {
//!     x.iter().zip(&mut *y).for_each(|(&x, y)| *y = maths::near::sin(x)); // vectorised
//!     if !x.iter().fold(true, |all, &x| all & maths::near::angle(x)) {
//!         let far = x.iter().zip(y).filter(|(x, _)| !maths::near::angle(**x));
//!         far.for_each(|(&x, y)| *y = maths::sin(x));
//!     }
//! }
//! # let (x, mut y) = ([0.5, 1e300], [0.0; 2]);
//! # sin(&x, &mut y);
//! # assert_eq!(y[1], maths::sin(1e300));
//! ```
//!
//! Integer functions live in [`integer`], complex ones in [`complex`], under the same names.

mod basic;
mod division;
mod double;
mod real;
mod single;
mod special;

pub mod complex;
pub mod integer;
pub mod near;

#[cfg(test)]
mod tests;

pub use basic::*;
pub use division::{floor_divide, remainder};
pub use real::Real;

macro_rules! elementary {
    ($($(#[$doc:meta])* $name:ident($($x:ident),*);)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<T: Real>($($x: T),*) -> T {
            // A value passes unchanged between f32 and f64 here: the conversions vanish.
            T::narrow(if T::DOUBLE {
                double::$name($($x.widen()),*)
            } else {
                single::$name($($x.single()),*) as f64
            })
        }
    )*};
}

elementary! {
    /// `e^x`.
    exp(x);
    /// `2^x`; exact for integral `x`.
    exp2(x);
    /// `e^x - 1` without cancellation; keeps the sign of zero.
    expm1(x);
    /// The natural logarithm.
    log(x);
    /// `log(1 + x)` without cancellation; keeps the sign of zero.
    log1p(x);
    /// The binary logarithm; exact for powers of two.
    log2(x);
    /// The decimal logarithm; exact for powers of ten.
    log10(x);
    /// The inverse sine, in [-pi/2, pi/2].
    asin(x);
    /// The inverse cosine, in [0, pi].
    acos(x);
    /// The inverse tangent, in [-pi/2, pi/2].
    atan(x);
    /// The angle of the point `(x, y)`, in [-pi, pi]; signed zeros and infinities as in C's `atan2`.
    atan2(y, x);
    /// The hyperbolic sine.
    sinh(x);
    /// The hyperbolic cosine.
    cosh(x);
    /// The hyperbolic tangent.
    tanh(x);
    /// The inverse hyperbolic sine.
    asinh(x);
    /// The inverse hyperbolic cosine; NaN below 1.
    acosh(x);
    /// The inverse hyperbolic tangent; NaN outside [-1, 1].
    atanh(x);
    /// `x^y`; the special values of the array API standard, which are those of C.
    pow(x, y);
    /// `sqrt(x^2 + y^2)` without overflow; infinite where either operand is, even beside a NaN.
    hypot(x, y);
}

macro_rules! of_any_angle {
    ($($(#[$doc:meta])* $name:ident, $huge:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<T: Real>(x: T) -> T {
            if near::angle(x) { near::$name(x) } else { T::narrow(double::$huge(x.widen())) }
        }
    )*};
}

of_any_angle! {
    /// The sine of an angle in radians.
    sin, sin_huge;
    /// The cosine of an angle in radians.
    cos, cos_huge;
    /// The tangent of an angle in radians.
    tan, tan_huge;
}

/// `log(e^x + e^y)` without overflow, and without cancellation where the sum is close to 1.
#[inline(always)]
pub fn logaddexp<T: Real>(x: T, y: T) -> T {
    let total = near::logaddexp(x, y);
    if near::sum(x, y, total) {
        total
    } else {
        T::narrow(double::logaddexp_near_one(x.widen(), y.widen()))
    }
}

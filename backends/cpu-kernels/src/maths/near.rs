//! Branch-free forms of the six functions that cannot serve every argument so, and the predicates that say when.

use super::division;
use super::real::Real;
use super::{double, single};

pub use division::{floor_divide_near as floor_divide, remainder_near as remainder};

/// Whether [`sin`], [`cos`] and [`tan`] of this module serve `x`: |x| < 2^38, or `x` not finite.
#[inline(always)]
pub fn angle<T: Real>(x: T) -> bool {
    let size = x.widen().abs();
    (size < 274877906944.0) | !size.is_finite()
}

/// Whether [`floor_divide`] and [`remainder`] of this module serve `a / b`: it is below the first integer without
/// a successor, or an operand is zero or not finite.
#[inline(always)]
pub fn quotient<T: Real>(a: T, b: T) -> bool {
    !(((a / b).abs() >= T::INTEGRAL) & (a.abs() < T::infinity()) & (b != T::zero()))
}

/// Whether [`logaddexp`] of this module serves `x` and `y`, for which it gave `total`: a negative larger argument does not
/// cancel with what the smaller one adds.
#[inline(always)]
pub fn sum<T: Real>(x: T, y: T, total: T) -> bool {
    let (large, total) = (if x < y { y } else { x }.widen(), total.widen());
    let margin = if T::DOUBLE { 8.0 } else { 512.0 };
    !((large < 0.0) & (margin * total.abs() < -large))
}

/// The sine of a near [`angle`].
#[inline(always)]
pub fn sin<T: Real>(x: T) -> T {
    T::narrow(if T::DOUBLE {
        double::sin(x.widen())
    } else {
        single::sin(x.single()) as f64
    })
}

/// The cosine of a near [`angle`].
#[inline(always)]
pub fn cos<T: Real>(x: T) -> T {
    T::narrow(if T::DOUBLE {
        double::cos(x.widen())
    } else {
        single::cos(x.single()) as f64
    })
}

/// The tangent of a near [`angle`].
#[inline(always)]
pub fn tan<T: Real>(x: T) -> T {
    T::narrow(if T::DOUBLE {
        double::tan(x.widen())
    } else {
        single::tan(x.single()) as f64
    })
}

/// `log(e^x + e^y)` of a near [`sum`].
#[inline(always)]
pub fn logaddexp<T: Real>(x: T, y: T) -> T {
    T::narrow(if T::DOUBLE {
        double::logaddexp(x.widen(), y.widen())
    } else {
        single::logaddexp(x.single(), y.single()) as f64
    })
}

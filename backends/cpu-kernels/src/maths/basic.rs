//! Functions with exact results or one rounding: rounding itself, signs, neighbours, the larger and smaller of two.

use super::real::Real;

/// The largest integer not above `x`.
#[inline(always)]
pub fn floor<T: Real>(x: T) -> T {
    x.floor()
}

/// The smallest integer not below `x`.
#[inline(always)]
pub fn ceil<T: Real>(x: T) -> T {
    x.ceil()
}

/// `x` rounded towards zero.
#[inline(always)]
pub fn trunc<T: Real>(x: T) -> T {
    x.trunc()
}

/// The integer nearest to `x`, ties to even.
#[inline(always)]
pub fn round<T: Real>(x: T) -> T {
    x.round_ties_even()
}

/// -1, 0 or 1; +0 for both zeros, NaN for NaN.
#[inline(always)]
pub fn sign<T: Real>(x: T) -> T {
    let y = if x > T::zero() { T::one() } else { T::zero() };
    let y = if x < T::zero() { -T::one() } else { y };
    if x.is_nan() { x } else { y }
}

/// Whether the sign bit is set, also for -0 and NaN.
#[inline(always)]
pub fn signbit<T: Real>(x: T) -> bool {
    x.is_sign_negative()
}

/// The magnitude of `x` with the sign of `y`.
#[inline(always)]
pub fn copysign<T: Real>(x: T, y: T) -> T {
    x.copysign(y)
}

/// The next value after `x` in the direction of `y`; `y` itself where they are equal.
#[inline(always)]
pub fn nextafter<T: Real>(x: T, y: T) -> T {
    x.next_after(y)
}

/// The larger of two; NaN if either is.
#[inline(always)]
pub fn maximum<T: Real>(x: T, y: T) -> T {
    if (x >= y) | x.is_nan() { x } else { y }
}

/// The smaller of two; NaN if either is.
#[inline(always)]
pub fn minimum<T: Real>(x: T, y: T) -> T {
    if (x <= y) | x.is_nan() { x } else { y }
}

/// The square root, rounded correctly.
#[inline(always)]
pub fn sqrt<T: Real>(x: T) -> T {
    x.sqrt()
}

/// `1 / x`.
#[inline(always)]
pub fn reciprocal<T: Real>(x: T) -> T {
    T::one() / x
}

/// `x * x`.
#[inline(always)]
pub fn square<T: Real>(x: T) -> T {
    x * x
}

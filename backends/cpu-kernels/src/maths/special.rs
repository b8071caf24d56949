//! Special values that `f32` and `f64` bodies share.

use super::real::Real;

/// Gives `y = log x` its values at and below zero, at infinity and at NaN.
#[inline(always)]
pub fn log<T: Real>(x: T, y: T) -> T {
    let y = if x == T::infinity() { x } else { y };
    let y = if x == T::zero() { T::neg_infinity() } else { y };
    if x >= T::zero() { y } else { T::nan() }
}

/// Gives `power = |x|^y` its sign, and its values for negative bases, infinite exponents, ones, zeros and NaN.
#[inline(always)]
pub fn pow<T: Real>(x: T, y: T, power: T) -> T {
    let one = T::one();
    let integral = y.trunc() == y;
    let half = y / (one + one);
    let odd = integral & (half.trunc() != half);
    let power = if odd { power.copysign(x) } else { power };
    let undefined = (x < T::zero()) & !integral & (x != T::neg_infinity());
    let power = if undefined { T::nan() } else { power };
    let power = if (x.abs() == one) & (y.abs() == T::infinity()) {
        one
    } else {
        power
    };
    let power = if x.is_nan() | y.is_nan() {
        T::nan()
    } else {
        power
    };
    if (y == T::zero()) | (x == one) {
        one
    } else {
        power
    }
}

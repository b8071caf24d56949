//! Powers and roots.

use super::dd::{Dd, select};
use super::exp::{exp_dd, power_of_two, scale};
use super::log::{log_fine, normalised};
use crate::maths::special;

#[inline(always)]
pub fn pow(x: f64, y: f64) -> f64 {
    let base = x.abs();
    let (normal, shift) = normalised(base);
    let log = log_fine(Dd::new(normal, 0.0), shift);
    let log_at_infinity = if base == f64::INFINITY {
        f64::INFINITY
    } else {
        log.hi
    };
    let log_hi = if base == 0.0 {
        f64::NEG_INFINITY
    } else {
        log_at_infinity
    };
    let z = Dd::product(log_hi, y);
    let z = Dd::new(z.hi, log.lo.mul_add(y, z.lo));
    // Outside the result is 0 or infinity, and the low part may be NaN.
    let z = select(z.hi > 800.0, Dd::new(800.0, 0.0), z);
    let z = select(z.hi < -800.0, Dd::new(-800.0, 0.0), z);
    let (k, p) = exp_dd(z);
    let power = scale(p.value(), k);
    special::pow(x, y, power)
}

#[inline(always)]
pub fn hypot(x: f64, y: f64) -> f64 {
    let (x, y) = (x.abs(), y.abs());
    let larger = if x > y { x } else { y };
    // Squares neither overflow nor lose their low parts.
    let grow = if larger < 1e-140 { 600.0 } else { 0.0 };
    let exponent = if larger > 1e140 { -600.0 } else { grow };
    let (a, b) = (x * power_of_two(exponent), y * power_of_two(exponent));
    let (a, b) = (Dd::product(a, a), Dd::product(b, b));
    let sum = Dd::sum(a.hi, b.hi);
    let root = Dd::new(sum.hi, sum.lo + (a.lo + b.lo)).sqrt().value() * power_of_two(-exponent);
    let root = if x.is_nan() | y.is_nan() {
        f64::NAN
    } else {
        root
    };
    if (x == f64::INFINITY) | (y == f64::INFINITY) {
        f64::INFINITY
    } else {
        root
    }
}

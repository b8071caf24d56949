//! Hyperbolic functions and their inverses.

use super::dd::{Dd, select};
use super::exp::{exp_dd, expm1_dd, limit, power_of_two, scale};
use super::log::log_dd;
use crate::maths::real::poly;

/// `(sinh x - x) / x^3` in `x^2`, for |x| <= 1; error 2^-61.
const SINH: [f64; 7] = [
    0.16666666666666666,
    0.008333333333333297,
    0.0001984126984132702,
    2.755731919003607e-06,
    2.5052117982480645e-08,
    1.6057651772803144e-10,
    7.747185413595007e-13,
];

/// Beyond 2^28 the `1` in `x^2 ± 1` no longer counts.
const LARGE: f64 = 268435456.0;

/// `(k, p)` with `(e^x + sign e^-x) / 2 = p 2^k` for `x >= 0`; `sign` is 1 or -1.
#[inline(always)]
pub(in crate::maths) fn half_sum(x: f64, sign: f64) -> (f64, f64) {
    let (k, p) = exp_dd(Dd::new(limit(x, 0.0, 1400.0), 0.0));
    // 2^-2k / p, of no account once k is large.
    let inverse = sign * power_of_two(if k > 100.0 { -200.0 } else { -2.0 * k }) / p.hi;
    let total = Dd::ordered_sum(p.hi, inverse);
    (k - 1.0, total.hi + (total.lo + p.lo))
}

#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    let size = x.abs();
    let (k, p) = half_sum(size, -1.0);
    let z = size * size;
    let inner = (size * z).mul_add(poly(z, &SINH), size);
    let y = if size < 1.0 { inner } else { scale(p, k) };
    y.copysign(x)
}

#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let (k, p) = half_sum(x.abs(), 1.0);
    scale(p, k)
}

/// `e / (e + 2)` with `e = e^(2|x|) - 1`.
#[inline(always)]
fn tanh_quotient(x: f64) -> Dd {
    let (e, _) = expm1_dd(limit(2.0 * x.abs(), 0.0, 44.0));
    let d = Dd::sum(e.hi, 2.0);
    e.over(Dd::new(d.hi, d.lo + e.lo))
}

#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    tanh_quotient(x).value().copysign(x)
}

#[inline(always)]
pub fn asinh(x: f64) -> f64 {
    let size = x.abs();
    let large = size > LARGE;
    let square = Dd::product(size, size);
    let v = Dd::sum(1.0, square.hi);
    let root = Dd::new(v.hi, v.lo + square.lo).sqrt();
    let head = Dd::sum(root.hi, size);
    let argument = select(
        large,
        Dd::new(size, 0.0),
        Dd::new(head.hi, head.lo + root.lo),
    );
    let y = log_dd(argument, if large { 1.0 } else { 0.0 }).value();
    // x - x^3/6 rounds to x.
    let y = if size < 1e-9 { size } else { y };
    let y = if size == f64::INFINITY { size } else { y };
    if x.is_nan() { x } else { y.copysign(x) }
}

#[inline(always)]
pub fn acosh(x: f64) -> f64 {
    let large = x > LARGE;
    let square = Dd::product(x, x);
    let v = Dd::sum(square.hi, -1.0);
    let root = Dd::new(v.hi, v.lo + square.lo).renormalised().sqrt();
    let head = Dd::sum(x, root.hi);
    let argument = select(large, Dd::new(x, 0.0), Dd::new(head.hi, head.lo + root.lo));
    let y = log_dd(argument, if large { 1.0 } else { 0.0 }).value();
    let y = if x == f64::INFINITY { x } else { y };
    if x >= 1.0 { y } else { f64::NAN }
}

#[inline(always)]
pub fn atanh(x: f64) -> f64 {
    let size = x.abs();
    let ratio = Dd::sum(1.0, size).over(Dd::sum(1.0, -size)).renormalised();
    let y = 0.5 * log_dd(ratio, 0.0).value();
    let y = if size < 1e-9 { size } else { y };
    let y = if size == 1.0 { f64::INFINITY } else { y };
    if size <= 1.0 { y.copysign(x) } else { f64::NAN }
}

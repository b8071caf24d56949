//! Exponentials: `x = k log 2 + r`, a polynomial in `r`, and a scaling by `2^k`.

use super::dd::Dd;
use crate::maths::real::{SHIFTER, nearest, poly};
use std::f64::consts::LOG2_E;

/// log 2 in three parts.
pub(in crate::maths) const LN2: [f64; 3] = [
    std::f64::consts::LN_2,
    2.3190468138462996e-17,
    5.707708438416212e-34,
];

/// `(e^r - 1 - r - r^2/2) / r^3` on |r| <= log(2)/2; the error in `e^r` is 2^-61.
const TAIL: [f64; 10] = [
    0.16666666666666669,
    0.04166666666666667,
    0.008333333333330056,
    0.0013888888888880931,
    0.0001984126986307942,
    2.4801587333987718e-05,
    2.755726842046482e-06,
    2.755726427517015e-07,
    2.510040409808346e-08,
    2.0918152929868882e-09,
];

/// `2^k` for an integral `k` in -1022..=1023.
#[inline(always)]
pub(in crate::maths) fn power_of_two(k: f64) -> f64 {
    f64::from_bits((k + (SHIFTER + 1023.0)).to_bits() << 52)
}

/// `p * 2^k` for an integral `k` in -2044..=2046, rounded once.
#[inline(always)]
pub(in crate::maths) fn scale(p: f64, k: f64) -> f64 {
    let half = nearest(0.5 * k);
    p * power_of_two(half) * power_of_two(k - half)
}

/// `x` limited to `low..=high`; NaN stays.
#[inline(always)]
pub(in crate::maths) fn limit(x: f64, low: f64, high: f64) -> f64 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// `(k, r)` with `x = k log 2 + r`, `k` integral and `|r| <= log(2)/2`, for |x| < 2^20.
#[inline(always)]
fn reduce(x: f64) -> (f64, Dd) {
    let k = nearest(x * LOG2_E);
    let head = (-k).mul_add(LN2[0], x); // exact
    let r = (-k).mul_add(LN2[1], head);
    (k, Dd::new(r, (-k).mul_add(LN2[1], head - r)))
}

/// `(k, p)` with `e^x = 2^k p`, `p` in about [0.7, 1.42] and good to 2^-60, for |x.hi| < 2^20.
#[inline(always)]
pub(in crate::maths) fn exp_dd(x: Dd) -> (f64, Dd) {
    let (k, r) = reduce(x.hi);
    // The low part of a large x is far above that of r.
    (k, exp_reduced(Dd::sum(r.hi, r.lo + x.lo)))
}

/// `e^r` for |r| <= log(2)/2, good to 2^-60.
#[inline(always)]
fn exp_reduced(r: Dd) -> Dd {
    let square = Dd::product(r.hi, r.hi);
    let cubic = r.hi * square.hi * poly(r.hi, &TAIL);
    let a = Dd::ordered_sum(1.0, r.hi);
    let b = Dd::ordered_sum(a.hi, 0.5 * square.hi);
    let lo = (a.lo + b.lo) + r.lo.mul_add(b.hi, 0.5 * square.lo);
    Dd::ordered_sum(b.hi, cubic + lo)
}

/// `(k, q)` with `e^x = 2^k (1 + q)`, `|q| < 0.42`, for |x| < 2^20.
#[inline(always)]
fn exp_minus_one(x: f64) -> (f64, Dd) {
    let (k, r) = reduce(x);
    let square = r.hi * r.hi;
    let u = square * r.hi.mul_add(poly(r.hi, &TAIL), 0.5);
    let q = Dd::ordered_sum(r.hi, u);
    (k, Dd::new(q.hi, q.lo + r.lo.mul_add(r.hi, r.lo)))
}

/// `e^x - 1` for `x` at most 710, good to 2^-55; the second value is a factor of 1 or 2 still to be applied.
#[inline(always)]
pub(in crate::maths) fn expm1_dd(x: f64) -> (Dd, f64) {
    let (k, q) = exp_minus_one(limit(x, -40.0, 710.0));
    let top = k > 1023.0;
    let s = power_of_two(if top { 1023.0 } else { k });
    let a = Dd::sum(s, if top { 0.0 } else { -1.0 });
    let b = Dd::sum(a.hi, s * q.hi);
    (
        Dd::ordered_sum(b.hi, b.lo + s.mul_add(q.lo, a.lo)),
        if top { 2.0 } else { 1.0 },
    )
}

#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let (k, r) = reduce(limit(x, -746.0, 710.0));
    let square = r.hi * r.hi;
    let u = square.mul_add(r.hi.mul_add(poly(r.hi, &TAIL), 0.5), r.lo);
    scale(1.0 + (r.hi + u), k)
}

#[inline(always)]
pub fn exp2(x: f64) -> f64 {
    let x = limit(x, -1100.0, 1100.0);
    let k = nearest(x);
    let p = exp_reduced(Dd::product(x - k, LN2[0]).plus_low((x - k) * LN2[1]));
    scale(p.value(), k)
}

#[inline(always)]
pub fn expm1(x: f64) -> f64 {
    let (e, factor) = expm1_dd(x);
    let y = e.value() * factor;
    if x == 0.0 { x } else { y }
}

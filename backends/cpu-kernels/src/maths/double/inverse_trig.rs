//! Inverse trigonometric functions.

use super::dd::{Dd, select};
use super::exp::power_of_two;
use super::trig::HALF_PI;
use crate::maths::real::poly;

/// `(atan r - r) / r^3` in `r^2`, for |r| <= sqrt(2) - 1; error 2^-59.
const ATAN: [f64; 12] = [
    -0.3333333333333333,
    0.19999999999999815,
    -0.14285714285662016,
    0.11111111105350259,
    -0.09090908762394856,
    0.0769229661189743,
    -0.06666428817942494,
    0.05878970912858296,
    -0.0523074121640987,
    0.04552812666854804,
    -0.034599839207071895,
    0.016316100144645428,
];
/// `(asin r - r) / r^3` in `r^2`, for |r| <= 1/2; error 2^-56.
const ASIN: [f64; 13] = [
    0.16666666666666669,
    0.0749999999999823,
    0.0446428571467444,
    0.03038194410929052,
    0.022372174077077294,
    0.017352366743926515,
    0.013971589736008,
    0.011475581523073087,
    0.010345702207636458,
    0.005361306946667783,
    0.017657243518738694,
    -0.015244287276450304,
    0.029020588951781306,
];
const PI: Dd = Dd {
    hi: 2.0 * HALF_PI[0],
    lo: 2.0 * HALF_PI[1],
};
const TAN_PI_8: f64 = 0.41421356237309503;

/// `asin r` for the smaller of two arguments: `|x|` up to 1/2, and `sqrt((1 - |x|) / 2)` beyond, where
/// `asin |x| = pi/2 - 2 asin r`. Tells which as well.
#[inline(always)]
fn asin_reduced(x: f64) -> (bool, Dd) {
    let size = x.abs();
    let inner = size <= 0.5;
    let z = if inner { size * size } else { 0.5 - 0.5 * size };
    let root = Dd::new(z, 0.0).sqrt();
    let r = select(inner, Dd::new(size, 0.0), root);
    let p = Dd::ordered_sum(r.hi, r.hi * z * poly(z, &ASIN));
    (inner, Dd::new(p.hi, p.lo + r.lo))
}

#[inline(always)]
pub fn asin(x: f64) -> f64 {
    let (inner, p) = asin_reduced(x);
    let outer = Dd::new(HALF_PI[0], HALF_PI[1]).plus_smaller(p.scaled(-2.0));
    select(inner, p, outer).value().copysign(x)
}

#[inline(always)]
pub fn acos(x: f64) -> f64 {
    let (inner, p) = asin_reduced(x);
    let negative = x < 0.0;
    let from_half = Dd::new(HALF_PI[0], HALF_PI[1]).plus_smaller(select(negative, p, p.negated()));
    let twice = p.scaled(2.0);
    let outer = select(negative, PI.plus_smaller(twice.negated()), twice);
    select(inner, from_half, outer).value()
}

/// The angle of the point `(x, y)`, for operands that are numbers and up to the sign, which is that of `y`.
#[inline(always)]
fn unsigned_angle(y: f64, x: f64) -> Dd {
    let (ay, ax) = (y.abs(), x.abs());
    let steep = ay > ax;
    let (a, b) = (if steep { ax } else { ay }, if steep { ay } else { ax });
    // Infinities become finite points in the same direction, and the origin one on the axis.
    let infinite = b == f64::INFINITY;
    let a_at_infinity = if a == f64::INFINITY { 1.0 } else { 0.0 };
    let a = if infinite { a_at_infinity } else { a };
    let b = if infinite | (b == 0.0) { 1.0 } else { b };
    // Away from overflow and from residuals lost to underflow.
    let grow = if a < 1e-240 { power_of_two(200.0) } else { 1.0 };
    let scale = if b > 1e240 {
        power_of_two(-200.0)
    } else {
        grow
    };
    let (a, b) = (a * scale, b * scale);
    // atan(a/b), or pi/4 + atan((a - b) / (a + b)).
    let middle = a > TAN_PI_8 * b;
    let n = select(middle, Dd::sum(a, -b), Dd::new(a, 0.0));
    let d = select(middle, Dd::sum(a, b), Dd::new(b, 0.0));
    let r = n.over(d).renormalised();
    let z = r.hi * r.hi;
    let p = Dd::ordered_sum(r.hi, (r.hi * z).mul_add(poly(z, &ATAN), r.lo));
    // The octant folds back as base ± p, the base being a count of pi/4.
    let (base, sign) = (if middle { 1.0 } else { 0.0 }, 1.0);
    let (base, sign) = (
        if steep { 2.0 - base } else { base },
        if steep { -sign } else { sign },
    );
    let left = x.is_sign_negative();
    let (base, sign) = (
        if left { 4.0 - base } else { base },
        if left { -sign } else { sign },
    );
    let quarter = Dd::new(0.5 * HALF_PI[0], 0.5 * HALF_PI[1]);
    let turn = Dd::product(base, quarter.hi);
    let turn = Dd::new(turn.hi, base.mul_add(quarter.lo, turn.lo));
    turn.plus_smaller(p.scaled(sign))
}

/// The angle of the point `(x, y)` in double-double, for operands that are numbers.
#[inline(always)]
pub(in crate::maths) fn angle(y: f64, x: f64) -> Dd {
    unsigned_angle(y, x).scaled(1.0f64.copysign(y))
}

#[inline(always)]
pub fn atan2(y: f64, x: f64) -> f64 {
    let angle = unsigned_angle(y, x).value();
    if x.is_nan() | y.is_nan() {
        f64::NAN
    } else {
        angle.copysign(y)
    }
}

#[inline(always)]
pub fn atan(x: f64) -> f64 {
    atan2(x, 1.0)
}

//! Sine, cosine and tangent: `x = k pi/2 + r` with `r` in double-double, then a polynomial in `r`.

use super::dd::{Dd, select};
use super::huge_angle;
use crate::maths::near;
use crate::maths::real::{SHIFTER, poly};

/// pi/2 in three parts.
pub(in crate::maths) const HALF_PI: [f64; 3] = [
    std::f64::consts::FRAC_PI_2,
    6.123233995736766e-17,
    -1.4973849048591698e-33,
];

/// `(sin r - r) / r^3` in `r^2`, for |r| <= 1.02 pi/4; error 2^-55.
const SIN: [f64; 6] = [
    -0.16666666666666663,
    0.00833333333333043,
    -0.00019841269835988893,
    2.755731571107614e-06,
    -2.505105184194931e-08,
    1.5912477262160506e-10,
];
/// `(cos r - 1 + r^2/2) / r^4` in `r^2`; error 2^-59.
const COS: [f64; 6] = [
    0.041666666666666664,
    -0.0013888888888887072,
    2.480158729828398e-05,
    -2.7557317026735773e-07,
    2.0876096202709053e-09,
    -1.1379095505105462e-11,
];
/// An angle as `quadrant * pi/2 + r`, |r| at most a little over pi/4; only the quadrant's low two bits count.
#[derive(Clone, Copy)]
pub(in crate::maths) struct Reduced {
    pub quadrant: u64,
    pub r: Dd,
}

/// Reduces a [`near::angle`]: there `x - k HALF_PI[0]` is exact.
#[inline(always)]
fn reduce(x: f64) -> Reduced {
    let shifted = x.mul_add(std::f64::consts::FRAC_2_PI, SHIFTER);
    let k = shifted - SHIFTER;
    let head = (-k).mul_add(HALF_PI[0], x);
    let next = Dd::product(k, HALF_PI[1]);
    let r = Dd::sum(head, -next.hi);
    let lo = k.mul_add(-HALF_PI[2], r.lo - next.lo);
    Reduced {
        quadrant: shifted.to_bits(),
        r: Dd::ordered_sum(r.hi, lo),
    }
}

/// `sin r` and `cos r`, good to 2^-57 or so.
#[inline(always)]
fn sin_cos(r: Dd) -> (Dd, Dd) {
    let z = Dd::product(r.hi, r.hi);
    let odd = (r.hi * z.hi).mul_add(poly(z.hi, &SIN), r.lo * (-0.5 * z.hi));
    let sin = Dd::ordered_sum(r.hi, odd + r.lo);
    let even = Dd::ordered_sum(1.0, -0.5 * z.hi);
    let rest = (z.hi * z.hi).mul_add(poly(z.hi, &COS), (-r.hi).mul_add(r.lo, -0.5 * z.lo));
    (sin, Dd::ordered_sum(even.hi, even.lo + rest))
}

/// Changes the sign of `y` if bit 1 of the quadrant is set.
#[inline(always)]
fn signed(quadrant: u64, y: f64) -> f64 {
    f64::from_bits(y.to_bits() ^ ((quadrant & 2) << 62))
}

/// `sin(pi/2 * (quadrant + shift) + r)`.
#[inline(always)]
fn sin_shifted(a: Reduced, shift: u64) -> f64 {
    let quadrant = a.quadrant.wrapping_add(shift);
    let (sin, cos) = sin_cos(a.r);
    let odd = quadrant & 1 != 0;
    signed(quadrant, if odd { cos.hi } else { sin.hi })
}

#[inline(always)]
fn tan_reduced(a: Reduced) -> f64 {
    let (sin, cos) = sin_cos(a.r);
    let odd = a.quadrant & 1 != 0;
    select(odd, cos.negated(), sin)
        .over(select(odd, sin, cos))
        .value()
}

/// `sin(x + low)` and `cos(x + low)` for any angle, `low` being a correction far below `x`.
pub(in crate::maths) fn sin_cos_any(x: f64, low: f64) -> (Dd, Dd) {
    let a = if near::angle(x) {
        reduce(x)
    } else {
        huge_angle::reduce(x)
    };
    let (sin, cos) = sin_cos(Dd::ordered_sum(a.r.hi, a.r.lo + low));
    match a.quadrant & 3 {
        0 => (sin, cos),
        1 => (cos, sin.negated()),
        2 => (sin.negated(), cos.negated()),
        _ => (cos.negated(), sin),
    }
}

/// The sine of a [`near::angle`].
#[inline(always)]
pub fn sin(x: f64) -> f64 {
    let y = sin_shifted(reduce(x), 0);
    if x == 0.0 { x } else { y }
}

/// The cosine of a [`near::angle`].
#[inline(always)]
pub fn cos(x: f64) -> f64 {
    sin_shifted(reduce(x), 1)
}

/// The tangent of a [`near::angle`].
#[inline(always)]
pub fn tan(x: f64) -> f64 {
    let y = tan_reduced(reduce(x));
    if x == 0.0 { x } else { y }
}

/// The sine of any other angle.
pub fn sin_huge(x: f64) -> f64 {
    sin_shifted(huge_angle::reduce(x), 0)
}

/// The cosine of any other angle.
pub fn cos_huge(x: f64) -> f64 {
    sin_shifted(huge_angle::reduce(x), 1)
}

/// The tangent of any other angle.
pub fn tan_huge(x: f64) -> f64 {
    tan_reduced(huge_angle::reduce(x))
}

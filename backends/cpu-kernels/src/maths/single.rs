//! The functions of `f32`: plain `f64` arithmetic to about 2^-35, which the one rounding to `f32` hides, and native
//! `f32` for the two that programs wait for most.

use super::double::exp::{limit, power_of_two};
use super::double::log::exponent;
use super::double::trig::HALF_PI;
use super::real::{SHIFTER, nearest, poly};
use super::special;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E, LOG10_2, LOG10_E, PI};

/// `(e^r - 1 - r - r^2/2) / r^3` on |r| <= log(2)/2; the error in `e^r` is 2^-37, and 2^-31 for the second.
const EXP: [f64; 6] = [
    0.1666666668166825,
    0.04166666675643011,
    0.008333310905451228,
    0.0013888841601585162,
    0.00019891011747292232,
    2.4867868017072646e-05,
];
const EXP_NATIVE: [f32; 5] = [
    0.16666667,
    0.041666556,
    0.008333301,
    0.00139262,
    0.0001989931,
];
/// `(2 atanh(s) - 2 s) / s^3` in `s^2`, for |s| <= 3 - sqrt(8); the error relative to `2 s` is 2^-43, and 2^-29 for
/// the second.
const LOG: [f64; 5] = [
    0.6666666666738797,
    0.3999999878233058,
    0.28571757253683244,
    0.22191244000034932,
    0.1936547161083104,
];
const LOG_NATIVE: [f32; 4] = [0.6666667, 0.40000123, 0.28550705, 0.23333248];
/// `(sin r - r) / r^3` in `r^2`, for |r| <= 1.02 pi/4; error 2^-35.
const SIN: [f64; 4] = [
    -0.16666666663409618,
    0.008333331692943053,
    -0.00019839990291908188,
    2.723765145487053e-06,
];
/// `(cos r - 1 + r^2/2) / r^4` in `r^2`; error 2^-38.
const COS: [f64; 4] = [
    0.041666666663948464,
    -0.0013888887520106625,
    2.480051979689084e-05,
    -2.7290705468580095e-07,
];
/// `(atan r - r) / r^3` in `r^2`, for |r| <= sqrt(2) - 1; error 2^-38.
const ATAN: [f64; 7] = [
    -0.3333333333155691,
    0.19999998964793586,
    -0.14285615666561044,
    0.11107571864671757,
    -0.09029827340063742,
    0.07139603208635525,
    -0.040513581479486804,
];
/// `(asin r - r) / r^3` in `r^2`, for |r| <= 1/2; error 2^-38.
const ASIN: [f64; 8] = [
    0.16666666665332047,
    0.07500000663544301,
    0.04464231666844085,
    0.03039864611561154,
    0.0221207918067725,
    0.019375082332973494,
    0.005241721389166275,
    0.029536833654943247,
];

/// `(2^k, q)` with `e^x = 2^k (1 + q)`, for `x` within ±700.
#[inline(always)]
fn exp_minus_one(x: f64) -> (f64, f64) {
    let k = nearest(x * LOG2_E);
    let r = (-k).mul_add(LN_2, x);
    (power_of_two(k), exp_polynomial(r))
}

/// `e^r - 1` for |r| <= log(2)/2.
#[inline(always)]
fn exp_polynomial(r: f64) -> f64 {
    (r * r).mul_add(r.mul_add(poly(r, &EXP), 0.5), r)
}

/// `e^x - 1`, for `x` within ±700.
#[inline(always)]
fn expm1_wide(x: f64) -> f64 {
    let (s, q) = exp_minus_one(x);
    s.mul_add(q, s - 1.0)
}

/// `(k, log m)` for `x = 2^k m`, `m` in [sqrt(1/2), sqrt(2)), from `x` and, if `k` is 0, `x - 1`.
#[inline(always)]
fn log_split(x: f64, x_minus_one: f64) -> (f64, f64) {
    let (k, m) = exponent(x);
    let f = if k == 0.0 { x_minus_one } else { m - 1.0 };
    let s = f / (2.0 + f);
    let z = s * s;
    (k, (s * z).mul_add(poly(z, &LOG), 2.0 * s))
}

/// `log(1 + x)` for a finite `x > -1`.
#[inline(always)]
fn log1p_wide(x: f64) -> f64 {
    let (k, y) = log_split(1.0 + x, x);
    k.mul_add(LN_2, y)
}

#[inline(always)]
pub fn exp(x: f32) -> f32 {
    const SHIFTER: f32 = 12582912.0; // 1.5 * 2^23
    const LN2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_3e-9];
    let power_of_two = |k: f32| f32::from_bits((k + (SHIFTER + 127.0)).to_bits() << 23);
    let nearest = |x: f32| (x + SHIFTER) - SHIFTER;
    let x = if x < -104.0 { -104.0 } else { x };
    let x = if x > 89.0 { 89.0 } else { x };
    let k = nearest(x * std::f32::consts::LOG2_E);
    let head = (-k).mul_add(LN2[0], x); // exact
    let r = (-k).mul_add(LN2[1], head);
    let low = (-k).mul_add(LN2[1], head - r);
    let u = (r * r).mul_add(r.mul_add(poly(r, &EXP_NATIVE), 0.5), low);
    let half = nearest(0.5 * k);
    (1.0 + (r + u)) * power_of_two(half) * power_of_two(k - half)
}

#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    let x = limit(x as f64, -200.0, 200.0);
    let k = nearest(x);
    ((1.0 + exp_polynomial((x - k) * LN_2)) * power_of_two(k)) as f32
}

#[inline(always)]
pub fn expm1(x: f32) -> f32 {
    let y = expm1_wide(limit(x as f64, -100.0, 100.0)) as f32;
    if x == 0.0 { x } else { y }
}

#[inline(always)]
pub fn log(x: f32) -> f32 {
    const SQRT_HALF_BITS: u32 = 0x3f35_04f3;
    const ONE_BITS: u32 = 127 << 23;
    const LN2_SHORT: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
    let tiny = x < f32::MIN_POSITIVE;
    let bits = if tiny { x * 16777216.0 } else { x }.to_bits();
    let shifted = bits.wrapping_sub(SQRT_HALF_BITS).wrapping_add(ONE_BITS);
    let k = (shifted >> 23) as i32 - if tiny { 127 + 24 } else { 127 };
    let k = k as f32;
    let f = f32::from_bits((shifted & 0x007f_ffff) + SQRT_HALF_BITS) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let half = 0.5 * f * f;
    // 2 s = f - s f and s f = f^2/2 - s f^2/2: the leading term stays exact.
    let low = s.mul_add(half + z * poly(z, &LOG_NATIVE), k * LN2_SHORT[1]);
    special::log(x, k.mul_add(LN2_SHORT[0], f - (half - low)))
}

#[inline(always)]
pub fn log1p(x: f32) -> f32 {
    let y = log1p_wide(x as f64) as f32;
    let y = if x == 0.0 { x } else { y };
    let y = if x == f32::INFINITY { x } else { y };
    let y = if x == -1.0 { f32::NEG_INFINITY } else { y };
    if x >= -1.0 { y } else { f32::NAN }
}

#[inline(always)]
pub fn log2(x: f32) -> f32 {
    let (k, y) = log_split(x as f64, x as f64 - 1.0);
    special::log(x, y.mul_add(LOG2_E, k) as f32)
}

#[inline(always)]
pub fn log10(x: f32) -> f32 {
    let (k, y) = log_split(x as f64, x as f64 - 1.0);
    special::log(x, y.mul_add(LOG10_E, k * LOG10_2) as f32)
}

/// `log(e^x + e^y)` with an error of 2^-36 of the difference between the result and the larger argument.
#[inline(always)]
pub fn logaddexp(x: f32, y: f32) -> f32 {
    let swap = x < y;
    let (large, small) = (
        if swap { y } else { x } as f64,
        if swap { x } else { y } as f64,
    );
    let difference = small - large;
    // Infinities have no difference, and below e^-110 there is nothing to add, not even to zero.
    let counts = difference > -110.0;
    let (s, q) = exp_minus_one(if counts { difference } else { -110.0 });
    let total = large + log1p_wide(s.mul_add(q, s));
    let total = if counts { total } else { large + 0.0 } as f32;
    if x.is_nan() | y.is_nan() {
        f32::NAN
    } else {
        total
    }
}

/// `sin(x + shift pi/2)` for a [`near::angle`](super::near::angle).
#[inline(always)]
fn sin_shifted(x: f64, shift: u64) -> f32 {
    let shifted = x.mul_add(FRAC_2_PI, SHIFTER);
    let (quadrant, sin, cos) = sin_cos(x, shifted);
    let quadrant = quadrant.wrapping_add(shift);
    let y = if quadrant & 1 != 0 { cos } else { sin };
    f64::from_bits(y.to_bits() ^ ((quadrant & 2) << 62)) as f32
}

/// The quadrant of `x`, in the low two bits, and sine and cosine of its offset from the quadrant's middle.
#[inline(always)]
fn sin_cos(x: f64, shifted: f64) -> (u64, f64, f64) {
    let k = shifted - SHIFTER;
    let r = (-k).mul_add(HALF_PI[1], (-k).mul_add(HALF_PI[0], x));
    let z = r * r;
    let sin = (r * z).mul_add(poly(z, &SIN), r);
    let cos = (z * z).mul_add(poly(z, &COS), z.mul_add(-0.5, 1.0));
    (shifted.to_bits(), sin, cos)
}

#[inline(always)]
pub fn sin(x: f32) -> f32 {
    let y = sin_shifted(x as f64, 0);
    if x == 0.0 { x } else { y }
}

#[inline(always)]
pub fn cos(x: f32) -> f32 {
    sin_shifted(x as f64, 1)
}

#[inline(always)]
pub fn tan(x: f32) -> f32 {
    let (quadrant, sin, cos) = sin_cos(x as f64, (x as f64).mul_add(FRAC_2_PI, SHIFTER));
    let odd = quadrant & 1 != 0;
    let y = (if odd { -cos } else { sin } / if odd { sin } else { cos }) as f32;
    if x == 0.0 { x } else { y }
}

/// `asin r` for `r = |x|` up to 1/2 and for `sqrt((1 - |x|) / 2)` beyond; tells which as well.
#[inline(always)]
fn asin_reduced(x: f64) -> (bool, f64) {
    let size = x.abs();
    let inner = size <= 0.5;
    let z = if inner { size * size } else { 0.5 - 0.5 * size };
    let r = if inner { size } else { z.sqrt() };
    (inner, (r * z).mul_add(poly(z, &ASIN), r))
}

#[inline(always)]
pub fn asin(x: f32) -> f32 {
    let (inner, p) = asin_reduced(x as f64);
    (if inner { p } else { FRAC_PI_2 - 2.0 * p } as f32).copysign(x)
}

#[inline(always)]
pub fn acos(x: f32) -> f32 {
    let (inner, p) = asin_reduced(x as f64);
    let negative = x < 0.0;
    let from_half = FRAC_PI_2 + if negative { p } else { -p };
    let outer = if negative { PI - 2.0 * p } else { 2.0 * p };
    (if inner { from_half } else { outer }) as f32
}

#[inline(always)]
pub fn atan(x: f32) -> f32 {
    atan2(x, 1.0)
}

#[inline(always)]
pub fn atan2(y: f32, x: f32) -> f32 {
    let (ay, ax) = (y.abs() as f64, x.abs() as f64);
    let steep = ay > ax;
    let (a, b) = (if steep { ax } else { ay }, if steep { ay } else { ax });
    // Infinities become finite points in the same direction, and the origin one on the axis.
    let infinite = b == f64::INFINITY;
    let a_at_infinity = if a == f64::INFINITY { 1.0 } else { 0.0 };
    let a = if infinite { a_at_infinity } else { a };
    let b = if infinite | (b == 0.0) { 1.0 } else { b };
    // atan(a/b), or pi/4 + atan((a - b) / (a + b)).
    let middle = a > 0.4142135623730951 * b;
    let r = if middle { a - b } else { a } / if middle { a + b } else { b };
    let z = r * r;
    let p = (r * z).mul_add(poly(z, &ATAN), r);
    let angle = if middle { FRAC_PI_4 + p } else { p };
    let angle = if steep { FRAC_PI_2 - angle } else { angle };
    let angle = if x.is_sign_negative() {
        PI - angle
    } else {
        angle
    };
    if x.is_nan() | y.is_nan() {
        f32::NAN
    } else {
        (angle as f32).copysign(y)
    }
}

#[inline(always)]
pub fn sinh(x: f32) -> f32 {
    let e = expm1_wide(limit(x.abs() as f64, 0.0, 100.0));
    ((0.5 * (e + e / (e + 1.0))) as f32).copysign(x)
}

#[inline(always)]
pub fn cosh(x: f32) -> f32 {
    let (s, q) = exp_minus_one(limit(x.abs() as f64, 0.0, 100.0));
    let e = s.mul_add(q, s);
    (0.5 * (e + 1.0 / e)) as f32
}

#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let e = expm1_wide(limit(2.0 * x.abs() as f64, 0.0, 44.0));
    ((e / (e + 2.0)) as f32).copysign(x)
}

#[inline(always)]
pub fn asinh(x: f32) -> f32 {
    let w = x.abs() as f64;
    let square = w * w;
    let y = log1p_wide(w + square / (1.0 + (1.0 + square).sqrt())) as f32;
    let y = if w == f64::INFINITY { f32::INFINITY } else { y };
    if x.is_nan() { x } else { y.copysign(x) }
}

#[inline(always)]
pub fn acosh(x: f32) -> f32 {
    let t = x as f64 - 1.0;
    let y = log1p_wide(t + (t * (t + 2.0)).sqrt()) as f32;
    let y = if x == f32::INFINITY { x } else { y };
    if x >= 1.0 { y } else { f32::NAN }
}

#[inline(always)]
pub fn atanh(x: f32) -> f32 {
    let w = x.abs() as f64;
    let y = 0.5 * log1p_wide(2.0 * w / (1.0 - w));
    let y = if w == 1.0 { f64::INFINITY } else { y } as f32;
    if w <= 1.0 { y.copysign(x) } else { f32::NAN }
}

#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    let (base, exponent) = (x.abs() as f64, y as f64);
    let (k, m) = log_split(base, base - 1.0);
    let log = k.mul_add(LN_2, m);
    let log_at_infinity = if base == f64::INFINITY {
        f64::INFINITY
    } else {
        log
    };
    let log = if base == 0.0 {
        f64::NEG_INFINITY
    } else {
        log_at_infinity
    };
    let z = limit(exponent * log, -150.0, 150.0);
    let (s, q) = exp_minus_one(z);
    let power = s.mul_add(q, s) as f32;

    special::pow(x, y, power)
}

#[inline(always)]
pub fn hypot(x: f32, y: f32) -> f32 {
    let (a, b) = (x as f64, y as f64);
    let root = a.mul_add(a, b * b).sqrt() as f32;
    if (x.abs() == f32::INFINITY) | (y.abs() == f32::INFINITY) {
        f32::INFINITY
    } else {
        root
    }
}

//! Logarithms: `x = 2^k m`, and `log m = 2 atanh((m - 1) / (m + 1))`.

use super::dd::{Dd, select};
use super::exp::{exp_dd, power_of_two, scale};
use crate::maths::real::poly;
use crate::maths::special;

/// `(2 atanh(s) - 2 s - 2/3 s^3) / s^5` in `s^2`, for |s| <= 3 - sqrt(8); error 2^-59.
const TAIL: [f64; 8] = [
    0.4,
    0.2857142857142938,
    0.2222222222164818,
    0.181818183370346,
    0.1538459479629481,
    0.13334813317048047,
    0.11706014884419476,
    0.11725409493632094,
];
const TWO_THIRDS: Dd = Dd {
    hi: 0.6666666666666666,
    lo: 3.700743415417188e-17,
};

/// 1 / log 2 and 1 / log 10.
pub(in crate::maths) const LOG2_E: Dd = Dd {
    hi: std::f64::consts::LOG2_E,
    lo: 2.0355273740931033e-17,
};
pub(in crate::maths) const LOG10_E: Dd = Dd {
    hi: std::f64::consts::LOG10_E,
    lo: 1.098319650216765e-17,
};
/// log 2 and its decimal logarithm with room for an exact product by an exponent.
const LN2_SHORT: Dd = Dd {
    hi: 0.6931471805598903,
    lo: 5.497923018708371e-14,
};
const LOG10_2_SHORT: Dd = Dd {
    hi: 0.30102999566395283,
    lo: 2.8363394551044964e-14,
};

/// `(k, x 2^-k)`, the second in [sqrt(1/2), sqrt(2)), for a positive normal `x`.
#[inline(always)]
pub(in crate::maths) fn exponent(x: f64) -> (f64, f64) {
    const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE_BITS: u64 = 1023 << 52;
    let shifted = x
        .to_bits()
        .wrapping_sub(SQRT_HALF_BITS)
        .wrapping_add(ONE_BITS);
    // 2^52 + the biased exponent, read as a number.
    let k = f64::from_bits((shifted >> 52) | 0x4330_0000_0000_0000) - (4503599627370496.0 + 1023.0);
    (
        k,
        f64::from_bits((shifted & 0x000f_ffff_ffff_ffff) + SQRT_HALF_BITS),
    )
}

/// `x` and the exponent that was taken out of it to make a subnormal normal.
#[inline(always)]
pub(in crate::maths) fn normalised(x: f64) -> (f64, f64) {
    let tiny = x < f64::MIN_POSITIVE;
    (
        if tiny { x * 18014398509481984.0 } else { x },
        if tiny { -54.0 } else { 0.0 },
    )
}

/// `2 atanh(n / d)` for |n / d| <= 3 - sqrt(8), good to 2^-64.
#[inline(always)]
fn twice_atanh(n: Dd, d: Dd) -> Dd {
    let s = n.over(d).renormalised();
    let square = Dd::product(s.hi, s.hi);
    let square = Dd::new(square.hi, square.lo + 2.0 * s.hi * s.lo);
    let c = Dd::ordered_sum(TWO_THIRDS.hi, square.hi * poly(square.hi, &TAIL));
    let cubic = s.times(square.times(Dd::new(c.hi, c.lo + TWO_THIRDS.lo)));
    s.scaled(2.0).plus_smaller(cubic)
}

/// `(k, x 2^-k)` as [`exponent`] has it, for a positive finite `x`, `x.hi` normal.
#[inline(always)]
fn exponent_dd(x: Dd) -> (f64, Dd) {
    let (k, m) = exponent(x.hi);
    // At the very top, where 2^-k is subnormal, no caller has a low part.
    let down = power_of_two(if k > 1022.0 { -1022.0 } else { -k });
    (k, Dd::new(m, x.lo * down))
}

/// `(k, log(x 2^-k))`, good to 2^-56.
#[inline(always)]
fn split(x: Dd) -> (f64, Dd) {
    let (k, m) = exponent_dd(x);
    let f = Dd::ordered_sum(m.hi - 1.0, m.lo);
    // log(1 + f) = f - f^2/2 + s (f^2/2 + tail), the first two terms exactly.
    let (s, tail) = tail(f.hi);
    let half = Dd::product(0.5 * f.hi, f.hi);
    let head = Dd::ordered_sum(f.hi, -half.hi);
    let low = (head.lo - half.lo) + (-f.lo).mul_add(f.hi, f.lo);
    (k, Dd::ordered_sum(head.hi, s.mul_add(half.hi + tail, low)))
}

/// `(k, log(x 2^-k))`, good to 2^-64.
#[inline(always)]
fn split_fine(x: Dd) -> (f64, Dd) {
    let (k, m) = exponent_dd(x);
    let d = Dd::sum(m.hi, 1.0);
    let n = Dd::ordered_sum(m.hi - 1.0, m.lo);
    (k, twice_atanh(n, Dd::new(d.hi, d.lo + m.lo)))
}

/// `s = f / (2 + f)` and `(2 atanh(s) - 2 s) / s`, for |s| <= 3 - sqrt(8).
#[inline(always)]
fn tail(f: f64) -> (f64, f64) {
    let s = f / (2.0 + f);
    let z = s * s;
    (s, z * z.mul_add(poly(z, &TAIL), TWO_THIRDS.hi))
}

/// `k log 2 + y`, for |y| below log(2)/2 or `k == 0`.
#[inline(always)]
pub(in crate::maths) fn join(k: f64, y: Dd) -> Dd {
    Dd::new(k * LN2_SHORT.hi, k * LN2_SHORT.lo).plus_smaller(y)
}

/// `log x` for a positive finite `x` that is zero or normal, plus `shift` times log 2; good to 2^-56.
#[inline(always)]
pub(in crate::maths) fn log_dd(x: Dd, shift: f64) -> Dd {
    let (k, y) = split(x);
    join(k + shift, y)
}

/// The same, good to 2^-63.
#[inline(always)]
pub(in crate::maths) fn log_fine(x: Dd, shift: f64) -> Dd {
    let (k, y) = split_fine(x);
    join(k + shift, y)
}

#[inline(always)]
pub fn log(x: f64) -> f64 {
    let (normal, shift) = normalised(x);
    let (k, m) = exponent(normal);
    let k = k + shift;
    let f = m - 1.0;
    let (s, tail) = tail(f);
    let half = 0.5 * f * f;
    let low = s.mul_add(half + tail, k * LN2_SHORT.lo);
    special::log(x, k.mul_add(LN2_SHORT.hi, f - (half - low)))
}

#[inline(always)]
pub fn log2(x: f64) -> f64 {
    let (normal, shift) = normalised(x);
    let (k, y) = split(Dd::new(normal, 0.0));
    special::log(
        x,
        Dd::new(k + shift, 0.0)
            .plus_smaller(y.times(LOG2_E))
            .value(),
    )
}

#[inline(always)]
pub fn log10(x: f64) -> f64 {
    let (normal, shift) = normalised(x);
    let (k, y) = split(Dd::new(normal, 0.0));
    let k = k + shift;
    let head = Dd::new(k * LOG10_2_SHORT.hi, k * LOG10_2_SHORT.lo);
    special::log(x, head.plus_smaller(y.times(LOG10_E)).value())
}

#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    let y = log_dd(Dd::sum(1.0, x), 0.0).value();
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == -1.0 { f64::NEG_INFINITY } else { y };
    let y = if x.abs() < 1e-20 { x } else { y };
    if x >= -1.0 { y } else { f64::NAN }
}

/// `log(e^x + e^y)` with an error of 2^-59 of the difference between the result and the larger argument.
#[inline(always)]
pub fn logaddexp(x: f64, y: f64) -> f64 {
    let swap = x < y;
    let (large, small) = (if swap { y } else { x }, if swap { x } else { y });
    let difference = Dd::sum(small, -large);
    // Infinities have no difference, and below e^-746 there is nothing to add.
    let counts = difference.hi > -746.0;
    let difference = select(counts, difference, Dd::new(-746.0, 0.0));
    let (k, p) = exp_dd(difference);
    let e = Dd::new(scale(p.hi, k), scale(p.lo, k));
    let head = Dd::ordered_sum(1.0, e.hi);
    let added = log_fine(Dd::new(head.hi, head.lo + e.lo), 0.0);
    // log1p of a small term is its series. It may be all there is.
    let series = e.plus_low(-0.5 * e.hi * e.hi);
    let added = select(e.hi < 1e-9, series, added);
    let total = Dd::sum(large, added.hi);
    let total = total.hi + (total.lo + added.lo);
    let total = if counts { total } else { large + 0.0 };
    if x.is_nan() | y.is_nan() {
        f64::NAN
    } else {
        total
    }
}

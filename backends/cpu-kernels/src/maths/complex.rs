//! Complex functions: branch cuts, signed zeros and special values of C's Annex G and the array API standard.
//!
//! `Complex<f32>` runs in `f64`. An odd function of `iz` is the same function with real and imaginary parts swapped
//! before and after, which keeps every signed zero and NaN in its place.

use super::double::dd::Dd;
use super::double::exp::{exp_dd, expm1_dd, limit, power_of_two, scale};
use super::double::hyperbolic::half_sum;
use super::double::inverse_trig::angle;
use super::double::log::{LOG2_E, LOG10_E, exponent, join, log_fine, normalised};
use super::double::trig::sin_cos_any;
use super::real::Real;
use num_complex::Complex;
use std::f64::consts::{FRAC_PI_2, LN_2};

type C64 = Complex<f64>;

/// Runs an `f64` body in the precision of `T`.
#[inline(always)]
fn lift<T: Real>(z: Complex<T>, f: impl Fn(C64) -> C64) -> Complex<T> {
    let w = f(C64::new(z.re.widen(), z.im.widen()));
    Complex::new(T::narrow(w.re), T::narrow(w.im))
}

#[inline(always)]
fn swap(z: C64) -> C64 {
    C64::new(z.im, z.re)
}

fn finite(z: C64) -> bool {
    z.re.is_finite() && z.im.is_finite()
}

/// `r * (cos y + i sin y)` for an infinite or zero `r`; a zero angle keeps its zero.
fn polar_limit(r: f64, y: f64) -> C64 {
    let (sin, cos) = (super::sin(y), super::cos(y));
    C64::new(r * cos, if y == 0.0 { y } else { r * sin })
}

/// Exponents beyond this one give infinity and zero, whatever sine or cosine they are multiplied with.
const GONE: f64 = 1500.0;

/// `p s 2^k` for a `p` of about 1; a subnormal `s` would lose bits if the scaling came last.
fn scaled_product(p: Dd, s: Dd, k: f64) -> f64 {
    let up = if s.hi.abs() < 1e-200 { 300.0 } else { 0.0 };
    // Past these limits of `scale` the product is out of range in any case.
    let k = limit(k - up, -2044.0, 2046.0);
    scale(p.times(s.scaled(power_of_two(up))).value(), k)
}

/// `(k, p)` with `(e^x + sign e^-x) / 2 = p 2^k` for `x >= 0`, large ones too.
fn half_growth(x: f64, sign: f64) -> (f64, Dd) {
    if x > 100.0 {
        let (k, p) = exp_dd(Dd::new(x.min(GONE), 0.0));
        return (k - 1.0, p);
    }
    let (k, p) = half_sum(x, sign);
    (k, Dd::new(p, 0.0))
}

fn exp_c(z: C64) -> C64 {
    if z.im == 0.0 {
        return C64::new(super::exp(z.re), z.im);
    }
    if finite(z) {
        let (k, p) = exp_dd(Dd::new(z.re.clamp(-GONE, GONE), 0.0));
        let (sin, cos) = sin_cos_any(z.im, 0.0);
        return C64::new(scaled_product(p, cos, k), scaled_product(p, sin, k));
    }
    match (
        z.re == f64::INFINITY,
        z.re == f64::NEG_INFINITY,
        z.im.is_finite(),
    ) {
        (true, _, true) => polar_limit(f64::INFINITY, z.im),
        (true, _, false) => C64::new(f64::INFINITY, f64::NAN),
        (_, true, true) => polar_limit(0.0, z.im),
        (_, true, false) => C64::new(0.0, 0.0f64.copysign(z.im)),
        _ => C64::new(f64::NAN, f64::NAN),
    }
}

fn expm1_c(z: C64) -> C64 {
    if z.im == 0.0 {
        // The standard has 0 for both zeros here, unlike the real function.
        return C64::new(super::expm1(z.re) + 0.0, z.im);
    }
    let e = exp_c(z);
    if !finite(z) || z.re > 40.0 || z.re < -40.0 {
        return C64::new(e.re - 1.0, e.im);
    }
    // expm1(x) cos(y) - 2 sin(y/2)^2
    let (_, cos) = sin_cos_any(z.im, 0.0);
    let (half, _) = sin_cos_any(0.5 * z.im, 0.0);
    let (growth, _) = expm1_dd(z.re);
    let (a, b) = (
        growth.renormalised().times(cos),
        half.times(half).scaled(-2.0),
    );
    let sum = Dd::sum(a.hi, b.hi);
    C64::new(sum.hi + (sum.lo + (a.lo + b.lo)), e.im)
}

/// `log |z|` for a finite `z` other than 0, accurate near the unit circle too.
fn log_abs(z: C64) -> Dd {
    let (x, y) = (z.re.abs(), z.im.abs());
    let (a, b) = if x > y { (x, y) } else { (y, x) };
    if (0.5..2.0).contains(&a) {
        // |z|^2 - 1 = (a - 1) (a + 1) + b^2
        let (p, q) = (
            Dd::sum(a, 1.0).times(Dd::new(a - 1.0, 0.0)),
            Dd::product(b, b),
        );
        return half_log1p(p, q);
    }
    let (normal, shift) = normalised(a);
    let (k, _) = exponent(normal);
    // Two steps down, for 2^-k itself may overflow.
    let down = |v: f64| scale(v, -(k + shift));
    let (p, q) = (Dd::product(down(a), down(a)), Dd::product(down(b), down(b)));
    let sum = Dd::sum(p.hi, q.hi);
    let log = log_fine(Dd::new(sum.hi, sum.lo + (p.lo + q.lo)), 0.0).scaled(0.5);
    join(k + shift, log)
}

/// `log(1 + p + q) / 2` for a sum above -1.
fn half_log1p(p: Dd, q: Dd) -> Dd {
    let sum = Dd::sum(p.hi, q.hi);
    let n = Dd::sum(sum.hi, sum.lo + (p.lo + q.lo));
    if n.hi.abs() < 1e-20 {
        return n.scaled(0.5);
    }
    let argument = Dd::sum(1.0, n.hi);
    log_fine(Dd::sum(argument.hi, argument.lo + n.lo), 0.0).scaled(0.5)
}

/// The logarithm to the base whose logarithm is `1 / per_e`.
fn log_c(z: C64, per_e: Dd) -> C64 {
    let arg = super::atan2(z.im, z.re);
    let size = if z.re.is_infinite() || z.im.is_infinite() {
        f64::INFINITY
    } else if z.re.is_nan() || z.im.is_nan() {
        f64::NAN
    } else if z.re == 0.0 && z.im == 0.0 {
        f64::NEG_INFINITY
    } else {
        log_abs(z).times(per_e).value()
    };
    let arg = if per_e.hi == 1.0 { arg } else { arg * per_e.hi };
    C64::new(size, arg)
}

const NATURAL: Dd = Dd { hi: 1.0, lo: 0.0 };

fn log1p_c(z: C64) -> C64 {
    let moved = C64::new(1.0 + z.re, z.im);
    let near_zero_of_log = (-1.5..=-0.5).contains(&z.re); // there 1 + x is exact
    if !finite(z) || near_zero_of_log || z.re.abs().max(z.im.abs()) > 1e17 {
        return log_c(moved, NATURAL);
    }
    // |1 + z|^2 - 1 = x (x + 2) + y^2
    let (p, q) = (
        Dd::sum(2.0, z.re).times(Dd::new(z.re, 0.0)),
        Dd::product(z.im, z.im),
    );
    let size = half_log1p(p, q).value();
    C64::new(
        if z.re == 0.0 && z.im == 0.0 {
            z.re
        } else {
            size
        },
        super::atan2(z.im, moved.re),
    )
}

fn sinh_c(z: C64) -> C64 {
    if z.im == 0.0 {
        return C64::new(super::sinh(z.re), z.im);
    }
    if finite(z) {
        let (sin, cos) = sin_cos_any(z.im, 0.0);
        let (k, p) = half_growth(z.re.abs(), 1.0);
        let im = scaled_product(p, sin, k);
        let re = if z.re.abs() < 1.0 {
            super::sinh(z.re) * cos.value()
        } else {
            let (k, p) = half_growth(z.re.abs(), -1.0);
            scaled_product(p.scaled(1.0f64.copysign(z.re)), cos, k)
        };
        return C64::new(re, im);
    }
    if z.re == 0.0 {
        C64::new(z.re, f64::NAN)
    } else if z.re.is_infinite() && z.im.is_finite() {
        let w = polar_limit(f64::INFINITY, z.im);
        C64::new(w.re * z.re.signum(), w.im)
    } else {
        C64::new(if z.re.is_infinite() { z.re } else { f64::NAN }, f64::NAN)
    }
}

fn cosh_c(z: C64) -> C64 {
    if z.im == 0.0 {
        // The imaginary part is sinh(x) sin(y); a NaN has no sign to give.
        let im = if z.re.is_nan() {
            z.im
        } else {
            z.im * 1.0f64.copysign(z.re)
        };
        return C64::new(super::cosh(z.re), im);
    }
    if finite(z) {
        let (sin, cos) = sin_cos_any(z.im, 0.0);
        let (k, p) = half_growth(z.re.abs(), 1.0);
        let re = scaled_product(p, cos, k);
        let im = if z.re.abs() < 1.0 {
            super::sinh(z.re) * sin.value()
        } else {
            let (k, p) = half_growth(z.re.abs(), -1.0);
            scaled_product(p.scaled(1.0f64.copysign(z.re)), sin, k)
        };
        return C64::new(re, im);
    }
    if z.re == 0.0 {
        C64::new(f64::NAN, z.re)
    } else if z.re.is_infinite() && z.im.is_finite() {
        let w = polar_limit(f64::INFINITY, z.im);
        C64::new(w.re, w.im * z.re.signum())
    } else {
        C64::new(
            if z.re.is_infinite() {
                f64::INFINITY
            } else {
                f64::NAN
            },
            f64::NAN,
        )
    }
}

fn tanh_c(z: C64) -> C64 {
    if z.im == 0.0 {
        return C64::new(super::tanh(z.re), z.im);
    }
    if z.re == 0.0 && !z.im.is_finite() {
        return C64::new(z.re, f64::NAN);
    }
    if z.re.is_infinite() {
        // The zero has the sign of y here, where C's has that of sin 2y.
        return C64::new(1.0f64.copysign(z.re), 0.0f64.copysign(z.im));
    }
    if z.re.abs() > 22.0 && z.im.is_finite() {
        // cosh and |sinh| are equal here; the imaginary part is 4 sin y cos y e^(-2|x|).
        let turn = super::sin(z.im) * super::cos(z.im);
        return C64::new(
            1.0f64.copysign(z.re),
            4.0 * turn * super::exp(-2.0 * z.re.abs()),
        );
    }
    let (sin, cos) = sin_cos_any(z.im, 0.0);
    let (sin, cos) = (sin.value(), cos.value());
    let (sinh, cosh) = (super::sinh(z.re), super::cosh(z.re));
    let d = sinh * sinh + cos * cos;
    C64::new(sinh * cosh / d, sin * cos / d)
}

/// `sqrt` of a finite number, scaled so that nothing overflows or underflows on the way.
fn sqrt_finite(z: C64) -> C64 {
    if z.re == 0.0 && z.im == 0.0 {
        return C64::new(0.0, z.im);
    }
    let larger = z.re.abs().max(z.im.abs());
    let k = if larger > 1e150 {
        -200.0
    } else if larger < 1e-150 {
        400.0
    } else {
        0.0
    };
    let (x, y) = (z.re * power_of_two(k), z.im * power_of_two(k));
    let s = (0.5 * (x.abs() + super::hypot(x, y))).sqrt() * power_of_two(-0.5 * k);
    let t = z.im / (2.0 * s);
    if x.is_sign_positive() {
        C64::new(s, t)
    } else {
        C64::new(t.abs(), s.copysign(y))
    }
}

fn sqrt_c(z: C64) -> C64 {
    if finite(z) {
        return sqrt_finite(z);
    }
    if z.im.is_infinite() {
        C64::new(f64::INFINITY, z.im)
    } else if z.re == f64::INFINITY {
        C64::new(
            f64::INFINITY,
            if z.im.is_nan() {
                z.im
            } else {
                0.0f64.copysign(z.im)
            },
        )
    } else if z.re == f64::NEG_INFINITY {
        C64::new(
            if z.im.is_nan() { z.im } else { 0.0 },
            f64::INFINITY.copysign(z.im),
        )
    } else {
        C64::new(f64::NAN, f64::NAN)
    }
}

/// `log(2 |z|)` where it is the hyperbolic part of an inverse function: beyond 1e150.
fn log_twice(z: C64) -> f64 {
    join(1.0, log_abs(z)).value()
}

/// Inverse sine by Kahan's formulas: none of their sums cancels (W. Kahan, "Branch cuts", 1987).
fn asin_c(z: C64) -> C64 {
    let (x, y) = (z.re, z.im);
    if finite(z) && x.abs().max(y.abs()) < 1e150 {
        let (a, b) = (
            sqrt_finite(C64::new(1.0 - x, -y)),
            sqrt_finite(C64::new(1.0 + x, y)),
        );
        let re = super::atan2(x, a.re * b.re - a.im * b.im);
        return C64::new(re, super::asinh(a.re * b.im - a.im * b.re));
    }
    if finite(z) {
        C64::new(super::atan2(x, y.abs()), log_twice(z).copysign(y))
    } else if x == 0.0 {
        C64::new(x, y)
    } else if x.is_infinite() || y.is_infinite() {
        // atan2 gives the quarter turns, and a NaN where a part is one.
        C64::new(super::atan2(x, y.abs()), f64::INFINITY.copysign(y))
    } else {
        C64::new(f64::NAN, f64::NAN)
    }
}

fn acos_c(z: C64) -> C64 {
    let (x, y) = (z.re, z.im);
    if finite(z) && x.abs().max(y.abs()) < 1e150 {
        let (a, b) = (
            sqrt_finite(C64::new(1.0 - x, -y)),
            sqrt_finite(C64::new(1.0 + x, y)),
        );
        return C64::new(
            2.0 * super::atan2(a.re, b.re),
            super::asinh(b.re * a.im - b.im * a.re),
        );
    }
    if finite(z) {
        C64::new(super::atan2(y.abs(), x), -log_twice(z).copysign(y))
    } else if x == 0.0 && y.is_nan() {
        C64::new(FRAC_PI_2, y)
    } else if x.is_infinite() || y.is_infinite() {
        C64::new(super::atan2(y.abs(), x), -f64::INFINITY.copysign(y))
    } else {
        C64::new(f64::NAN, f64::NAN)
    }
}

fn acosh_c(z: C64) -> C64 {
    let w = acos_c(z);
    C64::new(w.im.abs(), w.re.copysign(z.im))
}

fn atanh_c(z: C64) -> C64 {
    let (x, y) = (z.re, z.im);
    let quarter = FRAC_PI_2.copysign(y);
    if !finite(z) {
        return if y.is_infinite() {
            C64::new(0.0f64.copysign(x), quarter)
        } else if x.is_infinite() {
            C64::new(0.0f64.copysign(x), if y.is_nan() { y } else { quarter })
        } else {
            C64::new(if x == 0.0 { x } else { f64::NAN }, f64::NAN)
        };
    }
    let larger = x.abs().max(y.abs());
    if larger > 1e150 {
        // 1 / z, its denominator brought into range.
        let (a, b) = (x / larger, y / larger);
        return C64::new(a / (a * a + b * b) / larger, quarter);
    }
    if y == 0.0 && x.abs() < 1.0 {
        return C64::new(super::atanh(x), y);
    }
    let from_one = 1.0 - x.abs();
    let d = from_one * from_one + y * y;
    let size = if from_one == 0.0 && y.abs() < 1e-140 {
        0.5 * (LN_2 - super::log(y.abs()))
    } else {
        0.25 * super::log1p(4.0 * x.abs() / d)
    };
    // 1 - x^2 - y^2, which cancels near the unit circle.
    let (p, q) = (
        Dd::sum(1.0, x.abs()).times(Dd::new(from_one, 0.0)),
        Dd::product(y, y),
    );
    let sum = Dd::sum(p.hi, -q.hi);
    let inner = sum.hi + (sum.lo + (p.lo - q.lo));
    C64::new(size.copysign(x), 0.5 * super::atan2(2.0 * y, inner))
}

/// `z / w` with one common scaling of each operand.
fn divide_c(z: C64, w: C64) -> C64 {
    if w.re == 0.0 && w.im == 0.0 {
        return C64::new(z.re / w.re.abs(), z.im / w.re.abs());
    }
    if finite(z) && finite(w) {
        // Of size 2^up: the quotient's smaller part then loses nothing before it is scaled back.
        let scaled = |z: C64, up: f64| {
            let larger = z.re.abs().max(z.im.abs());
            let (normal, shift) = normalised(larger);
            let k = if larger == 0.0 {
                0.0
            } else {
                exponent(normal).0 + shift - up
            };
            (C64::new(scale(z.re, -k), scale(z.im, -k)), k)
        };
        let ((z, j), (w, k)) = (scaled(z, 200.0), scaled(w, 0.0));
        let dot = |a, b, c, d| add(Dd::product(a, b), Dd::product(c, d));
        let d = dot(w.re, w.re, w.im, w.im);
        let re = dot(z.re, w.re, z.im, w.im).over(d).value();
        let im = dot(z.im, w.re, -z.re, w.im).over(d).value();
        let k = limit(j - k, -2000.0, 2000.0);
        return C64::new(scale(re, k), scale(im, k));
    }
    // An infinite operand leaves a direction: its parts become ±1 and the others ±0.
    let direction = |z: C64| {
        let part = |v: f64| {
            if v.is_infinite() {
                1.0f64.copysign(v)
            } else {
                0.0f64.copysign(v)
            }
        };
        C64::new(part(z.re), part(z.im))
    };
    let infinite = |z: C64| z.re.is_infinite() || z.im.is_infinite();
    let (z, w, factor) = if infinite(z) && finite(w) {
        (direction(z), w, f64::INFINITY)
    } else if finite(z) && infinite(w) {
        (z, direction(w), 0.0)
    } else {
        return C64::new(f64::NAN, f64::NAN);
    };
    C64::new(
        factor * (z.re * w.re + z.im * w.im),
        factor * (z.im * w.re - z.re * w.im),
    )
}

/// `1 / z` lies in the conjugate's quadrant, zeros included.
fn reciprocal_c(z: C64) -> C64 {
    let w = divide_c(C64::new(1.0, 0.0), z);
    C64::new(w.re.copysign(z.re), w.im.copysign(-z.im))
}

/// Infinite parts as in NumPy: one gives its direction, two give NaN.
fn sign_c(z: C64) -> C64 {
    if z.re == 0.0 && z.im == 0.0 {
        return C64::new(0.0, 0.0);
    }
    if z.re.is_infinite() && z.im.is_infinite() {
        return C64::new(f64::NAN, f64::NAN);
    }
    if z.re.is_infinite() {
        return C64::new(z.re.signum(), 0.0);
    }
    if z.im.is_infinite() {
        return C64::new(0.0, z.im.signum());
    }
    // The magnitude overflows for the largest numbers, and is coarse for the smallest.
    let larger = z.re.abs().max(z.im.abs());
    let k = if larger > 1e300 {
        -10.0
    } else if larger < 1e-290 {
        200.0
    } else {
        0.0
    };
    let (x, y) = (z.re * power_of_two(k), z.im * power_of_two(k));
    let size = super::hypot(x, y);
    C64::new(x / size, y / size)
}

fn add(a: Dd, b: Dd) -> Dd {
    let sum = Dd::sum(a.hi, b.hi);
    Dd::new(sum.hi, sum.lo + (a.lo + b.lo)).renormalised()
}

fn pow_c(z: C64, w: C64) -> C64 {
    if w.im == 0.0 && w.re == 0.0 {
        return C64::new(1.0, 0.0);
    }
    if z.re == 0.0 && z.im == 0.0 {
        let part = if w.re > 0.0 { 0.0 } else { f64::NAN };
        return C64::new(part, part);
    }
    if w.im == 0.0 && w.re.trunc() == w.re && w.re.abs() < 100.0 {
        return powi(z, w.re as i32);
    }
    if !finite(z) || !finite(w) {
        let log = log_c(z, NATURAL);
        // An unknown angle is bounded: it does not change the size of an infinity's power.
        let unknown = log.re.is_infinite() && log.im.is_nan() && w.im.is_finite();
        let damping = if unknown { 0.0 } else { w.im * log.im };
        return exp_c(C64::new(
            w.re * log.re - damping,
            w.re * log.im + w.im * log.re,
        ));
    }
    // e^(w log z), the exponent in double-double since its size is its error.
    let (size, arg) = (log_abs(z).renormalised(), angle(z.im, z.re).renormalised());
    // The largest exponents are taken smaller, for their products with a logarithm may overflow.
    let down = if w.re.abs().max(w.im.abs()) > 1e290 {
        power_of_two(-20.0)
    } else {
        1.0
    };
    let (u, v) = (Dd::new(w.re * down, 0.0), Dd::new(w.im * down, 0.0));
    let growth = add(size.times(u), arg.times(v).negated());
    let turn = add(arg.times(u), size.times(v));
    let growth = if growth.hi.abs() > GONE * down {
        Dd::new(GONE.copysign(growth.hi), 0.0)
    } else {
        growth.scaled(1.0 / down)
    };
    if turn.hi.abs() > f64::MAX * down {
        // An angle out of range points nowhere, which matters only if there is a length.
        let part = if growth.hi == -GONE { 0.0 } else { f64::NAN };
        return C64::new(part, part);
    }
    let (k, p) = exp_dd(growth);
    let (sin, cos) = sin_cos_dd(turn.scaled(1.0 / down));
    C64::new(scaled_product(p, cos, k), scaled_product(p, sin, k))
}

/// The sine and cosine of an angle whose low part may be many turns, as it is in a huge angle.
fn sin_cos_dd(angle: Dd) -> (Dd, Dd) {
    if angle.lo.abs() < 1e-10 {
        return sin_cos_any(angle.hi, angle.lo);
    }
    let (sin, cos) = sin_cos_any(angle.hi, 0.0);
    let (sin_low, cos_low) = sin_cos_any(angle.lo, 0.0);
    (
        add(sin.times(cos_low), cos.times(sin_low)),
        add(cos.times(cos_low), sin.times(sin_low).negated()),
    )
}

/// An integral power by squaring, as NumPy computes it.
fn powi(z: C64, n: i32) -> C64 {
    let (mut power, mut base, mut left) = (C64::new(1.0, 0.0), z, n.unsigned_abs());
    let mut first = true;
    while left > 0 {
        if left & 1 == 1 {
            power = if first { base } else { multiply(power, base) };
            first = false;
        }
        left >>= 1;
        if left > 0 {
            base = multiply(base, base);
        }
    }
    if n < 0 {
        divide_c(C64::new(1.0, 0.0), power)
    } else {
        power
    }
}

macro_rules! lifted {
    ($($(#[$doc:meta])* $name:ident => $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name<T: Real>(z: Complex<T>) -> Complex<T> {
            lift(z, $body)
        }
    )*};
}

lifted! {
    /// `e^z`.
    exp => exp_c;
    /// `e^z - 1`, without cancellation for small `z`.
    expm1 => expm1_c;
    /// The natural logarithm; cut along the negative real axis.
    log => |z| log_c(z, NATURAL);
    /// `log(1 + z)`; cut along the real axis below -1.
    log1p => log1p_c;
    /// The binary logarithm; cut along the negative real axis.
    log2 => |z| log_c(z, LOG2_E);
    /// The decimal logarithm; cut along the negative real axis.
    log10 => |z| log_c(z, LOG10_E);
    /// The sine.
    sin => |z| swap(sinh_c(swap(z)));
    /// The cosine.
    cos => |z| cosh_c(swap(z)).conj();
    /// The tangent.
    tan => |z| swap(tanh_c(swap(z)));
    /// The hyperbolic sine.
    sinh => sinh_c;
    /// The hyperbolic cosine.
    cosh => cosh_c;
    /// The hyperbolic tangent.
    tanh => tanh_c;
    /// The inverse sine; cut along the real axis outside [-1, 1].
    asin => asin_c;
    /// The inverse cosine; cut along the real axis outside [-1, 1].
    acos => acos_c;
    /// The inverse tangent; cut along the imaginary axis outside [-i, i].
    atan => |z| swap(atanh_c(swap(z)));
    /// The inverse hyperbolic sine; cut along the imaginary axis outside [-i, i].
    asinh => |z| swap(asin_c(swap(z)));
    /// The inverse hyperbolic cosine; cut along the real axis below 1.
    acosh => acosh_c;
    /// The inverse hyperbolic tangent; cut along the real axis outside [-1, 1].
    atanh => atanh_c;
    /// The square root with a real part that is not negative; cut along the negative real axis.
    sqrt => sqrt_c;
    /// `z / |z|`, or 0 for 0.
    sign => sign_c;
    /// `1 / z`, without needless overflow.
    reciprocal => reciprocal_c;
}

/// `z / w`, without needless overflow; by 0 as NumPy does, by and of infinities as Annex G does.
#[inline]
pub fn divide<T: Real>(z: Complex<T>, w: Complex<T>) -> Complex<T> {
    let w = C64::new(w.re.widen(), w.im.widen());
    lift(z, |z| divide_c(z, w))
}

/// `z^w` on the principal branch: `e^(w log z)`, and by multiplication for integral exponents below 100.
#[inline]
pub fn pow<T: Real>(z: Complex<T>, w: Complex<T>) -> Complex<T> {
    let w = C64::new(w.re.widen(), w.im.widen());
    lift(z, |z| pow_c(z, w))
}

/// `|z|`, without overflow.
#[inline(always)]
pub fn abs<T: Real>(z: Complex<T>) -> T {
    super::hypot(z.re, z.im)
}

/// `z w` by the plain formula, as NumPy has it: infinities may give NaN.
#[inline(always)]
pub fn multiply<T: Real>(z: Complex<T>, w: Complex<T>) -> Complex<T> {
    Complex::new(z.re * w.re - z.im * w.im, z.re * w.im + z.im * w.re)
}

/// `z z` by the plain formula.
#[inline(always)]
pub fn square<T: Real>(z: Complex<T>) -> Complex<T> {
    multiply(z, z)
}

//! Complex functions: the standard's tables, branch cuts by signed zeros, and the extremes of the range.

use super::same;
use crate::maths::complex::*;
use num_complex::Complex;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, PI};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn c(re: f64, im: f64) -> Complex<f64> {
    Complex::new(re, im)
}

fn equal(a: Complex<f64>, b: Complex<f64>) -> bool {
    same(a.re, b.re) && same(a.im, b.im)
}

/// Equal where the standard leaves the sign of zeros or infinities of NaN results open.
fn equal_size(a: Complex<f64>, b: Complex<f64>) -> bool {
    let part = |a: f64, b: f64| a.is_nan() && b.is_nan() || a.abs() == b.abs();
    part(a.re, b.re) && part(a.im, b.im)
}

/// `f(x, y) == (u, v)` for each row, in both precisions, at the conjugate, and at the negative of an odd function.
fn check(
    name: &str,
    f: fn(Complex<f64>) -> Complex<f64>,
    g: fn(Complex<f32>) -> Complex<f32>,
    odd: bool,
    rows: &[[f64; 4]],
) {
    for &[x, y, u, v] in rows {
        let (z, w) = (c(x, y), c(u, v));
        // Signs are open beside a NaN, and for the small part beside an infinity or NaN argument.
        let open = [x, y, u, v].iter().any(|p| p.is_nan());
        let equal = if open { equal_size } else { equal };
        assert!(equal(f(z), w), "{name}({z}) = {}, not {w}", f(z));
        assert!(
            equal(f(z.conj()), w.conj()),
            "{name}({}) = {}, not {}",
            z.conj(),
            f(z.conj()),
            w.conj()
        );
        if odd {
            assert!(equal(f(-z), -w), "{name}({}) = {}, not {}", -z, f(-z), -w);
        }
        let narrow = g(Complex::new(x as f32, y as f32));
        let back = c(narrow.re as f64, narrow.im as f64);
        assert!(
            equal(back, c(u as f32 as f64, v as f32 as f64)),
            "{name}({z}) = {narrow} in f32, not {w}"
        );
    }
}

macro_rules! tables {
    ($($name:ident $odd:literal: $([$x:expr, $y:expr => $u:expr, $v:expr])+;)+) => {$(
        check(stringify!($name), $name, $name, $odd, &[$([$x, $y, $u, $v]),+]);
    )+};
}

#[test]
fn special_values() {
    tables! {
        exp false:
            [0.0, 0.0 => 1.0, 0.0] [-0.0, 0.0 => 1.0, 0.0] [1.0, INF => NAN, NAN] [1.0, NAN => NAN, NAN]
            [INF, 0.0 => INF, 0.0] [-INF, 1.0 => 0.0, 0.0] [-INF, 2.0 => -0.0, 0.0] [INF, 1.0 => INF, INF]
            [INF, 2.0 => -INF, INF] [-INF, INF => 0.0, 0.0] [INF, INF => INF, NAN] [-INF, NAN => 0.0, 0.0]
            [INF, NAN => INF, NAN] [NAN, 0.0 => NAN, 0.0] [NAN, 1.0 => NAN, NAN] [NAN, NAN => NAN, NAN];
        expm1 false:
            [0.0, 0.0 => 0.0, 0.0] [-0.0, 0.0 => 0.0, 0.0] [1.0, INF => NAN, NAN] [1.0, NAN => NAN, NAN]
            [INF, 0.0 => INF, 0.0] [-INF, 1.0 => -1.0, 0.0] [-INF, 2.0 => -1.0, 0.0] [INF, 1.0 => INF, INF]
            [INF, 2.0 => -INF, INF] [INF, INF => INF, NAN] [-INF, NAN => -1.0, 0.0] [INF, NAN => INF, NAN]
            [NAN, 0.0 => NAN, 0.0] [NAN, 1.0 => NAN, NAN] [NAN, NAN => NAN, NAN];
        log false:
            [-0.0, 0.0 => -INF, PI] [0.0, 0.0 => -INF, 0.0] [1.0, INF => INF, FRAC_PI_2] [1.0, NAN => NAN, NAN]
            [-INF, 1.0 => INF, PI] [INF, 1.0 => INF, 0.0] [-INF, INF => INF, 3.0 * FRAC_PI_4]
            [INF, INF => INF, FRAC_PI_4] [INF, NAN => INF, NAN] [-INF, NAN => INF, NAN] [NAN, 1.0 => NAN, NAN]
            [NAN, INF => INF, NAN] [NAN, NAN => NAN, NAN] [1.0, 0.0 => 0.0, 0.0] [-1.0, 0.0 => 0.0, PI];
        log2 false: [8.0, 0.0 => 3.0, 0.0] [0.0, 0.0 => -INF, 0.0] [INF, 1.0 => INF, 0.0] [NAN, 1.0 => NAN, NAN];
        log10 false: [1000.0, 0.0 => 3.0, 0.0] [0.0, 0.0 => -INF, 0.0] [INF, 1.0 => INF, 0.0] [NAN, INF => INF, NAN];
        log1p false:
            [0.0, 0.0 => 0.0, 0.0] [-1.0, 0.0 => -INF, 0.0] [1.0, INF => INF, FRAC_PI_2] [1.0, NAN => NAN, NAN]
            [-INF, 1.0 => INF, PI] [INF, 1.0 => INF, 0.0] [-INF, INF => INF, 3.0 * FRAC_PI_4]
            [INF, INF => INF, FRAC_PI_4] [INF, NAN => INF, NAN] [NAN, 1.0 => NAN, NAN] [NAN, INF => INF, NAN]
            [NAN, NAN => NAN, NAN] [-2.0, 0.0 => 0.0, PI];
        sinh true:
            [0.0, 0.0 => 0.0, 0.0] [0.0, INF => 0.0, NAN] [0.0, NAN => 0.0, NAN] [1.0, INF => NAN, NAN]
            [1.0, NAN => NAN, NAN] [INF, 0.0 => INF, 0.0] [INF, 1.0 => INF, INF] [INF, 2.0 => -INF, INF]
            [INF, INF => INF, NAN] [INF, NAN => INF, NAN] [NAN, 0.0 => NAN, 0.0] [NAN, 1.0 => NAN, NAN];
        sin true:
            [0.0, 0.0 => 0.0, 0.0] [INF, 0.0 => NAN, 0.0] [NAN, 0.0 => NAN, 0.0] [INF, 1.0 => NAN, NAN]
            [0.0, INF => 0.0, INF] [1.0, INF => INF, INF] [INF, INF => NAN, INF] [0.0, NAN => 0.0, NAN];
        cosh false:
            [0.0, 0.0 => 1.0, 0.0] [0.0, INF => NAN, 0.0] [0.0, NAN => NAN, 0.0] [1.0, INF => NAN, NAN]
            [1.0, NAN => NAN, NAN] [INF, 0.0 => INF, 0.0] [INF, 1.0 => INF, INF] [INF, 2.0 => -INF, INF]
            [INF, INF => INF, NAN] [INF, NAN => INF, NAN] [NAN, 0.0 => NAN, 0.0] [NAN, 1.0 => NAN, NAN];
        cos false:
            [0.0, 0.0 => 1.0, -0.0] [INF, 1.0 => NAN, NAN] [0.0, INF => INF, -0.0] [1.0, INF => INF, -INF]
            [INF, 0.0 => NAN, 0.0] [NAN, INF => INF, NAN];
        tanh true:
            [0.0, 0.0 => 0.0, 0.0] [1.0, INF => NAN, NAN] [100.0, INF => NAN, NAN] [0.0, INF => 0.0, NAN]
            [1.0, NAN => NAN, NAN] [0.0, NAN => 0.0, NAN] [INF, 1.0 => 1.0, 0.0] [INF, 2.0 => 1.0, 0.0]
            [INF, INF => 1.0, 0.0] [INF, NAN => 1.0, 0.0] [NAN, 0.0 => NAN, 0.0] [NAN, 1.0 => NAN, NAN]
            [NAN, NAN => NAN, NAN] [400.0, 1.0 => 1.0, 0.0];
        tan true: [0.0, 0.0 => 0.0, 0.0] [1.0, INF => 0.0, 1.0] [INF, 1.0 => NAN, NAN] [0.0, NAN => 0.0, NAN];
        asin true:
            [0.0, 0.0 => 0.0, 0.0] [0.0, INF => 0.0, INF] [1.0, INF => 0.0, INF] [INF, 1.0 => FRAC_PI_2, INF]
            [INF, INF => FRAC_PI_4, INF] [NAN, INF => NAN, INF] [0.0, NAN => 0.0, NAN] [1.0, NAN => NAN, NAN]
            [INF, NAN => NAN, INF] [NAN, 0.0 => NAN, NAN];
        acos false:
            [0.0, 0.0 => FRAC_PI_2, -0.0] [-0.0, 0.0 => FRAC_PI_2, -0.0] [0.0, NAN => FRAC_PI_2, NAN]
            [1.0, INF => FRAC_PI_2, -INF] [1.0, NAN => NAN, NAN] [-INF, 1.0 => PI, -INF] [INF, 1.0 => 0.0, -INF]
            [-INF, INF => 3.0 * FRAC_PI_4, -INF] [INF, INF => FRAC_PI_4, -INF] [INF, NAN => NAN, INF]
            [-INF, NAN => NAN, INF] [NAN, 1.0 => NAN, NAN] [NAN, INF => NAN, -INF] [NAN, NAN => NAN, NAN]
            [1.0, 0.0 => 0.0, -0.0] [-1.0, 0.0 => PI, -0.0];
        acosh false:
            [0.0, 0.0 => 0.0, FRAC_PI_2] [-0.0, 0.0 => 0.0, FRAC_PI_2] [1.0, INF => INF, FRAC_PI_2]
            [0.0, NAN => NAN, FRAC_PI_2] [1.0, NAN => NAN, NAN] [-INF, 1.0 => INF, PI] [INF, 1.0 => INF, 0.0]
            [-INF, INF => INF, 3.0 * FRAC_PI_4] [INF, INF => INF, FRAC_PI_4] [INF, NAN => INF, NAN]
            [NAN, 1.0 => NAN, NAN] [NAN, INF => INF, NAN] [NAN, NAN => NAN, NAN];
        asinh true:
            [0.0, 0.0 => 0.0, 0.0] [1.0, INF => INF, FRAC_PI_2] [1.0, NAN => NAN, NAN] [INF, 1.0 => INF, 0.0]
            [INF, INF => INF, FRAC_PI_4] [INF, NAN => INF, NAN] [NAN, 0.0 => NAN, 0.0] [NAN, 1.0 => NAN, NAN]
            [NAN, INF => INF, NAN] [NAN, NAN => NAN, NAN];
        atanh true:
            [0.0, 0.0 => 0.0, 0.0] [0.0, NAN => 0.0, NAN] [1.0, 0.0 => INF, 0.0] [1.0, INF => 0.0, FRAC_PI_2]
            [1.0, NAN => NAN, NAN] [INF, 1.0 => 0.0, FRAC_PI_2] [INF, INF => 0.0, FRAC_PI_2] [INF, NAN => 0.0, NAN]
            [NAN, 1.0 => NAN, NAN] [NAN, INF => 0.0, FRAC_PI_2] [NAN, NAN => NAN, NAN];
        atan true:
            [0.0, 0.0 => 0.0, 0.0] [0.0, 1.0 => 0.0, INF] [INF, 1.0 => FRAC_PI_2, 0.0] [1.0, INF => FRAC_PI_2, 0.0]
            [NAN, 0.0 => NAN, 0.0] [INF, NAN => FRAC_PI_2, 0.0];
        sqrt false:
            [0.0, 0.0 => 0.0, 0.0] [-0.0, 0.0 => 0.0, 0.0] [1.0, INF => INF, INF] [NAN, INF => INF, INF]
            [1.0, NAN => NAN, NAN] [-INF, 1.0 => 0.0, INF] [INF, 1.0 => INF, 0.0] [-INF, NAN => NAN, INF]
            [INF, NAN => INF, NAN] [NAN, 1.0 => NAN, NAN] [NAN, NAN => NAN, NAN] [-4.0, 0.0 => 0.0, 2.0]
            [0.0, 8.0 => 2.0, 2.0] [3.0, 4.0 => 2.0, 1.0];
        sign true:
            [3.0, 4.0 => 0.6, 0.8] [INF, INF => NAN, NAN] [NAN, 1.0 => NAN, NAN];
        reciprocal true:
            [3.0, 4.0 => 0.12, -0.16] [2.0, 0.0 => 0.5, -0.0] [INF, 1.0 => 0.0, -0.0] [INF, INF => 0.0, -0.0]
            [NAN, 1.0 => NAN, NAN];
        square false: [3.0, 4.0 => -7.0, 24.0] [0.0, 2.0 => -4.0, 0.0];
    }
    assert!(equal(sign(c(-0.0, -0.0)), c(0.0, 0.0)));
    assert!(equal(sign(c(-INF, 1.0)), c(-1.0, 0.0)) && equal(sign(c(2.0, -INF)), c(0.0, -1.0)));
}

/// On a cut the sign of zero tells the side.
#[test]
fn branch_cuts() {
    for x in [1.5, 2.0, 1e10] {
        for y in [0.0, -0.0] {
            let side = 1.0f64.copysign(y);
            assert_eq!(log(c(-x, y)).im, PI * side);
            assert_eq!(log1p(c(-1.0 - x, y)).im, PI * side);
            assert_eq!(sqrt(c(-x * x, y)).im, x * side);
            assert_eq!(asin(c(x, y)).re, FRAC_PI_2);
            assert_eq!(asin(c(-x, y)).im.is_sign_negative(), y.is_sign_negative());
            assert_eq!(acos(c(x, y)).im.is_sign_negative(), !y.is_sign_negative());
            assert_eq!(acos(c(-x, y)).re, PI);
            assert_eq!(acosh(c(-x, y)).im, PI * side);
            assert_eq!(acosh(c(0.5, y)).im.is_sign_negative(), y.is_sign_negative());
            assert_eq!(atanh(c(x, y)).im, FRAC_PI_2 * side);
            assert_eq!(atan(c(y, x)).re, FRAC_PI_2 * side);
            assert_eq!(asinh(c(y, x)).re.is_sign_negative(), y.is_sign_negative());
        }
    }
}

#[test]
fn division() {
    let close = |z: Complex<f64>, re: f64, im: f64| {
        (z.re - re).abs() <= 1e-15 * re.abs() && (z.im - im).abs() <= 1e-15 * im.abs()
    };
    assert!(equal(divide(c(5.0, 10.0), c(1.0, 2.0)), c(5.0, 0.0)));
    assert!(close(divide(c(1e308, 1e308), c(1e308, 1e308)), 1.0, 0.0));
    assert!(equal(divide(c(1e300, 1e300), c(1e-10, 0.0)), c(INF, INF)));
    assert!(close(divide(c(1.0, 1.0), c(1e-308, 1e-308)), 1e308, 0.0));
    assert!(close(
        divide(c(1e-300, 2e-300), c(1e-300, 1e-300)),
        1.5,
        0.5
    ));
    assert!(close(
        divide(c(1e-310, 1e-310), c(1e-310, 1e-310)),
        1.0,
        0.0
    ));
    // By zero as NumPy does it, with infinities as Annex G does.
    assert!(equal(divide(c(1.0, -1.0), c(0.0, 0.0)), c(INF, -INF)));
    assert!(equal(divide(c(1.0, 0.0), c(0.0, 0.0)), c(INF, NAN)));
    assert!(equal(divide(c(0.0, 0.0), c(0.0, 0.0)), c(NAN, NAN)));
    assert!(equal(divide(c(INF, 1.0), c(1.0, 1.0)), c(INF, -INF)));
    assert!(equal(divide(c(1.0, 1.0), c(INF, 0.0)), c(0.0, 0.0)));
    assert!(equal(divide(c(INF, 0.0), c(INF, 0.0)), c(NAN, NAN)));
    assert!(equal(divide(c(NAN, 0.0), c(1.0, 1.0)), c(NAN, NAN)));
    let z = divide(Complex::new(1f32, 2.0), Complex::new(3.0, -1.0));
    assert_eq!(z, Complex::new(0.1, 0.7));
}

#[test]
fn powers() {
    assert!(equal(pow(c(0.0, 0.0), c(0.0, 0.0)), c(1.0, 0.0)));
    assert!(equal(pow(c(NAN, 1.0), c(0.0, 0.0)), c(1.0, 0.0)));
    assert!(equal(pow(c(0.0, 0.0), c(2.0, 0.0)), c(0.0, 0.0)));
    assert!(equal(pow(c(0.0, 0.0), c(-1.0, 0.0)), c(NAN, NAN)));
    // 0 to w: the real part decides, as in NumPy.
    for turn in [0.0, 1.0, -3.5, INF, NAN] {
        for zero in [c(0.0, 0.0), c(-0.0, 0.0), c(0.0, -0.0), c(-0.0, -0.0)] {
            for size in [5e-324, 1.0, 2.0, INF] {
                assert!(equal(pow(zero, c(size, turn)), c(0.0, 0.0)));
            }
            for size in [-1.0, -INF, NAN] {
                assert!(equal(pow(zero, c(size, turn)), c(NAN, NAN)));
            }
            if turn != 0.0 {
                assert!(equal(pow(zero, c(0.0, turn)), c(NAN, NAN)));
            }
        }
    }
    // An infinity in an unknown direction is infinite in an unknown direction, or 0.
    for z in [c(INF, NAN), c(NAN, INF), c(-INF, NAN), c(NAN, -INF)] {
        for w in [c(2.0, 1.0), c(1.0, 1.0), c(0.5, 0.0), c(INF, 1.0)] {
            let power = pow(z, w);
            assert!(power.re.is_infinite() && power.im.is_nan(), "{z}^{w}");
        }
        assert!(equal(pow(z, c(-1.0, 1.0)), c(0.0, 0.0)));
        assert!(equal(pow(z, c(0.0, 1.0)), c(NAN, NAN)));
        assert!(equal(pow(z, c(1.0, NAN)), c(NAN, NAN)));
    }
    assert!(equal(pow(c(1.0, 2.0), c(3.0, 0.0)), c(-11.0, -2.0)));
    assert!(equal(pow(c(0.0, 1.0), c(2.0, 0.0)), c(-1.0, 0.0)));
    assert!(equal(pow(c(0.0, 2.0), c(-1.0, 0.0)), c(0.0, -0.5)));
    // i^i = e^(-pi/2); a square root off the axis.
    let w = pow(c(0.0, 1.0), c(0.0, 1.0));
    assert!((w.re - 0.20787957635076193).abs() < 1e-16 && w.im.abs() < 1e-16);
    let w = pow(c(3.0, 4.0), c(0.5, 0.0));
    assert!((w.re - 2.0).abs() < 4e-16 && (w.im - 1.0).abs() < 2e-16);
    assert_eq!(
        pow(Complex::new(3f32, 4.0), Complex::new(0.5, 0.0)),
        Complex::new(2.0, 1.0)
    );
}

/// Results out of range, with parts that are no NaN and wrap around nowhere.
#[test]
fn out_of_range() {
    let inf = f64::INFINITY;
    let rows = [
        ("exp", exp(c(-3.4e21, -5e-324)), c(0.0, -0.0)),
        ("exp", exp(c(1.8e134, 5e-324)), c(inf, inf)),
        ("expm1", expm1(c(-1.6e121, -4e-284)), c(-1.0, -0.0)),
        ("cosh", cosh(c(2147483648.0, 1e-309)), c(inf, inf)),
        ("sinh", sinh(c(-2147483648.0, -1e-309)), c(-inf, -inf)),
        ("cos", cos(c(-6.25e-305, -1.8e134)), c(inf, -inf)),
        ("sin", sin(c(6.25e-305, 1.8e134)), c(inf, inf)),
        ("pow", pow(c(2.0, 0.0), c(-1.7e308, 0.0)), c(0.0, 0.0)),
        ("pow", pow(c(2.0, 0.0), c(1.7e308, 0.0)), c(inf, 0.0)),
    ];
    for (name, value, exact) in rows {
        assert_eq!(value, exact, "{name}");
    }
    // Angles of many turns: small results, and lengths of 1.
    for (z, w) in [
        (c(-1.5, -0.77), c(-9.6e107, 3.28)),
        (c(-3.47, 0.24), c(-4.97e110, 0.0)),
        (c(1.5, 0.25), c(-1.7e308, 1.7e308)),
    ] {
        assert_eq!(pow(z, w), c(0.0, 0.0));
    }
    for turns in [1e18, 1e60, 1e200, 1e307] {
        let w = pow(c(2.0, 0.0), c(0.0, turns));
        assert!((abs(w) - 1.0).abs() < 4e-16, "{turns:e}: {w}");
    }
}

/// Results in range whose textbook formulas overflow, underflow or cancel.
#[test]
fn extremes() {
    let rows = [
        ("exp", exp(c(800.0, 1e-100)).im, 2.7263745721125667e247),
        ("exp", exp(c(800.0, 1e-310)).im, 2.726374572112558e37),
        ("exp", exp(c(-1212.0, 1.3e-245)).im, 0.0),
        ("expm1", expm1(c(-1400.0, 1e-300)).im, 0.0),
        ("expm1", expm1(c(-1212.0, 1.3e-245)).re, -1.0),
        ("abs", abs(c(1.5e308, 2e307)), 1.5132745950421557e308),
        ("log", log(c(1.5e308, 1.5e308)).re, 709.9482473405542),
        ("log", log(c(1.0, 1e-20)).re, 5e-41),
        ("log1p", log1p(c(1e-300, 0.0)).re, 1e-300),
        ("sqrt", sqrt(c(1e-320, 1e-320)).re, 1.0986779977260263e-160),
        ("sqrt", sqrt(c(1e200, 1e-200)).im, 5e-301),
        ("sqrt", sqrt(c(-1.7e308, 1.7e308)).re, 5.933645827121221e153),
        ("asinh", asinh(c(1e300, 1e300)).re, 691.8152486690536),
        ("acosh", acosh(c(1e300, 0.0)).re, 691.4686750787737),
        ("atanh", atanh(c(1.0, 1e-200)).re, 230.60508288968455),
        ("atanh", atanh(c(1e200, 1e200)).re, 5e-201),
        ("tanh", tanh(c(30.0, 1.0)).im, 1.5924545408982667e-26),
        ("sign", sign(c(1.7e308, 1.7e308)).re, FRAC_1_SQRT_2),
        ("sign", sign(c(1e-320, 1e-320)).re, FRAC_1_SQRT_2),
        ("asin", asin(c(1e-320, 1e-320)).re, 1e-320),
        ("reciprocal", reciprocal(c(1e-10, 1e-300)).im, -1e-280),
    ];
    for (name, value, exact) in rows {
        let error = (value - exact).abs();
        assert!(
            error <= 4e-16 * exact.abs() || error <= 5e-324,
            "{name}: {value:e}, not {exact:e}"
        );
    }
}

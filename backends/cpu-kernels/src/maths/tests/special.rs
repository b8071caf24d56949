//! Special values by the array API standard, for both types.

use super::super as maths;
use super::same;
use crate::maths::Real;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Checks `f(x) == y` in both precisions; `y` is rounded to `f32` there.
macro_rules! unary {
    ($($name:ident: $($x:expr => $y:expr),+;)+) => {$(
        for (x, y) in [$(($x, $y)),+] {
            let (x, y): (f64, f64) = (x, y);
            let double = maths::$name(x);
            assert!(same(double, y), "{}({x:?}) = {double:?}, not {y:?}", stringify!($name));
            let single = maths::$name(x as f32);
            assert!(same(single, y as f32), "{}({x:?}f32) = {single:?}, not {y:?}", stringify!($name));
        }
    )+};
}

macro_rules! binary {
    ($($name:ident: $($x:expr, $y:expr => $z:expr),+;)+) => {$(
        for (x, y, z) in [$(($x, $y, $z)),+] {
            let (x, y, z): (f64, f64, f64) = (x, y, z);
            let double = maths::$name(x, y);
            assert!(same(double, z), "{}({x:?}, {y:?}) = {double:?}, not {z:?}", stringify!($name));
            let single = maths::$name(x as f32, y as f32);
            assert!(same(single, z as f32), "{}({x:?}, {y:?})f32 = {single:?}, not {z:?}", stringify!($name));
        }
    )+};
}

#[test]
fn unary_functions() {
    unary! {
        exp: NAN => NAN, 0.0 => 1.0, -0.0 => 1.0, INF => INF, -INF => 0.0, 1000.0 => INF, -1000.0 => 0.0;
        exp2: NAN => NAN, 0.0 => 1.0, -0.0 => 1.0, INF => INF, -INF => 0.0, 5.0 => 32.0, -3.0 => 0.125, 1e5 => INF;
        expm1: NAN => NAN, 0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -1.0, -1000.0 => -1.0, 1000.0 => INF;
        log: NAN => NAN, -1.0 => NAN, -INF => NAN, 0.0 => -INF, -0.0 => -INF, 1.0 => 0.0, INF => INF;
        log1p: NAN => NAN, -2.0 => NAN, -INF => NAN, -1.0 => -INF, 0.0 => 0.0, -0.0 => -0.0, INF => INF;
        log2: NAN => NAN, -1.0 => NAN, 0.0 => -INF, -0.0 => -INF, 1.0 => 0.0, INF => INF, 8.0 => 3.0, 0.25 => -2.0;
        log10: NAN => NAN, -1.0 => NAN, 0.0 => -INF, -0.0 => -INF, 1.0 => 0.0, INF => INF, 1000.0 => 3.0;
        sin: NAN => NAN, 0.0 => 0.0, -0.0 => -0.0, INF => NAN, -INF => NAN;
        cos: NAN => NAN, 0.0 => 1.0, -0.0 => 1.0, INF => NAN, -INF => NAN;
        tan: NAN => NAN, 0.0 => 0.0, -0.0 => -0.0, INF => NAN, -INF => NAN;
        asin: NAN => NAN, 1.5 => NAN, -1.5 => NAN, INF => NAN, 0.0 => 0.0, -0.0 => -0.0, 1.0 => FRAC_PI_2, -1.0 => -FRAC_PI_2;
        acos: NAN => NAN, 1.5 => NAN, -1.5 => NAN, -INF => NAN, 1.0 => 0.0, -1.0 => PI, 0.0 => FRAC_PI_2;
        atan: NAN => NAN, 0.0 => 0.0, -0.0 => -0.0, INF => FRAC_PI_2, -INF => -FRAC_PI_2, 1.0 => FRAC_PI_4;
        sinh: NAN => NAN, 0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -INF, 1e4 => INF, -1e4 => -INF;
        cosh: NAN => NAN, 0.0 => 1.0, -0.0 => 1.0, INF => INF, -INF => INF, -1e4 => INF;
        tanh: NAN => NAN, 0.0 => 0.0, -0.0 => -0.0, INF => 1.0, -INF => -1.0, 50.0 => 1.0, -50.0 => -1.0;
        asinh: NAN => NAN, 0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -INF;
        acosh: NAN => NAN, 0.5 => NAN, -1.0 => NAN, -INF => NAN, 1.0 => 0.0, INF => INF;
        atanh: NAN => NAN, 1.5 => NAN, -1.5 => NAN, INF => NAN, 1.0 => INF, -1.0 => -INF, 0.0 => 0.0, -0.0 => -0.0;
        sqrt: NAN => NAN, -1.0 => NAN, 0.0 => 0.0, -0.0 => -0.0, INF => INF, 4.0 => 2.0;
        reciprocal: 0.0 => INF, -0.0 => -INF, INF => 0.0, -INF => -0.0, NAN => NAN, 4.0 => 0.25;
        square: -0.0 => 0.0, -INF => INF, NAN => NAN, -3.0 => 9.0;
        floor: NAN => NAN, 0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -INF, 0.5 => 0.0, -0.5 => -1.0;
        ceil: NAN => NAN, 0.0 => 0.0, -0.0 => -0.0, INF => INF, -INF => -INF, 0.5 => 1.0, -0.5 => -0.0;
        trunc: NAN => NAN, 0.0 => 0.0, -0.0 => -0.0, INF => INF, 1.5 => 1.0, -0.5 => -0.0, -1.5 => -1.0;
        round: NAN => NAN, -0.0 => -0.0, INF => INF, 0.5 => 0.0, -0.5 => -0.0, 1.5 => 2.0, 2.5 => 2.0, -2.5 => -2.0;
        sign: NAN => NAN, 0.0 => 0.0, -0.0 => 0.0, INF => 1.0, -INF => -1.0, 2.5 => 1.0, -2.5 => -1.0;
    }
}

#[test]
fn binary_functions() {
    binary! {
        atan2:
            NAN, 1.0 => NAN, 1.0, NAN => NAN, 1.0, 0.0 => FRAC_PI_2, 1.0, -0.0 => FRAC_PI_2, 0.0, 1.0 => 0.0,
            0.0, 0.0 => 0.0, 0.0, -0.0 => PI, 0.0, -1.0 => PI, -0.0, 1.0 => -0.0, -0.0, 0.0 => -0.0,
            -0.0, -0.0 => -PI, -0.0, -1.0 => -PI, -1.0, 0.0 => -FRAC_PI_2, -1.0, -0.0 => -FRAC_PI_2,
            1.0, INF => 0.0, -1.0, INF => -0.0, 1.0, -INF => PI, -1.0, -INF => -PI, INF, 1.0 => FRAC_PI_2,
            -INF, 1.0 => -FRAC_PI_2, INF, INF => FRAC_PI_4, INF, -INF => 3.0 * FRAC_PI_4, -INF, INF => -FRAC_PI_4,
            -INF, -INF => -3.0 * FRAC_PI_4;
        pow:
            NAN, 0.0 => 1.0, NAN, -0.0 => 1.0, 1.0, NAN => 1.0, NAN, 1.0 => NAN, 2.0, NAN => NAN, 2.0, INF => INF,
            2.0, -INF => 0.0, -2.0, INF => INF, 1.0, INF => 1.0, 1.0, -INF => 1.0, -1.0, INF => 1.0,
            -1.0, -INF => 1.0, 0.5, INF => 0.0, 0.5, -INF => INF, -0.5, INF => 0.0, INF, 2.0 => INF, INF, -2.0 => 0.0,
            -INF, 3.0 => -INF, -INF, 2.0 => INF, -INF, 0.5 => INF, -INF, -3.0 => -0.0, -INF, -2.0 => 0.0,
            -INF, -0.5 => 0.0, 0.0, 2.0 => 0.0, 0.0, -2.0 => INF, -0.0, 3.0 => -0.0, -0.0, 2.0 => 0.0, -0.0, 0.5 => 0.0,
            -0.0, -3.0 => -INF, -0.0, -2.0 => INF, -0.0, -0.5 => INF, -2.0, 0.5 => NAN, -8.0, 1.0 => -8.0,
            3.0, 4.0 => 81.0, 10.0, -2.0 => 0.01, 0.0, INF => 0.0, 0.0, -INF => INF, INF, INF => INF, INF, -INF => 0.0,
            -INF, INF => INF, -INF, -INF => 0.0, 0.0, 0.0 => 1.0, INF, 0.0 => 1.0, -1.0, 1e300 => 1.0, -2.0, 0.0 => 1.0;
        hypot:
            INF, NAN => INF, NAN, -INF => INF, NAN, 1.0 => NAN, 1.0, NAN => NAN, INF, 1.0 => INF, 0.0, -0.0 => 0.0,
            -3.0, 4.0 => 5.0, -0.0, -0.0 => 0.0;
        logaddexp:
            NAN, 1.0 => NAN, 1.0, NAN => NAN, INF, 1.0 => INF, -INF, 1.5 => 1.5, 1.5, -INF => 1.5, -INF, -INF => -INF,
            INF, INF => INF, INF, -INF => INF, NAN, INF => NAN, 1000.0, 0.0 => 1000.0;
        maximum: NAN, 1.0 => NAN, 1.0, NAN => NAN, INF, NAN => NAN, 1.0, 2.0 => 2.0, -INF, INF => INF;
        minimum: NAN, 1.0 => NAN, 1.0, NAN => NAN, -INF, NAN => NAN, 1.0, 2.0 => 1.0, -INF, INF => -INF;
        copysign: 1.0, -0.0 => -1.0, -0.0, 1.0 => 0.0, -INF, 2.0 => INF, 3.0, -NAN => if (-NAN).is_sign_negative() { -3.0 } else { 3.0 };
        nextafter: NAN, 1.0 => NAN, 1.0, NAN => NAN, 0.0, -0.0 => -0.0, -0.0, 0.0 => 0.0, INF, INF => INF, 2.0, 2.0 => 2.0;
        remainder:
            NAN, 1.0 => NAN, 1.0, NAN => NAN, INF, INF => NAN, INF, 1.0 => NAN, -INF, -2.0 => NAN, 0.0, 0.0 => NAN,
            1.0, 0.0 => NAN, 1.0, -0.0 => NAN, 0.0, 2.0 => 0.0, -0.0, 2.0 => 0.0, 0.0, -2.0 => -0.0, -0.0, -2.0 => -0.0,
            1.0, INF => 1.0, 1.0, -INF => -INF, -1.0, INF => INF, -1.0, -INF => -1.0, 5.0, 3.0 => 2.0, -5.0, 3.0 => 1.0,
            5.0, -3.0 => -1.0, -5.0, -3.0 => -2.0, 6.0, 3.0 => 0.0, -6.0, 3.0 => 0.0, 6.0, -3.0 => -0.0, 0.0, INF => 0.0,
            0.0, -INF => -0.0;
        floor_divide:
            NAN, 1.0 => NAN, 1.0, NAN => NAN, INF, INF => NAN, INF, 1.0 => NAN, -INF, 1.0 => NAN, 0.0, 0.0 => NAN,
            1.0, 0.0 => INF, 1.0, -0.0 => -INF, -1.0, 0.0 => -INF, -1.0, -0.0 => INF, 0.0, 2.0 => 0.0, 0.0, -2.0 => -0.0,
            -0.0, 2.0 => -0.0, 1.0, INF => 0.0, 1.0, -INF => -1.0, -1.0, INF => -1.0, -1.0, -INF => 0.0, INF, 0.0 => INF,
            -INF, 0.0 => -INF, 5.0, 3.0 => 1.0, -5.0, 3.0 => -2.0, 5.0, -3.0 => -2.0, -5.0, -3.0 => 1.0;
    }
}

#[test]
fn sign_bits() {
    assert!(
        maths::signbit(-0.0f64) && maths::signbit(-1.0f32) && maths::signbit(f64::NEG_INFINITY)
    );
    assert!(!maths::signbit(0.0f64) && !maths::signbit(1.0f32));
    assert!(maths::signbit(-f64::NAN.abs()) && !maths::signbit(f64::NAN.abs()));
}

/// Tiny arguments of odd functions come back unchanged, subnormals included.
#[test]
fn odd_functions_keep_tiny_arguments() {
    fn check<T: Real>(tiny: &[T]) {
        for &x in tiny {
            let results = [
                maths::sin(x),
                maths::tan(x),
                maths::asin(x),
                maths::atan(x),
                maths::sinh(x),
                maths::tanh(x),
                maths::asinh(x),
                maths::atanh(x),
                maths::expm1(x),
                maths::log1p(x),
            ];
            for (i, y) in results.into_iter().enumerate() {
                assert!(same(x, y), "function {i} of {x:?} is {y:?}");
            }
        }
    }
    check(&[5e-324, -5e-324, 1e-310, -3e-308, 1e-300, 1e-20, -1e-17f64]);
    check(&[1e-45, -1e-45, 1e-39, -2e-38, 1e-30, 1e-10f32]);
}

//! Special values, exactness, and equal bits at every length and instruction set.

mod complex;
mod exact;
mod integer;
mod special;
mod vector;

use super::Real;

/// Equal as values of the standard: NaN is NaN, and zeros keep their sign.
fn same<T: Real>(a: T, b: T) -> bool {
    a.is_nan() && b.is_nan() || a == b && a.is_sign_negative() == b.is_sign_negative()
}

/// Special and ordinary values to combine.
const EDGES: [f64; 29] = [
    0.0,
    -0.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    3.0,
    -3.0,
    1.5,
    -2.5,
    7.0,
    0.1,
    -0.1,
    5e-324,
    -5e-324,
    1e-310,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::MIN,
    1e300,
    -1e300,
    9007199254740993.0,
    1e-300,
    4503599627370496.5,
];

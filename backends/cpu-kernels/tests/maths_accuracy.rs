//! Every real function stays within its bound, against arbitrary precision for `f64` and the platform's `f64` functions
//! for `f32`.

mod reference;

use reference::{Reference, complex, rows, worst_f32, worst_f64};

/// The documented bound.
const LIMIT: f64 = 1.0;

#[test]
fn f64_functions_stay_within_one_ulp() {
    let mut exact = Reference::new();
    for row in rows() {
        let worst = worst_f64(&row, &mut exact, 20_000);
        assert!(
            worst.ulp <= LIMIT,
            "{}{:?}: {} ULP",
            row.name,
            worst.at,
            worst.ulp
        );
    }
}

#[test]
fn f32_functions_stay_within_one_ulp() {
    for row in rows() {
        let worst = worst_f32(&row, 400_000);
        assert!(
            worst.points > 10_000,
            "{}: too few points in its domain",
            row.name
        );
        assert!(
            worst.ulp <= LIMIT,
            "{}{:?}: {} ULP",
            row.name,
            worst.at,
            worst.ulp
        );
    }
}

#[test]
fn complex_functions_stay_within_their_bounds() {
    let mut exact = Reference::new();
    for row in complex::rows() {
        let (double, single) = complex::worst(&row, &mut exact, 2_000);
        assert!(
            double.ulp <= row.limit,
            "{}{:?}: {} ULP",
            row.name,
            double.at,
            double.ulp
        );
        assert!(
            single.ulp <= 1.0,
            "{}{:?} in f32: {} ULP",
            row.name,
            single.at,
            single.ulp
        );
    }
}

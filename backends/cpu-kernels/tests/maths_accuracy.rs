//! Every real function stays within its bound, against arbitrary precision for `f64` and the platform's `f64` functions
//! for `f32`.

mod reference;

use reference::{Reference, rows, worst_f32, worst_f64};

/// The documented bound.
const LIMIT: f64 = 1.0;

#[test]
fn f64_functions_stay_within_one_ulp() {
    let mut exact = Reference::new();
    for row in rows() {
        let worst = worst_f64(&row, &mut exact, 20_000);
        assert!(worst.ulp <= LIMIT, "{}: {worst:?}", row.name);
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
        assert!(worst.ulp <= LIMIT, "{}: {worst:?}", row.name);
    }
}

//! Integers: all pairs of bytes against wide arithmetic, and the edges of the wider types.

use crate::maths::integer::*;

/// The floored quotient and remainder, by mathematics.
fn floored(a: i64, b: i64) -> (i64, i64) {
    if b == 0 {
        return (0, 0);
    }
    let q = (a as f64 / b as f64).floor() as i64;
    (q, a - b * q)
}

#[test]
fn all_bytes() {
    for a in i8::MIN..=i8::MAX {
        for b in i8::MIN..=i8::MAX {
            let (q, r) = floored(a as i64, b as i64);
            assert_eq!(
                (floor_divide(a, b), remainder(a, b)),
                (q as i8, r as i8),
                "{a} // {b}"
            );
            let inside = (0..8).contains(&b);
            let left = if inside { ((a as i64) << b) as i8 } else { 0 };
            let right = a as i64 >> if inside { b } else { 63 };
            assert_eq!(
                (shift_left(a, b), shift_right(a, b)),
                (left, right as i8),
                "{a} shifted by {b}"
            );
        }
        assert_eq!(abs(a), (a as i64).abs() as i8);
        assert_eq!(sign(a), a.signum());
        assert_eq!(square(a), (a as i64 * a as i64) as i8);
    }
    for a in u8::MIN..=u8::MAX {
        for b in u8::MIN..=u8::MAX {
            let (q, r) = floored(a as i64, b as i64);
            assert_eq!(
                (floor_divide(a, b), remainder(a, b)),
                (q as u8, r as u8),
                "{a} // {b}"
            );
            let left = if b < 8 { ((a as u64) << b) as u8 } else { 0 };
            let right = if b < 8 { a >> b } else { 0 };
            assert_eq!(
                (shift_left(a, b), shift_right(a, b)),
                (left, right),
                "{a} shifted by {b}"
            );
        }
        assert_eq!((abs(a), sign(a)), (a, (a > 0) as u8));
    }
}

#[test]
fn powers_wrap() {
    for a in -20i64..=20 {
        for n in 0..70u32 {
            assert_eq!(pow(a, n as i64), a.wrapping_pow(n));
            assert_eq!(pow(a as i8, n as i8), (a as i8).wrapping_pow(n));
            assert_eq!(pow(a as u16, n as u16), (a as u16).wrapping_pow(n));
        }
    }
    assert_eq!((pow(0i32, 0), pow(0u64, 0)), (1, 1));
    // The order of 3 modulo 2^64 divides 2^64, so this power is its inverse.
    assert_eq!(pow(3u64, u64::MAX).wrapping_mul(3), 1);
}

#[test]
fn edges_of_wide_types() {
    assert_eq!(
        (floor_divide(i64::MIN, -1), remainder(i64::MIN, -1)),
        (i64::MIN, 0)
    );
    assert_eq!(
        (floor_divide(i32::MIN, -1), remainder(i32::MIN, -1)),
        (i32::MIN, 0)
    );
    assert_eq!((floor_divide(i64::MIN, 0), remainder(i64::MIN, 0)), (0, 0));
    assert_eq!((floor_divide(u64::MAX, 0), remainder(u64::MAX, 0)), (0, 0));
    assert_eq!(
        (floor_divide(i64::MAX, -2), remainder(i64::MAX, -2)),
        (-(1 << 62), -1)
    );
    assert_eq!(
        (abs(i64::MIN), square(i32::MIN), square(u32::MAX)),
        (i64::MIN, 0, 1)
    );
    assert_eq!(
        (
            shift_left(1i64, 63),
            shift_left(1i64, 64),
            shift_left(1u32, 32)
        ),
        (i64::MIN, 0, 0)
    );
    assert_eq!(
        (
            shift_right(i64::MIN, 200),
            shift_right(i64::MAX, 64),
            shift_right(u64::MAX, 64)
        ),
        (-1, 0, 0)
    );
}

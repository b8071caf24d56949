//! Results that are exact: neighbours, remainders, powers, and the near forms against the complete ones.

use super::super as maths;
use super::{EDGES, same};
use crate::maths::near;

/// A deterministic stream of `f64` bit patterns (SplitMix).
fn bits(seed: u64) -> impl Iterator<Item = u64> {
    (1u64..).map(move |i| {
        let z = seed.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

#[test]
fn neighbours() {
    for x in EDGES
        .into_iter()
        .chain(bits(1).take(20_000).map(f64::from_bits))
    {
        assert!(
            same(maths::nextafter(x, f64::INFINITY), x.next_up()),
            "{x:?}"
        );
        assert!(
            same(maths::nextafter(x, f64::NEG_INFINITY), x.next_down()),
            "{x:?}"
        );
        let x = x as f32;
        assert!(
            same(maths::nextafter(x, f32::INFINITY), x.next_up()),
            "{x:?}"
        );
        assert!(
            same(maths::nextafter(x, f32::NEG_INFINITY), x.next_down()),
            "{x:?}"
        );
    }
}

/// Whole quotients above the integers that the type resolves, against 128-bit arithmetic.
#[test]
fn far_quotients_are_rounded_once() {
    let mut words = bits(5);
    for _ in 0..200_000 {
        let (word, shift) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
        let sign = |bit: u64| if word >> bit & 1 == 1 { -1f32 } else { 1.0 };
        // Significands of 24 and 53 bits, the first one moved up.
        let (m, n) = (
            (word >> 8 & 0xff_ffff) | 0x80_0000,
            (word >> 32 & 0xff_ffff) | 0x80_0000,
        );
        let up = 25 + (shift % 50) as i32;
        let (a, b) = (m as f32 * 2f32.powi(up) * sign(1), n as f32 * sign(2));
        let exact = ((m as i128) << up) * (a * b).signum() as i128;
        assert_eq!(
            maths::floor_divide(a, b),
            exact.div_euclid(n as i128) as f32,
            "{a:?} // {b:?}"
        );
        let (m, n) = (word >> 11 | 1 << 52, shift >> 11 | 1 << 52);
        let up = 54 + (shift % 18) as i32;
        let (a, b) = (
            m as f64 * 2f64.powi(up) * f64::from(sign(1)),
            n as f64 * f64::from(sign(2)),
        );
        let exact = ((m as i128) << up) * (a * b).signum() as i128;
        assert_eq!(
            maths::floor_divide(a, b),
            exact.div_euclid(n as i128) as f64,
            "{a:?} // {b:?}"
        );
    }
}

/// The remainder from the platform's exact `%`.
fn remainder(a: f64, b: f64) -> f64 {
    let r = a % b;
    if r == 0.0 {
        0.0f64.copysign(b)
    } else if (r < 0.0) != (b < 0.0) {
        r + b
    } else {
        r
    }
}

#[test]
fn remainders_are_exact() {
    let mut words = bits(2);
    let mut next = || f64::from_bits(words.next().unwrap_or(0));
    let random: Vec<(f64, f64)> = (0..50_000)
        .map(|i| {
            let (a, b) = (next(), next());
            // Sizes within 2^60 of each other, for a good share of near quotients.
            if i % 3 == 0 || !(a.is_normal() && b.is_normal()) {
                (a, b)
            } else {
                let size = 2f64.powi((b.to_bits() % 70) as i32 - 8);
                (
                    a.signum() * (1.0 + a.fract().abs()) * size,
                    b.signum() * (1.0 + b.to_bits() as f64 * 1e-20),
                )
            }
        })
        .collect();
    let edges = EDGES
        .into_iter()
        .flat_map(|a| EDGES.into_iter().map(move |b| (a, b)));
    let multiples = (1..3000).map(|i| (0.1 * i as f64, 0.1));
    for (a, b) in random.into_iter().chain(edges).chain(multiples) {
        let r = maths::remainder(a, b);
        if b.is_infinite() && a.is_finite() {
            continue; // the table of special values has these
        }
        assert!(same(r, remainder(a, b)), "{a:?} % {b:?} = {r:?}");
        if near::quotient(a, b) {
            assert!(
                same(r, near::remainder(a, b))
                    && same(maths::floor_divide(a, b), near::floor_divide(a, b))
            );
        }
        let (a, b) = (a as f32, b as f32);
        if !b.is_infinite() {
            let r = maths::remainder(a, b);
            let exact = a % b;
            let expected = if exact == 0.0 {
                0.0f32.copysign(b)
            } else if (exact < 0.0) != (b < 0.0) {
                exact + b
            } else {
                exact
            };
            assert!(same(r, expected), "{a:?}f32 % {b:?} = {r:?}");
        }
    }
}

#[test]
fn floor_division_of_integers_is_exact() {
    for a in -60i32..=60 {
        for b in (-17..=17).filter(|&b| b != 0) {
            let q = (a as f64 / b as f64).floor();
            assert_eq!(maths::floor_divide(a as f64, b as f64), q);
            assert_eq!(maths::floor_divide(a as f32, b as f32), q as f32);
            // Scaled by a power of two that neither operand notices.
            assert_eq!(
                maths::floor_divide(a as f64 * 2f64.powi(1000), b as f64 * 2f64.powi(1000)),
                q
            );
        }
    }
    for x in bits(3)
        .take(20_000)
        .map(f64::from_bits)
        .filter(|x| x.is_finite() && *x != 0.0)
    {
        assert_eq!(maths::floor_divide(x, x), 1.0, "{x:?}");
        assert_eq!(maths::floor_divide(-x, x), -1.0, "{x:?}");
    }
    // 1 is 9 times 0.1 and a little less than 0.1, which plain division rounds to 10.
    assert_eq!(
        (maths::floor_divide(1.0, 0.1), maths::remainder(1.0, 0.1)),
        (9.0, 1.0 % 0.1)
    );
}

#[test]
fn representable_powers_and_logarithms_are_exact() {
    for base in 2..=50i64 {
        let mut power = 1i64;
        for n in 0.. {
            assert_eq!(
                maths::pow(base as f64, n as f64),
                power as f64,
                "{base}^{n}"
            );
            assert_eq!(
                maths::pow(-base as f64, n as f64),
                power as f64 * [1.0, -1.0][n % 2]
            );
            if power < 1 << 24 {
                assert_eq!(
                    maths::pow(base as f32, n as f32),
                    power as f32,
                    "{base}^{n}"
                );
            }
            power *= base;
            if power > 1 << 53 {
                break;
            }
        }
    }
    for k in -1074..=1023 {
        let x = maths::exp2(k as f64);
        assert!(
            x > 0.0 && x == 2f64.powi(k / 2) * 2f64.powi(k - k / 2),
            "2^{k}"
        );
        assert_eq!(maths::log2(x), k as f64);
    }
    for k in -149..=127 {
        let x = maths::exp2(k as f32);
        assert_eq!(x as f64, 2f64.powi(k));
        assert_eq!(maths::log2(x), k as f32);
    }
    for k in 0..=22 {
        assert_eq!(maths::log10(10f64.powi(k)), k as f64);
    }
    for k in 0..=10 {
        assert_eq!(maths::log10(10f32.powi(k)), k as f32);
    }
}

#[test]
fn hypot_neither_overflows_nor_underflows() {
    for k in -1074..=1020 {
        let unit = 2f64.powi(k / 2) * 2f64.powi(k - k / 2);
        assert_eq!(maths::hypot(3.0 * unit, -4.0 * unit), 5.0 * unit);
    }
    assert_eq!(maths::hypot(f64::MAX, f64::MAX), f64::INFINITY);
    assert_eq!(maths::hypot(3e38f32, 3e38f32), f32::INFINITY);
    assert_eq!(maths::hypot(3e-45f32, 4e-45f32), 5.6e-45f32);
}

/// Either side of the limit the two reductions agree, and huge angles have their textbook values.
#[test]
fn huge_angles() {
    let close = |y: f64, exact: f64| (y.to_bits() as i64 - exact.to_bits() as i64).abs() <= 1;
    assert!(close(maths::sin(1e22), -0.8522008497671888));
    assert!(close(maths::cos(1e22), 0.523214785395139));
    assert!(close(maths::sin(f64::MAX), 0.004961954789184062));
    assert!(close(maths::cos(f64::MAX), -0.9999876894265599));
    assert!(close(maths::tan(-f64::MAX), 0.004962015874444895));
    assert_eq!(maths::sin(f32::MAX), -0.5218765);
    for x in bits(4).take(5000) {
        let x = 274877906944.0 * (1.0 + x as f64 / u64::MAX as f64); // not near, but the short reduction still holds
        assert!(!near::angle(x));
        assert_eq!(maths::sin(x), near::sin(x));
        assert_eq!(maths::cos(x), near::cos(x));
        assert_eq!(maths::tan(x), near::tan(x));
        assert_eq!(maths::sin(x as f32), near::sin(x as f32));
    }
}

//! A loop gives the bits of single calls: in the vector body, in the tail, and on every instruction set.

use super::super as maths;
use super::EDGES;
use crate::maths::{Real, near};

/// A loop to be dispatched, as the interpreter has it.
struct Loop<'a, T, F> {
    x: &'a [T],
    y: &'a [T],
    out: &'a mut [T],
    f: F,
}

impl<T: Real, F: Fn(T, T) -> T> pulp::NullaryFnOnce for Loop<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for ((out, &x), &y) in self.out.iter_mut().zip(self.x).zip(self.y) {
            *out = (self.f)(x, y);
        }
    }
}

fn arguments<T: Real>(seed: usize, usable: impl Fn(T, T) -> bool) -> (Vec<T>, Vec<T>) {
    let value = |i: usize| {
        let spread = ((i * 2654435761) % 1000003) as f64 / 1000003.0 - 0.5;
        if i.is_multiple_of(3) {
            EDGES[(i / 3 * 7 + i / 87) % EDGES.len()]
        } else {
            spread * 10f64.powi(i as i32 % 7 - 3)
        }
    };
    (0..400)
        .map(|i| {
            (
                T::narrow(value(i + seed)),
                T::narrow(value(3 * i + 11 * seed + 1)),
            )
        })
        .filter(|&(x, y)| usable(x, y))
        .unzip()
}

fn check<T: Real>(name: &str, f: impl Fn(T, T) -> T + Copy, usable: impl Fn(T, T) -> bool + Copy) {
    for n in (1..=70).chain([301]) {
        let (x, y) = arguments(n, usable);
        let n = n.min(x.len());
        let mut out = vec![T::zero(); n];
        pulp::Arch::new().dispatch(Loop {
            x: &x[..n],
            y: &y[..n],
            out: &mut out,
            f,
        });
        for i in 0..n {
            let alone = std::hint::black_box(f)(x[i], y[i]);
            let equal = alone.is_nan() && out[i].is_nan()
                || alone.integer_decode() == out[i].integer_decode();
            assert!(
                equal,
                "{name}({:?}, {:?}): {:?} in a loop of {n}, {alone:?} alone",
                x[i], y[i], out[i]
            );
        }
    }
}

macro_rules! check_all {
    ($($path:ident)::+ ($x:ident $(, $y:ident)?), $usable:expr) => {
        check::<f64>(stringify!($($path)::+), #[inline(always)] |$x, _y| maths::$($path)::+($x $(, { let $y = _y; $y })?), $usable);
        check::<f32>(stringify!($($path)::+), #[inline(always)] |$x, _y| maths::$($path)::+($x $(, { let $y = _y; $y })?), $usable);
    };
    ($($($path:ident)::+ ($x:ident $(, $y:ident)?);)+) => {$(
        check_all!($($path)::+ ($x $(, $y)?), |_, _| true);
    )+};
}

#[test]
fn loops_give_the_bits_of_calls() {
    check_all! {
        exp(x); exp2(x); expm1(x); log(x); log1p(x); log2(x); log10(x); asin(x); acos(x); atan(x); sinh(x); cosh(x);
        tanh(x); asinh(x); acosh(x); atanh(x); sqrt(x); reciprocal(x); square(x); floor(x); ceil(x); trunc(x);
        round(x); sign(x); sin(x); cos(x); tan(x);
        atan2(x, y); pow(x, y); hypot(x, y); logaddexp(x, y); copysign(x, y); nextafter(x, y); maximum(x, y);
        minimum(x, y); remainder(x, y); floor_divide(x, y);
    }
    check_all!(near::sin(x), |x, _| near::angle(x));
    check_all!(near::cos(x), |x, _| near::angle(x));
    check_all!(near::tan(x), |x, _| near::angle(x));
    check_all!(near::remainder(x, y), near::quotient);
    check_all!(near::floor_divide(x, y), near::quotient);
    check_all!(near::logaddexp(x, y), |x, y| near::sum(
        x,
        y,
        near::logaddexp(x, y)
    ));
}

/// The near forms are the complete ones where their predicates hold.
#[test]
fn near_forms_agree_with_complete_ones() {
    fn agree<T: Real>(a: T, b: T) -> bool {
        a.is_nan() && b.is_nan() || a.integer_decode() == b.integer_decode()
    }
    let (x, y) = arguments::<f64>(5, |_, _| true);
    for (&x, &y) in x.iter().zip(&y) {
        if near::angle(x) {
            assert!(
                agree(maths::sin(x), near::sin(x))
                    && agree(maths::cos(x), near::cos(x))
                    && agree(maths::tan(x), near::tan(x))
            );
        }
        if near::quotient(x, y) {
            assert!(agree(maths::remainder(x, y), near::remainder(x, y)));
            assert!(agree(maths::floor_divide(x, y), near::floor_divide(x, y)));
        }
        let total = near::logaddexp(x, y);
        if near::sum(x, y, total) {
            assert!(agree(maths::logaddexp(x, y), total));
        }
    }
}

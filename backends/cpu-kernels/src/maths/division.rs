//! Floor division and its remainder, with NumPy's special values: `a == b * (a // b) + a % b`, both computed exactly
//! before the one rounding of the result.

use super::near;
use super::real::Real;

/// The truncated quotient and its exact remainder, for a [`near::quotient`].
#[inline(always)]
fn truncated_near<T: Real>(a: T, b: T) -> (T, T) {
    let ratio = a / b;
    let q = ratio.trunc();
    let r = (-q).mul_add(b, a);
    // A ratio just below an integer may have been rounded up to it.
    let too_far = (r < T::zero()) & (a > T::zero()) | (r > T::zero()) & (a < T::zero());
    let q_back = q - T::one().copysign(ratio);
    let r_back = r + b.copysign(a);
    let (q, r) = (
        if too_far { q_back } else { q },
        if too_far { r_back } else { r },
    );
    // A finite number is its own remainder by infinity.
    let whole = (b.abs() == T::infinity()) & (a.abs() < T::infinity());
    (q, if whole { a } else { r })
}

/// The floored quotient, rounded once, and its exact remainder, for a far quotient.
#[cold]
#[inline(never)]
fn floored_far<T: Real>(a: T, b: T) -> (T, T) {
    let r = a % b;
    let step = steps_down(r, b);
    // a - r in two parts is a multiple of b; what the first part's quotient lacks is a whole number.
    let head = a - r;
    let tail = (a - head) - r;
    let q = head / b;
    let rest = (((-q).mul_add(b, head) + tail) / b).round_ties_even();
    let rest = if step { rest - T::one() } else { rest };
    (
        if q.is_finite() { q + rest } else { q },
        signed(if step { r + b } else { r }, b),
    )
}

/// Whether a truncated quotient with the remainder `r` lies above the floored one.
#[inline(always)]
fn steps_down<T: Real>(r: T, b: T) -> bool {
    (r != T::zero()) & ((r < T::zero()) != (b < T::zero()))
}

/// A remainder of zero has the sign of the divisor.
#[inline(always)]
fn signed<T: Real>(r: T, b: T) -> T {
    if r == T::zero() {
        T::zero().copysign(b)
    } else {
        r
    }
}

/// Turns a truncated division into a floored one.
#[inline(always)]
fn floored<T: Real>((q, r): (T, T), a: T, b: T) -> (T, T) {
    let step = steps_down(r, b);
    let q_down = q - T::one();
    let r_up = r + b;
    let q = if step { q_down } else { q };
    let q = if q == T::zero() {
        T::zero().copysign(a / b)
    } else {
        q
    };
    let q = if b == T::zero() { a / b } else { q };
    (q, signed(if step { r_up } else { r }, b))
}

/// [`floor_divide`] without branches, for a [`near::quotient`].
#[inline(always)]
pub fn floor_divide_near<T: Real>(a: T, b: T) -> T {
    let q = floored(truncated_near(a, b), a, b).0;
    if a.is_infinite() & (b != T::zero()) {
        T::nan()
    } else {
        q
    }
}

/// [`remainder`] without branches, for a [`near::quotient`].
#[inline(always)]
pub fn remainder_near<T: Real>(a: T, b: T) -> T {
    floored(truncated_near(a, b), a, b).1
}

/// `floor(a / b)` of the exact quotient; NaN for an infinite `a`, `a / b` for a zero `b`.
#[inline(always)]
pub fn floor_divide<T: Real>(a: T, b: T) -> T {
    if near::quotient(a, b) {
        floor_divide_near(a, b)
    } else {
        floored_far(a, b).0
    }
}

/// `a - b * floor(a / b)`, which has the sign of `b`; exact where representable.
#[inline(always)]
pub fn remainder<T: Real>(a: T, b: T) -> T {
    if near::quotient(a, b) {
        remainder_near(a, b)
    } else {
        floored_far(a, b).1
    }
}

//! Integer functions: wrapping arithmetic, and a value instead of a trap where mathematics has none.

use num_traits::{NumCast, PrimInt, WrappingAdd, WrappingMul, WrappingSub};

/// An integer type with array functions: `i8` to `i64` and `u8` to `u64`.
pub trait Int:
    PrimInt
    + NumCast
    + WrappingAdd
    + WrappingSub
    + WrappingMul
    + std::fmt::Debug
    + Send
    + Sync
    + 'static
{
    /// `a / b` rounded towards zero, wrapping for `MIN / -1`; `b` is not 0.
    fn divide(self, b: Self) -> Self;

    /// `self << n`, or 0 from the width of the type on; a negative count is such a large one.
    fn shift_left(self, n: Self) -> Self;

    /// `self >> n` keeping the sign, or 0 or -1 from the width on; a negative count is such a large one.
    fn shift_right(self, n: Self) -> Self;

    /// The magnitude; `MIN` stays, since it has none.
    fn magnitude(self) -> Self;
}

macro_rules! int {
    ($magnitude:expr; $($t:ident)*) => {$(
        impl Int for $t {
            #[inline(always)]
            fn divide(self, b: Self) -> Self {
                self.wrapping_div(b)
            }

            #[inline(always)]
            fn shift_left(self, n: Self) -> Self {
                let inside = (n as u64) < $t::BITS as u64;
                let shifted = self.wrapping_shl(n as u32);
                if inside { shifted } else { 0 }
            }

            #[inline(always)]
            fn shift_right(self, n: Self) -> Self {
                let inside = (n as u64) < $t::BITS as u64;
                self.wrapping_shr(if inside { n as u32 } else { $t::BITS - 1 })
                    & if inside | ($t::MIN != 0) { !0 } else { 0 }
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                let magnitude: fn($t) -> $t = $magnitude;
                magnitude(self)
            }
        }
    )*};
}

int!(|x| x.wrapping_abs(); i8 i16 i32 i64);
int!(|x| x; u8 u16 u32 u64);

/// `a / b` rounded towards minus infinity; 0 for `b == 0`, and `MIN // -1 == MIN`.
#[inline(always)]
pub fn floor_divide<T: Int>(a: T, b: T) -> T {
    let divisor = if b == T::zero() { T::one() } else { b };
    let q = a.divide(divisor);
    let r = a.wrapping_sub(&q.wrapping_mul(&divisor));
    let down = (r != T::zero()) & ((r < T::zero()) != (b < T::zero()));
    let q = if down { q.wrapping_sub(&T::one()) } else { q };
    if b == T::zero() { T::zero() } else { q }
}

/// `a - b * floor_divide(a, b)`, which has the sign of `b`; 0 for `b == 0`.
#[inline(always)]
pub fn remainder<T: Int>(a: T, b: T) -> T {
    let divisor = if b == T::zero() { T::one() } else { b };
    let r = a.wrapping_sub(&a.divide(divisor).wrapping_mul(&divisor));
    let up = (r != T::zero()) & ((r < T::zero()) != (b < T::zero()));
    if up { r.wrapping_add(&b) } else { r }
}

/// `a^n`, wrapping; a negative `n`, which callers refuse, counts as 0.
#[inline(always)]
pub fn pow<T: Int>(a: T, n: T) -> T {
    let (mut power, mut base, mut n) = (T::one(), a, n);
    while n > T::zero() {
        if n & T::one() == T::one() {
            power = power.wrapping_mul(&base);
        }
        base = base.wrapping_mul(&base);
        n = n >> 1;
    }
    power
}

/// `a << n`; 0 where `n` is not below the width of the type.
#[inline(always)]
pub fn shift_left<T: Int>(a: T, n: T) -> T {
    a.shift_left(n)
}

/// `a >> n` keeping the sign; 0, or -1 for a negative `a`, where `n` is not below the width of the type.
#[inline(always)]
pub fn shift_right<T: Int>(a: T, n: T) -> T {
    a.shift_right(n)
}

/// The magnitude; `MIN` stays, since its negative wraps to it.
#[inline(always)]
pub fn abs<T: Int>(a: T) -> T {
    a.magnitude()
}

/// -1, 0 or 1.
#[inline(always)]
pub fn sign<T: Int>(a: T) -> T {
    let one = if a > T::zero() { T::one() } else { T::zero() };
    if a < T::zero() {
        T::zero().wrapping_sub(&T::one())
    } else {
        one
    }
}

/// `a * a`, wrapping.
#[inline(always)]
pub fn square<T: Int>(a: T) -> T {
    a.wrapping_mul(&a)
}

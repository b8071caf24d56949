//! The trait that makes one source serve `f32` and `f64`.

/// A real floating-point type with array functions: `f32` or `f64`.
pub trait Real: num_traits::Float + std::fmt::Debug + Send + Sync + 'static {
    /// 2 to the number of significand bits: from here on every value is an integer, and quotients lose their units.
    const INTEGRAL: Self;

    /// Whether this is `f64`: the bodies of functions differ.
    const DOUBLE: bool;

    /// The value as `f32`, exactly if it is one.
    fn single(self) -> f32;

    /// The value as `f64`, exactly.
    fn widen(self) -> f64;

    /// The nearest value of this type.
    fn narrow(x: f64) -> Self;

    /// Rounds to the nearest integer, ties to even.
    fn round_ties_even(self) -> Self;

    /// The next value after `self` in the direction of `to`.
    fn next_after(self, to: Self) -> Self;
}

macro_rules! real {
    ($t:ident, $integral:literal) => {
        impl Real for $t {
            const INTEGRAL: Self = $integral;
            const DOUBLE: bool = size_of::<$t>() == 8;

            #[inline(always)]
            fn single(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn widen(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn narrow(x: f64) -> Self {
                x as $t
            }

            #[inline(always)]
            fn round_ties_even(self) -> Self {
                $t::round_ties_even(self)
            }

            #[inline(always)]
            fn next_after(self, to: Self) -> Self {
                // Magnitudes are ordered like their bits: away from zero is +1, towards it is -1.
                let bits = self.to_bits();
                let outwards = (to > self) == (self > 0.0);
                let stepped = if outwards {
                    bits.wrapping_add(1)
                } else {
                    bits.wrapping_sub(1)
                };
                let from_zero = $t::from_bits(1).copysign(to);
                let next = if self == 0.0 {
                    from_zero
                } else {
                    $t::from_bits(stepped)
                };
                let next = if self == to { to } else { next };
                if self.is_nan() | to.is_nan() {
                    $t::NAN
                } else {
                    next
                }
            }
        }
    };
}

real!(f32, 16777216.0);
real!(f64, 9007199254740992.0);

/// Evaluates a polynomial, constant term first, by Horner's rule.
#[inline(always)]
pub(super) fn poly<T: Real, const N: usize>(x: T, c: &[T; N]) -> T {
    let mut sum = c[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum.mul_add(x, c[i]);
    }
    sum
}

/// Rounds to an integer, ties to even, for magnitudes below 2^51: cheaper than the general instruction.
#[inline(always)]
pub(super) fn nearest(x: f64) -> f64 {
    (x + SHIFTER) - SHIFTER
}

/// `1.5 * 2^52`: adding it leaves the integer nearest to a small number in the low bits of the sum.
pub(super) const SHIFTER: f64 = 6755399441055744.0;

//! Solutions, determinants and Cholesky factors of small matrices, several at a time: each step on one element of all of
//! them at once.
//!
//! Only ordinary matrices are done. For each of the others, with elements out of `ORDINARY` or without a pivot, the
//! caller goes the long way, which knows about scales and infinities and finds the words for errors. Which way a matrix goes
//! depends on nothing but itself.

use pulp::Arch;
use rustarr_interface::Complex64;
use std::f64::consts::LN_2;
use std::ops::Range;

/// Matrices done together.
pub const LANES: usize = 8;

/// Rows and columns at most, and right sides.
pub const SIZE: usize = 16;

/// Sizes of the largest element, and of pivots, with which neither products nor quotients leave the range of `f64`.
const ORDINARY: Range<f64> = 1e-70..1e70;

/// The bits of a double's exponent.
const EXPONENT: u64 = 0x7ff0_0000_0000_0000;

/// A real number of each matrix.
pub type Real = [f64; LANES];

/// What holds of each matrix.
pub type Mask = [bool; LANES];

/// One element of each matrix.
pub trait Vector: Copy {
    /// The element of one matrix.
    type Element: Copy;
    /// All zeros.
    const ZERO: Self;
    /// All ones.
    const ONE: Self;
    /// The elements, matrix by matrix.
    fn new(elements: [Self::Element; LANES]) -> Self;
    /// The element of one matrix.
    fn lane(&self, lane: usize) -> Self::Element;
    /// The product.
    fn times(self, other: Self) -> Self;
    /// `self - a * b`.
    fn less(self, a: Self, b: Self) -> Self;
    /// The product with real numbers.
    fn scale(self, by: Real) -> Self;
    /// The complex conjugates.
    fn conjugate(self) -> Self;
    /// The real parts.
    fn real(self) -> Real;
    /// The squares of the absolute values.
    fn squares(self) -> Real;
    /// The absolute values, of ordinary elements.
    fn magnitudes(self) -> Real;
    /// The elements divided by their absolute values.
    fn directions(self) -> Self;
    /// One over ordinary elements.
    fn reciprocals(self) -> Self;
    /// The absolute values within a factor of two.
    fn sizes(self) -> Real;
    /// These where `which` is `this`, else others.
    fn select(self, which: &Real, this: f64, other: Self) -> Self;
}

#[inline(always)]
fn lanes<R: Copy + Default>(f: impl Fn(usize) -> R) -> [R; LANES] {
    let mut out = [R::default(); LANES];
    for (lane, out) in out.iter_mut().enumerate() {
        *out = f(lane);
    }
    out
}

impl Vector for Real {
    type Element = f64;
    const ZERO: Self = [0.0; LANES];
    const ONE: Self = [1.0; LANES];
    #[inline(always)]
    fn new(elements: [f64; LANES]) -> Self {
        elements
    }
    #[inline(always)]
    fn lane(&self, lane: usize) -> f64 {
        self[lane]
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        lanes(|l| self[l] * other[l])
    }
    #[inline(always)]
    fn less(self, a: Self, b: Self) -> Self {
        lanes(|l| self[l] - a[l] * b[l])
    }
    #[inline(always)]
    fn scale(self, by: Real) -> Self {
        self.times(by)
    }
    #[inline(always)]
    fn conjugate(self) -> Self {
        self
    }
    #[inline(always)]
    fn real(self) -> Real {
        self
    }
    #[inline(always)]
    fn squares(self) -> Real {
        self.times(self)
    }
    #[inline(always)]
    fn magnitudes(self) -> Real {
        lanes(|l| self[l].abs())
    }
    #[inline(always)]
    fn directions(self) -> Self {
        lanes(|l| 1f64.copysign(self[l]))
    }
    #[inline(always)]
    fn reciprocals(self) -> Self {
        lanes(|l| 1.0 / self[l])
    }
    #[inline(always)]
    fn sizes(self) -> Real {
        self.magnitudes()
    }
    #[inline(always)]
    fn select(self, which: &Real, this: f64, other: Self) -> Self {
        lanes(|l| if which[l] == this { self[l] } else { other[l] })
    }
}

/// Complex elements: real and imaginary parts.
#[derive(Clone, Copy, Debug)]
pub struct Complex(Real, Real);

impl Vector for Complex {
    type Element = Complex64;
    const ZERO: Self = Complex([0.0; LANES], [0.0; LANES]);
    const ONE: Self = Complex([1.0; LANES], [0.0; LANES]);
    #[inline(always)]
    fn new(elements: [Complex64; LANES]) -> Self {
        Complex(lanes(|l| elements[l].re), lanes(|l| elements[l].im))
    }
    #[inline(always)]
    fn lane(&self, lane: usize) -> Complex64 {
        Complex64::new(self.0[lane], self.1[lane])
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Complex(
            lanes(|l| self.0[l] * other.0[l] - self.1[l] * other.1[l]),
            lanes(|l| self.0[l] * other.1[l] + self.1[l] * other.0[l]),
        )
    }
    #[inline(always)]
    fn less(self, a: Self, b: Self) -> Self {
        let product = a.times(b);
        Complex(
            lanes(|l| self.0[l] - product.0[l]),
            lanes(|l| self.1[l] - product.1[l]),
        )
    }
    #[inline(always)]
    fn scale(self, by: Real) -> Self {
        Complex(self.0.times(by), self.1.times(by))
    }
    #[inline(always)]
    fn conjugate(self) -> Self {
        Complex(self.0, lanes(|l| -self.1[l]))
    }
    #[inline(always)]
    fn real(self) -> Real {
        self.0
    }
    #[inline(always)]
    fn squares(self) -> Real {
        lanes(|l| self.0[l] * self.0[l] + self.1[l] * self.1[l])
    }
    #[inline(always)]
    fn magnitudes(self) -> Real {
        let squares = self.squares();
        lanes(|l| squares[l].sqrt())
    }
    #[inline(always)]
    fn directions(self) -> Self {
        self.scale(self.magnitudes().reciprocals())
    }
    #[inline(always)]
    fn reciprocals(self) -> Self {
        self.conjugate().scale(self.squares().reciprocals())
    }
    #[inline(always)]
    fn sizes(self) -> Real {
        lanes(|l| self.0[l].abs() + self.1[l].abs())
    }
    #[inline(always)]
    fn select(self, which: &Real, this: f64, other: Self) -> Self {
        Complex(
            self.0.select(which, this, other.0),
            self.1.select(which, this, other.1),
        )
    }
}

/// Room for the elements of matrices, row by row.
pub type Room<V> = [V; SIZE * SIZE];

/// Replaces `b (n, k)` by the solutions of `A x = b`, with `a (n, n)` lost. Returns which are done.
pub fn solve<V: Vector>(n: usize, a: &mut [V], k: usize, b: &mut [V]) -> Mask {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let (done, _) = eliminate(n, a, k, b);
            for i in (0..n).rev() {
                for c in 0..k {
                    let x =
                        (i + 1..n).fold(b[i * k + c], |x, j| x.less(a[i * n + j], b[j * k + c]));
                    // The reciprocals of the pivots are in their places.
                    b[i * k + c] = x.times(a[i * n + i]);
                }
            }
            done
        },
    )
}

/// The signs, or directions, of the determinants and the logarithms of their absolute values, with `a (n, n)` lost. Returns
/// also which are done.
pub fn determinant<V: Vector>(n: usize, a: &mut [V]) -> (Mask, V, Real) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let (done, sign) = eliminate(n, a, 0, &mut []);
            // The product of the pivots' reciprocals, each brought near one by a power of two.
            let mut product = V::ONE.scale(sign);
            let mut exponent = [0.0; LANES];
            for i in 0..n {
                let pivot = a[i * n + i];
                let bits = lanes(|l| pivot.sizes()[l].to_bits() & EXPONENT);
                exponent = lanes(|l| exponent[l] + ((bits[l] >> 52) as f64 - 1023.0));
                product = product.times(pivot.scale(lanes(|l| 1.0 / f64::from_bits(bits[l]))));
            }
            let size = product.magnitudes();
            let log = lanes(|l| -(size[l].ln() + exponent[l] * LN_2));
            (done, product.directions().conjugate(), log)
        },
    )
}

/// Replaces the lower triangle of Hermitian `a (n, n)`, which alone is read, by its Cholesky factor, and what is above by
/// zeros. Returns which are done.
pub fn cholesky<V: Vector>(n: usize, a: &mut [V]) -> Mask {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut done = [true; LANES];
            for j in 0..n {
                let mut squares = a[j * n + j].real();
                for v in &a[j * n..][..j] {
                    let square = v.squares();
                    squares = lanes(|l| squares[l] - square[l]);
                }
                done = lanes(|l| done[l] & ORDINARY.contains(&squares[l]));
                let pivot = lanes(|l| squares[l].sqrt());
                let factor = lanes(|l| 1.0 / pivot[l]);
                a[j * n + j] = V::ONE.scale(pivot);
                for i in j + 1..n {
                    let mut v = a[i * n + j];
                    for p in 0..j {
                        v = v.less(a[i * n + p], a[j * n + p].conjugate());
                    }
                    a[i * n + j] = v.scale(factor);
                    a[j * n + i] = V::ZERO;
                }
            }
            // Every element to the left of a pivot was subtracted from it, so that none is infinite or NaN.
            done
        },
    )
}

/// Gauss's elimination with partial pivoting, done to `b` too: leaves the upper factor, its diagonal replaced by the
/// reciprocals. Returns which are done, and the signs of the permutations.
#[inline(always)]
fn eliminate<V: Vector>(n: usize, a: &mut [V], k: usize, b: &mut [V]) -> (Mask, Real) {
    let mut largest = [0.0f64; LANES];
    let mut finite = [0.0f64; LANES];
    for v in &a[..n * n] {
        let size = v.sizes();
        largest = lanes(|l| largest[l].max(size[l]));
        // NaN from here on for infinities and NaN.
        finite = lanes(|l| finite[l] + 0.0 * size[l]);
    }
    for v in &b[..n * k] {
        let size = v.sizes();
        finite = lanes(|l| finite[l] + 0.0 * size[l]);
    }
    let mut done = lanes(|l| ORDINARY.contains(&largest[l]) & (finite[l] == 0.0));
    let mut sign = [1.0; LANES];
    for c in 0..n {
        let mut best = a[c * n + c].sizes();
        let mut which = [c as f64; LANES];
        for r in c + 1..n {
            let size = a[r * n + c].sizes();
            which = lanes(|l| {
                if size[l] > best[l] {
                    r as f64
                } else {
                    which[l]
                }
            });
            best = lanes(|l| if size[l] > best[l] { size[l] } else { best[l] });
        }
        done = lanes(|l| done[l] & ORDINARY.contains(&best[l]));
        for r in c + 1..n {
            let this = r as f64;
            if which.iter().all(|&w| w != this) {
                continue;
            }
            sign = lanes(|l| if which[l] == this { -sign[l] } else { sign[l] });
            for (x, len, from) in [(&mut *a, n, c), (&mut *b, k, 0)] {
                for j in from..len {
                    let (top, other) = (x[c * len + j], x[r * len + j]);
                    x[c * len + j] = other.select(&which, this, top);
                    x[r * len + j] = top.select(&which, this, other);
                }
            }
        }
        let factor = a[c * n + c].reciprocals();
        a[c * n + c] = factor;
        for r in c + 1..n {
            let factor = a[r * n + c].times(factor);
            for j in c + 1..n {
                a[r * n + j] = a[r * n + j].less(factor, a[c * n + j]);
            }
            for j in 0..k {
                b[r * k + j] = b[r * k + j].less(factor, b[c * k + j]);
            }
        }
    }
    (done, sign)
}

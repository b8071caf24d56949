//! Matrices in the layout that faer likes.

use crate::{Failure, Result};
use faer::linalg::matmul::matmul;
use faer::traits::ComplexField;
use faer::{Accum, MatMut, MatRef, Par};
use rustarr_interface::Complex64;

/// What the routines compute in: `f64` or `Complex64`.
pub trait Field:
    ComplexField<Real = f64> + Copy + Default + PartialEq + From<f64> + Into<Complex64> + Send + Sync
{
    /// The number one.
    const ONE: Self;
    /// The real part.
    fn real(self) -> f64;
    /// The complex conjugate.
    fn conjugate(self) -> Self;
    /// The absolute value, without overflow on the way.
    fn magnitude(self) -> f64;
    /// This number times a real one.
    fn scale(self, by: f64) -> Self;
    /// The quotient of two numbers.
    fn over(self, by: Self) -> Self;
    /// This number divided by its absolute value; one for zero.
    fn direction(self) -> Self;
}

impl Field for f64 {
    const ONE: Self = 1.0;
    fn real(self) -> f64 {
        self
    }
    fn conjugate(self) -> Self {
        self
    }
    fn magnitude(self) -> f64 {
        self.abs()
    }
    fn scale(self, by: f64) -> Self {
        self * by
    }
    fn over(self, by: Self) -> Self {
        self / by
    }
    fn direction(self) -> Self {
        if self == 0.0 { 1.0 } else { self / self.abs() }
    }
}

impl Field for Complex64 {
    const ONE: Self = Complex64::new(1.0, 0.0);
    fn real(self) -> f64 {
        self.re
    }
    fn conjugate(self) -> Self {
        self.conj()
    }
    fn magnitude(self) -> f64 {
        self.norm()
    }
    fn scale(self, by: f64) -> Self {
        self * by
    }
    fn over(self, by: Self) -> Self {
        self / by
    }
    fn direction(self) -> Self {
        let largest = self.re.abs().max(self.im.abs());
        if largest == 0.0 {
            return Complex64::ONE;
        }
        // Sizes at the ends of the range have no digits left to divide by.
        let near = PowerOfTwo::near(largest).inverse().times(self);
        near / near.norm()
    }
}

/// A dense column-major matrix.
#[derive(Clone, Debug)]
pub struct Dense<S> {
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub cols: usize,
    /// The elements, column by column.
    pub values: Vec<S>,
}

impl<S: Field> Dense<S> {
    /// All zeros.
    ///
    /// # Errors
    /// `Memory`.
    pub fn zeros(rows: usize, cols: usize) -> Result<Dense<S>> {
        let mut values = Vec::new();
        let size = rows.saturating_mul(cols);
        if values.try_reserve_exact(size).is_err() {
            return Err(Failure::Memory(size.saturating_mul(size_of::<S>())));
        }
        values.resize(size, S::default());
        Ok(Dense { rows, cols, values })
    }

    /// Ones on the diagonal, zeros elsewhere.
    ///
    /// # Errors
    /// `Memory`.
    pub fn identity(rows: usize, cols: usize) -> Result<Dense<S>> {
        let mut out = Dense::zeros(rows, cols)?;
        for i in 0..rows.min(cols) {
            *out.at_mut(i, i) = S::ONE;
        }
        Ok(out)
    }

    /// The element of row `i` and column `j`.
    #[inline]
    pub fn at(&self, i: usize, j: usize) -> S {
        self.values[i + j * self.rows]
    }

    /// The element of row `i` and column `j`, to be changed.
    #[inline]
    pub fn at_mut(&mut self, i: usize, j: usize) -> &mut S {
        &mut self.values[i + j * self.rows]
    }

    /// The columns of the given numbers.
    ///
    /// # Errors
    /// `Memory`.
    pub(crate) fn columns(&self, which: impl ExactSizeIterator<Item = usize>) -> Result<Dense<S>> {
        let mut out = Dense::zeros(self.rows, which.len())?;
        for (to, j) in out.values.chunks_exact_mut(self.rows.max(1)).zip(which) {
            to.copy_from_slice(&self.values[j * self.rows..][..self.rows]);
        }
        Ok(out)
    }

    /// Overwrites this matrix with a product.
    pub(crate) fn multiply(&mut self, a: &Dense<S>, b: &Dense<S>) {
        matmul(
            self.as_mut(),
            Accum::Replace,
            a.as_ref(),
            b.as_ref(),
            S::ONE,
            Par::Seq,
        );
    }

    /// The conjugate transpose.
    ///
    /// # Errors
    /// `Memory`.
    pub(crate) fn adjoint(&self) -> Result<Dense<S>> {
        let mut out = Dense::zeros(self.cols, self.rows)?;
        for j in 0..self.cols {
            for i in 0..self.rows {
                *out.at_mut(j, i) = self.at(i, j).conjugate();
            }
        }
        Ok(out)
    }

    /// With complex elements.
    ///
    /// # Errors
    /// `Memory`.
    pub(crate) fn wide(&self) -> Result<Dense<Complex64>> {
        let mut out = Dense::zeros(self.rows, self.cols)?;
        for (to, &from) in out.values.iter_mut().zip(&self.values) {
            *to = from.into();
        }
        Ok(out)
    }

    /// This matrix in the first rows and columns of a larger one, which else is the identity.
    ///
    /// # Errors
    /// `Memory`.
    pub(crate) fn embedded(&self, rows: usize, cols: usize) -> Result<Dense<S>> {
        let mut out = Dense::zeros(rows, cols)?;
        for j in 0..self.cols {
            out.values[j * rows..][..self.rows]
                .copy_from_slice(&self.values[j * self.rows..][..self.rows]);
        }
        for j in self.cols..cols {
            *out.at_mut(j, j) = S::ONE;
        }
        Ok(out)
    }

    /// A real matrix whose rows are multiplied by factors.
    ///
    /// # Errors
    /// `Memory`.
    pub(crate) fn with_rows(real: &Dense<f64>, factors: &[S]) -> Result<Dense<S>> {
        let mut out = Dense::zeros(real.rows, real.cols)?;
        let columns = out.values.chunks_exact_mut(real.rows.max(1));
        for (to, from) in columns.zip(real.values.chunks_exact(real.rows.max(1))) {
            for ((to, from), factor) in to.iter_mut().zip(from).zip(factors) {
                *to = factor.scale(*from);
            }
        }
        Ok(out)
    }

    pub(crate) fn as_ref(&self) -> MatRef<'_, S> {
        MatRef::from_column_major_slice(&self.values, self.rows, self.cols)
    }

    pub(crate) fn as_mut(&mut self) -> MatMut<'_, S> {
        MatMut::from_column_major_slice_mut(&mut self.values, self.rows, self.cols)
    }

    /// Clears what is above the diagonal and makes the diagonal real, as it is in a Hermitian matrix of which only the
    /// lower triangle is given.
    pub(crate) fn keep_lower_triangle(&mut self) {
        for j in 0..self.cols {
            for i in 0..j.min(self.rows) {
                *self.at_mut(i, j) = S::default();
            }
            *self.at_mut(j, j) = S::ONE.scale(Field::real(self.at(j, j)));
        }
    }

    /// Clears what is below the diagonal.
    pub(crate) fn keep_upper_triangle(&mut self) {
        for j in 0..self.cols {
            for i in j + 1..self.rows {
                *self.at_mut(i, j) = S::default();
            }
        }
    }

    /// Scales the matrix by a power of two, which is exact, so that products of its elements neither overflow nor
    /// vanish; returns what undoes it.
    ///
    /// # Errors
    /// `NotFinite`.
    pub(crate) fn normalise(&mut self) -> Result<PowerOfTwo> {
        let largest = self.largest()?;
        if largest == 0.0 || (1e-100..1e100).contains(&largest) {
            return Ok(PowerOfTwo::default());
        }
        self.unit()
    }

    /// [`Dense::normalise`], to a largest element near one.
    ///
    /// # Errors
    /// `NotFinite`.
    pub(crate) fn unit(&mut self) -> Result<PowerOfTwo> {
        let scale = PowerOfTwo::near(self.largest()?);
        let shrink = scale.inverse();
        self.values.iter_mut().for_each(|v| *v = shrink.times(*v));
        Ok(scale)
    }

    /// The largest real or imaginary part.
    fn largest(&self) -> Result<f64> {
        let mut largest = 0f64;
        for v in &self.values {
            let v: Complex64 = (*v).into();
            if !(v.re.is_finite() && v.im.is_finite()) {
                return Err(Failure::NotFinite);
            }
            largest = largest.max(v.re.abs()).max(v.im.abs());
        }
        Ok(largest)
    }
}

/// A factor that may be out of the range of `f64`; one by default.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PowerOfTwo(i32);

impl PowerOfTwo {
    /// The one near a number; one for zero.
    pub fn near(v: f64) -> PowerOfTwo {
        PowerOfTwo(if v > 0.0 { v.log2().floor() as i32 } else { 0 })
    }

    /// One over this factor.
    pub fn inverse(self) -> PowerOfTwo {
        PowerOfTwo(-self.0)
    }

    /// The factor times a number.
    pub fn times<S: Field>(self, v: S) -> S {
        if self.0 == 0 {
            return v;
        }
        // In two steps, each of which is in range.
        v.scale(2f64.powi(self.0 / 2))
            .scale(2f64.powi(self.0 - self.0 / 2))
    }
}

/// The Euclidean norm, scaled where squares might overflow or vanish.
pub(crate) fn norm<S: Field>(v: &[S]) -> f64 {
    let squares = Field::real(dot_conjugate(v, v));
    if (1e-280..1e280).contains(&squares) {
        return squares.sqrt();
    }
    let largest = v.iter().fold(0.0, |m: f64, v| m.max(v.magnitude()));
    if largest == 0.0 || !largest.is_finite() {
        return v.iter().map(|v| v.magnitude()).sum();
    }
    let square = |v: &S| (v.magnitude() / largest).powi(2);
    largest * v.iter().map(square).sum::<f64>().sqrt()
}

/// How many sums run side by side.
const LANES: usize = 8;

/// The sum of products.
#[inline(always)]
pub(crate) fn dot<S: Field>(a: &[S], b: &[S]) -> S {
    products(a, b, |a, b| a * b)
}

/// The sum of products, those of `a` conjugated.
#[inline(always)]
pub(crate) fn dot_conjugate<S: Field>(a: &[S], b: &[S]) -> S {
    products(a, b, |a, b| a.conjugate() * b)
}

#[inline(always)]
fn products<S: Field>(a: &[S], b: &[S], product: impl Fn(S, S) -> S) -> S {
    let mut sums = [S::default(); LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for (sum, (&a, &b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += product(a, b);
        }
    }
    for (sum, (&a, &b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += product(a, b);
    }
    sums.iter().fold(S::default(), |sum, &v| sum + v)
}

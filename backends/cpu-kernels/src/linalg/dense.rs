//! Matrices between operands and faer: dense, column-major, in double precision.

use crate::nest::{Nest, Raw, scratch, spread};
use crate::par::Par;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::traits::ComplexField;
use faer::{MatMut, MatRef};
use rustarr_interface::{Complex32, Complex64, Element, Error, Layout, Operand, Result, Strides};
use smallvec::SmallVec;

/// What the routines compute in: `f64` or `Complex64`.
pub(super) trait Field:
    ComplexField<Real = f64> + Copy + Default + PartialEq + Into<Complex64> + Send + Sync
{
    const ONE: Self;
    fn real(self) -> f64;
    fn conjugate(self) -> Self;
    /// The absolute value, without overflow on the way.
    fn magnitude(self) -> f64;
    /// `self` times a real number.
    fn scale(self, by: f64) -> Self;
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
}

/// A stored dtype, and the types that its routines compute in and answer with.
pub(super) trait Stored: Element {
    /// The type computed in.
    type Field: super::eig::Eigen;
    /// The dtype of singular values and the like.
    type Real: Element;
    /// The dtype of eigenvalues of a general matrix.
    type Complex: Element;
    fn widen(self) -> Self::Field;
    fn narrow(value: Self::Field) -> Self;
    fn narrow_real(value: f64) -> Self::Real;
    fn narrow_complex(value: Complex64) -> Self::Complex;
}

macro_rules! stored {
    ($($t:ty, $field:ty, $real:ty, $complex:ty, $widen:expr, $narrow:expr;)*) => { $(impl Stored for $t {
        type Field = $field;
        type Real = $real;
        type Complex = $complex;
        fn widen(self) -> $field {
            ($widen)(self)
        }
        fn narrow(value: $field) -> Self {
            ($narrow)(value)
        }
        fn narrow_real(value: f64) -> $real {
            value as $real
        }
        fn narrow_complex(value: Complex64) -> $complex {
            <$complex>::new(value.re as $real, value.im as $real)
        }
    })* };
}
stored!(
    f32, f64, f32, Complex32, |v: f32| v as f64, |v: f64| v as f32;
    f64, f64, f64, Complex64, |v| v, |v| v;
    Complex32, Complex64, f32, Complex32, |v: Complex32| Complex64::new(v.re as f64, v.im as f64),
        |v: Complex64| Complex32::new(v.re as f32, v.im as f32);
    Complex64, Complex64, f64, Complex64, |v| v, |v| v;
);

/// A dense column-major matrix.
#[derive(Clone)]
pub(super) struct Dense<S> {
    pub rows: usize,
    pub cols: usize,
    pub values: Vec<S>,
}

impl<S: Field> Dense<S> {
    pub fn zeros(op: &'static str, rows: usize, cols: usize) -> Result<Dense<S>> {
        let values = scratch(op, rows * cols, S::default())?;
        Ok(Dense { rows, cols, values })
    }

    /// Ones on the diagonal, zeros elsewhere.
    pub fn identity(op: &'static str, rows: usize, cols: usize) -> Result<Dense<S>> {
        let mut out = Dense::zeros(op, rows, cols)?;
        for i in 0..rows.min(cols) {
            *out.at_mut(i, i) = S::ONE;
        }
        Ok(out)
    }

    pub fn at(&self, i: usize, j: usize) -> S {
        self.values[i + j * self.rows]
    }

    pub fn at_mut(&mut self, i: usize, j: usize) -> &mut S {
        &mut self.values[i + j * self.rows]
    }

    pub fn as_ref(&self) -> MatRef<'_, S> {
        MatRef::from_column_major_slice(&self.values, self.rows, self.cols)
    }

    pub fn as_mut(&mut self) -> MatMut<'_, S> {
        MatMut::from_column_major_slice_mut(&mut self.values, self.rows, self.cols)
    }

    /// The conjugate transpose.
    pub fn adjoint(&self, op: &'static str) -> Result<Dense<S>> {
        let mut out = Dense::zeros(op, self.cols, self.rows)?;
        for j in 0..self.cols {
            for i in 0..self.rows {
                *out.at_mut(j, i) = self.at(i, j).conjugate();
            }
        }
        Ok(out)
    }

    /// Scales the matrix so that products of its elements neither overflow nor vanish, by a power of two, which is
    /// exact; returns the factor that undoes it. `None` if an element is infinite or NaN.
    pub fn normalise(&mut self) -> Option<f64> {
        let mut largest = 0f64;
        for v in &self.values {
            let v: Complex64 = (*v).into();
            if !(v.re.is_finite() && v.im.is_finite()) {
                return None;
            }
            largest = largest.max(v.re.abs()).max(v.im.abs());
        }
        if largest == 0.0 || (1e-100..1e100).contains(&largest) {
            return Some(1.0);
        }
        // Two steps: the factor of a subnormal number is out of range.
        let exponent = -(largest.log2().floor() as i32);
        let halves = [exponent / 2, exponent - exponent / 2].map(|e| 2f64.powi(e));
        for v in &mut self.values {
            *v = v.scale(halves[0]).scale(halves[1]);
        }
        Some(2f64.powi(-exponent))
    }
}

/// Working memory for a faer function.
pub(super) fn stack<R>(
    op: &'static str,
    need: StackReq,
    f: impl FnOnce(&mut MemStack) -> R,
) -> Result<R> {
    match MemBuffer::try_new(need) {
        Ok(mut buffer) => Ok(f(MemStack::new(&mut buffer))),
        Err(_) => Err(Error::memory(
            op,
            format!("no {} bytes of working memory", need.size_bytes()),
        )),
    }
}

/// Operands whose leading axes are a batch.
pub(super) struct Batch<'a> {
    par: Par<'a>,
    pub op: &'static str,
    operands: SmallVec<[Operand<'a>; 4]>,
    ranks: SmallVec<[usize; 4]>,
    shape: SmallVec<[usize; 4]>,
    nest: Nest,
}

impl<'a> Batch<'a> {
    /// Inputs, then outputs; `ranks` says how many of each operand's last axes are its matrix, vector or scalar.
    pub fn new(
        par: Par<'a>,
        op: &'static str,
        inputs: &[Operand<'a>],
        outputs: &[Operand<'a>],
        ranks: &[usize],
    ) -> Result<Batch<'a>> {
        let operands: SmallVec<[Operand<'a>; 4]> = inputs.iter().chain(outputs).copied().collect();
        debug_assert_eq!(operands.len(), ranks.len());
        let leading = |(o, rank): (&Operand<'_>, &usize)| {
            let n = o.layout.ndim() - rank;
            Layout::new(
                &o.layout.shape()[..n],
                &o.layout.strides()[..n],
                o.layout.offset(),
            )
        };
        let layouts: SmallVec<[Layout; 4]> = operands.iter().zip(ranks).map(leading).collect();
        let shape = layouts[0].shape();
        Ok(Batch {
            par,
            op,
            shape: shape.into(),
            nest: Nest::ordered(shape, &layouts.iter().collect::<SmallVec<[&Layout; 4]>>()),
            operands,
            ranks: ranks.into(),
        })
    }

    /// Runs `f` for every member of the batch.
    pub fn each(&self, f: impl Fn(&Item<'_, '_>) -> Result<()> + Sync) -> Result<()> {
        let count = self.nest.size();
        // Matrices of a few elements go together.
        let elements: usize = self.dims(0).iter().map(|d| d.0).product();
        let block = (1024 / elements.max(1)).max(1);
        spread(
            self.par,
            self.op,
            count.div_ceil(block),
            || (),
            |(), task| {
                for index in task * block..((task + 1) * block).min(count) {
                    f(&Item {
                        batch: self,
                        index,
                        at: self.nest.position(index),
                    })?;
                }
                Ok(())
            },
        )
    }

    /// Length and step of the axes of an operand's matrix, vector or scalar.
    fn dims(&self, operand: usize) -> SmallVec<[(usize, isize); 2]> {
        let layout = self.operands[operand].layout;
        let from = layout.ndim() - self.ranks[operand];
        let axes = layout.shape().iter().zip(layout.strides()).skip(from);
        axes.map(|(&d, &s)| (d, s)).collect()
    }
}

/// One member of a batch.
pub(super) struct Item<'b, 'a> {
    batch: &'b Batch<'a>,
    index: usize,
    at: Strides,
}

impl Item<'_, '_> {
    /// The matrix of an input.
    pub fn load<T: Stored>(&self, operand: usize) -> Result<Dense<T::Field>> {
        let dims = self.batch.dims(operand);
        let (rows, cols) = (dims[0].0, dims[1].0);
        let base = Raw::<T>::of(self.batch.operands[operand])?;
        let mut out = Dense::zeros(self.batch.op, rows, cols)?;
        for j in 0..cols {
            for i in 0..rows {
                let at = self.at[operand] + i as isize * dims[0].1 + j as isize * dims[1].1;
                // SAFETY: layouts stay inside their buffers.
                *out.at_mut(i, j) = unsafe { *base.at(at) }.widen();
            }
        }
        Ok(out)
    }

    /// Writes the matrix `f(i, j)` of an output.
    pub fn store<T: Element>(&self, operand: usize, f: impl Fn(usize, usize) -> T) -> Result<()> {
        let mut dims = self.batch.dims(operand);
        dims.resize(2, (1, 0));
        let base = Raw::<T>::of(self.batch.operands[operand])?;
        for i in 0..dims[0].0 {
            for j in 0..dims[1].0 {
                let at = self.at[operand] + i as isize * dims[0].1 + j as isize * dims[1].1;
                // SAFETY: layouts stay inside their buffers; every member has its own elements.
                unsafe { *base.at(at) = f(i, j) };
            }
        }
        Ok(())
    }

    /// Writes a dense matrix of an output's shape.
    pub fn store_matrix<T: Stored>(&self, operand: usize, from: &Dense<T::Field>) -> Result<()> {
        self.store(operand, |i, j| T::narrow(from.at(i, j)))
    }

    /// Why the routine fails for this matrix.
    pub fn error(&self, what: &str) -> Error {
        let mut place: SmallVec<[usize; 4]> = SmallVec::new();
        let mut rest = self.index;
        for &dim in self.batch.shape.iter().rev() {
            place.insert(0, rest % dim);
            rest /= dim;
        }
        let which = if place.is_empty() {
            "the matrix".to_owned()
        } else {
            format!("matrix {place:?} of the batch")
        };
        Error::linalg(self.batch.op, format!("{which} {what}"))
    }
}

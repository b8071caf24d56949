//! Batches of operands, and the way of each matrix into and out of double precision.

use crate::nest::{Nest, Raw, spread};
use crate::par::Par;
use rustarr_cpu_linalg::{self as cpu, Dense, Failure, Field, Routines};
use rustarr_interface::{Complex32, Complex64, Element, Error, Layout, Operand, Result, Strides};
use smallvec::SmallVec;

/// A stored dtype, and the types that its routines compute in and answer with.
pub(super) trait Stored: Element {
    /// The type computed in.
    type Field: Routines;
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

/// Operands whose leading axes are a batch.
pub(super) struct Batch<'a> {
    par: Par<'a>,
    op: &'static str,
    operands: SmallVec<[Operand<'a>; 4]>,
    ranks: &'static [usize],
    shape: SmallVec<[usize; 4]>,
    /// Over the batch: every operand.
    nest: Nest,
}

impl<'a> Batch<'a> {
    /// Inputs, then outputs; `ranks` says how many of each operand's last axes are its matrix, vector or scalar.
    pub fn new(
        par: Par<'a>,
        op: &'static str,
        inputs: &[Operand<'a>],
        outputs: &[Operand<'a>],
        ranks: &'static [usize],
    ) -> Batch<'a> {
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
        Batch {
            par,
            op,
            shape: shape.into(),
            nest: Nest::ordered(shape, &layouts.iter().collect::<SmallVec<[&Layout; 4]>>()),
            operands,
            ranks,
        }
    }

    /// Runs `f` for every member of the batch.
    pub fn each(&self, f: impl Fn(&Item<'_, 'a>) -> Result<()> + Sync) -> Result<()> {
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
                    let at = self.nest.position(index);
                    f(&Item {
                        batch: self,
                        index,
                        at,
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
    /// Length and step of the axes of an operand's matrix, vector or scalar.
    pub fn dims(&self, operand: usize) -> SmallVec<[(usize, isize); 2]> {
        self.batch.dims(operand)
    }

    /// The last operand.
    pub fn last(&self) -> usize {
        self.batch.operands.len() - 1
    }

    /// The matrix of an input.
    pub fn load<T: Stored>(&self, operand: usize) -> Result<Dense<T::Field>> {
        self.load_from::<T>(operand, false)
    }

    /// The matrix of an input, or its conjugate transpose.
    pub fn load_from<T: Stored>(&self, operand: usize, adjoint: bool) -> Result<Dense<T::Field>> {
        let mut dims = self.dims(operand);
        if adjoint {
            dims.swap(0, 1);
        }
        let base = Raw::<T>::of(self.batch.operands[operand])?;
        let mut out = self.check(Dense::zeros(dims[0].0, dims[1].0))?;
        for j in 0..out.cols {
            for i in 0..out.rows {
                let at = self.at[operand] + i as isize * dims[0].1 + j as isize * dims[1].1;
                // SAFETY: layouts stay inside their buffers.
                let value = unsafe { *base.at(at) }.widen();
                *out.at_mut(i, j) = if adjoint { value.conjugate() } else { value };
            }
        }
        Ok(out)
    }

    /// Writes `f(row, column)` to every element of an output.
    pub fn store<T: Element>(&self, operand: usize, f: impl Fn(usize, usize) -> T) -> Result<()> {
        let mut dims = self.dims(operand);
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

    /// A routine's result, its failure put in words.
    pub fn check<R>(&self, result: cpu::Result<R>) -> Result<R> {
        result.map_err(|failure| self.error(failure))
    }

    #[cold]
    fn error(&self, failure: Failure) -> Error {
        let what = match failure {
            Failure::Memory(bytes) => {
                let text = format!("no {bytes} bytes of working memory");
                return Error::memory(self.batch.op, text);
            }
            Failure::Singular => "is singular",
            Failure::NotPositiveDefinite => "is not positive definite",
            Failure::NotFinite => "has infinities or NaN, so that the iteration would not converge",
            Failure::Diverges => "is one for which the iteration does not converge",
        };
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

//! Batches of operands, and the way of each matrix into and out of double precision.

use crate::nest::{Nest, Raw, spread};
use crate::par::Par;
use rustarr_cpu_linalg::small::{LANES, Mask, Room, SIZE, Vector};
use rustarr_cpu_linalg::{self as cpu, Dense, Failure, Field, Routines};
use rustarr_interface::{Complex32, Complex64, Element, Error, Layout, Operand, Result, Strides};
use smallvec::SmallVec;

/// Elements of several small matrices.
pub(super) type Small<T> = <<T as Stored>::Field as Routines>::Small;

/// Working memory for two of their matrices.
pub(super) type Rooms<T> = [Room<Small<T>>; 2];

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

    /// How many members there are.
    pub fn count(&self) -> usize {
        self.nest.size()
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

    /// Runs `together` with working memory for groups of members, and `alone` for the members that it has not done.
    pub fn each_group<T: Stored>(
        &self,
        together: impl Fn(&Group<'_, 'a>, &mut Rooms<T>) -> Result<Mask> + Sync,
        alone: impl Fn(&Item<'_, 'a>) -> Result<()> + Sync,
    ) -> Result<()> {
        let count = self.nest.size();
        let elements: usize = self.dims(0).iter().map(|d| d.0).product();
        let block = (8192 / elements.max(1)).max(LANES).next_multiple_of(LANES);
        spread(
            self.par,
            self.op,
            count.div_ceil(block),
            || [[Small::<T>::ZERO; SIZE * SIZE]; 2],
            |rooms, task| {
                let end = ((task + 1) * block).min(count);
                let mut group = Group {
                    batch: self,
                    at: [[0; LANES]; OPERANDS],
                    members: 0,
                };
                let mut result = Ok(());
                self.nest.runs(task * block, end, |at, first, len| {
                    for member in 0..len {
                        for (to, (o, &at)) in group.at.iter_mut().zip(at.iter().enumerate()) {
                            to[group.members] = at + member as isize * self.nest.step(o);
                        }
                        group.members += 1;
                        let index = first + member;
                        if group.members == LANES || index + 1 == end {
                            if result.is_ok() {
                                result = self.group(
                                    &mut group,
                                    index,
                                    |group| together(group, rooms),
                                    &alone,
                                );
                            }
                            group.members = 0;
                        }
                    }
                });
                result
            },
        )
    }

    /// Runs the members of a group, whose last has this index.
    fn group(
        &self,
        group: &mut Group<'_, 'a>,
        last: usize,
        together: impl FnOnce(&Group<'_, 'a>) -> Result<Mask>,
        alone: &impl Fn(&Item<'_, 'a>) -> Result<()>,
    ) -> Result<()> {
        let members = group.members;
        // Where there are fewer, the first is done several times.
        for at in &mut group.at {
            let first = at[0];
            at[members..].fill(first);
        }
        let done = together(group)?;
        for lane in (0..members).filter(|&lane| !done[lane]) {
            let index = last + 1 - members + lane;
            let at = self.nest.position(index);
            alone(&Item {
                batch: self,
                index,
                at,
            })?;
        }
        Ok(())
    }

    /// Length and step of the axes of an operand's matrix, vector or scalar.
    pub fn dims(&self, operand: usize) -> SmallVec<[(usize, isize); 2]> {
        let layout = self.operands[operand].layout;
        let from = layout.ndim() - self.ranks[operand];
        let axes = layout.shape().iter().zip(layout.strides()).skip(from);
        axes.map(|(&d, &s)| (d, s)).collect()
    }
}

/// Operands at most of what is done in groups.
const OPERANDS: usize = 3;

/// Several members of a batch.
pub(super) struct Group<'b, 'a> {
    batch: &'b Batch<'a>,
    /// Where each operand's members begin.
    at: [[isize; LANES]; OPERANDS],
    members: usize,
}

impl Group<'_, '_> {
    /// The last operand.
    pub fn last(&self) -> usize {
        self.batch.operands.len() - 1
    }

    /// Length and step of the axes of an operand's matrices, of which scalars have one element.
    pub fn matrix(&self, operand: usize) -> [(usize, isize); 2] {
        let mut dims = self.batch.dims(operand);
        dims.resize(2, (1, 0));
        [dims[0], dims[1]]
    }

    /// Identity matrices of the shape of the first operand.
    pub fn identity<T: Stored>(&self, room: &mut Room<Small<T>>) {
        let n = self.matrix(0)[0].0;
        room[..n * n].fill(Small::<T>::ZERO);
        (0..n).for_each(|i| room[i * n + i] = Small::<T>::ONE);
    }

    /// The matrices of an input row by row, or their conjugate transposes.
    pub fn load<T: Stored>(
        &self,
        operand: usize,
        adjoint: bool,
        room: &mut Room<Small<T>>,
    ) -> Result<()> {
        let [mut rows, mut columns] = self.matrix(operand);
        if adjoint {
            (rows, columns) = (columns, rows);
        }
        let base = Raw::<T>::of(self.batch.operands[operand])?;
        let at = self.at[operand];
        for i in 0..rows.0 {
            for j in 0..columns.0 {
                let offset = i as isize * rows.1 + j as isize * columns.1;
                let mut elements = [T::Field::default(); LANES];
                for (element, at) in elements.iter_mut().zip(at) {
                    // SAFETY: layouts stay inside their buffers.
                    *element = unsafe { *base.at(at + offset) }.widen();
                }
                let value = Small::<T>::new(elements);
                room[i * columns.0 + j] = if adjoint { value.conjugate() } else { value };
            }
        }
        Ok(())
    }

    /// Writes `f(row, column)` to every element of an output, for the members that are done.
    pub fn store<T: Element>(
        &self,
        operand: usize,
        done: &Mask,
        f: impl Fn(usize, usize) -> [T; LANES],
    ) -> Result<()> {
        let [rows, columns] = self.matrix(operand);
        let base = Raw::<T>::of(self.batch.operands[operand])?;
        let at = self.at[operand];
        let mut wanted = *done;
        wanted[self.members..].fill(false);
        for i in 0..rows.0 {
            for j in 0..columns.0 {
                let offset = i as isize * rows.1 + j as isize * columns.1;
                let values = f(i, j);
                for ((value, at), wanted) in values.into_iter().zip(at).zip(wanted) {
                    if wanted {
                        // SAFETY: layouts stay inside their buffers; every member has its own elements.
                        unsafe { *base.at(at + offset) = value };
                    }
                }
            }
        }
        Ok(())
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

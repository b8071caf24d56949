//! Batched matrix products.
//!
//! The output is cut into tiles and, where it is small and the summed axis long, the sum into
//! blocks. Both depend on the shape alone, and each is computed by one thread, so that the number of
//! threads cannot change a bit.

mod float;
mod ring;

use crate::nest::{GRAIN, Nest, Raw, scratch, spread};
use crate::par::Par;
use ring::Ring;
use rustarr_interface::{Bool, DType, Layout, Operand, Result, dispatch, f16};
use std::array::from_fn;

/// The name in errors.
const OP: &str = "matmul";
/// Products of at most this many steps are computed by a plain loop.
const SMALL: usize = 1 << 10;
/// Rows and columns at a time.
const ROWS: usize = 4;
const LANES: usize = 8;

/// Matrix product over the last two axes, `(.., m, k) x (.., k, n) -> (.., m, n)`; leading axes
/// are equal. Integers wrap, `bool` is or-of-ands, `float16` is summed in `float32`.
pub fn matmul(par: Par<'_>, a: Operand<'_>, b: Operand<'_>, output: Operand<'_>) -> Result<()> {
    match a.dtype {
        DType::F16 => half(par, a, b, output),
        DType::Bool => {
            ring::product::<Bool, 16>(par, View::of(a)?, View::of(b)?, View::of(output)?)
        }
        // Wrapping products are the same with and without a sign.
        dtype if dtype.is(rustarr_interface::Kinds::INT) => match dtype.itemsize() {
            1 => ring::product::<u8, 16>(par, View::of(a)?, View::of(b)?, View::of(output)?),
            2 => ring::product::<u16, 16>(par, View::of(a)?, View::of(b)?, View::of(output)?),
            4 => ring::product::<u32, 16>(par, View::of(a)?, View::of(b)?, View::of(output)?),
            _ => ring::product::<u64, 8>(par, View::of(a)?, View::of(b)?, View::of(output)?),
        },
        dtype => dispatch!(lapack, dtype, T => {
            float::product::<T>(par, View::of(a)?, View::of(b)?, View::of(output)?)
        }, else Ok(())),
    }
}

fn half(par: Par<'_>, a: Operand<'_>, b: Operand<'_>, output: Operand<'_>) -> Result<()> {
    let (a, b, c) = (
        View::<f16>::of(a)?,
        View::<f16>::of(b)?,
        View::<f16>::of(output)?,
    );
    let (mut a_memory, mut b_memory) = (Vec::new(), Vec::new());
    let a = a.dense(par, &mut a_memory, f16::to_f32)?;
    let b = b.dense(par, &mut b_memory, f16::to_f32)?;
    let mut sums = scratch(OP, c.layout.size(), 0f32)?;
    let sums = View {
        base: Raw(sums.as_mut_ptr()),
        layout: Layout::contiguous(c.layout.shape()),
    };
    float::product(par, a, b, sums.clone())?;
    sums.copy_to(par, &c, f16::from_f32)
}

/// Matrices in memory: the last two axes of a layout.
#[derive(Clone)]
struct View<T> {
    base: Raw<T>,
    layout: Layout,
}

impl<T: Copy> View<T> {
    fn of(operand: Operand<'_>) -> Result<View<T>> {
        Ok(View {
            base: Raw::of(operand)?,
            layout: operand.layout.clone(),
        })
    }

    /// Rows and columns, each as length and stride.
    fn axes(&self) -> [(usize, isize); 2] {
        let axis = |a: usize| (self.layout.shape()[a], self.layout.strides()[a]);
        let n = self.layout.ndim();
        [axis(n - 2), axis(n - 1)]
    }

    /// The layout of the leading axes.
    fn batch(&self) -> Layout {
        let n = self.layout.ndim() - 2;
        let (shape, strides) = (self.layout.shape(), self.layout.strides());
        Layout::new(&shape[..n], &strides[..n], self.layout.offset())
    }

    /// The same matrices converted into `memory`, each dense in row-major order; those that the batch repeats
    /// are stored once.
    fn dense<D: Copy + Default>(
        &self,
        par: Par<'_>,
        memory: &mut Vec<D>,
        convert: impl Fn(T) -> D + Sync,
    ) -> Result<View<D>> {
        let mut once = self.layout.clone();
        for axis in 0..once.ndim() - 2 {
            if once.strides()[axis] == 0 && once.shape()[axis] > 1 {
                once = once.slice(axis, 0, 1, 1);
            }
        }
        *memory = scratch(OP, once.size(), D::default())?;
        let to = View {
            base: Raw(memory.as_mut_ptr()),
            layout: Layout::contiguous(once.shape()),
        };
        let from = View {
            base: self.base,
            layout: once,
        };
        from.copy_to(par, &to, convert)?;
        Ok(View {
            base: to.base,
            layout: to.layout.broadcast_to(self.layout.shape())?,
        })
    }

    fn copy_to<D>(
        &self,
        par: Par<'_>,
        to: &View<D>,
        convert: impl Fn(T) -> D + Sync,
    ) -> Result<()> {
        let nest = Nest::unordered(self.layout.shape(), &[&self.layout, &to.layout]);
        spread(
            par,
            OP,
            nest.size().div_ceil(GRAIN),
            || (),
            |(), task| {
                nest.runs(
                    task * GRAIN,
                    ((task + 1) * GRAIN).min(nest.size()),
                    |at, _, len| {
                        for i in 0..len as isize {
                            // SAFETY: layouts stay inside their memory; tasks write their own elements.
                            unsafe {
                                let value = *self.base.at(at[0] + i * nest.step(0));
                                *to.base.at(at[1] + i * nest.step(1)) = convert(value);
                            }
                        }
                    },
                );
                Ok(())
            },
        )
    }
}

/// One product per element of a batch.
struct Problem<T> {
    m: usize,
    k: usize,
    n: usize,
    a: Matrix<T>,
    b: Matrix<T>,
    c: Matrix<T>,
    /// Over the batch: the positions of the three matrices.
    batch: Nest,
}

/// Where matrices lie, but for the position of the first element.
#[derive(Clone, Copy)]
struct Matrix<T> {
    base: Raw<T>,
    row: isize,
    col: isize,
}

impl<T> Matrix<T> {
    fn transposed(self) -> Self {
        Matrix {
            row: self.col,
            col: self.row,
            ..self
        }
    }

    /// The address of an element of the matrix that begins at `position`.
    ///
    /// # Safety
    /// The element lies inside the memory.
    #[inline(always)]
    unsafe fn at(self, position: isize, i: usize, j: usize) -> *mut T {
        // SAFETY: by contract.
        unsafe {
            self.base
                .at(position + i as isize * self.row + j as isize * self.col)
        }
    }
}

impl<T: Copy> Problem<T> {
    fn new(a: &View<T>, b: &View<T>, c: &View<T>) -> Problem<T> {
        let matrix = |v: &View<T>| {
            let [(_, row), (_, col)] = v.axes();
            Matrix {
                base: v.base,
                row,
                col,
            }
        };
        let [(m, _), (k, _)] = a.axes();
        let layouts = [a.batch(), b.batch(), c.batch()];
        let [la, lb, lc] = &layouts;
        let mut problem = Problem {
            m,
            k,
            n: b.axes()[1].0,
            a: matrix(a),
            b: matrix(b),
            c: matrix(c),
            batch: Nest::ordered(la.shape(), &[la, lb, lc]),
        };
        problem.fold();
        problem
    }

    /// A batch times one matrix is one product with more rows, where the rows follow each other evenly.
    fn fold(&mut self) {
        let (count, m) = (self.batch.size(), self.m as isize);
        if count < 2 || self.batch.run() != count || self.batch.step(1) != 0 {
            return;
        }
        let (a, c) = (self.batch.step(0), self.batch.step(2));
        if self.m == 1 {
            (self.a.row, self.c.row) = (a, c);
        } else if a != m * self.a.row || c != m * self.c.row {
            return;
        }
        self.m *= count;
        self.batch.truncate();
    }

    /// Runs `f` with the positions of every product of the batch, some to a task.
    fn each<S>(
        &self,
        par: Par<'_>,
        init: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, &[isize; 3]) + Sync,
    ) -> Result<()> {
        let count = self.batch.size();
        let block = (GRAIN / (self.m * self.n * self.k).max(1)).max(1);
        spread(par, OP, count.div_ceil(block), init, |scratch, task| {
            let last = ((task + 1) * block).min(count);
            self.batch.runs(task * block, last, |at, _, len| {
                for i in 0..len as isize {
                    f(scratch, &[0, 1, 2].map(|o| at[o] + i * self.batch.step(o)));
                }
            });
            Ok(())
        })
    }

    fn is_small(&self) -> bool {
        self.m * self.n * self.k <= SMALL
    }

    /// Whether a small product is worth a dense copy of its right side.
    fn packs(&self) -> bool {
        self.m >= 3 && self.n > LANES / 2
    }

    /// The product by its definition: either way each sum in the order of the summed axis.
    fn small(&self, par: Par<'_>) -> Result<()>
    where
        T: Ring,
    {
        if self.packs() {
            return self.each(par, Vec::new, |rows, at| {
                pulp::Arch::new().dispatch(
                    #[inline(always)]
                    || self.packed(rows, at),
                );
            });
        }
        self.each(
            par,
            || (),
            |(), &[a, b, c]| {
                for i in 0..self.m {
                    for j in 0..self.n {
                        // SAFETY: the matrices lie inside their memory; each is written by one task.
                        unsafe {
                            let mut sum = T::ZERO;
                            for p in 0..self.k {
                                sum = sum.mul_add(*self.a.at(a, i, p), *self.b.at(b, p, j));
                            }
                            *self.c.at(c, i, j) = sum;
                        }
                    }
                }
            },
        )
    }

    /// One product, by register tiles.
    #[inline(always)]
    fn packed(&self, rows: &mut Vec<[T; LANES]>, &[a, b, c]: &[isize; 3])
    where
        T: Ring,
    {
        for from in (0..self.n).step_by(LANES) {
            let columns = LANES.min(self.n - from);
            let whole = columns == LANES && self.b.col == 1;
            rows.resize(self.k, [T::ZERO; LANES]);
            for (p, row) in rows.iter_mut().enumerate() {
                // SAFETY: the matrices lie inside their memory.
                unsafe {
                    let at = self.b.at(b, p, from);
                    if whole {
                        *row = at.cast::<[T; LANES]>().read();
                    } else {
                        for (j, v) in row.iter_mut().enumerate().take(columns) {
                            *v = *at.offset(j as isize * self.b.col);
                        }
                    }
                }
            }
            for i in (0..self.m).step_by(ROWS) {
                // Rows that there are not are the last one, and are not stored.
                let row = |r: usize| (i + r).min(self.m - 1);
                // SAFETY: as above.
                let left: [*const T; ROWS] =
                    from_fn(|r| unsafe { self.a.at(a, row(r), 0).cast_const() });
                let mut sums = [[T::ZERO; LANES]; ROWS];
                for (p, right) in rows.iter().enumerate() {
                    for (sums, left) in sums.iter_mut().zip(left) {
                        // SAFETY: as above.
                        let left = unsafe { *left.offset(p as isize * self.a.col) };
                        for (sum, &right) in sums.iter_mut().zip(right) {
                            *sum = sum.mul_add(left, right);
                        }
                    }
                }
                for (r, sums) in sums.iter().enumerate().take(self.m - i) {
                    // SAFETY: as above; each matrix is written by one task.
                    unsafe {
                        let at = self.c.at(c, i + r, from);
                        if columns == LANES && self.c.col == 1 {
                            at.cast::<[T; LANES]>().write(*sums);
                        } else {
                            for (j, &sum) in sums.iter().enumerate().take(columns) {
                                *at.offset(j as isize * self.c.col) = sum;
                            }
                        }
                    }
                }
            }
        }
    }
}

/// `len` in equal parts of about `part`, each a multiple of 16 but the last: their length.
fn tile(len: usize, part: usize) -> usize {
    len.div_ceil(len.div_ceil(part).max(1)).next_multiple_of(16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nest::tests::{Array, Rng, affordable, same_for_all_threads};
    use rustarr_interface::{Complex32, Complex64, Element};

    /// `(.., m, k) x (.., k, n)` by the definition, in the type of `zero`.
    fn naive<T: Element, S: Copy>(
        a: &Array,
        b: &Array,
        convert: impl Fn(T) -> S,
        zero: S,
        step: impl Fn(S, S, S) -> S,
    ) -> Vec<S> {
        let (a_shape, b_shape) = (a.layout.shape(), b.layout.shape());
        let last = a_shape.len() - 1;
        let (m, k, n) = (a_shape[last - 1], a_shape[last], b_shape[last]);
        let batch: usize = a_shape[..last - 1].iter().product();
        let (a, b): (Vec<T>, Vec<T>) = (a.values(), b.values());
        let mut out = Vec::new();
        for (z, i, j) in (0..batch).flat_map(|z| (0..m * n).map(move |e| (z, e / n, e % n))) {
            let terms = (0..k).map(|p| (a[(z * m + i) * k + p], b[(z * k + p) * n + j]));
            out.push(terms.fold(zero, |s, (x, y)| step(s, convert(x), convert(y))));
        }
        out
    }

    fn shapes(rng: &mut Rng, round: usize) -> (Vec<usize>, [usize; 3]) {
        match round {
            // For Miri a small one, and one that is cut and no multiple of a tile.
            0 if cfg!(miri) => (vec![2], [3, 2, 3]),
            1 if cfg!(miri) => (vec![], [17, 6, 11]),
            0..40 => {
                let ndim = rng.below(3);
                (rng.shape(ndim, 4), [0; 3].map(|_| rng.below(13)))
            }
            40..70 => {
                let ndim = rng.below(2);
                (
                    rng.shape(ndim, 3),
                    [0; 3].map(|_| [1, 2, 17, 40, 90][rng.below(5)]),
                )
            }
            // Several tiles, long sums, vectors.
            70 => (vec![], [300, 70, 530]),
            71 => (vec![], [3, 70_000, 2]),
            72 => (vec![], [1, 66_000, 1]),
            73 => (vec![], [3000, 100, 1]),
            74 => (vec![2], [1, 100, 2500]),
            75 => (vec![5], [40, 300, 7]),
            _ => (vec![70], [2, 5, 3]),
        }
    }

    fn check<T: Element, S: Copy>(
        seed: u64,
        mut value: impl FnMut(&mut Rng) -> T,
        convert: impl Fn(T) -> S + Copy,
        zero: S,
        step: impl Fn(S, S, S) -> S + Copy,
        close: impl Fn(T, S, usize) -> bool,
    ) {
        let mut rng = Rng(seed);
        for round in 0..affordable(77, 2) {
            let (batch, [m, k, n]) = shapes(&mut rng, round);
            let shape = |r: usize, c: usize| [&batch[..], &[r, c]].concat();
            let (a, b) = (
                rng.array(&shape(m, k), &mut value),
                rng.array(&shape(k, n), &mut value),
            );
            let out = Array::empty(T::DTYPE, rng.layout(&shape(m, n)));
            same_for_all_threads(|par| {
                matmul(par, a.operand(), b.operand(), out.operand()).unwrap();
                out.bytes()
            });
            let wanted = naive(&a, &b, convert, zero, step);
            for (got, wanted) in out.values::<T>().into_iter().zip(wanted) {
                assert!(close(got, wanted, k), "{batch:?} {m} {k} {n}: {got:?}");
            }
        }
    }

    macro_rules! integers {
        ($($name:ident: $t:ty),*) => { $(#[test]
        fn $name() {
            check::<$t, $t>(11, |r| r.next() as $t, |v| v, 0,
                |s, a, b| s.wrapping_add(a.wrapping_mul(b)), |got, wanted, _| got == wanted);
        })* };
    }
    integers!(int8: i8, int16: i16, int32: i32, int64: i64, uint8: u8, uint16: u16, uint32: u32, uint64: u64);

    #[test]
    fn boolean() {
        check::<Bool, bool>(
            12,
            |r| Bool((r.below(3) == 0) as u8 * 2),
            Bool::get,
            false,
            |s, a, b| s | (a & b),
            |got, wanted, _| got.get() == wanted,
        );
    }

    #[test]
    fn real() {
        check::<f64, f64>(
            13,
            Rng::float,
            |v| v,
            0.0,
            |s, a, b| s + a * b,
            |got, wanted, k| (got - wanted).abs() <= 1e-15 * (1.0 + k as f64),
        );
        check::<f32, f64>(
            14,
            |r| r.float() as f32,
            f64::from,
            0.0,
            |s, a, b| s + a * b,
            |got, wanted, k| (got as f64 - wanted).abs() <= 2e-7 * (1.0 + k as f64),
        );
        check::<f16, f64>(
            15,
            |r| f16::from_f64(r.float()),
            f16::to_f64,
            0.0,
            |s, a, b| s + a * b,
            |got, wanted, k| {
                (got.to_f64() - wanted).abs() <= 1e-3 * wanted.abs() + 1e-6 * (1.0 + k as f64)
            },
        );
    }

    #[test]
    fn complex() {
        let zero = Complex64::new(0.0, 0.0);
        check::<Complex64, Complex64>(
            16,
            |r| Complex64::new(r.float(), r.float()),
            |v| v,
            zero,
            |s, a, b| s + a * b,
            |got, wanted, k| (got - wanted).norm() <= 2e-15 * (1.0 + k as f64),
        );
        let wide = |v: Complex32| Complex64::new(v.re as f64, v.im as f64);
        check::<Complex32, Complex64>(
            17,
            |r| Complex32::new(r.float() as f32, r.float() as f32),
            wide,
            zero,
            |s, a, b| s + a * b,
            |got, wanted, k| (wide(got) - wanted).norm() <= 5e-7 * (1.0 + k as f64),
        );
    }

    #[test]
    fn not_a_number_and_infinity_spread() {
        for n in [3, affordable(40, 11)] {
            let mut a = vec![1.0; n * n];
            (a[0], a[n + 1]) = (f64::NAN, f64::INFINITY);
            let (a, b) = (
                Array::dense(&[n, n], &a),
                Array::dense(&[n, n], &vec![1.0; n * n]),
            );
            let out = Array::empty(DType::F64, Layout::contiguous(&[n, n]));
            matmul(Par::Seq, a.operand(), b.operand(), out.operand()).unwrap();
            let out = out.values::<f64>();
            assert!(out[..n].iter().all(|v| v.is_nan()));
            assert!(out[n..2 * n].iter().all(|&v| v == f64::INFINITY));
            assert!(out[2 * n..].iter().all(|&v| v == n as f64));
        }
    }
}

//! The matrix product of one thread.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rustarr_interface::{Complex32, Complex64};

/// A matrix in memory: its first element and the steps between rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct Strided<T> {
    /// The first element.
    pub at: *const T,
    /// From one row to the next.
    pub row: isize,
    /// From one column to the next.
    pub col: isize,
}

/// Types with a fast product: `f32`, `f64`, `Complex32`, `Complex64`.
pub trait Gemm: Copy + Sized {
    /// Writes the product of `a (m, k)` and `b (k, n)` to `c`, whose columns are dense and `step` apart. The result
    /// depends on the arguments and the processor alone.
    ///
    /// # Safety
    /// The matrices lie in valid memory, `step` is at least `m` where there are several columns, and nobody else uses `c`.
    unsafe fn gemm(
        shape: (usize, usize, usize),
        a: Strided<Self>,
        b: Strided<Self>,
        c: *mut Self,
        step: usize,
    );
}

macro_rules! gemm {
    ($($t:ty = $one:expr),*) => { $(impl Gemm for $t {
        unsafe fn gemm(
            (m, k, n): (usize, usize, usize),
            a: Strided<Self>,
            b: Strided<Self>,
            c: *mut Self,
            step: usize,
        ) {
            // SAFETY: by contract.
            unsafe {
                let c = MatMut::from_raw_parts_mut(c, m, n, 1, step as isize);
                matmul(c, Accum::Replace, view(a, m, k), view(b, k, n), $one, Par::Seq);
            }
        }
    })* };
}
gemm!(
    f32 = 1.0,
    f64 = 1.0,
    Complex32 = Complex32::new(1.0, 0.0),
    Complex64 = Complex64::new(1.0, 0.0)
);

/// The step along an axis of length one is set to what the dense form has, which faer recognises.
///
/// # Safety
/// The matrix lies in valid memory.
unsafe fn view<'a, T>(m: Strided<T>, rows: usize, cols: usize) -> MatRef<'a, T> {
    let row = if rows == 1 { cols as isize } else { m.row };
    let col = if cols == 1 { rows as isize } else { m.col };
    // SAFETY: by contract.
    unsafe { MatRef::from_raw_parts(m.at, rows, cols, row, col) }
}

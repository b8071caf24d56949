//! Products of real and complex floating-point matrices: the kernel of one thread on fixed tiles.

use super::{Matrix, OP, Problem, Ring, View, tile};
use crate::nest::{Raw, scratch, spread};
use crate::par::Par;
use rustarr_cpu_linalg::{Gemm, Strided};
use rustarr_interface::Result;

/// Rows and columns of a tile.
const TILE: usize = 256;
/// Steps worth a task, in products with few rows or columns.
const WORK: usize = 1 << 18;
/// The summed axis is cut into blocks of this length ..
const BLOCK: usize = 1 << 15;
/// .. where the outputs have at most this many elements, which is too few to cut.
const FEW: usize = 1 << 14;

pub(super) fn product<T>(par: Par<'_>, a: View<T>, b: View<T>, c: View<T>) -> Result<()>
where
    T: Ring + Gemm + Default,
{
    let problem = Problem::new(&a, &b, &c);
    if c.layout.size() == 0 {
        return Ok(());
    }
    if problem.is_small() {
        return problem.small(par);
    }
    let (mut a_memory, mut b_memory) = (Vec::new(), Vec::new());
    let a = readable(par, a, &mut a_memory)?;
    let b = readable(par, b, &mut b_memory)?;
    let mut problem = Problem::new(&a, &b, &c);
    // faer likes its output in column-major order; the product of the transposes has it.
    if problem.c.row != 1 && problem.c.col == 1 && problem.m > 1 || problem.m == 1 {
        let Problem { m, n, a, b, c, .. } = problem;
        problem = Problem {
            m: n,
            n: m,
            a: b.transposed(),
            b: a.transposed(),
            c: c.transposed(),
            ..problem
        };
        Tiles::new(problem, (1, 0)).run(par)
    } else {
        Tiles::new(problem, (0, 1)).run(par)
    }
}

/// The matrices as they are where faer reads them well, with steps of one along rows or columns,
/// else a dense copy.
fn readable<T: Copy + Default>(
    par: Par<'_>,
    view: View<T>,
    memory: &mut Vec<T>,
) -> Result<View<T>> {
    let [(rows, row), (cols, col)] = view.axes();
    let good = (row == 1 || rows == 1) && (col > 0 || cols == 1)
        || (col == 1 || cols == 1) && (row > 0 || rows == 1);
    let vector = rows == 1 && col != 1 && cols > 1 || cols == 1 && row != 1 && rows > 1;
    if good && !vector {
        Ok(view)
    } else {
        view.dense(par, memory, |v| v)
    }
}

struct Tiles<T> {
    problem: Problem<T>,
    /// Which of the batch's operands are left and right.
    order: (usize, usize),
    rows: usize,
    cols: usize,
    /// Blocks of the summed axis.
    blocks: usize,
}

impl<T: Ring + Gemm + Default> Tiles<T> {
    fn new(problem: Problem<T>, order: (usize, usize)) -> Tiles<T> {
        let Problem { m, k, n, .. } = problem;
        // Where one side is short the tile grows along the other.
        let long = |short: usize| {
            (WORK / (k.max(1) * short.min(TILE)))
                .clamp(TILE, if short < TILE { 1 << 14 } else { TILE })
        };
        let few = problem.batch.size() * m * n <= FEW;
        Tiles {
            rows: tile(m, long(n)),
            cols: tile(n, long(m)),
            blocks: if few && k >= 2 * BLOCK {
                k.div_ceil(BLOCK)
            } else {
                1
            },
            problem,
            order,
        }
    }

    fn run(&self, par: Par<'_>) -> Result<()> {
        let Problem { m, n, batch, c, .. } = &self.problem;
        let (m, n) = (*m, *n);
        let across = [m.div_ceil(self.rows), n.div_ceil(self.cols)];
        let products = batch.size() * across[0] * across[1];
        // An output that faer would write badly, or partial sums, go through dense matrices.
        let direct = c.row == 1 && (c.col > 0 && c.col as usize >= m || n == 1);
        let mut sums = scratch(
            OP,
            if self.blocks > 1 {
                self.blocks * batch.size() * m * n
            } else {
                0
            },
            T::default(),
        )?;
        let sums = Raw(sums.as_mut_ptr());
        spread(
            par,
            OP,
            products * self.blocks,
            Vec::new,
            |dense: &mut Vec<T>, task| {
                let (product, block) = (task / self.blocks, task % self.blocks);
                let (index, i, j) = self.place(product, across);
                let at = batch.position(index);
                let (rows, cols) = (self.rows.min(m - i), self.cols.min(n - j));
                let sum = if self.blocks > 1 {
                    let start = ((block * batch.size() + index) * m * n + i + j * m) as isize;
                    // SAFETY: inside the memory made for all sums.
                    Some((unsafe { sums.at(start) }, m))
                } else if direct {
                    None
                } else {
                    if dense.is_empty() {
                        *dense = scratch(OP, self.rows * self.cols, T::default())?;
                    }
                    Some((dense.as_mut_ptr(), rows))
                };
                // SAFETY: the tile lies inside the output, and every task has its own.
                unsafe {
                    let out = c.at(at[2], i, j);
                    let (to, step) = sum.unwrap_or((out, if n == 1 { m } else { c.col as usize }));
                    self.multiply(&at, (i, j), (rows, cols), block, to, step);
                    if self.blocks == 1
                        && let Some((from, step)) = sum
                    {
                        store(*c, out, (rows, cols), |i, j| *from.add(i + j * step));
                    }
                }
                Ok(())
            },
        )?;
        if self.blocks == 1 {
            return Ok(());
        }
        spread(
            par,
            OP,
            products,
            || (),
            |(), product| {
                let (index, i, j) = self.place(product, across);
                let at = batch.position(index);
                let size = (self.rows.min(m - i), self.cols.min(n - j));
                // SAFETY: as above; all sums are written.
                unsafe {
                    store(*c, c.at(at[2], i, j), size, |di, dj| {
                        let element = |block: usize| {
                            let start = (block * batch.size() + index) * m * n;
                            *sums.at((start + i + di + (j + dj) * m) as isize)
                        };
                        (1..self.blocks).fold(element(0), |sum, block| sum.plus(element(block)))
                    });
                }
                Ok(())
            },
        )
    }

    /// The batch index and first row and column of a tile.
    fn place(&self, product: usize, across: [usize; 2]) -> (usize, usize, usize) {
        let tile = product % (across[0] * across[1]);
        let (i, j) = (tile % across[0], tile / across[0]);
        (
            product / (across[0] * across[1]),
            i * self.rows,
            j * self.cols,
        )
    }

    /// One tile's sum over one block.
    ///
    /// # Safety
    /// `to` has room for the tile in columns `step` apart, and nobody else uses it.
    unsafe fn multiply(
        &self,
        at: &[isize],
        (i, j): (usize, usize),
        (rows, cols): (usize, usize),
        block: usize,
        to: *mut T,
        step: usize,
    ) {
        let Problem { k, a, b, .. } = self.problem;
        let (from, len) = if self.blocks > 1 {
            (block * BLOCK, BLOCK.min(k - block * BLOCK))
        } else {
            (0, k)
        };
        let matrix = |m: Matrix<T>, at| Strided {
            at,
            row: m.row,
            col: m.col,
        };
        // SAFETY: the operands lie inside their memory, the output by contract.
        unsafe {
            let left = matrix(a, a.at(at[self.order.0], i, from));
            let right = matrix(b, b.at(at[self.order.1], from, j));
            T::gemm((rows, len, cols), left, right, to, step);
        }
    }
}

/// # Safety
/// The tile at `out` lies inside the output, and nobody else writes it.
unsafe fn store<T>(c: Matrix<T>, out: *mut T, size: (usize, usize), f: impl Fn(usize, usize) -> T) {
    for j in 0..size.1 {
        for i in 0..size.0 {
            // SAFETY: by contract.
            unsafe { *out.offset(i as isize * c.row + j as isize * c.col) = f(i, j) };
        }
    }
}

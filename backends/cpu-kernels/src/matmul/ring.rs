//! Products of integer and boolean matrices.

use super::{OP, Problem, View, tile};
use crate::nest::{scratch, spread};
use crate::par::Par;
use rustarr_interface::{Bool, Complex32, Complex64, Result};

/// Addition and multiplication of one dtype.
pub(super) trait Ring: Copy + Send + Sync {
    const ZERO: Self;
    fn plus(self, other: Self) -> Self;
    /// `self + a * b`.
    fn mul_add(self, a: Self, b: Self) -> Self;
}

macro_rules! rings {
    (int: $($t:ty),*) => { $(impl Ring for $t {
        const ZERO: Self = 0;
        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            self.wrapping_add(other)
        }
        #[inline(always)]
        fn mul_add(self, a: Self, b: Self) -> Self {
            self.wrapping_add(a.wrapping_mul(b))
        }
    })* };
    (float: $($t:ty = $zero:expr);*) => { $(impl Ring for $t {
        const ZERO: Self = $zero;
        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            self + other
        }
        #[inline(always)]
        fn mul_add(self, a: Self, b: Self) -> Self {
            self + a * b
        }
    })* };
}
rings!(int: u8, u16, u32, u64);
rings!(float: f32 = 0.0; f64 = 0.0; Complex32 = Complex32::new(0.0, 0.0);
    Complex64 = Complex64::new(0.0, 0.0));

impl Ring for Bool {
    const ZERO: Self = Bool(0);
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Bool(self.0 | other.0)
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        // One bit is enough once a factor is 0 or 1, as packing makes them.
        Bool(self.0 | (a.get() as u8 & b.get() as u8))
    }
}

/// Rows of the register tile.
const R: usize = 4;
/// Rows and columns of a tile.
const ROWS: usize = 64;
const COLS: usize = 256;
/// The part of the summed axis that is packed at a time.
const DEPTH: usize = 256;

/// The product with a register tile of `R x W`.
pub(super) fn product<T: Ring, const W: usize>(
    par: Par<'_>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
) -> Result<()> {
    let problem = Problem::new(&a, &b, &c);
    if c.layout.size() == 0 {
        return Ok(());
    }
    if problem.is_small() {
        return problem.small(par);
    }
    let Problem {
        m, n, ref batch, ..
    } = problem;
    let (rows, cols) = (tile(m, ROWS), tile(n, COLS));
    let across = [m.div_ceil(rows), n.div_ceil(cols)];
    let buffers = || -> Result<Tile<T, W>> {
        Ok(Tile {
            a: scratch(OP, rows.div_ceil(R) * DEPTH, [T::ZERO; R])?,
            b: scratch(OP, cols.div_ceil(W) * DEPTH, [T::ZERO; W])?,
            c: scratch(OP, rows.div_ceil(R) * cols.div_ceil(W), [[T::ZERO; W]; R])?,
        })
    };
    spread(
        par,
        OP,
        batch.size() * across[0] * across[1],
        buffers,
        |buffers, task| {
            let buffers = match buffers {
                Ok(buffers) => buffers,
                Err(error) => return Err(error.clone()),
            };
            let (index, place) = (
                task / (across[0] * across[1]),
                task % (across[0] * across[1]),
            );
            let (i, j) = (place / across[1] * rows, place % across[1] * cols);
            let at = batch.position(index);
            let size = (rows.min(m - i), cols.min(n - j));
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || buffers.compute(&problem, &at, (i, j), size),
            );
            Ok(())
        },
    )
}

/// A packed tile: `R` rows of `a` and `W` columns of `b` side by side.
struct Tile<T, const W: usize> {
    a: Vec<[T; R]>,
    b: Vec<[T; W]>,
    c: Vec<[[T; W]; R]>,
}

impl<T: Ring, const W: usize> Tile<T, W> {
    #[inline(always)]
    fn compute(
        &mut self,
        problem: &Problem<T>,
        at: &[isize],
        (i, j): (usize, usize),
        (rows, cols): (usize, usize),
    ) {
        let Problem { k, a, b, c, .. } = problem;
        self.c.fill([[T::ZERO; W]; R]);
        let (down, right) = (rows.div_ceil(R), cols.div_ceil(W));
        for from in (0..*k).step_by(DEPTH) {
            let depth = DEPTH.min(k - from);
            // What lies beyond the edge counts as zero.
            // SAFETY: elements inside the matrices only.
            pack(&mut self.a, down, depth, rows, |row, p| unsafe {
                *a.at(at[0], i + row, from + p)
            });
            // SAFETY: as above.
            pack(&mut self.b, right, depth, cols, |col, p| unsafe {
                *b.at(at[1], from + p, j + col)
            });
            for (left, c) in self.a[..down * depth]
                .chunks(depth)
                .zip(self.c.chunks_exact_mut(right))
            {
                for (top, c) in self.b[..right * depth].chunks(depth).zip(c) {
                    multiply(left, top, c);
                }
            }
        }
        for row in 0..rows {
            for col in 0..cols {
                let value = self.c[row / R * right + col / W][row % R][col % W];
                // SAFETY: the tile lies inside the output and belongs to this task.
                unsafe { *c.at(at[2], i + row, j + col) = value };
            }
        }
    }
}

/// Packs `count` panels of `depth` groups, each of `N` of the first `len` lines.
#[inline(always)]
fn pack<T: Ring, const N: usize>(
    to: &mut [[T; N]],
    count: usize,
    depth: usize,
    len: usize,
    load: impl Fn(usize, usize) -> T,
) {
    for (panel, to) in to.chunks_exact_mut(depth).take(count).enumerate() {
        for (p, group) in to.iter_mut().enumerate() {
            for (i, v) in group.iter_mut().enumerate() {
                let line = panel * N + i;
                *v = if line < len { load(line, p) } else { T::ZERO };
            }
        }
    }
}

/// `c += left * top` with `c` in registers.
#[inline(always)]
fn multiply<T: Ring, const W: usize>(left: &[[T; R]], top: &[[T; W]], c: &mut [[T; W]; R]) {
    let mut sums = *c;
    for (a, b) in left.iter().zip(top) {
        for (sums, &a) in sums.iter_mut().zip(a) {
            for (sum, &b) in sums.iter_mut().zip(b) {
                *sum = sum.mul_add(a, b);
            }
        }
    }
    *c = sums;
}

//! What divide and conquer does for eigenvalues and for singular values alike: it joins two decomposed halves that one
//! vector couples. With no smaller problem solved by iteration, there is nothing that could fail to converge.

use crate::dense::PowerOfTwo;
use crate::gemm::{Gemm, Strided};
use crate::secular::{Secular, Vectors};
use crate::{Dense, Result};
use std::ops::Range;

/// The norm of a part, of a problem of norm one, below which the squares of what is not worth keeping might vanish.
pub(crate) const LEAST: f64 = 1e-40;

/// A column with elements in the first rows, in the last rows, in both.
const FIRST: u8 = 1;
const LAST: u8 = 2;

/// Orthogonal columns of a matrix, or where only values are wanted its first and last row.
pub(crate) struct Basis {
    matrix: Dense<f64>,
    complete: bool,
}

impl Basis {
    /// The identity.
    pub fn new(n: usize, complete: bool) -> Result<Basis> {
        let mut matrix = Dense::zeros(if complete { n } else { 2 }, n)?;
        for j in 0..n {
            if complete {
                *matrix.at_mut(j, j) = 1.0;
            } else {
                matrix.values[2 * j..][..2].fill(1.0);
            }
        }
        Ok(Basis { matrix, complete })
    }

    /// An element of row `i`, which is the first of those that a part has.
    pub fn first(&self, i: usize, j: usize) -> f64 {
        self.matrix.at(if self.complete { i } else { 0 }, j)
    }

    /// An element of row `i`, which is the last of those that a part has.
    pub fn last(&self, i: usize, j: usize) -> f64 {
        self.matrix.at(if self.complete { i } else { 1 }, j)
    }

    pub fn into_matrix(self) -> Dense<f64> {
        self.matrix
    }

    /// The halves of the rows of a part, which begins its second half with row `middle`.
    fn halves(&self, rows: &Range<usize>, middle: usize) -> [Range<usize>; 2] {
        if self.complete {
            [rows.start..middle, middle..rows.end]
        } else {
            [0..1, 1..2]
        }
    }

    /// Of two parts, one of which has its columns before `middle`, the first row of the second and the last row of the first
    /// are not the whole's.
    pub fn join(&mut self, columns: Range<usize>, middle: usize) {
        if !self.complete {
            for j in columns {
                *self.matrix.at_mut((j < middle) as usize, j) = 0.0;
            }
        }
    }

    /// Turns two columns by an angle.
    pub fn rotate(&mut self, rows: Range<usize>, (i, j): (usize, usize), (c, s): (f64, f64)) {
        let rows = if self.complete { rows } else { 0..2 };
        let height = self.matrix.rows;
        let (low, high) = (i.min(j), i.max(j));
        let (left, right) = self.matrix.values.split_at_mut(high * height);
        let (left, right) = (&mut left[low * height..][rows.clone()], &mut right[rows]);
        let s = if i < j { s } else { -s };
        for (x, y) in left.iter_mut().zip(right) {
            (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
        }
    }

    /// Replaces the columns kept by their products with the vectors.
    fn multiply(&mut self, halves: [Range<usize>; 2], memory: &mut Memory) {
        let Memory {
            kept,
            vectors,
            left,
            right,
            product,
            ..
        } = memory;
        let k = kept.len();
        for (half, rows) in [FIRST, LAST].into_iter().zip(halves) {
            let used = kept
                .iter()
                .enumerate()
                .filter(|(_, (_, mask))| mask & half != 0);
            left.clear();
            right.clear();
            let mut count = 0;
            for (_, (j, _)) in used.clone() {
                left.extend_from_slice(&self.matrix.values[j * self.matrix.rows..][rows.clone()]);
                count += 1;
            }
            for column in vectors.chunks_exact(k) {
                right.extend(used.clone().map(|(r, _)| column[r]));
            }
            product.clear();
            product.resize(rows.len() * k, 0.0);
            multiply((rows.len(), count, k), left, right, product);
            for (column, &(j, _)) in product.chunks_exact(rows.len().max(1)).zip(kept.iter()) {
                self.matrix.values[j * self.matrix.rows..][rows.clone()].copy_from_slice(column);
            }
        }
    }
}

/// The product of two dense column-major matrices.
fn multiply((m, k, n): (usize, usize, usize), a: &[f64], b: &[f64], c: &mut [f64]) {
    let dense = |at: &[f64], rows: usize| Strided {
        at: at.as_ptr(),
        row: 1,
        col: rows as isize,
    };
    if m * k * n == 0 {
        return;
    }
    assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n);
    // SAFETY: the slices hold the whole matrices.
    unsafe { f64::gemm((m, k, n), dense(a, m), dense(b, k), c.as_mut_ptr(), m) };
}

/// Working memory, kept from one step to the next.
#[derive(Default)]
pub(crate) struct Memory {
    order: Vec<usize>,
    kept: Vec<(usize, u8)>,
    masks: Vec<u8>,
    poles: Vec<f64>,
    z: Vec<f64>,
    weights: Vec<f64>,
    roots: Vec<f64>,
    gaps: Vec<f64>,
    vectors: Vec<f64>,
    left: Vec<f64>,
    right: Vec<f64>,
    product: Vec<f64>,
}

impl Memory {
    /// Enough for `n` columns; where only values are wanted, joining the last two parts needs no vectors.
    pub fn new(n: usize, vectors: bool) -> Result<Memory> {
        let n = if vectors { n } else { n.div_ceil(2) };
        let mut memory = Memory::default();
        let Memory {
            gaps,
            vectors,
            left,
            right,
            product,
            ..
        } = &mut memory;
        for v in [gaps, vectors, left, right, product] {
            *v = Dense::zeros(n, n)?.values;
        }
        Ok(memory)
    }
}

/// Vectors of a problem, and the rows that belong to both parts.
pub(crate) struct Part<'a> {
    pub basis: &'a mut Basis,
    pub rows: Range<usize>,
    pub which: Vectors,
}

/// Two parts of a problem, to be joined: the eigenvalues of `diag(values) + z z^T`, or the singular values of
/// `diag(values)` with the row `z` in the place of its row `fixed`, whose value is zero.
pub(crate) struct Join<'a> {
    /// The columns of both, and where those of the second begin.
    pub columns: Range<usize>,
    pub middle: usize,
    /// The values of all columns of the whole problem, inside a part in no order.
    pub values: &'a mut [f64],
    /// What couples them, in the same places.
    pub z: &'a mut [f64],
    pub fixed: Option<usize>,
    /// Sizes of changes to the matrix, and of elements of `z`, that are not worth keeping.
    pub tiny: (f64, f64),
}

impl Join<'_> {
    /// Replaces the values by those of the whole and turns the vectors of the parts given.
    pub fn run(mut self, parts: &mut [Part<'_>], memory: &mut Memory) {
        self.deflate(parts, memory);
        let Memory {
            kept,
            poles,
            z,
            weights,
            roots,
            gaps,
            vectors,
            ..
        } = memory;
        let k = kept.len();
        if k == 0 {
            return;
        }
        for (list, from) in [(&mut *poles, &*self.values), (z, &*self.z)] {
            list.clear();
            list.extend(kept.iter().map(|&(j, _)| from[j]));
        }
        let square = if parts.is_empty() { 0 } else { k * k };
        for (list, size) in [
            (&mut *weights, k),
            (roots, k),
            (gaps, square),
            (vectors, square),
        ] {
            list.resize(size, 0.0);
        }
        let squares = self.fixed.is_some();
        if parts.is_empty() {
            Secular { poles, squares, z }.values(roots);
        } else {
            Secular { poles, squares, z }.solve(gaps, roots, weights);
        }
        for (&(j, _), &root) in kept.iter().zip(roots.iter()) {
            self.values[j] = root;
        }
        for part in parts {
            let Memory {
                poles,
                weights,
                gaps,
                vectors,
                ..
            } = memory;
            Secular {
                poles,
                squares,
                z: weights,
            }
            .vectors(part.which, gaps, vectors);
            part.basis
                .multiply(part.basis.halves(&part.rows, self.middle), memory);
        }
    }

    /// Leaves out the columns that nothing couples to the others, having turned columns of nearly the same value so that one
    /// of them is left out; fills `memory.kept` with the rest, the values rising.
    fn deflate(&mut self, parts: &mut [Part<'_>], memory: &mut Memory) {
        let Memory {
            order, kept, masks, ..
        } = memory;
        let start = self.columns.start;
        order.clear();
        order.extend(self.columns.clone().filter(|&j| Some(j) != self.fixed));
        order.sort_unstable_by(|&i, &j| self.values[i].total_cmp(&self.values[j]));
        masks.clear();
        masks.extend(
            self.columns
                .clone()
                .map(|j| if j < self.middle { FIRST } else { LAST }),
        );
        kept.clear();
        // The pole at zero stays whatever its weight.
        kept.extend(self.fixed.map(|j| (j, FIRST | LAST)));
        for &j in order.iter() {
            if self.z[j].abs() <= self.tiny.1 {
                continue;
            }
            if let Some(zero) = self.fixed.filter(|_| self.values[j] <= self.tiny.0) {
                // As good as equal to the pole at zero, which takes over its part of `z`: only columns turn.
                let length = self.z[zero].hypot(self.z[j]);
                let (c, s) = (self.z[zero] / length, self.z[j] / length);
                (self.z[zero], self.z[j]) = (length, 0.0);
                self.values[j] *= c.abs();
                masks[j - start] = FIRST | LAST;
                for part in parts.iter_mut().filter(|part| part.which == Vectors::Right) {
                    part.basis.rotate(part.rows.clone(), (zero, j), (c, s));
                }
                continue;
            }
            if let Some(&(i, _)) = kept.last().filter(|(i, _)| Some(*i) != self.fixed) {
                let length = self.z[i].hypot(self.z[j]);
                let (c, s) = (self.z[j] / length, self.z[i] / length);
                let apart = self.values[j] - self.values[i];
                if apart * (c * s).abs() <= self.tiny.0 {
                    // Column `i` turns to the side where `z` is zero.
                    (self.z[i], self.z[j]) = (0.0, length);
                    self.values[i] += apart * s * s;
                    self.values[j] -= apart * s * s;
                    let mask = masks[i - start] | masks[j - start];
                    (masks[i - start], masks[j - start]) = (mask, mask);
                    for part in parts.iter_mut() {
                        part.basis.rotate(part.rows.clone(), (i, j), (c, -s));
                    }
                    kept.pop();
                }
            }
            kept.push((j, masks[j - start]));
        }
    }
}

/// The power of two that brings the largest of some numbers near one.
pub(crate) fn scale(parts: [&[f64]; 2]) -> PowerOfTwo {
    let largest = parts
        .into_iter()
        .flatten()
        .fold(0.0f64, |m, v| m.max(v.abs()));
    PowerOfTwo::near(largest)
}

/// The values in order, and their columns.
pub(crate) fn sorted(values: &[f64], falling: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| {
        let order = values[i].total_cmp(&values[j]);
        if falling { order.reverse() } else { order }
    });
    order
}

//! What rests on the LU factorisation with partial pivoting.

use super::dense::{Batch, Dense, Field, Item, Stored, stack};
use faer::linalg::lu::partial_pivoting::{factor, solve as lu_solve};
use faer::{Par, perm::PermRef};
use rustarr_interface::Result;

/// `P A = L U`, with both factors in one matrix.
struct Lu<S> {
    factors: Dense<S>,
    rows: Vec<usize>,
    inverse: Vec<usize>,
    /// Whether `P` is an odd permutation.
    odd: bool,
}

impl<S: Field> Lu<S> {
    fn new(op: &'static str, mut a: Dense<S>) -> Result<Lu<S>> {
        let n = a.rows;
        let (mut rows, mut inverse) = (vec![0; n], vec![0; n]);
        let params = Default::default();
        let need = factor::lu_in_place_scratch::<usize, S>(n, n, Par::Seq, params);
        let swaps = stack(op, need, |stack| {
            let (perm, inverse) = (&mut rows[..], &mut inverse[..]);
            factor::lu_in_place(a.as_mut(), perm, inverse, Par::Seq, stack, params).0
        })?;
        Ok(Lu {
            factors: a,
            rows,
            inverse,
            odd: swaps.transposition_count % 2 == 1,
        })
    }

    /// The diagonal of `U`.
    fn pivots(&self) -> impl Iterator<Item = S> {
        (0..self.factors.rows).map(|i| self.factors.at(i, i))
    }

    /// Replaces `b` by the solution of `A x = b`.
    fn solve(&self, item: &Item<'_, '_>, op: &'static str, b: &mut Dense<S>) -> Result<()> {
        if self.pivots().any(|pivot| pivot == S::default()) {
            return Err(item.error("is singular"));
        }
        let n = self.factors.rows;
        if n == 0 || b.cols == 0 {
            return Ok(());
        }
        let lu = self.factors.as_ref();
        let need = lu_solve::solve_in_place_scratch::<usize, S>(n, b.cols, Par::Seq);
        stack(op, need, |stack| {
            let rows = PermRef::new_checked(&self.rows, &self.inverse, n);
            lu_solve::solve_in_place(lu, lu, rows, b.as_mut(), Par::Seq, stack);
        })
    }
}

pub(super) fn solve<T: Stored>(batch: Batch<'_>) -> Result<()> {
    batch.each(|item| {
        let lu = Lu::new(batch.op, item.load::<T>(0)?)?;
        let mut x = item.load::<T>(1)?;
        lu.solve(item, batch.op, &mut x)?;
        item.store_matrix::<T>(2, &x)
    })
}

pub(super) fn inv<T: Stored>(batch: Batch<'_>) -> Result<()> {
    batch.each(|item| {
        let a = item.load::<T>(0)?;
        let mut x = Dense::identity(batch.op, a.rows, a.rows)?;
        Lu::new(batch.op, a)?.solve(item, batch.op, &mut x)?;
        item.store_matrix::<T>(1, &x)
    })
}

/// A singular matrix has sign 0 and logarithm `-inf`.
pub(super) fn slogdet<T: Stored>(batch: Batch<'_>) -> Result<()> {
    batch.each(|item| {
        let lu = Lu::new(batch.op, item.load::<T>(0)?)?;
        let (mut sign, mut log) = (T::Field::ONE.scale(if lu.odd { -1.0 } else { 1.0 }), 0.0);
        for pivot in lu.pivots() {
            let size = pivot.magnitude();
            log += size.ln();
            sign = if size == 0.0 {
                T::Field::default()
            } else {
                sign * pivot.scale(1.0 / size)
            };
        }
        item.store(1, |_, _| T::narrow(sign))?;
        item.store(2, |_, _| T::narrow_real(log))
    })
}

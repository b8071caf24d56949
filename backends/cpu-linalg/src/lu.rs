//! The LU factorisation with partial pivoting.

use crate::dense::PowerOfTwo;
use crate::{Dense, Failure, Field, Result, stack};
use faer::linalg::lu::partial_pivoting::{factor, solve as substitute};
use faer::{Par, perm::PermRef};

/// `P A = L U`, with both factors in one matrix, and `U` scaled where pivots might be out of range.
#[derive(Clone, Debug)]
pub struct Lu<S> {
    factors: Dense<S>,
    scale: PowerOfTwo,
    rows: Vec<usize>,
    /// Of `rows`, where faer wants it.
    inverse: Vec<usize>,
    odd: bool,
}

impl<S: Field> Lu<S> {
    /// The diagonal of `U`.
    pub fn pivots(&self) -> impl Iterator<Item = S> {
        (0..self.factors.rows).map(|i| self.scale.times(self.factors.at(i, i)))
    }

    /// Whether a pivot is zero; those after the first such one are then of no use.
    pub fn is_singular(&self) -> bool {
        (0..self.factors.rows).any(|i| self.factors.at(i, i) == S::default())
    }

    /// Whether `P` is an odd permutation.
    pub fn is_odd(&self) -> bool {
        self.odd
    }
}

pub(crate) fn factorise<S: Field>(mut a: Dense<S>) -> Result<Lu<S>> {
    let n = a.rows;
    // Infinities and NaN go their way.
    let scale = a.normalise().unwrap_or_default();
    let (mut rows, mut inverse) = (vec![0; n], vec![0; n]);
    let params = Default::default();
    let need = factor::lu_in_place_scratch::<usize, S>(n, n, Par::Seq, params);
    let swaps = stack(need, |stack| {
        factor::lu_in_place(a.as_mut(), &mut rows, &mut inverse, Par::Seq, stack, params).0
    })?;
    Ok(Lu {
        factors: a,
        scale,
        rows,
        inverse,
        odd: swaps.transposition_count % 2 == 1,
    })
}

pub(crate) fn solve<S: Field>(lu: &Lu<S>, b: &mut Dense<S>) -> Result<()> {
    if lu.is_singular() {
        return Err(Failure::Singular);
    }
    let n = lu.factors.rows;
    if n == 0 || b.cols == 0 {
        return Ok(());
    }
    let undo = lu.scale.inverse();
    let factors = lu.factors.as_ref();
    let need = substitute::solve_in_place_scratch::<usize, S>(n, b.cols, Par::Seq);
    stack(need, |stack| {
        let rows = PermRef::new_checked(&lu.rows, &lu.inverse, n);
        substitute::solve_in_place(factors, factors, rows, b.as_mut(), Par::Seq, stack);
    })?;
    b.values.iter_mut().for_each(|v| *v = undo.times(*v));
    Ok(())
}

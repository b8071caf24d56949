//! The LU factorisation with partial pivoting.

use crate::dense::PowerOfTwo;
use crate::{Dense, Failure, Field, Result, stack};
use faer::linalg::lu::partial_pivoting::{factor, solve as substitute};
use faer::{Par, perm::PermRef};

/// Matrices up to this size are factorised by plain loops, which are faster there.
const SMALL: usize = 16;

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
    if n <= SMALL {
        return Ok(factorise_small(a, scale));
    }
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
    if n <= SMALL {
        solve_small(lu, b);
        b.values.iter_mut().for_each(|v| *v = undo.times(*v));
        return Ok(());
    }
    let factors = lu.factors.as_ref();
    let need = substitute::solve_in_place_scratch::<usize, S>(n, b.cols, Par::Seq);
    stack(need, |stack| {
        let rows = PermRef::new_checked(&lu.rows, &lu.inverse, n);
        substitute::solve_in_place(factors, factors, rows, b.as_mut(), Par::Seq, stack);
    })?;
    b.values.iter_mut().for_each(|v| *v = undo.times(*v));
    Ok(())
}

/// Column by column; a column without a pivot is left as it is.
fn factorise_small<S: Field>(mut a: Dense<S>, scale: PowerOfTwo) -> Lu<S> {
    let n = a.rows;
    let mut rows: Vec<usize> = (0..n).collect();
    let mut odd = false;
    for k in 0..n {
        let column = &a.values[k * n..][..n];
        let mut best = k;
        for i in k + 1..n {
            if column[i].magnitude() > column[best].magnitude() {
                best = i;
            }
        }
        if best != k {
            odd = !odd;
            rows.swap(k, best);
            a.values
                .chunks_exact_mut(n)
                .for_each(|column| column.swap(k, best));
        }
        let pivot = a.at(k, k);
        if pivot == S::default() {
            continue;
        }
        let (left, right) = a.values.split_at_mut((k + 1) * n);
        let column = &mut left[k * n..];
        column[k + 1..].iter_mut().for_each(|v| *v = v.over(pivot));
        for other in right.chunks_exact_mut(n) {
            let top = other[k];
            for (v, l) in other[k + 1..].iter_mut().zip(&column[k + 1..]) {
                *v -= *l * top;
            }
        }
    }
    Lu {
        factors: a,
        scale,
        rows,
        inverse: Vec::new(),
        odd,
    }
}

fn solve_small<S: Field>(lu: &Lu<S>, b: &mut Dense<S>) {
    let n = lu.factors.rows;
    let column = |k: usize| &lu.factors.values[k * n..][..n];
    let mut given = [S::default(); SMALL];
    for x in b.values.chunks_exact_mut(n) {
        given[..n].copy_from_slice(x);
        for (x, &row) in x.iter_mut().zip(&lu.rows) {
            *x = given[row];
        }
        for k in 0..n {
            let known = x[k];
            for (x, l) in x[k + 1..].iter_mut().zip(&column(k)[k + 1..]) {
                *x -= *l * known;
            }
        }
        for k in (0..n).rev() {
            let known = x[k].over(column(k)[k]);
            x[k] = known;
            for (x, u) in x[..k].iter_mut().zip(column(k)) {
                *x -= *u * known;
            }
        }
    }
}

//! Cholesky and QR factorisations.

use crate::dense::norm;
use crate::{Dense, Failure, Field, Result, stack};
use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::no_pivoting::factor as householder;
use faer::{Conj, Par};

pub(crate) fn cholesky<S: Field>(a: &mut Dense<S>) -> Result<()> {
    let n = a.rows;
    a.keep_lower_triangle();
    let params = Default::default();
    let need = llt::cholesky_in_place_scratch::<S>(n, Par::Seq, params);
    let done = stack(need, |stack| {
        llt::cholesky_in_place(a.as_mut(), Default::default(), Par::Seq, stack, params)
    })?;
    // The comparison is false for NaN.
    if done.is_err() || !(0..n).all(|i| Field::real(a.at(i, i)) > 0.0) {
        return Err(Failure::NotPositiveDefinite);
    }
    a.keep_lower_triangle();
    Ok(())
}

pub(crate) fn qr<S: Field>(a: &mut Dense<S>, columns: usize) -> Result<Dense<S>> {
    let mut q = Dense::identity(a.rows, columns)?;
    if a.rows.min(a.cols) > 0 {
        // Infinities and NaN go their way.
        let scale = a.normalise().unwrap_or_default();
        factorise(a, &mut q)?;
        a.values.iter_mut().for_each(|v| *v = scale.times(*v));
        for j in 0..a.cols {
            for i in j + 1..a.rows {
                *a.at_mut(i, j) = S::default();
            }
        }
    }
    Ok(q)
}

/// Replaces the upper triangle of `a` by `R` and multiplies `q` by `Q` from the left.
fn factorise<S: Field>(a: &mut Dense<S>, q: &mut Dense<S>) -> Result<()> {
    let (m, n) = (a.rows, a.cols);
    let size = m.min(n);
    let block = householder::recommended_block_size::<S>(m, n);
    let mut coefficients = Dense::zeros(block, size)?;
    let original = a.clone();
    let params = Default::default();
    let need = householder::qr_in_place_scratch::<S>(m, n, block, Par::Seq, params);
    let rank = stack(need, |stack| {
        householder::qr_in_place(a.as_mut(), coefficients.as_mut(), Par::Seq, stack, params).rank
    })?;
    if rank < size {
        // faer leaves out columns that nearly depend on those before, at the cost of accuracy.
        *a = original;
        plain(a, q);
        return Ok(());
    }
    let need = apply_block_householder_sequence_on_the_left_in_place_scratch::<S>(m, block, q.cols);
    stack(need, |stack| {
        apply_block_householder_sequence_on_the_left_in_place_with_conj(
            a.as_ref().get(.., ..size),
            coefficients.as_ref(),
            Conj::No,
            q.as_mut(),
            Par::Seq,
            stack,
        );
    })
}

/// Householder's method column by column, for matrices of any rank.
fn plain<S: Field>(a: &mut Dense<S>, q: &mut Dense<S>) {
    let size = a.rows.min(a.cols);
    let mut reflectors = Vec::with_capacity(size);
    for k in 0..size {
        let mut v: Vec<S> = (k..a.rows).map(|i| a.at(i, k)).collect();
        let length = norm(&v);
        // Nothing, or too little for a direction, is left where it is.
        if length < f64::MIN_POSITIVE / f64::EPSILON {
            continue;
        }
        v.iter_mut().for_each(|v| *v = v.scale(1.0 / length));
        let head = v[0].magnitude();
        v[0] = v[0]
            + if head == 0.0 {
                S::ONE
            } else {
                v[0].direction()
            };
        let tau = 1.0 / (1.0 + head);
        for j in k..a.cols {
            reflect(&v, tau, a, k, j);
        }
        reflectors.push((k, v, tau));
    }
    for (k, v, tau) in reflectors.iter().rev() {
        for j in 0..q.cols {
            reflect(v, *tau, q, *k, j);
        }
    }
}

/// Applies `1 - tau v v^H` to the rows from `k` on of column `j`.
fn reflect<S: Field>(v: &[S], tau: f64, a: &mut Dense<S>, k: usize, j: usize) {
    let dot = (k..)
        .zip(v)
        .fold(S::default(), |s, (i, v)| s + v.conjugate() * a.at(i, j));
    let dot = dot.scale(tau);
    for (i, v) in (k..).zip(v) {
        *a.at_mut(i, j) = a.at(i, j) - *v * dot;
    }
}

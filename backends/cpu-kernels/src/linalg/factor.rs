//! Cholesky and QR factorisations.

use super::dense::{Batch, Dense, Field, Stored, stack};
use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::no_pivoting::factor as householder;
use faer::{Conj, Par};
use rustarr_interface::Result;

/// Reads the triangle that it returns: the lower one, or with `upper` the upper one.
pub(super) fn cholesky<T: Stored>(batch: Batch<'_>, upper: bool) -> Result<()> {
    batch.each(|item| {
        let mut a = item.load::<T>(0)?;
        if upper {
            a = a.adjoint(batch.op)?;
        }
        let n = a.rows;
        for i in 0..n {
            // A Hermitian matrix has a real diagonal.
            *a.at_mut(i, i) = T::Field::ONE.scale(a.at(i, i).real());
        }
        let params = Default::default();
        let need = llt::cholesky_in_place_scratch::<T::Field>(n, Par::Seq, params);
        let done = stack(batch.op, need, |stack| {
            llt::cholesky_in_place(a.as_mut(), Default::default(), Par::Seq, stack, params)
        })?;
        // The comparison is false for NaN.
        if done.is_err() || !(0..n).all(|i| a.at(i, i).real() > 0.0) {
            return Err(item.error("is not positive definite"));
        }
        item.store(1, |i, j| {
            T::narrow(match (upper, i.cmp(&j)) {
                (false, std::cmp::Ordering::Less) | (true, std::cmp::Ordering::Greater) => {
                    T::Field::default()
                }
                (false, _) => a.at(i, j),
                (true, _) => a.at(j, i).conjugate(),
            })
        })
    })
}

pub(super) fn qr<T: Stored>(batch: Batch<'_>, complete: bool) -> Result<()> {
    batch.each(|item| {
        let mut a = item.load::<T>(0)?;
        let size = a.rows.min(a.cols);
        let k = if complete { a.rows } else { size };
        let mut q = Dense::identity(batch.op, a.rows, k)?;
        if size > 0 {
            factorise(batch.op, &mut a, &mut q)?;
        }
        item.store_matrix::<T>(1, &q)?;
        item.store(2, |i, j| {
            T::narrow(if i <= j {
                a.at(i, j)
            } else {
                T::Field::default()
            })
        })
    })
}

/// Replaces the upper triangle of `a` by `R` and multiplies `q` by `Q` from the left.
fn factorise<S: Field>(op: &'static str, a: &mut Dense<S>, q: &mut Dense<S>) -> Result<()> {
    let (m, n) = (a.rows, a.cols);
    let size = m.min(n);
    let block = householder::recommended_block_size::<S>(m, n);
    let mut coefficients = Dense::zeros(op, block, size)?;
    let original = a.clone();
    let params = Default::default();
    let need = householder::qr_in_place_scratch::<S>(m, n, block, Par::Seq, params);
    let rank = stack(op, need, |stack| {
        householder::qr_in_place(a.as_mut(), coefficients.as_mut(), Par::Seq, stack, params).rank
    })?;
    if rank < size {
        // faer leaves out columns that nearly depend on those before, at the cost of accuracy.
        *a = original;
        plain(a, q);
        return Ok(());
    }
    let need = apply_block_householder_sequence_on_the_left_in_place_scratch::<S>(m, block, q.cols);
    stack(op, need, |stack| {
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
        let norm = norm(&v);
        let head = v[0].magnitude();
        let phase = if head == 0.0 {
            S::ONE
        } else {
            v[0].scale(1.0 / head)
        };
        v[0] = v[0] + phase.scale(norm);
        // |v|^2 = 2 norm (norm + head); a zero column reflects nothing.
        let square = 2.0 * norm * (norm + head);
        let tau = if norm == 0.0 { 0.0 } else { 2.0 / square };
        for j in k..a.cols {
            reflect(&v, tau, a, k, j);
        }
        reflectors.push((v, tau));
    }
    for (k, (v, tau)) in reflectors.iter().enumerate().rev() {
        for j in 0..q.cols {
            reflect(v, *tau, q, k, j);
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

/// The Euclidean norm, scaled so that squares neither overflow nor vanish.
pub(super) fn norm<S: Field>(v: &[S]) -> f64 {
    let largest = v.iter().fold(0.0, |m: f64, v| m.max(v.magnitude()));
    if largest == 0.0 || !largest.is_finite() {
        return v.iter().map(|v| v.magnitude()).sum();
    }
    let square = |v: &S| (v.magnitude() / largest).powi(2);
    largest * v.iter().map(square).sum::<f64>().sqrt()
}

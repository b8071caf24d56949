//! Singular values and eigenvalues.

use super::dense::{Batch, Dense, Field, Stored, stack};
use super::factor::norm;
use faer::diag::DiagMut;
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::svd::{self as faer_svd, ComputeSvdVectors};
use faer::{MatMut, Par};
use rustarr_interface::{Complex64, Result};

/// What every iteration says when it cannot go on.
const DIVERGES: &str = "does not converge";
const NOT_FINITE: &str = "has infinities or NaN";

pub(super) fn singular_values<T: Stored>(batch: Batch<'_>) -> Result<()> {
    batch.each(|item| {
        let mut a = item.load::<T>(0)?;
        let scale = a.normalise().ok_or_else(|| item.error(NOT_FINITE))?;
        let values = decompose(batch.op, &a, ComputeSvdVectors::No, None)?;
        let values = values.ok_or_else(|| item.error(DIVERGES))?;
        item.store(1, |i, _| T::narrow_real(values[i].real() * scale))
    })
}

pub(super) fn svd<T: Stored>(batch: Batch<'_>, full: bool) -> Result<()> {
    batch.each(|item| {
        let mut a = item.load::<T>(0)?;
        let scale = a.normalise().ok_or_else(|| item.error(NOT_FINITE))?;
        let size = a.rows.min(a.cols);
        let width = |n: usize| if full { n } else { size };
        let mut u = Dense::identity(batch.op, a.rows, width(a.rows))?;
        let mut v = Dense::identity(batch.op, a.cols, width(a.cols))?;
        let compute = if full {
            ComputeSvdVectors::Full
        } else {
            ComputeSvdVectors::Thin
        };
        let values = decompose(batch.op, &a, compute, Some((u.as_mut(), v.as_mut())))?;
        let values = values.ok_or_else(|| item.error(DIVERGES))?;
        item.store_matrix::<T>(1, &u)?;
        item.store(2, |i, _| T::narrow_real(values[i].real() * scale))?;
        item.store(3, |i, j| T::narrow(v.at(j, i).conjugate()))
    })
}

/// The singular values in falling order, or `None` if the iteration does not converge.
fn decompose<S: Field>(
    op: &'static str,
    a: &Dense<S>,
    compute: ComputeSvdVectors,
    vectors: Option<(MatMut<'_, S>, MatMut<'_, S>)>,
) -> Result<Option<Vec<S>>> {
    let mut values = vec![S::default(); a.rows.min(a.cols)];
    if values.is_empty() {
        return Ok(Some(values));
    }
    let params = Default::default();
    let need = faer_svd::svd_scratch::<S>(a.rows, a.cols, compute, compute, Par::Seq, params);
    let (u, v) = vectors.unzip();
    let done = stack(op, need, |stack| {
        let values = DiagMut::from_slice_mut(&mut values);
        faer_svd::svd(a.as_ref(), values, u, v, Par::Seq, stack, params)
    })?;
    Ok((done.is_ok() && values.iter().all(|v| v.real().is_finite())).then_some(values))
}

pub(super) fn eigh<T: Stored>(batch: Batch<'_>, vectors: bool) -> Result<()> {
    batch.each(|item| {
        let mut a = item.load::<T>(0)?;
        let n = a.rows;
        for j in 0..n {
            // Only the lower triangle is read, and a Hermitian matrix has a real diagonal.
            *a.at_mut(j, j) = T::Field::ONE.scale(a.at(j, j).real());
            for i in 0..j {
                *a.at_mut(i, j) = T::Field::default();
            }
        }
        let scale = a.normalise().ok_or_else(|| item.error(NOT_FINITE))?;
        let mut values = vec![T::Field::default(); n];
        let mut v = Dense::zeros(batch.op, n, if vectors { n } else { 0 })?;
        if n > 0 {
            let compute = if vectors {
                ComputeEigenvectors::Yes
            } else {
                ComputeEigenvectors::No
            };
            let params = Default::default();
            let need = evd::self_adjoint_evd_scratch::<T::Field>(n, compute, Par::Seq, params);
            let done = stack(batch.op, need, |stack| {
                let values = DiagMut::from_slice_mut(&mut values);
                let v = vectors.then(|| v.as_mut());
                evd::self_adjoint_evd(a.as_ref(), values, v, Par::Seq, stack, params)
            })?;
            if done.is_err() || !values.iter().all(|v| v.real().is_finite()) {
                return Err(item.error(DIVERGES));
            }
        }
        item.store(1, |i, _| T::narrow_real(values[i].real() * scale))?;
        if vectors {
            item.store_matrix::<T>(2, &v)
        } else {
            Ok(())
        }
    })
}

/// Eigenvectors have norm 1.
pub(super) fn eig<T: Stored>(batch: Batch<'_>, vectors: bool) -> Result<()> {
    batch.each(|item| {
        let mut a = item.load::<T>(0)?;
        let n = a.rows;
        let scale = a.normalise().ok_or_else(|| item.error(NOT_FINITE))?;
        if n == 0 {
            return Ok(());
        }
        let found = T::Field::eigen(batch.op, &a, vectors)?
            .filter(|(values, _)| values.iter().all(|v| v.re.is_finite() && v.im.is_finite()));
        let (values, v) = found.ok_or_else(|| item.error(DIVERGES))?;
        item.store(1, |i, _| T::narrow_complex(values[i] * scale))?;
        if !vectors {
            return Ok(());
        }
        let norms: Vec<f64> = v.values.chunks_exact(n).map(norm).collect();
        item.store(2, |i, j| T::narrow_complex(v.at(i, j) / norms[j]))
    })
}

/// Eigenvalues, and the eigenvectors if asked for.
type Pairs = (Vec<Complex64>, Dense<Complex64>);

/// Fields whose general matrices have eigenvalues here.
pub(super) trait Eigen: Field {
    /// The eigenvalues and right eigenvectors, or `None` if the iteration does not converge.
    fn eigen(op: &'static str, a: &Dense<Self>, vectors: bool) -> Result<Option<Pairs>>;
}

fn compute(vectors: bool) -> ComputeEigenvectors {
    if vectors {
        ComputeEigenvectors::Yes
    } else {
        ComputeEigenvectors::No
    }
}

impl Eigen for Complex64 {
    fn eigen(op: &'static str, a: &Dense<Self>, vectors: bool) -> Result<Option<Pairs>> {
        let n = a.rows;
        let (no, yes, params) = (
            ComputeEigenvectors::No,
            compute(vectors),
            Default::default(),
        );
        let mut values = vec![Complex64::default(); n];
        let mut v = Dense::zeros(op, n, if vectors { n } else { 0 })?;
        let need = evd::evd_scratch::<Complex64>(n, no, yes, Par::Seq, params);
        let done = stack(op, need, |stack| {
            let values = DiagMut::from_slice_mut(&mut values);
            let v = vectors.then(|| v.as_mut());
            evd::evd_cplx::<f64>(a.as_ref(), values, None, v, Par::Seq, stack, params)
        })?;
        Ok(done.ok().map(|()| (values, v)))
    }
}

impl Eigen for f64 {
    fn eigen(op: &'static str, a: &Dense<Self>, vectors: bool) -> Result<Option<Pairs>> {
        let n = a.rows;
        let (no, yes, params) = (
            ComputeEigenvectors::No,
            compute(vectors),
            Default::default(),
        );
        let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
        let mut v = Dense::zeros(op, n, if vectors { n } else { 0 })?;
        let need = evd::evd_scratch::<f64>(n, no, yes, Par::Seq, params);
        let done = stack(op, need, |stack| {
            let (re, im) = (
                DiagMut::from_slice_mut(&mut re),
                DiagMut::from_slice_mut(&mut im),
            );
            let v = vectors.then(|| v.as_mut());
            evd::evd_real(a.as_ref(), re, im, None, v, Par::Seq, stack, params)
        })?;
        if done.is_err() {
            return Ok(None);
        }
        let values: Vec<Complex64> = re
            .iter()
            .zip(&im)
            .map(|(&r, &i)| Complex64::new(r, i))
            .collect();
        let mut pairs = Dense::zeros(op, n, v.cols)?;
        let mut j = 0;
        while j < v.cols {
            // A pair of conjugates has its vectors' real and imaginary parts in two columns.
            let paired = im[j] != 0.0 && j + 1 < n;
            for i in 0..n {
                let z = Complex64::new(v.at(i, j), if paired { v.at(i, j + 1) } else { 0.0 });
                *pairs.at_mut(i, j) = z;
                if paired {
                    *pairs.at_mut(i, j + 1) = z.conj();
                }
            }
            j += 1 + paired as usize;
        }
        Ok(Some((values, pairs)))
    }
}

//! Eigenvalues and eigenvectors.

use crate::dense::norm;
use crate::inverse_iteration::repair;
use crate::{Dense, Failure, Field, Result, stack, tridiagonal};
use faer::diag::DiagMut;
use faer::linalg::evd::{self, ComputeEigenvectors, tridiag};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::{Conj, Par};
use rustarr_interface::Complex64;

/// Eigenvalues, and as columns the eigenvectors if asked for.
pub type Pairs = (Vec<Complex64>, Option<Dense<Complex64>>);

fn compute(vectors: bool) -> ComputeEigenvectors {
    if vectors {
        ComputeEigenvectors::Yes
    } else {
        ComputeEigenvectors::No
    }
}

/// By way of a tridiagonal matrix.
pub(crate) fn hermitian<S: Field>(
    mut a: Dense<S>,
    vectors: bool,
) -> Result<(Vec<f64>, Option<Dense<S>>)> {
    let n = a.rows;
    a.keep_lower_triangle();
    let scale = a.normalise()?;
    let block = recommended_block_size::<S>(n, n);
    let mut reflectors = Dense::zeros(block, n.saturating_sub(1))?;
    let need = tridiag::tridiag_in_place_scratch::<S>(n, Par::Seq, Default::default());
    stack(need, |stack| {
        tridiag::tridiag_in_place(a.as_mut(), reflectors.as_mut(), Par::Seq, stack, Default::default());
    })?;
    // The elements beside the diagonal become real and positive by factors of the rows.
    let mut factors = vec![S::ONE; n];
    let mut beside = vec![0.0; n.saturating_sub(1)];
    for i in 1..n {
        let element = a.at(i, i - 1);
        beside[i - 1] = element.magnitude();
        factors[i] = (element * factors[i - 1]).direction();
    }
    let diagonal = (0..n).map(|i| Field::real(a.at(i, i))).collect();
    let (values, inner) = tridiagonal::eigen(diagonal, &beside, vectors)?;
    if !values.iter().all(|v| v.is_finite()) {
        return Err(Failure::Diverges);
    }
    let mut v = inner.map(|inner| Dense::embed(&inner, &factors, n, n)).transpose()?;
    if let Some(v) = v.as_mut().filter(|_| n > 1) {
        let need = apply_block_householder_sequence_on_the_left_in_place_scratch::<S>(n - 1, block, n);
        stack(need, |stack| {
            apply_block_householder_sequence_on_the_left_in_place_with_conj(
                a.as_ref().submatrix(1, 0, n - 1, n - 1),
                reflectors.as_ref(),
                Conj::No,
                v.as_mut().subrows_mut(1, n - 1),
                Par::Seq,
                stack,
            );
        })?;
    }
    Ok((values.into_iter().map(|v| scale.times(v)).collect(), v))
}

/// The pairs of a scaled matrix that is not empty.
type Solver<S> = fn(&Dense<S>, bool) -> Result<Pairs>;

pub(crate) fn general<S: Field>(
    mut a: Dense<S>,
    vectors: bool,
    solver: Solver<S>,
) -> Result<Pairs> {
    let n = a.rows;
    let scale = a.normalise()?;
    if n == 0 {
        return Ok((Vec::new(), vectors.then(|| Dense::zeros(0, 0)).transpose()?));
    }
    let (mut values, mut v) = solver(&a, vectors)?;
    let finite = |z: &Complex64| z.re.is_finite() && z.im.is_finite();
    if !values.iter().all(finite) {
        return Err(Failure::Diverges);
    }
    if let Some(v) = &mut v
        && !v.values.iter().all(finite)
    {
        let mut wide = Dense::zeros(n, n)?;
        wide.values
            .iter_mut()
            .zip(&a.values)
            .for_each(|(w, &a)| *w = a.into());
        repair(wide, &values, v)?;
    }
    values.iter_mut().for_each(|z| *z = scale.times(*z));
    if let Some(v) = &mut v {
        for column in v.values.chunks_exact_mut(n) {
            let length = norm(column);
            column.iter_mut().for_each(|z| *z /= length);
        }
    }
    Ok((values, v))
}

pub(crate) fn complex(a: &Dense<Complex64>, vectors: bool) -> Result<Pairs> {
    let n = a.rows;
    let (no, yes, params) = (
        ComputeEigenvectors::No,
        compute(vectors),
        Default::default(),
    );
    let mut values = vec![Complex64::default(); n];
    let mut v = vectors.then(|| Dense::zeros(n, n)).transpose()?;
    let need = evd::evd_scratch::<Complex64>(n, no, yes, Par::Seq, params);
    let done = stack(need, |stack| {
        let values = DiagMut::from_slice_mut(&mut values);
        let v = v.as_mut().map(Dense::as_mut);
        evd::evd_cplx::<f64>(a.as_ref(), values, None, v, Par::Seq, stack, params)
    })?;
    done.map_err(|_| Failure::Diverges)?;
    Ok((values, v))
}

pub(crate) fn real(a: &Dense<f64>, vectors: bool) -> Result<Pairs> {
    let n = a.rows;
    let (no, yes, params) = (
        ComputeEigenvectors::No,
        compute(vectors),
        Default::default(),
    );
    let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
    let mut v = vectors.then(|| Dense::zeros(n, n)).transpose()?;
    let need = evd::evd_scratch::<f64>(n, no, yes, Par::Seq, params);
    let done = stack(need, |stack| {
        let (re, im) = (
            DiagMut::from_slice_mut(&mut re),
            DiagMut::from_slice_mut(&mut im),
        );
        let v = v.as_mut().map(Dense::as_mut);
        evd::evd_real(a.as_ref(), re, im, None, v, Par::Seq, stack, params)
    })?;
    done.map_err(|_| Failure::Diverges)?;
    let values = re
        .iter()
        .zip(&im)
        .map(|(&re, &im)| Complex64::new(re, im))
        .collect();
    let pairs = v.map(|v| paired(&v, &im)).transpose()?;
    Ok((values, pairs))
}

/// Vectors of real and of pairs of conjugate eigenvalues; a pair has its real and imaginary parts in two columns.
fn paired(v: &Dense<f64>, im: &[f64]) -> Result<Dense<Complex64>> {
    let n = v.rows;
    let mut out = Dense::zeros(n, n)?;
    let mut j = 0;
    while j < n {
        let pair = im[j] != 0.0 && j + 1 < n;
        for i in 0..n {
            let z = Complex64::new(v.at(i, j), if pair { v.at(i, j + 1) } else { 0.0 });
            *out.at_mut(i, j) = z;
            if pair {
                *out.at_mut(i, j + 1) = z.conj();
            }
        }
        j += 1 + pair as usize;
    }
    Ok(out)
}

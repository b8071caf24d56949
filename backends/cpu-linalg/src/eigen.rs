//! Eigenvalues and eigenvectors.

use crate::dense::norm;
use crate::inverse_iteration::repair;
use crate::{Dense, Failure, Field, Result, stack};
use faer::Par;
use faer::diag::DiagMut;
use faer::linalg::evd::{self, ComputeEigenvectors};
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

pub(crate) fn hermitian<S: Field>(
    mut a: Dense<S>,
    vectors: bool,
) -> Result<(Vec<f64>, Option<Dense<S>>)> {
    let n = a.rows;
    a.keep_lower_triangle();
    let scale = a.normalise()?;
    let mut values = vec![S::default(); n];
    let mut v = vectors.then(|| Dense::zeros(n, n)).transpose()?;
    if n > 0 {
        let params = Default::default();
        let need = evd::self_adjoint_evd_scratch::<S>(n, compute(vectors), Par::Seq, params);
        let done = stack(need, |stack| {
            let values = DiagMut::from_slice_mut(&mut values);
            let v = v.as_mut().map(Dense::as_mut);
            evd::self_adjoint_evd(a.as_ref(), values, v, Par::Seq, stack, params)
        })?;
        done.map_err(|_| Failure::Diverges)?;
    }
    let values: Vec<f64> = values.into_iter().map(Field::real).collect();
    if !values.iter().all(|v| v.is_finite()) {
        return Err(Failure::Diverges);
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

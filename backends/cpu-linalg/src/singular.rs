//! Singular values and vectors.

use crate::{Dense, Failure, Field, Result, stack};
use faer::Par;
use faer::diag::DiagMut;
use faer::linalg::svd::{ComputeSvdVectors, svd as decompose, svd_scratch};

/// Which singular vectors are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vectors {
    /// None.
    No,
    /// As many as there are singular values.
    Thin,
    /// Complete bases.
    Full,
}

/// `A = U diag(S) V^H`.
#[derive(Clone, Debug)]
pub struct Svd<S> {
    /// The left vectors as columns; none unless asked for.
    pub u: Dense<S>,
    /// The values in falling order.
    pub values: Vec<f64>,
    /// The right vectors as columns; none unless asked for.
    pub v: Dense<S>,
}

pub(crate) fn svd<S: Field>(mut a: Dense<S>, vectors: Vectors) -> Result<Svd<S>> {
    let scale = a.normalise()?;
    let size = a.rows.min(a.cols);
    let (compute, width): (_, fn(usize, usize) -> usize) = match vectors {
        Vectors::No => (ComputeSvdVectors::No, |_, _| 0),
        Vectors::Thin => (ComputeSvdVectors::Thin, |_, size| size),
        Vectors::Full => (ComputeSvdVectors::Full, |n, _| n),
    };
    let mut u = Dense::identity(a.rows, width(a.rows, size))?;
    let mut v = Dense::identity(a.cols, width(a.cols, size))?;
    let mut values = vec![S::default(); size];
    if size > 0 {
        let wanted = vectors != Vectors::No;
        let params = Default::default();
        let need = svd_scratch::<S>(a.rows, a.cols, compute, compute, Par::Seq, params);
        let done = stack(need, |stack| {
            let values = DiagMut::from_slice_mut(&mut values);
            let (u, v) = (wanted.then(|| u.as_mut()), wanted.then(|| v.as_mut()));
            decompose(a.as_ref(), values, u, v, Par::Seq, stack, params)
        })?;
        done.map_err(|_| Failure::Diverges)?;
    }
    let values: Vec<f64> = values.into_iter().map(Field::real).collect();
    if !values.iter().all(|v| v.is_finite()) {
        return Err(Failure::Diverges);
    }
    let values = values.into_iter().map(|v| scale.times(v)).collect();
    Ok(Svd { u, values, v })
}

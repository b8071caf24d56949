//! Cholesky and QR factorisations.

use crate::{Dense, Failure, Field, Result, householder, stack};
use faer::Par;
use faer::linalg::cholesky::llt::factor as llt;

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
    let size = a.rows.min(a.cols);
    if size > 0 {
        // Infinities and NaN go their way.
        let scale = a.normalise().unwrap_or_default();
        let factors = householder::qr(a)?;
        householder::apply(a.as_ref().get(.., ..size), &factors, q.as_mut())?;
        a.values.iter_mut().for_each(|v| *v = scale.times(*v));
        a.keep_upper_triangle();
    }
    Ok(q)
}

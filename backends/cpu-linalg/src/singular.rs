//! Singular values and vectors.

use crate::{Dense, Failure, Field, Result, bidiagonal, householder, stack};
use faer::Par;
use faer::linalg::svd::bidiag;

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

/// Where a matrix is longer than this many times its width, its `R` is decomposed instead.
const LONG: f64 = 11.0 / 6.0;

pub(crate) fn svd<S: Field>(mut a: Dense<S>, vectors: Vectors) -> Result<Svd<S>> {
    let scale = a.normalise()?;
    let wide = a.rows < a.cols;
    if wide {
        a = a.adjoint()?;
    }
    let mut out = tall(a, vectors)?;
    if !out.values.iter().all(|v| v.is_finite()) {
        return Err(Failure::Diverges);
    }
    if wide {
        std::mem::swap(&mut out.u, &mut out.v);
    }
    out.values.iter_mut().for_each(|v| *v = scale.times(*v));
    Ok(out)
}

fn tall<S: Field>(mut a: Dense<S>, vectors: Vectors) -> Result<Svd<S>> {
    let (m, n) = (a.rows, a.cols);
    let width = match vectors {
        Vectors::No => 0,
        Vectors::Thin => n,
        Vectors::Full => m,
    };
    if n == 0 {
        let (u, v) = (Dense::identity(m, width)?, Dense::zeros(0, 0)?);
        return Ok(Svd {
            u,
            values: Vec::new(),
            v,
        });
    }
    if m as f64 <= LONG * n as f64 {
        return bidiagonalise(a, width);
    }
    let factors = householder::qr(&mut a)?;
    let mut r = Dense::zeros(n, n)?;
    for (to, from) in r.values.chunks_exact_mut(n).zip(a.values.chunks_exact(m)) {
        to.copy_from_slice(&from[..n]);
    }
    r.keep_upper_triangle();
    let mut out = bidiagonalise(r, width.min(n))?;
    if width > 0 {
        out.u = out.u.embedded(m, width)?;
        householder::apply(a.as_ref(), &factors, out.u.as_mut())?;
    }
    Ok(out)
}

/// By way of a bidiagonal matrix, with this many left vectors.
fn bidiagonalise<S: Field>(mut a: Dense<S>, width: usize) -> Result<Svd<S>> {
    let (m, n) = (a.rows, a.cols);
    let mut left = householder::factors(m, n, n)?;
    let mut right = householder::factors(m, n, n.saturating_sub(1))?;
    let need = bidiag::bidiag_in_place_scratch::<S>(m, n, Par::Seq, Default::default());
    stack(need, |stack| {
        bidiag::bidiag_in_place(
            a.as_mut(),
            left.as_mut(),
            right.as_mut(),
            Par::Seq,
            stack,
            Default::default(),
        );
    })?;
    // The elements become real and positive by factors of the rows and columns.
    let (mut diagonal, mut above) = (vec![0.0; n], vec![0.0; n.saturating_sub(1)]);
    let (mut rows, mut columns) = (vec![S::ONE; n], vec![S::ONE; n]);
    for i in 0..n {
        let element = a.at(i, i) * columns[i];
        diagonal[i] = element.magnitude();
        rows[i] = element.direction();
        if i + 1 < n {
            let element = rows[i].conjugate() * a.at(i, i + 1);
            above[i] = element.magnitude();
            columns[i + 1] = element.direction().conjugate();
        }
    }
    let (values, bases) = bidiagonal::singular(&diagonal, &above, width > 0)?;
    let Some([u, v]) = bases else {
        let (u, v) = (Dense::zeros(m, 0)?, Dense::zeros(n, 0)?);
        return Ok(Svd { u, values, v });
    };
    let mut u = Dense::with_rows(&u, &rows)?.embedded(m, width)?;
    let mut v = Dense::with_rows(&v, &columns)?;
    householder::apply(a.as_ref(), &left, u.as_mut())?;
    if n > 1 {
        // The right reflectors lie in rows; they are applied as columns.
        for j in 1..n {
            for i in 0..j {
                *a.at_mut(j, i) = a.at(i, j).conjugate();
            }
        }
        right.values.iter_mut().for_each(|v| *v = v.conjugate());
        let reflectors = a.as_ref().submatrix(1, 0, n - 1, n - 1);
        householder::apply(reflectors, &right, v.as_mut().subrows_mut(1, n - 1))?;
    }
    Ok(Svd { u, values, v })
}

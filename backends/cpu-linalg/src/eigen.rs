//! Eigenvalues and eigenvectors.

use crate::dense::norm;
use crate::inverse_iteration::Hessenberg;
use crate::{Dense, Failure, Field, Result, householder, stack, tridiagonal};
use faer::diag::DiagMut;
use faer::dyn_stack::MemStack;
use faer::linalg::evd::{self, ComputeEigenvectors, EvdError, EvdParams, SchurParams, tridiag};
use faer::{Auto, MatMut, MatRef, Par, Spec};
use rustarr_interface::Complex64;
use std::ops::Range;

/// Passes over a matrix to be balanced at most; two or three are usual.
const PASSES: usize = 32;

/// What is left of the size of a row and a column for which balancing them is worth it.
const WORTH: f64 = 0.95;

/// How large residuals of eigenvectors may be, in units of epsilon times the norm.
const GOOD: f64 = 1.5;

/// Factors by which balancing may change a row or a column.
const FACTORS: Range<f64> = 1e-270..1e270;

/// Eigenvalues, and as columns the eigenvectors if asked for.
pub type Pairs = (Vec<Complex64>, Option<Dense<Complex64>>);

/// By way of a tridiagonal matrix.
pub(crate) fn hermitian<S: Field>(
    mut a: Dense<S>,
    vectors: bool,
) -> Result<(Vec<f64>, Option<Dense<S>>)> {
    let n = a.rows;
    a.keep_lower_triangle();
    let scale = a.normalise()?;
    let mut factors = householder::factors(n, n, n.saturating_sub(1))?;
    let need = tridiag::tridiag_in_place_scratch::<S>(n, Par::Seq, Default::default());
    stack(need, |stack| {
        tridiag::tridiag_in_place(
            a.as_mut(),
            factors.as_mut(),
            Par::Seq,
            stack,
            Default::default(),
        );
    })?;
    // The elements beside the diagonal become real and positive by factors of the rows.
    let mut rows = vec![S::ONE; n];
    let mut beside = vec![0.0; n.saturating_sub(1)];
    for i in 1..n {
        let element = a.at(i, i - 1);
        beside[i - 1] = element.magnitude();
        rows[i] = (element * rows[i - 1]).direction();
    }
    let diagonal = (0..n).map(|i| Field::real(a.at(i, i))).collect();
    let (values, inner) = tridiagonal::eigen(diagonal, &beside, vectors)?;
    if !values.iter().all(|v| v.is_finite()) {
        return Err(Failure::Diverges);
    }
    let mut v = inner
        .map(|inner| Dense::with_rows(&inner, &rows))
        .transpose()?;
    if let Some(v) = v.as_mut().filter(|_| n > 1) {
        let reflectors = a.as_ref().submatrix(1, 0, n - 1, n - 1);
        householder::apply(reflectors, &factors, v.as_mut().subrows_mut(1, n - 1))?;
    }
    Ok((values.into_iter().map(|v| scale.times(v)).collect(), v))
}

/// Fields over which the eigenvalues of a general matrix are found.
pub(crate) trait General: Field {
    /// Whether eigenvalues that are not real come in pairs of conjugates.
    const PAIRED: bool;

    /// How many rows faer deflates at a time, from the size and the size of what is left, if other than it recommends.
    const WINDOW: Option<extern "C" fn(usize, usize) -> usize>;

    /// The eigenvalues of a matrix that is not empty, and its eigenvectors; of a pair of conjugates the real and imaginary
    /// parts, in two columns.
    fn pairs(a: &Dense<Self>, vectors: bool) -> Result<(Vec<Complex64>, Option<Dense<Self>>)>;

    /// Columns like those of the vectors as complex ones.
    fn widen(v: &Dense<Self>, values: &[Complex64]) -> Result<Dense<Complex64>>;
}

extern "C" fn window(rows: usize, _: usize) -> usize {
    match rows {
        0..30 => 2,
        30..60 => 4,
        _ => 12,
    }
}

impl General for Complex64 {
    const PAIRED: bool = false;
    // With its larger ones complex eigenvalues lose digits.
    const WINDOW: Option<extern "C" fn(usize, usize) -> usize> = Some(window);

    fn pairs(a: &Dense<Self>, vectors: bool) -> Result<(Vec<Complex64>, Option<Dense<Self>>)> {
        let mut values = vec![Complex64::default(); a.rows];
        let v = decompose(a, vectors, |a, v, stack, params| {
            let values = DiagMut::from_slice_mut(&mut values);
            evd::evd_cplx::<f64>(a, values, None, v, Par::Seq, stack, params)
        })?;
        Ok((values, v))
    }

    fn widen(v: &Dense<Self>, _: &[Complex64]) -> Result<Dense<Complex64>> {
        v.columns(0..v.cols)
    }
}

impl General for f64 {
    const PAIRED: bool = true;
    const WINDOW: Option<extern "C" fn(usize, usize) -> usize> = None;

    fn pairs(a: &Dense<Self>, vectors: bool) -> Result<(Vec<Complex64>, Option<Dense<Self>>)> {
        let (mut re, mut im) = (vec![0.0; a.rows], vec![0.0; a.rows]);
        let v = decompose(a, vectors, |a, v, stack, params| {
            let (re, im) = (
                DiagMut::from_slice_mut(&mut re),
                DiagMut::from_slice_mut(&mut im),
            );
            evd::evd_real(a, re, im, None, v, Par::Seq, stack, params)
        })?;
        let value = |(&re, &im)| Complex64::new(re, im);
        Ok((re.iter().zip(&im).map(value).collect(), v))
    }

    fn widen(v: &Dense<Self>, values: &[Complex64]) -> Result<Dense<Complex64>> {
        let n = v.rows;
        let mut out = Dense::zeros(n, n)?;
        let mut j = 0;
        while j < n {
            let pair = values[j].im != 0.0 && j + 1 < n;
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
}

/// Calls one of faer's two functions for the two fields.
fn decompose<S: General>(
    a: &Dense<S>,
    vectors: bool,
    run: impl FnOnce(
        MatRef<'_, S>,
        Option<MatMut<'_, S>>,
        &mut MemStack,
        Spec<EvdParams, S>,
    ) -> std::result::Result<(), EvdError>,
) -> Result<Option<Dense<S>>> {
    let n = a.rows;
    let compute = |yes| {
        if yes {
            ComputeEigenvectors::Yes
        } else {
            ComputeEigenvectors::No
        }
    };
    let mut v = vectors.then(|| Dense::zeros(n, n)).transpose()?;
    let mut schur: SchurParams = Auto::<S>::auto();
    schur.recommended_deflation_window = S::WINDOW.unwrap_or(schur.recommended_deflation_window);
    let params = Spec::new(EvdParams {
        schur,
        ..Auto::<S>::auto()
    });
    let need = evd::evd_scratch::<S>(n, compute(false), compute(vectors), Par::Seq, params);
    let done = stack(need, |stack| {
        run(a.as_ref(), v.as_mut().map(Dense::as_mut), stack, params)
    })?;
    done.map_err(|_| Failure::Diverges)?;
    Ok(v)
}

pub(crate) fn general<S: General>(mut a: Dense<S>, vectors: bool) -> Result<Pairs> {
    let n = a.rows;
    let scale = a.unit()?;
    if n == 0 {
        return Ok((Vec::new(), vectors.then(|| Dense::zeros(0, 0)).transpose()?));
    }
    let given = vectors.then(|| a.columns(0..n)).transpose()?;
    let sizes = balance(&mut a);
    let reduced = Hessenberg::new(a)?;
    let (mut values, v) = S::pairs(&reduced.matrix()?, vectors)?;
    if !values.iter().all(|z| z.re.is_finite() && z.im.is_finite()) {
        return Err(Failure::Diverges);
    }
    let mut out = None;
    if let (Some(given), Some(mut v)) = (given, v) {
        reduced.turn(&mut v)?;
        let mut v = S::widen(&v, &values)?;
        for column in v.values.chunks_exact_mut(n) {
            for (z, size) in column.iter_mut().zip(&sizes) {
                *z *= size;
            }
            normalise(column);
        }
        let poor = poor(&given, &values, &v)?;
        if !poor.is_empty() {
            // In the matrix as given: what balancing makes large again are the errors of small elements too.
            let balanced = sizes.iter().any(|&size| size != 1.0);
            let reduced = if balanced {
                Hessenberg::new(given)?
            } else {
                reduced
            };
            reduced.improve(&mut values, &mut v, &poor)?;
            for &j in &poor {
                normalise(&mut v.values[j * n..][..n]);
            }
        }
        out = Some(v);
    }
    values.iter_mut().for_each(|z| *z = scale.times(*z));
    Ok((values, out))
}

/// Gives rows and columns of the same index about the same size; returns by how much the rows have been divided and the
/// columns multiplied, powers of two (Osborne, J. ACM 7, 1960; James, Langou and Lowery, arXiv:1401.5766).
fn balance<S: Field>(a: &mut Dense<S>) -> Vec<f64> {
    let n = a.rows;
    let mut sizes = vec![1.0; n];
    for _ in 0..PASSES {
        let mut done = true;
        for (i, size) in sizes.iter_mut().enumerate() {
            let column = norm(&a.values[i * n..][..n]);
            let row: Vec<S> = (0..n).map(|j| a.at(i, j)).collect();
            let row = norm(&row);
            if column == 0.0 || row == 0.0 {
                continue;
            }
            let factor = ((row / column).log2() / 2.0).round().exp2();
            if column * factor + row / factor >= WORTH * (column + row)
                || !FACTORS.contains(&(*size * factor))
            {
                continue;
            }
            done = false;
            *size *= factor;
            for j in 0..n {
                *a.at_mut(i, j) = a.at(i, j).scale(1.0 / factor);
            }
            for v in &mut a.values[i * n..][..n] {
                *v = v.scale(factor);
            }
        }
        if done {
            break;
        }
    }
    // Only their proportions count for the vectors.
    let largest = sizes.iter().fold(0.0, |m: f64, &size| m.max(size));
    sizes.iter_mut().for_each(|size| *size /= largest);
    sizes
}

/// The vectors, of length 1, for which the eigenvalue problem is not solved to the last digits: back-substitution, as faer
/// does it, loses some where eigenvalues lie together, or leaves the range of `f64`, and balancing where rows and columns
/// differ in size (Watkins, Electron. Trans. Numer. Anal. 23, 2006).
fn poor<S: Field>(a: &Dense<S>, values: &[Complex64], v: &Dense<Complex64>) -> Result<Vec<usize>> {
    let n = a.rows;
    let mut product = Dense::zeros(n, n)?;
    product.multiply(&a.wide()?, v);
    let unit = f64::EPSILON * norm(&a.values);
    let apart = (n as f64 * unit).powi(2);
    let columns = v
        .values
        .chunks_exact(n)
        .zip(product.values.chunks_exact_mut(n));
    let mut poor = Vec::new();
    for (j, ((v, residual), &value)) in columns.zip(values).enumerate() {
        for (r, v) in residual.iter_mut().zip(v) {
            *r -= value * v;
        }
        let error = norm(residual) / unit;
        let near = |(k, other): (usize, &Complex64)| k != j && (other - value).norm_sqr() <= apart;
        let crowded = || values.iter().enumerate().any(near);
        // NaN is not small.
        if !(error <= 1.0 || error <= GOOD && !crowded()) && unit > 0.0 {
            poor.push(j);
        }
    }
    Ok(poor)
}

/// Divides a vector by its length.
pub(crate) fn normalise(v: &mut [Complex64]) {
    let length = norm(v);
    v.iter_mut().for_each(|z| *z /= length);
}

//! Factorisations, and what they solve.

use super::args::{self, single};
use super::elementwise as ew;
use super::elementwise::where_;
use super::linalg::{matmul, matrices, matrix_transpose};
use crate::promotion::{Weak, promote};
use crate::{Arg, Array, graph};
use rustarr_interface::{DType, Dims, Error, Kinds, Linalg, Result, Verb, broadcast_shapes};
use smallvec::SmallVec;

/// Matrices in a dtype that factorisations take: integers become the default float.
fn prepare(op: &'static str, x: &Array) -> Result<Array> {
    check_matrices(op, x)?;
    let dtype = match x.dtype() {
        DType::F16 => {
            return Err(Error::dtype(
                op,
                "float16 matrices are not factorised; use astype(float32) first",
            ));
        }
        d if d.is(Kinds::INEXACT) => d,
        _ => x.context().default_float(),
    };
    x.astype(dtype)
}

/// As [`matrices`], with the kind of error that NumPy's factorisations raise, which is a `ValueError` too.
fn check_matrices(op: &'static str, x: &Array) -> Result<(usize, usize)> {
    matrices(op, x).map_err(|e| Error::linalg(op, e.detail().to_owned()))
}

fn not_square(op: &'static str, shape: &[usize]) -> Error {
    Error::linalg(op, format!("matrices of shape {shape:?} are not square"))
}

fn square(op: &'static str, x: &Array) -> Result<(Array, usize)> {
    let x = prepare(op, x)?;
    match x.shape() {
        [.., m, n] if m == n => Ok((x.clone(), *n)),
        shape => Err(not_square(op, shape)),
    }
}

fn run(
    op: &'static str,
    linalg: Linalg,
    inputs: &[&Array],
    outputs: &[(DType, Dims)],
) -> Result<SmallVec<[Array; 2]>> {
    let ctx = args::meet(op, inputs)?;
    graph::verb(
        &ctx,
        op,
        Verb::Linalg,
        inputs,
        outputs,
        |backend, ins, outs| backend.linalg(linalg, ins, outs),
    )
}

/// The batch axes of a matrix followed by other sizes.
fn sized(x: &Array, last: &[usize]) -> Dims {
    let mut dims = Dims::from_slice(&x.shape()[..x.ndim() - 2]);
    dims.extend_from_slice(last);
    dims
}

fn two(outputs: SmallVec<[Array; 2]>) -> (Array, Array) {
    let mut it = outputs.into_iter();
    match (it.next(), it.next()) {
        (Some(a), Some(b)) => (a, b),
        _ => unreachable!("the verb gives as many arrays as were asked for"),
    }
}

/// The solution `x` of `x1 @ x = x2`. `x2` is a vector if it is 1-D, else a batch of matrices; batches broadcast.
///
/// Source: array API standard, `linalg.solve`.
///
/// # Errors
/// `Linalg` for a singular matrix or one that is not square; `Shape` for sizes that do not fit; `DType` for `float16`.
pub fn solve(x1: &Array, x2: &Array) -> Result<Array> {
    const OP: &str = "solve";
    let (a, n) = square(OP, x1)?;
    let vector = x2.ndim() == 1;
    let b = if vector {
        x2.view(x2.layout().insert_axis(1))
    } else {
        x2.clone()
    };
    let b = prepare(OP, &b)?;
    let fail = || {
        Error::shape(
            OP,
            format!("shapes {:?} and {:?} do not fit", x1.shape(), x2.shape()),
        )
    };
    let (rows, k) = matrices(OP, &b)?;
    if rows != n {
        return Err(fail());
    }
    let batch = broadcast_shapes(
        OP,
        &[&a.shape()[..a.ndim() - 2], &b.shape()[..b.ndim() - 2]],
    )
    .map_err(|_| fail())?;
    let dtype = promote(a.dtype(), b.dtype());
    let wide = |x: Array, last: [usize; 2]| -> Result<Array> {
        let mut shape = batch.clone();
        shape.extend(last);
        let x = x.astype(dtype)?;
        Ok(x.view(x.layout().broadcast_to(&shape)?))
    };
    let (a, b) = (wide(a, [n, n])?, wide(b, [n, k])?);
    let shape = Dims::from_slice(b.shape());
    let out = single(run(OP, Linalg::Solve, &[&a, &b], &[(dtype, shape)])?);
    if !vector {
        return Ok(out);
    }
    Ok(out.view(out.layout().select(out.ndim() - 1, 0)))
}

/// Inverses of square matrices.
///
/// Source: array API standard, `linalg.inv`.
///
/// # Errors
/// `Linalg` for a singular matrix or one that is not square; `DType` for `float16`.
pub fn inv(x: &Array) -> Result<Array> {
    const OP: &str = "inv";
    let (x, _) = square(OP, x)?;
    let outputs = [(x.dtype(), x.shape().into())];
    Ok(single(run(OP, Linalg::Inv, &[&x], &outputs)?))
}

/// Sign (or complex phase) and logarithm of the modulus of determinants: 0 and minus infinity for a singular matrix.
///
/// Source: array API standard, `linalg.slogdet`.
///
/// # Errors
/// `Linalg` for a matrix that is not square; `DType` for `float16`.
pub fn slogdet(x: &Array) -> Result<(Array, Array)> {
    signed_log("slogdet", x)
}

fn signed_log(op: &'static str, x: &Array) -> Result<(Array, Array)> {
    let (x, _) = square(op, x)?;
    let shape = sized(&x, &[]);
    let outputs = [(x.dtype(), shape.clone()), (x.dtype().real(), shape)];
    Ok(two(run(op, Linalg::SlogDet, &[&x], &outputs)?))
}

/// Determinants of square matrices.
///
/// Source: array API standard, `linalg.det`.
///
/// # Errors
/// `Linalg` for a matrix that is not square; `DType` for `float16`.
pub fn det(x: &Array) -> Result<Array> {
    let (sign, log) = signed_log("det", x)?;
    ew::multiply(&sign, &ew::exp(&log)?)
}

/// The triangular factor `L` of `x = L @ L^H`, or `U` of `x = U^H @ U`, of positive definite Hermitian matrices.
///
/// Source: array API standard, `linalg.cholesky`.
///
/// # Errors
/// `Linalg` for a matrix that is not square or not positive definite; `DType` for `float16`.
pub fn cholesky(x: &Array, upper: bool) -> Result<Array> {
    const OP: &str = "cholesky";
    let (x, _) = square(OP, x)?;
    let outputs = [(x.dtype(), x.shape().into())];
    Ok(single(run(
        OP,
        Linalg::Cholesky { upper },
        &[&x],
        &outputs,
    )?))
}

/// Orthonormal `Q` and upper triangular `R` of `x = Q @ R`; `Q` is square where `complete`.
///
/// Source: array API standard, `linalg.qr`.
///
/// # Errors
/// `Shape` for fewer than two dimensions; `DType` for `float16`.
pub fn qr(x: &Array, complete: bool) -> Result<(Array, Array)> {
    const OP: &str = "qr";
    let x = prepare(OP, x)?;
    let (m, n) = matrices(OP, &x)?;
    let k = if complete { m } else { m.min(n) };
    let outputs = [
        (x.dtype(), sized(&x, &[m, k])),
        (x.dtype(), sized(&x, &[k, n])),
    ];
    Ok(two(run(OP, Linalg::Qr { complete }, &[&x], &outputs)?))
}

/// `U`, the falling singular values `S` and `V^H` of `x = U @ diag(S) @ V^H`; `U` and `V^H` are square where `full`.
///
/// Source: array API standard, `linalg.svd`.
///
/// # Errors
/// `Linalg` where the iteration does not converge; `Shape` for fewer than two dimensions; `DType` for `float16`.
pub fn svd(x: &Array, full: bool) -> Result<(Array, Array, Array)> {
    triple("svd", x, full)
}

fn triple(op: &'static str, x: &Array, full: bool) -> Result<(Array, Array, Array)> {
    let x = prepare(op, x)?;
    let (m, n) = matrices(op, &x)?;
    let k = m.min(n);
    let (rows, columns) = if full { (m, n) } else { (k, k) };
    let outputs = [
        (x.dtype(), sized(&x, &[m, rows])),
        (x.dtype().real(), sized(&x, &[k])),
        (x.dtype(), sized(&x, &[columns, n])),
    ];
    let mut out = run(
        op,
        Linalg::Svd {
            vectors: true,
            full,
        },
        &[&x],
        &outputs,
    )?
    .into_iter();
    match (out.next(), out.next(), out.next()) {
        (Some(u), Some(s), Some(vh)) => Ok((u, s, vh)),
        _ => unreachable!("the verb gives as many arrays as were asked for"),
    }
}

/// The singular values of matrices, falling.
///
/// Source: array API standard, `linalg.svdvals`.
///
/// # Errors
/// As [`svd`].
pub fn svdvals(x: &Array) -> Result<Array> {
    values("svdvals", x)
}

fn values(op: &'static str, x: &Array) -> Result<Array> {
    let x = prepare(op, x)?;
    let (m, n) = matrices(op, &x)?;
    let outputs = [(x.dtype().real(), sized(&x, &[m.min(n)]))];
    Ok(single(run(
        op,
        Linalg::Svd {
            vectors: false,
            full: false,
        },
        &[&x],
        &outputs,
    )?))
}

/// The rising eigenvalues of Hermitian matrices and their eigenvectors, as columns. Only the lower triangle is read.
///
/// Source: array API standard, `linalg.eigh`.
///
/// # Errors
/// `Linalg` where the iteration does not converge or a matrix is not square; `DType` for `float16`.
pub fn eigh(x: &Array) -> Result<(Array, Array)> {
    const OP: &str = "eigh";
    let (x, n) = square(OP, x)?;
    let outputs = [
        (x.dtype().real(), sized(&x, &[n])),
        (x.dtype(), x.shape().into()),
    ];
    Ok(two(run(
        OP,
        Linalg::Eigh { vectors: true },
        &[&x],
        &outputs,
    )?))
}

/// The rising eigenvalues of Hermitian matrices. Only the lower triangle is read.
///
/// Source: array API standard, `linalg.eigvalsh`.
///
/// # Errors
/// As [`eigh`].
pub fn eigvalsh(x: &Array) -> Result<Array> {
    const OP: &str = "eigvalsh";
    let (x, n) = square(OP, x)?;
    let outputs = [(x.dtype().real(), sized(&x, &[n]))];
    Ok(single(run(
        OP,
        Linalg::Eigh { vectors: false },
        &[&x],
        &outputs,
    )?))
}

/// The eigenvalues of square matrices and their eigenvectors, as columns; both complex.
///
/// Source: array API standard, `linalg.eig`.
///
/// # Errors
/// As [`eigh`].
pub fn eig(x: &Array) -> Result<(Array, Array)> {
    const OP: &str = "eig";
    let (x, n) = square(OP, x)?;
    let dtype = x.dtype().complex().unwrap_or(DType::C128);
    let outputs = [(dtype, sized(&x, &[n])), (dtype, x.shape().into())];
    Ok(two(run(
        OP,
        Linalg::Eig { vectors: true },
        &[&x],
        &outputs,
    )?))
}

/// The complex eigenvalues of square matrices.
///
/// Source: array API standard, `linalg.eigvals`.
///
/// # Errors
/// As [`eigh`].
pub fn eigvals(x: &Array) -> Result<Array> {
    const OP: &str = "eigvals";
    let (x, n) = square(OP, x)?;
    let dtype = x.dtype().complex().unwrap_or(DType::C128);
    let outputs = [(dtype, sized(&x, &[n]))];
    Ok(single(run(
        OP,
        Linalg::Eig { vectors: false },
        &[&x],
        &outputs,
    )?))
}

/// The tolerance below which singular values count as zero: `rtol` times the largest of each matrix, or by default the
/// larger size times the dtype's epsilon.
fn cutoff(op: &'static str, x: &Array, s: &Array, rtol: Option<Arg<'_>>) -> Result<Array> {
    let (m, n) = matrices(op, x)?;
    if m.min(n) == 0 {
        return graph::fill(s.context(), &sized(x, &[1]), args::zero(s.dtype()));
    }
    // They are falling: the first is the largest.
    let largest = s.view(s.layout().slice(s.ndim() - 1, 0, 1, 1));
    let epsilon = if s.dtype() == DType::F32 {
        f32::EPSILON as f64
    } else {
        f64::EPSILON
    };
    match rtol {
        None => ew::multiply(&largest, m.max(n) as f64 * epsilon),
        Some(Arg::Scalar(w)) => ew::multiply(&largest, w),
        Some(Arg::Array(r)) => ew::multiply(&largest, &r.view(r.layout().insert_axis(r.ndim()))),
    }
    .map_err(|e| e.in_op(op))
}

/// Pseudo-inverses of matrices (Moore and Penrose), from singular values above `rtol` times the largest; by default
/// `max(m, n)` times the dtype's epsilon.
///
/// Source: array API standard, `linalg.pinv`.
///
/// # Errors
/// As [`svd`]; `Shape` if an array of tolerances does not broadcast.
pub fn pinv(x: &Array, rtol: Option<Arg<'_>>) -> Result<Array> {
    const OP: &str = "pinv";
    let (u, s, vh) = triple(OP, x, false)?;
    let cutoff = cutoff(OP, x, &s, rtol)?;
    let kept = ew::greater(&s, &cutoff)?;
    let inverse = where_(&kept, &ew::reciprocal(&s)?, Weak::Int(0))?.astype(s.dtype())?;
    let v = adjoint(&vh)?;
    let scaled = ew::multiply(
        &v,
        &inverse.view(inverse.layout().insert_axis(inverse.ndim() - 1)),
    )?;
    matmul(&scaled, &adjoint(&u)?)
}

fn adjoint(x: &Array) -> Result<Array> {
    let t = matrix_transpose(x)?;
    if x.dtype().is(Kinds::COMPLEX) {
        ew::conj(&t)
    } else {
        Ok(t)
    }
}

/// How many singular values of a matrix are above `rtol` times the largest; by default `max(m, n)` times the dtype's
/// epsilon.
///
/// Source: array API standard, `linalg.matrix_rank`.
///
/// # Errors
/// As [`svdvals`].
pub fn matrix_rank(x: &Array, rtol: Option<Arg<'_>>) -> Result<Array> {
    const OP: &str = "matrix_rank";
    let s = values(OP, x)?;
    let cutoff = cutoff(OP, x, &s, rtol)?;
    super::count_nonzero(&ew::greater(&s, &cutoff)?, Some(&[-1]), false)
}

/// Square matrices to an integer power; a negative one is that of the inverse.
///
/// Source: array API standard, `linalg.matrix_power`.
///
/// # Errors
/// `Linalg` for a matrix that is not square and for a negative power of a singular one.
pub fn matrix_power(x: &Array, n: i64) -> Result<Array> {
    const OP: &str = "matrix_power";
    let (rows, columns) = check_matrices(OP, x)?;
    if rows != columns {
        return Err(not_square(OP, x.shape()));
    }
    if n == 0 {
        let eye = super::eye(x.context(), rows, None, 0, Some(x.dtype()))?;
        return args::dense(&eye.view(eye.layout().broadcast_to(x.shape())?));
    }
    let mut base = if n < 0 {
        inv(x).map_err(|e| e.in_op(OP))?
    } else {
        x.clone()
    };
    let (mut left, mut out) = (n.unsigned_abs(), None::<Array>);
    loop {
        if left & 1 == 1 {
            out = Some(match &out {
                Some(out) => matmul(out, &base)?,
                None => base.clone(),
            });
        }
        left >>= 1;
        match out {
            // The first power is still the argument itself.
            Some(out) if left == 0 => return if n == 1 { args::dense(&out) } else { Ok(out) },
            _ => base = matmul(&base, &base)?,
        }
    }
}

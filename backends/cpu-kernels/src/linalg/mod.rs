//! Dense linear algebra over batches of matrices.
//!
//! Each matrix of a batch is one task of one thread, on faer's functions that take their parallelism and memory as
//! arguments. Single precision is computed in double and rounded at the end.

mod dense;
mod eig;
mod factor;
mod solve;

use crate::par::Par;
use dense::{Batch, Stored};
use rustarr_interface::{Error, Linalg, Operand, Result, dispatch};

/// Runs a routine over a batch; operands as [`Linalg`] lists them, leading axes equal.
///
/// # Errors
/// `Linalg` for a singular or not positive definite matrix, or an iteration that does not converge, as it does where a
/// matrix has infinities or NaN; with the matrix's place in the batch. `DType` for other dtypes than `float32`,
/// `float64`, `complex64` and `complex128`.
pub fn linalg(
    par: Par<'_>,
    linalg: Linalg,
    inputs: &[Operand<'_>],
    outputs: &[Operand<'_>],
) -> Result<()> {
    let dtype = inputs[0].dtype;
    dispatch!(lapack, dtype, T => typed::<T>(par, linalg, inputs, outputs), else {
        Err(Error::dtype(
            name(linalg),
            format!("{dtype} matrices are not supported; convert to a floating-point dtype"),
        ))
    })
}

fn name(linalg: Linalg) -> &'static str {
    match linalg {
        Linalg::Solve => "solve",
        Linalg::Inv => "inv",
        Linalg::SlogDet => "slogdet",
        Linalg::Cholesky { .. } => "cholesky",
        Linalg::Qr { .. } => "qr",
        Linalg::Svd { .. } => "svd",
        Linalg::Eigh { .. } => "eigh",
        Linalg::Eig { .. } => "eig",
    }
}

fn typed<T: Stored>(
    par: Par<'_>,
    linalg: Linalg,
    inputs: &[Operand<'_>],
    outputs: &[Operand<'_>],
) -> Result<()> {
    let batch = |ranks: &[usize]| Batch::new(par, name(linalg), inputs, outputs, ranks);
    match linalg {
        Linalg::Solve => solve::solve::<T>(batch(&[2, 2, 2])?),
        Linalg::Inv => solve::inv::<T>(batch(&[2, 2])?),
        Linalg::SlogDet => solve::slogdet::<T>(batch(&[2, 0, 0])?),
        Linalg::Cholesky { upper } => factor::cholesky::<T>(batch(&[2, 2])?, upper),
        Linalg::Qr { complete } => factor::qr::<T>(batch(&[2, 2, 2])?, complete),
        Linalg::Svd { vectors: false, .. } => eig::singular_values::<T>(batch(&[2, 1])?),
        Linalg::Svd {
            vectors: true,
            full,
        } => eig::svd::<T>(batch(&[2, 2, 1, 2])?, full),
        Linalg::Eigh { vectors: false } => eig::eigh::<T>(batch(&[2, 1])?, false),
        Linalg::Eigh { vectors: true } => eig::eigh::<T>(batch(&[2, 1, 2])?, true),
        Linalg::Eig { vectors: false } => eig::eig::<T>(batch(&[2, 1])?, false),
        Linalg::Eig { vectors: true } => eig::eig::<T>(batch(&[2, 1, 2])?, true),
    }
}

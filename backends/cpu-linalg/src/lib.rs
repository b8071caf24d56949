//! Dense linear algebra on one thread: of one matrix, by faer's kernels and methods of our own where those lose digits, and
//! of several small matrices together.
//!
//! A crate of its own, because it holds faer's generic code: here it is compiled once, for the types that the kernels
//! use, and not again with each change of a kernel. Only faer's functions that take their parallelism and their memory as
//! arguments are called, never those that read a setting of the process.

mod bidiagonal;
mod dense;
mod divide;
mod eigen;
mod factor;
mod gemm;
mod householder;
mod inverse_iteration;
mod lu;
mod secular;
mod singular;
pub mod small;
mod tridiagonal;

pub use dense::{Dense, Field};
pub use eigen::Pairs;
pub use gemm::{Gemm, Strided};
pub use lu::Lu;
pub use singular::{Svd, Vectors};

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use rustarr_interface::Complex64;

/// Why a routine gives no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// No memory for this many bytes.
    Memory(usize),
    /// A pivot is zero.
    Singular,
    /// A pivot of a Cholesky factorisation is not positive.
    NotPositiveDefinite,
    /// The matrix has infinities or NaN, with which an iteration would not end.
    NotFinite,
    /// The iteration ended without a result.
    Diverges,
}

/// `Result` with a [`Failure`].
pub type Result<T> = std::result::Result<T, Failure>;

/// The routines, for `f64` and `Complex64`.
pub trait Routines: Field {
    /// Elements of several small matrices.
    type Small: small::Vector<Element = Self>;

    /// The factorisation `P A = L U` of a square matrix with partial pivoting.
    ///
    /// # Errors
    /// `Memory`. Of a singular matrix, [`Lu::is_singular`] tells.
    fn lu(a: Dense<Self>) -> Result<Lu<Self>>;

    /// Replaces `b` by the solution of `A x = b`.
    ///
    /// # Errors
    /// `Singular`, `Memory`.
    fn solve(lu: &Lu<Self>, b: &mut Dense<Self>) -> Result<()>;

    /// Replaces the lower triangle of a Hermitian matrix, which alone is read, by its Cholesky factor; what is above the
    /// diagonal becomes zero.
    ///
    /// # Errors
    /// `NotPositiveDefinite`, `Memory`.
    fn cholesky(a: &mut Dense<Self>) -> Result<()>;

    /// Replaces `a` by the upper triangular `R` of its QR factorisation and returns the first `columns` columns of `Q`.
    ///
    /// # Errors
    /// `Memory`.
    fn qr(a: &mut Dense<Self>, columns: usize) -> Result<Dense<Self>>;

    /// The singular values in falling order, and the singular vectors asked for.
    ///
    /// # Errors
    /// `NotFinite`, `Diverges`, `Memory`.
    fn svd(a: Dense<Self>, vectors: Vectors) -> Result<Svd<Self>>;

    /// The eigenvalues of a Hermitian matrix in rising order, and its eigenvectors if asked for; only the lower triangle is read.
    ///
    /// # Errors
    /// `NotFinite`, `Diverges`, `Memory`.
    fn eigh(a: Dense<Self>, vectors: bool) -> Result<(Vec<f64>, Option<Dense<Self>>)>;

    /// The eigenvalues of a general matrix, and its right eigenvectors of norm 1 if asked for.
    ///
    /// # Errors
    /// `NotFinite`, `Diverges`, `Memory`.
    fn eig(a: Dense<Self>, vectors: bool) -> Result<Pairs>;
}

macro_rules! routines {
    ($($t:ty, $small:ty;)*) => { $(impl Routines for $t {
        type Small = $small;
        fn lu(a: Dense<Self>) -> Result<Lu<Self>> {
            lu::factorise(a)
        }
        fn solve(lu: &Lu<Self>, b: &mut Dense<Self>) -> Result<()> {
            lu::solve(lu, b)
        }
        fn cholesky(a: &mut Dense<Self>) -> Result<()> {
            factor::cholesky(a)
        }
        fn qr(a: &mut Dense<Self>, columns: usize) -> Result<Dense<Self>> {
            factor::qr(a, columns)
        }
        fn svd(a: Dense<Self>, vectors: Vectors) -> Result<Svd<Self>> {
            singular::svd(a, vectors)
        }
        fn eigh(a: Dense<Self>, vectors: bool) -> Result<(Vec<f64>, Option<Dense<Self>>)> {
            eigen::hermitian(a, vectors)
        }
        fn eig(a: Dense<Self>, vectors: bool) -> Result<Pairs> {
            eigen::general(a, vectors)
        }
    })* };
}
routines!(f64, small::Real; Complex64, small::Complex;);

/// Runs `f` with the working memory that a faer function needs.
fn stack<R>(need: StackReq, f: impl FnOnce(&mut MemStack) -> R) -> Result<R> {
    match MemBuffer::try_new(need) {
        Ok(mut buffer) => Ok(f(MemStack::new(&mut buffer))),
        Err(_) => Err(Failure::Memory(need.size_bytes())),
    }
}

//! Linear algebra. Source: array API standard 2025.12, "Linear Algebra Functions" and "Linear Algebra Extension".

use crate::array::{PyArray, wrap};
use crate::convert::{Axes, exact, int, natural};
use crate::dtype::DTypeArg;
use crate::errors::run;
use crate::functions::named;
use crate::namespace::{Functions, Home};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyString, PyType};
use rustarr::ops::linalg::{self, NormOrder};

/// The `axes=` of a tensor product: how many, or which of each array.
#[derive(FromPyObject)]
enum Contracted {
    Count(#[pyo3(from_py_with = int)] i64),
    Pair(Axes, Axes),
}

/// Products, which the main namespace has too.
#[pymethods]
impl Functions {
    /// Matrix product over the last two axes; the leading axes broadcast. A 1-D array counts as a row on the left and
    /// as a column on the right, and that axis is dropped again.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For 0-d arrays and shapes that do not fit.
    #[pyo3(signature = (x1, x2, /))]
    fn matmul(&self, x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let (a, b) = (self.0.array(x1)?, self.0.array(x2)?);
        wrap(x1.py(), || linalg::matmul(&a, &b))
    }

    /// Sums of products over axes of two arrays.
    ///
    /// Parameters
    /// ----------
    /// x1, x2
    ///     Arrays.
    /// axes
    ///     How many axes: the last of x1, the first of x2; or a pair of lists of axes.
    #[pyo3(signature = (x1, x2, /, *, axes=Contracted::Count(2)),
        text_signature = "($self, x1, x2, /, *, axes=2)")]
    fn tensordot(
        &self,
        x1: &Bound<'_, PyAny>,
        x2: &Bound<'_, PyAny>,
        axes: Contracted,
    ) -> PyResult<PyArray> {
        let (a, b) = (self.0.array(x1)?, self.0.array(x2)?);
        match axes {
            Contracted::Count(n) => {
                let n = natural(n, "tensordot", "axes")?;
                wrap(x1.py(), || linalg::tensordot_last(&a, &b, n))
            }
            Contracted::Pair(of_a, of_b) => {
                wrap(x1.py(), || linalg::tensordot(&a, &b, &of_a.0, &of_b.0))
            }
        }
    }

    /// Inner products over one axis, counted from the end; the other axes broadcast. ``x1`` is conjugated.
    #[pyo3(signature = (x1, x2, /, *, axis=-1))]
    fn vecdot(
        &self,
        x1: &Bound<'_, PyAny>,
        x2: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: i64,
    ) -> PyResult<PyArray> {
        let (a, b) = (self.0.array(x1)?, self.0.array(x2)?);
        wrap(x1.py(), || linalg::vecdot(&a, &b, axis))
    }

    /// NumPy's ``dot``: the inner product of 1-D arrays, the matrix product of 2-D ones, else sums over the last axis
    /// of ``a`` and the second-last of ``b``.
    #[pyo3(signature = (a, b, /))]
    fn dot(&self, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let (x, y) = (self.0.array(a)?, self.0.array(b)?);
        wrap(a.py(), || linalg::dot(&x, &y))
    }
}

/// The functions of the extension ``linalg``.
///
/// Parameters
/// ----------
/// functions
///     The namespace's functions.
#[pyclass(frozen, name = "linalg", module = "rustarr._core")]
pub struct Linalg(Home);

/// A matrix norm by the standard's names.
fn order(ord: &Bound<'_, PyAny>, op: &str) -> PyResult<NormOrder> {
    if let Ok(name) = ord.cast::<PyString>() {
        return match &*name.to_cow()? {
            "fro" => Ok(NormOrder::Frobenius),
            "nuc" => Ok(NormOrder::Nuclear),
            other => Err(PyValueError::new_err(format!(
                "{op}: ord={other:?} is not known"
            ))),
        };
    }
    if ord.is_instance_of::<PyFloat>() || int::<i64>(ord).is_ok() {
        return Ok(NormOrder::P(ord.extract()?));
    }
    Err(PyTypeError::new_err(format!(
        "{op}: ord is a number or one of \"fro\", \"nuc\""
    )))
}

/// Functions of one matrix (or a stack of them) with one result.
macro_rules! of_one {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {
        #[pymethods]
        impl Linalg {
            $(
                $(#[doc = $doc])*
                #[pyo3(signature = (x, /))]
                fn $name(&self, x: &Bound<'_, PyAny>) -> PyResult<PyArray> {
                    let array = self.0.array(x)?;
                    wrap(x.py(), || linalg::$name(&array))
                }
            )*
        }
    };
}
of_one! {
    /// Determinants of square matrices, shape ``(...)`` of ``(..., n, n)``.
    det;
    /// Eigenvalues of square matrices, complex, in no order: ``(..., n)`` of ``(..., n, n)``.
    eigvals;
    /// Eigenvalues of Hermitian matrices, rising; the lower triangle is read.
    eigvalsh;
    /// Inverses of square matrices.
    ///
    /// Raises
    /// ------
    /// rustarr.exceptions.LinAlgError
    ///     For a matrix that is singular or not square.
    inv;
    /// Singular values of matrices, falling: ``(..., min(m, n))`` of ``(..., m, n)``.
    svdvals;
}

#[pymethods]
impl Linalg {
    #[new]
    #[pyo3(signature = (functions, /))]
    fn new(functions: &Bound<'_, Functions>) -> Self {
        Linalg(functions.get().0.clone())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (Functions,)) {
        (py.get_type::<Linalg>(), (Functions(self.0.clone()),))
    }

    /// The triangular factor ``L`` of ``x = L @ L^H``, or ``U`` of ``x = U^H @ U``.
    ///
    /// Raises
    /// ------
    /// rustarr.exceptions.LinAlgError
    ///     For a matrix that is not positive definite.
    #[pyo3(signature = (x, /, *, upper=false))]
    fn cholesky(&self, x: &Bound<'_, PyAny>, upper: bool) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || linalg::cholesky(&array, upper))
    }

    /// Cross products of vectors of three components along an axis.
    #[pyo3(signature = (x1, x2, /, *, axis=-1))]
    fn cross(
        &self,
        x1: &Bound<'_, PyAny>,
        x2: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: i64,
    ) -> PyResult<PyArray> {
        let (a, b) = (self.0.array(x1)?, self.0.array(x2)?);
        wrap(x1.py(), || linalg::cross(&a, &b, axis))
    }

    /// Diagonals of matrices, above the main one for a positive offset; a view.
    #[pyo3(signature = (x, /, *, offset=0))]
    fn diagonal(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] offset: i64,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || linalg::diagonal(&array, offset))
    }

    /// Eigenvalues and right eigenvectors of square matrices, complex.
    ///
    /// Returns
    /// -------
    /// (eigenvalues, eigenvectors)
    #[pyo3(signature = (x, /))]
    fn eig<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.0.array(x)?;
        let (values, vectors) = run(|| linalg::eig(&array))?;
        named(x.py(), "EigResult", vec![values, vectors])
    }

    /// Eigenvalues, rising, and eigenvectors of Hermitian matrices; the lower triangle is read.
    ///
    /// Returns
    /// -------
    /// (eigenvalues, eigenvectors)
    #[pyo3(signature = (x, /))]
    fn eigh<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.0.array(x)?;
        let (values, vectors) = run(|| linalg::eigh(&array))?;
        named(x.py(), "EighResult", vec![values, vectors])
    }

    /// Norms of matrices.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     Shape ``(..., m, n)``.
    /// keepdims
    ///     Whether the two axes stay with length 1.
    /// ord
    ///     "fro", "nuc", 1, 2, -1, -2, inf or -inf.
    #[pyo3(signature = (x, /, *, keepdims=false, ord=None),
        text_signature = "($self, x, /, *, keepdims=False, ord='fro')")]
    fn matrix_norm(
        &self,
        x: &Bound<'_, PyAny>,
        keepdims: bool,
        ord: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let ord = ord.map_or(Ok(NormOrder::Frobenius), |o| order(o, "matrix_norm"))?;
        wrap(x.py(), || linalg::matrix_norm(&array, keepdims, ord))
    }

    /// Square matrices to an integer power; a negative one is that of the inverse.
    #[pyo3(signature = (x, n, /))]
    fn matrix_power(&self, x: &Bound<'_, PyAny>, n: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let n = exact(n, "matrix_power", "n", "take a power of a power")?;
        let array = self.0.array(x)?;
        wrap(x.py(), || linalg::matrix_power(&array, n))
    }

    /// How many singular values exceed ``rtol`` times the largest.
    #[pyo3(signature = (x, /, *, rtol=None))]
    fn matrix_rank(
        &self,
        x: &Bound<'_, PyAny>,
        rtol: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let rtol = rtol.map(|r| self.0.input(r)).transpose()?;
        wrap(x.py(), || {
            linalg::matrix_rank(&array, rtol.as_ref().map(|r| r.arg()))
        })
    }

    /// A vector or matrix norm, as NumPy chooses: of the flattened array by default, of vectors along one axis, of
    /// matrices along two.
    #[pyo3(signature = (x, /, ord=None, axis=None, keepdims=false))]
    fn norm(
        &self,
        x: &Bound<'_, PyAny>,
        ord: Option<&Bound<'_, PyAny>>,
        axis: Option<Axes>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let ord = ord.map(|o| order(o, "norm")).transpose()?;
        wrap(x.py(), || {
            linalg::norm(&array, ord, axis.as_ref().map(|a| a.0.as_slice()), keepdims)
        })
    }

    /// All products of an element of one 1-D array with one of another.
    #[pyo3(signature = (x1, x2, /))]
    fn outer(&self, x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let (a, b) = (self.0.array(x1)?, self.0.array(x2)?);
        wrap(x1.py(), || linalg::outer(&a, &b))
    }

    /// Pseudo-inverses; singular values up to ``rtol`` times the largest count as zero.
    #[pyo3(signature = (x, /, *, rtol=None))]
    fn pinv(&self, x: &Bound<'_, PyAny>, rtol: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let rtol = rtol.map(|r| self.0.input(r)).transpose()?;
        wrap(x.py(), || {
            linalg::pinv(&array, rtol.as_ref().map(|r| r.arg()))
        })
    }

    /// The factors of ``x = Q @ R``, ``Q`` with orthonormal columns and ``R`` upper triangular.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     Shape ``(..., m, n)``.
    /// mode
    ///     "reduced" for ``min(m, n)`` columns of ``Q``, "complete" for ``m``.
    ///
    /// Returns
    /// -------
    /// (Q, R)
    #[pyo3(signature = (x, /, *, mode="reduced"))]
    fn qr<'py>(&self, x: &Bound<'py, PyAny>, mode: &str) -> PyResult<Bound<'py, PyAny>> {
        let complete = match mode {
            "reduced" => false,
            "complete" => true,
            other => {
                return Err(PyValueError::new_err(format!(
                    "qr: mode={other:?} is neither \"reduced\" nor \"complete\""
                )));
            }
        };
        let array = self.0.array(x)?;
        let (q, r) = run(|| linalg::qr(&array, complete))?;
        named(x.py(), "QRResult", vec![q, r])
    }

    /// Sign and logarithm of the absolute value of determinants; 0 and minus infinity for a singular matrix.
    ///
    /// Returns
    /// -------
    /// (sign, logabsdet)
    #[pyo3(signature = (x, /))]
    fn slogdet<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.0.array(x)?;
        let (sign, log) = run(|| linalg::slogdet(&array))?;
        named(x.py(), "SlogdetResult", vec![sign, log])
    }

    /// The solution of ``x1 @ x = x2``.
    ///
    /// Parameters
    /// ----------
    /// x1
    ///     Shape ``(..., n, n)``.
    /// x2
    ///     Shape ``(n,)`` for one vector, else ``(..., n, k)``.
    ///
    /// Raises
    /// ------
    /// rustarr.exceptions.LinAlgError
    ///     For a matrix that is singular or not square.
    #[pyo3(signature = (x1, x2, /))]
    fn solve(&self, x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let (a, b) = (self.0.array(x1)?, self.0.array(x2)?);
        wrap(x1.py(), || linalg::solve(&a, &b))
    }

    /// The factors of ``x = U @ diag(S) @ Vh``, the singular values falling.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     Shape ``(..., m, n)``.
    /// full_matrices
    ///     Whether ``U`` and ``Vh`` are square.
    ///
    /// Returns
    /// -------
    /// (U, S, Vh)
    #[pyo3(signature = (x, /, *, full_matrices=true))]
    fn svd<'py>(&self, x: &Bound<'py, PyAny>, full_matrices: bool) -> PyResult<Bound<'py, PyAny>> {
        let array = self.0.array(x)?;
        let (u, s, vh) = run(|| linalg::svd(&array, full_matrices))?;
        named(x.py(), "SVDResult", vec![u, s, vh])
    }

    /// Sums of the diagonals of matrices. Small integers widen to the default integer.
    #[pyo3(signature = (x, /, *, offset=0, dtype=None))]
    fn trace(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] offset: i64,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let dtype = dtype.map(|d| d.resolve(array.context()));
        wrap(x.py(), || linalg::trace(&array, offset, dtype))
    }

    /// Norms of vectors: of all elements, or along axes.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     An array.
    /// axis
    ///     One axis or several; all by default.
    /// keepdims
    ///     Whether reduced axes stay with length 1.
    /// ord
    ///     The order: any number, inf or -inf.
    #[pyo3(signature = (x, /, *, axis=None, keepdims=false, ord=2.0),
        text_signature = "($self, x, /, *, axis=None, keepdims=False, ord=2)")]
    fn vector_norm(
        &self,
        x: &Bound<'_, PyAny>,
        axis: Option<Axes>,
        keepdims: bool,
        ord: f64,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || {
            linalg::vector_norm(&array, axis.as_ref().map(|a| a.0.as_slice()), keepdims, ord)
        })
    }
}

//! Statistics and utilities. Source: array API standard 2025.12, "Statistical Functions", "Utility Functions".

use crate::array::{PyArray, read, wrap};
use crate::convert::{Axes, int, natural};
use crate::dtype::DTypeArg;
use crate::functions::axes;
use crate::namespace::Functions;
use pyo3::prelude::*;
use rustarr::{Array, ops};

/// NumPy's `ddof` is the standard's `correction`.
fn correction(correction: f64, ddof: Option<f64>) -> f64 {
    ddof.unwrap_or(correction)
}

#[pymethods]
impl Functions {
    /// Sum over axes, or over all. Small integers widen to the default integer.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     An array.
    /// axis
    ///     One axis or several; all by default.
    /// dtype
    ///     The dtype to sum in.
    /// keepdims
    ///     Whether reduced axes stay with length 1.
    ///
    /// Raises
    /// ------
    /// rustarr.exceptions.AxisError
    ///     For an axis out of range or given twice.
    #[pyo3(signature = (x, /, axis=None, dtype=None, *, keepdims=false))]
    fn sum(
        &self,
        x: &Bound<'_, PyAny>,
        axis: Option<Axes>,
        dtype: Option<DTypeArg>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let dtype = dtype.map(|d| d.resolve(array.context()));
        wrap(x.py(), || ops::sum(&array, axes(&axis), dtype, keepdims))
    }

    /// Product over axes, or over all; see ``sum`` for the parameters.
    #[pyo3(signature = (x, /, axis=None, dtype=None, *, keepdims=false))]
    fn prod(
        &self,
        x: &Bound<'_, PyAny>,
        axis: Option<Axes>,
        dtype: Option<DTypeArg>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let dtype = dtype.map(|d| d.resolve(array.context()));
        wrap(x.py(), || ops::prod(&array, axes(&axis), dtype, keepdims))
    }

    /// Largest element over axes, or over all; NaN where there is one.
    #[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
    fn max(&self, x: &Bound<'_, PyAny>, axis: Option<Axes>, keepdims: bool) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::max(&array, axes(&axis), keepdims))
    }

    /// Smallest element over axes, or over all; NaN where there is one.
    #[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
    fn min(&self, x: &Bound<'_, PyAny>, axis: Option<Axes>, keepdims: bool) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::min(&array, axes(&axis), keepdims))
    }

    /// Arithmetic mean over axes, or over all.
    #[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
    fn mean(&self, x: &Bound<'_, PyAny>, axis: Option<Axes>, keepdims: bool) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::mean(&array, axes(&axis), keepdims))
    }

    /// Standard deviation over axes, or over all; NaN where ``correction`` leaves no degree of freedom.
    ///
    /// ``ddof`` is NumPy's name for ``correction``.
    #[pyo3(signature = (x, /, axis=None, *, correction=0.0, keepdims=false, ddof=None))]
    fn std(
        &self,
        x: &Bound<'_, PyAny>,
        axis: Option<Axes>,
        correction: f64,
        keepdims: bool,
        ddof: Option<f64>,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let correction = self::correction(correction, ddof);
        wrap(x.py(), || {
            ops::std(&array, axes(&axis), correction, keepdims)
        })
    }

    /// Variance over axes, or over all; NaN where ``correction`` leaves no degree of freedom.
    ///
    /// ``ddof`` is NumPy's name for ``correction``.
    #[pyo3(signature = (x, /, axis=None, *, correction=0.0, keepdims=false, ddof=None))]
    fn var(
        &self,
        x: &Bound<'_, PyAny>,
        axis: Option<Axes>,
        correction: f64,
        keepdims: bool,
        ddof: Option<f64>,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let correction = self::correction(correction, ddof);
        wrap(x.py(), || {
            ops::var(&array, axes(&axis), correction, keepdims)
        })
    }

    /// Whether all elements over axes are nonzero.
    #[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
    fn all(&self, x: &Bound<'_, PyAny>, axis: Option<Axes>, keepdims: bool) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::all(&array, axes(&axis), keepdims))
    }

    /// Whether any element over axes is nonzero.
    #[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
    fn any(&self, x: &Bound<'_, PyAny>, axis: Option<Axes>, keepdims: bool) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::any(&array, axes(&axis), keepdims))
    }

    /// Sums of the elements so far along an axis, which a 1-D array need not name.
    #[pyo3(signature = (x, /, axis=None, *, dtype=None, include_initial=false))]
    fn cumulative_sum(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
        dtype: Option<DTypeArg>,
        include_initial: bool,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let dtype = dtype.map(|d| d.resolve(array.context()));
        wrap(x.py(), || {
            ops::cumulative_sum(&array, axis, dtype, include_initial)
        })
    }

    /// Products of the elements so far along an axis, which a 1-D array need not name.
    #[pyo3(signature = (x, /, axis=None, *, dtype=None, include_initial=false))]
    fn cumulative_prod(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
        dtype: Option<DTypeArg>,
        include_initial: bool,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let dtype = dtype.map(|d| d.resolve(array.context()));
        wrap(x.py(), || {
            ops::cumulative_prod(&array, axis, dtype, include_initial)
        })
    }

    /// Sums so far, of the flattened array where ``axis`` is None. NumPy's name.
    #[pyo3(signature = (x, /, axis=None, dtype=None))]
    fn cumsum(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let dtype = dtype.map(|d| d.resolve(array.context()));
        wrap(x.py(), || {
            ops::cumulative_sum(&along(&array, axis)?, axis, dtype, false)
        })
    }

    /// Products so far, of the flattened array where ``axis`` is None. NumPy's name.
    #[pyo3(signature = (x, /, axis=None, dtype=None))]
    fn cumprod(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let dtype = dtype.map(|d| d.resolve(array.context()));
        wrap(x.py(), || {
            ops::cumulative_prod(&along(&array, axis)?, axis, dtype, false)
        })
    }

    /// Differences of neighbours along an axis, ``n`` times over.
    #[pyo3(signature = (x, /, *, axis=-1, n=1, prepend=None, append=None))]
    fn diff(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: i64,
        #[pyo3(from_py_with = int)] n: i64,
        prepend: Option<&Bound<'_, PyAny>>,
        append: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        let n = natural(n, "diff", "n")?;
        let array = self.0.array(x)?;
        let prepend = prepend.map(|a| self.0.array(a)).transpose()?;
        let append = append.map(|a| self.0.array(a)).transpose()?;
        wrap(x.py(), || {
            ops::diff(&array, axis, n, prepend.as_ref(), append.as_ref())
        })
    }

    /// Whether each pair of elements agrees within ``atol + rtol * abs(b)``. NumPy's name.
    #[pyo3(signature = (a, b, /, rtol=1e-5, atol=1e-8, equal_nan=false))]
    fn isclose(
        &self,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        rtol: f64,
        atol: f64,
        equal_nan: bool,
    ) -> PyResult<PyArray> {
        let (x, y) = (self.0.array(a)?, self.0.array(b)?);
        wrap(a.py(), || ops::isclose(&x, &y, rtol, atol, equal_nan))
    }

    /// Whether all pairs of elements agree within ``atol + rtol * abs(b)``. NumPy's name.
    #[pyo3(signature = (a, b, /, rtol=1e-5, atol=1e-8, equal_nan=false))]
    fn allclose(
        &self,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        rtol: f64,
        atol: f64,
        equal_nan: bool,
    ) -> PyResult<bool> {
        let (x, y) = (self.0.array(a)?, self.0.array(b)?);
        read(a.py(), &x, || ops::allclose(&x, &y, rtol, atol, equal_nan))
    }

    /// Whether two arrays have one shape and equal elements. NumPy's name.
    #[pyo3(signature = (a, b, /))]
    fn array_equal(&self, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (x, y) = (self.0.array(a)?, self.0.array(b)?);
        read(a.py(), &x, || ops::array_equal(&x, &y))
    }
}

/// The array itself, or flattened where no axis is named.
pub fn along(x: &Array, axis: Option<i64>) -> rustarr::Result<Array> {
    if axis.is_some() {
        Ok(x.clone())
    } else {
        ops::reshape(x, &[-1], None)
    }
}

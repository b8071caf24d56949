//! Array methods: the functions of the namespace, for programs written with dots.

use crate::array::{PyArray, other, read, to_list, wrap};
use crate::context::DeviceArg;
use crate::convert::{Axes, Input, NoOut, input, int, ints, to_python};
use crate::dtype::DTypeArg;
use crate::errors::run;
use crate::functions::{astype, tuple};
use crate::manipulation::{repeat, squeeze};
use crate::statistics::along;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rustarr::indexing::{self, Key};
use rustarr::{Array, ops};

fn axes(axis: &Option<Axes>) -> Option<&[i64]> {
    axis.as_ref().map(|a| a.0.as_slice())
}

/// The array, in the dtype that a statistic is asked for in.
fn in_dtype(x: &Array, dtype: Option<DTypeArg>) -> rustarr::Result<Array> {
    match dtype {
        Some(dtype) => x.astype(dtype.resolve(x.context())),
        None => Ok(x.clone()),
    }
}

/// Sizes or axes given one by one or as one tuple.
fn spread(args: &Bound<'_, PyTuple>) -> PyResult<Vec<i64>> {
    if args.len() == 1 {
        return args.get_item(0)?.extract::<Axes>().map(|a| a.0);
    }
    ints(args)
}

#[expect(unused_variables, reason = "`out` is refused while it is read")]
#[pymethods]
impl PyArray {
    /// This array on another device, or itself if it is there.
    ///
    /// Parameters
    /// ----------
    /// device
    ///     A device, a context or a name.
    /// stream
    ///     Must be None: no stream is used.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device(
        slf: &Bound<'_, Self>,
        device: DeviceArg,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyArray>> {
        if stream.is_some() {
            return Err(PyValueError::new_err(
                "to_device: stream must be None: no stream is used",
            ));
        }
        let array = &slf.get().0;
        if device.0.space() == array.context().space() {
            return Ok(slf.clone().unbind());
        }
        Py::new(slf.py(), wrap(slf.py(), || array.to_context(&device.0))?)
    }

    /// The elements converted to a dtype; see the function ``astype``.
    #[pyo3(signature = (dtype, /, *, copy=true, device=None))]
    fn astype(&self, dtype: DTypeArg, copy: bool, device: Option<DeviceArg>) -> PyResult<PyArray> {
        astype(
            &self.0,
            dtype.resolve(self.0.context()),
            copy,
            device.map(|d| d.0),
        )
    }

    /// The elements under another shape, given as one tuple or as several sizes; see the function ``reshape``.
    #[pyo3(signature = (*shape, copy=None))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>, copy: Option<bool>) -> PyResult<PyArray> {
        let sizes = spread(shape)?;
        wrap(shape.py(), || ops::reshape(&self.0, &sizes, copy))
    }

    /// The axes in reverse order, or in the order given; a view.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, axes: &Bound<'_, PyTuple>) -> PyResult<PyArray> {
        if axes.is_empty() || (axes.len() == 1 && axes.get_item(0)?.is_none()) {
            return Ok(PyArray(ops::transpose(&self.0)));
        }
        let order = spread(axes)?;
        wrap(axes.py(), || ops::permute_dims(&self.0, &order))
    }

    /// Independent elements of the same values.
    fn copy(&self, py: Python<'_>) -> PyResult<PyArray> {
        wrap(py, || self.0.copy())
    }

    /// An independent 1-D copy in row-major order.
    fn flatten(&self, py: Python<'_>) -> PyResult<PyArray> {
        wrap(py, || ops::reshape(&self.0, &[-1], Some(true)))
    }

    /// The elements in row-major order along one axis; a view where there is one.
    fn ravel(&self, py: Python<'_>) -> PyResult<PyArray> {
        wrap(py, || ops::reshape(&self.0, &[-1], None))
    }

    /// Axes of length 1 removed: all of them or the given ones; a view.
    #[pyo3(signature = (axis=None))]
    fn squeeze(&self, py: Python<'_>, axis: Option<Axes>) -> PyResult<PyArray> {
        squeeze(py, &self.0, axis)
    }

    /// The one element of an array of size 1, or the element at a position, as a Python scalar.
    #[pyo3(signature = (*index))]
    fn item<'py>(&self, index: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let (py, index) = (index.py(), ints(index)?);
        let value = read(py, &self.0, || match index.as_slice() {
            [] => self.0.item(),
            [flat] if self.0.ndim() != 1 => {
                indexing::get(&ops::reshape(&self.0, &[-1], None)?, &[Key::Int(*flat)])?.item()
            }
            several => {
                let keys: Vec<_> = several.iter().map(|&i| Key::Int(i)).collect();
                indexing::get(&self.0, &keys)?.item()
            }
        })?;
        Ok(to_python(py, &value))
    }

    /// The elements as nested lists of Python scalars.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_list(py, &self.0)
    }

    /// The elements' bytes in row-major order.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        Ok(pyo3::types::PyBytes::new(
            py,
            &read(py, &self.0, || self.0.bytes_for("tobytes"))?,
        ))
    }

    /// Sets every element to a value.
    #[pyo3(signature = (value, /))]
    fn fill(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        let value = input(value, || Ok(self.0.context().clone()))?;
        read(py, &self.0, || {
            indexing::set(&self.0, &[Key::Ellipsis], value.arg())
        })
    }

    /// Sum over axes; see the function ``sum``.
    #[pyo3(signature = (axis=None, dtype=None, out=None, *, keepdims=false))]
    fn sum(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        dtype: Option<DTypeArg>,
        out: Option<NoOut>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        let dtype = dtype.map(|d| d.resolve(self.0.context()));
        wrap(py, || ops::sum(&self.0, axes(&axis), dtype, keepdims))
    }

    /// Product over axes; see the function ``prod``.
    #[pyo3(signature = (axis=None, dtype=None, out=None, *, keepdims=false))]
    fn prod(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        dtype: Option<DTypeArg>,
        out: Option<NoOut>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        let dtype = dtype.map(|d| d.resolve(self.0.context()));
        wrap(py, || ops::prod(&self.0, axes(&axis), dtype, keepdims))
    }

    /// Largest element over axes; see the function ``max``.
    #[pyo3(signature = (axis=None, out=None, *, keepdims=false))]
    fn max(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        out: Option<NoOut>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        wrap(py, || ops::max(&self.0, axes(&axis), keepdims))
    }

    /// Smallest element over axes; see the function ``min``.
    #[pyo3(signature = (axis=None, out=None, *, keepdims=false))]
    fn min(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        out: Option<NoOut>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        wrap(py, || ops::min(&self.0, axes(&axis), keepdims))
    }

    /// Mean over axes; see the function ``mean``.
    #[pyo3(signature = (axis=None, dtype=None, out=None, *, keepdims=false))]
    fn mean(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        dtype: Option<DTypeArg>,
        out: Option<NoOut>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        wrap(py, || {
            ops::mean(&in_dtype(&self.0, dtype)?, axes(&axis), keepdims)
        })
    }

    /// Standard deviation over axes; see the function ``std``.
    #[pyo3(signature = (axis=None, dtype=None, out=None, *, correction=0.0, keepdims=false, ddof=None))]
    #[expect(clippy::too_many_arguments, reason = "NumPy's parameters")]
    fn std(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        dtype: Option<DTypeArg>,
        out: Option<NoOut>,
        correction: f64,
        keepdims: bool,
        ddof: Option<f64>,
    ) -> PyResult<PyArray> {
        wrap(py, || {
            ops::std(
                &in_dtype(&self.0, dtype)?,
                axes(&axis),
                ddof.unwrap_or(correction),
                keepdims,
            )
        })
    }

    /// Variance over axes; see the function ``var``.
    #[pyo3(signature = (axis=None, dtype=None, out=None, *, correction=0.0, keepdims=false, ddof=None))]
    #[expect(clippy::too_many_arguments, reason = "NumPy's parameters")]
    fn var(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        dtype: Option<DTypeArg>,
        out: Option<NoOut>,
        correction: f64,
        keepdims: bool,
        ddof: Option<f64>,
    ) -> PyResult<PyArray> {
        wrap(py, || {
            ops::var(
                &in_dtype(&self.0, dtype)?,
                axes(&axis),
                ddof.unwrap_or(correction),
                keepdims,
            )
        })
    }

    /// Whether all elements over axes are nonzero.
    #[pyo3(signature = (axis=None, out=None, *, keepdims=false))]
    fn all(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        out: Option<NoOut>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        wrap(py, || ops::all(&self.0, axes(&axis), keepdims))
    }

    /// Whether any element over axes is nonzero.
    #[pyo3(signature = (axis=None, out=None, *, keepdims=false))]
    fn any(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        out: Option<NoOut>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        wrap(py, || ops::any(&self.0, axes(&axis), keepdims))
    }

    /// Position of the first largest element or NaN.
    #[pyo3(signature = (axis=None, out=None, *, keepdims=false))]
    fn argmax(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
        out: Option<NoOut>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        wrap(py, || ops::argmax(&self.0, axis, keepdims))
    }

    /// Position of the first smallest element or NaN.
    #[pyo3(signature = (axis=None, out=None, *, keepdims=false))]
    fn argmin(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
        out: Option<NoOut>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        wrap(py, || ops::argmin(&self.0, axis, keepdims))
    }

    /// Sums so far along an axis, or of the flattened array.
    #[pyo3(signature = (axis=None, dtype=None, out=None))]
    fn cumsum(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
        dtype: Option<DTypeArg>,
        out: Option<NoOut>,
    ) -> PyResult<PyArray> {
        let dtype = dtype.map(|d| d.resolve(self.0.context()));
        wrap(py, || {
            ops::cumulative_sum(&along(&self.0, axis)?, axis, dtype, false)
        })
    }

    /// Products so far along an axis, or of the flattened array.
    #[pyo3(signature = (axis=None, dtype=None, out=None))]
    fn cumprod(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
        dtype: Option<DTypeArg>,
        out: Option<NoOut>,
    ) -> PyResult<PyArray> {
        let dtype = dtype.map(|d| d.resolve(self.0.context()));
        wrap(py, || {
            ops::cumulative_prod(&along(&self.0, axis)?, axis, dtype, false)
        })
    }

    /// Product with another array; see the function ``dot``.
    #[pyo3(signature = (other, /))]
    fn dot(&self, other: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let second = self::other(other, &self.0)?;
        wrap(other.py(), || ops::linalg::dot(&self.0, &second))
    }

    /// Values limited to an interval; see the function ``clip``.
    #[pyo3(signature = (min=None, max=None, out=None))]
    fn clip(
        &self,
        py: Python<'_>,
        min: Option<&Bound<'_, PyAny>>,
        max: Option<&Bound<'_, PyAny>>,
        out: Option<NoOut>,
    ) -> PyResult<PyArray> {
        let context = || Ok(self.0.context().clone());
        let min = min.map(|m| input(m, context)).transpose()?;
        let max = max.map(|m| input(m, context)).transpose()?;
        wrap(py, || {
            ops::clip(
                &self.0,
                min.as_ref().map(Input::arg),
                max.as_ref().map(Input::arg),
            )
        })
    }

    /// Nearest numbers of ``decimals`` digits after the point, halves to even.
    #[pyo3(signature = (decimals=0, out=None))]
    fn round(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] decimals: i32,
        out: Option<NoOut>,
    ) -> PyResult<PyArray> {
        wrap(py, || ops::round_to(&self.0, decimals))
    }

    /// Complex conjugate.
    fn conj(&self, py: Python<'_>) -> PyResult<PyArray> {
        wrap(py, || ops::conj(&self.0))
    }

    /// Sorts along an axis, in place.
    #[pyo3(signature = (axis=-1, *, descending=false, stable=true))]
    fn sort(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] axis: i64,
        descending: bool,
        stable: bool,
    ) -> PyResult<()> {
        read(py, &self.0, || {
            let sorted = ops::sort(&self.0, axis, descending, stable)?;
            self.0.assign(sorted)
        })
    }

    /// The positions that sort along an axis.
    #[pyo3(signature = (axis=-1, *, descending=false, stable=true))]
    fn argsort(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] axis: i64,
        descending: bool,
        stable: bool,
    ) -> PyResult<PyArray> {
        wrap(py, || ops::argsort(&self.0, axis, descending, stable))
    }

    /// Each element repeated; see the function ``repeat``.
    #[pyo3(signature = (repeats, axis=None))]
    fn repeat(
        &self,
        repeats: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
    ) -> PyResult<PyArray> {
        repeat(&self.0, repeats, axis)
    }

    /// Elements at positions along an axis, or of the flattened array.
    #[pyo3(signature = (indices, axis=None, out=None, mode=None))]
    fn take(
        &self,
        indices: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
        out: Option<NoOut>,
        mode: Option<&str>,
    ) -> PyResult<PyArray> {
        if let Some(mode) = mode.filter(|&m| m != "raise") {
            return Err(PyValueError::new_err(format!(
                "take: mode={mode:?} is not known; positions out of bounds raise an IndexError"
            )));
        }
        let at = other(indices, &self.0)?;
        wrap(indices.py(), || {
            ops::take(&along(&self.0, axis)?, &at, Some(axis.unwrap_or(0)))
        })
    }

    /// The positions of nonzero elements: one array per axis.
    fn nonzero<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, run(|| ops::nonzero(&self.0))?)
    }
}

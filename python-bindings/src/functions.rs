//! What function modules share, and the functions about dtypes and about the namespace itself.

use crate::array::{PyArray, read, wrap};
use crate::context::{DeviceArg, PyDevice, show_warnings};
use crate::convert::{Axes, Input, int};
use crate::dtype::{DTypeArg, PyDType};
use crate::errors::run;
use crate::namespace::Functions;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use rustarr::interface::Kinds;
use rustarr::promotion::common_dtype;
use rustarr::{Array, Context, DType, Weak, info, ops, promotion};

/// A Python tuple of arrays.
pub fn tuple(py: Python<'_>, arrays: Vec<Array>) -> PyResult<Bound<'_, PyTuple>> {
    let objects: Vec<_> = arrays
        .into_iter()
        .map(|a| Py::new(py, wrap(py, || Ok(a))?))
        .collect::<PyResult<_>>()?;
    PyTuple::new(py, objects)
}

/// A named tuple of `rustarr._results`.
pub fn named<'py>(py: Python<'py>, class: &str, arrays: Vec<Array>) -> PyResult<Bound<'py, PyAny>> {
    py.import("rustarr._results")?
        .getattr(class)?
        .call1(tuple(py, arrays)?)
}

/// The list in an optional `axis=`.
pub fn axes(axis: &Option<Axes>) -> Option<&[i64]> {
    axis.as_ref().map(|a| a.0.as_slice())
}

/// Data types.
#[pymethods]
impl Functions {
    /// An array converted to a dtype.
    ///
    /// Integers wrap; floats to integers truncate, saturate, and give 0 for NaN.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     An array.
    /// dtype
    ///     The new dtype.
    /// copy
    ///     Whether the result is independent also where the dtype stays.
    /// device
    ///     Where the result is to be; by default where x is.
    ///
    /// Raises
    /// ------
    /// TypeError
    ///     For complex numbers to a real dtype.
    #[pyo3(signature = (x, dtype, /, *, copy=true, device=None))]
    fn astype(
        &self,
        x: &Bound<'_, PyAny>,
        dtype: DTypeArg,
        copy: bool,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        let x = self.0.array(x)?;
        let dtype = dtype.resolve(x.context());
        if x.dtype().is(Kinds::COMPLEX) && !dtype.is(Kinds::COMPLEX) && dtype != DType::Bool {
            return Err(PyTypeError::new_err(format!(
                "astype: {} to {dtype} would drop the imaginary part; take real(x) first",
                x.dtype()
            )));
        }
        astype(&x, dtype, copy, device.map(|d| d.0))
    }

    /// Whether the promotion rules turn one dtype into another.
    #[pyo3(signature = (from_, to, /))]
    fn can_cast(&self, from_: &Bound<'_, PyAny>, to: DTypeArg) -> PyResult<bool> {
        let py = from_.py();
        let from = match from_.cast::<PyArray>() {
            Ok(array) => array.get().0.dtype(),
            Err(_) => from_.extract::<DTypeArg>()?.resolve(&self.0.context(py)?),
        };
        Ok(promotion::can_cast(from, to.resolve(&self.0.context(py)?)))
    }

    /// Whether a dtype is of a kind: another dtype, a name of the standard ("bool", "signed integer",
    /// "unsigned integer", "integral", "real floating", "complex floating", "numeric"), or a tuple of such.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For an unknown kind.
    #[pyo3(signature = (dtype, kind))]
    fn isdtype(&self, py: Python<'_>, dtype: DTypeArg, kind: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(kinds) = kind.cast::<PyTuple>() {
            for kind in kinds {
                if self.isdtype(py, dtype, &kind)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let context = || self.0.context(py);
        let dtype = match dtype {
            DTypeArg::Is(dtype) => dtype,
            kind => kind.resolve(&context()?),
        };
        if let Ok(name) = kind.cast::<PyString>() {
            let name = name.to_cow()?;
            return run(|| info::isdtype(dtype, &name));
        }
        Ok(kind.extract::<DTypeArg>()?.resolve(&context()?) == dtype)
    }

    /// The dtype that arrays, dtypes and Python scalars have together.
    ///
    /// Raises
    /// ------
    /// TypeError
    ///     Without arguments, and for dtypes that have none in common.
    #[pyo3(signature = (*arrays_and_dtypes))]
    fn result_type(
        &self,
        py: Python<'_>,
        arrays_and_dtypes: &Bound<'_, PyTuple>,
    ) -> PyResult<Py<PyDType>> {
        if arrays_and_dtypes.is_empty() {
            return Err(PyTypeError::new_err(
                "result_type: at least one argument is needed",
            ));
        }
        let context = self.0.context(py)?;
        let (mut dtypes, mut scalars): (Vec<DType>, Vec<Weak>) = Default::default();
        for item in arrays_and_dtypes {
            if let Ok(array) = item.cast::<PyArray>() {
                dtypes.push(array.get().0.dtype());
            } else if let Some(value) = crate::convert::plain_scalar(&item)? {
                scalars.push(value);
            } else {
                match item.extract::<DTypeArg>() {
                    Ok(dtype) => dtypes.push(dtype.resolve(&context)),
                    Err(_) => dtypes.push(self.0.array(&item)?.dtype()),
                }
            }
        }
        let common = run(|| common_dtype("result_type", dtypes, scalars, context.default_float()))?;
        crate::dtype::object(py, common)
    }
}

/// `astype` to a context.
pub fn astype(x: &Array, dtype: DType, copy: bool, to: Option<Context>) -> PyResult<PyArray> {
    Python::attach(|py| {
        wrap(py, || {
            let cast = x.astype(dtype)?;
            match to {
                Some(context) if context.space() != x.context().space() => {
                    cast.to_context(&context)
                }
                _ if copy && dtype == x.dtype() => cast.copy(),
                _ => Ok(cast),
            }
        })
    })
}

/// Elementwise functions that the operation table does not hold.
#[pymethods]
impl Functions {
    /// Values limited to an interval. NaN stays, and the dtype is x's.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     An array of real numbers.
    /// min, max
    ///     Scalars or arrays that broadcast with x; None for no limit.
    #[pyo3(signature = (x, /, min=None, max=None))]
    fn clip(
        &self,
        x: &Bound<'_, PyAny>,
        min: Option<&Bound<'_, PyAny>>,
        max: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let min = min.map(|m| self.0.input(m)).transpose()?;
        let max = max.map(|m| self.0.input(m)).transpose()?;
        wrap(x.py(), || {
            ops::clip(
                &array,
                min.as_ref().map(Input::arg),
                max.as_ref().map(Input::arg),
            )
        })
    }

    /// Nearest integers, or nearest numbers of ``decimals`` digits after the point; halves to even.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     An array of any shape, or what ``asarray`` takes.
    /// decimals
    ///     How many digits stay after the point; negative for digits before it. NumPy's parameter.
    ///
    /// Returns
    /// -------
    /// Array
    ///     Of the same shape and dtype.
    ///
    /// Raises
    /// ------
    /// TypeError
    ///     For booleans.
    ///
    /// Source: array API standard 2025.12, "Element-wise Functions".
    #[pyo3(signature = (x, /, decimals=0))]
    fn round(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] decimals: i32,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::round_to(&array, decimals))
    }
}

/// The namespace itself.
#[pymethods]
impl Functions {
    /// The array as NumPy's: over the same memory on the host, else a copy.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     An array, or what ``numpy.asarray`` takes.
    #[pyo3(signature = (x, /))]
    fn asnumpy<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        let numpy = py.import("numpy")?.getattr("asarray")?;
        let Ok(array) = x.cast::<PyArray>() else {
            return numpy.call1((x,));
        };
        let array = &array.get().0;
        if array.context().backend().caps().host_visible {
            return numpy.call1((x,));
        }
        let host = crate::context::shared(py, "cpu")?;
        let copied = read(py, array, || array.to_context(&host))?;
        numpy.call1((Py::new(py, PyArray(copied))?,))
    }

    /// Runs recorded work of the context whose result somebody holds, waits for it, and raises what failed.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let context = self.0.context(py)?;
        run(|| context.synchronize())?;
        show_warnings(py, &context)
    }

    /// The facts of ``__array_namespace_info__`` about a device.
    #[pyo3(signature = (device=None, kind=None))]
    fn _info<'py>(
        &self,
        py: Python<'py>,
        device: Option<DeviceArg>,
        kind: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let context = self.0.on(py, device)?;
        let object = |dtype| crate::dtype::object(py, dtype);
        let defaults = info::default_dtypes(&context);
        let default_dtypes = PyDict::new(py);
        default_dtypes.set_item("real floating", object(defaults.real_floating)?)?;
        default_dtypes.set_item("complex floating", object(defaults.complex_floating)?)?;
        default_dtypes.set_item("integral", object(defaults.integral)?)?;
        default_dtypes.set_item("indexing", object(defaults.indexing)?)?;
        let dtypes = PyDict::new(py);
        for dtype in run(|| info::dtypes(&context, kind))? {
            dtypes.set_item(dtype.name(), object(dtype)?)?;
        }
        let out = PyDict::new(py);
        out.set_item("device", PyDevice(context))?;
        out.set_item("default_dtypes", default_dtypes)?;
        out.set_item("dtypes", dtypes)?;
        Ok(out)
    }

    /// What the library can do.
    fn _capabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = info::capabilities();
        let out = PyDict::new(py);
        out.set_item("boolean indexing", found.boolean_indexing)?;
        out.set_item("data-dependent shapes", found.data_dependent_shapes)?;
        out.set_item("max dimensions", found.max_dimensions)?;
        Ok(out)
    }

    /// The limits of a floating dtype, or of a complex one's parts.
    ///
    /// Returns
    /// -------
    /// finfo_object
    ///     With bits, eps, max, min, smallest_normal and dtype.
    ///
    /// Raises
    /// ------
    /// TypeError
    ///     For a dtype that is not floating-point.
    #[pyo3(signature = (r#type, /), text_signature = "($self, type, /)")]
    fn finfo<'py>(&self, r#type: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = r#type.py();
        let dtype = self.dtype_of(r#type)?;
        let limits = run(|| info::finfo(dtype))?;
        let object = crate::dtype::object(py, limits.dtype)?;
        py.import("rustarr._results")?
            .getattr("finfo_object")?
            .call1((
                limits.bits,
                limits.eps,
                limits.max,
                limits.min,
                limits.smallest_normal,
                object,
            ))
    }

    /// The limits of an integer dtype.
    ///
    /// Returns
    /// -------
    /// iinfo_object
    ///     With bits, max, min and dtype.
    ///
    /// Raises
    /// ------
    /// TypeError
    ///     For a dtype that is not an integer.
    #[pyo3(signature = (r#type, /), text_signature = "($self, type, /)")]
    fn iinfo<'py>(&self, r#type: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = r#type.py();
        let dtype = self.dtype_of(r#type)?;
        let limits = run(|| info::iinfo(dtype))?;
        let object = crate::dtype::object(py, limits.dtype)?;
        py.import("rustarr._results")?
            .getattr("iinfo_object")?
            .call1((limits.bits, limits.max, limits.min, object))
    }
}

impl Functions {
    /// The dtype of an array, or the dtype itself.
    fn dtype_of(&self, obj: &Bound<'_, PyAny>) -> PyResult<DType> {
        if let Ok(array) = obj.cast::<PyArray>() {
            return Ok(array.get().0.dtype());
        }
        let dtype: DTypeArg = obj.extract()?;
        Ok(self.0.dtype(obj.py(), Some(dtype))?.unwrap_or(DType::F64))
    }
}

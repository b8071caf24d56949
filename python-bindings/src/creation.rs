//! Functions that make arrays. Source: array API standard 2025.12, "Creation Functions".

use crate::array::{PyArray, wrap};
use crate::context::DeviceArg;
use crate::convert::{self, ScalarArg, Shape, int};
use crate::dlpack;
use crate::dtype::DTypeArg;
use crate::errors::run;
use crate::functions::tuple;
use crate::namespace::Functions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rustarr::{Array, Context, DType, Weak, ops};

/// Makes an array by shape.
type Make = fn(&Context, &[usize], Option<DType>) -> rustarr::Result<Array>;
/// Makes an array by example.
type MakeLike = fn(&Array, Option<DType>) -> rustarr::Result<Array>;

impl Functions {
    fn by_shape(
        &self,
        py: Python<'_>,
        op: &str,
        make: Make,
        shape: &Shape,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        let context = self.0.on(py, device)?;
        let (shape, dtype) = (shape.sizes(op)?, dtype.map(|d| d.resolve(&context)));
        wrap(py, || make(&context, &shape, dtype))
    }

    fn by_example(
        &self,
        x: &Bound<'_, PyAny>,
        make: Make,
        make_like: MakeLike,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        let py = x.py();
        let x = self.0.array(x)?;
        let dtype = self.0.dtype(py, dtype)?;
        match device {
            Some(DeviceArg(context)) if context.space() != x.context().space() => wrap(py, || {
                make(&context, x.shape(), Some(dtype.unwrap_or(x.dtype())))
            }),
            _ => wrap(py, || make_like(&x, dtype)),
        }
    }

    fn convert(
        &self,
        obj: &Bound<'_, PyAny>,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
        copy: Option<bool>,
    ) -> PyResult<PyArray> {
        let context = self.0.on(obj.py(), device)?;
        let dtype = dtype.map(|d| d.resolve(&context));
        let array = convert::asarray(obj, &context, dtype, copy)?;
        wrap(obj.py(), || Ok(array))
    }
}

#[pymethods]
impl Functions {
    /// Evenly spaced numbers ``start, start + step, ...`` before ``stop``; with one argument, from 0.
    ///
    /// Parameters
    /// ----------
    /// start, stop, step
    ///     Python scalars or arrays of one element.
    /// dtype
    ///     By default the default integer for integers, else the default float.
    /// device
    ///     Where the array is made; by default this namespace's device.
    ///
    /// Returns
    /// -------
    /// Array
    ///     Of shape ``(ceil((stop - start) / step),)``.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For a step of zero.
    #[pyo3(
        signature = (start, /, stop=None, step=None, *, dtype=None, device=None),
        text_signature = "($self, start, /, stop=None, step=1, *, dtype=None, device=None)"
    )]
    fn arange(
        &self,
        py: Python<'_>,
        start: ScalarArg,
        stop: Option<ScalarArg>,
        step: Option<ScalarArg>,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        let context = self.0.on(py, device)?;
        let dtype = dtype.map(|d| d.resolve(&context));
        let step = step.map_or(Weak::Int(1), |s| s.0);
        wrap(py, || {
            ops::arange(&context, start.0, stop.map(|s| s.0), step, dtype)
        })
    }

    /// An array of anything that has elements: a scalar, nested lists, an array of this or another library.
    ///
    /// Parameters
    /// ----------
    /// obj
    ///     A Python scalar, nested lists or tuples, or an object with the buffer protocol (NumPy's arrays),
    ///     ``__dlpack__`` or ``__array__``.
    /// dtype
    ///     By default that of the elements: the default float, integer or complex for Python scalars.
    /// device
    ///     Where the array is made; by default this namespace's device.
    /// copy
    ///     True for independent memory, False for shared memory or a ValueError, None for what is quicker: arrays of
    ///     rustarr are shared, memory of others is copied once so that it can be fused like any other.
    ///
    /// Raises
    /// ------
    /// TypeError
    ///     For objects without elements.
    /// ValueError
    ///     For ragged lists, and where ``copy=False`` would copy.
    /// OverflowError
    ///     For an integer outside the dtype.
    #[pyo3(signature = (obj, /, dtype=None, *, device=None, copy=None))]
    fn asarray(
        &self,
        obj: &Bound<'_, PyAny>,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
        copy: Option<bool>,
    ) -> PyResult<PyArray> {
        self.convert(obj, dtype, device, copy)
    }

    /// As ``asarray``, with independent memory by default. NumPy's name.
    #[pyo3(
        signature = (obj, /, dtype=None, *, device=None, copy=Some(true)),
        text_signature = "($self, obj, /, dtype=None, *, device=None, copy=True)"
    )]
    fn array(
        &self,
        obj: &Bound<'_, PyAny>,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
        copy: Option<bool>,
    ) -> PyResult<PyArray> {
        self.convert(obj, dtype, device, copy)
    }

    /// An array of unspecified content.
    ///
    /// Parameters
    /// ----------
    /// shape
    ///     One size or several.
    /// dtype
    ///     By default the default float.
    /// device
    ///     By default this namespace's device.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For a negative size.
    /// MemoryError
    ///     If there is no such amount of memory.
    #[pyo3(signature = (shape, dtype=None, *, device=None))]
    fn empty(
        &self,
        py: Python<'_>,
        shape: Shape,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        self.by_shape(py, "empty", ops::empty, &shape, dtype, device)
    }

    /// An array of unspecified content with another array's shape and, by default, dtype.
    #[pyo3(signature = (x, /, dtype=None, *, device=None))]
    fn empty_like(
        &self,
        x: &Bound<'_, PyAny>,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        self.by_example(x, ops::empty, ops::empty_like, dtype, device)
    }

    /// A matrix with ones on diagonal ``k`` and zeros elsewhere.
    ///
    /// Parameters
    /// ----------
    /// n_rows, n_cols
    ///     The shape; square by default.
    /// k
    ///     The diagonal; positive ones are above the main diagonal.
    /// dtype
    ///     By default the default float.
    /// device
    ///     By default this namespace's device.
    #[pyo3(signature = (n_rows, n_cols=None, /, k=0, dtype=None, *, device=None))]
    fn eye(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] n_rows: i64,
        #[pyo3(from_py_with = int)] n_cols: Option<i64>,
        #[pyo3(from_py_with = int)] k: i64,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        let context = self.0.on(py, device)?;
        let shape = Shape(vec![n_rows, n_cols.unwrap_or(n_rows)]).sizes("eye")?;
        let dtype = dtype.map(|d| d.resolve(&context));
        wrap(py, || {
            ops::eye(&context, shape[0], Some(shape[1]), k, dtype)
        })
    }

    /// An array over the memory of an object with ``__dlpack__``.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     The object. Its memory is shared unless ``copy`` or ``device`` ask for more.
    /// device
    ///     Where the array is to be; by default where the object is. Memory of other GPU libraries is copied over the
    ///     host, and only where a device is given.
    /// copy
    ///     True for independent memory, False for shared memory or an error.
    ///
    /// Raises
    /// ------
    /// BufferError
    ///     For memory out of reach.
    /// ValueError
    ///     Where ``copy=False`` would copy.
    #[expect(clippy::wrong_self_convention, reason = "the standard's name")]
    #[pyo3(signature = (x, /, *, device=None, copy=None))]
    fn from_dlpack(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        device: Option<DeviceArg>,
        copy: Option<bool>,
    ) -> PyResult<PyArray> {
        if let Ok(own) = x.cast::<PyArray>() {
            let own = &own.get().0;
            let context = device.map_or_else(|| own.context().clone(), |d| d.0);
            let array = convert::asarray(x, &context, None, copy)?;
            return wrap(py, || {
                if array.context() == own.context() {
                    Ok(array)
                } else {
                    array.relabel(&context)
                }
            });
        }
        let own = self.0.context(py)?;
        let host = if own.backend().caps().host_visible {
            own
        } else {
            crate::context::shared(py, "cpu")?
        };
        let context = device.map_or(host, |d| d.0);
        let (kind, _) = dlpack::device_of_object(x)?;
        let reachable = kind == dlpack::CPU && context.backend().caps().host_visible;
        if !reachable && copy == Some(false) {
            return Err(PyValueError::new_err(
                "from_dlpack: copy=False, but another device takes a copy",
            ));
        }
        let foreign = dlpack::import(x, copy)?;
        if reachable && copy != Some(true) {
            return foreign.share(&context).map(PyArray);
        }
        foreign.snapshot(&context).map(PyArray)
    }

    /// An array of one value.
    ///
    /// Parameters
    /// ----------
    /// shape
    ///     One size or several.
    /// fill_value
    ///     A Python scalar or an array that broadcasts to the shape.
    /// dtype
    ///     By default the value's.
    /// device
    ///     By default this namespace's device.
    ///
    /// Raises
    /// ------
    /// OverflowError
    ///     For an integer outside the dtype.
    #[pyo3(signature = (shape, fill_value, dtype=None, *, device=None))]
    fn full(
        &self,
        shape: Shape,
        fill_value: &Bound<'_, PyAny>,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        let py = fill_value.py();
        let context = self.0.on(py, device)?;
        let (shape, dtype) = (shape.sizes("full")?, dtype.map(|d| d.resolve(&context)));
        let value = convert::input(fill_value, || Ok(context.clone()))?;
        wrap(py, || ops::full(&context, &shape, value.arg(), dtype))
    }

    /// An array of one value with another array's shape and, by default, dtype.
    #[pyo3(signature = (x, /, fill_value, dtype=None, *, device=None))]
    fn full_like(
        &self,
        x: &Bound<'_, PyAny>,
        fill_value: &Bound<'_, PyAny>,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        let py = x.py();
        let x = self.0.array(x)?;
        let dtype = self.0.dtype(py, dtype)?.unwrap_or(x.dtype());
        let context = match device {
            Some(DeviceArg(other)) if other.space() != x.context().space() => other,
            _ => x.context().clone(),
        };
        let value = convert::input(fill_value, || Ok(context.clone()))?;
        wrap(py, || {
            ops::full(&context, x.shape(), value.arg(), Some(dtype))
        })
    }

    /// Evenly spaced numbers over an interval.
    ///
    /// Parameters
    /// ----------
    /// start, stop
    ///     The ends.
    /// num
    ///     How many numbers.
    /// dtype
    ///     By default the default float, or complex for complex ends.
    /// device
    ///     By default this namespace's device.
    /// endpoint
    ///     Whether the last number is ``stop``.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For a negative number.
    #[pyo3(signature = (start, stop, /, num=50, *, dtype=None, device=None, endpoint=true))]
    #[expect(clippy::too_many_arguments, reason = "the standard's parameters")]
    fn linspace(
        &self,
        py: Python<'_>,
        start: ScalarArg,
        stop: ScalarArg,
        #[pyo3(from_py_with = int)] num: i64,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
        endpoint: bool,
    ) -> PyResult<PyArray> {
        let context = self.0.on(py, device)?;
        let dtype = dtype.map(|d| d.resolve(&context));
        wrap(py, || {
            ops::linspace(&context, start.0, stop.0, num, dtype, endpoint)
        })
    }

    /// Coordinate arrays of a grid, one for each 1-D array of coordinates.
    ///
    /// Parameters
    /// ----------
    /// arrays
    ///     1-D arrays of one dtype.
    /// indexing
    ///     "xy" swaps the first two axes of the results, "ij" does not.
    ///
    /// Returns
    /// -------
    /// tuple of Array
    #[pyo3(signature = (*arrays, indexing="xy"))]
    fn meshgrid<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyTuple>,
        indexing: &str,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let swap = match indexing {
            "xy" => true,
            "ij" => false,
            other => {
                return Err(PyValueError::new_err(format!(
                    "meshgrid: indexing={other:?} is neither \"xy\" nor \"ij\""
                )));
            }
        };
        let arrays = self.0.arrays(arrays)?;
        let refs: Vec<_> = arrays.iter().collect();
        tuple(py, run(|| ops::meshgrid(&refs, swap))?)
    }

    /// An array of ones; see ``empty`` for the parameters.
    #[pyo3(signature = (shape, dtype=None, *, device=None))]
    fn ones(
        &self,
        py: Python<'_>,
        shape: Shape,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        self.by_shape(py, "ones", ops::ones, &shape, dtype, device)
    }

    /// Ones with another array's shape and, by default, dtype.
    #[pyo3(signature = (x, /, dtype=None, *, device=None))]
    fn ones_like(
        &self,
        x: &Bound<'_, PyAny>,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        self.by_example(x, ops::ones, ops::ones_like, dtype, device)
    }

    /// The lower triangle of matrices: elements above diagonal ``k`` are zero.
    #[pyo3(signature = (x, /, k=0))]
    fn tril(&self, x: &Bound<'_, PyAny>, #[pyo3(from_py_with = int)] k: i64) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::tril(&array, k))
    }

    /// The upper triangle of matrices: elements below diagonal ``k`` are zero.
    #[pyo3(signature = (x, /, k=0))]
    fn triu(&self, x: &Bound<'_, PyAny>, #[pyo3(from_py_with = int)] k: i64) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::triu(&array, k))
    }

    /// An array of zeros; see ``empty`` for the parameters.
    #[pyo3(signature = (shape, dtype=None, *, device=None))]
    fn zeros(
        &self,
        py: Python<'_>,
        shape: Shape,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        self.by_shape(py, "zeros", ops::zeros, &shape, dtype, device)
    }

    /// Zeros with another array's shape and, by default, dtype.
    #[pyo3(signature = (x, /, dtype=None, *, device=None))]
    fn zeros_like(
        &self,
        x: &Bound<'_, PyAny>,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        self.by_example(x, ops::zeros, ops::zeros_like, dtype, device)
    }
}

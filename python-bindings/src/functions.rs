//! Functions over arrays, by the chapters of the standard, and the few NumPy names that are no aliases.

use crate::array::{PyArray, other, read, wrap};
use crate::context::{DeviceArg, PyDevice, show_warnings};
use crate::convert::{Axes, Input, Shape};
use crate::dtype::{DTypeArg, PyDType};
use crate::errors::run;
use crate::namespace::Functions;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use rustarr::interface::{Kinds, Op};
use rustarr::promotion::common_dtype;
use rustarr::{Array, Context, DType, Weak, info, ops, promotion};

/// A Python list of arrays.
pub fn list(py: Python<'_>, arrays: Vec<Array>) -> PyResult<Bound<'_, PyList>> {
    PyList::new(py, objects(py, arrays)?)
}

/// A Python tuple of arrays.
pub fn tuple(py: Python<'_>, arrays: Vec<Array>) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, objects(py, arrays)?)
}

fn objects(py: Python<'_>, arrays: Vec<Array>) -> PyResult<Vec<Py<PyArray>>> {
    arrays
        .into_iter()
        .map(|a| Py::new(py, wrap(py, || Ok(a))?))
        .collect()
}

/// A named tuple of `rustarr._results`.
pub fn named<'py>(py: Python<'py>, class: &str, arrays: Vec<Array>) -> PyResult<Bound<'py, PyAny>> {
    py.import("rustarr._results")?
        .getattr(class)?
        .call1(tuple(py, arrays)?)
}

/// The list in an optional `axis=`.
fn axes(axis: &Option<Axes>) -> Option<&[i64]> {
    axis.as_ref().map(|a| a.0.as_slice())
}

/// NumPy's `ddof` is the standard's `correction`.
fn correction(correction: f64, ddof: Option<f64>) -> f64 {
    ddof.unwrap_or(correction)
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

    /// Elements of ``x1`` where the condition is true, else of ``x2``; with the condition alone, the positions of its
    /// true elements, as ``nonzero`` gives them.
    ///
    /// Parameters
    /// ----------
    /// condition
    ///     An array of booleans.
    /// x1, x2
    ///     Arrays or scalars; all three broadcast.
    #[pyo3(signature = (condition, x1=None, x2=None, /))]
    fn r#where<'py>(
        &self,
        condition: &Bound<'py, PyAny>,
        x1: Option<&Bound<'py, PyAny>>,
        x2: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = condition.py();
        match (x1, x2) {
            (Some(x1), Some(x2)) => {
                let made = self.0.elementwise(Op::Select, [condition, x1, x2])?;
                Ok(Bound::new(py, made)?.into_any())
            }
            (None, None) => Ok(self.nonzero(condition)?.into_any()),
            _ => Err(PyTypeError::new_err(
                "where: give both x1 and x2, or neither",
            )),
        }
    }
}

/// Manipulation.
#[pymethods]
impl Functions {
    /// Arrays broadcast to their common shape; views that must not be written.
    #[pyo3(signature = (*arrays))]
    fn broadcast_arrays<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyList>> {
        let arrays = self.0.arrays(arrays)?;
        let refs: Vec<_> = arrays.iter().collect();
        list(py, run(|| ops::broadcast_arrays(&refs))?)
    }

    /// The common shape of several shapes.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If there is none.
    #[pyo3(signature = (*shapes))]
    fn broadcast_shapes<'py>(
        &self,
        py: Python<'py>,
        shapes: Vec<Shape>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let shapes = shapes
            .iter()
            .map(|s| s.sizes("broadcast_shapes"))
            .collect::<PyResult<Vec<_>>>()?;
        let refs: Vec<_> = shapes.iter().map(Vec::as_slice).collect();
        PyTuple::new(py, run(|| ops::broadcast_shapes(&refs))?)
    }

    /// An array seen through a larger shape; a view that must not be written.
    #[pyo3(signature = (x, /, shape))]
    fn broadcast_to(&self, x: &Bound<'_, PyAny>, shape: Shape) -> PyResult<PyArray> {
        let (array, shape) = (self.0.array(x)?, shape.sizes("broadcast_to")?);
        wrap(x.py(), || ops::broadcast_to(&array, &shape))
    }

    /// Arrays joined along an axis; flattened first where ``axis`` is None.
    #[pyo3(signature = (arrays, /, axis=Some(0)), text_signature = "($self, arrays, /, axis=0)")]
    fn concat(&self, arrays: &Bound<'_, PyAny>, axis: Option<i64>) -> PyResult<PyArray> {
        let parts = self.0.arrays(arrays)?;
        let refs: Vec<_> = parts.iter().collect();
        wrap(arrays.py(), || ops::concat(&refs, axis))
    }

    /// New axes of length 1 at the given positions of the result; a view.
    #[pyo3(signature = (x, /, axis=Axes(vec![0])), text_signature = "($self, x, /, axis=0)")]
    fn expand_dims(&self, x: &Bound<'_, PyAny>, axis: Axes) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::expand_dims(&array, &axis.0))
    }

    /// The order of elements reversed along axes, or along all; a view.
    #[pyo3(signature = (x, /, axis=None))]
    fn flip(&self, x: &Bound<'_, PyAny>, axis: Option<Axes>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::flip(&array, axes(&axis)))
    }

    /// Axes moved to other positions, the rest in order; a view.
    #[pyo3(signature = (x, source, destination, /))]
    fn moveaxis(&self, x: &Bound<'_, PyAny>, source: Axes, destination: Axes) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::moveaxis(&array, &source.0, &destination.0))
    }

    /// The axes in another order; a view.
    #[pyo3(signature = (x, /, axes))]
    fn permute_dims(&self, x: &Bound<'_, PyAny>, axes: Axes) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::permute_dims(&array, &axes.0))
    }

    /// Each element repeated along an axis; flattened first where ``axis`` is None.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     An array.
    /// repeats
    ///     How often: an integer, or a 1-D array of one count for each element along the axis.
    /// axis
    ///     The axis.
    #[pyo3(signature = (x, repeats, /, axis=None))]
    fn repeat(
        &self,
        x: &Bound<'_, PyAny>,
        repeats: &Bound<'_, PyAny>,
        axis: Option<i64>,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        repeat(&array, repeats, axis)
    }

    /// The elements in row-major order under another shape.
    ///
    /// Parameters
    /// ----------
    /// x
    ///     An array.
    /// shape
    ///     The sizes; one may be -1 and is worked out.
    /// copy
    ///     True for independent memory, False for a view or a ValueError, None for a view where there is one.
    #[pyo3(signature = (x, /, shape, *, copy=None))]
    fn reshape(&self, x: &Bound<'_, PyAny>, shape: Shape, copy: Option<bool>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::reshape(&array, &shape.0, copy))
    }

    /// Elements shifted along axes, those that fall off coming in again; as if flattened where ``axis`` is None.
    #[pyo3(signature = (x, /, shift, axis=None))]
    fn roll(&self, x: &Bound<'_, PyAny>, shift: Axes, axis: Option<Axes>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::roll(&array, &shift.0, axes(&axis)))
    }

    /// Axes of length 1 removed; all of them where ``axis`` is None, as in NumPy. A view.
    #[pyo3(signature = (x, /, axis=None))]
    fn squeeze(&self, x: &Bound<'_, PyAny>, axis: Option<Axes>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        squeeze(x.py(), &array, axis)
    }

    /// Arrays of one shape joined along a new axis.
    #[pyo3(signature = (arrays, /, axis=0))]
    fn stack(&self, arrays: &Bound<'_, PyAny>, axis: i64) -> PyResult<PyArray> {
        let parts = self.0.arrays(arrays)?;
        let refs: Vec<_> = parts.iter().collect();
        wrap(arrays.py(), || ops::stack(&refs, axis))
    }

    /// An array repeated as a whole along each axis.
    #[pyo3(signature = (x, repetitions, /))]
    fn tile(&self, x: &Bound<'_, PyAny>, repetitions: Shape) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::tile(&array, &repetitions.0))
    }

    /// The parts of an array along an axis; views.
    #[pyo3(signature = (x, /, axis=0))]
    fn unstack<'py>(&self, x: &Bound<'py, PyAny>, axis: i64) -> PyResult<Bound<'py, PyTuple>> {
        let array = self.0.array(x)?;
        tuple(x.py(), run(|| ops::unstack(&array, axis))?)
    }

    /// The last two axes swapped; a view.
    #[pyo3(signature = (x, /))]
    fn matrix_transpose(&self, x: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::matrix_transpose(&array))
    }

    /// The axes in reverse order, or in the order given; a view. NumPy's name.
    #[pyo3(signature = (x, /, axes=None))]
    fn transpose(&self, x: &Bound<'_, PyAny>, axes: Option<Axes>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        match axes {
            Some(axes) => wrap(x.py(), || ops::permute_dims(&array, &axes.0)),
            None => Ok(PyArray(ops::transpose(&array))),
        }
    }

    /// Two axes swapped; a view. NumPy's name.
    #[pyo3(signature = (x, /, axis1, axis2))]
    fn swapaxes(&self, x: &Bound<'_, PyAny>, axis1: i64, axis2: i64) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        let n = array.ndim() as i64;
        let wrapped = |axis: i64| if axis < 0 { axis + n } else { axis };
        let order: Vec<i64> = (0..n)
            .map(|axis| match axis {
                axis if axis == wrapped(axis1) => wrapped(axis2),
                axis if axis == wrapped(axis2) => wrapped(axis1),
                axis => axis,
            })
            .collect();
        // Axes out of range are found by naming them.
        wrap(x.py(), || {
            ops::moveaxis(&array, &[axis1], &[axis1])?;
            ops::moveaxis(&array, &[axis2], &[axis2])?;
            ops::permute_dims(&array, &order)
        })
    }

    /// The elements in row-major order along one axis; a view where there is one. NumPy's name.
    #[pyo3(signature = (x, /))]
    fn ravel(&self, x: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::reshape(&array, &[-1], None))
    }

    /// Independent elements of the same values. NumPy's name.
    #[pyo3(signature = (x, /))]
    fn copy(&self, x: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || array.copy())
    }
}

/// `repeat` for an integer or an array of counts.
pub fn repeat(x: &Array, repeats: &Bound<'_, PyAny>, axis: Option<i64>) -> PyResult<PyArray> {
    let py = repeats.py();
    if !repeats.is_instance_of::<PyArray>()
        && let Ok(count) = repeats.extract::<i64>()
    {
        return wrap(py, || ops::repeat(x, count, axis));
    }
    let counts = other(repeats, x)?;
    wrap(py, || ops::repeat_each(x, &counts, axis))
}

/// `squeeze`, of every axis of length 1 where none is named.
pub fn squeeze(py: Python<'_>, x: &Array, axis: Option<Axes>) -> PyResult<PyArray> {
    let axes = axis.map_or_else(
        || {
            (0..x.ndim())
                .filter(|&a| x.shape()[a] == 1)
                .map(|a| a as i64)
                .collect()
        },
        |axis| axis.0,
    );
    wrap(py, || ops::squeeze(x, &axes))
}

/// Indexing, searching, sorting and sets.
#[pymethods]
impl Functions {
    /// Elements at integer positions along an axis.
    ///
    /// Raises
    /// ------
    /// IndexError
    ///     For a position out of bounds; on a GPU at the latest when a value is read.
    #[pyo3(signature = (x, indices, /, axis=None))]
    fn take(
        &self,
        x: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        axis: Option<i64>,
    ) -> PyResult<PyArray> {
        let (array, indices) = (self.0.array(x)?, self.0.array(indices)?);
        wrap(x.py(), || ops::take(&array, &indices, axis))
    }

    /// Elements at integer positions along an axis, matched with the other axes' indices.
    #[pyo3(signature = (x, indices, /, axis=-1))]
    fn take_along_axis(
        &self,
        x: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        axis: i64,
    ) -> PyResult<PyArray> {
        let (array, indices) = (self.0.array(x)?, self.0.array(indices)?);
        wrap(x.py(), || ops::take_along_axis(&array, &indices, axis))
    }

    /// Position of the first largest element or NaN along an axis, or in the flattened array.
    #[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
    fn argmax(&self, x: &Bound<'_, PyAny>, axis: Option<i64>, keepdims: bool) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::argmax(&array, axis, keepdims))
    }

    /// Position of the first smallest element or NaN along an axis, or in the flattened array.
    #[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
    fn argmin(&self, x: &Bound<'_, PyAny>, axis: Option<i64>, keepdims: bool) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::argmin(&array, axis, keepdims))
    }

    /// How many elements over axes are nonzero.
    #[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
    fn count_nonzero(
        &self,
        x: &Bound<'_, PyAny>,
        axis: Option<Axes>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::count_nonzero(&array, axes(&axis), keepdims))
    }

    /// The positions of nonzero elements in row-major order: one array per axis.
    #[pyo3(signature = (x, /))]
    fn nonzero<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let array = self.0.array(x)?;
        tuple(x.py(), run(|| ops::nonzero(&array))?)
    }

    /// Positions at which values would be inserted into a sorted array.
    ///
    /// Parameters
    /// ----------
    /// x1
    ///     A sorted 1-D array.
    /// x2
    ///     The values.
    /// side
    ///     "left" for before equal elements, "right" for after them.
    /// sorter
    ///     Positions that sort x1.
    #[pyo3(signature = (x1, x2, /, *, side="left", sorter=None))]
    fn searchsorted(
        &self,
        x1: &Bound<'_, PyAny>,
        x2: &Bound<'_, PyAny>,
        side: &str,
        sorter: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        let right = match side {
            "left" => false,
            "right" => true,
            other => {
                return Err(PyValueError::new_err(format!(
                    "searchsorted: side={other:?} is neither \"left\" nor \"right\""
                )));
            }
        };
        let (sorted, values) = (self.0.array(x1)?, self.0.input(x2)?);
        let sorter = sorter.map(|s| self.0.array(s)).transpose()?;
        wrap(x1.py(), || {
            ops::searchsorted(&sorted, values.arg(), right, sorter.as_ref())
        })
    }

    /// Elements in order along an axis; NaN last.
    #[pyo3(signature = (x, /, axis=-1, *, descending=false, stable=true))]
    fn sort(
        &self,
        x: &Bound<'_, PyAny>,
        axis: i64,
        descending: bool,
        stable: bool,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::sort(&array, axis, descending, stable))
    }

    /// The positions that sort an array along an axis; NaN last, equal elements in their order.
    #[pyo3(signature = (x, /, axis=-1, *, descending=false, stable=true))]
    fn argsort(
        &self,
        x: &Bound<'_, PyAny>,
        axis: i64,
        descending: bool,
        stable: bool,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::argsort(&array, axis, descending, stable))
    }

    /// Whether each element of ``x1`` is among those of ``x2``.
    #[pyo3(signature = (x1, x2, /, *, invert=false))]
    fn isin(
        &self,
        x1: &Bound<'_, PyAny>,
        x2: &Bound<'_, PyAny>,
        invert: bool,
    ) -> PyResult<PyArray> {
        let (mut first, second) = (self.0.input(x1)?, self.0.input(x2)?);
        if first.array().is_none() && second.array().is_none() {
            first = Input::Made(self.0.array(x1)?);
        }
        wrap(x1.py(), || ops::isin(first.arg(), second.arg(), invert))
    }

    /// Distinct elements, where each occurs first, where each element's value is among them, and counts.
    ///
    /// Returns
    /// -------
    /// (values, indices, inverse_indices, counts)
    #[pyo3(signature = (x, /))]
    fn unique_all<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.0.array(x)?;
        let u = run(|| ops::unique_all(&array))?;
        named(
            x.py(),
            "UniqueAllResult",
            vec![u.values, u.indices, u.inverse, u.counts],
        )
    }

    /// Distinct elements and how often each occurs.
    ///
    /// Returns
    /// -------
    /// (values, counts)
    #[pyo3(signature = (x, /))]
    fn unique_counts<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.0.array(x)?;
        let (values, counts) = run(|| ops::unique_counts(&array))?;
        named(x.py(), "UniqueCountsResult", vec![values, counts])
    }

    /// Distinct elements, and for each element the position of its value among them, in x's shape.
    ///
    /// Returns
    /// -------
    /// (values, inverse_indices)
    #[pyo3(signature = (x, /))]
    fn unique_inverse<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.0.array(x)?;
        let (values, inverse) = run(|| ops::unique_inverse(&array))?;
        named(x.py(), "UniqueInverseResult", vec![values, inverse])
    }

    /// Distinct elements, sorted. Every NaN is distinct.
    #[pyo3(signature = (x, /))]
    fn unique_values(&self, x: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::unique_values(&array))
    }
}

/// Statistics and utilities.
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
        axis: Option<i64>,
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
        axis: Option<i64>,
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
        axis: Option<i64>,
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
        axis: Option<i64>,
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
        axis: i64,
        n: i64,
        prepend: Option<&Bound<'_, PyAny>>,
        append: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        let n = usize::try_from(n)
            .map_err(|_| PyValueError::new_err(format!("diff: n={n} is negative")))?;
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

/// The array itself, or flattened where no axis is named.
pub fn along(x: &Array, axis: Option<i64>) -> rustarr::Result<Array> {
    if axis.is_some() {
        Ok(x.clone())
    } else {
        ops::reshape(x, &[-1], None)
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

//! Shapes and axes. Source: array API standard 2025.12, "Manipulation Functions".

use crate::array::{PyArray, other, wrap};
use crate::convert::{Axes, Shape, exact, int};
use crate::errors::run;
use crate::functions::{axes, tuple};
use crate::namespace::Functions;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use rustarr::{Array, ops};

#[pymethods]
impl Functions {
    /// Arrays broadcast to their common shape; views that must not be written.
    #[pyo3(signature = (*arrays))]
    fn broadcast_arrays<'py>(
        &self,
        py: Python<'py>,
        arrays: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let arrays = self.0.arrays(arrays)?;
        let refs: Vec<_> = arrays.iter().collect();
        tuple(py, run(|| ops::broadcast_arrays(&refs))?)
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
    fn concat(
        &self,
        arrays: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
    ) -> PyResult<PyArray> {
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
        #[pyo3(from_py_with = int)] axis: Option<i64>,
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
    fn roll(
        &self,
        x: &Bound<'_, PyAny>,
        shift: &Bound<'_, PyAny>,
        axis: Option<Axes>,
    ) -> PyResult<PyArray> {
        let one = |shift: &Bound<'_, PyAny>| {
            exact(shift, "roll", "shift", "take it modulo the length first")
        };
        let shifts = if shift.is_instance_of::<PyTuple>() || shift.is_instance_of::<PyList>() {
            shift
                .try_iter()?
                .map(|item| one(&item?))
                .collect::<PyResult<Vec<_>>>()?
        } else {
            vec![one(shift)?]
        };
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::roll(&array, &shifts, axes(&axis)))
    }

    /// Axes of length 1 removed; all of them where ``axis`` is None, as in NumPy. A view.
    #[pyo3(signature = (x, /, axis=None))]
    fn squeeze(&self, x: &Bound<'_, PyAny>, axis: Option<Axes>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        squeeze(x.py(), &array, axis)
    }

    /// Arrays of one shape joined along a new axis.
    #[pyo3(signature = (arrays, /, axis=0))]
    fn stack(
        &self,
        arrays: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: i64,
    ) -> PyResult<PyArray> {
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
    fn unstack<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = int)] axis: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
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
    fn swapaxes(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis1: i64,
        #[pyo3(from_py_with = int)] axis2: i64,
    ) -> PyResult<PyArray> {
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
        && let Ok(count) = int(repeats)
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

//! Indexing, searching, sorting and sets. Source: array API standard 2025.12, chapters of these names.

use crate::array::{PyArray, wrap};
use crate::convert::{Axes, Input, int};
use crate::errors::run;
use crate::functions::{axes, named, tuple};
use crate::namespace::Functions;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rustarr::interface::Op;
use rustarr::ops;

#[pymethods]
impl Functions {
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
        #[pyo3(from_py_with = int)] axis: Option<i64>,
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
        #[pyo3(from_py_with = int)] axis: i64,
    ) -> PyResult<PyArray> {
        let (array, indices) = (self.0.array(x)?, self.0.array(indices)?);
        wrap(x.py(), || ops::take_along_axis(&array, &indices, axis))
    }

    /// Position of the first largest element or NaN along an axis, or in the flattened array.
    #[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
    fn argmax(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || ops::argmax(&array, axis, keepdims))
    }

    /// Position of the first smallest element or NaN along an axis, or in the flattened array.
    #[pyo3(signature = (x, /, axis=None, *, keepdims=false))]
    fn argmin(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: Option<i64>,
        keepdims: bool,
    ) -> PyResult<PyArray> {
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
        #[pyo3(from_py_with = int)] axis: i64,
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
        #[pyo3(from_py_with = int)] axis: i64,
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

//! Python keys: `x[key]` and `x[key] = value`.

use crate::array::{PyArray, read, wrap};
use crate::convert;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyTuple};
use rustarr::Array;
use rustarr::indexing::{self, Key};
use smallvec::SmallVec;

type Keys = SmallVec<[Key; 4]>;

/// `x[key]`.
pub fn get(py: Python<'_>, x: &Array, key: &Bound<'_, PyAny>) -> PyResult<PyArray> {
    let keys = parse(x, key)?;
    wrap(py, || indexing::get(x, &keys))
}

/// `x[key] = value`.
pub fn set(x: &Array, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let keys = parse(x, key)?;
    let value = convert::input(value, || Ok(x.context().clone()))?;
    read(key.py(), x, || indexing::set(x, &keys, value.arg()))
}

fn parse(x: &Array, key: &Bound<'_, PyAny>) -> PyResult<Keys> {
    match key.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().map(|part| entry(x, &part)).collect(),
        Err(_) => Ok(std::iter::once(entry(x, key)?).collect()),
    }
}

fn entry(x: &Array, key: &Bound<'_, PyAny>) -> PyResult<Key> {
    if let Ok(int) = key.cast_exact::<PyInt>() {
        return position(int).map(Key::Int);
    }
    if let Ok(slice) = key.cast_exact::<PySlice>() {
        let py = key.py();
        return Ok(Key::Slice {
            start: bound(&slice.getattr(pyo3::intern!(py, "start"))?)?,
            stop: bound(&slice.getattr(pyo3::intern!(py, "stop"))?)?,
            step: bound(&slice.getattr(pyo3::intern!(py, "step"))?)?,
        });
    }
    if key.is_none() {
        return Ok(Key::NewAxis);
    }
    if key.is_instance_of::<PyEllipsis>() {
        return Ok(Key::Ellipsis);
    }
    if let Ok(array) = key.cast::<PyArray>() {
        return Ok(Key::Array(array.get().0.clone()));
    }
    if let Ok(value) = key.cast_exact::<PyBool>() {
        return Ok(Key::Bool(value.is_true()));
    }
    let listed = key.is_instance_of::<PyList>();
    if listed || key.hasattr("__array_interface__")? || key.hasattr("__dlpack__")? {
        let array = convert::array(key, || Ok(x.context().clone()))?;
        // An empty list has the default float's dtype, and selects nothing.
        return Ok(Key::Array(if listed && array.size() == 0 {
            crate::errors::run(|| array.astype(x.context().default_int()))?
        } else {
            array
        }));
    }
    if let Ok(int) = key
        .call_method0("__index__")
        .and_then(|i| Ok(i.cast_into::<PyInt>()?))
    {
        return position(&int).map(Key::Int);
    }
    Err(PyIndexError::new_err(format!(
        "an index is an integer, a slice, None, ..., or an array of integers or booleans, not {}",
        key.get_type().name()?
    )))
}

/// An integer key; one too large for any axis is out of bounds of every axis.
fn position(int: &Bound<'_, PyInt>) -> PyResult<i64> {
    int.extract()
        .map_err(|_| PyIndexError::new_err(format!("index {int} is out of bounds")))
}

/// A slice's bound; Python clips huge ones.
fn bound(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if value.is_none() {
        return Ok(None);
    }
    match value.extract::<i64>() {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyOverflowError>(value.py()) => {
            let negative = value.lt(0)?;
            Ok(Some(if negative { i64::MIN } else { i64::MAX }))
        }
        Err(error) => Err(error),
    }
}

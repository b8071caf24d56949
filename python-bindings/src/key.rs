//! Python keys: `x[key]` and `x[key] = value`.

use crate::array::{PyArray, read, wrap};
use crate::convert::{self, Integer};
use crate::errors::in_op;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyEllipsis, PyInt, PyList, PySequence, PySlice, PyString, PyTuple,
};
use rustarr::Array;
use rustarr::indexing::{self, Key};
use smallvec::SmallVec;

type Keys = SmallVec<[Key; 4]>;

/// `x[key]`.
pub fn get(py: Python<'_>, x: &Array, key: &Bound<'_, PyAny>) -> PyResult<PyArray> {
    let keys = parse(x, key)?;
    wrap(py, || indexing::get(x, &keys)).map_err(|e| whole_index(py, e, key))
}

/// `x[key] = value`.
pub fn set(x: &Array, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let keys = parse(x, key)?;
    let py = key.py();
    let value =
        convert::input(value, || Ok(x.context().clone())).map_err(|e| in_op(py, e, "setitem"))?;
    read(py, x, || indexing::set(x, &keys, value.arg())).map_err(|e| whole_index(py, e, key))
}

fn parse(x: &Array, key: &Bound<'_, PyAny>) -> PyResult<Keys> {
    match key.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().map(|part| entry(x, &part)).collect(),
        Err(_) => Ok(std::iter::once(entry(x, key)?).collect()),
    }
}

fn entry(x: &Array, key: &Bound<'_, PyAny>) -> PyResult<Key> {
    if let Ok(int) = key.cast_exact::<PyInt>() {
        return Integer::nearest(int).map(Key::Int);
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
    let foreign = key.hasattr("__array_interface__")? || key.hasattr("__dlpack__")?;
    let listed = !foreign && is_list(key);
    if listed || foreign {
        let array = convert::array(key, || Ok(x.context().clone()))?;
        // An empty sequence has the default float's dtype, and selects nothing.
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
        return Integer::nearest(&int).map(Key::Int);
    }
    Err(PyIndexError::new_err(format!(
        "an index is an integer, a slice, None, ..., or an array or a sequence of integers or booleans, not {}",
        key.get_type().name()?
    )))
}

/// Whether a key lists positions: any sequence but text.
fn is_list(key: &Bound<'_, PyAny>) -> bool {
    let text = key.is_instance_of::<PyString>() || key.is_instance_of::<PyBytes>();
    key.is_instance_of::<PyList>() || !text && key.cast::<PySequence>().is_ok()
}

/// A slice's bound; Python clips huge ones.
fn bound(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if value.is_none() {
        return Ok(None);
    }
    Integer::nearest(value).map(Some)
}

/// The error of an index, with the number that the key has: an integer of more than 64 bits was cut to the nearest
/// one, which is out of bounds of every axis.
#[cold]
fn whole_index(py: Python<'_>, error: PyErr, key: &Bound<'_, PyAny>) -> PyErr {
    let entries = key.cast::<PyTuple>().map_or_else(
        |_| vec![key.clone()],
        |tuple| tuple.iter().collect::<Vec<_>>(),
    );
    let text = error.value(py).to_string();
    for entry in entries {
        let Ok(int) = entry.cast_into::<PyInt>() else {
            continue;
        };
        let cut = match i64::nearest(&int) {
            Ok(cut @ (i64::MIN | i64::MAX)) => cut.to_string(),
            _ => continue,
        };
        if text.contains(&cut) {
            return PyErr::from_type(error.get_type(py), text.replacen(&cut, &int.to_string(), 1));
        }
    }
    error
}

//! Python values as arguments: scalars, arrays, and everything that an array can be made of.

use crate::array::PyArray;
use crate::buffer;
use crate::context::device_name;
use crate::dlpack;
use crate::errors::run;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyRange, PyString, PyTuple};
use rustarr::interface::{Complex64, Kinds};
use rustarr::promotion::{promote, weak_scalar};
use rustarr::{Arg, Array, Context, DType, Scalar, Weak};

/// Most levels of nested lists: an array has no more dimensions.
const MAX_DEPTH: usize = 64;

/// Python objects that are read or made between two looks for Ctrl-C.
pub const SIGNALS: usize = 1 << 16;

/// One argument of an operation.
pub enum Input<'a> {
    /// An array of the caller.
    Array(&'a Array),
    /// An array made of something else.
    Made(Array),
    /// A Python scalar.
    Scalar(Weak),
}

impl Input<'_> {
    /// The front end's form of it.
    #[inline]
    pub fn arg(&self) -> Arg<'_> {
        match self {
            Input::Array(array) => Arg::Array(array),
            Input::Made(array) => Arg::Array(array),
            Input::Scalar(value) => Arg::Scalar(*value),
        }
    }

    /// The array in it, if it is one.
    pub fn array(&self) -> Option<&Array> {
        match self {
            Input::Array(array) => Some(array),
            Input::Made(array) => Some(array),
            Input::Scalar(_) => None,
        }
    }
}

/// An operand of a binary operator next to an array of `context`; `None` for objects that should answer
/// themselves. Nothing is allocated for arrays and Python scalars.
#[inline]
pub fn operand<'a>(obj: &'a Bound<'_, PyAny>, context: &Context) -> PyResult<Option<Input<'a>>> {
    if let Ok(array) = obj.cast_exact::<PyArray>() {
        return Ok(Some(Input::Array(&array.get().0)));
    }
    if let Some(value) = plain_scalar(obj)? {
        return Ok(Some(Input::Scalar(value)));
    }
    other_operand(obj, context)
}

#[cold]
fn other_operand<'a>(obj: &Bound<'_, PyAny>, context: &Context) -> PyResult<Option<Input<'a>>> {
    if is_numpy(obj)? {
        return from_numpy(obj, context).map(|array| Some(Input::Made(array)));
    }
    Ok(subclass_scalar(obj)?.map(Input::Scalar))
}

/// An argument of a function whose namespace computes in `context`: an array, a scalar, or what an array can be
/// made of.
pub fn input<'a>(
    obj: &'a Bound<'_, PyAny>,
    context: impl FnOnce() -> PyResult<Context>,
) -> PyResult<Input<'a>> {
    if let Ok(array) = obj.cast_exact::<PyArray>() {
        return Ok(Input::Array(&array.get().0));
    }
    if let Some(value) = plain_scalar(obj)? {
        return Ok(Input::Scalar(value));
    }
    if is_numpy(obj)? {
        return from_numpy(obj, &context()?).map(Input::Made);
    }
    if let Some(value) = subclass_scalar(obj)? {
        return Ok(Input::Scalar(value));
    }
    asarray(obj, &context()?, None, None).map(Input::Made)
}

/// As [`input`], with scalars as 0-d arrays.
pub fn array(obj: &Bound<'_, PyAny>, context: impl Fn() -> PyResult<Context>) -> PyResult<Array> {
    match input(obj, &context)? {
        Input::Array(array) => Ok(array.clone()),
        Input::Made(array) => Ok(array),
        Input::Scalar(value) => zero_dim(&context()?, value),
    }
}

/// A scalar as a 0-d array of its kind's default dtype.
pub fn zero_dim(context: &Context, value: Weak) -> PyResult<Array> {
    of_scalar(context, value, None)
}

/// The dtype that a scalar brings along; integers beyond `int64` are `uint64`.
fn scalar_dtype(value: Weak, context: &Context) -> PyResult<DType> {
    let none = |what: &dyn std::fmt::Display| {
        PyOverflowError::new_err(format!("asarray: no integer dtype holds {what}"))
    };
    match value {
        Weak::Int(v) if i64::try_from(v).is_err() => {
            u64::try_from(v).map(|_| DType::U64).map_err(|_| none(&v))
        }
        Weak::HugeInt(_) => Err(none(&"an int of more than 128 bits")),
        _ => Ok(value.default_dtype(context.default_float())),
    }
}

/// The value of an exact Python scalar.
#[inline]
pub fn plain_scalar(obj: &Bound<'_, PyAny>) -> PyResult<Option<Weak>> {
    if let Ok(float) = obj.cast_exact::<PyFloat>() {
        return Ok(Some(Weak::Float(float.value())));
    }
    if let Ok(int) = obj.cast_exact::<PyInt>() {
        return integer(int).map(Some);
    }
    if let Ok(value) = obj.cast_exact::<PyBool>() {
        return Ok(Some(Weak::Bool(value.is_true())));
    }
    if let Ok(value) = obj.cast_exact::<PyComplex>() {
        return Ok(Some(Weak::Complex(Complex64::new(
            value.real(),
            value.imag(),
        ))));
    }
    Ok(None)
}

fn integer(int: &Bound<'_, PyInt>) -> PyResult<Weak> {
    if let Ok(small) = int.extract::<i64>() {
        return Ok(Weak::Int(i128::from(small)));
    }
    if let Ok(wide) = int.extract::<i128>() {
        return Ok(Weak::Int(wide));
    }
    match int.extract::<f64>() {
        Ok(nearest) => Ok(Weak::HugeInt(nearest)),
        Err(_) if int.lt(0)? => Ok(Weak::HugeInt(f64::NEG_INFINITY)),
        Err(_) => Ok(Weak::HugeInt(f64::INFINITY)),
    }
}

/// The value of an instance of a class derived from a Python scalar's (an `IntEnum`, for example).
fn subclass_scalar(obj: &Bound<'_, PyAny>) -> PyResult<Option<Weak>> {
    if let Ok(int) = obj.cast::<PyInt>() {
        return integer(int).map(Some);
    }
    if let Ok(float) = obj.cast::<PyFloat>() {
        return Ok(Some(Weak::Float(float.value())));
    }
    if let Ok(value) = obj.cast::<PyComplex>() {
        return Ok(Some(Weak::Complex(Complex64::new(
            value.real(),
            value.imag(),
        ))));
    }
    Ok(None)
}

/// Whether the object is an array or a scalar of NumPy.
fn is_numpy(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = obj.get_type();
    Ok(class.module().is_ok_and(|module| module == "numpy")
        && class.hasattr(pyo3::intern!(obj.py(), "__array_interface__"))?)
}

/// NumPy data that was handed to an operation rather than to `asarray`: taken on the host, and refused on a device
/// unless it is a single value, because it would be a transfer that nobody asked for.
fn from_numpy(obj: &Bound<'_, PyAny>, context: &Context) -> PyResult<Array> {
    let found = buffer::import(obj)?.ok_or_else(|| not_an_array(obj))?;
    if !found.shape.is_empty() && !context.backend().caps().host_visible {
        return Err(PyTypeError::new_err(format!(
            "a NumPy array is on the host and this operation runs on {}; move it with asarray first",
            device_name(context)
        )));
    }
    found.snapshot(context)
}

#[cold]
fn not_an_array(obj: &Bound<'_, PyAny>) -> PyErr {
    let class = obj
        .get_type()
        .fully_qualified_name()
        .map_or_else(|_| "object".into(), |n| n.to_string());
    PyTypeError::new_err(format!(
        "asarray: no array can be made of {class}; there are scalars, nested lists, and objects with the buffer \
         protocol, __dlpack__ or __array__"
    ))
}

/// `asarray`: an array in `context` of anything that has elements.
///
/// # Errors
/// `TypeError` for objects without elements, `ValueError` for ragged lists and where `copy=False` would copy,
/// `OverflowError` for integers that the dtype does not hold.
pub fn asarray(
    obj: &Bound<'_, PyAny>,
    context: &Context,
    dtype: Option<DType>,
    copy: Option<bool>,
) -> PyResult<Array> {
    if let Ok(array) = obj.cast::<PyArray>() {
        return of_array(&array.get().0, context, dtype, copy);
    }
    if let Some(value) = plain_scalar(obj)? {
        refuse_sharing(copy)?;
        return of_scalar(context, value, dtype);
    }
    if obj.is_instance_of::<PyString>() {
        return Err(not_an_array(obj));
    }
    if obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>() {
        refuse_sharing(copy)?;
        return of_nested(obj, context, dtype);
    }
    if let Some(found) = buffer::import(obj)? {
        return of_foreign(found, context, dtype, copy);
    }
    if let Some(value) = subclass_scalar(obj)? {
        refuse_sharing(copy)?;
        return of_scalar(context, value, dtype);
    }
    if obj.hasattr("__dlpack__")? {
        return of_foreign(dlpack::import(obj, copy)?, context, dtype, copy);
    }
    if obj.hasattr("__array_interface__")? || obj.hasattr("__array__")? {
        let numpy = obj.py().import("numpy")?;
        let made = numpy.call_method1("asarray", (obj,))?;
        if let Some(found) = buffer::import(&made)? {
            return of_foreign(found, context, dtype, copy);
        }
    }
    if obj.is_instance_of::<PyRange>() || obj.cast::<pyo3::types::PySequence>().is_ok() {
        refuse_sharing(copy)?;
        let list = PyList::new(obj.py(), obj.try_iter()?.collect::<PyResult<Vec<_>>>()?)?;
        return of_nested(&list, context, dtype);
    }
    Err(not_an_array(obj))
}

fn refuse_sharing(copy: Option<bool>) -> PyResult<()> {
    if copy == Some(false) {
        return Err(PyValueError::new_err(
            "asarray: copy=False, but Python values have to be copied",
        ));
    }
    Ok(())
}

fn of_array(
    array: &Array,
    context: &Context,
    dtype: Option<DType>,
    copy: Option<bool>,
) -> PyResult<Array> {
    let moves = array.context().space() != context.space();
    let casts = dtype.is_some_and(|d| d != array.dtype());
    if copy == Some(false) && (moves || casts) {
        return Err(PyValueError::new_err(format!(
            "asarray: copy=False, but {} takes a copy",
            if moves {
                "another device"
            } else {
                "another dtype"
            }
        )));
    }
    run(|| {
        let here = array.to_context(context)?;
        let cast = match dtype {
            Some(dtype) if casts => here.astype(dtype)?,
            _ => here,
        };
        if copy == Some(true) && !moves && !casts {
            cast.copy()
        } else {
            Ok(cast)
        }
    })
}

fn of_foreign(
    found: buffer::Foreign,
    context: &Context,
    dtype: Option<DType>,
    copy: Option<bool>,
) -> PyResult<Array> {
    let casts = dtype.is_some_and(|d| d != found.dtype);
    if copy == Some(false) {
        if casts {
            return Err(PyValueError::new_err(
                "asarray: copy=False, but another dtype takes a copy",
            ));
        }
        return found.share(context);
    }
    let array = found.snapshot(context)?;
    match dtype {
        Some(dtype) if casts => run(|| array.astype(dtype)),
        _ => Ok(array),
    }
}

fn of_scalar(context: &Context, value: Weak, dtype: Option<DType>) -> PyResult<Array> {
    let dtype = match dtype {
        Some(dtype) => dtype,
        None => scalar_dtype(value, context)?,
    };
    run(|| {
        let value = weak_scalar("asarray", value, dtype)?;
        Array::from_bytes(context, dtype, &[], value.bytes())
    })
}

/// One value of a nested list.
#[derive(Clone, Copy)]
enum Leaf {
    /// A Python scalar.
    Weak(Weak),
    /// An element of an array in the list.
    Typed(Scalar),
}

/// A nested list taken apart.
#[derive(Default)]
struct Nested {
    shape: Vec<usize>,
    /// Whether the shape is complete: a leaf was seen.
    complete: bool,
    leaves: Vec<Leaf>,
}

fn ragged() -> PyErr {
    PyValueError::new_err(
        "asarray: the nested lists are ragged: lists of one level differ in length or depth",
    )
}

impl Nested {
    /// Notes that a list or an array of `len` parts was met at `depth`.
    fn enter(&mut self, depth: usize, len: usize) -> PyResult<()> {
        if depth >= MAX_DEPTH {
            return Err(PyValueError::new_err(format!(
                "asarray: lists are nested more than {MAX_DEPTH} deep"
            )));
        }
        match self.shape.get(depth) {
            Some(&known) if known == len => Ok(()),
            Some(_) => Err(ragged()),
            None if self.complete => Err(ragged()),
            None => {
                self.shape.push(len);
                Ok(())
            }
        }
    }

    fn leaf(&mut self, depth: usize, leaf: Leaf) -> PyResult<()> {
        if depth != self.shape.len() {
            return Err(ragged());
        }
        self.complete = true;
        self.leaves.push(leaf);
        Ok(())
    }

    fn walk(&mut self, obj: &Bound<'_, PyAny>, depth: usize, context: &Context) -> PyResult<()> {
        if let Some(value) = plain_scalar(obj)? {
            if self.leaves.len() % SIGNALS == SIGNALS - 1 {
                obj.py().check_signals()?;
            }
            return self.leaf(depth, Leaf::Weak(value));
        }
        if let Ok(list) = obj.cast::<PyList>() {
            self.enter(depth, list.len())?;
            return list
                .iter()
                .try_for_each(|item| self.walk(&item, depth + 1, context));
        }
        if let Ok(tuple) = obj.cast::<PyTuple>() {
            self.enter(depth, tuple.len())?;
            return tuple
                .iter()
                .try_for_each(|item| self.walk(&item, depth + 1, context));
        }
        if let Ok(array) = obj.cast::<PyArray>() {
            return self.elements(&array.get().0, depth);
        }
        if !is_numpy(obj)?
            && let Some(value) = subclass_scalar(obj)?
        {
            return self.leaf(depth, Leaf::Weak(value));
        }
        self.elements(&asarray(obj, context, None, None)?, depth)
    }

    fn elements(&mut self, array: &Array, depth: usize) -> PyResult<()> {
        for (axis, &len) in array.shape().iter().enumerate() {
            self.enter(depth + axis, len)?;
        }
        let (dtype, bytes) = (array.dtype(), run(|| array.to_bytes())?);
        for element in bytes.chunks_exact(dtype.itemsize()) {
            let value = Scalar::from_bytes(dtype, element);
            self.leaf(depth + array.ndim(), Leaf::Typed(value))?;
        }
        Ok(())
    }

    /// The common dtype of the leaves.
    fn dtype(&self, context: &Context) -> PyResult<DType> {
        let mut common: Option<DType> = None;
        let mut last = None;
        for leaf in &self.leaves {
            let dtype = match leaf {
                Leaf::Weak(value) => scalar_dtype(*value, context)?,
                Leaf::Typed(value) => value.dtype(),
            };
            if last != Some(dtype) {
                last = Some(dtype);
                common = Some(common.map_or(dtype, |c| promote(c, dtype)));
            }
        }
        Ok(common.unwrap_or(context.default_float()))
    }
}

fn of_nested(obj: &Bound<'_, PyAny>, context: &Context, dtype: Option<DType>) -> PyResult<Array> {
    let mut nested = Nested::default();
    nested.walk(obj, 0, context)?;
    let dtype = match dtype {
        Some(dtype) => dtype,
        None => nested.dtype(context)?,
    };
    let mut bytes = Vec::with_capacity(nested.leaves.len() * dtype.itemsize());
    run(|| {
        for leaf in &nested.leaves {
            let value = match leaf {
                Leaf::Weak(value) => weak_scalar("asarray", *value, dtype)?,
                Leaf::Typed(value) => value.cast(dtype),
            };
            bytes.extend_from_slice(value.bytes());
        }
        Array::from_bytes(context, dtype, &nested.shape, &bytes)
    })
}

/// A scalar argument: a Python scalar, one of NumPy, or an array of one element.
pub struct ScalarArg(pub Weak);

impl<'a, 'py> FromPyObject<'a, 'py> for ScalarArg {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Some(value) = plain_scalar(&obj)? {
            return Ok(ScalarArg(value));
        }
        if let Ok(array) = obj.cast::<PyArray>() {
            return run(|| array.get().0.item()).map(|s| ScalarArg(weak(&s)));
        }
        if let Some(value) = subclass_scalar(&obj)? {
            return Ok(ScalarArg(value));
        }
        if is_numpy(&obj)? {
            let value = obj.call_method0("item")?;
            if let Some(value) = plain_scalar(&value)? {
                return Ok(ScalarArg(value));
            }
        }
        Err(PyTypeError::new_err(format!(
            "a scalar is needed, not {}",
            obj.get_type().name()?
        )))
    }
}

/// The Python scalar of a typed value.
pub fn weak(value: &Scalar) -> Weak {
    let dtype = value.dtype();
    if dtype == DType::Bool {
        Weak::Bool(value.to_i128() != 0)
    } else if dtype.is(Kinds::INT) {
        Weak::Int(value.to_i128())
    } else if dtype.is(Kinds::FLOAT) {
        Weak::Float(value.to_f64())
    } else {
        Weak::Complex(value.to_complex())
    }
}

/// The Python object of a typed value.
pub fn to_python<'py>(py: Python<'py>, value: &Scalar) -> Bound<'py, PyAny> {
    match weak(value) {
        Weak::Bool(v) => PyBool::new(py, v).to_owned().into_any(),
        Weak::Int(v) => match i64::try_from(v) {
            Ok(v) => PyInt::new(py, v).into_any(),
            Err(_) => PyInt::new(py, v as u64).into_any(),
        },
        Weak::HugeInt(v) | Weak::Float(v) => PyFloat::new(py, v).into_any(),
        Weak::Complex(v) => PyComplex::from_doubles(py, v.re, v.im).into_any(),
    }
}

/// An integer, the nearest of its type if it is beyond it.
pub trait Integer: Sized {
    /// Reads a Python integer.
    fn nearest(obj: &Bound<'_, PyAny>) -> PyResult<Self>;
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Integer for $t {
            fn nearest(obj: &Bound<'_, PyAny>) -> PyResult<Self> {
                match obj.extract::<$t>() {
                    Err(error) if error.is_instance_of::<PyOverflowError>(obj.py()) => {
                        Ok(if obj.lt(0)? { <$t>::MIN } else { <$t>::MAX })
                    }
                    found => found,
                }
            }
        }
    )*};
}
integers!(i32, i64, i128);

impl<T: Integer> Integer for Option<T> {
    fn nearest(obj: &Bound<'_, PyAny>) -> PyResult<Self> {
        if obj.is_none() {
            Ok(None)
        } else {
            T::nearest(obj).map(Some)
        }
    }
}

/// An argument that is a size, an axis, a count or a position. One beyond the type is cut to its nearest: no array
/// reaches that either, so that the operation itself says what is wrong, under its name. Where the value matters in
/// full, [`exact`] asks for it.
///
/// # Errors
/// `TypeError` for what is no integer, as a `bool` is none.
pub fn int<T: Integer>(obj: &Bound<'_, PyAny>) -> PyResult<T> {
    if obj.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("an integer is needed, not a bool"));
    }
    T::nearest(obj)
}

/// [`int`] for each element of a tuple or a list.
pub fn ints(list: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    list.try_iter()?.map(|item| int(&item?)).collect()
}

/// [`int`] where it must not be negative: `arg` of the operation `op`.
///
/// # Errors
/// `ValueError` for a negative one.
pub fn natural(value: i64, op: &str, arg: &str) -> PyResult<usize> {
    usize::try_from(value)
        .map_err(|_| PyValueError::new_err(format!("{op}: {arg}={value} is negative")))
}

/// An integer whose value matters in full: `arg` of the operation `op`.
///
/// # Errors
/// `OverflowError` for one of more than 64 bits, with what to do instead.
pub fn exact(obj: &Bound<'_, PyAny>, op: &str, arg: &str, instead: &str) -> PyResult<i64> {
    let read = int(obj)?;
    if matches!(read, i64::MIN | i64::MAX) && !obj.eq(read)? {
        return Err(PyOverflowError::new_err(format!(
            "{op}: {arg} is an integer of more than 64 bits; {instead}"
        )));
    }
    Ok(read)
}

/// NumPy's `out=`, which its functions hand to methods: None is all there is.
pub struct NoOut;

impl<'a, 'py> FromPyObject<'a, 'py> for NoOut {
    type Error = PyErr;

    fn extract(_: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Err(PyTypeError::new_err(
            "out must be None: results are new arrays; write one into an array with a[...] = result",
        ))
    }
}

/// Axes: one integer or several.
pub struct Axes(pub Vec<i64>);

impl<'a, 'py> FromPyObject<'a, 'py> for Axes {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if obj.is_instance_of::<PyTuple>() || obj.is_instance_of::<PyList>() {
            return ints(&obj).map(Axes);
        }
        int(&obj).map(|axis| Axes(vec![axis]))
    }
}

/// A shape: one size or several; -1 where the operation takes it.
pub struct Shape(pub Vec<i64>);

impl Shape {
    /// The sizes, none of which may be negative.
    pub fn sizes(&self, op: &str) -> PyResult<Vec<usize>> {
        self.0
            .iter()
            .map(|&n| {
                usize::try_from(n).map_err(|_| {
                    PyValueError::new_err(format!(
                        "{op}: negative sizes are not allowed in the shape {:?}",
                        self.0
                    ))
                })
            })
            .collect()
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Shape {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Axes::extract(obj).map(|axes| Shape(axes.0))
    }
}

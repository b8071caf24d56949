//! The array class: operators, conversions, indexing and exchange. Methods that repeat functions are in
//! `methods.rs`.

use crate::context::{self, PyContext, PyDevice, namespace_of, show_warnings};
use crate::convert::{self, Input, SIGNALS, operand, to_python};
use crate::dtype::PyDType;
use crate::errors::run;
use crate::{buffer, dlpack, format, key};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use rustarr::interface::{Kinds, Op};
use rustarr::{Arg, Array, DType, Error, Scalar, ops};
use std::ffi::c_int;

/// An n-dimensional array on one device. Made by a namespace's functions, ``asarray`` for example.
///
/// Indexing with integers and slices makes views that share memory, as in NumPy. Work is recorded and runs when a
/// value is needed; this shows in speed only.
#[pyclass(frozen, name = "Array", module = "rustarr", weakref)]
pub struct PyArray(pub Array);

/// Runs front-end work whose result goes to Python.
#[inline]
pub fn wrap(py: Python<'_>, work: impl FnOnce() -> rustarr::Result<Array>) -> PyResult<PyArray> {
    let array = run(work)?;
    if array.context().has_warnings() {
        show_warnings(py, array.context())?;
    }
    Ok(PyArray(array))
}

/// Runs front-end work that reads values; the host may have had to help.
pub fn read<T>(
    py: Python<'_>,
    array: &Array,
    work: impl FnOnce() -> rustarr::Result<T>,
) -> PyResult<T> {
    let value = run(work)?;
    if array.context().has_warnings() {
        show_warnings(py, array.context())?;
    }
    Ok(value)
}

impl PyArray {
    /// `self op other` or, reflected, `other op self`; NotImplemented for objects that should answer themselves.
    #[inline]
    pub fn binary(&self, op: Op, other: &Bound<'_, PyAny>, reflected: bool) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Some(other) = operand(other, self.0.context())? else {
            return Ok(py.NotImplemented());
        };
        let own = Arg::Array(&self.0);
        let args = if reflected {
            [other.arg(), own]
        } else {
            [own, other.arg()]
        };
        let result = wrap(py, || ops::elementwise::apply(op, &args))?;
        Ok(Py::new(py, result)?.into_any())
    }

    /// `self op= other`.
    pub fn in_place(&self, op: Op, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = other.py();
        let Some(value) = operand(other, self.0.context())? else {
            return Err(unsupported_operand(op.name(), other));
        };
        read(py, &self.0, || {
            ops::elementwise::apply_in_place(op, &self.0, value.arg())
        })
    }

    fn unary(&self, py: Python<'_>, op: Op) -> PyResult<PyArray> {
        wrap(py, || ops::elementwise::apply(op, &[Arg::Array(&self.0)]))
    }

    fn product(&self, other: &Bound<'_, PyAny>, reflected: bool) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let other = match operand(other, self.0.context())? {
            None => return Ok(py.NotImplemented()),
            Some(Input::Scalar(_)) => {
                return Err(PyTypeError::new_err(
                    "matmul: a scalar has no dimensions; use * instead",
                ));
            }
            Some(other) => other,
        };
        let Some(other) = other.array() else {
            return Ok(py.NotImplemented());
        };
        let (a, b) = if reflected {
            (other, &self.0)
        } else {
            (&self.0, other)
        };
        Ok(Py::new(py, wrap(py, || ops::linalg::matmul(a, b))?)?.into_any())
    }

    /// The one element of a 0-d array.
    fn scalar(&self, py: Python<'_>, to: &str) -> PyResult<Scalar> {
        if self.0.ndim() != 0 {
            return Err(PyTypeError::new_err(format!(
                "only an array without dimensions becomes {to}; this one has shape {:?}",
                self.0.shape()
            )));
        }
        read(py, &self.0, || self.0.item())
    }
}

#[cold]
fn unsupported_operand(op: &str, other: &Bound<'_, PyAny>) -> PyErr {
    let class = other
        .get_type()
        .name()
        .map_or_else(|_| "object".to_owned(), |n| n.to_string());
    PyTypeError::new_err(format!(
        "{op}: an array does not go with {class}; convert it with asarray"
    ))
}

#[pymethods]
impl PyArray {
    fn __pow__(&self, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Ok(other.py().NotImplemented());
        }
        self.binary(Op::Pow, other, false)
    }

    fn __rpow__(&self, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Ok(other.py().NotImplemented());
        }
        self.binary(Op::Pow, other, true)
    }

    fn __ipow__(&self, other: &Bound<'_, PyAny>, _modulo: &Bound<'_, PyAny>) -> PyResult<()> {
        self.in_place(Op::Pow, other)
    }

    fn __divmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        Ok((
            self.binary(Op::FloorDivide, other, false)?,
            self.binary(Op::Remainder, other, false)?,
        ))
    }

    fn __rdivmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        Ok((
            self.binary(Op::FloorDivide, other, true)?,
            self.binary(Op::Remainder, other, true)?,
        ))
    }

    fn __matmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.product(other, false)
    }

    fn __rmatmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.product(other, true)
    }

    fn __imatmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = other.py();
        let value = operand(other, self.0.context())?;
        let Some(other) = value.as_ref().and_then(Input::array) else {
            return Err(unsupported_operand("matmul", other));
        };
        read(py, &self.0, || {
            let product = ops::linalg::matmul(&self.0, other)?;
            if product.shape() != self.0.shape() {
                return Err(Error::shape(
                    "matmul",
                    format!(
                        "the result has shape {:?} and cannot be stored in place in {:?}",
                        product.shape(),
                        self.0.shape()
                    ),
                ));
            }
            if product.dtype() != self.0.dtype() {
                return Err(Error::dtype(
                    "matmul",
                    format!(
                        "the result has dtype {} and cannot be stored in place in {}",
                        product.dtype(),
                        self.0.dtype()
                    ),
                ));
            }
            self.0.assign(product)
        })
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<PyArray> {
        self.unary(py, Op::Negative)
    }

    fn __pos__(&self, py: Python<'_>) -> PyResult<PyArray> {
        self.unary(py, Op::Positive)
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<PyArray> {
        self.unary(py, Op::Abs)
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<PyArray> {
        self.unary(py, Op::BitwiseInvert)
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let op = match op {
            CompareOp::Lt => Op::Less,
            CompareOp::Le => Op::LessEqual,
            CompareOp::Eq => Op::Equal,
            CompareOp::Ne => Op::NotEqual,
            CompareOp::Gt => Op::Greater,
            CompareOp::Ge => Op::GreaterEqual,
        };
        self.binary(op, other, false)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        if self.0.size() != 1 {
            return Err(PyValueError::new_err(format!(
                "the truth of an array of shape {:?} is ambiguous; use any() or all()",
                self.0.shape()
            )));
        }
        let value = read(py, &self.0, || self.0.item())?;
        Ok(value.cast(DType::Bool).to_i128() != 0)
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = self.scalar(py, "an int")?;
        if value.dtype().is(Kinds::COMPLEX) {
            return Err(PyTypeError::new_err(
                "a complex number is no int; take its real part first",
            ));
        }
        if value.dtype().is(Kinds::FLOAT) {
            // Python knows what to do with infinities and large numbers.
            return to_python(py, &value).call_method0("__int__");
        }
        Ok(if value.dtype() == DType::Bool {
            to_python(py, &value.cast(DType::U8))
        } else {
            to_python(py, &value)
        })
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        let value = self.scalar(py, "a float")?;
        if value.dtype().is(Kinds::COMPLEX) {
            return Err(PyTypeError::new_err(
                "a complex number is no float; take its real part first",
            ));
        }
        Ok(value.to_f64())
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = self.scalar(py, "a complex")?;
        Ok(to_python(py, &value.cast(DType::C128)))
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if !self.0.dtype().is(Kinds::INT) {
            return Err(PyTypeError::new_err(format!(
                "only an array of integers is an index, not one of {}",
                self.0.dtype()
            )));
        }
        Ok(to_python(py, &self.scalar(py, "an index")?))
    }

    fn __len__(&self) -> PyResult<usize> {
        self.0
            .shape()
            .first()
            .copied()
            .ok_or_else(|| PyTypeError::new_err("len() of an array without dimensions"))
    }

    fn __iter__(&self) -> PyResult<ArrayIter> {
        if self.0.ndim() == 0 {
            return Err(PyTypeError::new_err(
                "iteration over an array without dimensions",
            ));
        }
        Ok(ArrayIter {
            array: self.0.clone(),
            next: 0.into(),
        })
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = value.py();
        let Some(value) = operand(value, self.0.context())? else {
            return Ok(false);
        };
        read(py, &self.0, || {
            let same = ops::elementwise::apply(Op::Equal, &[Arg::Array(&self.0), value.arg()])?;
            Ok(ops::any(&same, None, false)?.item()?.to_i128() != 0)
        })
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        key::get(py, &self.0, key)
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        key::set(&self.0, key, value)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = format::repr(&self.0)?;
        show_warnings(py, self.0.context())?;
        Ok(text)
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        let text = format::text(&self.0)?;
        show_warnings(py, self.0.context())?;
        Ok(text)
    }

    fn __format__<'py>(&self, py: Python<'py>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        if self.0.ndim() == 0 && !spec.is_empty() {
            return to_python(py, &self.scalar(py, "text")?).call_method1("__format__", (spec,));
        }
        if !spec.is_empty() {
            return Err(PyTypeError::new_err(format!(
                "only an array without dimensions takes the format {spec:?}; this one has shape {:?}",
                self.0.shape()
            )));
        }
        Ok(self.__str__(py)?.into_pyobject(py)?.into_any())
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<PyArray> {
        wrap(py, || self.0.copy())
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        wrap(py, || self.0.copy())
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let bytes = read(py, &self.0, || self.0.bytes_for("pickling"))?;
        let restore = py.import("rustarr._core")?.getattr("_restore_array")?;
        let arguments = (
            self.0.context().name(),
            self.0.dtype().name(),
            PyTuple::new(py, self.0.shape())?,
            PyBytes::new(py, &bytes),
        );
        Ok((restore, arguments.into_pyobject(py)?))
    }

    /// The namespace of the array's context.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For a version of the standard that is not implemented.
    #[pyo3(signature = (*, api_version=None))]
    fn __array_namespace__<'py>(
        &self,
        py: Python<'py>,
        api_version: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        const VERSIONS: [&str; 5] = ["2021.12", "2022.12", "2023.12", "2024.12", "2025.12"];
        if let Some(version) = api_version
            && !VERSIONS.contains(&version)
        {
            return Err(PyValueError::new_err(format!(
                "__array_namespace__: version {version:?} of the standard is not known; there are {}",
                VERSIONS.join(", ")
            )));
        }
        namespace_of(py, self.0.context())
    }

    /// A DLPack capsule of the array's memory.
    ///
    /// Raises
    /// ------
    /// BufferError
    ///     For a device, stream or version that cannot be served.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i64, i64)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        dlpack::export(py, &self.0, stream, max_version, dl_device, copy)
    }

    /// Type and number of the array's device in DLPack's terms.
    fn __dlpack_device__(&self) -> (c_int, u32) {
        dlpack::device_of(self.0.context())
    }

    /// NumPy's way in where the buffer protocol was not enough.
    #[pyo3(signature = (dtype=None, *, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, array) = (slf.py(), &slf.get().0);
        if !array.context().backend().caps().host_visible {
            return Err(PyTypeError::new_err(format!(
                "the array is on {}; rustarr.asnumpy(x) copies it to NumPy",
                context::device_name(array.context())
            )));
        }
        let view = pyo3::types::PyMemoryView::from(slf.as_any())?;
        let options = PyDict::new(py);
        options.set_item("dtype", dtype)?;
        options.set_item("copy", copy)?;
        py.import("numpy")?
            .getattr("array")?
            .call((view,), Some(&options))
    }

    /// A universal function of NumPy applied to this array, alone or among others; see ``rustarr._numpy``.
    #[pyo3(signature = (ufunc, method, /, *inputs, **kwargs))]
    fn __array_ufunc__<'py>(
        &self,
        ufunc: &Bound<'py, PyAny>,
        method: &Bound<'py, PyAny>,
        inputs: &Bound<'py, PyTuple>,
        kwargs: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = ufunc.py();
        let kwargs = kwargs.unwrap_or_else(|| PyDict::new(py));
        py.import("rustarr._numpy")?
            .getattr("array_ufunc")?
            .call1((ufunc, method, inputs, kwargs))
    }

    /// Another function of NumPy applied to this array, alone or among others; see ``rustarr._numpy``.
    #[pyo3(signature = (function, types, args, kwargs, /))]
    fn __array_function__<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyAny>,
        kwargs: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        function
            .py()
            .import("rustarr._numpy")?
            .getattr("array_function")?
            .call1((function, types, args, kwargs))
    }

    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        // SAFETY: Python passes the consumer's view.
        unsafe { buffer::fill(slf.as_any(), &slf.get().0, view, flags) }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: Python releases each view that `__getbuffer__` filled once.
        unsafe { buffer::release(view) }
    }

    /// The axes in reverse order; a view. The standard asks for two dimensions here, NumPy for none.
    #[getter(T)]
    fn transposed(&self) -> PyArray {
        PyArray(ops::transpose(&self.0))
    }

    /// The last two axes swapped; a view.
    #[getter(mT)]
    fn matrix_transposed(&self, py: Python<'_>) -> PyResult<PyArray> {
        wrap(py, || ops::matrix_transpose(&self.0))
    }

    /// The element type.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        crate::dtype::object(py, self.0.dtype())
    }

    /// Sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.ndim()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    /// Bytes per element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.dtype().itemsize()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.size().saturating_mul(self.0.dtype().itemsize())
    }

    /// Where the elements live.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.0.context().clone())
    }

    /// Where operations on the array compute.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(self.0.context().clone())
    }

    /// The real part; a copy for complex numbers, which NumPy gives as a view.
    #[getter]
    fn real(&self, py: Python<'_>) -> PyResult<PyArray> {
        if self.0.dtype().is(Kinds::COMPLEX) {
            return self.unary(py, Op::Real);
        }
        Ok(PyArray(self.0.clone()))
    }

    /// The imaginary part; zeros for real numbers.
    #[getter]
    fn imag(&self, py: Python<'_>) -> PyResult<PyArray> {
        self.unary(py, Op::Imag)
    }
}

/// Walks along the first axis.
#[pyclass(frozen, module = "rustarr")]
pub struct ArrayIter {
    array: Array,
    next: std::sync::atomic::AtomicUsize,
}

#[pymethods]
impl ArrayIter {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self) -> Option<PyArray> {
        let at = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (at < self.array.shape()[0])
            .then(|| PyArray(self.array.view(self.array.layout().select(0, at))))
    }

    fn __length_hint__(&self) -> usize {
        let done = self.next.load(std::sync::atomic::Ordering::Relaxed);
        self.array.shape()[0].saturating_sub(done)
    }
}

/// Puts a pickled array together again, on the kind of context it came from or, without one, on the host.
#[pyfunction]
#[pyo3(name = "_restore_array")]
pub fn restore_array(
    py: Python<'_>,
    context: &str,
    dtype: &str,
    shape: Vec<usize>,
    bytes: &[u8],
) -> PyResult<PyArray> {
    let dtype = DType::from_name(dtype)
        .ok_or_else(|| PyTypeError::new_err(format!("unpickling: no dtype {dtype:?}")))?;
    let context = context::shared(py, context).or_else(|_| context::shared(py, "cpu"))?;
    wrap(py, || Array::from_bytes(&context, dtype, &shape, bytes))
}

/// An array's elements as nested lists of Python scalars.
pub fn to_list<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    fn level<'py>(
        py: Python<'py>,
        dtype: DType,
        shape: &[usize],
        bytes: &mut std::slice::ChunksExact<'_, u8>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some((&len, inner)) = shape.split_first() else {
            let bytes = bytes.next().unwrap_or(&[0; 16]);
            return Ok(to_python(py, &Scalar::from_bytes(dtype, bytes)));
        };
        let items = (0..len)
            .map(|n| {
                if n % SIGNALS == SIGNALS - 1 {
                    py.check_signals()?;
                }
                level(py, dtype, inner, bytes)
            })
            .collect::<PyResult<Vec<_>>>()?;
        Ok(pyo3::types::PyList::new(py, items)?.into_any())
    }
    let bytes = read(py, array, || array.bytes_for("tolist"))?;
    let dtype = array.dtype();
    level(
        py,
        dtype,
        array.shape(),
        &mut bytes.chunks_exact(dtype.itemsize()),
    )
}

/// The argument as an array next to an array of this context.
pub fn other(obj: &Bound<'_, PyAny>, like: &Array) -> PyResult<Array> {
    convert::array(obj, || Ok(like.context().clone()))
}

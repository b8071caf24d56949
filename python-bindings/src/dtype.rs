//! dtype objects, and everything that is accepted where a dtype is asked for.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyType};
use rustarr::interface::Kinds;
use rustarr::{Context, DType};

/// The type of an array's elements. Equal to NumPy's dtype of the same name and to the name.
///
/// Parameters
/// ----------
/// dtype
///     A dtype, its name, NumPy's dtype or scalar type, or one of bool, int, float and complex.
///
/// Raises
/// ------
/// TypeError
///     If there is no such dtype.
#[pyclass(frozen, name = "dtype", module = "rustarr")]
pub struct PyDType(pub DType);

static OBJECTS: PyOnceLock<[Py<PyDType>; DType::ALL.len()]> = PyOnceLock::new();

/// The one object of a dtype.
pub fn object(py: Python<'_>, dtype: DType) -> PyResult<Py<PyDType>> {
    let objects = OBJECTS.get_or_try_init(py, || -> PyResult<_> {
        let all = DType::ALL
            .into_iter()
            .map(|dtype| Py::new(py, PyDType(dtype)))
            .collect::<PyResult<Vec<_>>>()?;
        Ok(all
            .try_into()
            .unwrap_or_else(|_| unreachable!("one object per dtype")))
    })?;
    Ok(objects[dtype as usize].clone_ref(py))
}

/// What a `dtype=` argument may be.
#[derive(Clone, Copy, PartialEq)]
pub enum DTypeArg {
    /// A dtype.
    Is(DType),
    /// Python's `int`: the context's default integer.
    Int,
    /// Python's `float`: the context's default floating dtype.
    Float,
    /// Python's `complex`: the context's default complex dtype.
    Complex,
}

impl DTypeArg {
    /// The dtype in a context.
    pub fn resolve(self, context: &Context) -> DType {
        match self {
            DTypeArg::Is(dtype) => dtype,
            DTypeArg::Int => context.default_int(),
            DTypeArg::Float => context.default_float(),
            DTypeArg::Complex => context.default_complex(),
        }
    }

    /// The dtype where no context is at hand: Python's own width.
    fn plain(self) -> DType {
        match self {
            DTypeArg::Is(dtype) => dtype,
            DTypeArg::Int => DType::I64,
            DTypeArg::Float => DType::F64,
            DTypeArg::Complex => DType::C128,
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for DTypeArg {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        lookup(&obj)?.ok_or_else(|| {
            let names: Vec<_> = DType::ALL.iter().map(|d| d.name()).collect();
            let shown = obj
                .repr()
                .map_or_else(|_| "this object".to_owned(), |r| r.to_string());
            PyTypeError::new_err(format!(
                "{shown} is not a dtype; there are {}",
                names.join(", ")
            ))
        })
    }
}

fn lookup(obj: &Bound<'_, PyAny>) -> PyResult<Option<DTypeArg>> {
    let py = obj.py();
    if let Ok(own) = obj.cast::<PyDType>() {
        return Ok(Some(DTypeArg::Is(own.get().0)));
    }
    if let Ok(text) = obj.cast::<PyString>() {
        return Ok(from_text(&text.to_cow()?));
    }
    if let Ok(class) = obj.cast::<PyType>() {
        if class.is(py.get_type::<PyBool>()) {
            return Ok(Some(DTypeArg::Is(DType::Bool)));
        } else if class.is(py.get_type::<PyInt>()) {
            return Ok(Some(DTypeArg::Int));
        } else if class.is(py.get_type::<PyFloat>()) {
            return Ok(Some(DTypeArg::Float));
        } else if class.is(py.get_type::<PyComplex>()) {
            return Ok(Some(DTypeArg::Complex));
        }
        if class.module()?.to_cow()? != "numpy" {
            return Ok(None);
        }
        // A scalar type of NumPy, which is loaded if the user has one.
        let numpy = py.import("numpy")?.getattr("dtype")?;
        return numpy
            .call1((class,))
            .map_or(Ok(None), |dtype| lookup_numpy(&dtype));
    }
    lookup_numpy(obj)
}

/// NumPy's dtype objects, known by their class so that NumPy need not be imported.
fn lookup_numpy(obj: &Bound<'_, PyAny>) -> PyResult<Option<DTypeArg>> {
    if !obj.get_type().mro().iter().any(|class| {
        class.cast::<PyType>().is_ok_and(|class| {
            class
                .fully_qualified_name()
                .is_ok_and(|name| name == "numpy.dtype")
        })
    }) {
        return Ok(None);
    }
    if !obj.getattr("isnative")?.extract::<bool>()? {
        return Ok(None);
    }
    let name: String = obj.getattr("name")?.extract()?;
    Ok(DType::from_name(&name).map(DTypeArg::Is))
}

/// Standard names, and the short ones that NumPy programs use.
fn from_text(text: &str) -> Option<DTypeArg> {
    if let Some(dtype) = DType::from_name(text) {
        return Some(DTypeArg::Is(dtype));
    }
    let native = if cfg!(target_endian = "little") {
        '<'
    } else {
        '>'
    };
    let short = text.strip_prefix([native, '=', '|']).unwrap_or(text);
    Some(match short {
        "int" => DTypeArg::Int,
        "float" => DTypeArg::Float,
        "complex" => DTypeArg::Complex,
        "?" | "b1" => DTypeArg::Is(DType::Bool),
        "i1" => DTypeArg::Is(DType::I8),
        "i2" => DTypeArg::Is(DType::I16),
        "i4" => DTypeArg::Is(DType::I32),
        "i8" => DTypeArg::Is(DType::I64),
        "u1" => DTypeArg::Is(DType::U8),
        "u2" => DTypeArg::Is(DType::U16),
        "u4" => DTypeArg::Is(DType::U32),
        "u8" => DTypeArg::Is(DType::U64),
        "f2" | "e" | "half" => DTypeArg::Is(DType::F16),
        "f4" | "f" | "single" => DTypeArg::Is(DType::F32),
        "f8" | "d" | "double" => DTypeArg::Is(DType::F64),
        "c8" | "F" | "csingle" => DTypeArg::Is(DType::C64),
        "c16" | "D" | "cdouble" => DTypeArg::Is(DType::C128),
        _ => return None,
    })
}

#[pymethods]
impl PyDType {
    #[new]
    #[pyo3(signature = (dtype, /))]
    fn new(dtype: DTypeArg) -> Self {
        PyDType(dtype.plain())
    }

    /// The name of the standard and of NumPy.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// One letter for the category: b, i, u, f or c.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind() {
            Kinds::BOOL => "b",
            Kinds::SIGNED => "i",
            Kinds::UNSIGNED => "u",
            Kinds::FLOAT => "f",
            _ => "c",
        }
    }

    /// Bytes per element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.itemsize()
    }

    /// NumPy's dtype of this name: what `numpy.dtype(x)` looks for.
    #[getter(dtype)]
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?
            .getattr("dtype")?
            .call1((self.0.name(),))
    }

    /// The Python type of its values.
    #[getter]
    fn r#type<'py>(&self, py: Python<'py>) -> Bound<'py, PyType> {
        match self.kind() {
            "b" => py.get_type::<PyBool>(),
            "f" => py.get_type::<PyFloat>(),
            "c" => py.get_type::<PyComplex>(),
            _ => py.get_type::<PyInt>(),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(lookup(other)?.is_some_and(|d| d.plain() == self.0))
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, self.0.name()).hash()
    }

    fn __repr__(&self) -> String {
        format!("rustarr.{}", self.0.name())
    }

    fn __str__(&self) -> &'static str {
        self.0.name()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (&'static str,)) {
        (py.get_type::<PyDType>(), (self.0.name(),))
    }
}

//! What a namespace's functions share: the context that new arrays are made in.

use crate::array::{PyArray, wrap};
use crate::context::{DeviceArg, PyContext, current, shared};
use crate::convert::{self, Input};
use crate::dtype::DTypeArg;
use crate::errors::in_op;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rustarr::interface::Op;
use rustarr::{Array, Context, DType, ops};
use std::sync::{Arc, OnceLock};

enum Source {
    /// The context that is current at the call.
    Current,
    /// A context by name, opened when it is first needed.
    Named(String, OnceLock<Context>),
    /// A context.
    Opened(Context),
}

/// Where a namespace makes its arrays.
#[derive(Clone)]
pub struct Home(Arc<Source>);

impl Home {
    /// Reads a context, a context's name, or None for the current one.
    pub fn new(source: Option<&Bound<'_, PyAny>>) -> PyResult<Home> {
        let source = match source {
            None => Source::Current,
            Some(obj) => match obj.cast::<PyContext>() {
                Ok(context) => Source::Opened(context.get().0.clone()),
                Err(_) => {
                    let name = obj.cast::<PyString>().map_err(|_| {
                        PyTypeError::new_err(
                            "a namespace is of a context, of a context's name, or of None",
                        )
                    })?;
                    Source::Named(name.to_cow()?.into_owned(), OnceLock::new())
                }
            },
        };
        Ok(Home(Arc::new(source)))
    }

    /// The context.
    pub fn context(&self, py: Python<'_>) -> PyResult<Context> {
        match &*self.0 {
            Source::Current => current(py),
            Source::Opened(context) => Ok(context.clone()),
            Source::Named(name, slot) => {
                if let Some(context) = slot.get() {
                    return Ok(context.clone());
                }
                let context = shared(py, name)?;
                Ok(slot.get_or_init(|| context).clone())
            }
        }
    }

    /// The context of a `device=` argument; this one where it is left out or is in the same memory.
    pub fn on(&self, py: Python<'_>, device: Option<DeviceArg>) -> PyResult<Context> {
        let own = self.context(py)?;
        Ok(match device {
            Some(DeviceArg(other)) if other.space() != own.space() => other,
            _ => own,
        })
    }

    /// An argument that is an array, or is made one.
    pub fn array(&self, obj: &Bound<'_, PyAny>) -> PyResult<Array> {
        convert::array(obj, || self.context(obj.py()))
    }

    /// Several arrays.
    pub fn arrays(&self, list: &Bound<'_, PyAny>) -> PyResult<Vec<Array>> {
        list.try_iter()?.map(|item| self.array(&item?)).collect()
    }

    /// An argument that is an array or a scalar.
    pub fn input<'a>(&self, obj: &'a Bound<'_, PyAny>) -> PyResult<Input<'a>> {
        convert::input(obj, || self.context(obj.py()))
    }

    /// A dtype in this namespace.
    pub fn dtype(&self, py: Python<'_>, dtype: Option<DTypeArg>) -> PyResult<Option<DType>> {
        match dtype {
            None => Ok(None),
            Some(DTypeArg::Is(dtype)) => Ok(Some(dtype)),
            Some(kind) => Ok(Some(kind.resolve(&self.context(py)?))),
        }
    }

    /// Applies an operation of the table to what the user gave.
    pub fn elementwise<const N: usize>(
        &self,
        op: Op,
        args: [&Bound<'_, PyAny>; N],
    ) -> PyResult<PyArray> {
        let py = args[0].py();
        let mut inputs = Vec::with_capacity(N);
        for arg in args {
            inputs.push(self.input(arg).map_err(|e| in_op(py, e, op.name()))?);
        }
        if let Some(Input::Scalar(value)) = inputs.first()
            && inputs.iter().all(|i| i.array().is_none())
        {
            let made = convert::zero_dim(&self.context(py)?, *value);
            inputs[0] = Input::Made(made.map_err(|e| in_op(py, e, op.name()))?);
        }
        let args: [_; N] = std::array::from_fn(|i| inputs[i].arg());
        wrap(py, || ops::elementwise::apply(op, &args))
    }
}

/// The functions of a namespace, as methods that know where to make arrays. Python's messages about arguments begin with
/// the name of the class, which is therefore that of the place where users find the functions.
///
/// Parameters
/// ----------
/// context
///     A context, a context's name (opened when first needed), or None for the context that is current at each call.
#[pyclass(frozen, name = "rustarr", module = "rustarr._core")]
pub struct Functions(pub Home);

#[pymethods]
impl Functions {
    #[new]
    #[pyo3(signature = (context=None, /))]
    fn new(context: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Functions(Home::new(context)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let module = py.import("rustarr._namespace")?;
        let described = match *self.0.0 {
            Source::Current => (py.None(), py.None()).into_pyobject(py)?.into_any(),
            _ => module
                .getattr("_described")?
                .call1((PyContext(self.0.context(py)?),))?,
        };
        Ok((module.getattr("_restore_functions")?, described))
    }

    /// The context, opened now if it was not.
    fn _context(&self, py: Python<'_>) -> PyResult<PyContext> {
        Ok(PyContext(self.0.context(py)?))
    }
}

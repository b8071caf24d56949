//! What `rustarr.tasks` asks of arrays: which memory they share, whom to wait for, and handles with less rights.

use crate::array::PyArray;
use crate::context::PyContext;
use crate::errors::{self, run};
use crate::hooks;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rustarr::gate::{self, Gate};
use rustarr::interface::fork;
use rustarr::{Array, Error, WeakArray};
use std::any::Any;
use std::sync::Arc;

/// A gate that asks a Python object: its method `wait(writes)` returns when the elements may be touched.
#[derive(Debug)]
struct Asks(Py<PyAny>);

impl Gate for Asks {
    fn wait(&self, writes: bool) -> rustarr::Result<()> {
        // Whoever waits may be inside work that has let go of the interpreter, and that a fork would wait for.
        fork::paused(|| {
            hooks::attached(|py| {
                self.0
                    .bind(py)
                    .call_method1(pyo3::intern!(py, "wait"), (writes,))
                    .map(drop)
            })
        })
        .map_err(|error| {
            errors::set_signalled(error);
            Error::interrupted("wait", "the wait for a task has ended")
        })
    }
}

/// The object that stands for the array's base in the hazards of tasks.
#[pyfunction]
pub fn _block(py: Python<'_>, array: &PyArray) -> Option<Py<PyAny>> {
    let gate: &dyn Any = &**array.0.gate()?;
    Some(gate.downcast_ref::<Asks>()?.0.clone_ref(py))
}

/// The object that stands for the array's base: the given one, if it had none. It lives as long as the base.
#[pyfunction]
pub fn _block_or(py: Python<'_>, array: &PyArray, block: Py<PyAny>) -> Option<Py<PyAny>> {
    array.0.gate_or(Arc::new(Asks(block)));
    _block(py, array)
}

/// Announces that the base will be read or written: until `_withdraw`, others wait. With a book, a dict, the announcement is
/// entered there under the task, once, as the stronger of several: in one step, which no signal handler can come into.
#[pyfunction]
#[pyo3(signature = (array, writes, book=None, task=None))]
pub fn _announce(
    array: &PyArray,
    writes: bool,
    book: Option<&Bound<'_, PyDict>>,
    task: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    if let Some(book) = book {
        match book
            .get_item(task)?
            .map(|before| before.extract())
            .transpose()?
        {
            Some(before) if before || !writes => return Ok(()),
            Some(before) => array.0.withdraw(before),
            None => {}
        }
        book.set_item(task, writes)?;
    }
    array.0.announce(writes);
    Ok(())
}

/// Takes back one `_announce` without a book.
#[pyfunction]
pub fn _withdraw(array: &PyArray, writes: bool) {
    array.0.withdraw(writes);
}

/// Takes back what a task has in the book, if anything.
#[pyfunction]
pub fn _strike(array: &PyArray, book: &Bound<'_, PyDict>, task: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Some(writes) = book.get_item(task)? {
        let writes = writes.extract()?;
        book.del_item(task)?;
        array.0.withdraw(writes);
    }
    Ok(())
}

/// The number of elements of the array's base.
#[pyfunction]
pub fn _base_size(array: &PyArray) -> usize {
    array.0.whole().size()
}

/// From now on this thread touches these arrays without waiting, and no others.
#[pyfunction]
pub fn _hold(arrays: Vec<PyRef<'_, PyArray>>) {
    gate::hold(arrays.iter().map(|x| &x.0));
}

/// The bytes of the base that the array spans, as (first, end), and the address of the base's first byte if the memory is
/// another owner's.
#[pyfunction]
pub fn _span(array: &PyArray) -> (usize, usize, Option<usize>) {
    let x = &array.0;
    let item = x.dtype().itemsize();
    let (first, end) = x.layout().extent().unwrap_or((0, 0));
    let address = x.is_foreign().then(|| x.address()).flatten();
    (first * item, end * item, address)
}

/// How often the base was written or replaced through arrays, and whether it may also have been written otherwise.
#[pyfunction]
pub fn _version(array: &PyArray) -> (u64, bool) {
    (array.0.version(), array.0.is_shared())
}

/// The same elements computing in another context of their memory; read-only, with that name in errors, if a name is given.
#[pyfunction]
#[pyo3(signature = (array, context, argument=None))]
pub fn _handle(array: &PyArray, context: &PyContext, argument: Option<&str>) -> PyResult<PyArray> {
    let x = run(|| array.0.relabel(&context.0))?;
    Ok(PyArray(match argument {
        Some(name) => x.read_only_as(name),
        None => x,
    }))
}

/// A copy of the array's whole base in a context; with `blank`, memory of its size that nobody has filled.
#[pyfunction]
pub fn _replica(array: &PyArray, context: &PyContext, blank: bool) -> PyResult<PyArray> {
    let whole = array.0.whole();
    let copy = || {
        if blank {
            return rustarr::ops::empty(&context.0, whole.shape(), Some(whole.dtype()));
        }
        let bytes = whole.to_bytes()?;
        Array::from_bytes(&context.0, whole.dtype(), whole.shape(), &bytes)
    };
    Ok(PyArray(run(copy)?))
}

/// The elements of a replica of the array's base that are the array's.
#[pyfunction]
pub fn _within(array: &PyArray, replica: &PyArray) -> PyResult<PyArray> {
    Ok(PyArray(run(|| array.0.within(&replica.0))?))
}

/// Writes a replica of the array's base back into it.
#[pyfunction]
pub fn _restore(array: &PyArray, replica: &PyArray) -> PyResult<()> {
    run(|| {
        let whole = array.0.whole();
        let value = replica.0.held(|| replica.0.to_context(whole.context()))?;
        // Whoever brings it home does so while others wait for it.
        whole.held(|| whole.assign(value))
    })
}

/// Runs the recorded work behind an array.
#[pyfunction]
pub fn _settle(array: &PyArray) -> PyResult<()> {
    run(|| array.0.realise().map(drop))
}

/// Whether nothing can be written through the array.
#[pyfunction]
pub fn _is_read_only(array: &PyArray) -> bool {
    array.0.is_read_only()
}

/// Whether the memory is another owner's.
#[pyfunction]
pub fn _is_foreign(array: &PyArray) -> bool {
    array.0.is_foreign()
}

/// An array's base, without keeping it alive. Calling it gives all elements in one dimension, or None if they are gone.
#[pyclass(frozen, name = "_Weak", module = "rustarr._core")]
pub struct Weak(WeakArray);

#[pymethods]
impl Weak {
    #[new]
    fn new(array: &PyArray) -> Weak {
        Weak(array.0.downgrade())
    }

    fn __call__(&self) -> Option<PyArray> {
        self.0.upgrade().map(PyArray)
    }
}

/// Whether two arrays view one base.
#[pyfunction]
pub fn _same_base(a: &PyArray, b: &PyArray) -> bool {
    a.0.same_base(&b.0)
}

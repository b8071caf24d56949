//! Contexts and devices: which one computes, and which one is current.

use crate::convert::{int, ints, natural};
use crate::dtype::DTypeArg;
use crate::errors::{self, run};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use rustarr::interface::Space;
use rustarr::{Context, DType, Error, Fallback};
use rustarr_backends::ContextSpec;
use std::sync::{Arc, Mutex};

/// A place to compute, with its own threads, memory pool, settings and counters.
///
/// ``with context:`` makes it the current one in this thread or asyncio task.
///
/// Parameters
/// ----------
/// backend
///     "cpu-serial", "cpu-parallel", "wgpu" or "wgpu:1"; by default the variable RUSTARR_BACKEND, then
///     "cpu-parallel".
/// threads
///     Computing threads of "cpu-parallel"; by default as many as the process may use.
/// cores
///     Cores that the threads are pinned to; of "cpu-serial", those that a task worker's thread is pinned to.
/// device
///     Which of several GPUs, by index or by a part of its name.
/// memory_limit
///     Most bytes that its arrays may hold.
/// fallback
///     "warn", "allow" or "error": what happens when the device lacks an operation.
/// default_float
///     float32 or float64; by default float64 where the device has it.
/// allow_software
///     Whether a GPU that is a CPU in disguise may be used.
///
/// Raises
/// ------
/// ValueError
///     If there is no such backend, no usable device (all that were found are listed, each with the reason),
///     or an option does not apply.
#[pyclass(frozen, name = "Context", module = "rustarr")]
pub struct PyContext(pub Context);

struct Options {
    threads: Option<i64>,
    cores: Option<Vec<i64>>,
    device: Option<DeviceName>,
    memory_limit: Option<i64>,
    fallback: Option<String>,
    default_float: Option<DTypeArg>,
    allow_software: Option<bool>,
}

/// A GPU by number or by name.
#[derive(FromPyObject)]
pub enum DeviceName {
    /// Position in `devices()`.
    Index(#[pyo3(from_py_with = int)] i64),
    /// A part of the adapter's name.
    Name(String),
}

fn parse_fallback(text: &str) -> PyResult<Fallback> {
    match text {
        "warn" => Ok(Fallback::Warn),
        "allow" => Ok(Fallback::Allow),
        "error" => Ok(Fallback::Error),
        other => Err(PyValueError::new_err(format!(
            "Context: fallback={other:?} is not one of \"warn\", \"allow\", \"error\""
        ))),
    }
}

fn fallback_name(fallback: Fallback) -> &'static str {
    match fallback {
        Fallback::Warn => "warn",
        Fallback::Allow => "allow",
        Fallback::Error => "error",
    }
}

impl Options {
    fn spec(self, backend: Option<&str>) -> PyResult<ContextSpec> {
        let mut spec = match backend {
            Some(text) => run(|| text.parse::<ContextSpec>())?,
            None => ContextSpec::default(),
        };
        if let Some(device) = self.device {
            if spec.device.is_some() {
                return Err(PyValueError::new_err("Context: the device is given twice"));
            }
            spec.device = Some(match device {
                DeviceName::Index(index) => natural(index, "Context", "device")?.to_string(),
                DeviceName::Name(name) => name,
            });
        }
        let option = |value: i64, name| natural(value, "Context", name);
        spec.threads = self.threads.map(|n| option(n, "threads")).transpose()?;
        spec.cores = self
            .cores
            .map(|cores| {
                cores
                    .into_iter()
                    .map(|core| option(core, "cores"))
                    .collect()
            })
            .transpose()?;
        spec.memory_limit = self
            .memory_limit
            .map(|n| option(n, "memory_limit"))
            .transpose()?;
        spec.fallback = self.fallback.as_deref().map(parse_fallback).transpose()?;
        spec.default_float = match self.default_float {
            None => None,
            Some(DTypeArg::Is(dtype)) => Some(dtype),
            Some(DTypeArg::Float) => Some(DType::F64),
            Some(_) => Some(DType::I64),
        };
        spec.allow_software = self.allow_software;
        Ok(spec)
    }
}

/// Opens a context; driver start-up can take a while and needs no interpreter.
fn open(py: Python<'_>, spec: &ContextSpec) -> PyResult<Context> {
    let context = py.detach(|| run(|| rustarr_backends::open(spec)))?;
    show_warnings(py, &context)?;
    Ok(context)
}

/// Hands the context's new warnings to Python's `warnings`.
pub fn show_warnings(py: Python<'_>, context: &Context) -> PyResult<()> {
    for text in context.take_warnings() {
        let category = py.get_type::<errors::FallbackWarning>();
        let text = std::ffi::CString::new(text).map_err(PyValueError::new_err)?;
        PyErr::warn(py, &category, &text, 1)?;
    }
    Ok(())
}

#[pymethods]
impl PyContext {
    #[new]
    #[pyo3(signature = (backend=None, /, *, threads=None, cores=None, device=None, memory_limit=None,
        fallback=None, default_float=None, allow_software=None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the keywords of the Python constructor"
    )]
    fn new(
        py: Python<'_>,
        backend: Option<&str>,
        #[pyo3(from_py_with = int)] threads: Option<i64>,
        cores: Option<Bound<'_, PyAny>>,
        device: Option<DeviceName>,
        #[pyo3(from_py_with = int)] memory_limit: Option<i64>,
        fallback: Option<String>,
        default_float: Option<DTypeArg>,
        allow_software: Option<bool>,
    ) -> PyResult<Self> {
        let options = Options {
            threads,
            cores: cores.as_ref().map(ints).transpose()?,
            device,
            memory_limit,
            fallback,
            default_float,
            allow_software,
        };
        Ok(PyContext(open(py, &options.spec(backend)?)?))
    }

    /// A "cpu-parallel" context of the cores that the calling thread may run on, one for each set of cores.
    ///
    /// For work inside another runtime that has bound its thread: nothing touches other cores. Where the system has no
    /// affinity masks it is the context of ``namespace("cpu-parallel")``.
    #[staticmethod]
    fn current_affinity(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let module = py.import("rustarr._namespace")?;
        module.getattr("_current_affinity")?.call0()
    }

    /// The name it was opened under, with the device's number: "cpu-parallel", "wgpu:1".
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Computing threads; 1 for a GPU.
    #[getter]
    fn threads(&self) -> usize {
        self.0.threads()
    }

    /// The cores that were asked for, or None.
    #[getter]
    fn cores(&self) -> Option<Vec<usize>> {
        self.0.cores().map(<[usize]>::to_vec)
    }

    /// The device of its arrays.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.0.clone())
    }

    /// What happens when the device lacks an operation: "warn", "allow" or "error".
    #[getter]
    fn fallback(&self) -> &'static str {
        fallback_name(self.0.fallback())
    }

    /// The floating dtype of creation functions.
    #[getter]
    fn default_float(&self, py: Python<'_>) -> PyResult<Py<crate::dtype::PyDType>> {
        crate::dtype::object(py, self.0.default_float())
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.0.is_closed()
    }

    /// The namespace whose functions create arrays here; one object per context.
    #[getter]
    fn namespace<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        namespace_of(slf.py(), &slf.get().0)
    }

    /// Counters since the context was made or ``reset_stats`` was called.
    ///
    /// Returns
    /// -------
    /// dict
    ///     maps (elementwise passes), reduces, verbs (other operations), fallbacks (to the host),
    ///     bytes_allocated, dispatches, pipelines (compiled), bytes_transferred (between host and device).
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.0.stats();
        let out = PyDict::new(py);
        for (name, value) in [
            ("maps", stats.maps),
            ("reduces", stats.reduces),
            ("verbs", stats.verbs),
            ("fallbacks", stats.fallbacks),
            ("bytes_allocated", stats.bytes_allocated),
            ("dispatches", stats.dispatches),
            ("pipelines", stats.pipelines),
            ("bytes_transferred", stats.bytes_transferred),
        ] {
            out.set_item(name, value)?;
        }
        Ok(out)
    }

    /// Sets every counter of ``stats`` to zero.
    fn reset_stats(&self) {
        self.0.reset_stats();
    }

    /// Runs recorded work whose result somebody holds, waits for queued work, and raises what failed.
    fn synchronize(&self) -> PyResult<()> {
        run(|| self.0.synchronize())
    }

    /// Ends the context: its arrays can still be read, new operations raise ValueError.
    fn close(&self) {
        self.0.close();
    }

    /// Bytes of the memory pool: in_use, cached, peak and limit (None without one).
    fn memory_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = self.0.memory_info();
        let out = PyDict::new(py);
        out.set_item("in_use", info.in_use)?;
        out.set_item("cached", info.cached)?;
        out.set_item("peak", info.peak)?;
        out.set_item("limit", info.limit)?;
        Ok(out)
    }

    /// Sets the limit of the memory pool in bytes; None lifts it. Over the limit, operations raise MemoryError.
    #[pyo3(signature = (limit, /))]
    fn set_memory_limit(&self, #[pyo3(from_py_with = int)] limit: Option<i64>) -> PyResult<()> {
        let limit = limit
            .map(|n| natural(n, "set_memory_limit", "limit"))
            .transpose()?;
        self.0.set_memory_limit(limit);
        Ok(())
    }

    /// Returns cached memory to the system.
    fn release(&self) {
        self.0.release();
    }

    fn __enter__(slf: &Bound<'_, Self>) -> PyResult<Py<Self>> {
        run(|| slf.get().0.check_open("with"))?;
        let stack = stack(slf.py())?;
        let pushed = stack.add((slf,))?;
        stack_variable(slf.py())?.call_method1("set", (pushed,))?;
        Ok(slf.clone().unbind())
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        _type: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let stack = stack(slf.py())?;
        let Some(depth) = stack.len().checked_sub(1) else {
            return Err(PyRuntimeError::new_err(
                "this context was entered in another thread or task",
            ));
        };
        stack_variable(slf.py())?.call_method1("set", (stack.get_slice(0, depth),))?;
        Ok(())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<PyContext>()
            .is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        // Every context opens its own backend, so that the address tells them apart.
        Arc::as_ptr(self.0.backend()).cast::<()>() as usize as u64 >> 3
    }

    fn __repr__(&self) -> String {
        let threads = match self.0.threads() {
            1 => String::new(),
            n => format!(", threads={n}"),
        };
        let closed = if self.0.is_closed() { ", closed" } else { "" };
        format!("<rustarr.Context {:?}{threads}{closed}>", self.0.name())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let module = slf.py().import("rustarr._namespace")?;
        Ok((
            module.getattr("_restore_context")?,
            module.getattr("_described")?.call1((slf,))?,
        ))
    }
}

/// Where arrays live. Every CPU context shares the device "cpu"; each opened GPU is its own.
///
/// Devices compare equal if arrays on them can be used together. A device is accepted wherever
/// ``device=`` is.
#[pyclass(frozen, name = "Device", module = "rustarr")]
pub struct PyDevice(pub Context);

/// The name of a context's memory space.
pub fn device_name(context: &Context) -> &str {
    match context.space() {
        Space::Host => "cpu",
        Space::Device(_) => context.name(),
    }
}

#[pymethods]
impl PyDevice {
    /// "cpu", or the GPU's name in ``rustarr.devices()``.
    #[getter]
    fn name(&self) -> &str {
        device_name(&self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(other) = other.cast::<PyDevice>() {
            return Ok(other.get().0.space() == self.0.space());
        }
        Ok(other
            .cast::<PyString>()
            .is_ok_and(|text| text == self.name()))
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, self.name()).hash()
    }

    fn __repr__(&self) -> String {
        format!("<rustarr.Device {:?}>", self.name())
    }

    fn __str__(&self) -> &str {
        self.name()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let restore = py
            .import("rustarr._namespace")?
            .getattr("_restore_device")?;
        Ok((restore, (self.0.name().to_owned(),)))
    }
}

/// A `device=` argument: a device, a context, or a name such as "cpu" or "wgpu:1".
pub struct DeviceArg(pub Context);

impl<'a, 'py> FromPyObject<'a, 'py> for DeviceArg {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(device) = obj.cast::<PyDevice>() {
            return Ok(DeviceArg(device.get().0.clone()));
        }
        if let Ok(context) = obj.cast::<PyContext>() {
            return Ok(DeviceArg(context.get().0.clone()));
        }
        let Ok(name) = obj.cast::<PyString>() else {
            return Err(PyTypeError::new_err(format!(
                "a device is a rustarr.Device, a rustarr.Context or a name, not {}",
                obj.get_type().name()?
            )));
        };
        Ok(DeviceArg(shared(obj.py(), &name.to_cow()?)?))
    }
}

/// The context that `rustarr.namespace(name)` has opened, or opens now. "cpu" is the current context if it
/// computes on the host, else "cpu-parallel".
pub fn shared(py: Python<'_>, name: &str) -> PyResult<Context> {
    let name = if name == "cpu" {
        let now = current(py)?;
        if now.space() == Space::Host {
            return Ok(now);
        }
        "cpu-parallel"
    } else {
        name
    };
    let found = py
        .import("rustarr._namespace")?
        .getattr("_shared_context")?
        .call1((name,))?;
    Ok(found.cast::<PyContext>()?.get().0.clone())
}

/// The namespace object of a context.
pub fn namespace_of<'py>(py: Python<'py>, context: &Context) -> PyResult<Bound<'py, PyAny>> {
    static OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let of = OF.get_or_try_init(py, || {
        PyResult::Ok(py.import("rustarr._namespace")?.getattr("_of")?.unbind())
    })?;
    of.bind(py).call1((PyContext(context.clone()),))
}

/// The context variable that holds the entered contexts, innermost last, of each thread and task.
fn stack_variable(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let variable = VARIABLE.get_or_try_init(py, || {
        let options = PyDict::new(py);
        options.set_item("default", PyTuple::empty(py))?;
        let class: Bound<'_, PyType> = py
            .import("contextvars")?
            .getattr("ContextVar")?
            .cast_into()?;
        PyResult::Ok(class.call(("rustarr.contexts",), Some(&options))?.unbind())
    })?;
    Ok(variable.bind(py))
}

fn stack(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    Ok(stack_variable(py)?
        .call_method0(pyo3::intern!(py, "get"))?
        .cast_into()?)
}

static DEFAULT: Mutex<Option<Context>> = Mutex::new(None);

/// The context of `with`, if one was entered in this thread or task.
fn entered(py: Python<'_>) -> PyResult<Option<Context>> {
    let stack = stack(py)?;
    let Some(last) = stack.len().checked_sub(1) else {
        return Ok(None);
    };
    Ok(Some(
        stack.get_item(last)?.cast::<PyContext>()?.get().0.clone(),
    ))
}

/// The current context: of `with`, else the default one, which is opened at first use.
pub fn current(py: Python<'_>) -> PyResult<Context> {
    if let Some(context) = entered(py)? {
        return Ok(context);
    }
    let set = DEFAULT.lock().map_or(None, |slot| slot.clone());
    if let Some(context) = set {
        return Ok(context);
    }
    let name = run(|| Ok::<_, Error>(rustarr_backends::Environment::read()?.backend))?;
    let context = shared(py, &name)?;
    set_default(Some(context.clone()));
    Ok(context)
}

/// Sets the default context of every thread.
pub fn set_default(context: Option<Context>) {
    if let Ok(mut slot) = DEFAULT.lock() {
        *slot = context;
    }
}

/// The front end's question: where do arrays of different CPU contexts meet? Only an entered context decides.
pub fn current_of_python() -> Option<Context> {
    Python::attach(|py| entered(py).ok().flatten())
}

/// Sets the context that is current where no ``with`` has entered one, in every thread.
///
/// Parameters
/// ----------
/// context
///     A context, or None to go back to the environment's choice.
///
/// Raises
/// ------
/// ValueError
///     For a closed context.
#[pyfunction]
#[pyo3(signature = (context, /))]
pub fn set_default_context(context: Option<&Bound<'_, PyContext>>) -> PyResult<()> {
    let context = context.map(|c| c.get().0.clone());
    if let Some(context) = &context {
        run(|| context.check_open("set_default_context"))?;
    }
    set_default(context);
    Ok(())
}

/// The current context: of the innermost ``with``, else the default one.
#[pyfunction]
pub fn current_context(py: Python<'_>) -> PyResult<PyContext> {
    current(py).map(PyContext)
}

/// Runs what every open context has recorded and somebody holds, waits for it, and raises what failed.
#[pyfunction]
pub fn synchronize() -> PyResult<()> {
    run(rustarr::context::synchronize_all)
}

/// The devices of this machine, refused ones with the reason. Opens none.
///
/// Returns
/// -------
/// list of dict
///     spec (what ``namespace`` takes), name, kind, api, threads, dtypes (native ones), max_buffer_size and
///     refused (None, or why it is not used).
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let found = py.detach(|| run(rustarr_backends::devices))?;
    found
        .into_iter()
        .map(|device| {
            let out = PyDict::new(py);
            out.set_item("spec", device.spec)?;
            out.set_item("name", device.name)?;
            out.set_item("kind", device.kind)?;
            out.set_item("api", device.api)?;
            out.set_item("threads", device.threads)?;
            let dtypes = device
                .dtypes
                .into_iter()
                .map(|d| crate::dtype::object(py, d));
            out.set_item("dtypes", dtypes.collect::<PyResult<Vec<_>>>()?)?;
            out.set_item("max_buffer_size", device.max_buffer_size)?;
            out.set_item("refused", device.refused)?;
            Ok(out)
        })
        .collect()
}

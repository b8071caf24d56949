//! The one place where errors become Python exceptions.

use pyo3::exceptions::{
    PyBufferError, PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyOverflowError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;
use rustarr::{Error, ErrorKind};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

mod types {
    use pyo3::import_exception;
    import_exception!(rustarr.exceptions, AxisError);
    import_exception!(rustarr.exceptions, BackendError);
    import_exception!(rustarr.exceptions, DeviceLostError);
    import_exception!(rustarr.exceptions, FallbackWarning);
    import_exception!(rustarr.exceptions, LinAlgError);
    import_exception!(rustarr.exceptions, PanicError);
    import_exception!(rustarr.exceptions, UnsupportedError);
}
pub use types::FallbackWarning;

thread_local! {
    /// The exception of a signal handler that interrupted work on this thread.
    static SIGNALLED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps the exception that a signal handler raised until the interrupted call reports it.
pub fn set_signalled(error: PyErr) {
    SIGNALLED.with_borrow_mut(|slot| *slot = Some(error));
}

/// The exception of an error.
#[cold]
pub fn exception(error: &Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::DType => PyTypeError::new_err(text),
        ErrorKind::Shape | ErrorKind::Value | ErrorKind::Device => PyValueError::new_err(text),
        ErrorKind::Axis => types::AxisError::new_err(text),
        ErrorKind::Index => PyIndexError::new_err(text),
        ErrorKind::Overflow => PyOverflowError::new_err(text),
        ErrorKind::DeviceLost => types::DeviceLostError::new_err(text),
        ErrorKind::Unsupported => types::UnsupportedError::new_err(text),
        ErrorKind::Memory => PyMemoryError::new_err(text),
        ErrorKind::Linalg => types::LinAlgError::new_err(text),
        ErrorKind::Buffer => PyBufferError::new_err(text),
        ErrorKind::Interrupted => SIGNALLED
            .with_borrow_mut(Option::take)
            .unwrap_or_else(|| PyKeyboardInterrupt::new_err(())),
        ErrorKind::Backend => types::BackendError::new_err(text),
    }
}

#[cold]
fn panic_exception(payload: Box<dyn Any + Send>) -> PyErr {
    let text = payload
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown panic".to_owned());
    types::PanicError::new_err(format!("internal error, please report it: {text}"))
}

/// A failed conversion of an argument, under the name of the operation that it was for.
#[cold]
pub fn in_op(py: Python<'_>, error: PyErr, op: &str) -> PyErr {
    let text = error.value(py).to_string();
    match text.strip_prefix("asarray:") {
        Some(detail) => PyErr::from_type(error.get_type(py), format!("{op}:{detail}")),
        None => error,
    }
}

/// Runs work of the front end: the door that every call passes. Errors become exceptions here, and so do
/// panics, which would otherwise reach Python as something that `except Exception` does not catch.
#[inline]
pub fn run<T>(work: impl FnOnce() -> Result<T, Error>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(exception(&error)),
        Err(payload) => Err(panic_exception(payload)),
    }
}

//! Python bindings: the compiled half of the package `rustarr`.
//!
//! Data flows one way: a Python value is read in `convert`, `buffer`, `dlpack` or `key`, the front end does the work
//! inside `errors::run`, and the result is wrapped. Nothing is computed here.
#![recursion_limit = "256"]

mod array;
mod buffer;
mod context;
mod convert;
mod creation;
mod dlpack;
mod dtype;
mod elementwise;
mod errors;
mod fft;
mod format;
mod functions;
mod hooks;
mod key;
mod linalg;
mod manipulation;
mod methods;
mod namespace;
mod operators;
mod random;
mod searching;
mod statistics;
mod tasks;

use pyo3::prelude::*;

/// The compiled half of rustarr.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::array::{PyArray, restore_array};
    #[pymodule_export]
    use super::context::{
        PyContext, PyDevice, current_context, devices, set_default_context, synchronize,
    };
    #[pymodule_export]
    use super::dtype::PyDType;
    #[pymodule_export]
    use super::fft::Fft;
    #[pymodule_export]
    use super::linalg::Linalg;
    #[pymodule_export]
    use super::namespace::Functions;
    #[pymodule_export]
    use super::random::{Generator, Random};
    #[pymodule_export]
    use super::tasks::{
        _announce, _base_size, _block, _block_or, _handle, _hold, _is_foreign, _is_read_only,
        _replica, _restore, _same_base, _settle, _span, _strike, _version, _withdraw, _within,
        Weak,
    };

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        hooks::install();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        let py = module.py();
        // Classes whose Python names are those of the modules that show their methods.
        module.add("Functions", py.get_type::<namespace::Functions>())?;
        module.add("Linalg", py.get_type::<linalg::Linalg>())?;
        module.add("Fft", py.get_type::<fft::Fft>())?;
        module.add("Random", py.get_type::<random::Random>())?;
        for dtype in rustarr::DType::ALL {
            module.add(dtype.name(), dtype::object(py, dtype)?)?;
        }
        Ok(())
    }
}

//! Fourier transforms. Source: array API standard 2025.12, "Fourier transform Functions".

use crate::array::{PyArray, wrap};
use crate::context::DeviceArg;
use crate::convert::{Axes, int};
use crate::dtype::DTypeArg;
use crate::namespace::{Functions, Home};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use rustarr::ops::fft::{self, Norm};

/// The functions of the extension ``fft``.
///
/// Parameters
/// ----------
/// functions
///     The namespace's functions.
#[pyclass(frozen, name = "fft", module = "rustarr._core")]
pub struct Fft(Home);

#[pymethods]
impl Fft {
    #[new]
    #[pyo3(signature = (functions, /))]
    fn new(functions: &Bound<'_, Functions>) -> Self {
        Fft(functions.get().0.clone())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (Functions,)) {
        (py.get_type::<Fft>(), (Functions(self.0.clone()),))
    }
}

fn norm(name: &str) -> PyResult<Norm> {
    match name {
        "backward" => Ok(Norm::Backward),
        "ortho" => Ok(Norm::Ortho),
        "forward" => Ok(Norm::Forward),
        other => Err(PyValueError::new_err(format!(
            "fft: norm={other:?} is not one of \"backward\", \"ortho\", \"forward\""
        ))),
    }
}

fn axes(axes: &Option<Axes>) -> Option<&[i64]> {
    axes.as_ref().map(|a| a.0.as_slice())
}

/// Transforms along one axis.
macro_rules! one_axis {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {
        #[pymethods]
        impl Fft {
            $(
                $(#[doc = $doc])*
                ///
                /// Parameters
                /// ----------
                /// x
                ///     An array.
                /// n
                ///     The length of the transform: x is cut or padded with zeros.
                /// axis
                ///     The axis.
                /// norm
                ///     "backward" scales the inverse by ``1/n``, "forward" the forward transform, "ortho" both by
                ///     ``1/sqrt(n)``.
                ///
                /// Raises
                /// ------
                /// ValueError
                ///     For a length that is not positive.
                #[pyo3(signature = (x, /, *, n=None, axis=-1, norm="backward"))]
                fn $name(
                    &self,
                    x: &Bound<'_, PyAny>,
                    #[pyo3(from_py_with = int)] n: Option<i64>,
                    #[pyo3(from_py_with = int)] axis: i64,
                    norm: &str,
                ) -> PyResult<PyArray> {
                    let (array, norm) = (self.0.array(x)?, self::norm(norm)?);
                    wrap(x.py(), || fft::$name(&array, n, axis, norm))
                }
            )*
        }
    };
}
one_axis! {
    /// The discrete Fourier transform.
    fft;
    /// The inverse discrete Fourier transform.
    ifft;
    /// The non-negative half of the transform of real numbers.
    rfft;
    /// The real signal whose half spectrum is x; its length is ``2 * (m - 1)`` by default.
    irfft;
    /// The real spectrum of a signal with Hermitian symmetry, of which x is the non-negative half.
    hfft;
    /// The non-negative half of the signal whose real spectrum is x.
    ihfft;
}

/// Transforms along several axes.
macro_rules! several_axes {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {
        #[pymethods]
        impl Fft {
            $(
                $(#[doc = $doc])*
                ///
                /// Parameters
                /// ----------
                /// x
                ///     An array.
                /// s
                ///     The lengths along the axes: x is cut or padded with zeros.
                /// axes
                ///     The axes; all by default, or the last ones for which there are lengths.
                /// norm
                ///     "backward", "ortho" or "forward".
                #[pyo3(signature = (x, /, *, s=None, axes=None, norm="backward"))]
                fn $name(
                    &self,
                    x: &Bound<'_, PyAny>,
                    s: Option<Axes>,
                    axes: Option<Axes>,
                    norm: &str,
                ) -> PyResult<PyArray> {
                    let (array, norm) = (self.0.array(x)?, self::norm(norm)?);
                    wrap(x.py(), || fft::$name(&array, self::axes(&s), self::axes(&axes), norm))
                }
            )*
        }
    };
}
several_axes! {
    /// The discrete Fourier transform over several axes.
    fftn;
    /// The inverse discrete Fourier transform over several axes.
    ifftn;
    /// The transform of real numbers over several axes: half of the spectrum along the last.
    rfftn;
    /// The real signal whose half spectrum over several axes is x.
    irfftn;
}

#[pymethods]
impl Fft {
    /// The frequencies of a transform of length n.
    ///
    /// Parameters
    /// ----------
    /// n
    ///     The length.
    /// d
    ///     The sample spacing.
    /// dtype
    ///     By default the default float.
    /// device
    ///     By default this namespace's device.
    #[pyo3(signature = (n, /, *, d=1.0, dtype=None, device=None))]
    fn fftfreq(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] n: i64,
        d: f64,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        let context = self.0.on(py, device)?;
        let dtype = dtype.map(|d| d.resolve(&context));
        wrap(py, || fft::fftfreq(&context, n, d, dtype))
    }

    /// The frequencies of a half spectrum of n real numbers; see ``fftfreq`` for the parameters.
    #[pyo3(signature = (n, /, *, d=1.0, dtype=None, device=None))]
    fn rfftfreq(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] n: i64,
        d: f64,
        dtype: Option<DTypeArg>,
        device: Option<DeviceArg>,
    ) -> PyResult<PyArray> {
        let context = self.0.on(py, device)?;
        let dtype = dtype.map(|d| d.resolve(&context));
        wrap(py, || fft::rfftfreq(&context, n, d, dtype))
    }

    /// The zero frequency moved to the middle, along axes or along all.
    #[pyo3(signature = (x, /, *, axes=None))]
    fn fftshift(&self, x: &Bound<'_, PyAny>, axes: Option<Axes>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || fft::fftshift(&array, self::axes(&axes)))
    }

    /// The inverse of ``fftshift``.
    #[pyo3(signature = (x, /, *, axes=None))]
    fn ifftshift(&self, x: &Bound<'_, PyAny>, axes: Option<Axes>) -> PyResult<PyArray> {
        let array = self.0.array(x)?;
        wrap(x.py(), || fft::ifftshift(&array, self::axes(&axes)))
    }
}

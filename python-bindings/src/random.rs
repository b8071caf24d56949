//! Random numbers, under NumPy's names. The streams are counter-based: uniforms, integers and raw bits are the same on
//! every backend and for any number of threads, normals the same on the CPU backends.

use crate::array::{PyArray, read, wrap};
use crate::convert::{Shape, int, ints};
use crate::dtype::DTypeArg;
use crate::errors::run;
use crate::namespace::{Functions, Home};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use rustarr::ops::random;
use rustarr::{Array, DType};

/// The `size=` of a draw; one value by default.
fn sizes(size: Option<Shape>) -> PyResult<Vec<usize>> {
    size.map_or(Ok(Vec::new()), |shape| shape.sizes("random"))
}

/// The bounds of random integers as NumPy writes them: one bound alone is the upper one.
fn bounds(low: i128, high: Option<i128>, endpoint: bool) -> (i128, i128) {
    let (low, high) = high.map_or((0, low), |high| (low, high));
    (low, high.saturating_add(i128::from(endpoint)))
}

/// A seed: a number of 64 bits.
fn seed_of(seed: &Bound<'_, PyAny>, op: &str) -> PyResult<u64> {
    let seed = seed
        .call_method0("__index__")
        .map_err(|_| PyTypeError::new_err(format!("{op}: the seed is an integer or None")))?;
    if seed.lt(0)? {
        return Err(PyValueError::new_err(format!(
            "{op}: the seed {seed} is negative"
        )));
    }
    if let Ok(short) = seed.extract::<u64>() {
        return Ok(short);
    }
    let words: usize = seed
        .call_method0("bit_length")?
        .extract::<usize>()?
        .div_ceil(64);
    let bytes: Vec<u8> = seed
        .call_method1("to_bytes", (8 * words, "little"))?
        .extract()?;
    Ok(random::mixed(bytes.chunks_exact(8).map(|word| {
        word.iter()
            .rev()
            .fold(0, |n, &byte| n << 8 | u64::from(byte))
    })))
}

/// What both faces draw from: NumPy's module functions from the process's stream, a generator from its own.
struct Draw<'a> {
    home: &'a Home,
    stream: &'a random::Generator,
}

impl Draw<'_> {
    fn uniform(
        &self,
        py: Python<'_>,
        low: f64,
        high: f64,
        size: Option<Shape>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        let (context, size) = (self.home.context(py)?, sizes(size)?);
        let dtype = dtype.map(|d| d.resolve(&context));
        wrap(py, || {
            self.stream.uniform(&context, low, high, &size, dtype)
        })
    }

    fn normal(
        &self,
        py: Python<'_>,
        mean: f64,
        deviation: f64,
        size: Option<Shape>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        let (context, size) = (self.home.context(py)?, sizes(size)?);
        let dtype = dtype.map(|d| d.resolve(&context));
        wrap(py, || {
            self.stream.normal(&context, mean, deviation, &size, dtype)
        })
    }

    fn integers(
        &self,
        py: Python<'_>,
        (low, high): (i128, i128),
        size: Option<Shape>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        let (context, size) = (self.home.context(py)?, sizes(size)?);
        let dtype = dtype.map(|d| d.resolve(&context));
        wrap(py, || {
            self.stream.integers(&context, low, high, &size, dtype)
        })
    }

    fn permutation(&self, x: &Bound<'_, PyAny>, axis: i64) -> PyResult<PyArray> {
        let py = x.py();
        if !x.is_instance_of::<PyArray>()
            && let Ok(n) = int(x)
        {
            let context = self.home.context(py)?;
            let n = Shape(vec![n]).sizes("permutation")?[0];
            return wrap(py, || self.stream.permutation(&context, n));
        }
        let array = self.home.array(x)?;
        wrap(py, || self.stream.permuted(&array, axis))
    }

    fn shuffle(&self, x: &Bound<'_, PyAny>, axis: i64) -> PyResult<()> {
        let array = x
            .cast::<PyArray>()
            .map_err(|_| PyTypeError::new_err("shuffle: only an array can be shuffled in place"))?;
        let array = &array.get().0;
        read(x.py(), array, || self.stream.shuffle(array, axis))
    }

    fn choice(
        &self,
        a: &Bound<'_, PyAny>,
        size: Option<Shape>,
        replace: bool,
        p: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        let (py, size) = (a.py(), sizes(size)?);
        let pool: Array = match int::<i64>(a) {
            Ok(n) if !a.is_instance_of::<PyArray>() => {
                let context = self.home.context(py)?;
                run(|| {
                    rustarr::ops::arange(
                        &context,
                        rustarr::Weak::Int(n.into()),
                        None,
                        rustarr::Weak::Int(1),
                        Some(DType::I64),
                    )
                })?
            }
            _ => self.home.array(a)?,
        };
        let p = p.map(|p| self.home.array(p)).transpose()?;
        wrap(py, || self.stream.choice(&pool, &size, replace, p.as_ref()))
    }
}

/// The functions of ``random``: one stream for the process.
///
/// Parameters
/// ----------
/// functions
///     The namespace's functions.
#[pyclass(frozen, name = "random", module = "rustarr._core")]
pub struct Random(Home);

impl Random {
    fn draw(&self) -> Draw<'_> {
        Draw {
            home: &self.0,
            stream: random::default_generator(),
        }
    }
}

#[pymethods]
impl Random {
    #[new]
    #[pyo3(signature = (functions, /))]
    fn new(functions: &Bound<'_, Functions>) -> Self {
        Random(functions.get().0.clone())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (Functions,)) {
        (py.get_type::<Random>(), (Functions(self.0.clone()),))
    }

    /// Starts the process's stream anew, from a seed as of ``default_rng`` or from the operating system.
    #[pyo3(signature = (seed=None, /))]
    fn seed(&self, seed: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        random::seed(seed.map(|s| seed_of(s, "seed")).transpose()?);
        Ok(())
    }

    /// A generator with a stream of its own.
    ///
    /// Parameters
    /// ----------
    /// seed
    ///     An integer that is not negative (of more than 64 bits, its words are mixed to 64), a generator to take as it
    ///     is, or None for the operating system's choice.
    #[pyo3(signature = (seed=None, /))]
    fn default_rng<'py>(
        &self,
        py: Python<'py>,
        seed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Generator>> {
        if let Some(ready) = seed.and_then(|s| s.cast::<Generator>().ok()) {
            return Ok(ready.clone());
        }
        let stream = match seed {
            None => random::Generator::from_os(),
            Some(seed) => random::Generator::new(seed_of(seed, "default_rng")?),
        };
        Bound::new(
            py,
            Generator {
                home: self.0.clone(),
                stream,
            },
        )
    }

    /// Uniform numbers in [0, 1) in the shape of the arguments.
    #[pyo3(signature = (*shape))]
    fn rand(&self, shape: &Bound<'_, PyTuple>) -> PyResult<PyArray> {
        let size = Shape(ints(shape)?);
        self.draw().uniform(shape.py(), 0.0, 1.0, Some(size), None)
    }

    /// Standard normal numbers in the shape of the arguments.
    #[pyo3(signature = (*shape))]
    fn randn(&self, shape: &Bound<'_, PyTuple>) -> PyResult<PyArray> {
        let size = Shape(ints(shape)?);
        self.draw().normal(shape.py(), 0.0, 1.0, Some(size), None)
    }

    /// Uniform numbers in [0, 1).
    #[pyo3(signature = (size=None))]
    fn random(&self, py: Python<'_>, size: Option<Shape>) -> PyResult<PyArray> {
        self.draw().uniform(py, 0.0, 1.0, size, None)
    }

    /// Uniform numbers in [low, high).
    #[pyo3(signature = (low=0.0, high=1.0, size=None))]
    fn uniform(
        &self,
        py: Python<'_>,
        low: f64,
        high: f64,
        size: Option<Shape>,
    ) -> PyResult<PyArray> {
        self.draw().uniform(py, low, high, size, None)
    }

    /// Normal numbers of a mean and a standard deviation.
    #[pyo3(signature = (loc=0.0, scale=1.0, size=None))]
    fn normal(
        &self,
        py: Python<'_>,
        loc: f64,
        scale: f64,
        size: Option<Shape>,
    ) -> PyResult<PyArray> {
        self.draw().normal(py, loc, scale, size, None)
    }

    /// Standard normal numbers.
    #[pyo3(signature = (size=None))]
    fn standard_normal(&self, py: Python<'_>, size: Option<Shape>) -> PyResult<PyArray> {
        self.draw().normal(py, 0.0, 1.0, size, None)
    }

    /// Uniform integers in [low, high), or in [0, low) where there is no high.
    #[pyo3(signature = (low, high=None, size=None, dtype=None))]
    fn randint(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] low: i128,
        #[pyo3(from_py_with = int)] high: Option<i128>,
        size: Option<Shape>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        self.draw()
            .integers(py, bounds(low, high, false), size, dtype)
    }

    /// The numbers below x, or the slices of x along its first axis, in random order.
    #[pyo3(signature = (x, /))]
    fn permutation(&self, x: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        self.draw().permutation(x, 0)
    }

    /// Brings the slices of x along its first axis into random order, in place.
    #[pyo3(signature = (x, /))]
    fn shuffle(&self, x: &Bound<'_, PyAny>) -> PyResult<()> {
        self.draw().shuffle(x, 0)
    }

    /// Elements of a, or numbers below it, drawn with or without replacement, each as likely or with probabilities p.
    #[pyo3(signature = (a, size=None, replace=true, p=None))]
    fn choice(
        &self,
        a: &Bound<'_, PyAny>,
        size: Option<Shape>,
        replace: bool,
        p: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        self.draw().choice(a, size, replace, p)
    }
}

/// A stream of random numbers; made by ``random.default_rng``.
#[pyclass(frozen, module = "rustarr")]
pub struct Generator {
    home: Home,
    stream: random::Generator,
}

impl Generator {
    fn draw(&self) -> Draw<'_> {
        Draw {
            home: &self.home,
            stream: &self.stream,
        }
    }
}

#[pymethods]
impl Generator {
    /// Uniform numbers in [0, 1).
    #[pyo3(signature = (size=None, dtype=None))]
    fn random(
        &self,
        py: Python<'_>,
        size: Option<Shape>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        self.draw().uniform(py, 0.0, 1.0, size, dtype)
    }

    /// Uniform numbers in [low, high).
    #[pyo3(signature = (low=0.0, high=1.0, size=None, dtype=None))]
    fn uniform(
        &self,
        py: Python<'_>,
        low: f64,
        high: f64,
        size: Option<Shape>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        self.draw().uniform(py, low, high, size, dtype)
    }

    /// Normal numbers of a mean and a standard deviation.
    #[pyo3(signature = (loc=0.0, scale=1.0, size=None, dtype=None))]
    fn normal(
        &self,
        py: Python<'_>,
        loc: f64,
        scale: f64,
        size: Option<Shape>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        self.draw().normal(py, loc, scale, size, dtype)
    }

    /// Standard normal numbers.
    #[pyo3(signature = (size=None, dtype=None))]
    fn standard_normal(
        &self,
        py: Python<'_>,
        size: Option<Shape>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        self.draw().normal(py, 0.0, 1.0, size, dtype)
    }

    /// Uniform integers from low to below high, or to high with ``endpoint``; one bound alone is the upper one.
    #[pyo3(signature = (low, high=None, size=None, dtype=None, endpoint=false))]
    fn integers(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = int)] low: i128,
        #[pyo3(from_py_with = int)] high: Option<i128>,
        size: Option<Shape>,
        dtype: Option<DTypeArg>,
        endpoint: bool,
    ) -> PyResult<PyArray> {
        self.draw()
            .integers(py, bounds(low, high, endpoint), size, dtype)
    }

    /// Raw bits, uint32 or uint64.
    #[pyo3(signature = (size=None, dtype=None))]
    fn bits(
        &self,
        py: Python<'_>,
        size: Option<Shape>,
        dtype: Option<DTypeArg>,
    ) -> PyResult<PyArray> {
        let (context, size) = (self.home.context(py)?, sizes(size)?);
        let dtype = dtype.map_or(DType::U64, |d| d.resolve(&context));
        wrap(py, || self.stream.bits(&context, &size, dtype))
    }

    /// The numbers below x, or the slices of x along an axis, in random order.
    #[pyo3(signature = (x, /, axis=0))]
    fn permutation(
        &self,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = int)] axis: i64,
    ) -> PyResult<PyArray> {
        self.draw().permutation(x, axis)
    }

    /// Brings the slices of x along an axis into random order, in place.
    #[pyo3(signature = (x, /, axis=0))]
    fn shuffle(&self, x: &Bound<'_, PyAny>, #[pyo3(from_py_with = int)] axis: i64) -> PyResult<()> {
        self.draw().shuffle(x, axis)
    }

    /// Elements of a, or numbers below it, drawn with or without replacement, each as likely or with probabilities p.
    #[pyo3(signature = (a, size=None, replace=true, p=None))]
    fn choice(
        &self,
        a: &Bound<'_, PyAny>,
        size: Option<Shape>,
        replace: bool,
        p: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        self.draw().choice(a, size, replace, p)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let (key, counter) = slf.get().stream.state();
        let context = slf.get().home.context(py)?;
        let class: Bound<'py, PyType> = slf.get_type();
        let restore = class.getattr("_restore")?;
        Ok((restore, (context.name(), key, counter).into_pyobject(py)?))
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, context: &str, key: u64, counter: u64) -> PyResult<Self> {
        let name = pyo3::types::PyString::new(py, context);
        let home = Home::new(Some(name.as_any()))?;
        Ok(Generator {
            home,
            stream: random::Generator::at(key, counter),
        })
    }
}

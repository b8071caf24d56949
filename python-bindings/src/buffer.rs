//! Memory of other Python objects as arrays, and arrays as memory for other Python objects.

use crate::context::device_name;
use crate::errors::run;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use rustarr::interface::{ForeignMemory, Layout};
use rustarr::{Array, Context, DType, Export};
use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

/// Elements in foreign host memory: what the buffer protocol and DLPack have in common.
pub struct Foreign {
    /// The first element.
    pub ptr: *mut u8,
    /// Sizes of the dimensions.
    pub shape: Vec<usize>,
    /// Steps in bytes.
    pub strides: Vec<isize>,
    /// The element type.
    pub dtype: DType,
    /// Whether the bytes of an element are in the other order.
    pub swapped: bool,
    /// Whether the memory must not be written.
    pub read_only: bool,
    /// Keeps the memory alive.
    pub owner: Box<dyn std::any::Any + Send + Sync>,
}

impl Foreign {
    fn size(&self) -> usize {
        self.shape.iter().product()
    }

    fn is_contiguous(&self) -> bool {
        let mut step = self.dtype.itemsize() as isize;
        for (&dim, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if dim != 1 && stride != step {
                return self.size() == 0;
            }
            step *= dim as isize;
        }
        true
    }

    /// Why the memory cannot be used as it is, or the layout over it and the bytes before and after the first
    /// element.
    fn layout(&self) -> Result<(Layout, usize, usize), &'static str> {
        let item = self.dtype.itemsize();
        // Complex numbers are as aligned as their parts.
        let align = if matches!(self.dtype, DType::C64 | DType::C128) {
            item / 2
        } else {
            item
        };
        if self.swapped {
            return Err("its byte order is not the machine's");
        }
        if !(self.ptr as usize).is_multiple_of(align) {
            return Err("it is not aligned");
        }
        if self.size() == 0 {
            return Ok((Layout::contiguous(&self.shape), 0, 0));
        }
        let (mut before, mut after) = (0usize, item);
        let mut strides = Vec::with_capacity(self.shape.len());
        for (&dim, &stride) in self.shape.iter().zip(&self.strides) {
            if dim == 1 {
                strides.push(0);
                continue;
            }
            if stride % item as isize != 0 {
                return Err("its strides are not whole elements");
            }
            strides.push(stride / item as isize);
            let span = stride.unsigned_abs() * (dim - 1);
            if stride < 0 {
                before += span
            } else {
                after += span
            }
        }
        Ok((
            Layout::new(&self.shape, &strides, before / item),
            before,
            after,
        ))
    }

    /// An array over the memory itself.
    ///
    /// # Errors
    /// `ValueError` where it takes a copy.
    pub fn share(self, context: &Context) -> PyResult<Array> {
        let (layout, before, after) = self.layout().map_err(|why| {
            PyValueError::new_err(format!(
                "asarray: copy=False, but the memory cannot be shared: {why}"
            ))
        })?;
        if !context.backend().caps().host_visible {
            return Err(PyValueError::new_err(format!(
                "asarray: copy=False, but the memory is on cpu and {} is not",
                device_name(context)
            )));
        }
        if self.size() == 0 {
            return run(|| Array::from_bytes(context, self.dtype, &self.shape, &[]));
        }
        let first = NonNull::new(self.ptr.wrapping_sub(before))
            .ok_or_else(|| PyBufferError::new_err("asarray: the memory has no address"))?;
        let (dtype, writable) = (self.dtype, !self.read_only);
        // SAFETY: the owner keeps the bytes from `before` the first element to `after` it alive: the strides
        // that it gave stay inside them.
        let memory = unsafe { ForeignMemory::new(first, before + after, self.owner) };
        // SAFETY: the layout was made from the owner's own strides, and is aligned.
        run(|| unsafe { Array::from_foreign(context, memory, dtype, layout, writable) })
    }

    /// An array with a copy of the elements.
    pub fn snapshot(self, context: &Context) -> PyResult<Array> {
        let host = context.backend().caps().host_visible;
        if !self.swapped && self.is_contiguous() {
            let bytes = self.size() * self.dtype.itemsize();
            let bytes: &[u8] = if bytes == 0 {
                &[]
            } else {
                // SAFETY: contiguous memory of that many bytes, which the owner keeps alive. The interpreter
                // is held or the user has promised not to write meanwhile, as for any reader of a buffer.
                unsafe { std::slice::from_raw_parts(self.ptr, bytes) }
            };
            return run(|| Array::from_bytes(context, self.dtype, &self.shape, bytes));
        }
        if host && self.layout().is_ok() {
            // Strided copies are a kernel's work.
            let view = self.share(context)?;
            return run(|| view.copy());
        }
        let bytes = self.gather();
        run(|| Array::from_bytes(context, self.dtype, &self.shape, &bytes))
    }

    /// The elements in row-major order and in the machine's byte order.
    fn gather(&self) -> Vec<u8> {
        let item = self.dtype.itemsize();
        let size = self.size();
        let mut out = Vec::with_capacity(size * item);
        let mut index = vec![0usize; self.shape.len()];
        let mut at = self.ptr.cast_const();
        for _ in 0..size {
            // SAFETY: `at` is the address of the element `index`, which is inside the shape.
            out.extend_from_slice(unsafe { std::slice::from_raw_parts(at, item) });
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                at = at.wrapping_offset(self.strides[axis]);
                if index[axis] < self.shape[axis] {
                    break;
                }
                at = at.wrapping_offset(-self.strides[axis] * self.shape[axis] as isize);
                index[axis] = 0;
            }
        }
        if self.swapped {
            let part = if matches!(self.dtype, DType::C64 | DType::C128) {
                item / 2
            } else {
                item
            };
            out.chunks_exact_mut(part).for_each(<[u8]>::reverse);
        }
        out
    }
}

/// The memory behind an object with the buffer protocol; `None` if it has none.
///
/// # Errors
/// `TypeError` for elements of another kind than an array's.
pub fn import(obj: &Bound<'_, PyAny>) -> PyResult<Option<Foreign>> {
    // SAFETY: a live object of the interpreter that we hold.
    if unsafe { ffi::PyObject_CheckBuffer(obj.as_ptr()) } == 0 {
        return Ok(None);
    }
    let view = match View::of(obj) {
        Ok(view) => view,
        // NumPy's dtypes that the protocol cannot say (dates, for example) end here.
        Err(error) => {
            let text = error.value(obj.py()).to_string();
            return Err(PyTypeError::new_err(format!(
                "asarray: no array of this memory: {text}"
            )));
        }
    };
    let item = view.0.itemsize as usize;
    let Some((dtype, swapped)) = parse_format(view.format(), item) else {
        return Err(PyTypeError::new_err(format!(
            "asarray: no dtype for elements of format {:?} with {item} bytes",
            view.format().to_string_lossy(),
        )));
    };
    if !view.0.suboffsets.is_null() {
        return Err(PyTypeError::new_err(
            "asarray: memory with indirect dimensions",
        ));
    }
    Ok(Some(Foreign {
        ptr: view.0.buf.cast(),
        shape: view
            .list(view.0.shape)
            .iter()
            .map(|&d| d as usize)
            .collect(),
        strides: view.list(view.0.strides).to_vec(),
        dtype,
        swapped,
        read_only: view.0.readonly != 0,
        owner: Box::new(view),
    }))
}

/// A view that an object has filled. PyO3's own refuses those without dimensions: NumPy's scalars.
struct View(Box<ffi::Py_buffer>);

// SAFETY: the view is only read, and released with the interpreter held.
unsafe impl Send for View {}
// SAFETY: as for `Send`.
unsafe impl Sync for View {}

impl View {
    fn of(obj: &Bound<'_, PyAny>) -> PyResult<View> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: a live object, and a view to be filled; a failed request leaves nothing to release.
        let code =
            unsafe { ffi::PyObject_GetBuffer(obj.as_ptr(), &raw mut *view, ffi::PyBUF_FULL_RO) };
        if code != 0 {
            return Err(PyErr::fetch(obj.py()));
        }
        Ok(View(view))
    }

    fn format(&self) -> &CStr {
        if self.0.format.is_null() {
            return c"B";
        }
        // SAFETY: a format is a C string that lives as long as the view.
        unsafe { CStr::from_ptr(self.0.format) }
    }

    /// One of the view's lists of `ndim` numbers; null where there are no dimensions.
    fn list(&self, numbers: *const ffi::Py_ssize_t) -> &[ffi::Py_ssize_t] {
        if numbers.is_null() {
            return &[];
        }
        // SAFETY: the protocol promises `ndim` numbers, as long as the view lives.
        unsafe { std::slice::from_raw_parts(numbers, self.0.ndim as usize) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // At interpreter exit there is nobody left to take it.
        Python::try_attach(|_| {
            // SAFETY: filled by `PyObject_GetBuffer` and released once.
            unsafe { ffi::PyBuffer_Release(&raw mut *self.0) }
        });
    }
}

/// A format of the `struct` module with one element, and whether its byte order is foreign.
fn parse_format(format: &CStr, itemsize: usize) -> Option<(DType, bool)> {
    let mut text = format.to_bytes();
    let mut swapped = false;
    if let [order @ (b'@' | b'=' | b'<' | b'>' | b'!' | b'^'), rest @ ..] = text {
        let little = match order {
            b'<' => true,
            b'>' | b'!' => false,
            _ => cfg!(target_endian = "little"),
        };
        swapped = little != cfg!(target_endian = "little");
        text = rest;
    }
    let dtype = match text {
        b"?" => DType::Bool,
        b"b" | b"h" | b"i" | b"l" | b"q" | b"n" => match itemsize {
            1 => DType::I8,
            2 => DType::I16,
            4 => DType::I32,
            8 => DType::I64,
            _ => return None,
        },
        b"B" | b"H" | b"I" | b"L" | b"Q" | b"N" => match itemsize {
            1 => DType::U8,
            2 => DType::U16,
            4 => DType::U32,
            8 => DType::U64,
            _ => return None,
        },
        b"e" => DType::F16,
        b"f" => DType::F32,
        b"d" => DType::F64,
        b"Zf" => DType::C64,
        b"Zd" => DType::C128,
        _ => return None,
    };
    (dtype.itemsize() == itemsize).then_some((dtype, swapped && itemsize > 1))
}

fn format_of(dtype: DType) -> &'static CStr {
    match dtype {
        DType::Bool => c"?",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        DType::I64 => c"q",
        DType::U8 => c"B",
        DType::U16 => c"H",
        DType::U32 => c"I",
        DType::U64 => c"Q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
    }
}

/// What a filled `Py_buffer` points into; freed with it.
struct Held {
    export: Export,
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
}

/// Fills `view` with the memory of an array (PEP 3118).
///
/// # Errors
/// `BufferError` off the host, for a writable view of read-only memory, and where the consumer takes only
/// contiguous memory.
///
/// # Safety
/// `view` is a `Py_buffer` that the consumer passed in, or null.
pub unsafe fn fill(
    owner: &Bound<'_, PyAny>,
    array: &Array,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    if view.is_null() {
        return Err(PyBufferError::new_err("no view to fill"));
    }
    // SAFETY: not null, and the consumer's to be filled. A failed request leaves `obj` null.
    unsafe { (*view).obj = std::ptr::null_mut() };
    let context = array.context();
    if !context.backend().caps().host_visible {
        return Err(PyBufferError::new_err(format!(
            "the array is on {}; rustarr.asnumpy(x) copies it to NumPy, x.to_device(\"cpu\") to the host",
            device_name(context)
        )));
    }
    if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE && !array.is_writable() {
        let reason = array.read_only_reason();
        return Err(PyBufferError::new_err(reason.unwrap_or_else(|| {
            "the array is read-only: several elements are one".to_owned()
        })));
    }
    let asks = |flag: c_int| flags & flag == flag;
    let (rows, columns) = (is_c_contiguous(array), is_f_contiguous(array));
    if (asks(ffi::PyBUF_C_CONTIGUOUS) && !rows)
        || (asks(ffi::PyBUF_F_CONTIGUOUS) && !columns)
        || (asks(ffi::PyBUF_ANY_CONTIGUOUS) && !(rows || columns))
        || (!asks(ffi::PyBUF_STRIDES) && !rows)
    {
        return Err(PyBufferError::new_err("the array is not contiguous"));
    }
    let export = run(|| array.export())?;
    let item = export.dtype().itemsize();
    let mut held = Box::new(Held {
        shape: export
            .shape()
            .iter()
            .map(|&d| d as ffi::Py_ssize_t)
            .collect(),
        strides: export
            .strides()
            .iter()
            .map(|&s| s * item as isize)
            .collect(),
        export,
    });
    // SAFETY: `view` is valid for writes, as above. Everything it points to lives in `held`, which `release`
    // frees; the format is static.
    unsafe {
        (*view).buf = held.export.ptr().as_ptr().cast::<c_void>();
        (*view).len = (array.size() * item) as ffi::Py_ssize_t;
        (*view).readonly = c_int::from(held.export.is_read_only());
        (*view).itemsize = item as ffi::Py_ssize_t;
        (*view).format = if asks(ffi::PyBUF_FORMAT) {
            format_of(held.export.dtype()).as_ptr().cast_mut()
        } else {
            std::ptr::null_mut()
        };
        (*view).ndim = array.ndim() as c_int;
        (*view).shape = if asks(ffi::PyBUF_ND) {
            held.shape.as_mut_ptr()
        } else {
            std::ptr::null_mut()
        };
        (*view).strides = if asks(ffi::PyBUF_STRIDES) {
            held.strides.as_mut_ptr()
        } else {
            std::ptr::null_mut()
        };
        (*view).suboffsets = std::ptr::null_mut();
        (*view).internal = Box::into_raw(held).cast();
        (*view).obj = owner.clone().into_ptr();
    }
    Ok(())
}

/// Frees what [`fill`] made.
///
/// # Safety
/// `view` was filled by [`fill`] and is released once.
pub unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: `internal` is the box that `fill` leaked.
    drop(unsafe { Box::from_raw((*view).internal.cast::<Held>()) });
}

fn is_c_contiguous(array: &Array) -> bool {
    array.layout().is_contiguous()
}

fn is_f_contiguous(array: &Array) -> bool {
    let reversed: Vec<usize> = (0..array.ndim()).rev().collect();
    array.layout().permute(&reversed).is_contiguous()
}

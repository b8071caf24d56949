//! DLPack 1.x, both ways: versioned capsules, and the older unversioned ones.

use crate::buffer::Foreign;
use crate::context::device_name;
use crate::errors::run;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use rustarr::interface::{Layout, Space};
use rustarr::{Array, Context, DType, Export};
use std::ffi::{CStr, c_int, c_void};

/// Host memory.
pub const CPU: c_int = 1;
/// Memory of a Vulkan device.
const VULKAN: c_int = 7;
/// Memory of a Metal device.
const METAL: c_int = 8;
/// The version that is written.
const VERSION: (u32, u32) = (1, 1);

const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

const PLAIN: &CStr = c"dltensor";
const PLAIN_USED: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const VERSIONED_USED: &CStr = c"used_dltensor_versioned";

#[repr(C)]
#[derive(Clone, Copy)]
struct Device {
    kind: c_int,
    id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    version: (u32, u32),
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: Tensor,
}

fn type_of(dtype: DType) -> DataType {
    let code = match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
        DType::C64 | DType::C128 => 5,
        DType::Bool => 6,
    };
    DataType {
        code,
        bits: 8 * dtype.itemsize() as u8,
        lanes: 1,
    }
}

/// Type and number of an array's device.
pub fn device_of(context: &Context) -> (c_int, u32) {
    match context.space() {
        Space::Host => (CPU, 0),
        Space::Device(number) => (
            if cfg!(target_vendor = "apple") {
                METAL
            } else {
                VULKAN
            },
            number,
        ),
    }
}

/// The two structures that are handed over.
trait Handover: Sized {
    const NAME: &'static CStr;
    const USED: &'static CStr;
    fn tensor(&self) -> &Tensor;
    fn read_only(&self) -> bool;
    fn wrap(tensor: Tensor, manager: *mut c_void, flags: u64) -> Self;
    fn manager(&self) -> *mut c_void;
    /// # Safety
    /// `this` was handed over, and is deleted once.
    unsafe fn delete(this: *mut Self);
}

impl Handover for Managed {
    const NAME: &'static CStr = PLAIN;
    const USED: &'static CStr = PLAIN_USED;
    fn tensor(&self) -> &Tensor {
        &self.tensor
    }
    fn read_only(&self) -> bool {
        false
    }
    fn wrap(tensor: Tensor, manager: *mut c_void, _flags: u64) -> Self {
        Managed {
            tensor,
            manager,
            deleter: Some(delete_ours::<Self>),
        }
    }
    fn manager(&self) -> *mut c_void {
        self.manager
    }
    unsafe fn delete(this: *mut Self) {
        // SAFETY: as the caller promises.
        unsafe {
            if let Some(delete) = (*this).deleter {
                delete(this);
            }
        }
    }
}

impl Handover for ManagedVersioned {
    const NAME: &'static CStr = VERSIONED;
    const USED: &'static CStr = VERSIONED_USED;
    fn tensor(&self) -> &Tensor {
        &self.tensor
    }
    fn read_only(&self) -> bool {
        self.flags & READ_ONLY != 0
    }
    fn wrap(tensor: Tensor, manager: *mut c_void, flags: u64) -> Self {
        let deleter = Some(delete_ours::<Self> as unsafe extern "C" fn(*mut Self));
        ManagedVersioned {
            version: VERSION,
            manager,
            deleter,
            flags,
            tensor,
        }
    }
    fn manager(&self) -> *mut c_void {
        self.manager
    }
    unsafe fn delete(this: *mut Self) {
        // SAFETY: as the caller promises.
        unsafe {
            if let Some(delete) = (*this).deleter {
                delete(this);
            }
        }
    }
}

/// What an exported tensor points into.
struct Held {
    _export: Export,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// The deleter of what we hand over; may run on any thread, with or without the interpreter.
unsafe extern "C" fn delete_ours<H: Handover>(this: *mut H) {
    // SAFETY: `this` and its manager are the boxes that `export_as` leaked; the consumer deletes once.
    unsafe {
        let this = Box::from_raw(this);
        drop(Box::from_raw(this.manager().cast::<Held>()));
    }
}

/// Deletes the tensor of a capsule that nobody consumed.
unsafe extern "C" fn delete_capsule<H: Handover>(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with our capsule; a consumer has renamed it and deletes itself.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, H::NAME.as_ptr()) == 1 {
            let this = ffi::PyCapsule_GetPointer(capsule, H::NAME.as_ptr());
            H::delete(this.cast());
        }
    }
}

fn export_as<'py, H: Handover>(
    py: Python<'py>,
    export: Export,
    flags: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let (data, dtype) = (export.ptr().as_ptr().cast(), type_of(export.dtype()));
    let mut held = Box::new(Held {
        shape: export.shape().iter().map(|&d| d as i64).collect(),
        strides: export.strides().iter().map(|&s| s as i64).collect(),
        _export: export,
    });
    let tensor = Tensor {
        data,
        device: Device { kind: CPU, id: 0 },
        ndim: held.shape.len() as i32,
        dtype,
        shape: held.shape.as_mut_ptr(),
        strides: held.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let this = Box::into_raw(Box::new(H::wrap(tensor, Box::into_raw(held).cast(), flags)));
    // SAFETY: a fresh pointer, a static name, and a destructor for this very type.
    unsafe {
        let capsule = ffi::PyCapsule_New(this.cast(), H::NAME.as_ptr(), Some(delete_capsule::<H>));
        if capsule.is_null() {
            H::delete(this);
        }
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// `__dlpack__`.
///
/// # Errors
/// `BufferError` for a device, stream or version that cannot be served, and where `copy=False` would copy.
pub fn export<'py>(
    py: Python<'py>,
    array: &Array,
    stream: Option<&Bound<'py, PyAny>>,
    max_version: Option<(u32, u32)>,
    dl_device: Option<(i64, i64)>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    if stream.is_some() {
        return Err(PyBufferError::new_err(
            "__dlpack__: stream must be None: no stream is used",
        ));
    }
    let (own, number) = device_of(array.context());
    let own_device = (i64::from(own), i64::from(number));
    let wanted = dl_device.unwrap_or(own_device);
    if wanted != (i64::from(CPU), 0) {
        return Err(PyBufferError::new_err(if wanted == own_device {
            format!(
                "__dlpack__: memory of {} cannot be handed over; ask for dl_device=(1, 0) to get a copy on the host",
                device_name(array.context())
            )
        } else {
            format!("__dlpack__: dl_device={wanted:?} is neither the array's device nor the host")
        }));
    }
    let mut flags = 0;
    let array = if own != CPU {
        if copy == Some(false) {
            return Err(PyBufferError::new_err(format!(
                "__dlpack__: copy=False, but {} is not the host",
                device_name(array.context())
            )));
        }
        flags |= IS_COPIED;
        let host = crate::context::shared(py, "cpu")?;
        run(|| array.to_context(&host))?
    } else if copy == Some(true) {
        flags |= IS_COPIED;
        run(|| array.copy())?
    } else {
        array.clone()
    };
    let export = run(|| array.export())?;
    if max_version.is_some_and(|(major, _)| major >= 1) {
        if export.is_read_only() {
            flags |= READ_ONLY;
        }
        export_as::<ManagedVersioned>(py, export, flags)
    } else if export.is_read_only() {
        Err(PyBufferError::new_err(
            "__dlpack__: the array is read-only, which only max_version=(1, 0) or later can say",
        ))
    } else {
        export_as::<Managed>(py, export, flags)
    }
}

/// Owns a consumed tensor and deletes it with the last array over it.
struct Consumed<H: Handover>(*mut H);

// SAFETY: DLPack allows the deleter on any thread; ours and Python's take the interpreter where they need it.
unsafe impl<H: Handover> Send for Consumed<H> {}
// SAFETY: the pointer is used only to delete.
unsafe impl<H: Handover> Sync for Consumed<H> {}

impl<H: Handover> Drop for Consumed<H> {
    fn drop(&mut self) {
        // Producers written in Python free Python objects.
        // At interpreter exit there is nobody left to take it.
        Python::try_attach(|_| {
            // SAFETY: the capsule was renamed, so the tensor is ours to delete, here and once.
            unsafe { H::delete(self.0) }
        });
    }
}

fn consume<H: Handover + 'static>(capsule: &Bound<'_, PyCapsule>) -> PyResult<Foreign> {
    // SAFETY: the caller has checked the name; renaming takes the tensor over, as DLPack lays down.
    let owner = unsafe {
        let this = ffi::PyCapsule_GetPointer(capsule.as_ptr(), H::NAME.as_ptr()).cast::<H>();
        if this.is_null() {
            return Err(PyErr::fetch(capsule.py()));
        }
        if ffi::PyCapsule_SetName(capsule.as_ptr(), H::USED.as_ptr()) != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        Consumed(this)
    };
    // SAFETY: the producer's structure, alive until `owner` drops.
    let (tensor, read_only) = unsafe { ((*owner.0).tensor(), (*owner.0).read_only()) };
    if tensor.device.kind != CPU {
        return Err(PyBufferError::new_err(format!(
            "from_dlpack: memory of device type {} is out of reach; ask its library for a copy on the host",
            tensor.device.kind
        )));
    }
    let dtype = DType::ALL
        .into_iter()
        .find(|d| type_of(*d) == tensor.dtype)
        .ok_or_else(|| {
            PyTypeError::new_err(format!(
                "from_dlpack: no dtype for DLPack type code {} with {} bits and {} lanes",
                tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes
            ))
        })?;
    let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
    let list = |ptr: *mut i64| -> Vec<i64> {
        if ptr.is_null() || ndim == 0 {
            return Vec::new();
        }
        // SAFETY: DLPack promises `ndim` numbers at a non-null pointer.
        unsafe { std::slice::from_raw_parts(ptr, ndim) }.to_vec()
    };
    let shape: Vec<usize> = list(tensor.shape).iter().map(|&d| d as usize).collect();
    let item = dtype.itemsize() as isize;
    let mut strides: Vec<isize> = list(tensor.strides)
        .iter()
        .map(|&s| s as isize * item)
        .collect();
    if strides.len() != shape.len() {
        let dense = Layout::contiguous(&shape);
        strides = dense.strides().iter().map(|s| s * item).collect();
    }
    Ok(Foreign {
        ptr: tensor
            .data
            .cast::<u8>()
            .wrapping_add(tensor.byte_offset as usize),
        shape,
        strides,
        dtype,
        swapped: false,
        read_only,
        owner: Box::new(owner),
    })
}

/// The memory behind an object with `__dlpack__`, on the host.
///
/// # Errors
/// What the producer raises, and `BufferError` or `TypeError` for what no array can be made of.
pub fn import(obj: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Foreign> {
    let py = obj.py();
    // The caller copies what is on the host; only another device's library is asked to.
    let copy = if device_of_object(obj)?.0 == CPU {
        copy.filter(|copy| !copy)
    } else {
        copy.or(Some(true))
    };
    let options = PyDict::new(py);
    options.set_item("max_version", VERSION)?;
    if copy == Some(true) {
        options.set_item("copy", true)?;
        options.set_item("dl_device", (CPU, 0))?;
    } else if let Some(copy) = copy {
        options.set_item("copy", copy)?;
    }
    let made = match obj.call_method("__dlpack__", (), Some(&options)) {
        // Producers from before DLPack 1.0 know none of these words.
        Err(error) if error.is_instance_of::<PyTypeError>(py) && copy != Some(true) => {
            obj.call_method0("__dlpack__")
        }
        other => other,
    }?;
    let capsule = made
        .cast_into::<PyCapsule>()
        .map_err(|error| malformed(&error.into_inner(), "__dlpack__", "a capsule"))?;
    // SAFETY: a live capsule and static names.
    let is = |name: &CStr| unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 1 };
    if is(VERSIONED) {
        let this: *mut ManagedVersioned =
            // SAFETY: the name was checked.
            unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), VERSIONED.as_ptr()) }.cast();
        // SAFETY: the version comes first in every version of the structure.
        let (major, minor) = unsafe { (*this).version };
        if major != VERSION.0 {
            return Err(PyBufferError::new_err(format!(
                "from_dlpack: DLPack {major}.{minor} is not known"
            )));
        }
        consume::<ManagedVersioned>(&capsule)
    } else if is(PLAIN) {
        consume::<Managed>(&capsule)
    } else {
        Err(PyBufferError::new_err(
            "from_dlpack: the capsule holds no tensor, or was consumed before",
        ))
    }
}

/// An exporter that does not keep to the protocol.
#[cold]
fn malformed(answer: &Bound<'_, PyAny>, method: &str, wanted: &str) -> PyErr {
    let class = answer
        .get_type()
        .name()
        .map_or_else(|_| "another object".to_owned(), |n| n.to_string());
    PyTypeError::new_err(format!(
        "from_dlpack: {method} gave {class}, not {wanted}: the object does not keep to DLPack"
    ))
}

/// Type and number of an object's device, by `__dlpack_device__`.
pub fn device_of_object(obj: &Bound<'_, PyAny>) -> PyResult<(c_int, i64)> {
    let answer = obj.call_method0("__dlpack_device__")?;
    let (kind, number) = answer
        .extract()
        .map_err(|_| malformed(&answer, "__dlpack_device__", "two integers"))?;
    Ok((kind, number))
}

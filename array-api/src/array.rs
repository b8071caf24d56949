//! The array handle.

use crate::base::{Base, State};
use crate::context::Context;
use crate::graph;
use rustarr_interface::{
    Buffer, DType, Element, Error, ForeignMemory, Layout, Operand, Result, Scalar, interrupt,
};
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

/// An n-dimensional array: a view of a base that other arrays may view too, and the context it
/// computes in.
///
/// Cloning makes another view of the same elements; [`copy`](Array::copy) makes independent ones. The
/// elements may be recorded work that runs when a value is asked for.
#[derive(Clone)]
pub struct Array {
    base: Arc<Base>,
    layout: Layout,
    ctx: Context,
    access: Access,
}

/// What a handle may do with the elements; its views may do the same.
#[derive(Clone)]
enum Access {
    Write,
    Read,
    /// A task's argument of this name, which was declared read-only.
    ReadAs(Arc<str>),
}

/// An array's whole base, which may be gone.
#[derive(Clone)]
pub struct WeakArray {
    base: Weak<Base>,
    ctx: Context,
}

impl WeakArray {
    /// All elements of the base, in one dimension, if anybody still has it.
    pub fn upgrade(&self) -> Option<Array> {
        let base = self.base.upgrade()?;
        let layout = Layout::contiguous(&[base.len]);
        Some(Array::of(base, layout, self.ctx.clone()))
    }
}

/// Forced memory of an array, for a backend.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The memory.
    pub buffer: Buffer,
    /// Which elements of it.
    pub layout: Layout,
    /// The element type.
    pub dtype: DType,
}

impl Ready {
    /// The same as a backend's argument.
    pub fn operand(&self) -> Operand<'_> {
        Operand {
            buffer: &self.buffer,
            layout: &self.layout,
            dtype: self.dtype,
        }
    }
}

/// A pointer to an array's elements for somebody outside. While it lives, the memory stays where it
/// is, writes to the array go to it in place, and recorded work never reads it later.
#[derive(Debug)]
pub struct Export {
    ptr: NonNull<u8>,
    layout: Layout,
    dtype: DType,
    read_only: bool,
    _buffer: Buffer,
    _token: Arc<()>,
}

// SAFETY: the pointer is an address into `_buffer`, which is `Send`; access is the holder's business.
unsafe impl Send for Export {}
// SAFETY: as for `Send`.
unsafe impl Sync for Export {}

impl Export {
    /// Address of the element at index 0 in every dimension.
    pub fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }
    /// Sizes of the dimensions.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }
    /// Steps in elements.
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }
    /// Whether the holder must not write.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }
}

impl Array {
    pub(crate) fn of(base: Arc<Base>, layout: Layout, ctx: Context) -> Array {
        Array {
            base,
            layout,
            ctx,
            access: Access::Write,
        }
    }

    /// A whole dense base.
    pub(crate) fn dense(ctx: &Context, dtype: DType, shape: &[usize], state: State) -> Array {
        let layout = Layout::contiguous(shape);
        let base = Base::new(dtype, layout.size(), ctx.space(), state);
        Array::of(base, layout, ctx.clone())
    }

    pub(crate) fn base(&self) -> &Arc<Base> {
        &self.base
    }

    /// Sizes of the dimensions.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.layout.ndim()
    }

    /// Number of elements.
    #[inline]
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.base.dtype
    }

    /// Which elements of the base this array is.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The context it computes in.
    #[inline]
    pub fn context(&self) -> &Context {
        &self.ctx
    }

    /// Whether writes through this handle are refused.
    pub fn is_read_only(&self) -> bool {
        !matches!(self.access, Access::Write)
    }

    /// Whether two arrays view the same base.
    pub fn same_base(&self, other: &Array) -> bool {
        Arc::ptr_eq(&self.base, &other.base)
    }

    /// What tells the array's base from every other one that is alive.
    pub fn base_address(&self) -> usize {
        self.base.address()
    }

    /// How often elements of the base were written or replaced through arrays.
    pub fn version(&self) -> u64 {
        self.base.version()
    }

    /// Whether others can change the memory behind the array's back: foreign or exported memory.
    pub fn is_shared(&self) -> bool {
        self.base.is_shared()
    }

    /// Whether the memory is another owner's, who may use it by other ways than arrays.
    pub fn is_foreign(&self) -> bool {
        self.base.is_foreign()
    }

    /// The whole base, without keeping it alive.
    pub fn downgrade(&self) -> WeakArray {
        WeakArray {
            base: Arc::downgrade(&self.base),
            ctx: self.ctx.clone(),
        }
    }

    /// The address of the base's first byte, if it is memory already and the host can reach it. Waits for nobody.
    pub fn address(&self) -> Option<usize> {
        let State::Buf(buffer) = self.base.peek() else {
            return None;
        };
        Some(buffer.host_ptr()?.as_ptr().addr())
    }

    /// All elements of the base, in one dimension.
    pub fn whole(&self) -> Array {
        self.clone().into_view(Layout::contiguous(&[self.base.len]))
    }

    /// The same elements of another base of the same size and dtype: of a copy of [`whole`](Array::whole).
    ///
    /// # Errors
    /// `Value` for a base of another size or dtype.
    pub fn within(&self, copy: &Array) -> Result<Array> {
        if copy.base.len != self.base.len || copy.dtype() != self.dtype() {
            return Err(Error::value(
                "within",
                "the other base is no copy of the array's",
            ));
        }
        Ok(copy.clone().into_view(self.layout.clone()))
    }

    /// Other elements of the same base; read-only if this array is.
    ///
    /// # Panics
    /// If the layout leaves the base, which none derived from this array's own does: everything below
    /// relies on it.
    pub fn view(&self, layout: Layout) -> Array {
        let inside = |(lo, hi)| lo < hi && hi <= self.base.len;
        assert!(
            layout.extent().is_none_or(inside),
            "{layout:?} leaves the {} elements that it is to view",
            self.base.len
        );
        Array {
            layout,
            ..self.clone()
        }
    }

    pub(crate) fn into_view(self, layout: Layout) -> Array {
        Array { layout, ..self }
    }

    /// An array over forced memory of this array's context.
    pub(crate) fn of_ready(&self, ready: &Ready) -> Array {
        let len = ready.buffer.len() / ready.dtype.itemsize();
        let state = State::Buf(ready.buffer.clone());
        let base = Base::new(ready.dtype, len, self.base.space, state);
        Array::of(base, ready.layout.clone(), self.ctx.clone())
    }

    /// A handle through which nothing can be written.
    #[must_use]
    pub fn read_only(&self) -> Array {
        Array {
            access: Access::Read,
            ..self.clone()
        }
    }

    /// As [`read_only`](Array::read_only), for a task's argument that was declared so: errors name it.
    #[must_use]
    pub fn read_only_as(&self, argument: &str) -> Array {
        Array {
            access: Access::ReadAs(argument.into()),
            ..self.clone()
        }
    }

    /// Why nothing can be written through this handle, and the way out; `None` if it can.
    pub fn read_only_reason(&self) -> Option<String> {
        match &self.access {
            Access::Write => None,
            Access::Read => Some("the array is read-only; write into a copy of it".to_owned()),
            Access::ReadAs(name) => Some(format!(
                "the array is read-only: the argument {name:?} was declared \"R\"; declare it \"RW\", or write into a copy"
            )),
        }
    }

    /// Whether writes are taken: neither is the handle read-only, nor are several elements one in memory.
    pub fn is_writable(&self) -> bool {
        !self.is_read_only() && !self.layout.may_self_overlap()
    }

    /// Checks that the elements may be written, and waits for the tasks that are to touch them first.
    pub(crate) fn check_writable(&self, op: &'static str) -> Result<()> {
        if let Some(reason) = self.read_only_reason() {
            return Err(Error::value(op, reason));
        }
        if self.layout.may_self_overlap() {
            return Err(Error::value(
                op,
                format!(
                    "several elements of this view of shape {:?} are one element of memory (it was \
                     broadcast); write into a copy of it",
                    self.shape()
                ),
            ));
        }
        self.base.pass(true)
    }

    /// The same elements computing in another context of the same memory space, without a copy.
    ///
    /// # Errors
    /// `Device` for a context of another memory space; use [`to_context`](Array::to_context).
    pub fn relabel(&self, ctx: &Context) -> Result<Array> {
        if ctx.space() != self.base.space {
            return Err(Error::device(
                "relabel",
                format!(
                    "{} and {} do not share memory; use to_device",
                    self.ctx.name(),
                    ctx.name()
                ),
            ));
        }
        Ok(Array {
            ctx: ctx.clone(),
            ..self.clone()
        })
    }

    /// The same elements in another context: shared where both use one memory, else copied over.
    ///
    /// # Errors
    /// `Memory`, and the failures of recorded work.
    pub fn to_context(&self, ctx: &Context) -> Result<Array> {
        if ctx.space() == self.base.space {
            return self.relabel(ctx);
        }
        ctx.check_open("to_device")?;
        Array::from_bytes(ctx, self.dtype(), self.shape(), &self.to_bytes()?)
    }

    /// The elements converted to `dtype`; another handle of the same elements if it is equal.
    ///
    /// Integers wrap; floats to integers truncate, saturate, and give 0 for NaN; complex to real keeps the real part.
    ///
    /// # Errors
    /// `Unsupported` where the context forbids the fallback it would take.
    pub fn astype(&self, dtype: DType) -> Result<Array> {
        graph::cast("astype", self, dtype)
    }

    /// Independent elements of the same values. Memory is shared until one side is written.
    ///
    /// # Errors
    /// `Memory`.
    pub fn copy(&self) -> Result<Array> {
        let whole = self.layout.offset() == 0
            && self.layout.is_contiguous()
            && self.size() == self.base.len;
        if !whole || self.base.is_shared() {
            return graph::contiguous_copy("copy", self);
        }
        self.ctx.check_open("copy")?;
        Ok(Array::dense(
            &self.ctx,
            self.dtype(),
            self.shape(),
            self.base.state()?,
        ))
    }

    /// Writes `value`, broadcast and cast, into the elements of this array.
    ///
    /// # Errors
    /// `Value` for a read-only or broadcast array, `Shape`, `Device`; the array is untouched then.
    pub fn assign(&self, value: Array) -> Result<()> {
        graph::assign("assign", self, value)
    }

    /// Runs the recorded work behind the elements.
    ///
    /// # Errors
    /// Whatever the work fails with.
    pub fn realise(&self) -> Result<Ready> {
        let buffer = self.base.realise()?;
        Ok(Ready {
            buffer,
            layout: self.layout.clone(),
            dtype: self.dtype(),
        })
    }

    /// Whether the elements are recorded work that has not run.
    pub fn is_pending(&self) -> bool {
        matches!(self.base.peek(), State::Node(_))
    }

    /// The one element of an array of size 1.
    ///
    /// # Errors
    /// `Value` for any other size, and the failures of recorded work.
    pub fn item(&self) -> Result<Scalar> {
        if self.size() != 1 {
            let detail = format!(
                "only an array of one element is a scalar; this one has shape {:?}",
                self.shape()
            );
            return Err(Error::value("item", detail));
        }
        let mut bytes = [0u8; 16];
        let size = self.dtype().itemsize();
        let buffer = self.base.realise()?;
        let at = self.layout.offset() * size;
        let out = &mut bytes[..size];
        match buffer.host_ptr() {
            Some(_) => self.ctx.host().read(&buffer, at, out)?,
            None => interrupt::blocking(|| self.ctx.backend().read(&buffer, at, out))?,
        }
        Ok(Scalar::from_bytes(self.dtype(), &bytes))
    }

    /// The elements' bytes in row-major order.
    ///
    /// # Errors
    /// The failures of recorded work, and `DeviceLost`.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.bytes_for("to_bytes")
    }

    /// [`to_bytes`](Array::to_bytes) for the operation `op`, which its own failures name.
    ///
    /// # Errors
    /// As [`to_bytes`](Array::to_bytes).
    pub fn bytes_for(&self, op: &'static str) -> Result<Vec<u8>> {
        let dense = if self.layout.is_contiguous() {
            self.clone()
        } else {
            graph::contiguous_copy(op, self)?
        };
        let ready = dense.realise()?;
        let size = self.dtype().itemsize();
        let mut bytes = vec![0u8; self.size() * size];
        if !bytes.is_empty() {
            let at = ready.layout.offset() * size;
            interrupt::blocking(|| self.ctx.backend().read(&ready.buffer, at, &mut bytes))?;
        }
        Ok(bytes)
    }

    /// The elements in row-major order.
    ///
    /// # Errors
    /// `DType` if `T` is not the storage of the array's dtype, and the failures of recorded work.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if T::DTYPE != self.dtype() {
            let detail = format!(
                "the array has dtype {}, not {}; use astype",
                self.dtype(),
                T::DTYPE
            );
            return Err(Error::dtype("to_vec", detail));
        }
        let bytes = self.to_bytes()?;
        Ok(bytes
            .chunks_exact(size_of::<T>())
            .map(bytemuck::pod_read_unaligned)
            .collect())
    }

    /// A dense array of the given row-major elements.
    ///
    /// # Errors
    /// `Shape` if their number is not the shape's, `Memory`.
    pub fn from_slice<T: Element>(ctx: &Context, values: &[T], shape: &[usize]) -> Result<Array> {
        Array::from_bytes(ctx, T::DTYPE, shape, bytemuck::cast_slice(values))
    }

    /// A dense array of the given row-major bytes.
    ///
    /// # Errors
    /// `Shape` if their number is not the shape's, `Memory`.
    pub fn from_bytes(ctx: &Context, dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Array> {
        let array = graph::empty("asarray", ctx, dtype, shape)?;
        if array.size() * dtype.itemsize() != bytes.len() {
            let detail = format!(
                "{} bytes are not an array of shape {shape:?} and dtype {dtype}",
                bytes.len()
            );
            return Err(Error::shape("from_bytes", detail));
        }
        if !bytes.is_empty() {
            let ready = array.realise()?;
            let write = || ctx.backend().write(&ready.buffer, 0, bytes);
            if array.size() < graph::policy::BLOCKING_ELEMENTS {
                write()?;
            } else {
                interrupt::blocking(write)?;
            }
        }
        Ok(array)
    }

    /// An array over memory of another owner, without a copy. Reads of it finish at the call, writes go in place.
    ///
    /// # Errors
    /// `Buffer` where the context cannot reach host memory.
    ///
    /// # Safety
    /// The layout must stay inside the memory and be aligned for the dtype.
    pub unsafe fn from_foreign(
        ctx: &Context,
        memory: ForeignMemory,
        dtype: DType,
        layout: Layout,
        writable: bool,
    ) -> Result<Array> {
        ctx.check_open("asarray")?;
        let len = rustarr_interface::Memory::len(&memory) / dtype.itemsize();
        let buffer = ctx.backend().adopt(memory)?;
        let base = Base::new(dtype, len, ctx.space(), State::Buf(buffer));
        Ok(Array {
            base,
            layout,
            ctx: ctx.clone(),
            access: if writable {
                Access::Write
            } else {
                Access::Read
            },
        })
    }

    /// A pointer to the elements for somebody outside, valid while the [`Export`] lives.
    ///
    /// # Errors
    /// `Buffer` where the host cannot reach the memory; the failures of recorded work.
    pub fn export(&self) -> Result<Export> {
        if !self.ctx.backend().caps().host_visible {
            return Err(Error::buffer(
                "export",
                format!(
                    "memory of {} is out of the host's reach; use asnumpy or to_device",
                    self.ctx.name()
                ),
            ));
        }
        let buffer = graph::detach("export", self)?;
        let token = self.base.export_token();
        let Some(start) = buffer.host_ptr() else {
            return Err(Error::buffer("export", "the memory has no host address"));
        };
        let at = if self.size() == 0 {
            0
        } else {
            self.layout.offset() * self.dtype().itemsize()
        };
        // SAFETY: the layout stays inside the buffer, so the first element does.
        let ptr = unsafe { start.add(at) };
        Ok(Export {
            ptr,
            layout: self.layout.clone(),
            dtype: self.dtype(),
            read_only: !self.is_writable(),
            _buffer: buffer,
            _token: token,
        })
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Array(shape={:?}, dtype={}, device={})",
            self.shape(),
            self.dtype(),
            self.ctx.name()
        )
    }
}

/// The error of arrays that live in different memories.
#[cold]
pub(crate) fn mixed_spaces(op: &'static str, a: &Array, b: &Array) -> Error {
    Error::device(
        op,
        format!(
            "arrays on {} and {} cannot meet; move one with to_device first",
            a.context().name(),
            b.context().name()
        ),
    )
}

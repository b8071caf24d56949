//! Reference-counted memory of a backend.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// Where memory lives: arrays in the same space can be used together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// Host memory, shared by every CPU context.
    Host,
    /// The memory of one opened device; the number is unique in the process.
    Device(u32),
}

/// A block of memory that a backend, or a foreign owner, keeps alive.
pub trait Memory: Send + Sync + fmt::Debug + 'static {
    /// Bytes that may be used.
    fn len(&self) -> usize;
    /// True when there is not one byte.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Address of the first byte where the host can reach it.
    fn host_ptr(&self) -> Option<NonNull<u8>>;
    /// For the owning backend to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// A shared handle of one block of [`Memory`]. The reference count decides what may be written
/// in place; exclusive access is arranged by the front end, never by a backend.
#[derive(Clone, Debug)]
pub struct Buffer(Arc<dyn Memory>);

impl Buffer {
    /// Wraps a block of memory.
    pub fn new(memory: impl Memory) -> Self {
        Buffer(Arc::new(memory))
    }

    /// Bytes that may be used.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there is not one byte.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Address of the first byte where the host can reach it.
    #[inline]
    pub fn host_ptr(&self) -> Option<NonNull<u8>> {
        self.0.host_ptr()
    }

    /// How many handles of the block there are.
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Whether both are handles of the same block.
    pub fn same(&self, other: &Buffer) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0))
    }

    /// The block as the backend's own type.
    pub fn downcast<T: 'static>(&self) -> Option<&T> {
        self.0.as_any().downcast_ref()
    }
}

/// Host memory owned by somebody else (NumPy, a DLPack producer, a mapped file); dropping it lets
/// the owner go.
pub struct ForeignMemory {
    ptr: NonNull<u8>,
    len: usize,
    taken: bool,
    _owner: Box<dyn Any + Send + Sync>,
}

impl ForeignMemory {
    /// Wraps `len` bytes at `ptr`, which `owner` keeps alive.
    ///
    /// # Safety
    /// The bytes must stay valid for reads, and for writes unless the array made of them is
    /// read-only, until `owner` is dropped. Concurrent changes by the owner are the user's to avoid,
    /// as with any NumPy view.
    pub unsafe fn new(ptr: NonNull<u8>, len: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        ForeignMemory {
            ptr,
            len,
            taken: false,
            _owner: owner,
        }
    }

    /// Takes memory over: nobody but the buffer will read or write it from now on.
    ///
    /// # Safety
    /// As for [`new`](ForeignMemory::new), and `owner` must be the only way to the bytes.
    pub unsafe fn taken(ptr: NonNull<u8>, len: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        ForeignMemory {
            ptr,
            len,
            taken: true,
            _owner: owner,
        }
    }

    /// Whether others may read or write the memory too.
    pub fn is_shared(&self) -> bool {
        !self.taken
    }
}

// SAFETY: the pointer is only an address; who may read or write it is arranged by the front end.
unsafe impl Send for ForeignMemory {}
// SAFETY: as for `Send`.
unsafe impl Sync for ForeignMemory {}

impl fmt::Debug for ForeignMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignMemory({:?}, {} bytes)", self.ptr, self.len)
    }
}

impl Memory for ForeignMemory {
    fn len(&self) -> usize {
        self.len
    }
    fn host_ptr(&self) -> Option<NonNull<u8>> {
        Some(self.ptr)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

//! Host memory for arrays.
//!
//! Fresh memory costs a page fault per page at its first touch, which is more than simple
//! arithmetic on it costs. So blocks of [`LARGE`] bytes and more are mapped directly, in
//! huge pages where the system has them, and kept for the next array when their array
//! dies. Smaller blocks come from the system's allocator, which is quick at those.
//!
//! The cache keeps at most [`CACHE_LIMIT`] bytes or an eighth of the machine's memory; the
//! blocks that have waited longest go first.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fork;

/// Every block starts at a multiple of this: a cache line, and the widest vector.
pub const ALIGNMENT: usize = 64;
/// The size from which blocks are mapped and cached.
pub const LARGE: usize = 64 << 10;
/// The most bytes that a pool keeps for later, if an eighth of the machine's memory is more.
pub const CACHE_LIMIT: usize = 2 << 30;

/// Memory that was not to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryError {
    /// Bytes asked for.
    pub requested: usize,
    /// Bytes in use by arrays at that moment.
    pub in_use: usize,
    /// The pool's limit, if one is set.
    pub limit: Option<usize>,
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryError {
            requested, in_use, ..
        } = self;
        write!(
            f,
            "cannot allocate {requested} bytes: {in_use} bytes are in use, "
        )?;
        match self.limit {
            Some(limit) if limit.saturating_sub(*in_use) < *requested => {
                write!(f, "the limit is {limit} bytes; free arrays or raise it")
            }
            Some(limit) => write!(f, "the limit is {limit} bytes, the system refused"),
            None => f.write_str("no limit is set, the system refused"),
        }
    }
}

impl std::error::Error for MemoryError {}

/// What a pool holds, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that arrays asked for and still hold.
    pub in_use: usize,
    /// Bytes kept for later arrays.
    pub cached: usize,
    /// The most that `in_use` has been.
    pub peak: usize,
    /// The limit on `in_use` and `cached` together.
    pub limit: Option<usize>,
    /// How many blocks were ever handed out, zero-length ones left out.
    pub allocations: u64,
}

/// A source of host memory. Clones are handles on the same pool; blocks may outlive it.
#[derive(Clone, Debug)]
pub struct HostPool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    in_use: AtomicUsize,
    peak: AtomicUsize,
    /// `usize::MAX` for none.
    limit: AtomicUsize,
    allocations: AtomicU64,
    /// RAM and swap: no block can be larger, even where the system promises it.
    machine: usize,
    cache_limit: usize,
    /// A copy of the cache's size, changed with it under the lock.
    cached: AtomicUsize,
    /// Only locked within a [`fork::critical`] stretch.
    cache: Mutex<Cache>,
}

/// Mapped blocks that wait for their next use, by size class, in order of arrival.
#[derive(Debug, Default)]
struct Cache {
    classes: BTreeMap<usize, VecDeque<(u64, Mapping)>>,
    arrivals: u64,
}

impl HostPool {
    /// An empty pool without a limit.
    pub fn new() -> HostPool {
        fork::install();
        let (ram, swap) = os::memory();
        HostPool(Arc::new(Inner {
            in_use: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            limit: AtomicUsize::new(usize::MAX),
            allocations: AtomicU64::new(0),
            machine: ram.saturating_add(swap).min(isize::MAX as usize),
            cache_limit: CACHE_LIMIT.min(ram / 8),
            cached: AtomicUsize::new(0),
            cache: Mutex::default(),
        }))
    }

    /// A block of `bytes` bytes at a multiple of [`ALIGNMENT`]. Its contents are
    /// unspecified and may be uninitialised: write each byte before you read it.
    ///
    /// # Errors
    /// [`MemoryError`] when the limit would be passed, after giving up cached blocks, or
    /// when the system has no such memory.
    pub fn alloc(&self, bytes: usize) -> Result<HostBlock, MemoryError> {
        let pool = &*self.0;
        let (ptr, origin) = match bytes {
            0 => (NonNull::<Line>::dangling().cast(), Origin::Empty),
            1..LARGE => {
                pool.reserve(bytes)?;
                let small = Small::new(bytes).ok_or_else(|| pool.refused(bytes))?;
                (small.aligned(), Origin::Small(small))
            }
            _ => {
                let mapping = pool.large(bytes)?;
                (mapping.ptr, Origin::Large(mapping))
            }
        };
        if bytes > 0 {
            pool.allocations.fetch_add(1, Relaxed);
        }
        Ok(HostBlock {
            ptr,
            len: bytes,
            origin,
            pool: self.0.clone(),
        })
    }

    /// Sets or lifts the limit on bytes in use and cached. Arrays that exist stay; cached
    /// blocks over the limit are given up at once.
    pub fn set_limit(&self, limit: Option<usize>) {
        let limit = limit.unwrap_or(usize::MAX);
        self.0.limit.store(limit, SeqCst);
        let room = limit.saturating_sub(self.0.in_use.load(SeqCst));
        self.0.shrink(room);
    }

    /// What the pool holds at the moment.
    pub fn info(&self) -> MemoryInfo {
        MemoryInfo {
            in_use: self.0.in_use.load(SeqCst),
            cached: self.0.cached.load(SeqCst),
            peak: self.0.peak.load(Relaxed),
            limit: self.0.limit(),
            allocations: self.0.allocations.load(Relaxed),
        }
    }

    /// Gives all cached blocks back to the system; returns how many bytes those were.
    pub fn release(&self) -> usize {
        self.0.shrink(0)
    }
}

impl Default for HostPool {
    fn default() -> Self {
        HostPool::new()
    }
}

impl Inner {
    /// A mapped block of at least `bytes` bytes, cached or new, already accounted for.
    fn large(&self, bytes: usize) -> Result<Mapping, MemoryError> {
        if bytes > self.machine {
            return Err(self.error(bytes));
        }
        let capacity = size_class(bytes);
        let reused = self.locked(|cache| {
            let (_, mapping) = cache.classes.get_mut(&capacity)?.pop_back()?;
            self.cached.fetch_sub(capacity, SeqCst);
            Some(mapping)
        });
        // Over the limit, this drops the reused block too.
        self.reserve(bytes)?;
        let mapping = reused.or_else(|| Mapping::new(capacity)).or_else(|| {
            self.shrink(0);
            Mapping::new(capacity)
        });
        mapping.ok_or_else(|| self.refused(bytes))
    }

    /// Counts `bytes` as in use if the limit allows it, at the expense of the cache.
    fn reserve(&self, bytes: usize) -> Result<(), MemoryError> {
        let mut in_use = self.in_use.load(SeqCst);
        loop {
            let Some(total) = in_use.checked_add(bytes) else {
                return Err(self.error(bytes));
            };
            let limit = self.limit.load(SeqCst);
            if total > limit {
                return Err(self.error(bytes));
            }
            match self
                .in_use
                .compare_exchange_weak(in_use, total, SeqCst, Relaxed)
            {
                Ok(_) => {
                    self.shrink(limit - total);
                    if total > self.peak.load(Relaxed) {
                        self.peak.fetch_max(total, Relaxed);
                    }
                    return Ok(());
                }
                Err(now) => in_use = now,
            }
        }
    }

    /// Takes back a reservation that the system could not fill.
    fn refused(&self, bytes: usize) -> MemoryError {
        self.in_use.fetch_sub(bytes, SeqCst);
        self.error(bytes)
    }

    fn error(&self, requested: usize) -> MemoryError {
        MemoryError {
            requested,
            in_use: self.in_use.load(SeqCst),
            limit: self.limit(),
        }
    }

    fn limit(&self) -> Option<usize> {
        match self.limit.load(SeqCst) {
            usize::MAX => None,
            limit => Some(limit),
        }
    }

    /// Keeps a block that its array has done with, if there is room.
    fn keep(&self, mapping: Mapping) {
        let capacity = mapping.capacity;
        if capacity > self.room() {
            return;
        }
        let gone = self.locked(|cache| {
            cache.arrivals += 1;
            let arrival = cache.arrivals;
            let class = cache.classes.entry(capacity).or_default();
            class.push_back((arrival, mapping));
            self.cached.fetch_add(capacity, SeqCst);
            // Looked up after the addition: of two threads that reserve and keep at the
            // same time, at least one sees the other and evicts.
            self.evict(cache, self.room())
        });
        drop(gone); // unmapped after the lock
    }

    /// How many bytes may be cached at the moment.
    fn room(&self) -> usize {
        let limit = self.limit.load(SeqCst);
        let room = limit.saturating_sub(self.in_use.load(SeqCst));
        room.min(self.cache_limit)
    }

    /// Gives cached blocks up, the oldest first, until at most `room` bytes are cached;
    /// returns how many bytes went.
    fn shrink(&self, room: usize) -> usize {
        if self.cached.load(SeqCst) <= room {
            return 0;
        }
        let gone = self.locked(|cache| self.evict(cache, room));
        gone.iter().map(|mapping| mapping.capacity).sum()
    }

    fn evict(&self, cache: &mut Cache, room: usize) -> Vec<Mapping> {
        let mut gone = Vec::new();
        while self.cached.load(SeqCst) > room {
            let oldest = cache
                .classes
                .iter_mut()
                .min_by_key(|(_, class)| class.front().map_or(u64::MAX, |(arrival, _)| *arrival));
            let Some((_, mapping)) = oldest.and_then(|(_, class)| class.pop_front()) else {
                break;
            };
            self.cached.fetch_sub(mapping.capacity, SeqCst);
            gone.push(mapping);
        }
        gone
    }

    fn locked<R>(&self, f: impl FnOnce(&mut Cache) -> R) -> R {
        let _critical = fork::critical();
        let mut cache: MutexGuard<Cache> =
            self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        f(&mut cache)
    }
}

/// The capacity that serves `bytes`: rounded up to three binary digits behind the first,
/// so that a block is at most an eighth too large and blocks of like size can stand in
/// for each other.
fn size_class(bytes: usize) -> usize {
    let step = (1usize << bytes.ilog2()) / 8;
    bytes.next_multiple_of(step)
}

/// A stretch of host memory that one owner writes; returned to its pool when dropped.
#[derive(Debug)]
pub struct HostBlock {
    ptr: NonNull<u8>,
    len: usize,
    origin: Origin,
    pool: Arc<Inner>,
}

#[derive(Debug)]
enum Origin {
    Empty,
    Small(Small),
    Large(Mapping),
}

// SAFETY: a block owns its memory, which is tied to no thread.
unsafe impl Send for HostBlock {}
// SAFETY: a shared block gives out a raw pointer only; its users answer for races.
unsafe impl Sync for HostBlock {}

impl HostBlock {
    /// Where the block starts, at a multiple of [`ALIGNMENT`]; valid for
    /// [`len`](HostBlock::len) bytes while the block lives.
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    /// The length in bytes that was asked for.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the length is zero.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        self.pool.in_use.fetch_sub(self.len, SeqCst);
        match std::mem::replace(&mut self.origin, Origin::Empty) {
            Origin::Empty => {}
            Origin::Small(small) => drop(small),
            Origin::Large(mapping) => self.pool.keep(mapping),
        }
    }
}

/// What empty blocks point at: nowhere, aligned.
#[repr(align(64))]
struct Line;
const _: () = assert!(align_of::<Line>() == ALIGNMENT);

/// Memory of the system's allocator. Aligned by hand: asked for an alignment, the usual
/// allocators take a path several times slower.
#[derive(Debug)]
struct Small {
    base: NonNull<u8>,
    layout: std::alloc::Layout,
}

impl Small {
    fn new(bytes: usize) -> Option<Small> {
        let layout = std::alloc::Layout::from_size_align(bytes + ALIGNMENT - 16, 16).ok()?;
        // SAFETY: the layout's size is not zero.
        let base = NonNull::new(unsafe { std::alloc::alloc(layout) })?;
        Some(Small { base, layout })
    }

    fn aligned(&self) -> NonNull<u8> {
        let offset = self.base.addr().get().wrapping_neg() % ALIGNMENT;
        // SAFETY: base is a multiple of 16, so the offset is at most ALIGNMENT - 16, the
        // slack that the layout has beyond the bytes asked for.
        unsafe { self.base.add(offset) }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // SAFETY: base came from the allocator with this layout and is freed once.
        unsafe { std::alloc::dealloc(self.base.as_ptr(), self.layout) }
    }
}

/// A mapped block, unmapped when dropped.
#[derive(Debug)]
struct Mapping {
    ptr: NonNull<u8>,
    capacity: usize,
}

// SAFETY: a mapping owns its memory, which is tied to no thread.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(capacity: usize) -> Option<Mapping> {
        let ptr = os::map(capacity)?;
        Some(Mapping { ptr, capacity })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the pair came from `os::map` and nobody else holds it.
        unsafe { os::unmap(self.ptr, self.capacity) }
    }
}

// Miri maps whole pages only, and unmaps what it mapped.
#[cfg(all(target_os = "linux", not(miri)))]
mod os {
    use std::ptr::{NonNull, null_mut};

    /// The size of a huge page on the usual machines; elsewhere the advice does no harm.
    const HUGE: usize = 2 << 20;

    /// RAM and swap in bytes.
    pub fn memory() -> (usize, usize) {
        // SAFETY: sysinfo is plain integers, for which zero is a value.
        let mut info: libc::sysinfo = unsafe { std::mem::zeroed() };
        // SAFETY: the call fills the struct it is given.
        if unsafe { libc::sysinfo(&mut info) } != 0 {
            return (usize::MAX, 0);
        }
        let bytes = |units: libc::c_ulong| (units as usize).saturating_mul(info.mem_unit as usize);
        (bytes(info.totalram), bytes(info.totalswap))
    }

    /// Maps fresh memory, on a huge page's boundary where huge pages fit.
    pub fn map(capacity: usize) -> Option<NonNull<u8>> {
        if capacity < HUGE {
            return map_pages(capacity);
        }
        let padded = capacity.checked_add(HUGE)?;
        let start = map_pages(padded)?;
        let head = start.addr().get().wrapping_neg() % HUGE;
        // SAFETY: head < HUGE, so head and capacity lie within the padded mapping; its ends
        // outside them are multiples of the page size, cut off once and used by nobody.
        unsafe {
            let block = start.add(head);
            unmap(start, head);
            let end = capacity.next_multiple_of(page());
            unmap(block.add(end), padded.next_multiple_of(page()) - head - end);
            // Advice only: without huge pages the block works as well.
            libc::madvise(block.as_ptr().cast(), capacity, libc::MADV_HUGEPAGE);
            Some(block)
        }
    }

    fn map_pages(len: usize) -> Option<NonNull<u8>> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice.
        let ptr = unsafe { libc::mmap(null_mut(), len, access, flags, -1, 0) };
        match ptr {
            libc::MAP_FAILED => None,
            _ => NonNull::new(ptr.cast()),
        }
    }

    /// # Safety
    /// The stretch is mapped, starts on a page and is used by nobody.
    pub unsafe fn unmap(ptr: NonNull<u8>, len: usize) {
        if len > 0 {
            // SAFETY: the caller's.
            unsafe { libc::munmap(ptr.as_ptr().cast(), len) };
        }
    }

    fn page() -> usize {
        // SAFETY: reads a constant of the system.
        unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
mod os {
    use std::alloc::{Layout, alloc, dealloc};
    use std::ptr::NonNull;

    /// Not told here: no block is refused beforehand, and the cache has its fixed limit.
    pub fn memory() -> (usize, usize) {
        (usize::MAX, 0)
    }

    fn layout(capacity: usize) -> Option<Layout> {
        Layout::from_size_align(capacity, super::ALIGNMENT).ok()
    }

    pub fn map(capacity: usize) -> Option<NonNull<u8>> {
        let layout = layout(capacity)?;
        // SAFETY: a block from LARGE up is not empty.
        NonNull::new(unsafe { alloc(layout) })
    }

    /// # Safety
    /// The pair came from `map` and is used by nobody.
    pub unsafe fn unmap(ptr: NonNull<u8>, capacity: usize) {
        if let Some(layout) = layout(capacity) {
            // SAFETY: the caller's; map used this layout.
            unsafe { dealloc(ptr.as_ptr(), layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    /// Writes the ends of a block and one byte in each page; reads them back.
    fn touch(block: &HostBlock) {
        let p = block.as_ptr().as_ptr();
        for i in (0..block.len())
            .step_by(4096)
            .chain(block.len().checked_sub(1))
        {
            // SAFETY: i lies within the block, which only this test holds.
            unsafe {
                p.add(i).write(i as u8);
                assert_eq!(p.add(i).read(), i as u8);
            }
        }
    }

    #[test]
    fn blocks_are_aligned_and_writable() {
        let pool = HostPool::new();
        let around = |n: usize| [n - 1, n, n + 1];
        let sizes = (0..300)
            .chain(around(4096))
            .chain(around(LARGE))
            .chain(around(2 * MIB))
            .chain(around(5 * MIB));
        let blocks: Vec<_> = sizes.map(|n| (n, pool.alloc(n).unwrap())).collect();
        let mut total = 0;
        for (n, block) in &blocks {
            assert_eq!((block.len(), block.is_empty()), (*n, *n == 0));
            assert_eq!(block.as_ptr().addr().get() % ALIGNMENT, 0);
            touch(block);
            total += n;
        }
        let mut spans: Vec<_> = blocks
            .iter()
            .map(|(n, block)| (block.as_ptr().addr().get(), *n))
            .filter(|(_, n)| *n > 0)
            .collect();
        spans.sort_unstable();
        assert!(
            spans.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0),
            "disjoint"
        );
        let info = pool.info();
        assert_eq!((info.in_use, info.peak), (total, total));
        assert_eq!(info.allocations as usize, blocks.len() - 1);
        drop(blocks);
        assert_eq!(pool.info().in_use, 0);
        assert_eq!(pool.info().peak, total);
    }

    #[test]
    fn large_blocks_are_reused() {
        let pool = HostPool::new();
        let first = pool.alloc(10 * MIB).unwrap();
        let place = first.as_ptr();
        drop(first);
        assert_eq!(pool.info().cached, 10 * MIB);
        let second = pool.alloc(10 * MIB - 100).unwrap();
        assert_eq!(second.as_ptr(), place);
        touch(&second);
        assert_eq!(pool.info().cached, 0);
        drop(second);
        assert_eq!(pool.release(), 10 * MIB);
        assert_eq!((pool.info().cached, pool.release()), (0, 0));
    }

    #[test]
    fn size_classes_waste_at_most_an_eighth() {
        for bytes in (LARGE..4 * LARGE).step_by(977).chain([isize::MAX as usize]) {
            let class = size_class(bytes);
            assert!(class >= bytes && class - bytes < bytes / 8 + 1, "{bytes}");
            assert_eq!(size_class(class), class);
        }
    }

    #[test]
    fn the_limit_holds() {
        let pool = HostPool::new();
        pool.set_limit(Some(10 * MIB));
        let a = pool.alloc(6 * MIB).unwrap();
        let error = pool.alloc(5 * MIB).unwrap_err();
        assert_eq!(
            error,
            MemoryError {
                requested: 5 * MIB,
                in_use: 6 * MIB,
                limit: Some(10 * MIB)
            }
        );
        let text = error.to_string();
        for n in [5 * MIB, 6 * MIB, 10 * MIB] {
            assert!(text.contains(&n.to_string()), "{text}");
        }
        let small = pool.alloc(100).unwrap();
        assert_eq!(pool.info().in_use, 6 * MIB + 100);
        drop(small);
        // The cached block makes room for one of another size, and for small ones.
        drop(a);
        assert_eq!(pool.info().cached, 6 * MIB);
        let b = pool.alloc(10 * MIB).unwrap();
        assert_eq!(pool.info().cached, 0);
        assert!(pool.alloc(1).is_err());
        assert_eq!(pool.info().in_use, 10 * MIB);
        drop(b);
        assert!(pool.info().cached <= 10 * MIB);
        pool.set_limit(Some(0));
        assert_eq!(pool.info().cached, 0);
        assert!(pool.alloc(1).is_err() && pool.alloc(0).is_ok());
        pool.set_limit(None);
        assert!(pool.alloc(20 * MIB).is_ok());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no allocation that fails")]
    fn impossible_requests_are_errors() {
        let pool = HostPool::new();
        for bytes in [isize::MAX as usize, usize::MAX, usize::MAX / 4, 1 << 46] {
            let error = pool.alloc(bytes).unwrap_err();
            assert_eq!((error.requested, error.limit), (bytes, None));
            assert!(error.to_string().contains("the system refused"));
        }
        assert_eq!(pool.info().in_use, 0);
        assert_eq!(pool.info().peak, 0);
        touch(&pool.alloc(MIB).unwrap());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri keeps every byte of the gigabytes")]
    fn the_cache_is_bounded_and_drops_the_oldest() {
        let pool = HostPool::new();
        let limit = pool.0.cache_limit;
        // Never touched, so that this takes no memory.
        let piece = size_class(limit / 4);
        let blocks: Vec<_> = (0..6).map(|_| pool.alloc(piece).unwrap()).collect();
        let newest = blocks[5].as_ptr();
        for block in blocks {
            drop(block);
            assert!(pool.info().cached <= limit);
        }
        assert!(pool.info().cached > limit / 2);
        assert_eq!(pool.alloc(piece).unwrap().as_ptr(), newest);
        drop(pool.alloc(limit + limit / 2).unwrap());
        assert!(pool.info().cached <= limit, "too large to keep");
    }

    #[test]
    fn blocks_outlive_their_pool() {
        let block = HostPool::new().alloc(MIB).unwrap();
        touch(&block);
    }

    #[test]
    fn threads_share_a_pool() {
        let pool = HostPool::new();
        pool.set_limit(Some(64 * MIB));
        let rounds = crate::nest::tests::affordable(3000, 60);
        std::thread::scope(|scope| {
            for seed in 0..4usize {
                let pool = pool.clone();
                scope.spawn(move || {
                    let mut held = VecDeque::new();
                    for i in 0..rounds {
                        let n = (i * 7919 + seed * 104_729) % (3 * LARGE);
                        let block = pool.alloc(n).unwrap();
                        touch(&block);
                        held.push_back(block);
                        if held.len() > 8 {
                            held.pop_front();
                        }
                        if i % (rounds / 6) == 0 {
                            pool.release();
                        }
                    }
                });
            }
        });
        let info = pool.info();
        assert_eq!(
            (info.in_use, info.allocations > 3 * rounds as u64),
            (0, true)
        );
        assert_eq!(pool.release(), info.cached);
        assert_eq!(pool.info().cached, 0);
    }
}

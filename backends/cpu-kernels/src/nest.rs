//! What the verbs share: typed addresses of operands, and walks over several layouts at once.

use crate::par::Par;
use crate::tasks;
use rustarr_interface::{AxisMask, Dims, Error, Layout, Operand, Result, Strides, collapse};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Elements that are worth a task of their own.
pub(crate) const GRAIN: usize = if cfg!(miri) { 1 << 6 } else { 1 << 15 };

/// The first byte of an operand's buffer as a pointer to its elements, shared by tasks which each
/// touch elements of their own.
pub(crate) struct Raw<T>(pub *mut T);

impl<T> Clone for Raw<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Raw<T> {}
// SAFETY: only an address; tasks write disjoint elements and read what nobody writes.
unsafe impl<T> Send for Raw<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Raw<T> {}

impl<T> Raw<T> {
    /// The address of element 0 of the buffer, which the layout's offset does not move.
    pub fn of(operand: Operand<'_>) -> Result<Raw<T>> {
        debug_assert_eq!(size_of::<T>(), operand.dtype.itemsize());
        match operand.buffer.host_ptr() {
            Some(ptr) => Ok(Raw(ptr.as_ptr().cast())),
            None => Err(Error::backend(
                "host kernel",
                "the buffer is out of the host's reach",
            )),
        }
    }

    /// The address of the element at a position.
    ///
    /// # Safety
    /// The position lies inside the buffer.
    #[inline(always)]
    pub unsafe fn at(self, position: isize) -> *mut T {
        // SAFETY: by contract.
        unsafe { self.0.offset(position) }
    }
}

/// Runs `$body` with `$T` bound to a plain type of the dtype's size and alignment, for kernels
/// that only move elements.
macro_rules! by_size {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            rustarr_interface::DType::C64 => {
                type $T = [u32; 2];
                $body
            }
            dtype => match dtype.itemsize() {
                1 => {
                    type $T = u8;
                    $body
                }
                2 => {
                    type $T = u16;
                    $body
                }
                4 => {
                    type $T = u32;
                    $body
                }
                8 => {
                    type $T = u64;
                    $body
                }
                _ => {
                    type $T = [u64; 2];
                    $body
                }
            },
        }
    };
}
pub(crate) use by_size;

/// Runs tasks that may fail, each with the scratch value of its thread, and returns the error of the lowest task that
/// failed, whatever the number of threads.
///
/// # Errors
/// Also those of [`tasks::run`].
pub(crate) fn spread<S>(
    par: Par<'_>,
    op: &'static str,
    count: usize,
    init: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize) -> Result<()> + Sync,
) -> Result<()> {
    let lowest = AtomicUsize::new(usize::MAX);
    let failed = Mutex::new(None);
    tasks::run(par, op, count, init, |scratch, n| {
        if lowest.load(Relaxed) < n {
            return;
        }
        if let Err(error) = task(scratch, n) {
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if lowest.fetch_min(n, Relaxed) > n {
                *failed = Some(error);
            }
        }
    })?;
    let failed = failed.into_inner();
    failed
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

/// Working memory of `len` equal elements.
///
/// # Errors
/// `Memory` where there is none, instead of an abort.
pub(crate) fn scratch<T: Clone>(op: &'static str, len: usize, value: T) -> Result<Vec<T>> {
    let mut memory = Vec::new();
    match memory.try_reserve_exact(len) {
        Ok(()) => {
            memory.resize(len, value);
            Ok(memory)
        }
        Err(_) => Err(Error::memory(
            op,
            format!(
                "no {} bytes of working memory",
                len.saturating_mul(size_of::<T>())
            ),
        )),
    }
}

/// One domain and several operands' walks over it, in as few axes as can be.
pub(crate) struct Nest {
    dims: Dims,
    strides: SmallVec<[Strides; 4]>,
    offsets: Strides,
}

impl Nest {
    /// The walk in row-major order over `shape`; every layout has this shape.
    pub fn ordered(shape: &[usize], layouts: &[&Layout]) -> Nest {
        Nest::new(shape, layouts, false)
    }

    /// The walk in whichever order suits the last operand.
    pub fn unordered(shape: &[usize], layouts: &[&Layout]) -> Nest {
        Nest::new(shape, layouts, true)
    }

    fn new(shape: &[usize], layouts: &[&Layout], reorder: bool) -> Nest {
        let (dims, strides, _) = collapse(shape, layouts, AxisMask::default(), reorder);
        Nest {
            dims,
            strides,
            offsets: layouts.iter().map(|l| l.offset() as isize).collect(),
        }
    }

    /// How many elements the domain has.
    pub fn size(&self) -> usize {
        self.dims.iter().product()
    }

    /// The length of a full run.
    pub fn run(&self) -> usize {
        self.dims.last().copied().unwrap_or(1)
    }

    /// An operand's step inside a run.
    pub fn step(&self, operand: usize) -> isize {
        self.strides[operand].last().copied().unwrap_or(0)
    }

    /// Leaves the first element of the domain only.
    pub fn truncate(&mut self) {
        self.dims.clear();
        self.strides.iter_mut().for_each(Strides::clear);
    }

    /// Calls `f(positions, start, length)` for every run of the elements `from..to` in walking order: the operands'
    /// positions of its first element and this element's index.
    pub fn runs(&self, from: usize, to: usize, mut f: impl FnMut(&[isize], usize, usize)) {
        if from >= to {
            return;
        }
        let last = self.dims.len().saturating_sub(1);
        let mut index: Dims = SmallVec::from_elem(0, self.dims.len());
        let mut rest = from;
        for (i, &dim) in index.iter_mut().zip(&self.dims).rev() {
            *i = rest % dim;
            rest /= dim;
        }
        let mut at = self.offsets.clone();
        for (at, strides) in at.iter_mut().zip(&self.strides) {
            *at += index
                .iter()
                .zip(strides)
                .map(|(&i, &s)| i as isize * s)
                .sum::<isize>();
        }
        let mut start = from;
        loop {
            let first = index.last().copied().unwrap_or(0);
            let len = (self.run() - first).min(to - start);
            f(&at, start, len);
            start += len;
            if start >= to {
                return;
            }
            // Back to the start of the run, then one step of the odometer.
            for (at, strides) in at.iter_mut().zip(&self.strides) {
                *at -= first as isize * strides[last];
            }
            index[last] = 0;
            let mut axis = last;
            loop {
                axis -= 1;
                index[axis] += 1;
                let wraps = index[axis] == self.dims[axis];
                for (at, strides) in at.iter_mut().zip(&self.strides) {
                    *at += strides[axis];
                    if wraps {
                        *at -= self.dims[axis] as isize * strides[axis];
                    }
                }
                if !wraps {
                    break;
                }
                index[axis] = 0;
            }
        }
    }

    /// The operands' positions of one element.
    pub fn position(&self, index: usize) -> Strides {
        let mut found = Strides::new();
        self.runs(index, index + 1, |at, _, _| found = Strides::from_slice(at));
        found
    }
}

/// Copies a run of elements between two strided walks.
///
/// # Safety
/// Both walks lie inside their buffers and do not overlap.
#[inline]
pub(crate) unsafe fn copy_run<T: Copy>(
    from: *const T,
    from_step: isize,
    to: *mut T,
    to_step: isize,
    len: usize,
) {
    // SAFETY: by contract.
    unsafe {
        if from_step == 1 && to_step == 1 {
            std::ptr::copy_nonoverlapping(from, to, len);
        } else {
            for i in 0..len as isize {
                *to.offset(i * to_step) = *from.offset(i * from_step);
            }
        }
    }
}

/// The layout of one line along `axis`, and of the array of lines without it.
pub(crate) fn lines(layout: &Layout, axis: usize) -> (Layout, isize) {
    (
        layout.remove_axes(AxisMask::of([axis])),
        layout.strides()[axis],
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::pool::Pool;
    use rustarr_interface::{Buffer, DType, Element, Memory};
    use std::any::Any;
    use std::ptr::NonNull;

    /// Host memory aligned for every dtype.
    #[derive(Debug)]
    pub struct HostMemory(std::cell::UnsafeCell<Vec<u128>>, usize);
    // SAFETY: tests share it only through kernels that keep to their elements.
    unsafe impl Send for HostMemory {}
    // SAFETY: as for `Send`.
    unsafe impl Sync for HostMemory {}
    impl Memory for HostMemory {
        fn len(&self) -> usize {
            self.1
        }
        fn host_ptr(&self) -> Option<NonNull<u8>> {
            // SAFETY: the vector is never resized.
            NonNull::new(unsafe { (*self.0.get()).as_mut_ptr() }.cast())
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    /// A buffer of `bytes` bytes filled with a pattern that is no sane result.
    pub fn buffer(bytes: usize) -> Buffer {
        let words = vec![0xCDCD_CDCD_CDCD_CDCD_CDCD_CDCD_CDCD_CDCD; bytes.div_ceil(16)];
        Buffer::new(HostMemory(words.into(), bytes))
    }

    /// An array that owns its buffer.
    #[derive(Clone, Debug)]
    pub struct Array {
        pub buffer: Buffer,
        pub layout: Layout,
        pub dtype: DType,
    }

    impl Array {
        pub fn empty(dtype: DType, layout: Layout) -> Array {
            let reach = layout.extent().map_or(0, |(_, hi)| hi);
            Array {
                buffer: buffer(reach * dtype.itemsize()),
                layout,
                dtype,
            }
        }

        /// Elements in row-major order, behind any layout.
        pub fn new<T: Element>(layout: Layout, values: &[T]) -> Array {
            let array = Array::empty(T::DTYPE, layout);
            assert_eq!(array.layout.size(), values.len());
            let base = Raw::<T>::of(array.operand()).unwrap();
            for (i, v) in values.iter().enumerate() {
                // SAFETY: positions are inside the buffer made for this layout.
                unsafe { *base.at(array.layout.position(i) as isize) = *v };
            }
            array
        }

        pub fn dense<T: Element>(shape: &[usize], values: &[T]) -> Array {
            Array::new(Layout::contiguous(shape), values)
        }

        pub fn operand(&self) -> Operand<'_> {
            Operand {
                buffer: &self.buffer,
                layout: &self.layout,
                dtype: self.dtype,
            }
        }

        /// The elements in row-major order.
        pub fn values<T: Element>(&self) -> Vec<T> {
            let base = Raw::<T>::of(self.operand()).unwrap();
            (0..self.layout.size())
                // SAFETY: positions are inside the buffer.
                .map(|i| unsafe { *base.at(self.layout.position(i) as isize) })
                .collect()
        }

        /// The elements' bytes in row-major order.
        pub fn bytes(&self) -> Vec<u8> {
            let size = self.dtype.itemsize();
            let base = self.buffer.host_ptr().unwrap().as_ptr();
            let mut bytes = Vec::with_capacity(self.layout.size() * size);
            for i in 0..self.layout.size() {
                let at = self.layout.position(i) * size;
                // SAFETY: positions are inside the buffer.
                bytes.extend(unsafe { std::slice::from_raw_parts(base.add(at), size) });
            }
            bytes
        }
    }

    /// Random numbers for tests (splitmix64).
    pub struct Rng(pub u64);
    impl Rng {
        pub fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        }
        pub fn below(&mut self, n: usize) -> usize {
            (self.next() % n.max(1) as u64) as usize
        }
        /// Between -1 and 1.
        pub fn float(&mut self) -> f64 {
            (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
        /// A layout of `shape` with permuted axes, gaps, negative steps and an offset; never overlapping itself.
        pub fn layout(&mut self, shape: &[usize]) -> Layout {
            let n = shape.len();
            let mut order: Vec<usize> = (0..n).collect();
            for i in (1..n).rev() {
                order.swap(i, self.below(i + 1));
            }
            let plain = self.below(3) == 0;
            let (mut step, mut strides, mut offset) = (1usize, vec![0isize; n], self.below(3));
            let order: Vec<usize> = if plain { (0..n).rev().collect() } else { order };
            for axis in order {
                let gap = if plain { 1 } else { 1 + self.below(2) };
                let stride = step * gap;
                step = stride * shape[axis].max(1);
                if !plain && self.below(3) == 0 {
                    strides[axis] = -(stride as isize);
                    offset += stride * shape[axis].saturating_sub(1);
                } else {
                    strides[axis] = stride as isize;
                }
            }
            Layout::new(shape, &strides, offset)
        }
        /// As [`layout`](Rng::layout), some axes repeating one element: for inputs only.
        pub fn view(&mut self, shape: &[usize]) -> Layout {
            let small: Vec<usize> = shape
                .iter()
                .map(|&d| if self.below(6) == 0 && d > 0 { 1 } else { d })
                .collect();
            self.layout(&small).broadcast_to(shape).unwrap()
        }
        /// An input array with values of `f` per element of its memory.
        pub fn array<T: Element>(
            &mut self,
            shape: &[usize],
            mut f: impl FnMut(&mut Rng) -> T,
        ) -> Array {
            let array = Array::empty(T::DTYPE, self.view(shape));
            let base = Raw::<T>::of(array.operand()).unwrap();
            for i in 0..array.buffer.len() / size_of::<T>() {
                // SAFETY: inside the buffer.
                unsafe { *base.at(i as isize) = f(self) };
            }
            array
        }
        pub fn shape(&mut self, ndim: usize, below: usize) -> Vec<usize> {
            (0..ndim).map(|_| self.below(below)).collect()
        }
    }

    /// `all`, or `few` under Miri, which is about a thousand times slower.
    pub fn affordable<T>(all: T, few: T) -> T {
        if cfg!(miri) { few } else { all }
    }

    /// Runs `f` under every kind of parallelism and checks that the bytes it returns are the same.
    pub fn same_for_all_threads(f: impl Fn(Par<'_>) -> Vec<u8>) -> Vec<u8> {
        static POOLS: std::sync::OnceLock<Vec<Pool>> = std::sync::OnceLock::new();
        let pools = POOLS.get_or_init(|| {
            affordable(&[1, 2, 3, 8][..], &[2])
                .iter()
                .map(|n| Pool::new(Some(*n), None).unwrap())
                .collect()
        });
        let expected = f(Par::Seq);
        for pool in pools {
            assert!(
                f(Par::Pool(pool)) == expected,
                "{} threads give other bits",
                pool.threads()
            );
        }
        expected
    }

    #[test]
    fn runs_visit_every_element_in_order() {
        let mut rng = Rng(1);
        for _ in 0..affordable(300, 30) {
            let ndim = rng.below(5);
            let shape = rng.shape(ndim, 5);
            let (a, b) = (rng.view(&shape), rng.layout(&shape));
            let nest = Nest::ordered(&shape, &[&a, &b]);
            assert_eq!(nest.size(), a.size());
            let from = rng.below(nest.size() + 1);
            let to = from + rng.below(nest.size() - from + 1);
            let mut next = from;
            nest.runs(from, to, |at, start, len| {
                assert_eq!(start, next);
                assert!(len > 0);
                for i in 0..len {
                    let step = i as isize;
                    assert_eq!(at[0] + step * nest.step(0), a.position(next) as isize);
                    assert_eq!(at[1] + step * nest.step(1), b.position(next) as isize);
                    next += 1;
                }
            });
            assert_eq!(next, to);
        }
    }
}

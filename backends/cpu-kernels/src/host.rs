//! The CPU backend: every CPU context is one [`Host`], which differs from the others in its threads and its memory pool.

use crate::memory::{HostBlock, HostPool};
use crate::par::Par;
use crate::pool::Pool;
use rustarr_interface::{
    Args, AxisMask, Backend, Buffer, Caps, Counters, DType, DTypeSet, Error, Fft, ForeignMemory,
    Kinds, Linalg, Memory, MemoryInfo, Op, Operand, Program, Random, Reduce, Result, Scan, Search,
    Sort, Space, Verb,
};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The work of a task, in additions of elements: some ten microseconds or more.
pub const GRAIN: usize = 1 << 16;

impl Memory for HostBlock {
    fn len(&self) -> usize {
        HostBlock::len(self)
    }
    fn host_ptr(&self) -> Option<NonNull<u8>> {
        Some(self.as_ptr())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The dtypes that a verb takes.
fn dtypes(verb: Verb) -> DTypeSet {
    let of = |kinds: Kinds| {
        let all = DTypeSet::ALL.iter().filter(|d| d.is(kinds));
        all.fold(DTypeSet::EMPTY, DTypeSet::with)
    };
    match verb {
        Verb::Map
        | Verb::Reduce
        | Verb::Gather
        | Verb::Scatter
        | Verb::Sort
        | Verb::Search
        | Verb::Matmul => DTypeSet::ALL,
        Verb::Scan => of(Kinds::NUMERIC),
        Verb::Compact => of(Kinds::BOOL),
        Verb::Random => of(Kinds::INT).with(DType::F32).with(DType::F64),
        Verb::Linalg | Verb::Fft => {
            DTypeSet::of(&[DType::F32, DType::F64, DType::C64, DType::C128])
        }
    }
}

/// A CPU backend. All of them share [`Space::Host`]: the buffers of one can be used by every other.
#[derive(Debug)]
pub struct Host {
    name: &'static str,
    /// `None` to compute on the calling thread.
    pool: Option<Pool>,
    grain: usize,
    memory: HostPool,
    caps: Caps,
    dispatches: AtomicU64,
}

impl Host {
    /// A backend that computes on `pool`, or without one on the calling thread. `grain` is about how many elements
    /// times instructions a task has (never what a result depends on), [`GRAIN`] by default; `memory_limit` is in bytes.
    pub fn new(
        name: &'static str,
        pool: Option<Pool>,
        grain: Option<usize>,
        memory_limit: Option<usize>,
    ) -> Host {
        let memory = HostPool::new();
        memory.set_limit(memory_limit);
        Host {
            name,
            pool,
            grain: grain.unwrap_or(GRAIN).max(1),
            memory,
            caps: Caps {
                dtypes: DTypeSet::ALL,
                verbs: Verb::ALL.map(dtypes),
                op_support: |op: Op, dtype| op.result(dtype).is_some(),
                max_operands: 64,
                max_instrs: 64,
                max_ndim: 64,
                host_visible: true,
                eager_small: true,
            },
            dispatches: AtomicU64::new(0),
        }
    }

    /// Where the kernels' tasks run.
    pub fn par(&self) -> Par<'_> {
        self.pool.as_ref().map_or(Par::Seq, Par::Pool)
    }

    /// [`par`](Self::par), for a verb that begins.
    fn verb(&self) -> Par<'_> {
        self.dispatches.fetch_add(1, Relaxed);
        self.par()
    }
}

/// The bytes of a buffer from `offset` on.
fn window(op: &'static str, buffer: &Buffer, offset: usize, len: usize) -> Result<*mut u8> {
    let inside = offset
        .checked_add(len)
        .is_some_and(|end| end <= buffer.len());
    match buffer.host_ptr() {
        Some(ptr) if inside => Ok(ptr.as_ptr().wrapping_add(offset)),
        Some(_) => {
            let size = buffer.len();
            Err(Error::backend(
                op,
                format!("{len} bytes at {offset} of a buffer of {size} bytes"),
            ))
        }
        None => Err(Error::device(op, "the buffer is not in host memory")),
    }
}

impl Backend for Host {
    fn name(&self) -> &str {
        self.name
    }
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn space(&self) -> Space {
        Space::Host
    }
    fn threads(&self) -> usize {
        self.par().threads()
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        match self.memory.alloc(bytes) {
            Ok(block) => Ok(Buffer::new(block)),
            Err(error) => Err(Error::memory("alloc", error.to_string())),
        }
    }
    fn adopt(&self, memory: ForeignMemory) -> Result<Buffer> {
        Ok(Buffer::new(memory))
    }
    fn write(&self, to: &Buffer, offset: usize, bytes: &[u8]) -> Result<()> {
        let to = window("write", to, offset, bytes.len())?;
        // SAFETY: the window is within the buffer, which the front end lets nobody else use meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }
    fn read(&self, from: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let from = window("read", from, offset, bytes.len())?;
        // SAFETY: the window is within the buffer, which the front end lets nobody write meanwhile.
        unsafe {
            std::ptr::copy_nonoverlapping(from.cast_const(), bytes.as_mut_ptr(), bytes.len())
        };
        Ok(())
    }
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn memory(&self) -> MemoryInfo {
        let info = self.memory.info();
        MemoryInfo {
            in_use: info.in_use,
            cached: info.cached,
            peak: info.peak,
            limit: info.limit,
        }
    }
    fn set_memory_limit(&self, limit: Option<usize>) {
        self.memory.set_limit(limit);
    }
    fn release(&self) {
        self.memory.release();
    }
    fn counters(&self) -> Counters {
        Counters {
            dispatches: self.dispatches.load(Relaxed),
            ..Counters::default()
        }
    }
    fn take_warning(&self) -> Option<String> {
        self.pool.as_ref().and_then(Pool::take_warning)
    }

    fn map(&self, program: &Program, args: Args<'_>) -> Result<()> {
        crate::map(self.verb(), self.grain, program, args)
    }
    fn reduce(
        &self,
        reduce: Reduce,
        program: &Program,
        axes: AxisMask,
        args: Args<'_>,
    ) -> Result<()> {
        crate::reduce(self.verb(), self.grain, reduce, program, axes, args)
    }
    fn scan(&self, scan: Scan, input: Operand<'_>, output: Operand<'_>) -> Result<()> {
        crate::scan(self.verb(), self.grain, scan, input, output)
    }
    fn gather(
        &self,
        source: Operand<'_>,
        indices: &[Operand<'_>],
        output: Operand<'_>,
    ) -> Result<()> {
        crate::gather(self.verb(), source, indices, output)
    }
    fn scatter(
        &self,
        target: Operand<'_>,
        indices: &[Operand<'_>],
        values: Operand<'_>,
    ) -> Result<()> {
        crate::scatter(self.verb(), target, indices, values)
    }
    fn compact(&self, mask: Operand<'_>) -> Result<(Buffer, usize)> {
        crate::compact(self.verb(), mask, |bytes| self.alloc(bytes))
    }
    fn sort(&self, sort: Sort, input: Operand<'_>, output: Operand<'_>) -> Result<()> {
        crate::sort(self.verb(), sort, input, output)
    }
    fn search(
        &self,
        search: Search,
        sorted: Operand<'_>,
        values: Operand<'_>,
        output: Operand<'_>,
    ) -> Result<()> {
        crate::search(self.verb(), search, sorted, values, output)
    }
    fn matmul(&self, a: Operand<'_>, b: Operand<'_>, output: Operand<'_>) -> Result<()> {
        crate::matmul(self.verb(), a, b, output)
    }
    fn linalg(
        &self,
        linalg: Linalg,
        inputs: &[Operand<'_>],
        outputs: &[Operand<'_>],
    ) -> Result<()> {
        crate::linalg(self.verb(), linalg, inputs, outputs)
    }
    fn fft(&self, fft: Fft, input: Operand<'_>, output: Operand<'_>) -> Result<()> {
        crate::fft(self.verb(), fft, input, output)
    }
    fn random(&self, random: Random, key: u64, counter: u64, output: Operand<'_>) -> Result<()> {
        crate::random(self.verb(), random, key, counter, output)
    }
}

//! The boundary: few verbs, operations as data.

use crate::buffer::{Buffer, ForeignMemory, Space};
use crate::dtype::{DType, DTypeSet};
use crate::error::Result;
use crate::layout::Layout;
use crate::ops::Op;
use crate::program::{Code, Program};
use crate::scalar::Scalar;
use crate::spec::{AxisMask, Fft, Linalg, Random, Reduce, Scan, Search, Sort};
use std::fmt::Debug;

/// The verbs of a backend.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Verb {
    Map,
    Reduce,
    Scan,
    Gather,
    Scatter,
    Compact,
    Sort,
    Search,
    Matmul,
    Linalg,
    Fft,
    Random,
}

impl Verb {
    /// Every verb, in order.
    pub const ALL: [Verb; 12] = [
        Verb::Map,
        Verb::Reduce,
        Verb::Scan,
        Verb::Gather,
        Verb::Scatter,
        Verb::Compact,
        Verb::Sort,
        Verb::Search,
        Verb::Matmul,
        Verb::Linalg,
        Verb::Fft,
        Verb::Random,
    ];
}

/// Whether a backend's `map` and `reduce` can compute an operation in a dtype.
pub type OpSupport = fn(Op, DType) -> bool;

/// What a backend can do. Asked before every call: a backend is never handed what it has not promised.
#[derive(Clone, Debug)]
pub struct Caps {
    /// Dtypes computed natively.
    pub dtypes: DTypeSet,
    /// Per verb, in the order of [`Verb`], the dtypes it takes.
    pub verbs: [DTypeSet; Verb::ALL.len()],
    /// Operations beyond `dtypes` that are missing or not right on this device.
    pub op_support: OpSupport,
    /// Most inputs plus outputs of one program.
    pub max_operands: usize,
    /// Most instructions of one program.
    pub max_instrs: usize,
    /// Most dimensions of a domain after collapsing.
    pub max_ndim: usize,
    /// Whether the host can read buffers in place.
    pub host_visible: bool,
    /// Whether small work is better run at once than recorded: true where a launch costs next to nothing.
    pub eager_small: bool,
}

impl Caps {
    /// Whether `verb` takes `dtype`.
    pub fn has(&self, verb: Verb, dtype: DType) -> bool {
        self.verbs[verb as usize].contains(dtype)
    }

    /// Whether every instruction of `program` can run on this backend under `verb` (`Map` or `Reduce`).
    pub fn takes(&self, verb: Verb, program: &Program) -> bool {
        program.instrs().iter().all(|i| {
            self.has(verb, i.dtype)
                && match i.code {
                    Code::Apply(op) => {
                        let arg = if op == Op::Select {
                            i.args[1]
                        } else {
                            i.args[0]
                        };
                        (self.op_support)(op, program.instrs()[arg as usize].dtype)
                    }
                    _ => true,
                }
        })
    }
}

/// One array argument: a buffer seen through a layout. Layouts count elements of `dtype`, and the
/// front end guarantees that they stay inside the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The memory.
    pub buffer: &'a Buffer,
    /// Which elements of it.
    pub layout: &'a Layout,
    /// The element type.
    pub dtype: DType,
}

/// The arguments of a program.
///
/// Every layout has the domain's shape (for `reduce`, outputs have the kept axes only). An output
/// never overlaps an input or another output, except that `donated[k] = Some(i)` says that output `k` *is* input
/// `i`: same buffer, same layout, same item size; each element is then read before it is written.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    /// The domain that the program runs over.
    pub shape: &'a [usize],
    /// One per [`Code::Load`].
    pub inputs: &'a [Operand<'a>],
    /// One per [`Code::Param`], already of the instruction's dtype.
    pub params: &'a [Scalar],
    /// One per output of the program.
    pub outputs: &'a [Operand<'a>],
    /// Per output, the input it overwrites; may be shorter than `outputs`.
    pub donated: &'a [Option<u16>],
}

/// Bytes of a backend's memory pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryInfo {
    /// Held by live arrays.
    pub in_use: usize,
    /// Kept for reuse.
    pub cached: usize,
    /// Most that was ever in use.
    pub peak: usize,
    /// The limit, if one is set.
    pub limit: Option<usize>,
}

/// What a backend has done so far; the front end keeps the counts of verbs itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Kernels launched (a CPU backend counts one per verb).
    pub dispatches: u64,
    /// Pipelines compiled.
    pub pipelines: u64,
    /// Bytes copied between the host and the device.
    pub bytes_transferred: u64,
}

/// A place where arrays live and programs run.
///
/// Methods may be called from many threads at once. A method that fails has written nothing that the user
/// can see, except that a failed `scatter` may have written a prefix on a device with asynchronous errors.
/// No method panics on data. An optional verb is called only where [`Caps`] promises it.
pub trait Backend: Send + Sync + Debug {
    /// The registered name, with the device where there are several: `cpu-parallel`, `wgpu:1`.
    fn name(&self) -> &str;
    /// What the backend can do.
    fn caps(&self) -> &Caps;
    /// The memory space of its buffers.
    fn space(&self) -> Space;
    /// Computing threads; 1 for a device.
    fn threads(&self) -> usize;

    /// At least `bytes` bytes of unspecified content, aligned for every dtype.
    ///
    /// # Errors
    /// `Memory` over the limit or the device's largest buffer, naming both.
    fn alloc(&self, bytes: usize) -> Result<Buffer>;
    /// A buffer over memory of another owner, without a copy.
    ///
    /// # Errors
    /// `Buffer` where the memory is out of the backend's reach.
    fn adopt(&self, memory: ForeignMemory) -> Result<Buffer>;
    /// Copies host bytes into a buffer.
    fn write(&self, to: &Buffer, offset: usize, bytes: &[u8]) -> Result<()>;
    /// Copies bytes of a buffer to the host, after all work queued before.
    fn read(&self, from: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()>;
    /// Waits for all queued work and reports failures that had no call to report them.
    fn sync(&self) -> Result<()>;

    /// The memory pool's account.
    fn memory(&self) -> MemoryInfo;
    /// Sets or lifts the pool's limit in bytes.
    fn set_memory_limit(&self, limit: Option<usize>);
    /// Returns cached memory to the system.
    fn release(&self);
    /// What was done so far.
    fn counters(&self) -> Counters;
    /// A warning that came up since the last call (fewer threads than asked for), once.
    fn take_warning(&self) -> Option<String> {
        None
    }

    /// Runs a program over a domain.
    fn map(&self, program: &Program, args: Args<'_>) -> Result<()>;
    /// Runs a program with one output and combines its values over `axes`. The order of combination depends on the
    /// shape and the axes alone.
    fn reduce(
        &self,
        reduce: Reduce,
        program: &Program,
        axes: AxisMask,
        args: Args<'_>,
    ) -> Result<()>;
    /// A cumulative operation; input and output have one shape and dtype.
    fn scan(&self, scan: Scan, input: Operand<'_>, output: Operand<'_>) -> Result<()>;
    /// Indexed reading. With `k` index arrays of shape `J` and a source of shape `D + R`, where `D` has `k` axes,
    /// `output[j, r] = source[indices[0][j], .., indices[k-1][j], r]` of shape `J + R`. Indices are `int64`; negative ones
    /// count from the end.
    ///
    /// # Errors
    /// `Index` naming the first bad index, its axis and size; the output is then unspecified.
    fn gather(
        &self,
        source: Operand<'_>,
        indices: &[Operand<'_>],
        output: Operand<'_>,
    ) -> Result<()>;
    /// Indexed writing: `target[indices[..][j], r] = values[j, r]`, the last in row-major order winning.
    /// All indices are checked before the first write.
    ///
    /// # Errors
    /// `Index`, with the target untouched.
    fn scatter(
        &self,
        target: Operand<'_>,
        indices: &[Operand<'_>],
        values: Operand<'_>,
    ) -> Result<()>;

    /// The row-major positions (`int64`, dense) of the true elements of a `bool` array, and how many.
    fn compact(&self, mask: Operand<'_>) -> Result<(Buffer, usize)>;
    /// Sorts along one axis; the output has the input's shape.
    fn sort(&self, sort: Sort, input: Operand<'_>, output: Operand<'_>) -> Result<()>;
    /// Positions at which `values` would be inserted into the sorted 1-D array.
    fn search(
        &self,
        search: Search,
        sorted: Operand<'_>,
        values: Operand<'_>,
        output: Operand<'_>,
    ) -> Result<()>;
    /// Matrix product over the last two axes: `(.., m, k) x (.., k, n) -> (.., m, n)`, one dtype, equal leading axes.
    fn matmul(&self, a: Operand<'_>, b: Operand<'_>, output: Operand<'_>) -> Result<()>;
    /// A linear algebra routine; operands as [`Linalg`] lists them.
    ///
    /// # Errors
    /// `Linalg` for a singular matrix or an iteration that does not converge.
    fn linalg(&self, linalg: Linalg, inputs: &[Operand<'_>], outputs: &[Operand<'_>])
    -> Result<()>;
    /// A transform along one axis.
    fn fft(&self, fft: Fft, input: Operand<'_>, output: Operand<'_>) -> Result<()>;
    /// Fills a dense array with random numbers of a stream.
    fn random(&self, random: Random, key: u64, counter: u64, output: Operand<'_>) -> Result<()>;
}

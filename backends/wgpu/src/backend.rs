//! The verbs, in terms of plans and launches.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rustarr_interface::{
    Args, AxisMask, Backend, Buffer, Caps, Code, Counters, DType, DTypeSet, Error, Fft,
    ForeignMemory, Layout, Linalg, Memory, MemoryInfo, Op, Operand, Program, Random, Reduce,
    Result, Scan, Search, Sort, Space, Verb, interrupt,
};

use crate::adapter::{AdapterReport, Choice};
use crate::device::Gpu;
use crate::fault::Fault;
use crate::fold::{Fold, Scratch, locates};
use crate::launch::{Launcher, Work};
use crate::plan::{Domain, View, WINDOW_SLACK, pack};
use crate::pool::{Block, Pool};
use crate::random;
use crate::render::has_op;
use crate::signature::{Form, Signature, Task};

/// Elements times cost that one dispatch may have on a software adapter, so that it
/// stays well under a second on a slow core.
const SOFTWARE_BUDGET: usize = 1 << 26;
/// The same for hardware, which is at least thirty times as fast.
const HARDWARE_BUDGET: usize = 1 << 32;

/// An array library backend on one wgpu device.
#[derive(Debug)]
pub struct WgpuBackend {
    name: String,
    space: Space,
    caps: Caps,
    gpu: Arc<Gpu>,
    pool: Arc<Pool>,
    launcher: Launcher,
    transferred: AtomicU64,
}

impl Memory for Block {
    fn len(&self) -> usize {
        Block::len(self) as usize
    }
    fn host_ptr(&self) -> Option<NonNull<u8>> {
        None
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Names the verb that met a fault.
fn error(op: &str, fault: Fault) -> Error {
    let op = op.to_owned();
    let text = fault.to_string();
    match fault {
        Fault::NoAdapter(_) => Error::device(op, text),
        Fault::Lost(_) => Error::device_lost(op, text),
        Fault::Memory(_) => Error::memory(op, text),
        Fault::Shader(_) | Fault::Device(_) => Error::backend(op, text),
    }
}

/// What the user would call the program: its last operation.
fn title(program: &Program) -> &'static str {
    let last = |code: &Code| match code {
        Code::Apply(op) => Some(op.name()),
        Code::Cast => Some("astype"),
        _ => None,
    };
    program
        .instrs()
        .iter()
        .rev()
        .find_map(|i| last(&i.code))
        .unwrap_or("copy")
}

/// Whether the shader library has the operation in the dtype, from a table made once.
fn supported(op: Op, dtype: DType) -> bool {
    static TABLE: OnceLock<Vec<u16>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let row = |op: Op| {
            DType::ALL
                .iter()
                .filter(|d| has_op(op, **d))
                .fold(0, |bits, d| bits | 1 << *d as u16)
        };
        Op::TABLE.iter().map(|info| row(info.op)).collect()
    });
    table[op as usize] >> dtype as u16 & 1 == 1
}

fn caps(gpu: &Gpu) -> Caps {
    let dtypes = gpu.report().native.dtypes();
    let mut verbs = [DTypeSet::EMPTY; Verb::ALL.len()];
    verbs[Verb::Map as usize] = dtypes;
    verbs[Verb::Reduce as usize] = dtypes;
    verbs[Verb::Random as usize] = random::dtypes(dtypes);
    let limits = gpu.limits();
    // Two outputs at most hide behind a reduction's one: values and positions.
    let bindings = limits.max_storage_buffers_per_shader_stage.min(32) as usize;
    Caps {
        dtypes,
        verbs,
        op_support: supported,
        max_operands: bindings - 1,
        max_instrs: 128,
        max_ndim: 32,
        host_visible: false,
        eager_small: false,
    }
}

impl WgpuBackend {
    /// Opens a device.
    ///
    /// # Errors
    /// `Device` with the list of adapters and why each was refused; `DeviceLost` in a process
    /// forked from one that had used the driver.
    pub fn open(choice: &Choice, memory_limit: Option<usize>) -> Result<Arc<WgpuBackend>> {
        static SPACES: AtomicU32 = AtomicU32::new(0);
        let gpu = Gpu::open(choice).map_err(|f| error("wgpu", f))?;
        Ok(Arc::new(WgpuBackend {
            name: format!("wgpu:{}", gpu.report().index),
            space: Space::Device(SPACES.fetch_add(1, Ordering::Relaxed)),
            caps: caps(&gpu),
            pool: Pool::new(Arc::clone(&gpu), memory_limit.map(|l| l as u64)),
            launcher: Launcher::new(Arc::clone(&gpu)),
            gpu,
            transferred: AtomicU64::new(0),
        }))
    }

    /// The adapter that was opened.
    pub fn adapter(&self) -> &AdapterReport {
        self.gpu.report()
    }

    /// The device itself.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The buffer as a block of this device.
    fn block<'a>(&self, op: &str, buffer: &'a Buffer) -> Result<&'a Block> {
        match buffer.downcast::<Block>() {
            Some(block) if Arc::ptr_eq(block.pool(), &self.pool) => Ok(block),
            _ => Err(Error::device(
                op.to_owned(),
                format!(
                    "an operand does not live on {}; move it with to_device",
                    self.name
                ),
            )),
        }
    }

    /// Elements of one dispatch of this program.
    fn limit(&self, program: &Program) -> usize {
        let cost = |code: Code| match code {
            Code::Apply(op) if op.info().ulp > 2 => 12,
            Code::Apply(Op::FloorDivide | Op::Remainder | Op::Pow) => 12,
            _ => 1,
        };
        let total: usize = 4 + program.instrs().iter().map(|i| cost(i.code)).sum::<usize>();
        let budget = if self.gpu.report().is_software() {
            SOFTWARE_BUDGET
        } else {
            HARDWARE_BUDGET
        };
        (budget / total).clamp(1 << 16, 1 << 31)
    }

    /// Checks the operands and copies inputs that share a buffer with an output but lie out
    /// of one window's reach of it: a written buffer is bound once.
    fn detached(&self, op: &str, args: &Args<'_>) -> Result<Vec<Option<(Buffer, usize)>>> {
        for operand in args.inputs.iter().chain(args.outputs) {
            self.block(op, operand.buffer)?;
        }
        let bytes = |o: &Operand<'_>| {
            let (lo, hi) = o.layout.extent().unwrap_or((0, 0));
            (
                (lo * o.dtype.itemsize()) as u64,
                (hi * o.dtype.itemsize()) as u64,
            )
        };
        let reach = self.launcher.reach();
        args.inputs
            .iter()
            .map(|input| {
                let (lo, hi) = bytes(input);
                let far = args
                    .outputs
                    .iter()
                    .filter(|o| o.buffer.same(input.buffer))
                    .any(|o| {
                        let same = o.layout == input.layout
                            && o.dtype.itemsize() == input.dtype.itemsize();
                        let (olo, ohi) = bytes(o);
                        !same && hi.max(ohi) - lo.min(olo) + WINDOW_SLACK > reach
                    });
                if !far {
                    return Ok(None);
                }
                let start = lo / 16 * 16;
                let copied = self.pool.copy(self.block(op, input.buffer)?, start, hi);
                let copy = copied.map_err(|f| error(op, f))?;
                Ok(Some((
                    Buffer::new(copy),
                    start as usize / input.dtype.itemsize(),
                )))
            })
            .collect()
    }

    fn checked_range(&self, op: &str, buffer: &Buffer, offset: usize, len: usize) -> Result<()> {
        let inside = offset
            .checked_add(len)
            .is_some_and(|end| end <= buffer.len());
        if inside {
            return Ok(());
        }
        let size = buffer.len();
        Err(Error::backend(
            op.to_owned(),
            format!("bytes {offset}.. ({len}) of a buffer of {size} bytes"),
        ))
    }

    fn missing(&self, verb: &'static str) -> Error {
        Error::unsupported(
            verb,
            format!("{} does not run it; caps() says so", self.name),
        )
    }

    /// Fills the outputs with what the reduction of nothing gives.
    fn fill_identity(&self, reduce: Reduce, dtype: DType, args: &Args<'_>) -> Result<()> {
        let output = args.outputs[0];
        let params = [reduce.identity(dtype).cast(output.dtype)];
        self.map(
            &Program::fill(output.dtype),
            Args {
                shape: output.layout.shape(),
                inputs: &[],
                params: &params,
                outputs: args.outputs,
                donated: &[],
            },
        )
    }
}

impl Backend for WgpuBackend {
    fn name(&self) -> &str {
        &self.name
    }
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn space(&self) -> Space {
        self.space
    }
    fn threads(&self) -> usize {
        1
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        self.pool
            .alloc(bytes as u64)
            .map(Buffer::new)
            .map_err(|f| error("alloc", f))
    }

    fn adopt(&self, _memory: ForeignMemory) -> Result<Buffer> {
        Err(Error::buffer(
            "asarray",
            format!(
                "host memory cannot be used in place by {}; allow a copy",
                self.name
            ),
        ))
    }

    fn write(&self, to: &Buffer, offset: usize, bytes: &[u8]) -> Result<()> {
        let block = self.block("write", to)?;
        self.checked_range("write", to, offset, bytes.len())?;
        self.pool
            .write(block, offset as u64, bytes)
            .map_err(|f| error("write", f))?;
        self.transferred
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn read(&self, from: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let block = self.block("read", from)?;
        self.checked_range("read", from, offset, bytes.len())?;
        self.sync()?;
        self.pool
            .read(block, offset as u64, bytes)
            .map_err(|f| error("read", f))?;
        self.transferred
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let done = self
            .gpu
            .sync(&interrupt::requested)
            .map_err(|f| error("synchronize", f))?;
        if !done {
            return Err(Error::interrupted(
                "synchronize",
                "stopped while waiting for the device; its work goes on",
            ));
        }
        self.launcher.save();
        Ok(())
    }

    fn memory(&self) -> MemoryInfo {
        let usage = self.pool.usage();
        MemoryInfo {
            in_use: usage.used as usize,
            cached: usage.pooled as usize,
            peak: usage.peak as usize,
            limit: usage.limit.map(|l| l as usize),
        }
    }
    fn set_memory_limit(&self, limit: Option<usize>) {
        self.pool.set_limit(limit.map(|l| l as u64));
    }
    fn release(&self) {
        self.pool.release();
    }
    fn counters(&self) -> Counters {
        Counters {
            dispatches: self.launcher.dispatched(),
            pipelines: self.launcher.compiled(),
            bytes_transferred: self.transferred.load(Ordering::Relaxed),
        }
    }

    fn map(&self, program: &Program, args: Args<'_>) -> Result<()> {
        let op = title(program);
        let fail = |f| error(op, f);
        self.gpu.check().map_err(fail)?;
        if args.shape.contains(&0) {
            return Ok(());
        }
        let copies = self.detached(op, &args)?;
        let inputs: Vec<&Layout> = args.inputs.iter().map(|o| o.layout).collect();
        let outputs: Vec<&Layout> = args.outputs.iter().map(|o| o.layout).collect();
        let mut domain = Domain::new(args.shape, AxisMask::default(), &inputs, &outputs, program);
        domain.pad(false, args.inputs.len());
        let views = views(&args, &domain, &copies);
        let sizes: Vec<usize> = views.iter().map(View::itemsize).collect();
        let pieces = domain.pieces(&sizes, self.limit(program), self.launcher.reach());
        let mut dispatches = Vec::new();
        for part in domain.boxes(&pieces) {
            let mut views: Vec<View<'_>> = views.iter().map(|v| v.within(&part)).collect();
            pack(&mut views, args.inputs.len(), &part.dims);
            let signature = Signature::new(program, Task::Map, &domain);
            let work = Work {
                domain: &domain,
                part: &part,
                params: args.params,
                pieces: (1, 1),
                seeds: &[],
            };
            dispatches.push(
                self.launcher
                    .prepare(signature, &mut views, &work)
                    .map_err(fail)?,
            );
        }
        self.launcher.run(&dispatches).map_err(fail)
    }

    fn reduce(
        &self,
        reduce: Reduce,
        program: &Program,
        axes: AxisMask,
        args: Args<'_>,
    ) -> Result<()> {
        let op = reduce.name();
        let fail = |f| error(op, f);
        self.gpu.check().map_err(fail)?;
        let sizes = |inner: bool| {
            let kept = args
                .shape
                .iter()
                .enumerate()
                .filter(move |(a, _)| axes.contains(*a) == inner);
            kept.fold(1usize, |n, (_, d)| n.saturating_mul(*d))
        };
        let (results, depth) = (sizes(false), sizes(true));
        if results == 0 {
            return Ok(());
        }
        if depth == 0 {
            return self.fill_identity(reduce, program.out_dtype(0), &args);
        }
        if locates(reduce) && depth >= u32::MAX as usize {
            return Err(Error::unsupported(
                op,
                format!(
                    "{depth} elements are more positions than the device counts; reduce in parts"
                ),
            ));
        }
        let copies = self.detached(op, &args)?;
        let inputs: Vec<&Layout> = args.inputs.iter().map(|o| o.layout).collect();
        let outputs: Vec<&Layout> = args.outputs.iter().map(|o| o.layout).collect();
        let mut domain = Domain::new(args.shape, axes, &inputs, &outputs, program);
        domain.pad(false, args.inputs.len());
        domain.pad(true, args.inputs.len());
        let mut views = views(&args, &domain, &copies);
        let output = views.pop().expect("a reduction has one output");
        let last = args.shape.iter().rposition(|d| *d != 1);
        let fold = Fold {
            reduce,
            program: program.clone(),
            params: args.params,
            domain,
            inputs: views,
            output,
            inner_last: last.is_none_or(|axis| axes.contains(axis)),
            again: false,
        };
        let (mut scratch, mut dispatches) = (Scratch::default(), Vec::new());
        fold.prepare(
            &self.launcher,
            &self.pool,
            self.limit(program),
            &mut scratch,
            &mut dispatches,
        )
        .map_err(fail)?;
        self.launcher.run(&dispatches).map_err(fail)
    }

    fn scan(&self, _: Scan, _: Operand<'_>, _: Operand<'_>) -> Result<()> {
        Err(self.missing("scan"))
    }
    fn gather(&self, _: Operand<'_>, _: &[Operand<'_>], _: Operand<'_>) -> Result<()> {
        Err(self.missing("gather"))
    }
    fn scatter(&self, _: Operand<'_>, _: &[Operand<'_>], _: Operand<'_>) -> Result<()> {
        Err(self.missing("scatter"))
    }
    fn compact(&self, _: Operand<'_>) -> Result<(Buffer, usize)> {
        Err(self.missing("compact"))
    }
    fn sort(&self, _: Sort, _: Operand<'_>, _: Operand<'_>) -> Result<()> {
        Err(self.missing("sort"))
    }
    fn search(&self, _: Search, _: Operand<'_>, _: Operand<'_>, _: Operand<'_>) -> Result<()> {
        Err(self.missing("search"))
    }
    fn matmul(&self, _: Operand<'_>, _: Operand<'_>, _: Operand<'_>) -> Result<()> {
        Err(self.missing("matmul"))
    }
    fn linalg(&self, _: Linalg, _: &[Operand<'_>], _: &[Operand<'_>]) -> Result<()> {
        Err(self.missing("linalg"))
    }
    fn fft(&self, _: Fft, _: Operand<'_>, _: Operand<'_>) -> Result<()> {
        Err(self.missing("fft"))
    }
    fn random(&self, random: Random, key: u64, counter: u64, output: Operand<'_>) -> Result<()> {
        let op = "random";
        let fail = |f| error(op, f);
        self.gpu.check().map_err(fail)?;
        self.block(op, output.buffer)?;
        if !output.layout.is_contiguous() {
            return Err(Error::backend(
                op,
                "the output is not a dense row-major array",
            ));
        }
        let limit = self.limit(&Program::fill(output.dtype)) / 8;
        let prepared =
            random::prepare(&self.launcher, random, key, counter, &output, limit).map_err(fail)?;
        match prepared {
            Some(dispatches) => self.launcher.run(&dispatches).map_err(fail),
            None => Err(Error::dtype(
                op,
                format!("{random:?} has no {} numbers", output.dtype),
            )),
        }
    }
}

/// The operands over the collapsed domain, inputs first; copies stand in for inputs that
/// were detached.
fn views<'a>(
    args: &Args<'a>,
    domain: &Domain,
    copies: &'a [Option<(Buffer, usize)>],
) -> Vec<View<'a>> {
    let operands = args.inputs.iter().chain(args.outputs);
    operands
        .zip(&domain.strides)
        .enumerate()
        .map(|(n, (operand, strides))| {
            let mut view = View::new(operand, strides, n >= args.inputs.len());
            if let Some(Some((copy, start))) = copies.get(n) {
                view.buffer = copy;
                view.offset -= start;
            }
            debug_assert_eq!(view.form, Form::Array);
            view
        })
        .collect()
}

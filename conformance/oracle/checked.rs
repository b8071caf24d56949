//! A backend that computes element by element with the oracle's own references and checks at every
//! call that the front end keeps its side of the contract.
//!
//! Fresh memory is filled with rubbish, so that reading what was never written shows.

use super::array::Fold;
use super::value::Value;
use crate::suite::reference::{Place, evaluate};
use rustarr_interface::{
    Args, AxisMask, Backend, Buffer, Caps, Code, Counters, DType, DTypeSet, Error, Fft,
    ForeignMemory, Layout, Linalg, Memory, MemoryInfo, Op, Operand, Program, Random, Reduce,
    Result, Scan, Search, Sort, Space, Verb,
};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The naive backend. `max_instrs` and `max_operands` are small when tests want many cuts.
#[derive(Debug)]
pub struct Checked {
    caps: Caps,
    dispatches: AtomicU64,
}

impl Checked {
    /// A backend of the given limits.
    pub fn new(max_instrs: usize, max_operands: usize) -> Checked {
        let mut verbs = [DTypeSet::EMPTY; Verb::ALL.len()];
        verbs[Verb::Map as usize] = DTypeSet::ALL;
        verbs[Verb::Reduce as usize] = DTypeSet::ALL;
        let caps = Caps {
            dtypes: DTypeSet::ALL,
            verbs,
            op_support: |_, _| true,
            max_operands,
            max_instrs,
            max_ndim: 64,
            host_visible: true,
            eager_small: true,
        };
        Checked {
            caps,
            dispatches: AtomicU64::new(0),
        }
    }
}

impl Checked {
    fn check_size(&self, program: &Program, args: &Args<'_>) {
        let (instrs, operands) = (
            program.instrs().len(),
            args.inputs.len() + args.outputs.len(),
        );
        assert!(instrs <= self.caps.max_instrs, "{instrs} instructions");
        assert!(operands <= self.caps.max_operands, "{operands} operands");
    }
}

#[derive(Debug)]
struct Block {
    /// In units of the largest alignment.
    ptr: NonNull<u128>,
    units: usize,
    bytes: usize,
}

// SAFETY: the block is plain memory; who may touch it when is arranged by the front end.
unsafe impl Send for Block {}
// SAFETY: as for `Send`.
unsafe impl Sync for Block {}

impl Memory for Block {
    fn len(&self) -> usize {
        self.bytes
    }
    fn host_ptr(&self) -> Option<NonNull<u8>> {
        Some(self.ptr.cast())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the pointer and the length are those of the boxed slice that was leaked in `alloc`.
        unsafe {
            let slice = std::ptr::slice_from_raw_parts_mut(self.ptr.as_ptr(), self.units);
            // Whoever still reads it sees rubbish.
            (*slice).fill(0xDBDB_DBDB_DBDB_DBDB_DBDB_DBDB_DBDB_DBDB);
            drop(Box::from_raw(slice));
        }
    }
}

fn pointer(operand: &Operand<'_>, position: usize) -> *mut u8 {
    let start = operand.buffer.host_ptr().expect("host memory").as_ptr();
    start.wrapping_add(position * operand.dtype.itemsize())
}

fn read(operand: &Operand<'_>, position: usize) -> Value {
    let size = operand.dtype.itemsize();
    let mut bytes = [0u8; 16];
    // SAFETY: `check` has found every position inside the buffer, and nobody writes it meanwhile.
    unsafe { std::ptr::copy_nonoverlapping(pointer(operand, position), bytes.as_mut_ptr(), size) };
    Value::from_bytes(operand.dtype, &bytes)
}

fn write(operand: &Operand<'_>, position: usize, value: Value) {
    let mut bytes = Vec::new();
    value.push_bytes(operand.dtype, &mut bytes);
    // SAFETY: as in `read`; the front end hands outputs to one call at a time.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer(operand, position), bytes.len())
    };
}

fn positions(layout: &Layout) -> Vec<usize> {
    (0..layout.size()).map(|i| layout.position(i)).collect()
}

fn check_operand(operand: &Operand<'_>, shape: &[usize], what: &str) {
    assert_eq!(operand.layout.shape(), shape, "the shape of an {what}");
    let len = operand.buffer.len() / operand.dtype.itemsize();
    for position in positions(operand.layout) {
        assert!(
            position < len,
            "an {what} of {:?} leaves its buffer of {len}",
            operand.layout
        );
    }
    let aligned = operand.buffer.host_ptr().is_some_and(|p| {
        operand.buffer.is_empty()
            || (p.as_ptr() as usize).is_multiple_of(operand.dtype.itemsize().min(8))
    });
    assert!(aligned, "an {what} is misaligned");
}

/// Checks everything that the trait promises about the arguments of a program.
fn check(program: &Program, args: &Args<'_>, out_shape: &[usize], out_dtypes: &[DType]) {
    assert_eq!(program.inputs(), args.inputs.len(), "inputs");
    assert_eq!(program.params(), args.params.len(), "parameters");
    assert_eq!(program.outs().len(), args.outputs.len(), "outputs");
    for instr in program.instrs() {
        match instr.code {
            Code::Load(n) => assert_eq!(args.inputs[n as usize].dtype, instr.dtype, "input {n}"),
            Code::Param(n) => assert_eq!(
                args.params[n as usize].dtype(),
                instr.dtype,
                "parameter {n}"
            ),
            Code::Iota(axis) => {
                assert!((axis as usize) < args.shape.len(), "iota over axis {axis}")
            }
            _ => {}
        }
    }
    for input in args.inputs {
        check_operand(input, args.shape, "input");
    }
    let cells = |o: &Operand<'_>| {
        let size = o.dtype.itemsize();
        let mut cells: Vec<_> = positions(o.layout)
            .into_iter()
            .flat_map(|p| (0..size).map(move |b| pointer(o, p) as usize + b))
            .collect();
        cells.sort_unstable();
        cells
    };
    for (k, output) in args.outputs.iter().enumerate() {
        check_operand(output, out_shape, "output");
        assert_eq!(output.dtype, out_dtypes[k], "the dtype of output {k}");
        let own = cells(output);
        assert!(
            own.windows(2).all(|w| w[0] != w[1]),
            "output {k} writes an element twice"
        );
        let donor = args.donated.get(k).copied().flatten();
        for (i, input) in args.inputs.iter().enumerate() {
            if donor == Some(i as u16) {
                assert!(
                    input.buffer.same(output.buffer)
                        && input.layout == output.layout
                        && input.dtype.itemsize() == output.dtype.itemsize(),
                    "output {k} is not the input {i} that it overwrites"
                );
            } else {
                let read = cells(input);
                assert!(
                    !read.iter().any(|c| own.binary_search(c).is_ok()),
                    "output {k} overlaps input {i}"
                );
            }
        }
        for other in &args.outputs[..k] {
            let other = cells(other);
            assert!(
                !other.iter().any(|c| own.binary_search(c).is_ok()),
                "two outputs overlap"
            );
        }
    }
}

/// The values of every instruction at one index.
fn run(program: &Program, args: &Args<'_>, index: usize) -> Vec<Value> {
    let mut slots: Vec<Value> = Vec::with_capacity(program.instrs().len());
    for instr in program.instrs() {
        let value = match instr.code {
            Code::Load(n) => {
                let input = &args.inputs[n as usize];
                read(input, input.layout.position(index))
            }
            Code::Param(n) => Value::from_bytes(instr.dtype, args.params[n as usize].bytes()),
            Code::Iota(axis) => {
                let inner: usize = args.shape[axis as usize + 1..].iter().product();
                let coordinate = (index / inner % args.shape[axis as usize]) as i128;
                Value::Int(coordinate).cast(DType::I64, instr.dtype)
            }
            Code::Cast => {
                let from = instr.args[0] as usize;
                slots[from].cast(program.instrs()[from].dtype, instr.dtype)
            }
            Code::Apply(op) => {
                let operands: Vec<Value> = instr.args[..op.info().arity]
                    .iter()
                    .map(|&a| slots[a as usize])
                    .collect();
                let first = instr.args[(op == Op::Select) as usize] as usize;
                evaluate(op, program.instrs()[first].dtype, Place::Cpu, &operands)
            }
        };
        // An uncertain value is as good as any other here, and what is stored is certain.
        slots.push(match value {
            Value::Float(v, _) => v.into(),
            Value::Complex(v, _) => v.into(),
            Value::Any => {
                let mut zero = Vec::new();
                Value::Any.push_bytes(instr.dtype, &mut zero);
                Value::from_bytes(instr.dtype, &zero)
            }
            exact => exact,
        });
    }
    slots
}

fn lacking<T>(verb: &str) -> Result<T> {
    Err(Error::unsupported(
        verb.to_owned(),
        "the naive backend has map and reduce only",
    ))
}

impl Backend for Checked {
    fn name(&self) -> &str {
        "checked"
    }
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn space(&self) -> Space {
        Space::Host
    }
    fn threads(&self) -> usize {
        1
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        // A little more than asked for, as a pool would give.
        let units = bytes.div_ceil(16) + 1;
        let block = vec![0xA5A5_A5A5_A5A5_A5A5_A5A5_A5A5_A5A5_A5A5u128; units].into_boxed_slice();
        let ptr = NonNull::from(Box::leak(block)).cast::<u128>();
        Ok(Buffer::new(Block {
            ptr,
            units,
            bytes: units * 16,
        }))
    }
    fn adopt(&self, memory: ForeignMemory) -> Result<Buffer> {
        Ok(Buffer::new(memory))
    }
    fn write(&self, to: &Buffer, offset: usize, bytes: &[u8]) -> Result<()> {
        assert!(
            offset + bytes.len() <= to.len(),
            "a write leaves its buffer"
        );
        let start = to.host_ptr().expect("host memory").as_ptr();
        // SAFETY: the range is inside the buffer, and the front end keeps others off it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.add(offset), bytes.len()) };
        Ok(())
    }
    fn read(&self, from: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()> {
        assert!(
            offset + bytes.len() <= from.len(),
            "a read leaves its buffer"
        );
        let start = from.host_ptr().expect("host memory").as_ptr();
        // SAFETY: as for `write`.
        unsafe {
            std::ptr::copy_nonoverlapping(start.add(offset), bytes.as_mut_ptr(), bytes.len())
        };
        Ok(())
    }
    fn sync(&self) -> Result<()> {
        Ok(())
    }
    fn memory(&self) -> MemoryInfo {
        MemoryInfo::default()
    }
    fn set_memory_limit(&self, _limit: Option<usize>) {}
    fn release(&self) {}
    fn counters(&self) -> Counters {
        Counters {
            dispatches: self.dispatches.load(Relaxed),
            ..Counters::default()
        }
    }

    fn map(&self, program: &Program, args: Args<'_>) -> Result<()> {
        let dtypes: Vec<DType> = (0..program.outs().len())
            .map(|k| program.out_dtype(k))
            .collect();
        check(program, &args, args.shape, &dtypes);
        self.check_size(program, &args);
        self.dispatches.fetch_add(1, Relaxed);
        for index in 0..args.shape.iter().product() {
            let slots = run(program, &args, index);
            for (slot, output) in program.outs().iter().zip(args.outputs) {
                write(output, output.layout.position(index), slots[*slot as usize]);
            }
        }
        Ok(())
    }

    fn reduce(
        &self,
        reduce: Reduce,
        program: &Program,
        axes: AxisMask,
        args: Args<'_>,
    ) -> Result<()> {
        let output = args.outputs[0];
        let kept: Vec<usize> = (0..args.shape.len())
            .filter(|&a| !axes.contains(a))
            .map(|a| args.shape[a])
            .collect();
        let fold = match reduce {
            Reduce::Sum => Fold::Sum,
            Reduce::Prod => Fold::Prod,
            Reduce::Min => Fold::Min,
            Reduce::Max => Fold::Max,
            Reduce::Any => Fold::Any,
            Reduce::All => Fold::All,
            Reduce::ArgMin => Fold::ArgMin,
            Reduce::ArgMax => Fold::ArgMax,
        };
        let dtype = program.out_dtype(0);
        let position = matches!(reduce, Reduce::ArgMin | Reduce::ArgMax);
        let result = if position { DType::I64 } else { dtype };
        self.check_size(program, &args);
        check(program, &args, &kept, &[result]);
        assert!(args.donated.is_empty(), "a reduction overwrites nothing");
        let reduced: Vec<usize> = (0..args.shape.len())
            .filter(|&a| axes.contains(a))
            .collect();
        let (_, groups) = super::array::groups(args.shape, &reduced);
        self.dispatches.fetch_add(1, Relaxed);
        for (index, group) in groups.iter().enumerate() {
            let items: Vec<Value> = group
                .iter()
                .map(|&i| run(program, &args, i)[program.outs()[0] as usize])
                .collect();
            assert!(
                !items.is_empty() || !fold.needs_elements(),
                "an empty {reduce:?}"
            );
            let value = match fold
                .over(dtype, &items)
                .cast(fold.result(dtype), output.dtype)
            {
                Value::Any => Value::from_bytes(output.dtype, &[0; 16]),
                value => value,
            };
            write(&output, output.layout.position(index), value);
        }
        Ok(())
    }

    fn scan(&self, _: Scan, _: Operand<'_>, _: Operand<'_>) -> Result<()> {
        lacking("scan")
    }
    fn gather(&self, _: Operand<'_>, _: &[Operand<'_>], _: Operand<'_>) -> Result<()> {
        lacking("gather")
    }
    fn scatter(&self, _: Operand<'_>, _: &[Operand<'_>], _: Operand<'_>) -> Result<()> {
        lacking("scatter")
    }
    fn compact(&self, _: Operand<'_>) -> Result<(Buffer, usize)> {
        lacking("compact")
    }
    fn sort(&self, _: Sort, _: Operand<'_>, _: Operand<'_>) -> Result<()> {
        lacking("sort")
    }
    fn search(&self, _: Search, _: Operand<'_>, _: Operand<'_>, _: Operand<'_>) -> Result<()> {
        lacking("search")
    }
    fn matmul(&self, _: Operand<'_>, _: Operand<'_>, _: Operand<'_>) -> Result<()> {
        lacking("matmul")
    }
    fn linalg(&self, _: Linalg, _: &[Operand<'_>], _: &[Operand<'_>]) -> Result<()> {
        lacking("linalg")
    }
    fn fft(&self, _: Fft, _: Operand<'_>, _: Operand<'_>) -> Result<()> {
        lacking("fft")
    }
    fn random(&self, _: Random, _: u64, _: u64, _: Operand<'_>) -> Result<()> {
        lacking("random")
    }
}

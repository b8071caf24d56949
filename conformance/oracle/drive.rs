//! Runs programs on the front end, next to the oracle, and cuts failing ones down.

use super::array::View;
use super::program::{Model, Operand, Outcome, Step, ViewKind};
use super::value::Value;
use crate::suite::folds::reduce;
use crate::suite::{decode, encode};
use rustarr::interface::ForeignMemory;
use rustarr::{Arg, Array, Context, DType, Export, Result, ops};
use rustarr_interface::{Layout, dispatch};
use std::alloc;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Once};

/// Memory of somebody else.
struct Block {
    ptr: NonNull<u8>,
    layout: alloc::Layout,
}

// SAFETY: the tests use the memory from one thread at a time.
unsafe impl Send for Block {}
// SAFETY: as for `Send`.
unsafe impl Sync for Block {}

impl Block {
    fn new(bytes: &[u8]) -> Arc<Block> {
        let layout = alloc::Layout::from_size_align(bytes.len().max(1), 16).expect("a small block");
        // SAFETY: the layout is not empty.
        let ptr = NonNull::new(unsafe { alloc::alloc(layout) }).expect("a few bytes");
        // SAFETY: the block has room for the bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), ptr.as_ptr(), bytes.len()) };
        Arc::new(Block { ptr, layout })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this very layout.
        unsafe { alloc::dealloc(self.ptr.as_ptr(), self.layout) }
    }
}

/// The front end's side of a program.
struct Machine<'a> {
    contexts: &'a [Context],
    arrays: BTreeMap<u32, Array>,
    memories: BTreeMap<u32, (Arc<Block>, DType, usize)>,
    exports: BTreeMap<u32, Arc<Export>>,
}

/// What a program did.
#[derive(Clone, Default)]
pub struct Trace {
    /// The bytes of every live array at the end, NaNs made one.
    pub arrays: BTreeMap<u32, Vec<u8>>,
    /// How many elements these are, and of how many the oracle could say nothing.
    pub coverage: Coverage,
}

/// How much a run has compared.
#[derive(Clone, Copy, Default, Debug)]
pub struct Coverage {
    /// Elements compared with the oracle.
    pub elements: usize,
    /// Those among them that may have any value.
    pub free: usize,
}

fn one_value(dtype: DType, value: Value) -> Vec<u8> {
    encode(dtype, &[value])
}

impl Machine<'_> {
    fn step(&mut self, step: &Step) -> Result<()> {
        let get = |id: &u32| &self.arrays[id];
        let (id, made) = match step {
            Step::New {
                id,
                ctx,
                dtype,
                shape,
                values,
            } => (
                id,
                Array::from_bytes(&self.contexts[*ctx], *dtype, shape, &encode(*dtype, values))?,
            ),
            Step::Full {
                id,
                ctx,
                dtype,
                shape,
                value,
            } => {
                let bytes = one_value(*dtype, *value);
                let ctx = &self.contexts[*ctx];
                let made = dispatch!(all, *dtype, T => ctx.full(shape, bytemuck::pod_read_unaligned::<T>(&bytes)));
                (id, made?)
            }
            Step::Foreign {
                id,
                ctx,
                memory,
                dtype,
                shape,
                values,
                writable,
            } => {
                let block = Block::new(&encode(*dtype, values));
                self.memories
                    .insert(*memory, (block.clone(), *dtype, values.len()));
                (
                    id,
                    foreign(
                        &self.contexts[*ctx],
                        block,
                        *dtype,
                        values.len(),
                        Layout::contiguous(shape),
                        *writable,
                    )?,
                )
            }
            Step::ForeignAgain {
                id,
                ctx,
                memory,
                start,
                step,
                len,
            } => {
                let (block, dtype, size) = self.memories[memory].clone();
                let layout = Layout::contiguous(&[size]).slice(0, *start, *step, *len);
                (
                    id,
                    foreign(&self.contexts[*ctx], block, dtype, size, layout, true)?,
                )
            }
            Step::OwnerWrite {
                memory,
                index,
                value,
            } => {
                let (block, dtype, _) = &self.memories[memory];
                let bytes = one_value(*dtype, *value);
                // SAFETY: the index is inside the block, and nothing else runs.
                unsafe {
                    let to = block.ptr.as_ptr().add(index * dtype.itemsize());
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
                }
                return Ok(());
            }
            Step::View { id, of, kind } => (id, view(get(of), kind)?),
            Step::Clone { id, of } => (id, get(of).clone()),
            Step::Relabel { id, of, ctx } => (id, get(of).relabel(&self.contexts[*ctx])?),
            Step::ReadOnly { id, of } => (id, get(of).read_only()),
            Step::Copy { id, of } => (id, get(of).copy()?),
            Step::Cast { id, of, dtype } => (id, get(of).astype(*dtype)?),
            Step::Apply { id, op, args } => {
                let args: Vec<Arg<'_>> = args.iter().map(|a| self.arg(a)).collect();
                (id, ops::apply(*op, &args)?)
            }
            Step::Reduce {
                id,
                fold,
                of,
                axes,
                keepdims,
            } => (id, reduce(*fold, get(of), axes, *keepdims)?),
            Step::Assign { to, from } => return get(to).assign(get(from).clone()),
            Step::InPlace { op, to, from } => {
                return ops::apply_in_place(*op, get(to), self.arg(from));
            }
            Step::Export { id, of } => {
                let export = get(of).export()?;
                self.exports.insert(*id, Arc::new(export));
                return Ok(());
            }
            Step::ExportWrite {
                export,
                index,
                value,
            } => {
                let export = &self.exports[export];
                let bytes = one_value(export.dtype(), *value);
                // SAFETY: the element is one of the exported ones, and nothing else runs.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        bytes.as_ptr(),
                        element(export, *index),
                        bytes.len(),
                    )
                };
                return Ok(());
            }
            Step::Adopt { id, ctx, export } => {
                let (export, ctx) = (self.exports[export].clone(), &self.contexts[*ctx]);
                (id, adopt(ctx, export)?)
            }
            Step::DropExport { export } => {
                self.exports.remove(export);
                return Ok(());
            }
            Step::Realise { of } => return get(of).realise().map(|_| ()),
            Step::ExportRead { .. } | Step::Read { .. } => return Ok(()),
            Step::Drop { of } => {
                self.arrays.remove(of);
                return Ok(());
            }
        };
        self.arrays.insert(*id, made);
        Ok(())
    }

    fn arg(&self, operand: &Operand) -> Arg<'_> {
        match operand {
            Operand::Array(id) => Arg::Array(&self.arrays[id]),
            Operand::Scalar(scalar) => Arg::Scalar(*scalar),
        }
    }

    /// What a step was to show at once.
    fn observe(&self, model: &Model, step: &Step) -> std::result::Result<(), String> {
        match step {
            Step::Read { of } => {
                let x = &self.arrays[of];
                let bytes = caught(|| x.to_bytes())?.map_err(|e| e.to_string())?;
                compare(*of, &model.arrays[of], x, &bytes)
            }
            Step::ExportRead { export } => {
                let (held, want) = (&self.exports[export], &model.exports[export]);
                for (i, want) in want.values().iter().enumerate() {
                    let size = held.dtype().itemsize();
                    // SAFETY: the element is one of the exported ones.
                    let bytes = unsafe { std::slice::from_raw_parts(element(held, i), size) };
                    let got = Value::from_bytes(held.dtype(), bytes);
                    if !want.accepts(&got) {
                        return Err(format!(
                            "element {i} of the export {export} is {got:?}, not {want:?}"
                        ));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn foreign(
    ctx: &Context,
    block: Arc<Block>,
    dtype: DType,
    size: usize,
    layout: Layout,
    writable: bool,
) -> Result<Array> {
    // SAFETY: the block lives as long as its owner handle, and the tests run one thing at a time.
    let memory = unsafe { ForeignMemory::new(block.ptr, size * dtype.itemsize(), Box::new(block)) };
    // SAFETY: the layout names elements of the block, which is aligned for every dtype.
    unsafe { Array::from_foreign(ctx, memory, dtype, layout, writable) }
}

fn element(export: &Export, index: usize) -> *mut u8 {
    let mut at = 0isize;
    let mut rest = index;
    for (&dim, &stride) in export.shape().iter().zip(export.strides()).rev() {
        at += (rest % dim) as isize * stride;
        rest /= dim;
    }
    export
        .ptr()
        .as_ptr()
        .wrapping_offset(at * export.dtype().itemsize() as isize)
}

/// A foreign array over exported memory, which it keeps alive.
fn adopt(ctx: &Context, export: Arc<Export>) -> Result<Array> {
    let (dtype, size) = (export.dtype(), export.dtype().itemsize());
    let (mut low, mut high) = (0isize, 0isize);
    for (&dim, &stride) in export.shape().iter().zip(export.strides()) {
        let reach = (dim as isize - 1) * stride;
        if reach < 0 {
            low += reach
        } else {
            high += reach
        }
    }
    let empty = export.shape().contains(&0);
    let (low, count) = if empty {
        (0, 0)
    } else {
        (low, (high - low + 1) as usize)
    };
    let layout = Layout::new(export.shape(), export.strides(), low.unsigned_abs());
    let start =
        NonNull::new(export.ptr().as_ptr().wrapping_offset(low * size as isize)).expect("memory");
    let writable = !export.is_read_only();
    // SAFETY: the export keeps the memory valid and in place.
    let memory = unsafe { ForeignMemory::new(start, count * size, Box::new(export)) };
    // SAFETY: the layout names the exported elements.
    unsafe { Array::from_foreign(ctx, memory, dtype, layout, writable) }
}

fn view(x: &Array, kind: &ViewKind) -> Result<Array> {
    let layout = x.layout();
    Ok(x.view(match kind {
        ViewKind::Slice {
            axis,
            start,
            step,
            len,
        } => layout.slice(*axis, *start, *step, *len),
        ViewKind::Select { axis, index } => layout.select(*axis, *index),
        ViewKind::Flip { axis } => layout.flip(*axis),
        ViewKind::Permute { axes } => layout.permute(axes),
        ViewKind::NewAxis { axis } => layout.insert_axis(*axis),
        ViewKind::Broadcast { shape } => layout.broadcast_to(shape)?,
        ViewKind::Diagonal { k, a, b } => layout.diagonal(*k, *a, *b),
        ViewKind::Reshape { shape } => match layout.reshape(shape) {
            Some(layout) => layout,
            None => {
                let dense = x.copy()?;
                return Ok(dense.view(dense.layout().reshape(shape).expect("a dense array")));
            }
        },
    }))
}

fn compare(id: u32, want: &View, got: &Array, bytes: &[u8]) -> std::result::Result<(), String> {
    if want.shape != got.shape() || want.dtype() != got.dtype() {
        return Err(format!(
            "array {id} is {} of shape {:?}, not {} of shape {:?}",
            got.dtype(),
            got.shape(),
            want.dtype(),
            want.shape
        ));
    }
    if got.is_read_only() != want.read_only {
        return Err(format!("array {id} is read-only: {}", got.is_read_only()));
    }
    let values = decode(got.dtype(), bytes);
    for (i, (want, got)) in want.values().iter().zip(&values).enumerate() {
        if !want.accepts(got) {
            return Err(format!(
                "element {i} of array {id} is {got:?}, not {want:?}"
            ));
        }
    }
    Ok(())
}

/// NaNs are one value: their sign and payload belong to nobody.
fn canonical(dtype: DType, bytes: Vec<u8>) -> Vec<u8> {
    let float = |v: f64| if v.is_nan() { f64::NAN } else { v };
    let values: Vec<Value> = decode(dtype, &bytes)
        .into_iter()
        .map(|v| match v {
            Value::Float(v, _) => float(v).into(),
            Value::Complex(v, _) => num_complex::Complex64::new(float(v.re), float(v.im)).into(),
            other => other,
        })
        .collect();
    encode(dtype, &values)
}

/// Runs a program on the front end and compares with the oracle, step by step and at the end.
///
/// # Errors
/// What differs, and at which step.
pub fn run(contexts: &[Context], program: &[Step]) -> std::result::Result<Trace, String> {
    let mut model = Model::default();
    let mut machine = Machine {
        contexts,
        arrays: BTreeMap::new(),
        memories: BTreeMap::new(),
        exports: BTreeMap::new(),
    };
    for (i, step) in program.iter().enumerate() {
        let Ok(want) = model.step(step) else {
            // A shortened program may name what is no longer made.
            return Ok(Trace::default());
        };
        let got = caught(|| machine.step(step))
            .map_err(|panic| format!("step {i}, {step:?}: {panic}"))?;
        check_outcome(&want, &got).map_err(|e| format!("step {i}, {step:?}: {e}"))?;
        machine
            .observe(&model, step)
            .map_err(|e| format!("step {i}, {step:?}: {e}"))?;
    }
    let mut trace = Trace::default();
    for (id, want) in &model.arrays {
        let got = &machine.arrays[id];
        let bytes = caught(|| got.to_bytes())
            .map_err(|panic| format!("reading array {id}: {panic}"))?
            .map_err(|e| format!("reading array {id}: {e}"))?;
        compare(*id, want, got, &bytes)?;
        let free = want.values().iter().filter(|v| **v == Value::Any).count();
        trace.coverage.elements += want.size();
        trace.coverage.free += free;
        trace.arrays.insert(*id, canonical(want.dtype(), bytes));
    }
    Ok(trace)
}

thread_local! {
    /// While a program runs, its panics are taken down here instead of being printed.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work`; a panic becomes an error that says where it was.
fn caught<R>(work: impl FnOnce() -> R) -> std::result::Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let expected =
                PANIC.with_borrow_mut(|slot| slot.as_mut().map(|s| *s = info.to_string()));
            if expected.is_none() {
                print(info);
            }
        }));
    });
    PANIC.set(Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(work));
    let report = PANIC.take().unwrap_or_default();
    result.map_err(|_| report)
}

fn check_outcome(want: &Outcome, got: &Result<()>) -> std::result::Result<(), String> {
    match (want, got) {
        (Ok(()), Ok(())) => Ok(()),
        (Ok(()), Err(e)) => Err(format!("failed: {e}")),
        (Err(kinds), Ok(())) => Err(format!("succeeded, but should fail with {kinds:?}")),
        (Err(kinds), Err(e)) if kinds.contains(&e.kind()) => Ok(()),
        (Err(kinds), Err(e)) => Err(format!("failed with {:?} ({e}), not {kinds:?}", e.kind())),
    }
}

/// A named pair of contexts in which programs run.
pub struct Config {
    /// For messages.
    pub name: String,
    /// The contexts.
    pub contexts: Vec<Context>,
    /// Bits of floats are compared between configurations of one group.
    pub group: u32,
}

/// Runs a program under every configuration.
///
/// # Errors
/// The name of the configuration and what differs.
pub fn run_all(configs: &[Config], program: &[Step]) -> std::result::Result<Coverage, String> {
    let mut traces: BTreeMap<u32, (&str, Trace)> = BTreeMap::new();
    let mut coverage = Coverage::default();
    for config in configs {
        let trace = run(&config.contexts, program).map_err(|e| format!("{}: {e}", config.name))?;
        coverage = trace.coverage;
        let (name, first) = traces
            .entry(config.group)
            .or_insert_with(|| (&config.name, trace.clone()));
        for (id, want) in &first.arrays {
            let got = trace.arrays.get(id);
            if got != Some(want) {
                return Err(format!(
                    "array {id} has other bits in {name} ({want:?}) and in {} ({got:?})",
                    config.name
                ));
            }
        }
    }
    Ok(coverage)
}

/// The shortest program that still fails, found by leaving out steps, and how it fails.
pub fn shrink(configs: &[Config], program: &[Step]) -> (Vec<Step>, String) {
    let mut failure = run_all(configs, program).expect_err("a failing program");
    let mut program = program.to_vec();
    let mut size = program.len().div_ceil(2);
    loop {
        let mut start = 0;
        let mut shorter = false;
        while start < program.len() {
            let mut candidate = program.clone();
            candidate.drain(start..(start + size).min(program.len()));
            match run_all(configs, &candidate) {
                Err(e) => {
                    (program, failure, shorter) = (candidate, e, true);
                }
                Ok(_) => start += size,
            }
        }
        if size == 1 && !shorter {
            return (program, failure);
        }
        size = size.div_ceil(2);
    }
}

/// A program as a list of steps, for a person.
pub fn listing(program: &[Step]) -> String {
    program
        .iter()
        .enumerate()
        .map(|(i, step)| format!("  {i:2}  {step:?}\n"))
        .collect()
}

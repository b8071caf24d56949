//! Recording and running: the two ways an operation can go.

use super::fuse::{Plan, Step, plan};
use super::node::{Node, Recipe, Src, Srcs};
use super::{fallback, policy, single};
use crate::array::Array;
use crate::base::{Base, State};
use crate::context::{Context, Defer};
use rustarr_interface::{
    Args, AxisMask, Buffer, DType, Dims, Error, ErrorKind, Layout, Op, Operand, Program, Reduce,
    Result, Scalar, Verb,
};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// An operand of [`apply`]: an array seen through a layout of the result's shape, or a scalar.
pub(crate) enum In<'a> {
    Array(&'a Array, Cow<'a, Layout>),
    Scalar(Scalar),
}

impl<'a> In<'a> {
    /// All of `x`, as it lies.
    pub(crate) fn whole(x: &'a Array) -> In<'a> {
        In::Array(x, Cow::Borrowed(x.layout()))
    }
}

/// Records (or runs) an operation of the table in the dtype `compute`.
pub(crate) fn apply(
    ctx: &Context,
    op: Op,
    compute: DType,
    shape: Dims,
    ins: &[In<'_>],
) -> Result<Array> {
    let Some(dtype) = op.result(compute) else {
        let detail = format!("dtype {compute} is not {}", op.info().kinds.describe());
        return Err(Error::dtype(op.name(), detail));
    };
    record(
        ctx,
        op.name(),
        Recipe::Apply(op, compute),
        dtype,
        shape,
        ins,
    )
}

/// `x` as `dtype`, or `x` itself.
pub(crate) fn cast(name: &'static str, x: &Array, dtype: DType) -> Result<Array> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    record(
        x.context(),
        name,
        Recipe::Cast,
        dtype,
        x.shape().into(),
        &[In::whole(x)],
    )
}

/// An independent dense copy of `x`.
pub(crate) fn contiguous_copy(name: &'static str, x: &Array) -> Result<Array> {
    record(
        x.context(),
        name,
        Recipe::Cast,
        x.dtype(),
        x.shape().into(),
        &[In::whole(x)],
    )
}

/// An array filled with one value.
pub(crate) fn fill(ctx: &Context, shape: &[usize], value: Scalar) -> Result<Array> {
    record(
        ctx,
        "full",
        Recipe::Cast,
        value.dtype(),
        shape.into(),
        &[In::Scalar(value)],
    )
}

/// The coordinate of every element along `axis`; `dtype` is an integer or `float64`.
pub(crate) fn iota(ctx: &Context, shape: &[usize], axis: usize, dtype: DType) -> Result<Array> {
    record(ctx, "arange", Recipe::Iota(axis), dtype, shape.into(), &[])
}

/// Reduces `x` over `axes`, which disappear; the value's dtype is `x`'s.
pub(crate) fn reduce(name: &'static str, kind: Reduce, x: &Array, axes: AxisMask) -> Result<Array> {
    let dtype = match kind {
        Reduce::ArgMin | Reduce::ArgMax => DType::I64,
        _ => x.dtype(),
    };
    let shape = x.layout().remove_axes(axes).shape().into();
    record(
        x.context(),
        name,
        Recipe::Reduce(kind, axes),
        dtype,
        shape,
        &[In::whole(x)],
    )
}

/// Fresh memory of unspecified content.
pub(crate) fn empty(
    name: &'static str,
    ctx: &Context,
    dtype: DType,
    shape: &[usize],
) -> Result<Array> {
    ctx.check_open(name)?;
    let buffer = alloc(ctx, dtype, shape, name)?;
    Ok(Array::dense(ctx, dtype, shape, State::Buf(buffer)))
}

/// The bytes of a dense array.
fn byte_size(name: &'static str, shape: &[usize], dtype: DType) -> Result<usize> {
    let size = shape.iter().fold(1usize, |n, &d| n.saturating_mul(d));
    if size <= isize::MAX as usize / dtype.itemsize() {
        return Ok(size * dtype.itemsize());
    }
    Err(Error::memory(
        name,
        format!("an array of shape {shape:?} and dtype {dtype} is larger than memory can be"),
    ))
}

/// Allocates the memory of a dense array.
pub(crate) fn alloc(
    ctx: &Context,
    dtype: DType,
    shape: &[usize],
    name: &'static str,
) -> Result<Buffer> {
    let bytes = byte_size(name, shape, dtype)?;
    let buffer = ctx.backend().alloc(bytes).map_err(|e| e.in_op(name))?;
    ctx.0
        .counts
        .bytes_allocated
        .fetch_add(bytes as u64, Relaxed);
    Ok(buffer)
}

fn record(
    ctx: &Context,
    name: &'static str,
    recipe: Recipe,
    dtype: DType,
    shape: Dims,
    ins: &[In<'_>],
) -> Result<Array> {
    ctx.check_open(name)?;
    // Recorded or run, a result that cannot be is refused at the call.
    let size = byte_size(name, &shape, dtype)? / dtype.itemsize();
    let domain = match (recipe, ins.first()) {
        (Recipe::Reduce(..), Some(In::Array(x, _))) => x.size(),
        _ => size,
    };
    let small = match ctx.defer() {
        Defer::Auto => ctx.0.eager_small && domain <= policy::EAGER_ELEMENTS,
        Defer::Always => false,
        Defer::Never => true,
    };
    let native = is_native(ctx, recipe, dtype, ins);
    if !native {
        ctx.note_fallback(name, unsupported_dtype(ctx, recipe, dtype, ins))?;
    }
    if small && let Some(array) = run_now(ctx, name, recipe, dtype, &shape, ins)? {
        return Ok(array);
    }
    let (srcs, shared) = pull(ins)?;
    let mut node = Node::new(ctx, name, recipe, dtype, shape.clone(), native, srcs);
    if node.is_heavy(node.weight, node.operands) {
        // The chain has reached the size of a kernel: run what is below and start a new one.
        for input in ins {
            if let In::Array(x, _) = input {
                x.base().realise()?;
            }
        }
        node = Node::new(
            ctx,
            name,
            recipe,
            dtype,
            shape.clone(),
            native,
            pull(ins)?.0,
        );
    }
    let at_once = shared
        || ctx.defer() == Defer::Never
        || ctx.0.retained.load(Relaxed) > policy::RETAINED_BYTES;
    let state = if at_once {
        State::Buf(realise(&node)?)
    } else {
        for input in ins {
            if let In::Array(x, _) = input {
                x.base().add_reader(&node);
            }
        }
        ctx.note_recorded(&node);
        State::Node(node)
    };
    Ok(Array::dense(ctx, dtype, &shape, state))
}

/// The operands as values, and whether one of them is memory that others can change.
fn pull(ins: &[In<'_>]) -> Result<(Srcs, bool)> {
    let mut shared = false;
    let mut srcs = Srcs::new();
    for input in ins {
        srcs.push(match input {
            In::Scalar(scalar) => Src::Scalar(*scalar),
            In::Array(x, layout) => {
                shared |= x.base().is_shared();
                match x.base().state()? {
                    State::Buf(buffer) => Src::Buf {
                        buffer,
                        dtype: x.dtype(),
                        layout: Layout::clone(layout),
                    },
                    State::Node(node) => Src::Node {
                        node,
                        layout: Layout::clone(layout),
                    },
                    State::Failed(error) => return Err(error),
                }
            }
        });
    }
    Ok((srcs, shared))
}

/// The one-instruction program on ready operands, without a node; `None` if an operand is not ready.
fn run_now(
    ctx: &Context,
    name: &'static str,
    recipe: Recipe,
    dtype: DType,
    shape: &[usize],
    ins: &[In<'_>],
) -> Result<Option<Array>> {
    let mut buffers: SmallVec<[(Buffer, DType, &Layout); 3]> = SmallVec::new();
    let mut params: SmallVec<[Scalar; 3]> = SmallVec::new();
    for input in ins {
        match input {
            In::Scalar(scalar) => params.push(*scalar),
            In::Array(x, layout) => {
                let Some(buffer) = x.base().ready()? else {
                    return Ok(None);
                };
                buffers.push((buffer, x.dtype(), layout));
            }
        }
    }
    let program = single::program(recipe, dtype, ins)?;
    let inputs: SmallVec<[Operand<'_>; 3]> = buffers
        .iter()
        .map(|(buffer, dtype, layout)| Operand {
            buffer,
            layout,
            dtype: *dtype,
        })
        .collect();
    let domain: &[usize] = match recipe {
        Recipe::Reduce(..) => inputs[0].layout.shape(),
        _ => shape,
    };
    let buffer = alloc(ctx, dtype, shape, name)?;
    let layout = Layout::contiguous(shape);
    let output = Operand {
        buffer: &buffer,
        layout: &layout,
        dtype,
    };
    let args = Args {
        shape: domain,
        inputs: &inputs,
        params: &params,
        outputs: &[output],
        donated: &[],
    };
    run_program(ctx, name, recipe, &program, args)?;
    let size = layout.size();
    let base = Base::new(dtype, size, ctx.space(), State::Buf(buffer));
    Ok(Some(Array::of(base, layout, ctx.clone())))
}

/// Whether the context's own backend takes the operation in every dtype it touches.
fn is_native(ctx: &Context, recipe: Recipe, dtype: DType, ins: &[In<'_>]) -> bool {
    if ctx.0.only_host {
        return true;
    }
    let caps = ctx.backend().caps();
    let verb = verb_of(recipe);
    let has = |d: DType| caps.has(verb, d);
    let ndim = ins.iter().map(|i| match i {
        In::Array(_, layout) => layout.ndim(),
        In::Scalar(_) => 0,
    });
    ndim.max().unwrap_or(0) <= caps.max_ndim
        && has(dtype)
        && ins.iter().all(|i| match i {
            In::Array(x, _) => has(x.dtype()),
            In::Scalar(s) => has(s.dtype()),
        })
        && match recipe {
            Recipe::Apply(op, compute) => has(compute) && (caps.op_support)(op, compute),
            _ => true,
        }
}

/// The dtype to blame when [`is_native`] says no.
fn unsupported_dtype(ctx: &Context, recipe: Recipe, dtype: DType, ins: &[In<'_>]) -> DType {
    let caps = ctx.backend().caps();
    let compute = match recipe {
        Recipe::Apply(_, compute) => compute,
        _ => dtype,
    };
    let inputs = ins.iter().map(|i| match i {
        In::Array(x, _) => x.dtype(),
        In::Scalar(s) => s.dtype(),
    });
    std::iter::once(compute)
        .chain(inputs)
        .chain([dtype])
        .find(|d| !caps.has(verb_of(recipe), *d))
        .unwrap_or(compute)
}

fn verb_of(recipe: Recipe) -> Verb {
    if recipe.is_elementwise() {
        Verb::Map
    } else {
        Verb::Reduce
    }
}

/// Runs a pending node, with everything it needs, and returns its dense memory.
pub(crate) fn realise(node: &Arc<Node>) -> Result<Buffer> {
    loop {
        if let Some(value) = node.finished() {
            return value;
        }
        match plan(node)? {
            Step::First(operand) => {
                realise(&operand)?;
            }
            Step::Ready(plan) => run_plan(node, &plan)?,
        }
    }
}

fn run_plan(root: &Arc<Node>, plan: &Plan) -> Result<()> {
    let ctx = &root.ctx;
    let mut outs: SmallVec<[(Buffer, Layout, DType); 2]> = SmallVec::new();
    for node in &plan.outs {
        let buffer = alloc(ctx, node.dtype, &node.shape, root.name)?;
        outs.push((buffer, Layout::contiguous(&node.shape), node.dtype));
    }
    let outputs: SmallVec<[Operand<'_>; 2]> = outs
        .iter()
        .map(|(buffer, layout, dtype)| Operand {
            buffer,
            layout,
            dtype: *dtype,
        })
        .collect();
    match run_into(root, plan, &outputs, &[]) {
        Ok(()) => {
            for (node, (buffer, ..)) in plan.outs.iter().zip(&outs) {
                node.finish(Ok(buffer.clone()));
            }
            Ok(())
        }
        Err(error) => {
            // A lost device poisons the value; no memory or an interrupt leaves the work to be tried again.
            if matches!(error.kind(), ErrorKind::DeviceLost | ErrorKind::Backend) {
                for node in &plan.outs {
                    node.finish(Err(error.clone()));
                }
            }
            Err(error)
        }
    }
}

/// Runs a plan into given outputs.
pub(super) fn run_into(
    root: &Node,
    plan: &Plan,
    outputs: &[Operand<'_>],
    donated: &[Option<u16>],
) -> Result<()> {
    let inputs: SmallVec<[Operand<'_>; 4]> = plan.inputs.iter().map(|i| i.operand()).collect();
    let args = Args {
        shape: &plan.domain,
        inputs: &inputs,
        params: &plan.params,
        outputs,
        donated,
    };
    let size = Layout::contiguous(&plan.domain).size();
    if size < policy::BLOCKING_ELEMENTS && root.ctx.0.eager_small {
        run_program(&root.ctx, root.name, root.recipe, &plan.program, args)
    } else {
        rustarr_interface::interrupt::blocking(|| {
            run_program(&root.ctx, root.name, root.recipe, &plan.program, args)
        })
    }
}

/// Runs a program on the context's backend, or on the host where the backend does not take it.
pub(super) fn run_program(
    ctx: &Context,
    name: &'static str,
    recipe: Recipe,
    program: &Program,
    args: Args<'_>,
) -> Result<()> {
    let run = |backend: &dyn rustarr_interface::Backend, args: Args<'_>| match recipe {
        Recipe::Reduce(kind, axes) => backend.reduce(kind, program, axes, args),
        _ => backend.map(program, args),
    };
    let counts = &ctx.0.counts;
    let counter = if recipe.is_elementwise() {
        &counts.maps
    } else {
        &counts.reduces
    };
    counter.fetch_add(1, Relaxed);
    let backend = ctx.backend().as_ref();
    let caps = backend.caps();
    let native = ctx.0.only_host
        || (caps.takes(verb_of(recipe), program)
            && args.inputs.len() + args.outputs.len() <= caps.max_operands
            && args.shape.len() <= caps.max_ndim);
    let result = if native {
        run(backend, args)
    } else {
        fallback::run(ctx, args.inputs, args.outputs, |host, inputs, outputs| {
            run(
                host,
                Args {
                    inputs,
                    outputs,
                    donated: &[],
                    ..args
                },
            )
        })
    };
    result.map_err(|e| if e.op().is_empty() { e.in_op(name) } else { e })
}

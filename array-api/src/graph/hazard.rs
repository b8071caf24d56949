//! Writes: who still reads the old value, who else shares the memory, and where the new value goes.
//!
//! Correctness rests on reference counts: memory is written in place only when the base is its sole
//! owner (or the memory is shared with the outside, where writing in place is the point). The lists of
//! readers only let a write run recorded work first instead of copying for it.

use super::fuse::{Plan, Step, plan};
use super::node::Node;
use super::realise::{alloc, contiguous_copy, realise, run_into, run_program};
use super::verb::{check_native, maybe_blocking};
use super::{Recipe, fallback};
use crate::array::{Array, Ready};
use crate::base::{Base, State};
use crate::context::Context;
use rustarr_interface::{Args, Buffer, DType, Error, Layout, Operand, Program, Result, Verb};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Writes `value`, broadcast and cast, into the elements of `target`.
///
/// # Errors
/// `Value` for a read-only target or one in which elements repeat; `Shape` if the value does not broadcast; `Device` for
/// another memory space. The target is untouched after any error.
pub(crate) fn assign(name: &'static str, target: &Array, value: Array) -> Result<()> {
    check_target(name, target, &value)?;
    let layout = value.layout().broadcast_to(target.shape()).map_err(|_| {
        let (to, from) = (target.shape(), value.shape());
        Error::shape(
            name,
            format!("cannot write a value of shape {from:?} into shape {to:?}"),
        )
    })?;
    let base = target.base();
    let same = Arc::ptr_eq(base, value.base()) && layout == *target.layout();
    if target.size() == 0 || same {
        return Ok(());
    }
    let value = value.into_view(layout).astype(target.dtype())?;
    let whole = target.layout().offset() == 0
        && target.layout().is_contiguous()
        && target.size() == base.len;
    if whole && !base.is_shared() {
        // The old value is of no use to this base any more: rename instead of writing.
        base.set(dense_state(&value)?);
        return Ok(());
    }
    write_part(name, target, &value)
}

fn check_target(name: &'static str, target: &Array, value: &Array) -> Result<()> {
    target.context().check_open(name)?;
    target.check_writable(name)?;
    if target.base().space != value.base().space {
        return Err(crate::array::mixed_spaces(name, target, value));
    }
    Ok(())
}

/// The value as the state of a base of its own: shared where it is dense already, else a recorded copy.
fn dense_state(value: &Array) -> Result<State> {
    let base = value.base();
    let whole =
        value.layout().offset() == 0 && value.layout().is_contiguous() && value.size() == base.len;
    if whole && !base.is_shared() {
        return base.state();
    }
    Ok(contiguous_copy("copy", value)?.base().peek())
}

/// Writes into a part of the target's memory.
fn write_part(name: &'static str, target: &Array, value: &Array) -> Result<()> {
    let base = target.base();
    base.realise()?;
    // What may take long comes before the right to write: what is below the value, and who reads the target.
    let pending = pending_plan(value)?;
    if pending.is_none() {
        value.realise()?;
    }
    run_readers(base, pending.as_ref())?;
    drop(pending);
    base.writing(name, || write_ready(name, target, value))
}

/// Writes a value of which nothing but one program, or a copy, is left to do; what others have done meanwhile is looked
/// at anew.
fn write_ready(name: &'static str, target: &Array, value: &Array) -> Result<()> {
    let base = target.base();
    base.realise()?;
    // The program of a value that is still to be computed can write straight into the target, unless recorded work
    // wants the value too or it reads elements that it would overwrite.
    let direct = match pending_plan(value)? {
        Some((node, plan)) if reads_are_safe(&plan, target, is_sole(value))? => Some((node, plan)),
        _ => None,
    };
    if let Some((node, plan)) = &direct {
        run_readers(base, direct.as_ref())?;
        let own_refs = plan
            .inlined
            .iter()
            .map(|(n, _)| captures(n, base))
            .sum::<usize>()
            + captures(node, base);
        let in_plan = plan
            .inputs
            .iter()
            .filter(|i| is_memory_of(&i.buffer, base))
            .count();
        let buffer = own_memory(name, target, own_refs + in_plan)?;
        let donated = plan
            .inputs
            .iter()
            .position(|i| i.buffer.same(&buffer) && i.layout == *target.layout())
            .map(|i| i as u16);
        let output = Operand {
            buffer: &buffer,
            layout: target.layout(),
            dtype: target.dtype(),
        };
        return run_into(node, plan, &[output], &[donated]);
    }

    let mut ready = value.realise()?;
    if overlap(&ready, target)? {
        ready = contiguous_copy("copy", value)?.realise()?;
    }
    run_readers(base, None)?;
    let own = is_memory_of(&ready.buffer, base) as usize;
    let buffer = own_memory(name, target, own)?;
    let output = Operand {
        buffer: &buffer,
        layout: target.layout(),
        dtype: target.dtype(),
    };
    copy_into(name, target.context(), ready.operand(), output)
}

/// Copies elements of one dtype and shape.
fn copy_into(name: &'static str, ctx: &Context, from: Operand<'_>, to: Operand<'_>) -> Result<()> {
    let program = Program::copy(from.dtype, to.dtype);
    let args = Args {
        shape: to.layout.shape(),
        inputs: &[from],
        params: &[],
        outputs: &[to],
        donated: &[],
    };
    maybe_blocking(ctx, to.layout.size(), || {
        run_program(ctx, name, Recipe::Cast, &program, args)
    })
}

/// Whether the caller's handle is the only one of the value's base.
fn is_sole(value: &Array) -> bool {
    Arc::strong_count(value.base()) == 1
}

/// The plan of a value that is pending, dense in itself and wanted by no other recorded work.
fn pending_plan(value: &Array) -> Result<Option<(Arc<Node>, Plan)>> {
    let State::Node(node) = value.base().state()? else {
        return Ok(None);
    };
    let dense = value.layout().offset() == 0
        && value.layout().is_contiguous()
        && value.shape() == node.shape.as_slice();
    if !dense || !node.recipe.is_elementwise() {
        return Ok(None);
    }
    loop {
        // One count for the value's base and one for `node` here: any more and the value is kept.
        if Arc::strong_count(&node) > 2 || !node.is_pending() {
            return Ok(None);
        }
        match plan(&node)? {
            Step::First(operand) => {
                realise(&operand)?;
            }
            Step::Ready(plan) if plan.outs.len() == 1 => return Ok(Some((node, plan))),
            // Inner values are wanted by others: compute them all in one go, then copy.
            Step::Ready(_) => return Ok(None),
        }
    }
}

/// Whether a program may write the target while it reads its inputs: each input is either elsewhere or exactly the
/// elements being written, and those only if the value is not needed again.
fn reads_are_safe(plan: &Plan, target: &Array, sole: bool) -> Result<bool> {
    for input in &plan.inputs {
        let ready = Ready {
            buffer: input.buffer.clone(),
            layout: input.layout.clone(),
            dtype: input.dtype,
        };
        let in_target = is_memory_of(&input.buffer, target.base());
        if in_target && !sole {
            return Ok(false);
        }
        let same = in_target && input.layout == *target.layout() && input.dtype == target.dtype();
        if !same && overlap(&ready, target)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a value's elements may share memory with the target's. Memory that the outside knows may come back
/// in another buffer: two foreign ones, or a foreign one and our own exported one, are compared by address.
fn overlap(value: &Ready, target: &Array) -> Result<bool> {
    let buffer = target.base().realise()?;
    if value.buffer.same(&buffer) {
        return Ok(value.dtype != target.dtype() || value.layout.may_overlap(target.layout()));
    }
    if !target.base().is_shared() {
        return Ok(false);
    }
    let span = |buffer: &Buffer, layout: &Layout, dtype: DType| {
        let start = buffer.host_ptr()?.as_ptr() as usize;
        let (lo, hi) = layout.extent()?;
        Some((start + lo * dtype.itemsize(), start + hi * dtype.itemsize()))
    };
    Ok(
        match (
            span(&value.buffer, &value.layout, value.dtype),
            span(&buffer, target.layout(), target.dtype()),
        ) {
            (Some((a_lo, a_hi)), Some((b_lo, b_hi))) => a_lo < b_hi && b_lo < a_hi,
            _ => false,
        },
    )
}

fn is_memory_of(buffer: &Buffer, base: &Base) -> bool {
    matches!(base.peek(), State::Buf(own) if own.same(buffer))
}

/// How many of a pending node's operands hold the base's memory.
fn captures(node: &Node, base: &Base) -> usize {
    let State::Buf(own) = base.peek() else {
        return 0;
    };
    node.with_srcs(|srcs| {
        srcs.iter()
            .filter(|s| matches!(s, super::node::Src::Buf { buffer, .. } if buffer.same(&own)))
            .count()
    })
    .unwrap_or(0)
}

/// Runs the recorded work that reads the base, except what is part of the `write` itself.
fn run_readers(base: &Base, write: Option<&(Arc<Node>, Plan)>) -> Result<()> {
    for reader in base.take_readers() {
        let own = write.is_some_and(|(root, plan)| {
            let mut nodes = plan.inlined.iter().map(|(n, _)| n).chain([root]);
            nodes.any(|n| Arc::ptr_eq(n, &reader))
        });
        if !own {
            realise(&reader)?;
        }
    }
    Ok(())
}

/// Memory of the target's base that may be written: its own if `known` accounts for every other handle or it is shared with
/// the outside, else a copy that the base owns from now on.
fn own_memory(name: &'static str, target: &Array, known: usize) -> Result<Buffer> {
    let base = target.base();
    let buffer = base.realise()?;
    // The base's handle and the one just taken.
    if base.is_shared() || buffer.handles() <= 2 + known {
        return Ok(buffer);
    }
    let ctx = target.context();
    let fresh = alloc(ctx, base.dtype, &[base.len], name)?;
    let layout = Layout::contiguous(&[base.len]);
    let input = Operand {
        buffer: &buffer,
        layout: &layout,
        dtype: base.dtype,
    };
    let output = Operand {
        buffer: &fresh,
        layout: &layout,
        dtype: base.dtype,
    };
    copy_into(name, ctx, input, output)?;
    base.set(State::Buf(fresh.clone()));
    Ok(fresh)
}

/// Makes the base the sole owner of dense memory that nothing recorded reads, for handing out a pointer.
pub(crate) fn detach(name: &'static str, array: &Array) -> Result<Buffer> {
    let base = array.base();
    let settle = || {
        base.realise()?;
        if base.is_shared() {
            return Ok(());
        }
        run_readers(base, None)
    };
    settle()?;
    base.writing(name, || {
        settle()?;
        own_memory(name, array, 0)
    })
}

/// Writes `values`, of shape `J + R`, at `indices` (each of shape `J`, `int64`) of the leading axes of `target`, the last
/// one winning.
///
/// # Errors
/// `Index` with the target untouched, and those of [`assign`].
pub(crate) fn scatter(
    name: &'static str,
    target: &Array,
    indices: &[Array],
    values: &Array,
) -> Result<()> {
    check_target(name, target, values)?;
    let ctx = target.context();
    let native = check_native(ctx, name, Verb::Scatter, [target.dtype()])?;
    let base = target.base();
    // What may take long comes before the right to write.
    base.realise()?;
    let mut values = values.astype(target.dtype())?.realise()?;
    if overlap(&values, target)? {
        let dense = target.of_ready(&values);
        values = contiguous_copy("copy", &dense)?.realise()?;
    }
    let mut ready: SmallVec<[Ready; 2]> = SmallVec::new();
    for index in indices {
        let mut index_ready = index.realise()?;
        if overlap(&index_ready, target)? {
            index_ready = contiguous_copy("copy", index)?.realise()?;
        }
        ready.push(index_ready);
    }
    let indices: SmallVec<[Operand<'_>; 2]> = ready.iter().map(Ready::operand).collect();
    run_readers(base, None)?;
    base.writing(name, || {
        base.realise()?;
        run_readers(base, None)?;
        let buffer = own_memory(name, target, is_memory_of(&values.buffer, base) as usize)?;
        let output = Operand {
            buffer: &buffer,
            layout: target.layout(),
            dtype: target.dtype(),
        };
        ctx.0.counts.verbs.fetch_add(1, Relaxed);
        maybe_blocking(ctx, values.layout.size(), || {
            if native {
                return ctx.backend().scatter(output, &indices, values.operand());
            }
            let inputs: SmallVec<[Operand<'_>; 4]> =
                indices.iter().copied().chain([values.operand()]).collect();
            fallback::run_keeping(ctx, &inputs, output, |host, ins, out| {
                let (values, indices) = ins.split_last().expect("values are the last input");
                host.scatter(out, indices, *values)
            })
        })
        .map_err(|e| e.in_op(name))
    })
}

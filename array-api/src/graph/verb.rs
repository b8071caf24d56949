//! The verbs that run at the call: their operands are forced, their outputs dense.

use super::realise::alloc;
use super::{fallback, policy};
use crate::array::{Array, Ready};
use crate::base::State;
use crate::context::Context;
use rustarr_interface::{Backend, DType, Dims, Layout, Operand, Result, Verb, interrupt};
use smallvec::SmallVec;
use std::sync::atomic::Ordering::Relaxed;

/// Whether the context's backend runs `verb` on these dtypes itself; if not, the fallback is noted.
pub(super) fn check_native(
    ctx: &Context,
    name: &'static str,
    verb: Verb,
    dtypes: impl IntoIterator<Item = DType>,
) -> Result<bool> {
    let caps = ctx.backend().caps();
    match dtypes.into_iter().find(|d| !caps.has(verb, *d)) {
        None => Ok(true),
        Some(dtype) => {
            ctx.note_fallback(name, dtype)?;
            Ok(false)
        }
    }
}

/// Runs `work` with locks released where it may take long.
pub(super) fn maybe_blocking<R>(ctx: &Context, size: usize, work: impl FnOnce() -> R) -> R {
    if size < policy::BLOCKING_ELEMENTS && ctx.0.eager_small {
        work()
    } else {
        interrupt::blocking(work)
    }
}

/// Forces `inputs`, allocates dense `outputs` and runs `work` on the context's backend, or on the host where
/// [`Caps`](rustarr_interface::Caps) says that the backend lacks the verb for one of the dtypes.
///
/// # Errors
/// Those of the inputs' own work, of the allocation, and of the verb.
pub(crate) fn verb(
    ctx: &Context,
    name: &'static str,
    verb: Verb,
    inputs: &[&Array],
    outputs: &[(DType, Dims)],
    work: impl FnOnce(&dyn Backend, &[Operand<'_>], &[Operand<'_>]) -> Result<()>,
) -> Result<SmallVec<[Array; 2]>> {
    ctx.check_open(name)?;
    let dtypes = inputs
        .iter()
        .map(|x| x.dtype())
        .chain(outputs.iter().map(|o| o.0));
    let native = check_native(ctx, name, verb, dtypes)?;
    let ready: SmallVec<[Ready; 3]> = inputs.iter().map(|x| x.realise()).collect::<Result<_>>()?;
    let mut memory: SmallVec<[_; 2]> = SmallVec::new();
    for (dtype, shape) in outputs {
        memory.push((
            alloc(ctx, *dtype, shape, name)?,
            Layout::contiguous(shape),
            *dtype,
        ));
    }
    let ins: SmallVec<[Operand<'_>; 3]> = ready.iter().map(Ready::operand).collect();
    let outs: SmallVec<[Operand<'_>; 2]> = memory
        .iter()
        .map(|(buffer, layout, dtype)| Operand {
            buffer,
            layout,
            dtype: *dtype,
        })
        .collect();
    ctx.0.counts.verbs.fetch_add(1, Relaxed);
    // Linear algebra and sorting do more than one step per element, so that the bound is a generous one.
    let size = ins
        .iter()
        .chain(&outs)
        .map(|o| o.layout.size())
        .max()
        .unwrap_or(0);
    maybe_blocking(ctx, size.saturating_mul(8), || {
        if native {
            work(ctx.backend().as_ref(), &ins, &outs)
        } else {
            fallback::run(ctx, &ins, &outs, work)
        }
    })
    .map_err(|e| e.in_op(name))?;
    drop(outs);
    let arrays = memory.into_iter().zip(outputs);
    Ok(arrays
        .map(|((buffer, ..), (dtype, shape))| Array::dense(ctx, *dtype, shape, State::Buf(buffer)))
        .collect())
}

/// The row-major positions of the true elements of a `bool` array, `int64`, dense.
pub(crate) fn compact(ctx: &Context, name: &'static str, mask: &Array) -> Result<Array> {
    ctx.check_open(name)?;
    let native = check_native(ctx, name, Verb::Compact, [DType::Bool])?;
    let ready = mask.realise()?;
    ctx.0.counts.verbs.fetch_add(1, Relaxed);
    let (buffer, count) = maybe_blocking(ctx, mask.size(), || {
        if native {
            return ctx.backend().compact(ready.operand());
        }
        let mut found = None;
        fallback::run(ctx, &[ready.operand()], &[], |host, ins, _| {
            found = Some(host.compact(ins[0])?);
            Ok(())
        })?;
        let (on_host, count) = found.expect("the host has compacted");
        let mut bytes = vec![0u8; count * DType::I64.itemsize()];
        ctx.host().read(&on_host, 0, &mut bytes)?;
        let buffer = alloc(ctx, DType::I64, &[count], name)?;
        ctx.backend().write(&buffer, 0, &bytes)?;
        Ok((buffer, count))
    })?;
    Ok(Array::dense(ctx, DType::I64, &[count], State::Buf(buffer)))
}

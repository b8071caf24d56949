//! The host kernels in place of a verb, an operation or a dtype that a device lacks: never silent.

use crate::context::Context;
use rustarr_interface::{Backend, Buffer, DType, Error, Layout, Operand, Result};
use std::sync::atomic::Ordering::Relaxed;

/// The error of `fallback="error"`.
#[cold]
pub(crate) fn refused(ctx: &Context, op: &str, dtype: DType) -> Error {
    let caps = ctx.backend().caps();
    let nearest = match dtype {
        DType::F64 | DType::F16 => DType::F32,
        DType::C128 => DType::C64,
        DType::I8 | DType::I16 | DType::I64 => DType::I32,
        DType::U8 | DType::U16 | DType::U64 => DType::U32,
        other => other,
    };
    let way_out = if nearest != dtype && caps.dtypes.contains(nearest) {
        format!("use dtype {nearest}, or fallback=\"warn\" to compute on the host")
    } else {
        "use fallback=\"warn\" to compute on the host".to_owned()
    };
    Error::unsupported(
        op.to_owned(),
        format!("{} does not compute it in {dtype}; {way_out}", ctx.name()),
    )
}

/// A host copy of the part of a buffer that a layout spans.
struct Staged {
    buffer: Buffer,
    layout: Layout,
    /// Where the span begins in the device's buffer, in bytes.
    start: usize,
    bytes: usize,
    dtype: DType,
}

impl Staged {
    fn new(ctx: &Context, operand: &Operand<'_>, read: bool) -> Result<Staged> {
        let size = operand.dtype.itemsize();
        let (lo, hi) = operand.layout.extent().unwrap_or((0, 0));
        let bytes = (hi - lo) * size;
        let buffer = ctx.host().alloc(bytes)?;
        if read && bytes > 0 {
            let mut copy = vec![0u8; bytes];
            ctx.backend().read(operand.buffer, lo * size, &mut copy)?;
            ctx.host().write(&buffer, 0, &copy)?;
        }
        let layout = operand.layout;
        let offset = if bytes == 0 { 0 } else { layout.offset() - lo };
        Ok(Staged {
            buffer,
            layout: Layout::new(layout.shape(), layout.strides(), offset),
            start: lo * size,
            bytes,
            dtype: operand.dtype,
        })
    }

    fn operand(&self) -> Operand<'_> {
        Operand {
            buffer: &self.buffer,
            layout: &self.layout,
            dtype: self.dtype,
        }
    }

    fn write_back(&self, ctx: &Context, to: &Buffer) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let mut copy = vec![0u8; self.bytes];
        ctx.host().read(&self.buffer, 0, &mut copy)?;
        ctx.backend().write(to, self.start, &copy)
    }
}

/// Runs `work` on the host backend over host copies of the operands and writes the outputs back;
/// counted in the context's statistics.
pub(crate) fn run(
    ctx: &Context,
    inputs: &[Operand<'_>],
    outputs: &[Operand<'_>],
    work: impl FnOnce(&dyn Backend, &[Operand<'_>], &[Operand<'_>]) -> Result<()>,
) -> Result<()> {
    ctx.0.counts.fallbacks.fetch_add(1, Relaxed);
    let staged_in: Vec<Staged> = inputs
        .iter()
        .map(|o| Staged::new(ctx, o, true))
        .collect::<Result<_>>()?;
    // A dense output is written whole; of any other the rest must survive the way back.
    let staged_out: Vec<Staged> = outputs
        .iter()
        .map(|o| Staged::new(ctx, o, !o.layout.is_contiguous()))
        .collect::<Result<_>>()?;
    finish(ctx, &staged_in, &staged_out, outputs, work)
}

/// As [`run`], for one output of which only some elements are written.
pub(crate) fn run_keeping(
    ctx: &Context,
    inputs: &[Operand<'_>],
    output: Operand<'_>,
    work: impl FnOnce(&dyn Backend, &[Operand<'_>], Operand<'_>) -> Result<()>,
) -> Result<()> {
    ctx.0.counts.fallbacks.fetch_add(1, Relaxed);
    let staged_in: Vec<Staged> = inputs
        .iter()
        .map(|o| Staged::new(ctx, o, true))
        .collect::<Result<_>>()?;
    let staged_out = [Staged::new(ctx, &output, true)?];
    finish(
        ctx,
        &staged_in,
        &staged_out,
        &[output],
        |host, ins, outs| work(host, ins, outs[0]),
    )
}

fn finish(
    ctx: &Context,
    staged_in: &[Staged],
    staged_out: &[Staged],
    outputs: &[Operand<'_>],
    work: impl FnOnce(&dyn Backend, &[Operand<'_>], &[Operand<'_>]) -> Result<()>,
) -> Result<()> {
    let ins: Vec<Operand<'_>> = staged_in.iter().map(Staged::operand).collect();
    let outs: Vec<Operand<'_>> = staged_out.iter().map(Staged::operand).collect();
    work(ctx.host().as_ref(), &ins, &outs)?;
    for (staged, output) in staged_out.iter().zip(outputs) {
        staged.write_back(ctx, output.buffer)?;
    }
    Ok(())
}

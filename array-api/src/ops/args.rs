//! What every operation does to its arguments first: axes, shapes, and a dense copy.

use super::elementwise::common_context;
use crate::{Arg, Array, Context, graph};
use rustarr_interface::{AxisMask, DType, Dims, Error, Layout, Result, Scalar};
use smallvec::SmallVec;

/// Most dimensions of an array: an [`AxisMask`] has a bit for each.
pub(crate) const MAX_NDIM: usize = 64;

/// A list of axes.
pub(crate) type Axes = SmallVec<[usize; 4]>;

/// An axis of an array with `ndim` dimensions, counted from the end where negative.
pub(crate) fn axis(op: &'static str, axis: i64, ndim: usize) -> Result<usize> {
    let wrapped = if axis < 0 { axis + ndim as i64 } else { axis };
    if (0..ndim as i64).contains(&wrapped) {
        return Ok(wrapped as usize);
    }
    Err(Error::axis(
        op,
        format!("axis {axis} is out of bounds for an array of {ndim} dimensions"),
    ))
}

/// Several different axes, in the order given.
pub(crate) fn axes(op: &'static str, list: &[i64], ndim: usize) -> Result<Axes> {
    let mut seen = AxisMask::default();
    list.iter()
        .map(|&a| {
            let one = axis(op, a, ndim)?;
            if seen.contains(one) {
                return Err(Error::axis(
                    op,
                    format!("axis {one} is given twice in {list:?}"),
                ));
            }
            seen.0 |= 1 << one;
            Ok(one)
        })
        .collect()
}

/// The axes that a reduction runs over: all of them where none are named.
pub(crate) fn mask(op: &'static str, list: Option<&[i64]>, ndim: usize) -> Result<AxisMask> {
    Ok(match list {
        Some(list) => AxisMask::of(axes(op, list, ndim)?),
        None => AxisMask::all(ndim),
    })
}

/// Checks that an array may have this many dimensions.
pub(crate) fn check_ndim(op: &'static str, ndim: usize) -> Result<()> {
    if ndim <= MAX_NDIM {
        return Ok(());
    }
    Err(Error::shape(
        op,
        format!("{ndim} dimensions are more than the {MAX_NDIM} an array can have"),
    ))
}

/// Checks that a shape's elements can be counted and addressed.
pub(crate) fn check_shape(op: &'static str, shape: &[usize], dtype: DType) -> Result<()> {
    check_ndim(op, shape.len())?;
    let bytes = shape
        .iter()
        .filter(|&&d| d != 0)
        .try_fold(dtype.itemsize(), |n, &d| n.checked_mul(d))
        .filter(|&n| n <= isize::MAX as usize);
    // Without elements any sizes will do that a layout can count with.
    let countable = shape.iter().all(|&d| d <= isize::MAX as usize);
    if bytes.is_some() || shape.contains(&0) && countable {
        return Ok(());
    }
    Err(Error::memory(
        op,
        format!("an array of shape {shape:?} and dtype {dtype} is too large to address"),
    ))
}

/// The product of sizes; saturates, which no array with elements reaches.
pub(crate) fn count(sizes: impl IntoIterator<Item = usize>) -> usize {
    sizes.into_iter().fold(1, usize::saturating_mul)
}

/// A shape from signed numbers.
///
/// # Errors
/// `Shape` for a negative size or more than 64 dimensions.
pub fn shape(op: &'static str, sizes: &[i64]) -> Result<Dims> {
    check_ndim(op, sizes.len())?;
    sizes
        .iter()
        .map(|&n| {
            usize::try_from(n).map_err(|_| {
                Error::shape(
                    op,
                    format!("negative sizes are not allowed in the shape {sizes:?}"),
                )
            })
        })
        .collect()
}

/// A recorded copy with memory of its own, in row-major order.
pub(crate) fn dense(x: &Array) -> Result<Array> {
    graph::contiguous_copy("copy", x)
}

/// As [`dense`], in another dtype.
pub(crate) fn dense_as(x: &Array, dtype: DType) -> Result<Array> {
    if x.dtype() == dtype {
        dense(x)
    } else {
        x.astype(dtype)
    }
}

/// The context in which several arrays meet.
///
/// # Errors
/// `Device` for arrays of different memory spaces; `Value` without arrays.
pub(crate) fn meet(op: &'static str, arrays: &[&Array]) -> Result<Context> {
    let args: SmallVec<[Arg<'_>; 4]> = arrays.iter().map(|x| Arg::Array(x)).collect();
    common_context(op, &args)
}

/// Zero (or false) in `dtype`.
pub(crate) fn zero(dtype: DType) -> Scalar {
    Scalar::from_bytes(dtype, &[0; 16])
}

/// One (or true) in `dtype`.
pub(crate) fn one(dtype: DType) -> Scalar {
    Scalar::from_i64(dtype, 1)
}

/// The same elements under another shape, as a view where the layout allows it, else as a copy.
pub(crate) fn reshaped(x: &Array, shape: &[usize]) -> Result<Array> {
    Ok(match x.layout().reshape(shape) {
        Some(layout) => x.view(layout),
        None => {
            let dense = dense(x)?;
            let layout = dense
                .layout()
                .reshape(shape)
                .unwrap_or_else(|| Layout::contiguous(shape));
            dense.view(layout)
        }
    })
}

/// All elements in row-major order, as a 1-D array.
pub(crate) fn flat(x: &Array) -> Result<Array> {
    reshaped(x, &[x.size()])
}

/// The integer dtype for coordinates up to `extent`: 32 bits where they suffice, which every
/// device computes natively.
pub(crate) fn coordinate_dtype(extent: usize) -> DType {
    if extent < i32::MAX as usize {
        DType::I32
    } else {
        DType::I64
    }
}

/// The dtype that real numbers are best computed in before they are rounded to `dtype`: `float64`
/// where the backend has it, else the dtype's own precision.
pub(crate) fn wide_float(ctx: &Context, dtype: DType) -> DType {
    if ctx.backend().caps().dtypes.contains(DType::F64) {
        DType::F64
    } else {
        dtype.real()
    }
}

/// `x` moved so that `axis` is first.
pub(crate) fn axis_first(x: &Array, axis: usize) -> Array {
    let mut order: Axes = (0..x.ndim()).filter(|&a| a != axis).collect();
    order.insert(0, axis);
    x.view(x.layout().permute(&order))
}

/// The operation's only output.
pub(crate) fn single(mut outputs: SmallVec<[Array; 2]>) -> Array {
    outputs.swap_remove(0)
}

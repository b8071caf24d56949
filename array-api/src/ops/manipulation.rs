//! Rearranging elements: views where the layout allows it, recorded copies elsewhere.

use super::args::{self, Axes, axis_first, dense, flat, reshaped};
use super::{cumulative_sum, min, searchsorted};
use crate::indexing::gather;
use crate::promotion::common_dtype;
use crate::{Array, graph};
use rustarr_interface::{DType, Dims, Error, Kinds, Result, broadcast_shapes as common_shape};

/// The common shape of several shapes.
///
/// Source: array API standard, `broadcast_shapes`.
///
/// # Errors
/// `Shape`, with all the shapes, if they do not broadcast.
pub fn broadcast_shapes(shapes: &[&[usize]]) -> Result<Dims> {
    common_shape("broadcast_shapes", shapes)
}

/// The same elements in row-major order under another shape; one size may be -1 and is then worked out.
///
/// `copy` is `Some(true)` for memory of its own, `Some(false)` for a view or an error, `None` for a
/// view where possible. Source: array API standard, `reshape`.
///
/// # Errors
/// `Shape` if the sizes do not fit; `Value` if `copy` is `Some(false)` and a view is impossible.
pub fn reshape(x: &Array, shape: &[i64], copy: Option<bool>) -> Result<Array> {
    const OP: &str = "reshape";
    args::check_ndim(OP, shape.len())?;
    let fail = || {
        Error::shape(
            OP,
            format!(
                "an array of shape {:?} and size {} has no shape {shape:?}",
                x.shape(),
                x.size()
            ),
        )
    };
    let mut unknown = None;
    let mut known = 1usize;
    let mut dims = Dims::new();
    for (i, &n) in shape.iter().enumerate() {
        match n {
            -1 if unknown.is_none() => unknown = Some(i),
            -1 => {
                return Err(Error::shape(
                    OP,
                    format!("only one size may be -1, not {shape:?}"),
                ));
            }
            n if n < 0 => return Err(Error::shape(OP, format!("negative size in {shape:?}"))),
            n => known = known.checked_mul(n as usize).ok_or_else(fail)?,
        }
        dims.push(n.max(0) as usize);
    }
    if let Some(i) = unknown {
        if known == 0 || !x.size().is_multiple_of(known) {
            return Err(fail());
        }
        dims[i] = x.size() / known;
    } else if known != x.size() {
        return Err(fail());
    }
    match (copy, x.layout().reshape(&dims)) {
        (Some(true), _) => reshaped(&dense(x)?, &dims),
        (_, Some(layout)) => Ok(x.view(layout)),
        (None, None) => reshaped(x, &dims),
        (Some(false), None) => Err(Error::value(
            OP,
            format!(
                "an array of shape {:?} and strides {:?} cannot be seen as {shape:?} without a \
                 copy; leave copy=None",
                x.shape(),
                x.layout().strides()
            ),
        )),
    }
}

/// The array repeated along new and length-1 axes, as a view that may not be written to where one
/// element stands for several.
///
/// Source: array API standard, `broadcast_to`.
///
/// # Errors
/// `Shape` if the shape does not follow from the array's.
pub fn broadcast_to(x: &Array, shape: &[usize]) -> Result<Array> {
    args::check_shape("broadcast_to", shape, x.dtype())?;
    Ok(x.view(x.layout().broadcast_to(shape)?))
}

/// All arrays broadcast to their common shape.
///
/// Source: array API standard, `broadcast_arrays`.
///
/// # Errors
/// `Shape` if they do not broadcast.
pub fn broadcast_arrays(arrays: &[&Array]) -> Result<Vec<Array>> {
    let shapes: Vec<&[usize]> = arrays.iter().map(|x| x.shape()).collect();
    let shape = common_shape("broadcast_arrays", &shapes)?;
    arrays
        .iter()
        .map(|x| broadcast_to(x, &shape).map_err(|e| e.in_op("broadcast_arrays")))
        .collect()
}

/// New axes of length 1 at the named positions of the result; a view.
///
/// Source: array API standard, `expand_dims`.
///
/// # Errors
/// `Axis` for a position out of range or given twice.
pub fn expand_dims(x: &Array, axes: &[i64]) -> Result<Array> {
    const OP: &str = "expand_dims";
    let ndim = x.ndim() + axes.len();
    args::check_ndim(OP, ndim)?;
    let mut at = args::axes(OP, axes, ndim)?;
    at.sort_unstable();
    let layout = at
        .into_iter()
        .fold(x.layout().clone(), |l, axis| l.insert_axis(axis));
    Ok(x.view(layout))
}

/// The named axes, which have length 1, dropped; a view.
///
/// Source: array API standard, `squeeze`.
///
/// # Errors
/// `Axis` for an axis out of range or given twice, `Value` for one of another length.
pub fn squeeze(x: &Array, axes: &[i64]) -> Result<Array> {
    const OP: &str = "squeeze";
    let mask = args::mask(OP, Some(axes), x.ndim())?;
    if let Some(a) = (0..x.ndim()).find(|&a| mask.contains(a) && x.shape()[a] != 1) {
        return Err(Error::value(
            OP,
            format!(
                "axis {a} of an array of shape {:?} has length {}, not 1",
                x.shape(),
                x.shape()[a]
            ),
        ));
    }
    Ok(x.view(x.layout().remove_axes(mask)))
}

/// The axes in another order; a view.
///
/// Source: array API standard, `permute_dims`.
///
/// # Errors
/// `Axis` if `axes` is not a permutation of the array's axes.
pub fn permute_dims(x: &Array, axes: &[i64]) -> Result<Array> {
    const OP: &str = "permute_dims";
    let order = args::axes(OP, axes, x.ndim())?;
    if order.len() != x.ndim() {
        return Err(Error::axis(
            OP,
            format!(
                "{axes:?} does not name each axis of an array of {} dimensions",
                x.ndim()
            ),
        ));
    }
    Ok(x.view(x.layout().permute(&order)))
}

/// Axes moved to new positions, the others staying in order; a view.
///
/// Source: array API standard, `moveaxis`.
///
/// # Errors
/// `Axis` for an axis out of range or given twice; `Value` if the two lists differ in length.
pub fn moveaxis(x: &Array, source: &[i64], destination: &[i64]) -> Result<Array> {
    const OP: &str = "moveaxis";
    if source.len() != destination.len() {
        return Err(Error::value(
            OP,
            format!("source {source:?} and destination {destination:?} differ in length"),
        ));
    }
    let from = args::axes(OP, source, x.ndim())?;
    let to = args::axes(OP, destination, x.ndim())?;
    let mut moves: Vec<(usize, usize)> = to.into_iter().zip(from.iter().copied()).collect();
    moves.sort_unstable();
    let mut order: Axes = (0..x.ndim()).filter(|a| !from.contains(a)).collect();
    for (to, from) in moves {
        order.insert(to, from);
    }
    Ok(x.view(x.layout().permute(&order)))
}

/// The last two axes exchanged; a view.
///
/// Source: array API standard, `matrix_transpose`.
///
/// # Errors
/// `Shape` for an array of fewer than two dimensions.
pub fn matrix_transpose(x: &Array) -> Result<Array> {
    let n = x.ndim();
    if n < 2 {
        return Err(Error::shape(
            "matrix_transpose",
            format!("an array of shape {:?} has no last two axes", x.shape()),
        ));
    }
    let mut order: Axes = (0..n).collect();
    order.swap(n - 2, n - 1);
    Ok(x.view(x.layout().permute(&order)))
}

/// All axes in reverse order; a view.
pub fn transpose(x: &Array) -> Array {
    let order: Axes = (0..x.ndim()).rev().collect();
    x.view(x.layout().permute(&order))
}

/// The order of elements reversed along the named axes, or all; a view.
///
/// Source: array API standard, `flip`.
///
/// # Errors
/// `Axis` for an axis out of range or given twice.
pub fn flip(x: &Array, axes: Option<&[i64]>) -> Result<Array> {
    let mask = args::mask("flip", axes, x.ndim())?;
    let layout = (0..x.ndim())
        .filter(|&a| mask.contains(a))
        .fold(x.layout().clone(), |l, axis| l.flip(axis));
    Ok(x.view(layout))
}

/// Elements shifted along axes, those pushed over the end coming in again at the start. Without axes the
/// array is shifted as if it were flat.
///
/// Source: array API standard, `roll`.
///
/// # Errors
/// `Axis` for an axis out of range; `Value` if there are several shifts for another number of axes.
pub fn roll(x: &Array, shifts: &[i64], axes: Option<&[i64]>) -> Result<Array> {
    const OP: &str = "roll";
    let Some(axes) = axes else {
        let total: i128 = shifts.iter().map(|&s| s as i128).sum();
        let by = total.rem_euclid(x.size().max(1) as i128) as i64;
        let rolled = roll(&flat(x)?, &[by], Some(&[0]))?;
        return reshaped(&rolled, x.shape());
    };
    if shifts.len() != axes.len() && shifts.len() != 1 && axes.len() != 1 {
        return Err(Error::value(
            OP,
            format!("{} shifts do not fit {} axes", shifts.len(), axes.len()),
        ));
    }
    let (mut out, mut shifted) = (x.clone(), false);
    let steps = if shifts.is_empty() || axes.is_empty() {
        0
    } else {
        shifts.len().max(axes.len())
    };
    for i in 0..steps {
        let axis = args::axis(OP, axes[i.min(axes.len() - 1)], x.ndim())?;
        let n = x.shape()[axis];
        let by = shifts[i.min(shifts.len() - 1)].rem_euclid(n.max(1) as i64) as usize;
        if by == 0 {
            continue;
        }
        let tail = out.view(out.layout().slice(axis, n - by, 1, by));
        let head = out.view(out.layout().slice(axis, 0, 1, n - by));
        out = join(OP, &[tail, head], axis, x.dtype())?;
        shifted = true;
    }
    if shifted { Ok(out) } else { dense(x) }
}

/// Arrays joined along an axis that exists, or flattened first where `axis` is `None`.
///
/// Source: array API standard, `concat`.
///
/// # Errors
/// `Value` without arrays; `Shape` if they differ outside the axis; `Axis` for a bad axis.
pub fn concat(arrays: &[&Array], axis: Option<i64>) -> Result<Array> {
    const OP: &str = "concat";
    let first = *arrays
        .first()
        .ok_or_else(|| Error::value(OP, "at least one array is required"))?;
    let dtype = common_dtype(OP, arrays.iter().map(|x| x.dtype()), [], DType::F64)?;
    let Some(axis) = axis else {
        let parts = arrays.iter().map(|x| flat(x)).collect::<Result<Vec<_>>>()?;
        return join(OP, &parts, 0, dtype);
    };
    if first.ndim() == 0 {
        return Err(Error::shape(
            OP,
            "arrays without dimensions cannot be joined; use stack",
        ));
    }
    let axis = args::axis(OP, axis, first.ndim())?;
    for x in arrays {
        let fits = x.ndim() == first.ndim()
            && (0..x.ndim()).all(|a| a == axis || x.shape()[a] == first.shape()[a]);
        if !fits {
            return Err(Error::shape(
                OP,
                format!(
                    "shapes {:?} and {:?} differ outside axis {axis}",
                    first.shape(),
                    x.shape()
                ),
            ));
        }
    }
    let parts: Vec<Array> = arrays.iter().map(|x| (*x).clone()).collect();
    join(OP, &parts, axis, dtype)
}

/// Parts that agree outside `axis`, written one after the other into a new array.
pub(crate) fn join(op: &'static str, parts: &[Array], axis: usize, dtype: DType) -> Result<Array> {
    let mut shape = Dims::from_slice(parts[0].shape());
    let lengths = parts.iter().map(|p| p.shape()[axis]);
    shape[axis] = lengths.fold(0, usize::saturating_add);
    args::check_shape(op, &shape, dtype)?;
    if let [only] = parts {
        return args::dense_as(only, dtype);
    }
    let arrays: Vec<&Array> = parts.iter().collect();
    let ctx = args::meet(op, &arrays)?;
    let out = graph::empty(op, &ctx, dtype, &shape)?;
    let mut start = 0;
    for part in parts {
        let len = part.shape()[axis];
        if part.size() > 0 {
            graph::assign(
                op,
                &out.view(out.layout().slice(axis, start, 1, len)),
                part.clone(),
            )?;
        }
        start += len;
    }
    Ok(out)
}

/// Arrays of one shape joined along a new axis.
///
/// Source: array API standard, `stack`.
///
/// # Errors
/// `Value` without arrays; `Shape` if their shapes differ; `Axis` for a bad axis.
pub fn stack(arrays: &[&Array], axis: i64) -> Result<Array> {
    const OP: &str = "stack";
    let first = *arrays
        .first()
        .ok_or_else(|| Error::value(OP, "at least one array is required"))?;
    args::check_ndim(OP, first.ndim() + 1)?;
    let axis = args::axis(OP, axis, first.ndim() + 1)?;
    if let Some(x) = arrays.iter().find(|x| x.shape() != first.shape()) {
        return Err(Error::shape(
            OP,
            format!("shapes {:?} and {:?} differ", first.shape(), x.shape()),
        ));
    }
    let dtype = common_dtype(OP, arrays.iter().map(|x| x.dtype()), [], DType::F64)?;
    let parts: Vec<Array> = arrays
        .iter()
        .map(|x| x.view(x.layout().insert_axis(axis)))
        .collect();
    join(OP, &parts, axis, dtype)
}

/// The array's slices along an axis, which disappears; views.
///
/// Source: array API standard, `unstack`.
///
/// # Errors
/// `Axis` for a bad axis.
pub fn unstack(x: &Array, axis: i64) -> Result<Vec<Array>> {
    let axis = args::axis("unstack", axis, x.ndim())?;
    Ok((0..x.shape()[axis])
        .map(|i| x.view(x.layout().select(axis, i)))
        .collect())
}

/// Each element repeated `count` times along an axis; flattened first where `axis` is `None`.
///
/// Source: array API standard, `repeat`.
///
/// # Errors
/// `Value` for a negative count; `Axis` for a bad axis.
pub fn repeat(x: &Array, count: i64, axis: Option<i64>) -> Result<Array> {
    const OP: &str = "repeat";
    let count = usize::try_from(count)
        .map_err(|_| Error::value(OP, format!("the count {count} is negative")))?;
    let (x, axis) = along(OP, x, axis)?;
    let mut shape = Dims::from_slice(x.shape());
    shape.insert(axis + 1, count);
    args::check_shape(OP, &shape, x.dtype())?;
    let spread = x.view(x.layout().insert_axis(axis + 1).broadcast_to(&shape)?);
    shape.remove(axis);
    shape[axis] = x.shape()[axis].saturating_mul(count);
    reshaped(&dense(&spread)?, &shape)
}

/// Each element repeated as often as the matching entry of `counts` says, along an axis; flattened first
/// where `axis` is `None`. `counts` is 1-D, with an entry per element or one entry for all.
///
/// Source: array API standard, `repeat`.
///
/// # Errors
/// `DType` for counts that are not integers; `Shape` for another number of them; `Value` for a negative one.
pub fn repeat_each(x: &Array, counts: &Array, axis: Option<i64>) -> Result<Array> {
    const OP: &str = "repeat";
    if !counts.dtype().is(Kinds::INT) {
        return Err(Error::dtype(
            OP,
            format!("counts must be integers, not {}", counts.dtype()),
        ));
    }
    if counts.size() == 1 {
        return repeat(x, counts.item()?.to_i128() as i64, axis);
    }
    let (x, axis) = along(OP, x, axis)?;
    let n = x.shape()[axis];
    if counts.shape() != [n] {
        return Err(Error::shape(
            OP,
            format!(
                "counts of shape {:?} do not fit axis {axis} of length {n}",
                counts.shape()
            ),
        ));
    }
    if n > 0 && min(counts, None, false)?.item()?.to_i128() < 0 {
        return Err(Error::value(OP, "a count is negative"));
    }
    // Position p of the result comes from the first element whose running total passes p.
    let ends = cumulative_sum(&counts.astype(DType::I64)?, Some(0), None, false)?;
    let total = match n {
        0 => 0,
        _ => ends.view(ends.layout().select(0, n - 1)).item()?.to_i128() as usize,
    };
    let positions = graph::iota(x.context(), &[total], 0, DType::I64)?;
    let from = searchsorted(&ends, &positions, true, None).map_err(|e| e.in_op(OP))?;
    take(&x, &from, Some(axis as i64))
}

fn along(op: &'static str, x: &Array, axis: Option<i64>) -> Result<(Array, usize)> {
    Ok(match axis {
        Some(axis) => (x.clone(), args::axis(op, axis, x.ndim())?),
        None => (flat(x)?, 0),
    })
}

/// The whole array repeated `counts` times along its axes; missing counts, or dimensions, are 1.
///
/// Source: array API standard, `tile`.
///
/// # Errors
/// `Value` for a negative count.
pub fn tile(x: &Array, counts: &[i64]) -> Result<Array> {
    const OP: &str = "tile";
    if counts.iter().any(|&c| c < 0) {
        return Err(Error::value(
            OP,
            format!("the counts {counts:?} must not be negative"),
        ));
    }
    let ndim = x.ndim().max(counts.len());
    args::check_ndim(OP, ndim)?;
    let (mut layout, mut spread, mut shape) = (x.layout().clone(), Dims::new(), Dims::new());
    for _ in x.ndim()..ndim {
        layout = layout.insert_axis(0);
    }
    for a in 0..ndim {
        let missing = ndim - counts.len();
        let count = a.checked_sub(missing).map_or(1, |i| counts[i] as usize);
        let n = layout.shape()[spread.len()];
        // An axis in front of this one stands for the repeats, where there are any.
        if count != 1 {
            layout = layout.insert_axis(spread.len());
            spread.push(count);
        }
        spread.push(n);
        shape.push(n.saturating_mul(count));
    }
    args::check_shape(OP, &shape, x.dtype())?;
    args::check_ndim(OP, spread.len())?;
    reshaped(&dense(&x.view(layout.broadcast_to(&spread)?))?, &shape)
}

/// Elements at integer positions along an axis, which the indices' axes replace. Negative positions
/// count from the end. `axis` may be left out for 1-D arrays.
///
/// Source: array API standard, `take`.
///
/// # Errors
/// `Index` for a position out of bounds; `DType` for indices that are not integers; `Axis` for a bad axis.
pub fn take(x: &Array, indices: &Array, axis: Option<i64>) -> Result<Array> {
    const OP: &str = "take";
    let axis = match axis {
        Some(axis) => args::axis(OP, axis, x.ndim())?,
        None if x.ndim() == 1 => 0,
        None => {
            return Err(Error::axis(
                OP,
                format!(
                    "an axis is required for an array of {} dimensions",
                    x.ndim()
                ),
            ));
        }
    };
    let out = gather(OP, &axis_first(x, axis), &[(indices.clone(), axis)])?;
    // The indices' axes come first; they belong where the axis was.
    let j = indices.ndim();
    let order: Axes = (j..j + axis)
        .chain(0..j)
        .chain(j + axis..out.ndim())
        .collect();
    Ok(out.view(out.layout().permute(&order)))
}

/// Elements picked along an axis by an array of positions that has one for each place of the result; the
/// other axes broadcast.
///
/// Source: array API standard, `take_along_axis`.
///
/// # Errors
/// `Index` for a position out of bounds; `DType` for indices that are not integers; `Shape` if the arrays
/// differ in the number of dimensions or do not broadcast.
pub fn take_along_axis(x: &Array, indices: &Array, axis: i64) -> Result<Array> {
    const OP: &str = "take_along_axis";
    let axis = args::axis(OP, axis, x.ndim())?;
    if indices.ndim() != x.ndim() {
        return Err(Error::shape(
            OP,
            format!(
                "indices of shape {:?} need {} dimensions",
                indices.shape(),
                x.ndim()
            ),
        ));
    }
    let free = |s: &[usize]| {
        let mut s = Dims::from_slice(s);
        s[axis] = 1;
        s
    };
    let mut shape = common_shape(OP, &[&free(x.shape()), &free(indices.shape())])?;
    let mut source = shape.clone();
    source[axis] = x.shape()[axis];
    shape[axis] = indices.shape()[axis];
    let source = x.view(x.layout().broadcast_to(&source)?);
    let picks = (0..x.ndim())
        .map(|a| {
            let pick = if a == axis {
                indices.clone()
            } else {
                let line = graph::iota(x.context(), &[shape[a]], 0, DType::I64)?;
                let mut dims: Dims = (0..x.ndim()).map(|_| 1).collect();
                dims[a] = shape[a];
                reshaped(&line, &dims)?
            };
            Ok((pick, a))
        })
        .collect::<Result<Vec<_>>>()?;
    gather(OP, &source, &picks)
}

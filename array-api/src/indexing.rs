//! Reading and writing by key: integers, slices, new axes, an ellipsis, integer and boolean arrays.
//!
//! A key becomes a layout as far as it can. What is left are axes picked by index arrays, which the
//! verbs `gather` and `scatter` take as they are; a boolean array is first compacted to positions.
//! Source: array API standard, "Indexing"; NumPy's rules for integer arrays among slices.
//!
//! ```
//! use rustarr::indexing::{Key, get, set};
//! use rustarr::{Array, Context, ContextOptions, ops};
//! # use std::sync::Arc;
//! # let backend: Arc<dyn rustarr::interface::Backend> = Arc::new(rustarr_serial::open(None, None));
//! # let ctx = Context::new("cpu-serial", backend.clone(), backend, ContextOptions::default());
//! let x = Array::from_slice(&ctx, &[1.0, -2.0, 3.0, -4.0], &[2, 2])?;
//! let column = get(&x, &[Key::ALL, Key::Int(1)])?; // a view
//! let negative = ops::less(&x, 0.0)?;
//! set(&x, &[Key::Array(negative)], 0.0)?;
//! assert_eq!(column.to_vec::<f64>()?, [0.0, 0.0]);
//! # Ok::<(), rustarr::Error>(())
//! ```

use crate::ops::args::{self, Axes, check_ndim};
use crate::ops::coordinates;
use crate::ops::elementwise::{common_context, where_};
use crate::promotion::{Weak, weak_scalar};
use crate::{Arg, Array, graph};
use rustarr_interface::{
    Bool, DType, Dims, Error, ErrorKind, Kinds, Layout, Result, Scalar, Verb, broadcast_shapes,
};

/// One entry of a key.
#[derive(Clone, Debug)]
pub enum Key {
    /// One position; the axis disappears.
    Int(i64),
    /// A range with Python's rules: bounds are clipped, negative ones count from the end.
    Slice {
        /// The first position.
        start: Option<i64>,
        /// The position to stop before.
        stop: Option<i64>,
        /// The step, not zero; 1 where left out.
        step: Option<i64>,
    },
    /// A new axis of length 1.
    NewAxis,
    /// As many full slices as the other entries leave room for.
    Ellipsis,
    /// Positions (integer dtype, any shape) or a mask (`bool`, over as many axes as it has).
    Array(Array),
    /// A new axis of length 1 if true, 0 if false.
    Bool(bool),
}

impl Key {
    /// The slice of everything.
    pub const ALL: Key = Key::Slice {
        start: None,
        stop: None,
        step: None,
    };

    /// How many axes of the array this entry stands for.
    fn axes(&self) -> usize {
        match self {
            Key::Int(_) | Key::Slice { .. } => 1,
            Key::Array(a) if a.dtype() == DType::Bool => a.ndim(),
            Key::Array(_) => 1,
            Key::NewAxis | Key::Ellipsis | Key::Bool(_) => 0,
        }
    }

    /// Whether NumPy counts this entry as an index array, beside at least one array.
    fn is_advanced(&self) -> bool {
        matches!(self, Key::Int(_) | Key::Array(_) | Key::Bool(_))
    }
}

/// What picks elements along axes of a plan's layout.
enum Pick {
    /// Positions along one axis.
    Positions(Array),
    /// A mask over as many axes as it has.
    Mask(Array),
}

/// A key worked out for an array: a view, and the axes of it that arrays pick from.
struct Plan {
    /// The view by integers, slices and new axes; axes that arrays pick from are still there.
    layout: Layout,
    /// Each picked axis (the first, for a mask), with the array's axis for messages.
    picks: Vec<(usize, usize, Pick)>,
    /// Where the index arrays' axes go: before how many axes of the rest.
    at: usize,
    /// Integers alone, one per axis: a single element.
    element: bool,
}

fn plan(op: &'static str, x: &Array, keys: &[Key]) -> Result<Plan> {
    let used: usize = keys.iter().map(Key::axes).sum();
    let ellipses = keys.iter().filter(|k| matches!(k, Key::Ellipsis)).count();
    if ellipses > 1 {
        return Err(Error::index(op, "a key can have only one ellipsis"));
    }
    if used > x.ndim() {
        return Err(Error::index(
            op,
            format!(
                "too many indices: the array has {} dimensions, the key stands for {used}",
                x.ndim()
            ),
        ));
    }
    let fancy = keys
        .iter()
        .any(|k| matches!(k, Key::Array(_) | Key::Bool(_)));
    let element =
        ellipses == 0 && keys.len() == x.ndim() && keys.iter().all(|k| matches!(k, Key::Int(_)));
    let mut layout = x.layout().clone();
    let mut picks = Vec::new();
    // `axis` walks the array, `out` the view; `rest` counts the axes of the view that nothing picks from.
    let (mut axis, mut out, mut rest) = (0, 0, 0);
    let (mut at, mut runs, mut inside) = (0, 0, false);
    let skip = |key: &Key| {
        if matches!(key, Key::Ellipsis) {
            x.ndim() - used
        } else {
            0
        }
    };
    for key in keys {
        if let Key::Array(a) = key {
            args::meet(op, &[x, a])?;
        }
        let advanced = fancy && key.is_advanced();
        if advanced && !inside {
            runs += 1;
            at = rest;
        }
        inside = advanced;
        match key {
            Key::Int(i) => layout = layout.select(out, wrap(op, *i, axis, x.shape()[axis])?),
            Key::Slice { start, stop, step } => {
                let (start, step, len) = slice(op, *start, *stop, *step, x.shape()[axis])?;
                layout = layout.slice(out, start, step, len);
                out += 1;
                rest += 1;
            }
            Key::NewAxis => {
                layout = layout.insert_axis(out);
                out += 1;
                rest += 1;
            }
            Key::Ellipsis => {
                out += skip(key);
                rest += skip(key);
            }
            Key::Array(a) if a.dtype() == DType::Bool && a.ndim() > 0 => {
                let mask = fitted_mask(op, a, &x.shape()[axis..], axis)?;
                picks.push((out, axis, Pick::Mask(mask)));
                out += a.ndim();
            }
            // A mask without dimensions is one over a new axis of length 1.
            Key::Array(a) if a.dtype() == DType::Bool => {
                layout = layout.insert_axis(out);
                picks.push((out, axis, Pick::Mask(a.view(a.layout().insert_axis(0)))));
                out += 1;
            }
            Key::Bool(b) => {
                layout = layout.insert_axis(out);
                let mask = graph::fill(x.context(), &[1], Scalar::new(Bool::from(*b)))?;
                picks.push((out, axis, Pick::Mask(mask)));
                out += 1;
            }
            Key::Array(a) => {
                if !a.dtype().is(Kinds::INT) {
                    return Err(Error::index(
                        op,
                        format!(
                            "an index array must be of an integer dtype or bool, not {}",
                            a.dtype()
                        ),
                    ));
                }
                picks.push((out, axis, Pick::Positions(a.clone())));
                out += 1;
            }
        }
        axis += key.axes() + skip(key);
        check_ndim(op, layout.ndim()).map_err(|e| Error::index(op, e.detail()))?;
    }
    // Arrays separated by a slice: their axes come first.
    if runs > 1 {
        at = 0;
    }
    Ok(Plan {
        layout,
        picks,
        at,
        element,
    })
}

/// A position along an axis, counted from the end where negative.
fn wrap(op: &'static str, index: i64, axis: usize, size: usize) -> Result<usize> {
    let at = if index < 0 {
        index as i128 + size as i128
    } else {
        index as i128
    };
    if (0..size as i128).contains(&at) {
        return Ok(at as usize);
    }
    Err(out_of_bounds(op, index, axis, size))
}

#[cold]
fn out_of_bounds(op: &'static str, index: i64, axis: usize, size: usize) -> Error {
    Error::index(
        op,
        format!("index {index} is out of bounds for axis {axis} with size {size}"),
    )
}

/// First position, step and length of a slice of an axis, by Python's `slice.indices`.
fn slice(
    op: &'static str,
    start: Option<i64>,
    stop: Option<i64>,
    step: Option<i64>,
    size: usize,
) -> Result<(usize, isize, usize)> {
    let step = step.unwrap_or(1) as i128;
    if step == 0 {
        return Err(Error::value(op, "a slice's step cannot be zero"));
    }
    let size = size as i128;
    let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let bound = |b: Option<i64>, default: i128| match b {
        None => default,
        Some(b) if b < 0 => (b as i128 + size).clamp(low, high),
        Some(b) => (b as i128).clamp(low, high),
    };
    let (start, stop) = if step > 0 {
        (bound(start, low), bound(stop, high))
    } else {
        (bound(start, high), bound(stop, low))
    };
    let span = if step > 0 { stop - start } else { start - stop };
    let len = if span <= 0 {
        0
    } else {
        (span - 1) / step.abs() + 1
    };
    // A single element needs no step, and a huge one would leave the buffer.
    let step = if len > 1 { step } else { step.signum() };
    Ok((start.max(0) as usize, step as isize, len as usize))
}

/// The mask, which has the sizes of the axes from `axis` on. One that is empty along an axis selects nothing whatever
/// the size there, as in NumPy: it becomes one that is false everywhere.
fn fitted_mask(op: &'static str, mask: &Array, sizes: &[usize], axis: usize) -> Result<Array> {
    for (i, (&m, &n)) in mask.shape().iter().zip(sizes).enumerate() {
        if m != n && m != 0 {
            let axis = axis + i;
            return Err(Error::index(
                op,
                format!("the mask's size {m} along axis {axis} is not the array's, {n}"),
            ));
        }
    }
    let sizes = &sizes[..mask.ndim()];
    if mask.shape() == sizes {
        return Ok(mask.clone());
    }
    let none = graph::fill(mask.context(), &[], Scalar::new(Bool::from(false)))?;
    Ok(none.view(none.layout().broadcast_to(sizes)?))
}

/// Index arrays broadcast to one shape `J`, over a view whose picked axes come first: `D + R`.
struct Picked {
    view: Layout,
    indices: Vec<(Array, usize)>,
    shape: Dims,
}

impl Plan {
    /// Compacts masks, broadcasts the index arrays and moves the picked axes to the front.
    fn pick(&self, op: &'static str, x: &Array) -> Result<Picked> {
        let mut layout = self.layout.clone();
        let mut indices: Vec<(Array, usize)> = Vec::new();
        let mut picked = Axes::new();
        let mut merged = 0;
        for (out, axis, pick) in &self.picks {
            // Merged masks have pulled the later axes of the view forward.
            let out = out - merged;
            let mask = match pick {
                Pick::Positions(a) => {
                    indices.push((a.astype(DType::I64)?, *axis));
                    picked.push(out);
                    continue;
                }
                Pick::Mask(mask) => mask,
            };
            let positions = graph::compact(x.context(), op, mask)?;
            let n = mask.ndim();
            match merge(&layout, out, n) {
                // The masked axes walk as one: the positions index it.
                Some(one) => {
                    layout = one;
                    indices.push((positions, *axis));
                    picked.push(out);
                    merged += n - 1;
                }
                None => {
                    for (i, c) in coordinates(&positions, mask.shape())?
                        .into_iter()
                        .enumerate()
                    {
                        indices.push((c, axis + i));
                        picked.push(out + i);
                    }
                }
            }
        }
        let shapes: Vec<&[usize]> = indices.iter().map(|(a, _)| a.shape()).collect();
        let shape = broadcast_shapes(op, &shapes).map_err(|e| {
            Error::index(
                op,
                format!("index arrays do not fit each other: {}", e.detail()),
            )
        })?;
        let rest = (0..layout.ndim()).filter(|a| !picked.contains(a));
        let order: Axes = picked.iter().copied().chain(rest).collect();
        Ok(Picked {
            view: layout.permute(&order),
            indices,
            shape,
        })
    }

    /// The order that moves the index arrays' axes from the front, where the verbs have them, to their place;
    /// `j` of them and `r` others.
    fn order(&self, j: usize, r: usize) -> Axes {
        (j..j + self.at)
            .chain(0..j)
            .chain(j + self.at..j + r)
            .collect()
    }
}

/// Axes `first..first + n` as one, where they walk as one.
fn merge(layout: &Layout, first: usize, n: usize) -> Option<Layout> {
    if n == 1 {
        return Some(layout.clone());
    }
    let end = first + n;
    // Only the merged axes matter: the others are reshaped to themselves.
    let group = Layout::new(
        &layout.shape()[first..end],
        &layout.strides()[first..end],
        0,
    );
    let size = group.size();
    let one = if size == 0 {
        Layout::contiguous(&[0])
    } else {
        group.reshape(&[size])?
    };
    let mut shape = Dims::from_slice(layout.shape());
    let mut strides: rustarr_interface::Strides = layout.strides().into();
    shape.drain(first..end);
    strides.drain(first..end);
    shape.insert(first, size);
    strides.insert(first, one.strides()[0]);
    Some(Layout::new(&shape, &strides, layout.offset()))
}

/// Reads `source[indices.., ..]`: with index arrays for the leading axes of `source`, their common shape replaces
/// these axes. Each index comes with the number of the user's axis, for messages.
///
/// # Errors
/// `Index` for a position out of bounds; `DType` for an index array that is not of an integer dtype.
pub(crate) fn gather(
    op: &'static str,
    source: &Array,
    indices: &[(Array, usize)],
) -> Result<Array> {
    let shapes: Vec<&[usize]> = indices.iter().map(|(a, _)| a.shape()).collect();
    let shape = broadcast_shapes(op, &shapes)?;
    let mut wide = Vec::with_capacity(indices.len());
    for (a, _) in indices {
        if !a.dtype().is(Kinds::INT) {
            return Err(Error::dtype(
                op,
                format!("indices must be of an integer dtype, not {}", a.dtype()),
            ));
        }
        let a = a.astype(DType::I64)?;
        wide.push(a.view(a.layout().broadcast_to(&shape)?));
    }
    let args: Vec<Arg<'_>> = std::iter::once(source)
        .chain(&wide)
        .map(Arg::Array)
        .collect();
    let ctx = common_context(op, &args)?;
    let inputs: Vec<&Array> = std::iter::once(source).chain(&wide).collect();
    let mut out = shape;
    out.extend_from_slice(&source.shape()[indices.len()..]);
    args::check_shape(op, &out, source.dtype())?;
    let outputs = [(source.dtype(), out)];
    graph::verb(
        &ctx,
        op,
        Verb::Gather,
        &inputs,
        &outputs,
        |backend, ins, outs| backend.gather(ins[0], &ins[1..], outs[0]),
    )
    .map(args::single)
    .map_err(|e| name_index(op, e, source.layout(), &wide, indices))
}

/// An index error with the user's number of the axis in place of the verb's.
fn name_index(
    op: &'static str,
    error: Error,
    view: &Layout,
    wide: &[Array],
    indices: &[(Array, usize)],
) -> Error {
    if error.kind() != ErrorKind::Index {
        return error;
    }
    for (k, a) in wide.iter().enumerate() {
        let size = view.shape()[k];
        let bad = |v: &i64| wrap(op, *v, 0, size).is_err();
        if let Ok(values) = a.to_vec::<i64>()
            && let Some(v) = values.into_iter().find(bad)
        {
            return out_of_bounds(op, v, indices[k].1, size);
        }
    }
    error
}

/// `x[keys]`: a view where integers, slices and new axes are all there is, else new elements.
///
/// Integers that name one element (without an ellipsis) give a copy of it without dimensions. The
/// axes of index arrays go where the arrays stand in the key, or first if slices separate them. A mask picks
/// elements in row-major order.
///
/// # Errors
/// `Index` for a position out of bounds, too many entries, a mask of another shape or index arrays that do not
/// broadcast; `Value` for a step of zero.
pub fn get(x: &Array, keys: &[Key]) -> Result<Array> {
    const OP: &str = "getitem";
    let plan = plan(OP, x, keys)?;
    if plan.picks.is_empty() {
        let view = x.view(plan.layout);
        return if plan.element {
            graph::contiguous_copy("getitem", &view)
        } else {
            Ok(view)
        };
    }
    let picked = plan.pick(OP, x)?;
    let out = gather(OP, &x.view(picked.view), &picked.indices)?;
    let j = picked.shape.len();
    let order = plan.order(j, out.ndim() - j);
    let layout = out.layout().permute(&order);
    Ok(out.view(layout))
}

/// `x[keys] = value`: the value is broadcast and cast. Where index arrays name an element several times,
/// the last value in row-major order stays.
///
/// A value that does not depend on how many elements a mask picks is written as one
/// `where(mask, value, x)`.
///
/// # Errors
/// Those of [`get`]; `Value` for a read-only or broadcast array; `Shape` for a value that does not broadcast;
/// `Overflow` for a Python `int` outside the dtype; `DType` for complex values in a real array. The array is
/// untouched then.
pub fn set<'a>(x: &Array, keys: &[Key], value: impl Into<Arg<'a>>) -> Result<()> {
    const OP: &str = "setitem";
    x.check_writable(OP)?;
    let plan = plan(OP, x, keys)?;
    let value = Value::of(OP, value.into(), x.dtype())?;
    if plan.picks.is_empty() {
        let target = x.view(plan.layout);
        let value = value.spread(OP, x, target.shape())?;
        return graph::assign(OP, &target, value);
    }
    if let [(axis, _, Pick::Mask(mask))] = plan.picks.as_slice()
        && let Some(value) = plan.uniform(*axis, mask, &value)
    {
        return set_where(OP, &x.view(plan.layout.clone()), *axis, mask, &value);
    }
    let picked = plan.pick(OP, x)?;
    let target = x.view(picked.view);
    let (j, k) = (picked.shape.len(), picked.indices.len());
    let r = target.ndim() - k;
    // The value in the result's order of axes, then with the arrays' axes first.
    let order = plan.order(j, r);
    let front: Dims = picked
        .shape
        .iter()
        .chain(&target.shape()[k..])
        .copied()
        .collect();
    let result: Dims = order.iter().map(|&a| front[a]).collect();
    let value = value.spread(OP, x, &result)?;
    let mut back: Axes = (0..order.len()).collect();
    for (i, &a) in order.iter().enumerate() {
        back[a] = i;
    }
    let values = value.view(value.layout().permute(&back));
    let mut wide = Vec::with_capacity(k);
    for (a, _) in &picked.indices {
        wide.push(a.view(a.layout().broadcast_to(&picked.shape)?));
    }
    graph::scatter(OP, &target, &wide, &values)
        .map_err(|e| name_index(OP, e, target.layout(), &wide, &picked.indices))
}

/// What is written: elements, or one element of the target's dtype.
enum Value {
    Array(Array),
    Scalar(Scalar),
}

impl Value {
    fn of(op: &'static str, value: Arg<'_>, dtype: DType) -> Result<Value> {
        match value {
            Arg::Scalar(w) => Ok(Value::Scalar(weak_scalar(op, w, dtype)?)),
            Arg::Array(v) if v.dtype().is(Kinds::COMPLEX) && dtype.is(Kinds::REAL) => {
                Err(Error::dtype(
                    op,
                    format!(
                        "{} values do not fit an array of {dtype}; write their real part",
                        v.dtype()
                    ),
                ))
            }
            Arg::Array(v) => Ok(Value::Array(v.clone())),
        }
    }

    /// The value broadcast to the shape that it is written into; leading axes of length 1 are dropped, as in NumPy.
    fn spread(&self, op: &'static str, target: &Array, shape: &[usize]) -> Result<Array> {
        let value = match self {
            Value::Array(value) => value,
            Value::Scalar(s) => return graph::fill(target.context(), shape, *s),
        };
        let mut layout = value.layout().clone();
        while layout.ndim() > shape.len() && layout.shape()[0] == 1 {
            layout = layout.select(0, 0);
        }
        let layout = layout.broadcast_to(shape).map_err(|_| {
            let from = value.shape();
            Error::shape(
                op,
                format!("cannot write a value of shape {from:?} into shape {shape:?}"),
            )
        })?;
        Ok(value.view(layout))
    }
}

impl Plan {
    /// The value as it stands over the view, if it is the same whatever a lone mask at `axis` picks: in the axis of
    /// picked elements it has length 1, or none.
    fn uniform(&self, axis: usize, mask: &Array, value: &Value) -> Option<Value> {
        let value = match value {
            Value::Array(value) => value,
            Value::Scalar(s) => return Some(Value::Scalar(*s)),
        };
        // Axes of the value counted from its end: those after the picked axis, and that axis.
        let rest = self.layout.ndim() - mask.ndim();
        let after = rest - self.at;
        if value.ndim() > rest + 1 || self.at != axis {
            return None;
        }
        let Some(place) = value.ndim().checked_sub(after + 1) else {
            return Some(Value::Array(value.clone()));
        };
        if value.shape()[place] != 1 {
            return None;
        }
        let layout = (1..mask.ndim()).fold(value.layout().clone(), |l, _| l.insert_axis(place));
        Some(Value::Array(value.view(layout)))
    }
}

/// Writes the value where the mask, over the axes of `target` from `axis` on, is true: one map.
fn set_where(
    op: &'static str,
    target: &Array,
    axis: usize,
    mask: &Array,
    value: &Value,
) -> Result<()> {
    let mut layout = mask.layout().clone();
    for _ in axis + mask.ndim()..target.ndim() {
        layout = layout.insert_axis(layout.ndim());
    }
    let mask = mask.view(layout.broadcast_to(target.shape())?);
    let merged = match value {
        Value::Scalar(s) => where_(&mask, Weak::from(*s), target),
        Value::Array(_) => where_(
            &mask,
            &value
                .spread(op, target, target.shape())?
                .astype(target.dtype())?,
            target,
        ),
    };
    graph::assign(op, target, merged.map_err(|e| e.in_op(op))?)
}

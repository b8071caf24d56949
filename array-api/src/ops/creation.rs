//! New arrays, recorded as coordinates and arithmetic: none of them is filled before it is read.

use super::args::{self, coordinate_dtype, dense_as, wide_float};
use super::elementwise as ew;
use super::elementwise::where_;
use crate::promotion::{Weak, common_dtype, weak_scalar};
use crate::{Arg, Array, Context, graph};
use rustarr_interface::{Complex64, DType, Dims, Error, Kinds, Result, Scalar};

/// An array of one value; the dtype is, where left out, the default one of the value's kind.
///
/// Source: array API standard, `full`.
///
/// # Errors
/// `Overflow` for an integer outside the dtype's range; `Memory` for a shape too large to address;
/// `Shape` for a value that does not broadcast.
pub fn full<'a>(
    ctx: &Context,
    shape: &[usize],
    value: impl Into<Arg<'a>>,
    dtype: Option<DType>,
) -> Result<Array> {
    const OP: &str = "full";
    match value.into() {
        Arg::Scalar(w) => {
            let dtype = dtype.unwrap_or_else(|| w.default_dtype(ctx.default_float()));
            filled(OP, ctx, shape, weak_scalar(OP, w, dtype)?)
        }
        Arg::Array(x) => {
            let x = x.relabel(ctx).map_err(|e| e.in_op(OP))?;
            let dtype = dtype.unwrap_or(x.dtype());
            args::check_shape(OP, shape, dtype)?;
            let layout = x.layout().broadcast_to(shape).map_err(|e| e.in_op(OP))?;
            dense_as(&x.view(layout), dtype)
        }
    }
}

fn filled(op: &'static str, ctx: &Context, shape: &[usize], value: Scalar) -> Result<Array> {
    args::check_shape(op, shape, value.dtype())?;
    graph::fill(ctx, shape, value)
}

/// An array of zeros, of the default floating-point dtype where none is given.
///
/// Source: array API standard, `zeros`.
///
/// # Errors
/// `Memory` for a shape too large to address.
pub fn zeros(ctx: &Context, shape: &[usize], dtype: Option<DType>) -> Result<Array> {
    filled(
        "zeros",
        ctx,
        shape,
        args::zero(dtype.unwrap_or(ctx.default_float())),
    )
}

/// An array of ones, of the default floating-point dtype where none is given.
///
/// Source: array API standard, `ones`.
///
/// # Errors
/// `Memory` for a shape too large to address.
pub fn ones(ctx: &Context, shape: &[usize], dtype: Option<DType>) -> Result<Array> {
    filled(
        "ones",
        ctx,
        shape,
        args::one(dtype.unwrap_or(ctx.default_float())),
    )
}

/// An array of unspecified values, of the default floating-point dtype where none is given.
///
/// Source: array API standard, `empty`.
///
/// # Errors
/// `Memory` for a shape too large to address, or to have.
pub fn empty(ctx: &Context, shape: &[usize], dtype: Option<DType>) -> Result<Array> {
    let dtype = dtype.unwrap_or(ctx.default_float());
    args::check_shape("empty", shape, dtype)?;
    graph::empty("empty", ctx, dtype, shape)
}

/// An array of one value in the shape, and where left out the dtype, of another.
///
/// Source: array API standard, `full_like`.
///
/// # Errors
/// As [`full`].
pub fn full_like<'a>(x: &Array, value: impl Into<Arg<'a>>, dtype: Option<DType>) -> Result<Array> {
    full(
        x.context(),
        x.shape(),
        value,
        Some(dtype.unwrap_or(x.dtype())),
    )
    .map_err(|e| e.in_op("full_like"))
}

/// Zeros in the shape, and where left out the dtype, of another array.
///
/// Source: array API standard, `zeros_like`.
///
/// # Errors
/// `Memory` if the dtype makes it too large to address.
pub fn zeros_like(x: &Array, dtype: Option<DType>) -> Result<Array> {
    filled(
        "zeros_like",
        x.context(),
        x.shape(),
        args::zero(dtype.unwrap_or(x.dtype())),
    )
}

/// Ones in the shape, and where left out the dtype, of another array.
///
/// Source: array API standard, `ones_like`.
///
/// # Errors
/// `Memory` if the dtype makes it too large to address.
pub fn ones_like(x: &Array, dtype: Option<DType>) -> Result<Array> {
    filled(
        "ones_like",
        x.context(),
        x.shape(),
        args::one(dtype.unwrap_or(x.dtype())),
    )
}

/// Unspecified values in the shape, and where left out the dtype, of another array.
///
/// Source: array API standard, `empty_like`.
///
/// # Errors
/// `Memory` if there is none.
pub fn empty_like(x: &Array, dtype: Option<DType>) -> Result<Array> {
    empty(x.context(), x.shape(), Some(dtype.unwrap_or(x.dtype())))
        .map_err(|e| e.in_op("empty_like"))
}

/// The numbers `start, start + step, ..` below `stop` (above it for a negative step); one argument alone is
/// the stop. There are `ceil((stop - start) / step)` of them, worked out exactly for integers and in `float64`
/// else. The dtype is, where left out, the default integer for integers and the default float else.
///
/// Source: array API standard, `arange`.
///
/// # Errors
/// `Value` for a step of zero or arguments that are not finite; `DType` for complex arguments or a `bool`
/// dtype; `Overflow` for numbers outside an integer dtype; `Memory` for too many of them.
pub fn arange(
    ctx: &Context,
    start: Weak,
    stop: Option<Weak>,
    step: Weak,
    dtype: Option<DType>,
) -> Result<Array> {
    const OP: &str = "arange";
    let (start, stop) = stop.map_or((Weak::Int(0), start), |stop| (start, stop));
    let all = [start, stop, step];
    let dtype = match dtype {
        Some(dtype) => dtype,
        None => common_dtype(OP, [ctx.default_int()], all, ctx.default_float())?,
    };
    let reals = all.map(Weak::to_f64);
    let ([Some(a), Some(b), Some(by)], false) = (reals, dtype == DType::Bool) else {
        return Err(Error::dtype(
            OP,
            "start, stop and step must be real and the dtype numeric",
        ));
    };
    if by == 0.0 {
        return Err(Error::value(OP, "the step must not be zero"));
    }
    let too_many =
        |n: &dyn std::fmt::Display| Error::memory(OP, format!("{n} elements cannot be addressed"));
    if let [Some(a), Some(b), Some(by)] = all.map(Weak::to_int) {
        // ceil((b - a) / by) without leaving 128 bits.
        let span = b
            .checked_sub(a)
            .ok_or_else(|| Error::overflow(OP, "stop - start is out of range"))?;
        let n = if (span > 0) != (by > 0) {
            0
        } else {
            (span - by.signum()) / by + 1
        };
        let n = if span == 0 { 0 } else { n };
        let len = usize::try_from(n).map_err(|_| too_many(&n))?;
        args::check_shape(OP, &[len], dtype)?;
        if dtype.is(Kinds::INT) {
            return int_line(OP, ctx, len, a, by, dtype);
        }
        return real_line(ctx, len, a as f64, by as f64, dtype);
    }
    for w in all {
        if matches!(w, Weak::HugeInt(_)) {
            weak_scalar(OP, w, dtype)?;
        }
    }
    let n = ((b - a) / by).ceil();
    if n.is_nan() || n == f64::INFINITY {
        return Err(Error::value(
            OP,
            format!("no finite count from {a} to {b} in steps of {by}"),
        ));
    }
    let n = n.max(0.0);
    if n >= isize::MAX as f64 {
        return Err(too_many(&n));
    }
    args::check_shape(OP, &[n as usize], dtype)?;
    real_line(ctx, n as usize, a, by, dtype)
}

/// `start + i * step` in an integer dtype. Wrapping arithmetic is exact because both ends fit.
fn int_line(
    op: &'static str,
    ctx: &Context,
    len: usize,
    start: i128,
    step: i128,
    dtype: DType,
) -> Result<Array> {
    if len > 0 {
        let last = start + (len as i128 - 1) * step;
        for end in [start, last] {
            weak_scalar(op, Weak::Int(end), dtype)?;
        }
    }
    let line = graph::iota(ctx, &[len], 0, dtype)?;
    let wrapped = |v: i128| {
        graph::fill(
            ctx,
            &[len],
            Scalar::from_i64(DType::I64, v as i64).cast(dtype),
        )
    };
    let scaled = if step == 1 {
        line
    } else {
        ew::multiply(&line, &wrapped(step)?)?
    };
    if start == 0 {
        Ok(scaled)
    } else {
        ew::add(&scaled, &wrapped(start)?)
    }
}

/// `start + i * step` in double precision where the device has it, rounded (for integers, truncated) once.
fn real_line(ctx: &Context, len: usize, start: f64, step: f64, dtype: DType) -> Result<Array> {
    let wide = wide_float(
        ctx,
        if dtype.is(Kinds::INT) {
            DType::F32
        } else {
            dtype
        },
    );
    let line = graph::iota(ctx, &[len], 0, coordinate_dtype(len))?.astype(wide)?;
    ew::add(&ew::multiply(&line, step)?, start)?.astype(dtype)
}

/// `num` evenly spaced numbers from `start` to `stop`, which is hit exactly, or left out where `endpoint` is
/// false. The dtype is, where left out, the default float, or the default complex for complex ends. In an
/// integer dtype values are rounded down.
///
/// Source: array API standard, `linspace`.
///
/// # Errors
/// `Value` for a negative count; `DType` for complex ends in a real dtype; `Memory` for too many numbers.
pub fn linspace(
    ctx: &Context,
    start: Weak,
    stop: Weak,
    num: i64,
    dtype: Option<DType>,
    endpoint: bool,
) -> Result<Array> {
    const OP: &str = "linspace";
    let len = usize::try_from(num)
        .map_err(|_| Error::value(OP, format!("the number of samples {num} is negative")))?;
    let ends = [start, stop];
    let dtype = match dtype {
        Some(dtype) => dtype,
        None => common_dtype(OP, [ctx.default_float()], ends, ctx.default_float())?,
    };
    args::check_shape(OP, &[len], dtype)?;
    let complex = ends.iter().any(|w| matches!(w, Weak::Complex(_)));
    if complex && !dtype.is(Kinds::COMPLEX) {
        return Err(Error::dtype(
            OP,
            format!("complex ends do not fit dtype {dtype}"),
        ));
    }
    let divisions = if endpoint { len.saturating_sub(1) } else { len };
    let (a, b) = (start.to_complex(), stop.to_complex());
    let step = (b - a) / divisions.max(1) as f64;
    // Rounded to the nearest below: an integer sample is the floor of the real one.
    let line = |a: f64, step: f64, b: f64| -> Result<Array> {
        let real = if dtype.is(Kinds::INEXACT) {
            dtype.real()
        } else {
            DType::F64
        };
        let wide = wide_float(ctx, real);
        let line = real_line(ctx, len, a, step, wide)?;
        let line = if dtype.is(Kinds::INT) {
            ew::floor(&line)?
        } else {
            line
        };
        if !endpoint || len < 2 {
            return Ok(line);
        }
        let places = graph::iota(ctx, &[len], 0, coordinate_dtype(len))?;
        let last = ew::equal(&places, Weak::Int(len as i128 - 1))?;
        where_(
            &last,
            if dtype.is(Kinds::INT) { b.floor() } else { b },
            &line,
        )
    };
    let re = line(a.re, step.re, b.re)?;
    if !complex {
        return re.astype(dtype);
    }
    let wide = re.dtype().complex().unwrap_or(DType::C128);
    let im = ew::multiply(&line(a.im, step.im, b.im)?.astype(wide)?, Complex64::I)?;
    ew::add(&re, &im)?.astype(dtype)
}

/// Zeros with ones on diagonal `k`, of shape `(rows, columns)`; square where `columns` is left out.
///
/// Source: array API standard, `eye`.
///
/// # Errors
/// `Memory` for a shape too large to address.
pub fn eye(
    ctx: &Context,
    rows: usize,
    columns: Option<usize>,
    k: i64,
    dtype: Option<DType>,
) -> Result<Array> {
    let dtype = dtype.unwrap_or(ctx.default_float());
    let shape = [rows, columns.unwrap_or(rows)];
    args::check_shape("eye", &shape, dtype)?;
    let (diagonal, k) = diagonal_index(ctx, &shape, k)?;
    ew::equal(&diagonal, k)?.astype(dtype)
}

/// The number of the diagonal that each element of a matrix lies on, and `k` made to fit its dtype.
fn diagonal_index(ctx: &Context, shape: &[usize], k: i64) -> Result<(Array, Weak)> {
    let n = shape.len();
    let (rows, columns) = (shape[n - 2], shape[n - 1]);
    let dtype = coordinate_dtype(rows.saturating_add(columns));
    let row = graph::iota(ctx, shape, n - 2, dtype)?;
    let column = graph::iota(ctx, shape, n - 1, dtype)?;
    let k = (k as i128).clamp(-(rows as i128), columns as i128);
    Ok((ew::subtract(&column, &row)?, Weak::Int(k)))
}

/// The lower triangle of matrices, up to diagonal `k`; the other elements are zero.
///
/// Source: array API standard, `tril`.
///
/// # Errors
/// `Shape` for fewer than two dimensions.
pub fn tril(x: &Array, k: i64) -> Result<Array> {
    triangle("tril", x, k, true)
}

/// The upper triangle of matrices, from diagonal `k`; the other elements are zero.
///
/// Source: array API standard, `triu`.
///
/// # Errors
/// `Shape` for fewer than two dimensions.
pub fn triu(x: &Array, k: i64) -> Result<Array> {
    triangle("triu", x, k, false)
}

fn triangle(op: &'static str, x: &Array, k: i64, lower: bool) -> Result<Array> {
    if x.ndim() < 2 {
        return Err(Error::shape(
            op,
            format!("an array of shape {:?} is not a matrix", x.shape()),
        ));
    }
    let (diagonal, k) = diagonal_index(x.context(), x.shape(), k)?;
    let kept = if lower {
        ew::less_equal(&diagonal, k)?
    } else {
        ew::greater_equal(&diagonal, k)?
    };
    where_(&kept, x, false)
}

/// Coordinate arrays of a grid from 1-D (or 0-d) coordinates. With `xy` the first two axes of the grid are
/// exchanged, as plots have it.
///
/// Source: array API standard, `meshgrid`.
///
/// # Errors
/// `Shape` for coordinates of more than one dimension; `Memory` for a grid too large to address.
pub fn meshgrid(arrays: &[&Array], xy: bool) -> Result<Vec<Array>> {
    const OP: &str = "meshgrid";
    let n = arrays.len();
    args::check_ndim(OP, n)?;
    if let Some(x) = arrays.iter().find(|x| x.ndim() > 1) {
        return Err(Error::shape(
            OP,
            format!("coordinates must be 1-D, not of shape {:?}", x.shape()),
        ));
    }
    // Which axis of the grid coordinate `i` runs along.
    let axis = |i: usize| if xy && n > 1 && i < 2 { 1 - i } else { i };
    let mut shape: Dims = arrays.iter().map(|_| 1).collect();
    for (i, x) in arrays.iter().enumerate() {
        shape[axis(i)] = x.size();
    }
    arrays
        .iter()
        .enumerate()
        .map(|(i, x)| {
            args::check_shape(OP, &shape, x.dtype())?;
            let mut layout = x
                .layout()
                .reshape(&[x.size()])
                .unwrap_or_else(|| x.layout().clone());
            for a in (0..n).filter(|&a| a != axis(i)) {
                layout = layout.insert_axis(a);
            }
            args::dense(&x.view(layout.broadcast_to(&shape)?))
        })
        .collect()
}

//! Statistics and other reductions: every one is a recorded elementwise part and one or two reduces.

use super::args;
use super::elementwise as ew;
use crate::{Array, graph};
use rustarr_interface::{AxisMask, DType, Dims, Error, Kinds, Reduce, Result, Scalar};

/// Reduces over the axes of the mask, which stay with length 1 where `keepdims`.
fn run(op: &'static str, kind: Reduce, x: &Array, axes: AxisMask, keepdims: bool) -> Result<Array> {
    let out = if axes == AxisMask::default() {
        // Over no axis: over one of length 1, so that the result is never the array itself.
        let padded = x.view(x.layout().insert_axis(0));
        graph::reduce(op, kind, &padded, AxisMask::of([0]))?
    } else {
        graph::reduce(op, kind, x, axes)?
    };
    if !keepdims {
        return Ok(out);
    }
    let layout = (0..x.ndim())
        .filter(|&a| axes.contains(a))
        .fold(out.layout().clone(), |l, axis| l.insert_axis(axis));
    Ok(out.view(layout))
}

/// The dtype in which values of `dtype` are accumulated: `float16` loses too much on the way.
pub(crate) fn accumulator(dtype: DType) -> DType {
    if dtype == DType::F16 {
        DType::F32
    } else {
        dtype
    }
}

/// The dtype of a sum or product: small integers and `bool` widen to the default integer.
pub(crate) fn widened(dtype: DType, default_int: DType) -> DType {
    let wide = default_int.itemsize();
    match dtype {
        DType::Bool => default_int,
        d if d.is(Kinds::SIGNED) && d.itemsize() < wide => default_int,
        d if d.is(Kinds::UNSIGNED) && d.itemsize() < wide => {
            if wide == 8 {
                DType::U64
            } else {
                DType::U32
            }
        }
        d => d,
    }
}

fn total(
    op: &'static str,
    kind: Reduce,
    x: &Array,
    axes: Option<&[i64]>,
    dtype: Option<DType>,
    keepdims: bool,
) -> Result<Array> {
    let axes = args::mask(op, axes, x.ndim())?;
    let dtype = dtype.unwrap_or_else(|| widened(x.dtype(), x.context().default_int()));
    let values = x.astype(accumulator(dtype))?;
    run(op, kind, &values, axes, keepdims)?.astype(dtype)
}

/// Sum over axes, or over all. Integers below the default width and `bool` are summed in the default
/// integer of their sign, unless `dtype` says otherwise; `float16` is summed in `float32`. The empty
/// sum is 0.
///
/// Source: array API standard, `sum`.
///
/// # Errors
/// `Axis` for an axis out of range or given twice.
pub fn sum(x: &Array, axes: Option<&[i64]>, dtype: Option<DType>, keepdims: bool) -> Result<Array> {
    total("sum", Reduce::Sum, x, axes, dtype, keepdims)
}

/// Product over axes, or over all; dtypes as for [`sum`]. The empty product is 1.
///
/// Source: array API standard, `prod`.
///
/// # Errors
/// `Axis` for an axis out of range or given twice.
pub fn prod(
    x: &Array,
    axes: Option<&[i64]>,
    dtype: Option<DType>,
    keepdims: bool,
) -> Result<Array> {
    total("prod", Reduce::Prod, x, axes, dtype, keepdims)
}

/// Checks that an extreme exists: an order, and at least one element to each result.
fn check_extreme(op: &'static str, x: &Array, axes: AxisMask) -> Result<()> {
    if !x.dtype().is(Kinds::ORDERED) {
        return Err(Error::dtype(
            op,
            format!("dtype {} has no order", x.dtype()),
        ));
    }
    if (0..x.ndim()).any(|a| axes.contains(a) && x.shape()[a] == 0) {
        return Err(Error::value(
            op,
            format!(
                "an array of shape {:?} has no element to choose along the reduced axes",
                x.shape()
            ),
        ));
    }
    Ok(())
}

fn extreme(
    op: &'static str,
    kind: Reduce,
    x: &Array,
    axes: Option<&[i64]>,
    keepdims: bool,
) -> Result<Array> {
    let axes = args::mask(op, axes, x.ndim())?;
    check_extreme(op, x, axes)?;
    run(op, kind, x, axes, keepdims)
}

/// Smallest element over axes, or over all; NaN where there is one.
///
/// Source: array API standard, `min`.
///
/// # Errors
/// `Value` over no elements; `DType` for complex numbers; `Axis` for a bad axis.
pub fn min(x: &Array, axes: Option<&[i64]>, keepdims: bool) -> Result<Array> {
    extreme("min", Reduce::Min, x, axes, keepdims)
}

/// Largest element over axes, or over all; NaN where there is one.
///
/// Source: array API standard, `max`.
///
/// # Errors
/// `Value` over no elements; `DType` for complex numbers; `Axis` for a bad axis.
pub fn max(x: &Array, axes: Option<&[i64]>, keepdims: bool) -> Result<Array> {
    extreme("max", Reduce::Max, x, axes, keepdims)
}

fn position(
    op: &'static str,
    kind: Reduce,
    x: &Array,
    axis: Option<i64>,
    keepdims: bool,
) -> Result<Array> {
    let axes = args::mask(op, axis.as_ref().map(std::slice::from_ref), x.ndim())?;
    check_extreme(op, x, axes)?;
    run(op, kind, x, axes, keepdims)
}

/// Position (`int64`) of the first smallest element, or of the first NaN, along an axis; in the flattened
/// array where `axis` is `None`.
///
/// Source: array API standard, `argmin`.
///
/// # Errors
/// `Value` over no elements; `DType` for complex numbers; `Axis` for a bad axis.
pub fn argmin(x: &Array, axis: Option<i64>, keepdims: bool) -> Result<Array> {
    position("argmin", Reduce::ArgMin, x, axis, keepdims)
}

/// Position (`int64`) of the first largest element, or of the first NaN, along an axis; in the flattened
/// array where `axis` is `None`.
///
/// Source: array API standard, `argmax`.
///
/// # Errors
/// `Value` over no elements; `DType` for complex numbers; `Axis` for a bad axis.
pub fn argmax(x: &Array, axis: Option<i64>, keepdims: bool) -> Result<Array> {
    position("argmax", Reduce::ArgMax, x, axis, keepdims)
}

/// Whether any element over axes is nonzero (NaN is). The result over no elements is false.
///
/// Source: array API standard, `any`.
///
/// # Errors
/// `Axis` for an axis out of range or given twice.
pub fn any(x: &Array, axes: Option<&[i64]>, keepdims: bool) -> Result<Array> {
    let axes = args::mask("any", axes, x.ndim())?;
    run("any", Reduce::Any, &x.astype(DType::Bool)?, axes, keepdims)
}

/// Whether all elements over axes are nonzero (NaN is). The result over no elements is true.
///
/// Source: array API standard, `all`.
///
/// # Errors
/// `Axis` for an axis out of range or given twice.
pub fn all(x: &Array, axes: Option<&[i64]>, keepdims: bool) -> Result<Array> {
    let axes = args::mask("all", axes, x.ndim())?;
    run("all", Reduce::All, &x.astype(DType::Bool)?, axes, keepdims)
}

/// How many elements over axes are nonzero, in the default integer dtype.
///
/// Source: array API standard, `count_nonzero`.
///
/// # Errors
/// `Axis` for an axis out of range or given twice.
pub fn count_nonzero(x: &Array, axes: Option<&[i64]>, keepdims: bool) -> Result<Array> {
    let axes = args::mask("count_nonzero", axes, x.ndim())?;
    let ones = x.astype(DType::Bool)?.astype(x.context().default_int())?;
    run("count_nonzero", Reduce::Sum, &ones, axes, keepdims)
}

/// Elements to each result of a reduction.
fn count(x: &Array, axes: AxisMask) -> usize {
    let reduced = (0..x.ndim()).filter(|&a| axes.contains(a));
    args::count(reduced.map(|a| x.shape()[a]))
}

/// The dtypes of a floating-point statistic: of the result and of the computation.
fn statistic(x: &Array) -> (DType, DType) {
    let dtype = if x.dtype().is(Kinds::INEXACT) {
        x.dtype()
    } else {
        x.context().default_float()
    };
    (dtype, accumulator(dtype))
}

/// `sum / n`, with kept dimensions where asked; the dtype is `x`'s.
fn average(op: &'static str, x: &Array, axes: AxisMask, n: f64, keepdims: bool) -> Result<Array> {
    let sum = run(op, Reduce::Sum, x, axes, keepdims)?;
    ew::divide(&sum, n)
}

/// Arithmetic mean over axes, or over all. Integers give the default floating-point dtype; `float16`
/// is averaged in `float32`. The mean of no elements is NaN.
///
/// Source: array API standard, `mean`.
///
/// # Errors
/// `Axis` for an axis out of range or given twice.
pub fn mean(x: &Array, axes: Option<&[i64]>, keepdims: bool) -> Result<Array> {
    const OP: &str = "mean";
    let axes = args::mask(OP, axes, x.ndim())?;
    let (dtype, wide) = statistic(x);
    average(OP, &x.astype(wide)?, axes, count(x, axes) as f64, keepdims)?.astype(dtype)
}

/// Mean of the squared distances from the mean, divided by `n - correction`; NaN unless that is positive.
/// Computed in two passes; the result is real, dtypes else as for [`mean`].
///
/// Source: array API standard, `var`.
///
/// # Errors
/// `Axis` for an axis out of range or given twice.
pub fn var(x: &Array, axes: Option<&[i64]>, correction: f64, keepdims: bool) -> Result<Array> {
    variance("var", x, axes, correction, keepdims)
}

/// Square root of [`var`].
///
/// Source: array API standard, `std`.
///
/// # Errors
/// `Axis` for an axis out of range or given twice.
pub fn std(x: &Array, axes: Option<&[i64]>, correction: f64, keepdims: bool) -> Result<Array> {
    ew::sqrt(&variance("std", x, axes, correction, keepdims)?)
}

fn variance(
    op: &'static str,
    x: &Array,
    axes: Option<&[i64]>,
    correction: f64,
    keepdims: bool,
) -> Result<Array> {
    let axes = args::mask(op, axes, x.ndim())?;
    let (dtype, wide) = statistic(x);
    let n = count(x, axes) as f64;
    let freedom = n - correction;
    if freedom.is_nan() || freedom <= 0.0 {
        let shape: Dims = (0..x.ndim())
            .filter_map(|a| match (axes.contains(a), keepdims) {
                (false, _) => Some(x.shape()[a]),
                (true, true) => Some(1),
                (true, false) => None,
            })
            .collect();
        return graph::fill(
            x.context(),
            &shape,
            Scalar::from_f64(dtype.real(), f64::NAN),
        );
    }
    let x = x.astype(wide)?;
    let centred = ew::subtract(&x, &average(op, &x, axes, n, true)?)?;
    average(op, &squared_modulus(&centred)?, axes, freedom, keepdims)?.astype(dtype.real())
}

/// `|x|**2` in the real dtype, without the root that `abs` would take.
pub(crate) fn squared_modulus(x: &Array) -> Result<Array> {
    if x.dtype().is(Kinds::COMPLEX) {
        let (re, im) = (ew::real(x)?, ew::imag(x)?);
        ew::add(&ew::square(&re)?, &ew::square(&im)?)
    } else {
        ew::square(x)
    }
}

/// Sum of `x1 * x2` over one axis without widening, as products of vectors have it.
pub(crate) fn contraction(op: &'static str, x1: &Array, x2: &Array, axis: usize) -> Result<Array> {
    let product = ew::multiply(x1, x2)?;
    let values = product.astype(accumulator(product.dtype()))?;
    run(op, Reduce::Sum, &values, AxisMask::of([axis]), false)?.astype(product.dtype())
}

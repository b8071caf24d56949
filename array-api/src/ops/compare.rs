//! Comparisons beyond the table: bounds, nearness, equality of whole arrays.

use super::all;
use super::elementwise as ew;
use crate::promotion::{Weak, int_range, weak_scalar};
use crate::{Arg, Array};
use rustarr_interface::{DType, Error, Kinds, Result};

/// Each element limited to `min` and `max`: the composition `minimum(maximum(x, min), max)`, so that NaN
/// passes through and `max` wins where the bounds cross. Without bounds, a copy.
///
/// The result has `x`'s dtype where the bounds are of its kind (integers, floats): an integer bound beyond
/// the dtype then counts as its end. A float bound of an integer array promotes as NumPy does.
/// Source: array API standard, `clip`.
///
/// # Errors
/// `Overflow` for a Python `int` no element can reach; `DType` for complex numbers; `Shape` if the bounds
/// do not broadcast.
pub fn clip(x: &Array, min: Option<Arg<'_>>, max: Option<Arg<'_>>) -> Result<Array> {
    if !x.dtype().is(Kinds::ORDERED) {
        return Err(Error::dtype(
            "clip",
            format!("dtype {} has no order", x.dtype()),
        ));
    }
    let in_clip = |e: Error| e.in_op("clip");
    let mut out = None::<Array>;
    for (bound, lower) in [(min, true), (max, false)] {
        let Some(bound) = bound else { continue };
        let Some(bound) = fit(x.dtype(), bound, lower)? else {
            continue;
        };
        let value = out.as_ref().unwrap_or(x);
        out = Some(
            match (&bound, lower) {
                (Bound::Array(b), true) => ew::maximum(value, b),
                (Bound::Array(b), false) => ew::minimum(value, b),
                (Bound::Scalar(b), true) => ew::maximum(value, *b),
                (Bound::Scalar(b), false) => ew::minimum(value, *b),
            }
            .map_err(in_clip)?,
        );
    }
    match out {
        Some(out) => Ok(out),
        None => super::args::dense(x),
    }
}

enum Bound {
    Array(Array),
    Scalar(Weak),
}

/// A bound in the dtype it is compared in, or `None` where every element is within it.
fn fit(dtype: DType, bound: Arg<'_>, lower: bool) -> Result<Option<Bound>> {
    let range = int_range(dtype);
    match bound {
        Arg::Scalar(Weak::Int(v)) => {
            let free = range.is_some_and(|(low, high)| if lower { v <= low } else { v >= high });
            if free {
                return Ok(None);
            }
            weak_scalar("clip", Weak::Int(v), dtype)?;
            Ok(Some(Bound::Scalar(Weak::Int(v))))
        }
        // Beyond every integer dtype, on the one side or on the other.
        Arg::Scalar(Weak::HugeInt(v)) if range.is_some() && (v < 0.0) == lower => Ok(None),
        Arg::Scalar(w) => Ok(Some(Bound::Scalar(w))),
        Arg::Array(b) => Ok(Some(Bound::Array(match (range, int_range(b.dtype())) {
            (Some(to), Some(from)) if b.dtype() != dtype => {
                let mut b = b.clone();
                if from.0 < to.0 {
                    b = ew::maximum(&b, Weak::Int(to.0))?;
                }
                if from.1 > to.1 {
                    b = ew::minimum(&b, Weak::Int(to.1))?;
                }
                b.astype(dtype)?
            }
            _ if dtype.kind() == b.dtype().kind() => b.astype(dtype)?,
            _ => b.clone(),
        }))),
    }
}

/// Whether each pair of elements agrees within `atol + rtol * |b|`. Infinities agree with themselves; NaN
/// agrees with nothing, or with NaN where `equal_nan`.
///
/// As NumPy's `isclose`.
///
/// # Errors
/// `Shape` if the arrays do not broadcast.
pub fn isclose(a: &Array, b: &Array, rtol: f64, atol: f64, equal_nan: bool) -> Result<Array> {
    let float = |x: &Array| {
        if x.dtype().is(Kinds::INEXACT) {
            Ok(x.clone())
        } else {
            x.astype(x.context().default_float())
        }
    };
    let (fa, fb) = (float(a)?, float(b)?);
    let distance = ew::abs(&ew::subtract(&fa, &fb)?)?;
    let reach = ew::add(&ew::multiply(&ew::abs(&fb)?, rtol)?, atol)?;
    // An infinite bound would be near to everything.
    let near = ew::logical_and(&ew::less_equal(&distance, &reach)?, &ew::isfinite(&fb)?)?;
    let close = ew::logical_or(&near, &ew::equal(a, b)?)?;
    if !equal_nan {
        return Ok(close);
    }
    ew::logical_or(
        &close,
        &ew::logical_and(&ew::isnan(&fa)?, &ew::isnan(&fb)?)?,
    )
}

/// Whether [`isclose`] holds for all pairs.
///
/// As NumPy's `allclose`.
///
/// # Errors
/// `Shape` if the arrays do not broadcast.
pub fn allclose(a: &Array, b: &Array, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
    truth(&all(&isclose(a, b, rtol, atol, equal_nan)?, None, false)?)
}

/// Whether two arrays have one shape and equal elements.
///
/// As NumPy's `array_equal`.
///
/// # Errors
/// `Device` for arrays of different memory spaces.
pub fn array_equal(a: &Array, b: &Array) -> Result<bool> {
    Ok(a.shape() == b.shape() && truth(&all(&ew::equal(a, b)?, None, false)?)?)
}

/// Reads one truth value.
pub(crate) fn truth(x: &Array) -> Result<bool> {
    Ok(x.item()?.to_i128() != 0)
}

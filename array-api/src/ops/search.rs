//! Choosing and finding elements.

use super::args::single;
use super::elementwise as ew;
use super::take;
use crate::promotion::{Weak, result_type};
use crate::{Arg, Array, graph};
use rustarr_interface::{DType, Dims, Error, Result, Search, Verb};

/// The positions of nonzero elements in row-major order: one `int64` array per axis.
///
/// Source: array API standard, `nonzero`.
///
/// # Errors
/// `Shape` for an array without dimensions.
pub fn nonzero(x: &Array) -> Result<Vec<Array>> {
    if x.ndim() == 0 {
        return Err(Error::shape(
            "nonzero",
            "an array without dimensions has no axis to give positions on",
        ));
    }
    let positions = graph::compact(
        x.context(),
        "nonzero",
        &graph::cast("nonzero", x, DType::Bool)?,
    )?;
    coordinates(&positions, x.shape())
}

/// Row-major positions in a shape as one array of coordinates per axis.
pub(crate) fn coordinates(positions: &Array, shape: &[usize]) -> Result<Vec<Array>> {
    let mut rest = positions.clone();
    let mut out = Vec::with_capacity(shape.len());
    for &n in shape.iter().skip(1).rev() {
        let n = Weak::Int(n as i128);
        out.push(ew::remainder(&rest, n)?);
        rest = ew::floor_divide(&rest, n)?;
    }
    out.push(rest);
    out.reverse();
    Ok(out)
}

/// Where elements of `values` would be inserted into the sorted 1-D array `sorted` to keep it so: before
/// equal ones, or after them with `right`. `sorter` lists the positions that sort it. NaN goes last.
///
/// The result is `int64` in the shape of `values`, which may be a Python scalar.
/// Source: array API standard, `searchsorted`.
///
/// # Errors
/// `Shape` for an array that is not 1-D or a sorter of another length; `Index` for a bad sorter.
pub fn searchsorted<'a>(
    sorted: &Array,
    values: impl Into<Arg<'a>>,
    right: bool,
    sorter: Option<&Array>,
) -> Result<Array> {
    const OP: &str = "searchsorted";
    let values = values.into();
    if sorted.ndim() != 1 {
        return Err(Error::shape(
            OP,
            format!(
                "the sorted array must be 1-D, not of shape {:?}",
                sorted.shape()
            ),
        ));
    }
    let sorted = match sorter {
        None => sorted.clone(),
        Some(s) if s.shape() == sorted.shape() => {
            take(sorted, s, Some(0)).map_err(|e| e.in_op(OP))?
        }
        Some(s) => {
            return Err(Error::shape(
                OP,
                format!(
                    "a sorter of shape {:?} does not fit {:?}",
                    s.shape(),
                    sorted.shape()
                ),
            ));
        }
    };
    let dtype = result_type(OP, &[Arg::Array(&sorted), values])?;
    let sorted = sorted.astype(dtype)?;
    let values = match values {
        Arg::Array(x) => x.astype(dtype)?,
        Arg::Scalar(w) => {
            super::full(sorted.context(), &[], w, Some(dtype)).map_err(|e| e.in_op(OP))?
        }
    };
    let outputs = [(DType::I64, Dims::from_slice(values.shape()))];
    let search = Search { right };
    let inputs = [&sorted, &values];
    let ctx = super::args::meet(OP, &inputs)?;
    let run = graph::verb(&ctx, OP, Verb::Search, &inputs, &outputs, |b, i, o| {
        b.search(search, i[0], i[1], o[0])
    })?;
    Ok(single(run))
}

/// Whether each element of `x1` is among those of `x2`, or is not, with `invert`. NaN is among nothing.
///
/// Source: array API standard, `isin`.
///
/// # Errors
/// `Value` for two Python scalars.
pub fn isin<'a>(x1: impl Into<Arg<'a>>, x2: impl Into<Arg<'a>>, invert: bool) -> Result<Array> {
    const OP: &str = "isin";
    let (x1, x2) = (x1.into(), x2.into());
    let ctx = match (x1, x2) {
        (Arg::Array(x), _) | (_, Arg::Array(x)) => x.context().clone(),
        _ => return Err(Error::value(OP, "at least one array is required")),
    };
    let same = if invert { ew::not_equal } else { ew::equal };
    // A scalar on the right needs one comparison, an exact one also outside the dtype's range.
    if let (Arg::Array(x), Arg::Scalar(w)) = (x1, x2) {
        return same(Arg::Array(x), Arg::Scalar(w)).map_err(|e| e.in_op(OP));
    }
    let dtype = result_type(OP, &[x1, x2])?;
    let array = |arg: Arg<'a>| match arg {
        Arg::Array(x) => x.astype(dtype),
        Arg::Scalar(w) => super::full(&ctx, &[], w, Some(dtype)).map_err(|e| e.in_op(OP)),
    };
    let (x1, x2) = (array(x1)?, super::args::flat(&array(x2)?)?);
    let n = x2.size();
    if n == 0 {
        return super::full(&ctx, x1.shape(), invert, Some(DType::Bool));
    }
    let x2 = super::sort(&x2, 0, false, true)?;
    let at = searchsorted(&x2, &x1, false, None).map_err(|e| e.in_op(OP))?;
    let found = super::take(&x2, &ew::minimum(&at, Weak::Int(n as i128 - 1))?, Some(0))?;
    same(Arg::Array(&found), Arg::Array(&x1))
}

//! Cumulative operations and differences.

use super::args::{self, single};
use super::elementwise as ew;
use super::manipulation::join;
use super::reduce::{accumulator, widened};
use crate::promotion::common_dtype;
use crate::{Array, graph};
use rustarr_interface::{DType, Dims, Error, Kinds, Result, Scan, ScanKind, Verb};

fn cumulative(
    op: &'static str,
    kind: ScanKind,
    x: &Array,
    axis: Option<i64>,
    dtype: Option<DType>,
    include_initial: bool,
) -> Result<Array> {
    let axis = match axis {
        Some(axis) => args::axis(op, axis, x.ndim())?,
        None if x.ndim() == 1 => 0,
        None => {
            return Err(Error::axis(
                op,
                format!(
                    "an axis is required for an array of {} dimensions",
                    x.ndim()
                ),
            ));
        }
    };
    let dtype = dtype.unwrap_or_else(|| widened(x.dtype(), x.context().default_int()));
    let values = x.astype(accumulator(dtype))?;
    let outputs = [(values.dtype(), Dims::from_slice(x.shape()))];
    let scan = Scan { kind, axis };
    let scanned = single(graph::verb(
        x.context(),
        op,
        Verb::Scan,
        &[&values],
        &outputs,
        |b, i, o| b.scan(scan, i[0], o[0]),
    )?)
    .astype(dtype)?;
    if !include_initial {
        return Ok(scanned);
    }
    let mut shape = Dims::from_slice(x.shape());
    shape[axis] = 1;
    let identity = match kind {
        ScanKind::Sum => args::zero(dtype),
        ScanKind::Prod => args::one(dtype),
    };
    join(
        op,
        &[graph::fill(x.context(), &shape, identity)?, scanned],
        axis,
        dtype,
    )
}

/// Sums of the elements up to each one along an axis, which may be left out for 1-D arrays; with
/// `include_initial` a 0 comes first. Dtypes as for [`sum`](super::sum).
///
/// Source: array API standard, `cumulative_sum`.
///
/// # Errors
/// `Axis` for a bad or missing axis.
pub fn cumulative_sum(
    x: &Array,
    axis: Option<i64>,
    dtype: Option<DType>,
    include_initial: bool,
) -> Result<Array> {
    cumulative(
        "cumulative_sum",
        ScanKind::Sum,
        x,
        axis,
        dtype,
        include_initial,
    )
}

/// Products of the elements up to each one along an axis, which may be left out for 1-D arrays; with
/// `include_initial` a 1 comes first. Dtypes as for [`sum`](super::sum).
///
/// Source: array API standard, `cumulative_prod`.
///
/// # Errors
/// `Axis` for a bad or missing axis.
pub fn cumulative_prod(
    x: &Array,
    axis: Option<i64>,
    dtype: Option<DType>,
    include_initial: bool,
) -> Result<Array> {
    cumulative(
        "cumulative_prod",
        ScanKind::Prod,
        x,
        axis,
        dtype,
        include_initial,
    )
}

/// The `n`-th difference of neighbours along an axis, after joining `prepend` and `append` to it; for
/// `n = 0` the array itself, as in NumPy. `bool` gives whether neighbours differ.
///
/// Source: array API standard, `diff`.
///
/// # Errors
/// `Axis` for a bad axis; `Shape` if the arrays do not fit together.
pub fn diff(
    x: &Array,
    axis: i64,
    n: usize,
    prepend: Option<&Array>,
    append: Option<&Array>,
) -> Result<Array> {
    const OP: &str = "diff";
    let axis = args::axis(OP, axis, x.ndim())?;
    if n == 0 {
        return args::dense(x);
    }
    let parts: Vec<&Array> = prepend.into_iter().chain([x]).chain(append).collect();
    let mut out = if parts.len() > 1 {
        common_dtype(OP, parts.iter().map(|p| p.dtype()), [], DType::F64)?;
        super::concat(&parts, Some(axis as i64)).map_err(|e| e.in_op(OP))?
    } else {
        x.clone()
    };
    // Differences of nothing are nothing, as often as one likes.
    for _ in 0..n.min(out.shape()[axis].max(1)) {
        let len = out.shape()[axis].saturating_sub(1);
        let upper = out.view(out.layout().slice(axis, 1, 1, len));
        let lower = out.view(out.layout().slice(axis, 0, 1, len));
        out = if out.dtype().is(Kinds::BOOL) {
            ew::not_equal(&upper, &lower)?
        } else {
            ew::subtract(&upper, &lower)?
        };
    }
    Ok(out)
}

//! Sorting, and the sets that come of it.

use super::args::{self, flat, single};
use super::elementwise as ew;
use super::manipulation::join;
use super::take;
use crate::promotion::Weak;
use crate::{Array, graph};
use rustarr_interface::{DType, Dims, Result, Sort, Verb};

fn sorted(op: &'static str, x: &Array, axis: i64, descending: bool, arg: bool) -> Result<Array> {
    let axis = args::axis(op, axis, x.ndim())?;
    let dtype = if arg { DType::I64 } else { x.dtype() };
    let sort = Sort {
        axis,
        descending,
        arg,
    };
    let outputs = [(dtype, Dims::from_slice(x.shape()))];
    let run = graph::verb(x.context(), op, Verb::Sort, &[x], &outputs, |b, i, o| {
        b.sort(sort, i[0], o[0])
    })?;
    Ok(single(run))
}

/// The elements in rising (or falling) order along an axis. NaN comes last in both; complex numbers are
/// ordered by real, then imaginary part, as in NumPy. The sort is stable whether or not `stable` asks.
///
/// Source: array API standard, `sort`.
///
/// # Errors
/// `Axis` for an axis out of range.
pub fn sort(x: &Array, axis: i64, descending: bool, _stable: bool) -> Result<Array> {
    sorted("sort", x, axis, descending, false)
}

/// The positions (`int64`) that sort an array along an axis; equal elements keep their order. NaN comes last.
///
/// Source: array API standard, `argsort`.
///
/// # Errors
/// `Axis` for an axis out of range.
pub fn argsort(x: &Array, axis: i64, descending: bool, _stable: bool) -> Result<Array> {
    sorted("argsort", x, axis, descending, true)
}

/// What is known about an array's distinct elements.
#[derive(Clone)]
pub struct Unique {
    /// The distinct elements in rising order.
    pub values: Array,
    /// Where each occurs first in the flattened array.
    pub indices: Array,
    /// For each element of the array, in its shape, the position of its value in `values`.
    pub inverse: Array,
    /// How often each occurs.
    pub counts: Array,
}

/// An array sorted into runs of equal elements. Comparison makes each NaN a run of its own and -0 and 0 one.
struct Runs {
    order: Array,
    values: Array,
    first: Array,
    starts: Array,
}

impl Runs {
    fn of(op: &'static str, x: &Array) -> Result<Runs> {
        let x = flat(x)?;
        let n = x.size();
        let order = sorted(op, &x, 0, false, true)?;
        let values = take(&x, &order, Some(0))?;
        let upper = values.view(values.layout().slice(0, 1.min(n), 1, n.saturating_sub(1)));
        let lower = values.view(values.layout().slice(0, 0, 1, n.saturating_sub(1)));
        let one = graph::fill(x.context(), &[n.min(1)], args::one(DType::Bool))?;
        let first = join(op, &[one, ew::not_equal(&upper, &lower)?], 0, DType::Bool)?;
        let starts = graph::compact(x.context(), op, &first)?;
        Ok(Runs {
            order,
            values,
            first,
            starts,
        })
    }

    fn distinct(&self) -> Result<Array> {
        take(&self.values, &self.starts, Some(0))
    }

    fn counts(&self, op: &'static str) -> Result<Array> {
        let end = Weak::Int(self.order.size() as i128);
        let end = super::full(self.order.context(), &[1], end, Some(DType::I64))?;
        let m = self.starts.size();
        let bounds = join(op, &[self.starts.clone(), end], 0, DType::I64)?;
        let upper = bounds.view(bounds.layout().slice(0, 1, 1, m));
        ew::subtract(&upper, &bounds.view(bounds.layout().slice(0, 0, 1, m)))
    }

    fn inverse(&self, op: &'static str, shape: &[usize]) -> Result<Array> {
        let runs = super::cumulative_sum(&self.first, Some(0), Some(DType::I64), false)?;
        let ranks = ew::subtract(&runs, Weak::Int(1))?;
        let out = graph::empty(
            "unique_inverse",
            ranks.context(),
            DType::I64,
            &[ranks.size()],
        )?;
        graph::scatter(op, &out, std::slice::from_ref(&self.order), &ranks)?;
        args::reshaped(&out, shape)
    }
}

/// The distinct elements of an array, their first positions in the flattened array, how to rebuild the
/// array from them and how often each occurs. Values are sorted; every NaN is distinct, -0 and 0 are one.
///
/// Source: array API standard, `unique_all`.
///
/// # Errors
/// Only those of the memory.
pub fn unique_all(x: &Array) -> Result<Unique> {
    const OP: &str = "unique_all";
    let runs = Runs::of(OP, x)?;
    Ok(Unique {
        values: runs.distinct()?,
        indices: take(&runs.order, &runs.starts, Some(0))?,
        inverse: runs.inverse(OP, x.shape())?,
        counts: runs.counts(OP)?,
    })
}

/// The distinct elements, sorted, and how often each occurs.
///
/// Source: array API standard, `unique_counts`.
///
/// # Errors
/// Only those of the memory.
pub fn unique_counts(x: &Array) -> Result<(Array, Array)> {
    const OP: &str = "unique_counts";
    let runs = Runs::of(OP, x)?;
    Ok((runs.distinct()?, runs.counts(OP)?))
}

/// The distinct elements, sorted, and for each element of the array the position of its value among them.
///
/// Source: array API standard, `unique_inverse`.
///
/// # Errors
/// Only those of the memory.
pub fn unique_inverse(x: &Array) -> Result<(Array, Array)> {
    const OP: &str = "unique_inverse";
    let runs = Runs::of(OP, x)?;
    Ok((runs.distinct()?, runs.inverse(OP, x.shape())?))
}

/// The distinct elements, sorted; every NaN is distinct, -0 and 0 are one.
///
/// Source: array API standard, `unique_values`.
///
/// # Errors
/// Only those of the memory.
pub fn unique_values(x: &Array) -> Result<Array> {
    Runs::of("unique_values", x)?.distinct()
}

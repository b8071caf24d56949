//! Reductions by name.

use crate::oracle::array::{Fold, groups};
use crate::oracle::value::Value;
use rustarr::{Array, Result, ops};
use rustarr_interface::{DType, Kinds};

/// The reduction of `x` over `axes`.
///
/// # Errors
/// Those of the reduction.
pub fn reduce(fold: Fold, x: &Array, axes: &[usize], keepdims: bool) -> Result<Array> {
    let list: Vec<i64> = axes.iter().map(|&a| a as i64).collect();
    let axes = (axes.len() < x.ndim()).then_some(&list[..]);
    let axis = axes.and(list.first().copied());
    match fold {
        Fold::Sum => ops::sum(x, axes, None, keepdims),
        Fold::Prod => ops::prod(x, axes, None, keepdims),
        Fold::Min => ops::min(x, axes, keepdims),
        Fold::Max => ops::max(x, axes, keepdims),
        Fold::Any => ops::any(x, axes, keepdims),
        Fold::All => ops::all(x, axes, keepdims),
        Fold::CountNonzero => ops::count_nonzero(x, axes, keepdims),
        Fold::ArgMin => ops::argmin(x, axis, keepdims),
        Fold::ArgMax => ops::argmax(x, axis, keepdims),
    }
}

/// Whether the reduction takes the dtype and these axes.
pub fn is_legal(fold: Fold, dtype: DType, ndim: usize, axes: &[usize]) -> bool {
    let position = matches!(fold, Fold::ArgMin | Fold::ArgMax);
    let ordered = dtype.is(Kinds::ORDERED) || !fold.needs_elements();
    // Positions are along one axis or over all.
    ordered && (!position || axes.len() == 1 || axes.len() == ndim)
}

/// What is accepted for each element of the reduction of row-major `values`.
pub fn expected(
    fold: Fold,
    dtype: DType,
    shape: &[usize],
    axes: &[usize],
    values: &[Value],
) -> Vec<Value> {
    let (_, groups) = groups(shape, axes);
    let items = groups
        .iter()
        .map(|group| group.iter().map(|&i| values[i]).collect::<Vec<_>>());
    items.map(|items| fold.over(dtype, &items)).collect()
}

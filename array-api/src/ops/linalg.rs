//! Linear algebra: products, norms and what follows from them. Factorisations are in
//! `decompose`.

use super::args::{self, Axes, single};
use super::elementwise as ew;
use super::reduce::{accumulator, contraction, squared_modulus};
use crate::promotion::{Weak, promote};
use crate::{Array, graph};
use rustarr_interface::{DType, Dims, Error, Kinds, Result, Verb, broadcast_shapes};
use smallvec::SmallVec;

pub use super::decompose::*;
pub use super::manipulation::matrix_transpose;

type SignedAxes = SmallVec<[i64; 4]>;

/// Checks that an array is a matrix or a batch of them.
pub(crate) fn matrices(op: &'static str, x: &Array) -> Result<(usize, usize)> {
    match x.shape() {
        [.., m, n] => Ok((*m, *n)),
        shape => Err(Error::shape(
            op,
            format!("an array of shape {shape:?} is not a matrix"),
        )),
    }
}

/// Matrix product. 1-D operands count as a row on the left and as a column on the right, and lose that axis
/// again; leading axes are a batch and broadcast. The dtype is the common one, in which products are summed
/// (`float16` in `float32`, `bool` as or of ands).
///
/// Source: array API standard, `matmul`.
///
/// # Errors
/// `Shape` for an operand without dimensions or sizes that do not fit.
pub fn matmul(x1: &Array, x2: &Array) -> Result<Array> {
    product("matmul", x1, x2)
}

fn product(op: &'static str, x1: &Array, x2: &Array) -> Result<Array> {
    let fail = || {
        Error::shape(
            op,
            format!(
                "shapes {:?} and {:?} do not fit for a matrix product",
                x1.shape(),
                x2.shape()
            ),
        )
    };
    if x1.ndim() == 0 || x2.ndim() == 0 {
        return Err(fail());
    }
    let dtype = promote(x1.dtype(), x2.dtype());
    let compute = match dtype {
        DType::Bool => DType::I64,
        d => accumulator(d),
    };
    let (a, b) = (x1.astype(compute)?, x2.astype(compute)?);
    let (row, column) = (a.ndim() == 1, b.ndim() == 1);
    let a = if row {
        a.view(a.layout().insert_axis(0))
    } else {
        a
    };
    let b = if column {
        b.view(b.layout().insert_axis(1))
    } else {
        b
    };
    let (ba, [m, k]) = split(a.shape());
    let (bb, [k2, n]) = split(b.shape());
    if k != k2 {
        return Err(fail());
    }
    let batch = broadcast_shapes(op, &[ba, bb]).map_err(|_| fail())?;
    let wide = |x: &Array, r: usize, c: usize| -> Result<Array> {
        let mut shape = batch.clone();
        shape.extend([r, c]);
        Ok(x.view(x.layout().broadcast_to(&shape)?))
    };
    let (a, b) = (wide(&a, m, k)?, wide(&b, k, n)?);
    let mut shape = batch.clone();
    shape.extend([m, n]);
    args::check_shape(op, &shape, compute)?;
    let ctx = args::meet(op, &[&a, &b])?;
    let outputs = [(compute, shape)];
    let out = single(graph::verb(
        &ctx,
        op,
        Verb::Matmul,
        &[&a, &b],
        &outputs,
        |backend, i, o| backend.matmul(i[0], i[1], o[0]),
    )?);
    let mut layout = out.layout().clone();
    if column {
        layout = layout.select(layout.ndim() - 1, 0);
    }
    if row {
        layout = layout.select(layout.ndim() - 1 - !column as usize, 0);
    }
    out.view(layout).astype(dtype)
}

fn split(shape: &[usize]) -> (&[usize], [usize; 2]) {
    let (batch, last) = shape.split_at(shape.len() - 2);
    (batch, [last[0], last[1]])
}

/// Sums of `conj(x1) * x2` along one axis, counted from the end; the other axes broadcast.
///
/// Source: array API standard, `vecdot`.
///
/// # Errors
/// `Axis` for an axis that one of the arrays lacks; `Shape` for sizes that differ along it.
pub fn vecdot(x1: &Array, x2: &Array, axis: i64) -> Result<Array> {
    const OP: &str = "vecdot";
    let least = x1.ndim().min(x2.ndim());
    // Axes are matched from the end, so a non-negative one only makes sense for equal dimensions.
    let back = match axis {
        a if a < 0 => least - args::axis(OP, a, least)?,
        a if x1.ndim() == x2.ndim() => least - args::axis(OP, a, least)?,
        a => {
            return Err(Error::axis(
                OP,
                format!(
                    "axis {a} must be negative for arrays of {} and {} dimensions",
                    x1.ndim(),
                    x2.ndim()
                ),
            ));
        }
    };
    let size = |x: &Array| x.shape()[x.ndim() - back];
    if size(x1) != size(x2) {
        return Err(Error::shape(
            OP,
            format!(
                "shapes {:?} and {:?} differ in length along axis {axis}",
                x1.shape(),
                x2.shape()
            ),
        ));
    }
    let left = if x1.dtype().is(Kinds::COMPLEX) {
        ew::conj(x1)?
    } else {
        x1.clone()
    };
    contraction(OP, &left, x2, x1.ndim().max(x2.ndim()) - back)
}

/// Sums of products over axes of `x1` and of `x2`, paired in the order given; the other axes of `x1` come first.
///
/// Source: array API standard, `tensordot`.
///
/// # Errors
/// `Axis` for a bad axis; `Shape` for sizes that differ.
pub fn tensordot(x1: &Array, x2: &Array, axes1: &[i64], axes2: &[i64]) -> Result<Array> {
    const OP: &str = "tensordot";
    let (a1, a2) = (
        args::axes(OP, axes1, x1.ndim())?,
        args::axes(OP, axes2, x2.ndim())?,
    );
    let sizes = |x: &Array, axes: &Axes| -> Dims { axes.iter().map(|&a| x.shape()[a]).collect() };
    let summed = sizes(x1, &a1);
    if summed != sizes(x2, &a2) {
        return Err(Error::shape(
            OP,
            format!(
                "axes {axes1:?} of shape {:?} and {axes2:?} of shape {:?} differ in size",
                x1.shape(),
                x2.shape()
            ),
        ));
    }
    let free =
        |x: &Array, axes: &Axes| -> Axes { (0..x.ndim()).filter(|a| !axes.contains(a)).collect() };
    let (f1, f2) = (free(x1, &a1), free(x2, &a2));
    let order = |x: &Array, axes: Axes| x.view(x.layout().permute(&axes));
    let left = order(x1, f1.iter().chain(&a1).copied().collect());
    let right = order(x2, a2.iter().chain(&f2).copied().collect());
    let k = args::count(summed);
    let (s1, s2) = (sizes(x1, &f1), sizes(x2, &f2));
    let left = args::reshaped(&left, &[args::count(s1.iter().copied()), k])?;
    let right = args::reshaped(&right, &[k, args::count(s2.iter().copied())])?;
    let shape: Dims = s1.into_iter().chain(s2).collect();
    args::check_ndim(OP, shape.len())?;
    args::reshaped(&product(OP, &left, &right)?, &shape)
}

/// As [`tensordot`] over the last `n` axes of `x1` and the first `n` of `x2`.
///
/// Source: array API standard, `tensordot` with an integer.
///
/// # Errors
/// `Axis` for more axes than there are; `Shape` for sizes that differ.
pub fn tensordot_last(x1: &Array, x2: &Array, n: usize) -> Result<Array> {
    if n > x1.ndim().min(x2.ndim()) {
        return Err(Error::axis(
            "tensordot",
            format!(
                "{n} axes are more than arrays of shape {:?} and {:?} share",
                x1.shape(),
                x2.shape()
            ),
        ));
    }
    let n = n as i64;
    let last: SignedAxes = (-n..0).collect();
    let first: SignedAxes = (0..n).collect();
    tensordot(x1, x2, &last, &first)
}

/// All products of an element of `x1` with one of `x2`, both 1-D.
///
/// Source: array API standard, `linalg.outer`.
///
/// # Errors
/// `Shape` for an operand that is not 1-D.
pub fn outer(x1: &Array, x2: &Array) -> Result<Array> {
    if let Some(x) = [x1, x2].into_iter().find(|x| x.ndim() != 1) {
        return Err(Error::shape(
            "outer",
            format!("an array of shape {:?} is not 1-D", x.shape()),
        ));
    }
    ew::multiply(&x1.view(x1.layout().insert_axis(1)), x2)
}

/// NumPy's `dot`: a product with a 0-d array, the inner product of 1-D arrays (without conjugation), the matrix
/// product of 2-D arrays, else sums over the last axis of `x1` and the second-last (or only) one of `x2`.
///
/// # Errors
/// `Shape` for sizes that do not fit.
pub fn dot(x1: &Array, x2: &Array) -> Result<Array> {
    match (x1.ndim(), x2.ndim()) {
        (0, _) | (_, 0) => ew::multiply(x1, x2).map_err(|e| e.in_op("dot")),
        (1, 1) | (2, 2) | (_, 1) => product("dot", x1, x2),
        _ => tensordot(x1, x2, &[-1], &[-2]).map_err(|e| e.in_op("dot")),
    }
}

/// The diagonals of matrices, above the main one for a positive `offset`; a view.
///
/// Source: array API standard, `linalg.diagonal`.
///
/// # Errors
/// `Shape` for fewer than two dimensions.
pub fn diagonal(x: &Array, offset: i64) -> Result<Array> {
    let (m, n) = matrices("diagonal", x)?;
    let offset = offset.clamp(-(m as i64), n as i64) as isize;
    Ok(x.view(x.layout().diagonal(offset, x.ndim() - 2, x.ndim() - 1)))
}

/// Sums of the diagonals of matrices; dtypes as for [`sum`](super::sum).
///
/// Source: array API standard, `linalg.trace`.
///
/// # Errors
/// `Shape` for fewer than two dimensions.
pub fn trace(x: &Array, offset: i64, dtype: Option<DType>) -> Result<Array> {
    let diagonal = diagonal(x, offset).map_err(|e| e.in_op("trace"))?;
    super::sum(&diagonal, Some(&[-1]), dtype, false)
}

/// Cross products of vectors of three components along one axis, counted from the end; the other axes broadcast.
///
/// Source: array API standard, `linalg.cross`.
///
/// # Errors
/// `Shape` if there are not three components or the arrays do not broadcast; `Axis` for a bad axis.
pub fn cross(x1: &Array, x2: &Array, axis: i64) -> Result<Array> {
    const OP: &str = "cross";
    let shape = broadcast_shapes(OP, &[x1.shape(), x2.shape()])?;
    let least = x1.ndim().min(x2.ndim());
    let back = if axis < 0 || x1.ndim() == x2.ndim() {
        least - args::axis(OP, axis, least)?
    } else {
        return Err(Error::axis(
            OP,
            format!("axis {axis} must be negative for arrays of different dimensions"),
        ));
    };
    if [x1, x2].iter().any(|x| x.shape()[x.ndim() - back] != 3) {
        return Err(Error::shape(
            OP,
            format!(
                "shapes {:?} and {:?} do not have 3 components along axis {axis}",
                x1.shape(),
                x2.shape()
            ),
        ));
    }
    let part = |x: &Array, i: usize| x.view(x.layout().select(x.ndim() - back, i % 3));
    let parts = (0..3)
        .map(|i| {
            let plus = ew::multiply(&part(x1, i + 1), &part(x2, i + 2))?;
            ew::subtract(&plus, &ew::multiply(&part(x1, i + 2), &part(x2, i + 1))?)
        })
        .collect::<Result<Vec<_>>>()?;
    let parts: Vec<&Array> = parts.iter().collect();
    super::stack(&parts, (shape.len() - back) as i64)
}

/// The order of a norm.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NormOrder {
    /// Root of the sum of squares.
    Frobenius,
    /// Sum of the singular values.
    Nuclear,
    /// A number; infinities are extremes.
    P(f64),
}

/// The input of a norm: floating-point, real numbers of integers in the default dtype.
fn inexact(x: &Array) -> Result<Array> {
    if x.dtype().is(Kinds::INEXACT) {
        Ok(x.clone())
    } else {
        x.astype(x.context().default_float())
    }
}

/// Norms of vectors along axes, which count as one vector together; over all elements where `axes` is `None`.
/// The order is any number: 0 counts what is not zero, infinities give extremes.
///
/// Source: array API standard, `linalg.vector_norm`.
///
/// # Errors
/// `Axis` for a bad axis; `Value` for an extreme of no elements.
pub fn vector_norm(x: &Array, axes: Option<&[i64]>, keepdims: bool, ord: f64) -> Result<Array> {
    vector("vector_norm", &inexact(x)?, axes, keepdims, ord)
}

fn vector(
    op: &'static str,
    x: &Array,
    axes: Option<&[i64]>,
    keepdims: bool,
    ord: f64,
) -> Result<Array> {
    let dtype = x.dtype().real();
    let sum = |v: &Array| super::sum(&v.astype(accumulator(v.dtype()))?, axes, None, keepdims);
    let out = if ord == f64::INFINITY {
        super::max(&ew::abs(x)?, axes, keepdims)
    } else if ord == f64::NEG_INFINITY {
        super::min(&ew::abs(x)?, axes, keepdims)
    } else if ord == 0.0 {
        sum(&ew::not_equal(x, Weak::Int(0))?.astype(dtype)?)
    } else if ord == 1.0 {
        sum(&ew::abs(x)?)
    } else if ord == 2.0 {
        let wide = x.astype(accumulator(x.dtype()))?;
        ew::sqrt(&super::sum(&squared_modulus(&wide)?, axes, None, keepdims)?)
    } else {
        let powers = ew::pow(&ew::abs(x)?.astype(accumulator(dtype))?, ord)?;
        ew::pow(&super::sum(&powers, axes, None, keepdims)?, 1.0 / ord)
    };
    out.map_err(|e| e.in_op(op))?.astype(dtype)
}

/// Norms of matrices: `Frobenius`, `Nuclear`, 1 and infinity (largest column and row sum of moduli), 2 (largest
/// singular value); negative orders take the smallest.
///
/// Source: array API standard, `linalg.matrix_norm`.
///
/// # Errors
/// `Shape` for fewer than two dimensions; `Value` for another order, or an extreme of no elements.
pub fn matrix_norm(x: &Array, keepdims: bool, ord: NormOrder) -> Result<Array> {
    matrix("matrix_norm", &inexact(x)?, keepdims, ord)
}

fn matrix(op: &'static str, x: &Array, keepdims: bool, ord: NormOrder) -> Result<Array> {
    matrices(op, x)?;
    let sums = |axis: i64| vector(op, x, Some(&[axis]), true, 1.0);
    let values = || -> Result<Array> {
        let s = svdvals(x).map_err(|e| e.in_op(op))?;
        Ok(s.view(s.layout().insert_axis(s.ndim())))
    };
    let p = match ord {
        NormOrder::Frobenius => return vector(op, x, Some(&[-2, -1]), keepdims, 2.0),
        NormOrder::Nuclear => f64::NAN,
        NormOrder::P(p) => p,
    };
    // Every value that the last step chooses from or sums is a row or column of length 1 by now.
    let parts = match p.abs() {
        1.0 => sums(-2)?,
        f64::INFINITY => sums(-1)?,
        2.0 => values()?,
        _ if ord == NormOrder::Nuclear => values()?,
        _ => {
            return Err(Error::value(
                op,
                format!("{p} is not an order of a matrix norm; see the documentation"),
            ));
        }
    };
    let axes = Some(&[-2, -1][..]);
    let out = if ord == NormOrder::Nuclear {
        super::sum(&parts, axes, None, keepdims)
    } else if p > 0.0 {
        super::max(&parts, axes, keepdims)
    } else {
        super::min(&parts, axes, keepdims)
    };
    out.map_err(|e| e.in_op(op))
}

/// NumPy's `linalg.norm`: of vectors along one axis, of matrices over two, and without axes of the array as it is, which
/// counts as one vector where no order is given. The order is 2, or Frobenius, where left out.
///
/// # Errors
/// `Value` for an order or a number of axes that has no norm; `Axis`, `Shape` as for the norms themselves.
pub fn norm(
    x: &Array,
    ord: Option<NormOrder>,
    axes: Option<&[i64]>,
    keepdims: bool,
) -> Result<Array> {
    const OP: &str = "norm";
    let x = inexact(x)?;
    let all: SignedAxes = (0..x.ndim() as i64).collect();
    let axes = match (axes, ord) {
        (Some(axes), _) => axes,
        (None, None) => return vector(OP, &x, None, keepdims, 2.0),
        (None, Some(_)) => &all,
    };
    match (axes, ord) {
        ([_], None) => vector(OP, &x, Some(axes), keepdims, 2.0),
        ([_], Some(NormOrder::P(p))) => vector(OP, &x, Some(axes), keepdims, p),
        ([rows, columns], ord) => {
            let at = args::axes(OP, axes, x.ndim())?;
            let moved = super::moveaxis(&x, &[*rows, *columns], &[-2, -1])?;
            let out = matrix(OP, &moved, false, ord.unwrap_or(NormOrder::Frobenius))?;
            if !keepdims {
                return Ok(out);
            }
            let kept: SignedAxes = at.iter().map(|&a| a as i64).collect();
            super::expand_dims(&out, &kept)
        }
        _ => Err(Error::value(
            OP,
            format!("no norm of order {ord:?} over axes {axes:?}"),
        )),
    }
}

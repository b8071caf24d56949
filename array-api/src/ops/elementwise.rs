//! Elementwise functions, all made from the operation table.
//!
//! Source: array API standard 2025.12, "Element-wise functions".

use crate::array::{Array, mixed_spaces};
use crate::context::{self, Context};
use crate::graph::{self, In};
use crate::promotion::{Arg, common_dtype, constant_comparison, exact_float, weak_scalar};
use rustarr_interface::{
    AxisMask, Bool, DType, Dims, Error, Kinds, Layout, Op, Promote, Reduce, Result, Scalar,
    broadcast_shapes,
};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The context in which arrays of `args` meet: the common one; among CPU contexts the thread's current
/// one if it shares their memory, else the first operand's.
///
/// # Errors
/// `Device` for arrays of different memory spaces; `Value` without any array.
pub(crate) fn common_context(op: &'static str, args: &[Arg<'_>]) -> Result<Context> {
    let mut arrays = args.iter().filter_map(|a| match a {
        Arg::Array(x) => Some(*x),
        Arg::Scalar(_) => None,
    });
    let Some(first) = arrays.next() else {
        return Err(Error::value(op, "at least one argument has to be an array"));
    };
    let mut mixed = false;
    for other in arrays {
        if other.context().space() != first.context().space() {
            return Err(mixed_spaces(op, first, other));
        }
        mixed |= other.context() != first.context();
    }
    if mixed
        && let Some(current) = context::current()
        && current.space() == first.context().space()
    {
        return Ok(current);
    }
    Ok(first.context().clone())
}

/// Applies an operation of the table to arrays and Python scalars, with promotion and broadcasting.
///
/// # Errors
/// `DType`, `Shape`, `Overflow` (a Python integer out of range), `Device`; for `pow` of integers `Value` if an exponent is
/// negative.
pub fn apply(op: Op, args: &[Arg<'_>]) -> Result<Array> {
    let name = op.name();
    let ctx = common_context(name, args)?;
    if let Some(answer) = compare_across_signs(op, args) {
        return answer.map_err(|e| e.in_op(name));
    }
    let compute = compute_dtype(op, args, ctx.default_float())?;
    let shape = common_shape(name, args)?;
    if let Some(answer) = scalar_comparison(op, compute, args) {
        return graph::fill(&ctx, &shape, Scalar::new(Bool::from(answer)));
    }
    let mut ins: SmallVec<[In<'_>; 3]> = SmallVec::new();
    for (i, arg) in args.iter().enumerate() {
        let condition = op == Op::Select && i == 0;
        ins.push(match arg {
            Arg::Array(x) if condition && x.dtype() != DType::Bool => {
                return Err(Error::dtype(
                    name,
                    format!("the condition has dtype {}, not bool", x.dtype()),
                ));
            }
            Arg::Array(x) => In::Array(x, broadcast(x, &shape)?),
            Arg::Scalar(s) => In::Scalar(weak_scalar(
                name,
                *s,
                if condition { DType::Bool } else { compute },
            )?),
        });
    }
    if op == Op::Pow && compute.is(Kinds::SIGNED) && !shape.contains(&0) {
        check_exponents(&args[1])?;
    }
    graph::apply(&ctx, op, compute, shape, &ins)
}

/// The dtype that the operands are converted to before the operation.
fn compute_dtype(op: Op, args: &[Arg<'_>], default_float: DType) -> Result<DType> {
    let row = op.info();
    let operands = if op == Op::Select { &args[1..] } else { args };
    let dtypes = operands.iter().filter_map(|a| match a {
        Arg::Array(x) => Some(x.dtype()),
        Arg::Scalar(_) => None,
    });
    let scalars = operands.iter().filter_map(|a| match a {
        Arg::Array(_) => None,
        Arg::Scalar(s) => Some(*s),
    });
    let common = common_dtype(row.name, dtypes.clone(), scalars.clone(), default_float)?;
    if common.is(Kinds::INEXACT) {
        return Ok(common);
    }
    // Integers meet a device without float64 in the float that it has.
    Ok(match row.promote {
        Promote::Float => {
            // Each integer becomes the float that it needs; the integer that they share may need a wider one.
            let floats = dtypes.map(|d| if d == DType::Bool { d } else { exact_float(d) });
            exact_float(common_dtype(row.name, floats, scalars, default_float)?).min(default_float)
        }
        Promote::Divide => default_float,
        // As in NumPy, booleans count as int8 where an operation takes integers only.
        Promote::Same if common == DType::Bool && bool_is_int8(op) => DType::I8,
        Promote::Same => common,
    })
}

fn bool_is_int8(op: Op) -> bool {
    let kinds = op.info().kinds;
    let refused = matches!(op, Op::Subtract | Op::Negative | Op::Positive | Op::Sign);
    kinds.contains(Kinds::INT) && !kinds.contains(Kinds::BOOL) && !refused
}

/// The answer of a comparison with a Python integer that the dtype cannot hold.
fn scalar_comparison(op: Op, compute: DType, args: &[Arg<'_>]) -> Option<bool> {
    match args {
        [Arg::Array(_), Arg::Scalar(s)] => constant_comparison(op, compute, *s, false),
        [Arg::Scalar(s), Arg::Array(_)] => constant_comparison(op, compute, *s, true),
        _ => None,
    }
}

/// A comparison of `uint64` with a signed dtype, exact as in NumPy: the `float64` that they share is not.
fn compare_across_signs(op: Op, args: &[Arg<'_>]) -> Option<Result<Array>> {
    let &[Arg::Array(x), Arg::Array(y)] = args else {
        return None;
    };
    let mirrored = match op {
        Op::Equal | Op::NotEqual => op,
        Op::Less => Op::Greater,
        Op::LessEqual => Op::GreaterEqual,
        Op::Greater => Op::Less,
        Op::GreaterEqual => Op::LessEqual,
        _ => return None,
    };
    let is_signed = |x: &Array| x.dtype().is(Kinds::SIGNED);
    let (signed, unsigned, op) = if is_signed(x) && y.dtype() == DType::U64 {
        (x, y, op)
    } else if is_signed(y) && x.dtype() == DType::U64 {
        (y, x, mirrored)
    } else {
        return None;
    };
    // What is not negative is compared as uint64.
    let compare = || {
        let negative = less(signed, 0i64)?;
        let as_unsigned = apply(op, &[(&signed.astype(DType::U64)?).into(), unsigned.into()])?;
        if matches!(op, Op::NotEqual | Op::Less | Op::LessEqual) {
            logical_or(&negative, &as_unsigned)
        } else {
            logical_and(&logical_not(&negative)?, &as_unsigned)
        }
    };
    Some(compare())
}

fn broadcast<'a>(x: &'a Array, shape: &Dims) -> Result<Cow<'a, Layout>> {
    if x.shape() == shape.as_slice() {
        return Ok(Cow::Borrowed(x.layout()));
    }
    x.layout().broadcast_to(shape).map(Cow::Owned)
}

fn common_shape(name: &'static str, args: &[Arg<'_>]) -> Result<Dims> {
    let mut shapes: SmallVec<[&[usize]; 3]> = SmallVec::new();
    for arg in args {
        if let Arg::Array(x) = arg
            && shapes.last() != Some(&x.shape())
        {
            shapes.push(x.shape());
        }
    }
    match shapes.as_slice() {
        [one] => Ok(Dims::from_slice(one)),
        several => broadcast_shapes(name, several),
    }
}

/// A negative exponent of integers has no integer result: an error at the call, as in NumPy, which asks
/// only where there is a result to compute.
fn check_exponents(exponent: &Arg<'_>) -> Result<()> {
    let negative = match exponent {
        Arg::Scalar(s) => s.to_int().is_some_and(|v| v < 0),
        Arg::Array(x) if x.dtype().is(Kinds::SIGNED) => {
            let below = apply(Op::Less, &[Arg::Array(x), Arg::from(0i64)])?;
            let axes = AxisMask::all(x.ndim());
            graph::reduce("any", Reduce::Any, &below, axes)?
                .item()?
                .to_i128()
                != 0
        }
        Arg::Array(_) => false,
    };
    if negative {
        return Err(Error::value(
            "pow",
            "an integer to a negative integer power is not an integer; convert to a floating dtype first",
        ));
    }
    Ok(())
}

/// `x op= y`: computes and writes into `x`, whose dtype must be the result's.
///
/// # Errors
/// Those of [`apply`]; `DType` if the result would not fit, `Shape` if it would be larger than `x`; `Value` for a read-only
/// or broadcast `x`, which is untouched then.
pub fn apply_in_place(op: Op, x: &Array, y: Arg<'_>) -> Result<()> {
    x.check_writable(op.name())?;
    let value = apply(op, &[Arg::Array(x), y])?;
    if value.dtype() != x.dtype() {
        let detail = format!(
            "the result has dtype {} and cannot be stored in place in {}",
            value.dtype(),
            x.dtype()
        );
        return Err(Error::dtype(op.name(), detail));
    }
    if value.shape() != x.shape() {
        let detail = format!(
            "the result has shape {:?} and cannot be stored in place in {:?}",
            value.shape(),
            x.shape()
        );
        return Err(Error::shape(op.name(), detail));
    }
    // Work in the array's own context, whatever the other operand's was.
    graph::assign(op.name(), x, value)
}

macro_rules! elementwise_functions {
    ($(($v:ident, $name:ident, $arity:tt, $kinds:ident, $promote:ident, $result:ident,
        $wgsl:literal, $ulp:literal, $doc:literal))*) => {
        $(elementwise_functions!(@one $arity $v $name $doc);)*
    };
    (@one 1 $v:ident $name:ident $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// See [`apply`].
        pub fn $name(x: &Array) -> Result<Array> {
            apply(Op::$v, &[Arg::Array(x)])
        }
    };
    (@one 2 $v:ident $name:ident $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// See [`apply`].
        pub fn $name<'a>(x1: impl Into<Arg<'a>>, x2: impl Into<Arg<'a>>) -> Result<Array> {
            apply(Op::$v, &[x1.into(), x2.into()])
        }
    };
}
rustarr_interface::for_each_op!(elementwise_functions);

/// The nearest number of `decimals` digits after the point (before it, for negative ones), halves to even. NumPy's
/// `round`.
///
/// # Errors
/// See [`apply`].
pub fn round_to(x: &Array, decimals: i32) -> Result<Array> {
    if decimals == 0 || decimals > 0 && !x.dtype().is(Kinds::INEXACT) || x.dtype() == DType::Bool {
        return round(x);
    }
    let scale = 10f64.powi(decimals.saturating_abs());
    if decimals < 0 {
        return multiply(&round(&divide(x, scale)?)?, scale)?.astype(x.dtype());
    }
    let scaled = multiply(x, scale)?;
    let rounded = divide(&round(&scaled)?, scale)?;
    // What overflows has no such digits.
    where_(&isfinite(&scaled)?, &rounded, x)
}

/// Elements of `x1` where `condition` (`bool`) is true, else of `x2`; all three broadcast.
///
/// # Errors
/// See [`apply`].
pub fn where_<'a>(
    condition: &'a Array,
    x1: impl Into<Arg<'a>>,
    x2: impl Into<Arg<'a>>,
) -> Result<Array> {
    apply(Op::Select, &[Arg::Array(condition), x1.into(), x2.into()])
}

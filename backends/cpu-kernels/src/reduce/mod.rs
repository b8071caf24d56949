//! Reductions: the program is run tile by tile, and its values are combined while they are in the cache.

mod fold;
mod pass;
mod tree;

use crate::interp::half::{narrow, widen};
use crate::map::map;
use crate::maths;
use crate::par::Par;
use fold::{Arg, Fold, Lanes};
use pass::Call;
use rustarr_interface::{
    Args, AxisMask, Bool, DType, Element, Error, Kinds, Program, Reduce, Result, Scalar, dispatch,
    f16,
};
use std::marker::PhantomData;

/// Runs a program of one output over a domain and combines its values over `axes`, in the order of [`tree`].
///
/// # Errors
/// `Interrupted` if the user asked to stop; `Backend` for a fault of a kernel, or a dtype without such a reduction.
pub fn reduce(
    par: Par<'_>,
    grain: usize,
    reduce: Reduce,
    program: &Program,
    axes: AxisMask,
    args: Args<'_>,
) -> Result<()> {
    let kept_empty = args.outputs[0].layout.shape().contains(&0);
    if kept_empty {
        return Ok(());
    }
    let dtype = program.out_dtype(0);
    if args.shape.contains(&0) {
        let identity = [identity(reduce, dtype)];
        let args = Args {
            shape: args.outputs[0].layout.shape(),
            inputs: &[],
            params: &identity,
            outputs: args.outputs,
            donated: &[],
        };
        return map(par, grain, &Program::fill(identity[0].dtype()), args);
    }
    let call = Call {
        par,
        grain,
        program,
        axes,
        args,
    };
    by_kind(reduce, dtype, &call)
}

/// The result of combining nothing.
fn identity(reduce: Reduce, dtype: DType) -> Scalar {
    let one = |value: i64| Scalar::from_i64(dtype, value);
    let extreme = |sign: f64| match dtype {
        DType::Bool => one((sign > 0.0) as i64),
        dtype if dtype.is(Kinds::INT) => {
            dispatch!(int, dtype, T => Scalar::new(if sign > 0.0 { T::MAX } else { T::MIN }),
            else one(0))
        }
        dtype => Scalar::from_f64(dtype, sign * f64::INFINITY),
    };
    match reduce {
        Reduce::Sum | Reduce::Any => one(0),
        Reduce::Prod | Reduce::All => one(1),
        Reduce::Min => extreme(1.0),
        Reduce::Max => extreme(-1.0),
        Reduce::ArgMin | Reduce::ArgMax => Scalar::new(0i64),
    }
}

/// Picks the way to combine values.
fn by_kind(reduce: Reduce, dtype: DType, call: &Call<'_>) -> Result<()> {
    let illegal = || {
        Err(Error::backend(
            "reduce",
            format!("{reduce:?} of {dtype} passed the front end"),
        ))
    };
    match (reduce, dtype) {
        (Reduce::Sum | Reduce::Max | Reduce::Any, DType::Bool) => logical(call, true),
        (Reduce::Prod | Reduce::Min | Reduce::All, DType::Bool) => logical(call, false),
        (Reduce::Any | Reduce::All, _) => illegal(),

        (Reduce::Sum, DType::F16) => half(
            call,
            #[inline(always)]
            |a, b| a + b,
        ),
        (Reduce::Prod, DType::F16) => half(
            call,
            #[inline(always)]
            |a, b| a * b,
        ),
        (Reduce::Min, DType::F16) => half(
            call,
            #[inline(always)]
            |a, b| maths::minimum(a, b),
        ),
        (Reduce::Max, DType::F16) => half(
            call,
            #[inline(always)]
            |a, b| maths::maximum(a, b),
        ),

        (Reduce::Sum, _) => match dtype {
            DType::F32 => same(
                call,
                #[inline(always)]
                |a: f32, b| a + b,
            ),
            DType::F64 => same(
                call,
                #[inline(always)]
                |a: f64, b| a + b,
            ),
            int if int.is(Kinds::INT) => dispatch!(int, int,
                T => same(call, #[inline(always)] |a: T, b| a.wrapping_add(b)), else illegal()),
            complex => {
                dispatch!(complex, complex, T => same(call, #[inline(always)] |a: T, b: T| a + b),
                else illegal())
            }
        },
        (Reduce::Prod, _) => match dtype {
            DType::F32 => same(
                call,
                #[inline(always)]
                |a: f32, b| a * b,
            ),
            DType::F64 => same(
                call,
                #[inline(always)]
                |a: f64, b| a * b,
            ),
            int if int.is(Kinds::INT) => dispatch!(int, int,
                T => same(call, #[inline(always)] |a: T, b| a.wrapping_mul(b)), else illegal()),
            complex => dispatch!(complex, complex,
                T => same(call, #[inline(always)] |a: T, b: T| maths::complex::multiply(a, b)), else illegal()),
        },
        (Reduce::Min, _) => match dtype {
            DType::F32 => same(
                call,
                #[inline(always)]
                |a: f32, b| maths::minimum(a, b),
            ),
            DType::F64 => same(
                call,
                #[inline(always)]
                |a: f64, b| maths::minimum(a, b),
            ),
            int => {
                dispatch!(int, int, T => same(call, #[inline(always)] |a: T, b| if b < a { b } else { a }),
                else illegal())
            }
        },
        (Reduce::Max, _) => match dtype {
            DType::F32 => same(
                call,
                #[inline(always)]
                |a: f32, b| maths::maximum(a, b),
            ),
            DType::F64 => same(
                call,
                #[inline(always)]
                |a: f64, b| maths::maximum(a, b),
            ),
            int => {
                dispatch!(int, int, T => same(call, #[inline(always)] |a: T, b| if b > a { b } else { a }),
                else illegal())
            }
        },

        (Reduce::ArgMin | Reduce::ArgMax, DType::Bool) => {
            let min = reduce == Reduce::ArgMin;
            arg(
                call,
                #[inline(always)]
                move |x: Bool| x.get() ^ min,
                false,
                #[inline(always)]
                |a: bool, b: bool| !a & b,
            )
        }
        (Reduce::ArgMin | Reduce::ArgMax, DType::F16) => {
            let sign = if reduce == Reduce::ArgMin { -1.0 } else { 1.0 };
            arg(
                call,
                #[inline(always)]
                move |x: f16| widen(x) * sign,
                0.0,
                better_float,
            )
        }
        (Reduce::ArgMin | Reduce::ArgMax, DType::F32) => {
            let sign = if reduce == Reduce::ArgMin { -1.0 } else { 1.0 };
            arg(
                call,
                #[inline(always)]
                move |x: f32| x * sign,
                0.0,
                better_float,
            )
        }
        (Reduce::ArgMin | Reduce::ArgMax, DType::F64) => {
            let sign = if reduce == Reduce::ArgMin { -1.0 } else { 1.0 };
            arg(
                call,
                #[inline(always)]
                move |x: f64| x * sign,
                0.0,
                better_float,
            )
        }
        // The complement turns the order of integers around.
        (Reduce::ArgMin, int) => dispatch!(int, int,
            T => arg(call, #[inline(always)] |x: T| !x, 0, #[inline(always)] |a: T, b: T| b > a), else illegal()),
        (Reduce::ArgMax, int) => dispatch!(int, int,
            T => arg(call, #[inline(always)] |x: T| x, 0, #[inline(always)] |a: T, b: T| b > a), else illegal()),
    }
}

/// Whether `b` displaces `a` as the largest: by size, or as the first NaN.
#[inline(always)]
fn better_float<T: maths::Real>(a: T, b: T) -> bool {
    (b > a) | (b.is_nan() & !a.is_nan())
}

/// Accumulates in the values' own type.
fn same<T: Element + Default>(call: &Call<'_>, f: impl Fn(T, T) -> T + Sync) -> Result<()> {
    pass::run(
        call,
        &lanes(
            #[inline(always)]
            |x: T| x,
            f,
            |x: T| x,
            T::default(),
            |_| false,
        ),
    )
}

/// `float16` is accumulated in `float32` and rounded once.
fn half(call: &Call<'_>, f: impl Fn(f32, f32) -> f32 + Sync) -> Result<()> {
    pass::run(
        call,
        &lanes(
            #[inline(always)]
            |x: f16| widen(x),
            f,
            narrow,
            0.0,
            |_| false,
        ),
    )
}

/// Or, if one true value decides, else and.
fn logical(call: &Call<'_>, decisive: bool) -> Result<()> {
    #[inline(always)]
    fn byte(x: Bool) -> u8 {
        x.get() as u8
    }
    if decisive {
        pass::run(
            call,
            &lanes(
                byte,
                #[inline(always)]
                |a: u8, b| a | b,
                Bool,
                0,
                |x| x == 1,
            ),
        )
    } else {
        pass::run(
            call,
            &lanes(
                byte,
                #[inline(always)]
                |a: u8, b| a & b,
                Bool,
                1,
                |x| x == 0,
            ),
        )
    }
}

fn arg<T: Element, K: Copy + Send + Sync>(
    call: &Call<'_>,
    into: impl Fn(T) -> K + Sync,
    filler: K,
    better: impl Fn(K, K) -> bool + Sync,
) -> Result<()> {
    let arg: Arg<T, K, _, _> = Arg {
        into,
        better,
        filler,
        types: PhantomData,
    };
    pass::run(call, &arg)
}

fn lanes<T: Copy, A: Copy + Send + Sync, R: Copy>(
    into: impl Fn(T) -> A + Sync,
    f: impl Fn(A, A) -> A + Sync,
    finish: impl Fn(A) -> R + Sync,
    filler: A,
    decides: fn(A) -> bool,
) -> impl Fold<Value = T, Acc = A, Result = R> {
    Lanes {
        into,
        f,
        finish,
        filler,
        decides,
        types: PhantomData,
    }
}

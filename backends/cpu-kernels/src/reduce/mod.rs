//! Reductions: the program is run tile by tile, and its values are combined while they are in the cache.

mod fold;
mod pass;
mod tree;

use crate::interp::half::{narrow, widen};
use crate::map::map;
use crate::maths::{self, complex};
use crate::par::Par;
use fold::{Arg, Lanes};
use pass::Call;
use rustarr_interface::{
    Args, AxisMask, Bool, Complex32, Complex64, DType, Element, Error, Program, Reduce, Result,
    dispatch, f16,
};
use std::marker::PhantomData;

/// Runs a program of one output over a domain and combines its values over `axes`, in the order of the module `tree`.
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
        let identity = [reduce.identity(dtype)];
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

/// `inlined!(f, args.., |x, y| body)`: calls `f` with a closure that is always inlined.
macro_rules! inlined {
    ($f:ident($($arg:expr),*), $closure:expr) => {
        $f(
            $($arg,)*
            #[inline(always)]
            $closure,
        )
    };
}

/// Picks the way to combine values.
fn by_kind(reduce: Reduce, dtype: DType, call: &Call<'_>) -> Result<()> {
    let illegal = || {
        let what = format!("{reduce:?} of {dtype} passed the front end");
        Err(Error::backend("reduce", what))
    };
    // Sums and products of integers are the same with and without a sign.
    macro_rules! by_size {
        ($f:ident) => {
            match dtype.itemsize() {
                1 => inlined!(same(call), |a: u8, b| a.$f(b)),
                2 => inlined!(same(call), |a: u16, b| a.$f(b)),
                4 => inlined!(same(call), |a: u32, b| a.$f(b)),
                _ => inlined!(same(call), |a: u64, b| a.$f(b)),
            }
        };
    }
    match (reduce, dtype) {
        (Reduce::Sum | Reduce::Max | Reduce::Any, DType::Bool) => logical(call, true),
        (Reduce::Prod | Reduce::Min | Reduce::All, DType::Bool) => logical(call, false),
        (Reduce::Any | Reduce::All, _) => illegal(),

        (Reduce::Sum, DType::F16) => inlined!(half(call), |a, b| a + b),
        (Reduce::Sum, DType::F32) => inlined!(same(call), |a: f32, b| a + b),
        (Reduce::Sum, DType::F64) => inlined!(same(call), |a: f64, b| a + b),
        (Reduce::Sum, DType::C64) => inlined!(same(call), |a: Complex32, b: Complex32| a + b),
        (Reduce::Sum, DType::C128) => inlined!(same(call), |a: Complex64, b: Complex64| a + b),
        (Reduce::Sum, _) => by_size!(wrapping_add),

        (Reduce::Prod, DType::F16) => inlined!(half(call), |a, b| a * b),
        (Reduce::Prod, DType::F32) => inlined!(same(call), |a: f32, b| a * b),
        (Reduce::Prod, DType::F64) => inlined!(same(call), |a: f64, b| a * b),
        (Reduce::Prod, DType::C64) => same::<Complex32>(call, complex::multiply),
        (Reduce::Prod, DType::C128) => same::<Complex64>(call, complex::multiply),
        (Reduce::Prod, _) => by_size!(wrapping_mul),

        (Reduce::Min, DType::F16) => half(call, maths::minimum),
        (Reduce::Min, DType::F32) => same::<f32>(call, maths::minimum),
        (Reduce::Min, DType::F64) => same::<f64>(call, maths::minimum),
        (Reduce::Min, int) => dispatch!(int, int,
            T => inlined!(same(call), |a: T, b| if b < a { b } else { a }), else illegal()),

        (Reduce::Max, DType::F16) => half(call, maths::maximum),
        (Reduce::Max, DType::F32) => same::<f32>(call, maths::maximum),
        (Reduce::Max, DType::F64) => same::<f64>(call, maths::maximum),
        (Reduce::Max, int) => dispatch!(int, int,
            T => inlined!(same(call), |a: T, b| if b > a { b } else { a }), else illegal()),

        // The best is the largest; for the smallest the order is turned around.
        (Reduce::ArgMin | Reduce::ArgMax, _) => {
            let min = reduce == Reduce::ArgMin;
            let sign = if min { -1.0 } else { 1.0 };
            match dtype {
                DType::Bool => inlined!(arg(call, integer::<u8>), move |x: Bool| (x.get() ^ min)
                    as u8),
                DType::F16 => inlined!(arg(call, float::<f32>), move |x: f16| widen(x) * sign),
                DType::F32 => inlined!(arg(call, float::<f32>), move |x: f32| x * sign),
                DType::F64 => inlined!(arg(call, float::<f64>), move |x: f64| x * sign as f64),
                int => dispatch!(int, int, T => {
                    // The complement of all bits turns the order of integers around.
                    let mask: T = if min { !0 } else { 0 };
                    inlined!(arg(call, integer::<T>), move |x: T| x ^ mask)
                }, else illegal()),
            }
        }
    }
}

/// Whether `b` displaces `a` as the largest: by size, or as the first NaN.
#[inline(always)]
fn float<T: maths::Real>(a: T, b: T) -> bool {
    (b > a) | (b.is_nan() & !a.is_nan())
}

/// Whether `b` displaces `a` as the largest.
#[inline(always)]
fn integer<T: Ord>(a: T, b: T) -> bool {
    b > a
}

/// Accumulates in the values' own type.
fn same<T: Element>(call: &Call<'_>, f: impl Fn(T, T) -> T + Sync) -> Result<()> {
    run(call, |x: T| x, f, |x: T| x, |_| false)
}

/// `float16` is accumulated in `float32` and rounded once.
fn half(call: &Call<'_>, f: impl Fn(f32, f32) -> f32 + Sync) -> Result<()> {
    run(call, |x: f16| widen(x), f, narrow, |_| false)
}

/// Or, if one true value decides, else and.
fn logical(call: &Call<'_>, decisive: bool) -> Result<()> {
    #[inline(always)]
    fn byte(x: Bool) -> u8 {
        x.get() as u8
    }
    if decisive {
        run(call, byte, |a, b| a | b, Bool, |x| x == 1)
    } else {
        run(call, byte, |a, b| a & b, Bool, |x| x == 0)
    }
}

fn run<T: Element, A: Copy, R: Copy>(
    call: &Call<'_>,
    into: impl Fn(T) -> A + Sync,
    f: impl Fn(A, A) -> A + Sync,
    finish: impl Fn(A) -> R + Sync,
    decides: fn(A) -> bool,
) -> Result<()> {
    let lanes: Lanes<T, A, R, _, _, _> = Lanes {
        into,
        f,
        finish,
        decides,
        types: PhantomData,
    };
    pass::run(call, &lanes)
}

fn arg<T: Element, K: Copy>(
    call: &Call<'_>,
    better: impl Fn(K, K) -> bool + Sync,
    into: impl Fn(T) -> K + Sync,
) -> Result<()> {
    let arg: Arg<T, K, _, _> = Arg {
        into,
        better,
        types: PhantomData,
    };
    pass::run(call, &arg)
}

//! Every operation of the table in every legal dtype, on special values, in every form of memory, on
//! every backend.

use rustarr::{Array, ops};
use rustarr_conformance::oracle::value::Value;
use rustarr_conformance::suite::inputs::{Form, special};
use rustarr_conformance::suite::reference::{Place, evaluate, legal_dtypes, refuses_exponent};
use rustarr_conformance::suite::targets::{Target, targets};
use rustarr_conformance::suite::{check, values};
use rustarr_interface::{DType, Kinds, Layout, Op};

/// Columns of operands: every pair (or triple) of special values that the operation takes.
fn columns(op: Op, dtype: DType) -> Vec<Vec<Value>> {
    let all = special(dtype);
    // Where the reference of complex numbers is not careful about infinities, finite ones are tried.
    let finite = |v: &&Value| match v {
        Value::Complex(z, _) => {
            z.is_finite() || op.info().ulp == 0 && op != Op::Multiply && op != Op::Square
        }
        _ => true,
    };
    let all: Vec<Value> = all.iter().filter(finite).copied().collect();
    match op.info().arity {
        1 => vec![all],
        2 => {
            let pairs = all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b)));
            let (a, b) = pairs
                .filter(|(_, b)| !refuses_exponent(op, dtype, b))
                .unzip();
            vec![a, b]
        }
        _ => {
            let n = all.len();
            let condition = (0..2 * n).map(|i| (i % 2 == 0).into()).collect();
            let twice: Vec<Value> = all.iter().chain(&all).copied().collect();
            vec![condition, twice.clone(), twice.into_iter().rev().collect()]
        }
    }
}

/// What is accepted for each element.
fn expected(op: Op, dtype: DType, place: Place, columns: &[Vec<Value>]) -> Vec<Value> {
    (0..columns[0].len())
        .map(|i| {
            let x: Vec<Value> = columns.iter().map(|c| c[i]).collect();
            evaluate(op, dtype, place, &x)
        })
        .collect()
}

fn dtype_of(op: Op, dtype: DType, operand: usize) -> DType {
    if op == Op::Select && operand == 0 {
        DType::Bool
    } else {
        dtype
    }
}

fn arrays(
    target: &Target,
    op: Op,
    dtype: DType,
    shape: &[usize],
    columns: &[Vec<Value>],
    form: Form,
) -> Vec<Array> {
    let operands = columns.iter().enumerate();
    operands
        .map(|(k, c)| form.array(&target.ctx, dtype_of(op, dtype, k), shape, c))
        .collect()
}

fn apply(op: Op, operands: &[Array]) -> Array {
    let args: Vec<_> = operands.iter().map(Into::into).collect();
    ops::apply(op, &args).unwrap_or_else(|e| panic!("{operands:?}: {e}"))
}

/// Whether the context's own backend computes it; the fallback computes the same way whatever the form.
fn is_native(target: &Target, op: Op, dtype: DType) -> bool {
    let caps = target.ctx.backend().caps();
    caps.dtypes.contains(dtype) && (caps.op_support)(op, dtype)
}

fn cases() -> impl Iterator<Item = (Op, DType)> {
    Op::TABLE
        .iter()
        .flat_map(|row| legal_dtypes(row.op).map(|d| (row.op, d)))
}

#[test]
fn special_values_in_every_form() {
    for target in targets() {
        for (op, dtype) in cases() {
            // Shown when the test fails, or is asked what it has tried.
            println!("{}: {} of {dtype}", target.name, op.name());
            let columns = columns(op, dtype);
            let place = if is_native(target, op, dtype) {
                target.place
            } else {
                Place::Cpu
            };
            let want = expected(op, dtype, place, &columns);
            let n = columns[0].len();
            // Two rows, so that there is something to transpose.
            let even = n - n % 2;
            let halves: Vec<Vec<Value>> = columns.iter().map(|c| c[..even].to_vec()).collect();
            for form in Form::ALL {
                if form != Form::Dense && place != target.place {
                    continue;
                }
                let (columns, shape) = match form {
                    Form::Transposed => (&halves, vec![2, even / 2]),
                    _ => (&columns, vec![n]),
                };
                let got = apply(op, &arrays(target, op, dtype, &shape, columns, form));
                assert_eq!(
                    got.dtype(),
                    op.result(dtype).unwrap(),
                    "{} {dtype}",
                    op.name()
                );
                check(&got, &want[..columns[0].len()], &|i| {
                    let x: Vec<Value> = columns.iter().map(|c| c[i]).collect();
                    format!(
                        "{}: {} of {dtype}, {form:?}, element {i}, {x:?}",
                        target.name,
                        op.name()
                    )
                });
            }
        }
    }
}

#[test]
fn mixed_forms_broadcast_scalars_and_nothing() {
    for target in targets() {
        for (op, dtype) in cases().filter(|(op, _)| op.info().arity == 2) {
            if !is_native(target, op, dtype) {
                continue;
            }
            let mut all = special(dtype);
            all.truncate(12);
            all.retain(|v| !refuses_exponent(op, dtype, v));
            let n = all.len();
            let what = |form: &'static str| {
                move |i: usize| {
                    format!(
                        "{}: {} of {dtype}, {form}, element {i}",
                        target.name,
                        op.name()
                    )
                }
            };
            let finite = !dtype.is(Kinds::COMPLEX);
            let pairs: Vec<Value> = all
                .iter()
                .flat_map(|a| {
                    all.iter()
                        .map(|b| evaluate(op, dtype, target.place, &[*a, *b]))
                })
                .map(|v| if finite { v } else { Value::Any })
                .collect();
            // A column with a row, one of them backwards in memory.
            let column = Form::Strided.array(&target.ctx, dtype, &[n, 1], &all);
            let row = Form::Negative.array(&target.ctx, dtype, &[n], &all);
            check(
                &apply(op, &[column.clone(), row.clone()]),
                &pairs,
                &what("broadcast"),
            );
            // A 0-d array with a row, both ways.
            let one = all[n / 2];
            let scalar = Form::Dense.array(&target.ctx, dtype, &[], &[one]);
            let with = |first: bool| -> Vec<Value> {
                let pair = |v: &Value| if first { [one, *v] } else { [*v, one] };
                let value = all
                    .iter()
                    .map(|v| evaluate(op, dtype, target.place, &pair(v)));
                value.map(|v| if finite { v } else { Value::Any }).collect()
            };
            check(
                &apply(op, &[scalar.clone(), row.clone()]),
                &with(true),
                &what("0-d first"),
            );
            check(
                &apply(op, &[row.clone(), scalar.clone()]),
                &with(false),
                &what("0-d second"),
            );
            assert_eq!(
                apply(op, &[scalar.clone(), scalar]).shape(),
                &[] as &[usize]
            );
            // Nothing at all.
            let none = Form::Dense.array(&target.ctx, dtype, &[0, n], &[]);
            let got = apply(op, &[none, row]);
            assert_eq!((got.shape(), values(&got).len()), (&[0, n][..], 0));
        }
    }
}

/// The result at one element must not depend on how many others there are, nor on where it lies: vector
/// bodies and tails agree to the bit.
#[test]
fn lengths_and_positions_do_not_change_bits() {
    let edges = [1023, 1024, 1025, 2047, 2049, 4095, 4097];
    for target in targets() {
        // One thread or three make no difference to how an operation's loop is cut.
        let every = target.name.starts_with("cpu-serial") && !target.is_deferred();
        for (op, dtype) in cases() {
            if !is_native(target, op, dtype) {
                continue;
            }
            let columns = columns(op, dtype);
            let longest = 4200;
            let cycled: Vec<Vec<Value>> = columns
                .iter()
                .map(|c| c.iter().cycle().take(longest).copied().collect())
                .collect();
            let operands = arrays(target, op, dtype, &[longest], &cycled, Form::Dense);
            let whole = apply(op, &operands);
            let bytes = whole.to_bytes().unwrap();
            let size = whole.dtype().itemsize();
            let lengths = (1..=70)
                .filter(|n| every || n % 23 == 1)
                .chain(edges.into_iter().filter(|n| every || n % 4 == 1));
            for n in lengths {
                let start = n * 7 % 64;
                let parts: Vec<Array> = operands
                    .iter()
                    .map(|x| x.view(x.layout().slice(0, start, 1, n)))
                    .collect();
                let got = apply(op, &parts).to_bytes().unwrap();
                let want = &bytes[start * size..(start + n) * size];
                assert!(
                    got == want,
                    "{}: {} of {dtype}, {n} elements from {start} have other bits",
                    target.name,
                    op.name()
                );
            }
        }
    }
}

/// More elements than a grid of workgroups has in one dimension.
#[test]
fn sizes_past_the_limits_of_a_grid() {
    for target in targets().iter().filter(|t| !t.is_deferred()) {
        for n in [65535 * 64 - 1, 65535 * 64, 65535 * 64 + 1] {
            let x = ops::arange(
                &target.ctx,
                0.into(),
                Some((n as i64).into()),
                1.into(),
                Some(DType::I32),
            )
            .unwrap();
            let y = ops::add(&ops::bitwise_and(&x, 1023).unwrap(), 1).unwrap();
            let got = y.to_vec::<i32>().unwrap();
            assert_eq!(got.len(), n);
            let wrong = got
                .iter()
                .enumerate()
                .position(|(i, v)| *v != (i as i32 & 1023) + 1);
            assert_eq!(wrong, None, "{} with {n} elements", target.name);
            let total = ops::sum(&y, None, Some(DType::I32), false)
                .unwrap()
                .item()
                .unwrap();
            let want = got.iter().fold(0i32, |s, v| s.wrapping_add(*v));
            assert_eq!(
                total.get::<i32>(),
                Some(want),
                "{} with {n} elements",
                target.name
            );
            // Columns of a matrix: the last axis is kept.
            let half = Layout::contiguous(&[2, n / 2]);
            let sums = ops::sum(&y.view(half), Some(&[0]), Some(DType::I32), false).unwrap();
            let sums = sums.to_vec::<i32>().unwrap();
            assert!(
                (0..n / 2).all(|i| sums[i] == got[i] + got[i + n / 2]),
                "{}",
                target.name
            );
        }
    }
}

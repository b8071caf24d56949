//! Every exact operation and every conversion, in every dtype, against a naive evaluator.

mod support;

use rustarr_interface::{Backend, DType, Kinds, Op, Program, Scalar, Verb};
use support::naive::{Val, eval, special};
use support::*;

/// The operation's results over all combinations of special values.
fn check(op: Op, dtype: DType, failures: &mut Vec<String>) {
    let Some(gpu) = gpu() else { return };
    let values = special(dtype);
    let n = values.len();
    let arity = op.info().arity;
    let mut columns: Vec<Vec<Scalar>> = vec![Vec::new(); arity];
    for i in 0..n {
        for j in 0..if arity == 1 { 1 } else { n } {
            let picked = if op == Op::Select {
                vec![
                    Val::B((i + j) % 2 == 0).scalar(DType::Bool),
                    values[i],
                    values[j],
                ]
            } else {
                vec![values[i], values[j]]
            };
            for (column, value) in columns.iter_mut().zip(picked) {
                column.push(value);
            }
        }
    }
    let count = columns[0].len();
    let inputs: Vec<Arr> = columns
        .iter()
        .map(|c| upload_scalars(&gpu, c[0].dtype(), c))
        .collect();
    let refs: Vec<&Arr> = inputs.iter().collect();
    let out = run(&gpu, &single(op, dtype), &[count], &refs, &[]);
    let got = download_scalars(&gpu, &out[0]);
    let result = op.result(dtype).unwrap();
    let (mut seen, mut wrong) = (0, 0);
    for i in 0..count {
        let args: Vec<Val> = columns.iter().map(|c| Val::of(c[i])).collect();
        let Some(exact) = eval(op, dtype, &args) else {
            continue;
        };
        seen += 1;
        let want = exact.scalar(result);
        if !same(&got[i], &want) {
            wrong += 1;
            if wrong <= 2 {
                failures.push(format!(
                    "{} {dtype} of {args:?}: {:?}, not {want:?}",
                    op.name(),
                    got[i]
                ));
            }
        }
    }
    // Functions with a tolerance are measured in another test.
    assert!(
        seen > 0 || op.info().ulp > 0,
        "{} {dtype} was not compared",
        op.name()
    );
}

#[test]
fn every_exact_operation_agrees_with_the_naive_evaluator() {
    let Some(gpu) = gpu() else { return };
    let mut failures = Vec::new();
    let mut pairs = 0;
    for row in Op::TABLE {
        for dtype in DType::ALL {
            let caps = gpu.caps();
            if dtype.is(row.kinds) && caps.has(Verb::Map, dtype) && (caps.op_support)(row.op, dtype)
            {
                check(row.op, dtype, &mut failures);
                pairs += 1;
            }
        }
    }
    println!("{pairs} pairs of operation and dtype");
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_conversion_agrees_with_the_host() {
    let Some(gpu) = gpu() else { return };
    let mut failures = Vec::new();
    for from in gpu.caps().dtypes.iter() {
        for to in gpu.caps().dtypes.iter() {
            let values = special(from);
            let input = upload_scalars(&gpu, from, &values);
            let program = Program::copy(from, to);
            let out = run(&gpu, &program, &[values.len()], &[&input], &[]);
            for (value, got) in values.iter().zip(download_scalars(&gpu, &out[0])) {
                let want = value.cast(to);
                if !same(&got, &want) {
                    failures.push(format!("{value:?} as {to}: {got:?}, not {want:?}"));
                }
            }
        }
    }
    failures.truncate(40);
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn float16_functions_round_once_from_float32() {
    let Some(gpu) = gpu() else { return };
    let all: Vec<Scalar> = (0..=u16::MAX)
        .map(|b| Scalar::from_bytes(DType::F16, &b.to_ne_bytes()))
        .collect();
    let half = upload_scalars(&gpu, DType::F16, &all);
    for op in [
        Op::Exp,
        Op::Log,
        Op::Sin,
        Op::Tanh,
        Op::Sqrt,
        Op::Square,
        Op::Floor,
    ] {
        let got = download_scalars(
            &gpu,
            &run(&gpu, &single(op, DType::F16), &[all.len()], &[&half], &[])[0],
        );
        let wide: Vec<Scalar> = all.iter().map(|s| s.cast(DType::F32)).collect();
        let single32 = upload_scalars(&gpu, DType::F32, &wide);
        let want = run(
            &gpu,
            &single(op, DType::F32),
            &[all.len()],
            &[&single32],
            &[],
        );
        for (i, want) in download_scalars(&gpu, &want[0]).iter().enumerate() {
            assert!(
                same(&got[i], &want.cast(DType::F16)),
                "{} of {:?}",
                op.name(),
                all[i]
            );
        }
    }
}

#[test]
fn caps_promise_what_the_library_has() {
    let Some(gpu) = gpu() else { return };
    let caps = gpu.caps();
    for dtype in [DType::F32, DType::I32, DType::U32, DType::Bool] {
        assert!(caps.has(Verb::Map, dtype) && caps.has(Verb::Reduce, dtype));
        for row in Op::TABLE.iter().filter(|r| dtype.is(r.kinds)) {
            assert!((caps.op_support)(row.op, dtype), "{} {dtype}", row.name);
        }
    }
    // The builtins for float64 are wrong on some drivers: the host computes these.
    assert!(!(caps.op_support)(Op::Exp, DType::F64));
    assert!(!caps.dtypes.iter().any(|d| d.is(Kinds::COMPLEX)));
}

//! Reductions of every kind over every set of axes, against a naive fold.

mod support;

use rustarr_interface::{
    AxisMask, Backend, Bool, DType, Element, Kinds, Layout, Op, ProgramBuilder, Reduce, Scalar,
};
use support::naive::{Val, eval};
use support::*;

const KINDS: [Reduce; 6] = [
    Reduce::Sum,
    Reduce::Prod,
    Reduce::Min,
    Reduce::Max,
    Reduce::ArgMin,
    Reduce::ArgMax,
];

fn naive(reduce: Reduce, dtype: DType, values: &[Scalar]) -> Scalar {
    let op = match reduce {
        Reduce::Sum => Op::Add,
        Reduce::Prod => Op::Multiply,
        Reduce::Min => Op::Minimum,
        Reduce::Max => Op::Maximum,
        Reduce::Any => Op::BitwiseOr,
        Reduce::All => Op::BitwiseAnd,
        Reduce::ArgMin | Reduce::ArgMax => {
            let before = |a: &Scalar, b: &Scalar| {
                let (a, b) = if reduce == Reduce::ArgMax {
                    (b, a)
                } else {
                    (a, b)
                };
                if dtype.is(Kinds::FLOAT) {
                    a.to_f64() < b.to_f64()
                } else {
                    a.to_i128() < b.to_i128()
                }
            };
            let at = values
                .iter()
                .position(|v| v.to_f64().is_nan())
                .unwrap_or_else(|| {
                    let mut best = 0;
                    for (i, v) in values.iter().enumerate() {
                        if before(v, &values[best]) {
                            best = i;
                        }
                    }
                    best
                });
            return Scalar::new(at as i64);
        }
    };
    let mut total = Val::of(values[0]);
    for v in &values[1..] {
        total = eval(op, dtype, &[total, Val::of(*v)]).unwrap();
        total = Val::of(total.scalar(dtype));
    }
    total.scalar(dtype)
}

/// Groups the elements of `a` by their kept coordinates.
fn groups(values: &[Scalar], shape: &[usize], axes: AxisMask) -> Vec<Vec<Scalar>> {
    let kept: Vec<usize> = (0..shape.len()).filter(|d| !axes.contains(*d)).collect();
    let count = kept.iter().map(|d| shape[*d]).product();
    let mut out = vec![Vec::new(); count];
    for (i, v) in values.iter().enumerate() {
        let mut rest = i;
        let mut coords = vec![0; shape.len()];
        for d in (0..shape.len()).rev() {
            coords[d] = rest % shape[d];
            rest /= shape[d];
        }
        let k = kept.iter().fold(0, |k, d| k * shape[*d] + coords[*d]);
        out[k].push(*v);
    }
    out
}

fn check<T: Element>(shape: &[usize], make: impl Fn(usize) -> T, kinds: &[Reduce]) {
    let Some(gpu) = gpu() else { return };
    let n: usize = shape.iter().product();
    let values: Vec<T> = (0..n).map(make).collect();
    let a = upload(&gpu, shape, &values);
    let scalars: Vec<Scalar> = values.iter().map(|v| Scalar::new(*v)).collect();
    for mask in 1..1u64 << shape.len() {
        let axes: Vec<usize> = (0..shape.len()).filter(|d| mask >> d & 1 == 1).collect();
        let groups = groups(&scalars, shape, AxisMask(mask));
        for reduce in kinds {
            let out = fold(&gpu, *reduce, &identity(T::DTYPE), shape, &axes, &[&a]);
            for (got, group) in download_scalars(&gpu, &out).iter().zip(&groups) {
                let want = naive(*reduce, T::DTYPE, group);
                let float =
                    T::DTYPE.is(Kinds::FLOAT) && matches!(reduce, Reduce::Sum | Reduce::Prod);
                let near = (got.to_f64() - want.to_f64()).abs() <= want.to_f64().abs() * 1e-5;
                assert!(
                    same(got, &want) || float && near,
                    "{reduce:?} {} {shape:?} over {axes:?}: {got:?}, not {want:?}",
                    T::DTYPE
                );
            }
        }
    }
}

#[test]
fn every_kind_over_every_set_of_axes() {
    check(&[3, 4, 5], |i| (i * 37 % 11) as i32 - 5, &KINDS);
    check(&[7, 300], |i| (i * 37 % 101) as i32 - 50, &KINDS);
    check(&[300, 7], |i| (i * 37 % 101) as u32, &KINDS);
    check(&[5, 130, 3], |i| (i * 29 % 17) as f32 * 0.5 - 3.0, &KINDS);
    check(&[4, 9], |i| (i * 29 % 17) as i64 - (1 << 40), &KINDS);
    check(&[4, 200], |i| (i * 29 % 17) as u64 + (1 << 63), &KINDS);
    check(&[6, 150], |i| (i * 29 % 17) as f64 / 3.0 + 0.5, &KINDS);
    check(&[6, 150], |i| (i * 29 % 200) as u8, &KINDS);
    check(&[6, 150], |i| (i * 29 % 200) as i8, &KINDS);
    check(&[6, 150], |i| (i * 2900 % 60000) as i16, &KINDS);
    check(
        &[13, 20],
        |i| Bool::from(i % 7 == 3),
        &[
            Reduce::Any,
            Reduce::All,
            Reduce::Sum,
            Reduce::Prod,
            Reduce::Min,
            Reduce::Max,
            Reduce::ArgMax,
        ],
    );
}

#[test]
fn nan_wins_and_the_first_extreme_is_found() {
    let Some(gpu) = gpu() else { return };
    for n in [1usize, 5, 64, 127, 128, 1000, 20_000, 100_000] {
        for nans in [vec![], vec![n / 2], vec![n - 1, n / 3]] {
            let mut x: Vec<f32> = (0..n).map(|i| ((i * 7919) % 1000) as f32 - 500.0).collect();
            for at in &nans {
                x[*at] = f32::NAN;
            }
            let a = upload(&gpu, &[n], &x);
            let scalars: Vec<Scalar> = x.iter().map(|v| Scalar::new(*v)).collect();
            for reduce in [Reduce::Min, Reduce::Max, Reduce::ArgMin, Reduce::ArgMax] {
                let out = fold(&gpu, reduce, &identity(DType::F32), &[n], &[0], &[&a]);
                let got = download_scalars(&gpu, &out)[0];
                let want = naive(reduce, DType::F32, &scalars);
                assert!(
                    same(&got, &want),
                    "{reduce:?} of {n} with NaN at {nans:?}: {got:?}, not {want:?}"
                );
            }
        }
    }
    // Infinities alone are extremes, not the absence of one.
    let a = upload(&gpu, &[3], &[f32::NEG_INFINITY; 3]);
    for reduce in [Reduce::Max, Reduce::ArgMax, Reduce::ArgMin] {
        let out = fold(&gpu, reduce, &identity(DType::F32), &[3], &[0], &[&a]);
        let want = if reduce == Reduce::Max {
            f64::NEG_INFINITY
        } else {
            0.0
        };
        assert_eq!(download_scalars(&gpu, &out)[0].to_f64(), want);
    }
}

#[test]
fn large_reductions_go_through_levels() {
    let Some(gpu) = gpu() else { return };
    let n = 3_000_017usize;
    let x: Vec<f32> = (0..n)
        .map(|i| ((i as u64 * 2654435761) % 1000) as f32 / 1000.0)
        .collect();
    let a = upload(&gpu, &[n], &x);
    let exact: f64 = x.iter().map(|v| f64::from(*v)).sum();
    let got: Vec<f32> = download(
        &gpu,
        &fold(&gpu, Reduce::Sum, &identity(DType::F32), &[n], &[0], &[&a]),
    );
    let error = (f64::from(got[0]) - exact).abs() / exact;
    assert!(error < 2e-7, "relative error {error:e}");
    let mut best = x.clone();
    best[2_222_222] = 5.0;
    let b = upload(&gpu, &[n], &best);
    let at: Vec<i64> = download(
        &gpu,
        &fold(
            &gpu,
            Reduce::ArgMax,
            &identity(DType::F32),
            &[n],
            &[0],
            &[&b],
        ),
    );
    assert_eq!(at, [2_222_222]);
    // Few long columns, and many short ones.
    for shape in [[n / 3, 3], [3, n / 3], [30_000, 100], [100, 30_000]] {
        for axis in 0..2 {
            let part = Arr {
                layout: Layout::contiguous(&shape),
                ..a.clone()
            };
            let out: Vec<f32> = download(
                &gpu,
                &fold(
                    &gpu,
                    Reduce::Sum,
                    &identity(DType::F32),
                    &shape,
                    &[axis],
                    &[&part],
                ),
            );
            let mut want = vec![0f64; shape[1 - axis]];
            for i in 0..shape[0] * shape[1] {
                want[if axis == 0 {
                    i % shape[1]
                } else {
                    i / shape[1]
                }] += f64::from(x[i]);
            }
            for (g, w) in out.iter().zip(&want) {
                assert!(
                    (f64::from(*g) - w).abs() <= w * 1e-6,
                    "{shape:?} over {axis}: {g}, not {w}"
                );
            }
        }
    }
}

#[test]
fn a_program_runs_before_the_combination() {
    let Some(_) = gpu() else { return };
    // A device of its own: its account is compared.
    let gpu = fresh();
    let n = 100_000usize;
    let x: Vec<f32> = (0..n).map(|i| i as f32 / n as f32).collect();
    let a = upload(&gpu, &[n], &x);
    // sum(exp(-x * x) * x)
    let mut b = ProgramBuilder::new();
    let v = b.load(DType::F32);
    let squared = b.apply(Op::Square, &[v]).unwrap();
    let minus = b.apply(Op::Negative, &[squared]).unwrap();
    let e = b.apply(Op::Exp, &[minus]).unwrap();
    let y = b.apply(Op::Multiply, &[e, v]).unwrap();
    let program = b.finish(&[y]).unwrap();
    let before = gpu.memory().in_use;
    let out = fold(&gpu, Reduce::Sum, &program, &[n], &[0], &[&a]);
    let got: Vec<f32> = download(&gpu, &out);
    let exact: f64 = x
        .iter()
        .map(|v| {
            let v = f64::from(*v);
            (-v * v).exp() * v
        })
        .sum();
    assert!(
        (f64::from(got[0]) - exact).abs() / exact < 1e-6,
        "{} {exact}",
        got[0]
    );
    drop(out);
    assert_eq!(gpu.memory().in_use, before, "scratch memory stayed");
}

#[test]
fn views_are_reduced_as_their_copies_are() {
    let Some(gpu) = gpu() else { return };
    let x: Vec<f32> = (0..6000).map(|i| ((i * 7919) % 997) as f32 * 0.1).collect();
    let whole = upload(&gpu, &[6000], &x);
    let base = Layout::contiguous(&[20, 30, 10]);
    for layout in [
        base.permute(&[2, 0, 1]),
        base.flip(1).slice(2, 9, -3, 3),
        base.select(2, 1)
            .insert_axis(1)
            .broadcast_to(&[20, 4, 30])
            .unwrap(),
        base.slice(0, 1, 2, 9),
    ] {
        let shape = layout.shape().to_vec();
        let view = Arr {
            layout,
            ..whole.clone()
        };
        let copy = run(&gpu, &identity(DType::F32), &shape, &[&view], &[]).remove(0);
        for mask in 1..8u64 {
            let axes: Vec<usize> = (0..3).filter(|d| mask >> d & 1 == 1).collect();
            for reduce in KINDS {
                let a = fold(&gpu, reduce, &identity(DType::F32), &shape, &axes, &[&view]);
                let b = fold(&gpu, reduce, &identity(DType::F32), &shape, &axes, &[&copy]);
                // The order of combination does not depend on strides.
                assert_eq!(
                    raw::<u8>(&gpu, &a),
                    raw::<u8>(&gpu, &b),
                    "{reduce:?} {shape:?} {axes:?}"
                );
            }
        }
    }
}

#[test]
fn empty_axes_give_the_identity() {
    let Some(gpu) = gpu() else { return };
    let a = blank(&gpu, &[3, 0], DType::F32);
    let sum: Vec<f32> = download(
        &gpu,
        &fold(
            &gpu,
            Reduce::Sum,
            &identity(DType::F32),
            &[3, 0],
            &[1],
            &[&a],
        ),
    );
    assert_eq!(sum.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), [0; 3]);
    let prod: Vec<f32> = download(
        &gpu,
        &fold(
            &gpu,
            Reduce::Prod,
            &identity(DType::F32),
            &[3, 0],
            &[1],
            &[&a],
        ),
    );
    assert_eq!(prod, [1.0; 3]);
    let b = blank(&gpu, &[0, 3], DType::Bool);
    for (reduce, want) in [
        (Reduce::Any, false),
        (Reduce::All, true),
        (Reduce::Sum, false),
        (Reduce::Prod, true),
    ] {
        let got: Vec<Bool> = download(
            &gpu,
            &fold(&gpu, reduce, &identity(DType::Bool), &[0, 3], &[0], &[&b]),
        );
        assert_eq!(got, [Bool::from(want); 3]);
    }
    let none = fold(
        &gpu,
        Reduce::Sum,
        &identity(DType::F32),
        &[3, 0],
        &[0],
        &[&a],
    );
    assert!(raw::<f32>(&gpu, &none).is_empty());
    // No axis at all: every element is its own result.
    let c = upload(&gpu, &[3], &[1f32, -0.0, f32::NAN]);
    let same_again: Vec<f32> = download(
        &gpu,
        &fold(&gpu, Reduce::Sum, &identity(DType::F32), &[3], &[], &[&c]),
    );
    assert_eq!(same_again[0], 1.0);
    assert!(same_again[1].to_bits() == (-0f32).to_bits() && same_again[2].is_nan());
}

//! Views, lengths, fusion, donation: the right elements, whatever the strides.

mod support;

use rustarr_interface::{
    Args, Backend, Bool, Code, DType, Layout, Op, Program, ProgramBuilder, Scalar, f16,
};
use support::*;

/// `x * 3 + p` in one program, for a numeric dtype.
fn affine(dtype: DType) -> Program {
    let mut b = ProgramBuilder::new();
    let (x, three, p) = (b.load(dtype), b.param(dtype), b.param(dtype));
    let y = b.apply(Op::Multiply, &[x, three]).unwrap();
    let z = b.apply(Op::Add, &[y, p]).unwrap();
    b.finish(&[z]).unwrap()
}

#[test]
fn every_length_around_the_edges() {
    let Some(gpu) = gpu() else { return };
    let edge = 65535 * 64;
    let lengths = (0..=70).chain([
        127,
        128,
        129,
        4095,
        4097,
        edge - 1,
        edge,
        edge + 1,
        edge + 67,
        2 * edge + 3,
    ]);
    for n in lengths {
        let x: Vec<i32> = (0..n as i32).collect();
        let input = upload(&gpu, &[n], &x);
        let params = [Scalar::new(3i32), Scalar::new(-5i32)];
        let out = run(&gpu, &affine(DType::I32), &[n], &[&input], &params);
        let got: Vec<i32> = download(&gpu, &out[0]);
        assert!(
            got.iter().zip(&x).all(|(g, v)| *g == v.wrapping_mul(3) - 5),
            "length {n}"
        );
        let narrow: Vec<u8> = (0..n).map(|i| i as u8).collect();
        let input = upload(&gpu, &[n], &narrow);
        let params = [Scalar::new(3u8), Scalar::new(250u8)];
        let out = run(&gpu, &affine(DType::U8), &[n], &[&input], &params);
        let got: Vec<u8> = download(&gpu, &out[0]);
        assert!(
            got.iter()
                .zip(&narrow)
                .all(|(g, v)| *g == v.wrapping_mul(3).wrapping_add(250)),
            "bytes, length {n}"
        );
    }
}

/// Many views of a (4, 6, 10) buffer.
fn some_views() -> Vec<Layout> {
    let base = Layout::contiguous(&[4, 6, 10]);
    vec![
        base.clone(),
        base.permute(&[2, 0, 1]),
        base.permute(&[1, 2, 0]).flip(0),
        base.flip(0).flip(1).flip(2),
        base.slice(2, 1, 3, 3),
        base.slice(2, 9, -2, 5).slice(0, 3, -1, 4),
        base.slice(1, 1, 1, 5).slice(2, 3, 1, 7),
        base.select(1, 3),
        base.select(0, 2).select(0, 1).select(0, 7),
        base.slice(0, 0, 1, 0),
        base.select(1, 2)
            .insert_axis(1)
            .broadcast_to(&[4, 5, 10])
            .unwrap(),
        base.select(2, 4)
            .insert_axis(0)
            .broadcast_to(&[3, 4, 6])
            .unwrap(),
        base.diagonal(1, 0, 1),
        base.select(0, 1)
            .select(0, 1)
            .select(0, 1)
            .broadcast_to(&[7])
            .unwrap(),
        base.insert_axis(0).insert_axis(2),
    ]
}

fn check_views<T: rustarr_interface::Element>(make: impl Fn(usize) -> T) {
    let Some(gpu) = gpu() else { return };
    let values: Vec<T> = (0..240).map(make).collect();
    let whole = upload(&gpu, &[240], &values);
    for layout in some_views() {
        let shape = layout.shape().to_vec();
        let view = Arr {
            layout: layout.clone(),
            ..whole.clone()
        };
        // Read through the view.
        let out = run(&gpu, &identity(T::DTYPE), &shape, &[&view], &[]);
        let got: Vec<T> = download(&gpu, &out[0]);
        let want: Vec<T> = (0..layout.size())
            .map(|i| values[layout.position(i)])
            .collect();
        assert_eq!(got, want, "read {layout:?}");
        // Write through it: only its elements change.
        if layout.may_self_overlap() {
            continue;
        }
        let source = upload(
            &gpu,
            &shape,
            &want.iter().rev().copied().collect::<Vec<T>>(),
        );
        let target = upload(&gpu, &[240], &values);
        let written = Arr {
            layout: layout.clone(),
            ..target.clone()
        };
        run_into(
            &gpu,
            &identity(T::DTYPE),
            &shape,
            &[&source],
            &[],
            &[&written],
            &[],
        );
        let mut expected = values.clone();
        for i in 0..layout.size() {
            expected[layout.position(i)] = want[layout.size() - 1 - i];
        }
        assert_eq!(raw::<T>(&gpu, &target), expected, "write {layout:?}");
    }
}

#[test]
fn views_are_read_and_written() {
    check_views(|i| i as f32 - 100.0);
    check_views(|i| i as i64 - (1 << 40));
    check_views(|i| i as u8);
    check_views(|i| i as i16 - 120);
    check_views(|i| Bool::from(i % 3 == 0));
    check_views(|i| f16::from_f32(i as f32 / 4.0));
    check_views(|i| i as f64 / 7.0);
}

#[test]
fn narrow_writes_leave_their_neighbours_alone() {
    let Some(gpu) = gpu() else { return };
    for start in 0..5 {
        for len in 0..12 {
            let before: Vec<u8> = (0..24).collect();
            let target = upload(&gpu, &[24], &before);
            let part = Arr {
                layout: Layout::contiguous(&[24]).slice(0, start, 1, len),
                ..target.clone()
            };
            let params = [Scalar::new(200u8)];
            run_into(
                &gpu,
                &Program::fill(DType::U8),
                &[len],
                &[],
                &params,
                &[&part],
                &[],
            );
            let mut want = before.clone();
            want[start..start + len].fill(200);
            assert_eq!(raw::<u8>(&gpu, &target), want, "{start}..{}", start + len);
        }
    }
}

#[test]
fn an_output_may_be_an_input() {
    let Some(gpu) = gpu() else { return };
    let params = [Scalar::new(3i32), Scalar::new(1i32)];
    let x: Vec<i32> = (0..1000).collect();
    let a = upload(&gpu, &[1000], &x);
    run_into(
        &gpu,
        &affine(DType::I32),
        &[1000],
        &[&a],
        &params,
        &[&a],
        &[Some(0)],
    );
    assert!(
        raw::<i32>(&gpu, &a)
            .iter()
            .zip(&x)
            .all(|(g, v)| *g == v * 3 + 1)
    );
    // Narrow elements, strided: each keeps to its own byte.
    let x: Vec<u8> = (0..100).collect();
    let a = upload(&gpu, &[100], &x);
    let odd = Arr {
        layout: Layout::contiguous(&[100]).slice(0, 99, -2, 50),
        ..a.clone()
    };
    let params = [Scalar::new(3u8), Scalar::new(1u8)];
    run_into(
        &gpu,
        &affine(DType::U8),
        &[50],
        &[&odd],
        &params,
        &[&odd],
        &[Some(0)],
    );
    let want: Vec<u8> = x
        .iter()
        .map(|v| {
            if v % 2 == 1 {
                v.wrapping_mul(3).wrapping_add(1)
            } else {
                *v
            }
        })
        .collect();
    assert_eq!(raw::<u8>(&gpu, &a), want);
    // Another part of one buffer, without overlap.
    let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let a = upload(&gpu, &[100], &x);
    let (low, high) = (
        Layout::contiguous(&[100]).slice(0, 0, 1, 50),
        Layout::contiguous(&[100]).slice(0, 50, 1, 50),
    );
    let (low, high) = (
        Arr {
            layout: low,
            ..a.clone()
        },
        Arr {
            layout: high,
            ..a.clone()
        },
    );
    run_into(
        &gpu,
        &identity(DType::F32),
        &[50],
        &[&high],
        &[],
        &[&low],
        &[],
    );
    assert!(
        raw::<f32>(&gpu, &a)
            .iter()
            .enumerate()
            .all(|(i, v)| *v == (if i < 50 { i + 50 } else { i }) as f32)
    );
}

#[test]
fn fused_programs_round_every_step() {
    let Some(gpu) = gpu() else { return };
    // ((a + b) - a), x - x, x * 0 and x + 0 must be computed, not simplified.
    let mut b = ProgramBuilder::new();
    let (x, y, zero) = (b.load(DType::F32), b.load(DType::F32), b.param(DType::F32));
    let sum = b.apply(Op::Add, &[x, y]).unwrap();
    let back = b.apply(Op::Subtract, &[sum, x]).unwrap();
    let nothing = b.apply(Op::Subtract, &[y, y]).unwrap();
    let none = b.apply(Op::Multiply, &[y, zero]).unwrap();
    let plus = b.apply(Op::Add, &[y, zero]).unwrap();
    let product = b.apply(Op::Multiply, &[x, y]).unwrap();
    let contracted = b.apply(Op::Add, &[product, x]).unwrap();
    let less = b.apply(Op::Less, &[x, y]).unwrap();
    let not_less = b.apply(Op::LogicalNot, &[less]).unwrap();
    let differs = b.apply(Op::NotEqual, &[y, y]).unwrap();
    let program = b
        .finish(&[back, nothing, none, plus, contracted, not_less, differs])
        .unwrap();
    let mut xs = SPECIAL.to_vec();
    xs.extend((0..500).map(|i| (i as f32 * 0.7 + 0.1).powi(5)));
    let ys: Vec<f32> = xs.iter().rev().map(|v| v * 1.0001).collect();
    let (a, c) = (
        upload(&gpu, &[xs.len()], &xs),
        upload(&gpu, &[xs.len()], &ys),
    );
    let outs = run(&gpu, &program, &[xs.len()], &[&a, &c], &[Scalar::new(0f32)]);
    let got: Vec<Vec<f32>> = outs[..5].iter().map(|o| download(&gpu, o)).collect();
    let flags: Vec<Vec<Bool>> = outs[5..].iter().map(|o| download(&gpu, o)).collect();
    for i in 0..xs.len() {
        let (x, y) = (xs[i], ys[i]);
        let want = [(x + y) - x, y - y, y * 0.0, y + 0.0, x * y + x];
        for (got, want) in got.iter().zip(want) {
            let equal = got[i].to_bits() == want.to_bits() || got[i].is_nan() && want.is_nan();
            assert!(equal, "{x:e}, {y:e}: {:e}, not {want:e}", got[i]);
        }
        let less = x < y;
        assert_eq!(flags[0][i].get(), !less, "not less {x} {y}");
        assert_eq!(flags[1][i].get(), y.is_nan());
    }
}

#[test]
fn a_long_program_equals_its_steps() {
    let Some(gpu) = gpu() else { return };
    let ops = [
        Op::Add,
        Op::Multiply,
        Op::Subtract,
        Op::Maximum,
        Op::Divide,
        Op::Minimum,
        Op::Hypot,
    ];
    let xs: Vec<f32> = (0..1000).map(|i| i as f32 * 0.37 - 100.0).collect();
    let ys: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.11).sin() + 1.5).collect();
    let (a, c) = (upload(&gpu, &[1000], &xs), upload(&gpu, &[1000], &ys));
    let mut b = ProgramBuilder::new();
    let (x, y) = (b.load(DType::F32), b.load(DType::F32));
    let (mut fused, mut stepped) = (x, a.clone());
    for k in 0..40 {
        let op = ops[k % ops.len()];
        fused = b.apply(op, &[fused, y]).unwrap();
        stepped = run(&gpu, &single(op, DType::F32), &[1000], &[&stepped, &c], &[]).remove(0);
    }
    let program = b.finish(&[fused]).unwrap();
    assert!(program.instrs().len() > 40);
    let out = run(&gpu, &program, &[1000], &[&a, &c], &[]);
    assert_eq!(raw::<f32>(&gpu, &out[0]), raw::<f32>(&gpu, &stepped));
}

#[test]
fn coordinates_count_along_their_axes() {
    let Some(gpu) = gpu() else { return };
    for (dtype, step) in [
        (DType::I64, 1i64),
        (DType::I32, 1),
        (DType::F64, 1),
        (DType::U8, 1),
    ] {
        let mut b = ProgramBuilder::new();
        let (i, j) = (b.iota(0, dtype), b.iota(2, dtype));
        let k = b.param(dtype);
        let scaled = b.apply(Op::Multiply, &[i, k]).unwrap();
        let sum = b.apply(Op::Add, &[scaled, j]).unwrap();
        let program = b.finish(&[sum]).unwrap();
        assert!(
            program
                .instrs()
                .iter()
                .any(|i| matches!(i.code, Code::Iota(2)))
        );
        for shape in [[3, 4, 5], [1, 4, 5], [3, 1, 1], [6, 1, 7]] {
            let out = run(&gpu, &program, &shape, &[], &[Scalar::from_i64(dtype, 10)]);
            let got = download_scalars(&gpu, &out[0]);
            for (n, got) in got.iter().enumerate() {
                let (i, j) = (n / (shape[1] * shape[2]), n % shape[2]);
                assert_eq!(
                    got.to_i128(),
                    (i * 10 + j) as i128 * step as i128,
                    "{dtype} {shape:?}"
                );
            }
        }
    }
}

#[test]
fn another_size_compiles_nothing() {
    let Some(_) = gpu() else { return };
    let gpu = fresh();
    let sizes = [10usize, 1000, 77, 100_000, 1];
    for (k, n) in sizes.into_iter().enumerate() {
        let x = upload(&gpu, &[n], &vec![1f32; n]);
        let row = Arr {
            layout: Layout::contiguous(&[n]).broadcast_to(&[3, n]).unwrap(),
            ..x.clone()
        };
        run(
            &gpu,
            &affine(DType::F32),
            &[n],
            &[&x],
            &[Scalar::new(k as f32), Scalar::new(1f32)],
        );
        let out = fold(
            &gpu,
            rustarr_interface::Reduce::Sum,
            &identity(DType::F32),
            &[n],
            &[0],
            &[&x],
        );
        assert_eq!(raw::<f32>(&gpu, &out), [n as f32]);
        if k == 0 {
            run(&gpu, &identity(DType::F32), &[3, n], &[&row], &[]);
        }
    }
    // One map, one broadcast map; folds by threads, by groups, and of partial results.
    let made = gpu.counters().pipelines;
    assert!(made <= 6, "{made} pipelines");
    for n in [50usize, 5000, 200_000] {
        let x = upload(&gpu, &[n], &vec![1f32; n]);
        run(
            &gpu,
            &affine(DType::F32),
            &[n],
            &[&x],
            &[Scalar::new(7f32), Scalar::new(1f32)],
        );
        fold(
            &gpu,
            rustarr_interface::Reduce::Sum,
            &identity(DType::F32),
            &[n],
            &[0],
            &[&x],
        );
    }
    assert_eq!(
        gpu.counters().pipelines,
        made,
        "a new size compiled a pipeline"
    );
}

#[test]
fn foreign_operands_are_refused() {
    let Some(gpu) = gpu() else { return };
    let other = fresh();
    let (a, b) = (
        upload(&gpu, &[4], &[1f32; 4]),
        upload(&other, &[4], &[1f32; 4]),
    );
    let (input, output) = ([b.operand()], [a.operand()]);
    let args = Args {
        shape: &[4],
        inputs: &input,
        params: &[],
        outputs: &output,
        donated: &[],
    };
    let error = gpu.map(&identity(DType::F32), args).unwrap_err();
    assert_eq!(error.kind(), rustarr_interface::ErrorKind::Device);
}

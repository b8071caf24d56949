//! Reductions and scans: their values, and that nothing but the shape decides their bits.

mod common;

use common::*;
use rustarr_cpu_kernels::{Host, pool::Pool};
use rustarr_interface::{
    AxisMask, Backend, Bool, Complex32, Complex64, DType, Kinds, Layout, Op, ProgramBuilder,
    Reduce, Scalar, Scan, ScanKind, dispatch, f16,
};

const KINDS: [Reduce; 8] = [
    Reduce::Sum,
    Reduce::Prod,
    Reduce::Min,
    Reduce::Max,
    Reduce::Any,
    Reduce::All,
    Reduce::ArgMin,
    Reduce::ArgMax,
];

fn serial() -> Host {
    Host::new("test", None, None, None)
}

/// Backends with other threads and other tasks, which must not show.
fn others() -> Vec<Host> {
    let pool = |n, grain| {
        Host::new(
            "test",
            Some(Pool::new(Some(n), None).unwrap()),
            Some(grain),
            None,
        )
    };
    if cfg!(miri) {
        return vec![pool(2, 1)];
    }
    vec![
        Host::new("test", None, Some(1), None),
        pool(1, 1000),
        pool(2, 1),
        pool(3, 5000),
        pool(8, 100),
    ]
}

fn takes(kind: Reduce, dtype: DType) -> bool {
    match kind {
        Reduce::Sum | Reduce::Prod => true,
        Reduce::Any | Reduce::All => dtype == DType::Bool,
        _ => dtype.is(Kinds::ORDERED),
    }
}

/// The combination of two values, `float16` in `float32`.
fn combine(kind: Reduce, a: Scalar, b: Scalar) -> Scalar {
    fn real<T: rustarr_interface::Element + PartialOrd>(
        kind: Reduce,
        a: T,
        b: T,
        sum: T,
        prod: T,
    ) -> Scalar {
        let nan = |x: T| x.partial_cmp(&x).is_none();
        Scalar::new(match kind {
            Reduce::Sum => sum,
            Reduce::Prod => prod,
            Reduce::Min => {
                if nan(a) || a <= b {
                    a
                } else {
                    b
                }
            }
            _ => {
                if nan(a) || a >= b {
                    a
                } else {
                    b
                }
            }
        })
    }
    match a.dtype() {
        DType::Bool => {
            let (a, b) = (a.to_f64() != 0.0, b.to_f64() != 0.0);
            Scalar::new(Bool::from(match kind {
                Reduce::Sum | Reduce::Max | Reduce::Any => a || b,
                _ => a && b,
            }))
        }
        DType::F32 => {
            let (a, b): (f32, f32) = (a.get().unwrap(), b.get().unwrap());
            real(kind, a, b, a + b, a * b)
        }
        DType::F64 => {
            let (a, b): (f64, f64) = (a.get().unwrap(), b.get().unwrap());
            real(kind, a, b, a + b, a * b)
        }
        DType::C64 => {
            let (a, b): (Complex32, Complex32) = (a.get().unwrap(), b.get().unwrap());
            Scalar::new(if kind == Reduce::Sum { a + b } else { a * b })
        }
        DType::C128 => {
            let (a, b): (Complex64, Complex64) = (a.get().unwrap(), b.get().unwrap());
            Scalar::new(if kind == Reduce::Sum { a + b } else { a * b })
        }
        int => dispatch!(int, int, T => {
            let (a, b): (T, T) = (a.get().unwrap(), b.get().unwrap());
            real(kind, a, b, a.wrapping_add(b), a.wrapping_mul(b))
        }, else unreachable!()),
    }
}

/// The documented order, written down once more: `dims` are the reduced axes, `values` lie in row-major order.
fn tree(kind: Reduce, dims: &[usize], values: &[Scalar]) -> Scalar {
    let join = |a, b| combine(kind, a, b);
    // The number of values after which a new chunk begins, from the last axis outwards.
    let mut inner = 1;
    let mut axes = dims.iter().rev().filter(|d| **d > 1).peekable();
    while let Some(&&dim) = axes.peek() {
        if inner * dim > 512 {
            break;
        }
        inner *= dim;
        axes.next();
    }
    let (dim, step) = match axes.next() {
        None => (1, 1),
        Some(&dim) => {
            let fewest = dim.div_ceil(512 / inner);
            (dim, dim.div_ceil(fewest))
        }
    };
    let mut results: Vec<Scalar> = values
        .chunks(dim * inner)
        .flat_map(|stretch| stretch.chunks(step * inner))
        .map(|chunk| {
            let mut lanes: Vec<Scalar> = chunk[..chunk.len().min(32)].to_vec();
            for (i, &x) in chunk.iter().enumerate().skip(32) {
                lanes[i % 32] = join(lanes[i % 32], x);
            }
            for h in [16, 8, 4, 2, 1] {
                for l in 0..h {
                    if l + h < lanes.len() {
                        lanes[l] = join(lanes[l], lanes[l + h]);
                    }
                }
                lanes.truncate(h);
            }
            lanes[0]
        })
        .collect();
    while results.len() > 1 {
        results = results
            .chunks(2)
            .map(|pair| pair.iter().copied().reduce(join).unwrap())
            .collect();
    }
    results[0]
}

fn naive_arg(kind: Reduce, values: &[Scalar]) -> Scalar {
    let keys: Vec<f64> = values.iter().map(|v| v.to_f64()).collect();
    let wide: Vec<i128> = values.iter().map(|v| v.to_i128()).collect();
    let float = values[0].dtype().is(Kinds::FLOAT);
    if let Some(nan) = keys.iter().position(|k| k.is_nan()) {
        return Scalar::new(nan as i64);
    }
    let mut best = 0;
    for i in 1..values.len() {
        let (less, greater) = match float {
            true => (keys[i] < keys[best], keys[i] > keys[best]),
            false => (wide[i] < wide[best], wide[i] > wide[best]),
        };
        if (kind == Reduce::ArgMin && less) || (kind == Reduce::ArgMax && greater) {
            best = i;
        }
    }
    Scalar::new(best as i64)
}

fn naive(kind: Reduce, shape: &[usize], axes: AxisMask, values: &[Scalar]) -> Vec<Scalar> {
    let kept: Vec<usize> = (0..shape.len()).filter(|&a| !axes.contains(a)).collect();
    let reduced: Vec<usize> = (0..shape.len()).filter(|&a| axes.contains(a)).collect();
    let order: Vec<usize> = kept.iter().chain(&reduced).copied().collect();
    let turned = Layout::contiguous(shape).permute(&order);
    let dims: Vec<usize> = reduced.iter().map(|&a| shape[a]).collect();
    let n: usize = dims.iter().product();
    let results = turned.size() / n;
    (0..results)
        .map(|r| {
            let line: Vec<Scalar> = (0..n).map(|i| values[turned.position(r * n + i)]).collect();
            let half = line[0].dtype() == DType::F16;
            match kind {
                Reduce::ArgMin | Reduce::ArgMax => naive_arg(kind, &line),
                _ if half => {
                    let wide: Vec<Scalar> = line.iter().map(|x| x.cast(DType::F32)).collect();
                    tree(kind, &dims, &wide).cast(DType::F16)
                }
                _ => tree(kind, &dims, &line),
            }
        })
        .collect()
}

fn load(dtype: DType) -> rustarr_interface::Program {
    let mut b = ProgramBuilder::new();
    let x = b.load(dtype);
    b.finish(&[x]).unwrap()
}

/// Without the values that are all NaN in no time.
fn ordinary(rng: &mut Rng, dtype: DType, n: usize) -> Vec<Scalar> {
    (0..n)
        .map(|_| match dtype {
            d if d.is(Kinds::FLOAT) => Scalar::from_f64(d, rng.unit() * 2.0 - 0.9),
            d if d.is(Kinds::COMPLEX) => Scalar::new(Complex64::new(
                rng.unit() * 2.0 - 1.0,
                rng.unit() * 1.8 - 0.9,
            ))
            .cast(d),
            d => rng.scalar(d),
        })
        .collect()
}

#[test]
fn every_kind_and_dtype_follows_the_tree() {
    let host = serial();
    for kind in KINDS {
        for dtype in DType::ALL.into_iter().filter(|d| takes(kind, *d)) {
            let mut rng = Rng(dtype as u64 * 97 + 5);
            let lengths = [
                1, 2, 3, 15, 16, 17, 31, 64, 65, 511, 512, 513, 1023, 1025, 5000,
            ];
            for &n in affordable(&lengths[..], &[37]) {
                for special in [false, true] {
                    let values = if special {
                        rng.scalars(dtype, n)
                    } else {
                        ordinary(&mut rng, dtype, n)
                    };
                    let input = Array::new(&host, dtype, Layout::contiguous(&[n]), &values);
                    let got = reduce(&host, kind, &load(dtype), AxisMask(1), &[n], &[input]);
                    let expected = naive(kind, &[n], AxisMask(1), &values);
                    assert_same(&got, &expected, &format!("{kind:?} {dtype} of {n}"));
                }
            }
        }
    }
}

#[test]
fn bits_are_those_of_the_shape() {
    let host = serial();
    let others = others();
    let shapes = [
        &[][..],
        &[1],
        &[3000],
        &[70, 33],
        &[33, 1100],
        &[1100, 33],
        &[2, 7000],
        &[7000, 2],
        &[5, 6, 7],
        &[3, 700, 5],
        &[40, 3, 50],
        &[9, 1, 90, 2],
        &[2, 3, 4, 5, 6],
        &[20, 30, 40],
    ];
    for shape in affordable(&shapes[..], &[&[3, 4]]) {
        for mask in 0..1u64 << shape.len() {
            let axes = AxisMask(mask);
            for (kind, dtype) in [
                (Reduce::Sum, DType::F32),
                (Reduce::Sum, DType::F64),
                (Reduce::Prod, DType::C64),
                (Reduce::Sum, DType::F16),
                (Reduce::Max, DType::I8),
                (Reduce::ArgMin, DType::F32),
                (Reduce::ArgMax, DType::U16),
                (Reduce::Any, DType::Bool),
            ] {
                let n: usize = shape.iter().product();
                let mut rng = Rng(n as u64 + mask + 11);
                let dense = ordinary(&mut rng, dtype, n);
                let expected = naive(kind, shape, axes, &dense);
                for (name, layout) in layouts(shape) {
                    let what = format!("{kind:?} {dtype} {shape:?} over {mask:b}, {name}");
                    let (input, expected) = if repeats(&layout) {
                        let mut input = Array::new(&host, dtype, Layout::contiguous(shape), &dense);
                        input.layout = layout;
                        let expected = naive(kind, shape, axes, &input.elements(&host));
                        (input, expected)
                    } else {
                        (Array::new(&host, dtype, layout, &dense), expected.clone())
                    };
                    let inputs = [input];
                    assert_same(
                        &reduce(&host, kind, &load(dtype), axes, shape, &inputs),
                        &expected,
                        &what,
                    );
                    for other in &others {
                        let got = reduce(other, kind, &load(dtype), axes, shape, &inputs);
                        assert_same(&got, &expected, &format!("{what}, {other:?}"));
                    }
                }
            }
        }
    }
}

/// A program in front is one pass, with the bits of two.
#[test]
fn fused_reductions_give_the_bits_of_two_steps() {
    let host = serial();
    let others = others();
    let mut b = ProgramBuilder::new();
    let (x, y, c) = (
        b.load(DType::F32),
        b.load(DType::F32),
        b.iota(0, DType::I32),
    );
    let c = b.cast(c, DType::F32);
    let product = b.apply(Op::Multiply, &[x, y]).unwrap();
    let sum = b.apply(Op::Subtract, &[product, c]).unwrap();
    let program = b.finish(&[sum]).unwrap();
    let shapes = [&[2000][..], &[50, 70], &[700, 3], &[3, 2000], &[4, 30, 50]];
    for &shape in affordable(&shapes[..], &[&[5, 7]]) {
        let n: usize = shape.iter().product();
        for mask in 0..1u64 << shape.len() {
            for (name, layout) in layouts(shape) {
                let mut rng = Rng(3);
                let cells = layout.extent().unwrap().1;
                let mut a = Array::new(
                    &host,
                    DType::F32,
                    Layout::contiguous(&[cells]),
                    &ordinary(&mut rng, DType::F32, cells),
                );
                a.layout = layout;
                let b = Array::new(
                    &host,
                    DType::F32,
                    Layout::contiguous(shape),
                    &ordinary(&mut rng, DType::F32, n),
                );
                let inputs = [a, b];
                let step = map(
                    &host,
                    &program,
                    shape,
                    &inputs,
                    &[],
                    &[Layout::contiguous(shape)],
                );
                for kind in [Reduce::Sum, Reduce::Min, Reduce::ArgMax] {
                    let expected =
                        reduce(&host, kind, &load(DType::F32), AxisMask(mask), shape, &step);
                    let what = format!("{kind:?} {shape:?} over {mask:b}, {name}");
                    for host in others.iter().chain([&host]) {
                        let got = reduce(host, kind, &program, AxisMask(mask), shape, &inputs);
                        assert_same(&got, &expected, &what);
                    }
                }
            }
        }
    }
}

/// A coordinate is no memory: it is not read in place, however long the tiles of a load may be.
#[test]
fn coordinates_are_reduced_like_their_values() {
    let host = serial();
    for shape in [&[70_000][..], &[3, 20_000], &[20_000, 3], &[700, 900]] {
        for axis in 0..shape.len() {
            let mut b = ProgramBuilder::new();
            let x = b.iota(axis, DType::I64);
            let program = b.finish(&[x]).unwrap();
            let dense = Layout::contiguous(shape);
            let values = map(&host, &program, shape, &[], &[], &[dense]);
            for mask in 1..1u64 << shape.len() {
                for kind in KINDS.into_iter().filter(|&kind| takes(kind, DType::I64)) {
                    let axes = AxisMask(mask);
                    let load = load(DType::I64);
                    let expected = reduce(&host, kind, &load, axes, shape, &values);
                    for host in others().iter().chain([&host]) {
                        let got = reduce(host, kind, &program, axes, shape, &[]);
                        let what = format!("{kind:?} of axis {axis} of {shape:?} over {mask:b}");
                        assert_same(&got, &expected, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn empty_domains_give_the_identity() {
    let host = serial();
    for (kind, dtype, expected) in [
        (Reduce::Sum, DType::F32, Scalar::new(0f32)),
        (Reduce::Prod, DType::I16, Scalar::new(1i16)),
        (
            Reduce::Prod,
            DType::C128,
            Scalar::new(Complex64::new(1.0, 0.0)),
        ),
        (Reduce::Min, DType::U8, Scalar::new(255u8)),
        (Reduce::Max, DType::F64, Scalar::new(f64::NEG_INFINITY)),
        (Reduce::Any, DType::Bool, Scalar::new(Bool(0))),
        (Reduce::All, DType::Bool, Scalar::new(Bool(1))),
    ] {
        let input = Array::empty(&host, dtype, Layout::contiguous(&[3, 0]));
        let inputs = [input];
        let got = reduce(&host, kind, &load(dtype), AxisMask(2), &[3, 0], &inputs);
        assert_same(&got, &[expected; 3], &format!("{kind:?} {dtype}"));
        assert_eq!(
            reduce(&host, kind, &load(dtype), AxisMask(1), &[3, 0], &inputs),
            []
        );
        assert_same(
            &reduce(&host, kind, &load(dtype), AxisMask(3), &[3, 0], &inputs),
            &[expected],
            &format!("{kind:?}"),
        );
    }
}

#[test]
#[cfg_attr(miri, ignore = "long sums, of a kernel that others cover")]
fn float_sums_are_accurate() {
    let host = serial();
    let n = 10_000_000;
    let sum = |values: Vec<f32>| -> (f64, f64) {
        let exact: f64 = values.iter().map(|&x| x as f64).sum();
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let buffer = host.alloc(bytes.len()).unwrap();
        host.write(&buffer, 0, &bytes).unwrap();
        let input = Array {
            buffer,
            layout: Layout::contiguous(&[n]),
            dtype: DType::F32,
        };
        let got = reduce(
            &host,
            Reduce::Sum,
            &load(DType::F32),
            AxisMask(1),
            &[n],
            &[input],
        );
        (got[0].to_f64(), exact)
    };
    let mut rng = Rng(1);
    // Sequential f32 sums are off by a percent and more here; a pairwise one is good to a few units of 6e-8.
    for values in [
        (0..n).map(|_| rng.unit() as f32).collect::<Vec<f32>>(),
        vec![0.1; n],
        (0..n).map(|i| 1.0 + (i % 7) as f32).collect(),
    ] {
        let (got, exact) = sum(values);
        assert!((got / exact - 1.0).abs() < 2.5e-7, "{got} for {exact}");
    }
    // float16 is rounded once: 4096 + 4096 would be stuck if it were rounded on the way.
    let ones = vec![Scalar::new(f16::from_f32(1.0)); 9000];
    let input = Array::new(&host, DType::F16, Layout::contiguous(&[9000]), &ones);
    let got = reduce(
        &host,
        Reduce::Sum,
        &load(DType::F16),
        AxisMask(1),
        &[9000],
        &[input],
    );
    assert_eq!(got[0].to_f64(), 9000.0);
}

#[test]
fn logical_reductions_may_stop_early() {
    let n = affordable(300_000, 1100);
    for host in others() {
        for at in [0, 5, n / 2, n - 1] {
            let mut bytes = vec![0u8; n];
            bytes[at] = 4;
            let run = |kind, bytes: &[u8]| {
                let buffer = host.alloc(n).unwrap();
                host.write(&buffer, 0, bytes).unwrap();
                let input = Array {
                    buffer,
                    layout: Layout::contiguous(&[n]),
                    dtype: DType::Bool,
                };
                reduce(&host, kind, &load(DType::Bool), AxisMask(1), &[n], &[input])[0].bytes()[0]
            };
            assert_eq!((run(Reduce::Any, &bytes), run(Reduce::All, &bytes)), (1, 0));
            let most: Vec<u8> = bytes.iter().map(|b| 4 - b).collect();
            assert_eq!((run(Reduce::Any, &most), run(Reduce::All, &most)), (1, 0));
            assert_eq!(
                (run(Reduce::All, &vec![2; n]), run(Reduce::Any, &vec![0; n])),
                (1, 0)
            );
        }
    }
}

/// The documented order of a scan.
fn naive_scan(kind: ScanKind, line: &[Scalar]) -> Vec<Scalar> {
    let kind = if kind == ScanKind::Sum {
        Reduce::Sum
    } else {
        Reduce::Prod
    };
    let half = line.first().is_some_and(|x| x.dtype() == DType::F16);
    let wide: Vec<Scalar> = line
        .iter()
        .map(|x| if half { x.cast(DType::F32) } else { *x })
        .collect();
    let mut before: Option<Scalar> = None;
    let mut out = Vec::new();
    for block in wide.chunks(4096) {
        let mut acc = block[0];
        for (i, &x) in block.iter().enumerate() {
            acc = if i == 0 { x } else { combine(kind, acc, x) };
            let all = before.map_or(acc, |b| combine(kind, b, acc));
            out.push(if half { all.cast(DType::F16) } else { all });
        }
        before = Some(before.map_or(acc, |b| combine(kind, b, acc)));
    }
    out
}

#[test]
fn scans_accumulate_along_every_axis() {
    let host = serial();
    let others = others();
    // Several blocks of a line.
    let long = affordable(9000, 4200);
    let dtypes = affordable(&DType::ALL[..], &[DType::F16, DType::F32, DType::C128]);
    for dtype in dtypes.iter().copied().filter(|d| d.is(Kinds::NUMERIC)) {
        for kind in [ScanKind::Sum, ScanKind::Prod] {
            let shapes = [
                &[0][..],
                &[1],
                &[70],
                &[long],
                &[3, 5],
                &[70, 66],
                &[2, long],
                &[long, 3],
                &[3, 4, 130],
                &[130, 1, 3],
            ];
            let few: &[&[usize]] = match dtype {
                DType::F32 => &[&[0], &[3, 5], &[long]],
                _ => &[&[70], &[3, 2, 4]],
            };
            for &shape in affordable(&shapes[..], few) {
                for axis in 0..shape.len() {
                    let n: usize = shape.iter().product();
                    let mut rng = Rng(n as u64 + axis as u64 + 1);
                    let values = ordinary(&mut rng, dtype, n);
                    let order: Vec<usize> = (0..shape.len())
                        .filter(|&a| a != axis)
                        .chain([axis])
                        .collect();
                    let lines = Layout::contiguous(shape).permute(&order);
                    let mut expected = values.clone();
                    for start in (0..n).step_by(shape[axis].max(1)) {
                        let at = |i: usize| lines.position(start + i);
                        let line: Vec<Scalar> = (0..shape[axis]).map(|i| values[at(i)]).collect();
                        for (i, x) in naive_scan(kind, &line).into_iter().enumerate() {
                            expected[at(i)] = x;
                        }
                    }
                    for (k, (name, layout)) in layouts(shape).into_iter().enumerate() {
                        if repeats(&layout)
                            || (shape.contains(&long)
                                && k > 0
                                && (dtype != DType::F32 || cfg!(miri)))
                        {
                            continue;
                        }
                        let input = Array::new(&host, dtype, layout.clone(), &values);
                        for host in others.iter().chain([&host]) {
                            for out in [Layout::contiguous(shape), layout.clone()] {
                                let output = Array::empty(host, dtype, out);
                                host.scan(Scan { kind, axis }, input.operand(), output.operand())
                                    .unwrap();
                                let what = format!(
                                    "{kind:?} {dtype} {shape:?} along {axis}, {name}, {host:?}"
                                );
                                assert_same(&output.elements(host), &expected, &what);
                            }
                        }
                    }
                }
            }
        }
    }
}

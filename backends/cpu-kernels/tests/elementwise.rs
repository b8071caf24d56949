//! Every operation in every dtype, over lengths around the block edges and all kinds of layouts.

mod common;

use common::*;
use rustarr_cpu_kernels::maths;
use rustarr_cpu_kernels::{Host, pool::Pool};
use rustarr_interface::{
    Args, Backend, DType, Kinds, Layout, Op, Operand, Program, ProgramBuilder, Scalar, Slot,
    dispatch, f16,
};

const LENGTHS: &[usize] = match cfg!(miri) {
    false => &[0, 1, 2, 7, 63, 64, 65, 1023, 1024, 1025, 5000],
    true => &[9],
};

fn serial() -> Host {
    Host::new("test", None, None, None)
}

fn every_pair() -> impl Iterator<Item = (Op, DType)> {
    let legal = |op: Op| {
        DType::ALL
            .into_iter()
            .filter(move |d| op.result(*d).is_some())
            .map(move |d| (op, d))
    };
    Op::TABLE.iter().flat_map(move |row| legal(row.op))
}

/// The operation on one element, written out with `std` where it can be.
fn naive(op: Op, x: &[Scalar]) -> Scalar {
    let dtype = x[x.len() - 1].dtype();
    if op == Op::Select {
        return if x[0].to_f64() != 0.0 { x[1] } else { x[2] };
    }
    let truth = |s: &Scalar| {
        let z = s.to_complex();
        z.re != 0.0 || z.im != 0.0
    };
    let bool_of = |b: bool| Scalar::new(rustarr_interface::Bool::from(b));
    match op {
        Op::LogicalAnd => return bool_of(truth(&x[0]) && truth(&x[1])),
        Op::LogicalOr => return bool_of(truth(&x[0]) || truth(&x[1])),
        Op::LogicalXor => return bool_of(truth(&x[0]) != truth(&x[1])),
        Op::LogicalNot => return bool_of(!truth(&x[0])),
        _ => {}
    }
    match dtype {
        DType::F16 if op == Op::NextAfter => naive_next(x),
        DType::F16 => {
            let wide: Vec<Scalar> = x.iter().map(|s| s.cast(DType::F32)).collect();
            let y = naive(op, &wide);
            if y.dtype() == DType::Bool {
                y
            } else {
                y.cast(DType::F16)
            }
        }
        DType::F32 => naive_real::<f32>(op, x),
        DType::F64 => naive_real::<f64>(op, x),
        DType::C64 => naive_complex::<f32>(op, x),
        DType::C128 => naive_complex::<f64>(op, x),
        DType::Bool => naive_int(op, x, 1),
        int => naive_int(op, x, 8 * int.itemsize() as u32),
    }
}

/// What an operation without a body here gives for one element alone: the conformance suite knows its values, and
/// here only its place in a block and its operands' layouts may not matter.
fn alone(op: Op, s: &[Scalar]) -> Scalar {
    let host = serial();
    let one = Layout::contiguous(&[1]);
    let inputs: Vec<Array> = s
        .iter()
        .map(|x| Array::new(&host, x.dtype(), one.clone(), &[*x]))
        .collect();
    let program = program1(op, s[s.len() - 1].dtype());
    map(&host, &program, &[1], &inputs, &[], &[one])[0].elements(&host)[0]
}

fn naive_next(x: &[Scalar]) -> Scalar {
    let (a, b): (f16, f16) = (x[0].get().unwrap(), x[1].get().unwrap());
    Scalar::new(if a.is_nan() || b.is_nan() {
        f16::NAN
    } else if a == b {
        b
    } else {
        // By search among all values.
        let rising = b > a;
        let beyond = |c: &f16| if rising { *c > a } else { *c < a };
        let all = (0..=u16::MAX)
            .map(f16::from_bits)
            .filter(|c| !c.is_nan())
            .filter(beyond);
        let order = |c: &f16, d: &f16| c.partial_cmp(d).unwrap();
        let next = if rising {
            all.min_by(order)
        } else {
            all.max_by(order)
        }
        .unwrap();
        // A zero keeps the side that it was reached from.
        if next == f16::ZERO {
            f16::from_bits((a.to_bits() & 0x8000) | next.to_bits() & 0x7fff)
        } else {
            next
        }
    })
}

fn naive_real<T: maths::Real + rustarr_interface::Element>(op: Op, s: &[Scalar]) -> Scalar {
    use maths as m;
    let x: T = s[0].get().unwrap();
    let y: T = s[s.len() - 1].get().unwrap();
    let b = |b: bool| Scalar::new(rustarr_interface::Bool::from(b));
    let v = Scalar::new::<T>;
    match op {
        Op::Add => v(x + y),
        Op::Subtract => v(x - y),
        Op::Multiply => v(x * y),
        Op::Divide => v(x / y),
        Op::FloorDivide => v(m::floor_divide(x, y)),
        Op::Remainder => v(m::remainder(x, y)),
        Op::Pow => v(m::pow(x, y)),
        Op::Negative => v(-x),
        Op::Positive | Op::Conj | Op::Real => v(x),
        Op::Imag => v(T::zero()),
        Op::Abs => v(x.abs()),
        Op::Sign => v(m::sign(x)),
        Op::Square => v(x * x),
        Op::Reciprocal => v(T::one() / x),
        Op::Sqrt => v(x.sqrt()),
        Op::Hypot => v(m::hypot(x, y)),
        Op::Exp => v(m::exp(x)),
        Op::Expm1 => v(m::expm1(x)),
        Op::Log => v(m::log(x)),
        Op::Log1p => v(m::log1p(x)),
        Op::Log2 => v(m::log2(x)),
        Op::Log10 => v(m::log10(x)),
        Op::LogAddExp => v(m::logaddexp(x, y)),
        Op::Sin => v(m::sin(x)),
        Op::Cos => v(m::cos(x)),
        Op::Tan => v(m::tan(x)),
        Op::Asin => v(m::asin(x)),
        Op::Acos => v(m::acos(x)),
        Op::Atan => v(m::atan(x)),
        Op::Atan2 => v(m::atan2(x, y)),
        Op::Sinh => v(m::sinh(x)),
        Op::Cosh => v(m::cosh(x)),
        Op::Tanh => v(m::tanh(x)),
        Op::Asinh => v(m::asinh(x)),
        Op::Acosh => v(m::acosh(x)),
        Op::Atanh => v(m::atanh(x)),
        Op::Ceil => v(x.ceil()),
        Op::Floor => v(x.floor()),
        Op::Trunc => v(x.trunc()),
        Op::Round => v(m::round(x)),
        Op::CopySign => v(x.copysign(y)),
        Op::NextAfter => v(m::nextafter(x, y)),
        Op::SignBit => b(x.is_sign_negative()),
        Op::IsFinite => b(x.is_finite()),
        Op::IsInf => b(x.is_infinite()),
        Op::IsNan => b(x.is_nan()),
        Op::Equal => b(x == y),
        Op::NotEqual => b(x != y),
        Op::Less => b(x < y),
        Op::LessEqual => b(x <= y),
        Op::Greater => b(x > y),
        Op::GreaterEqual => b(x >= y),
        Op::Maximum => v(if x.is_nan() || x >= y { x } else { y }),
        Op::Minimum => v(if x.is_nan() || x <= y { x } else { y }),
        other => alone(other, s),
    }
}

fn naive_complex<T>(op: Op, s: &[Scalar]) -> Scalar
where
    T: maths::Real + rustarr_interface::Element,
    num_complex::Complex<T>: rustarr_interface::Element,
{
    use maths::complex as m;
    type C<T> = num_complex::Complex<T>;
    let x: C<T> = s[0].get().unwrap();
    let y: C<T> = s[s.len() - 1].get().unwrap();
    let b = |b: bool| Scalar::new(rustarr_interface::Bool::from(b));
    let v = Scalar::new::<C<T>>;
    match op {
        Op::Add => v(C::new(x.re + y.re, x.im + y.im)),
        Op::Subtract => v(C::new(x.re - y.re, x.im - y.im)),
        Op::Multiply => v(m::multiply(x, y)),
        Op::Divide => v(m::divide(x, y)),
        Op::Pow => v(m::pow(x, y)),
        Op::Negative => v(C::new(-x.re, -x.im)),
        Op::Positive => v(x),
        Op::Conj => v(C::new(x.re, -x.im)),
        Op::Real => Scalar::new(x.re),
        Op::Imag => Scalar::new(x.im),
        Op::Abs => Scalar::new(m::abs(x)),
        Op::Sign => v(m::sign(x)),
        Op::Square => v(m::multiply(x, x)),
        Op::Reciprocal => v(m::reciprocal(x)),
        Op::Sqrt => v(m::sqrt(x)),
        Op::Exp => v(m::exp(x)),
        Op::Expm1 => v(m::expm1(x)),
        Op::Log => v(m::log(x)),
        Op::Log1p => v(m::log1p(x)),
        Op::Log2 => v(m::log2(x)),
        Op::Log10 => v(m::log10(x)),
        Op::Sin => v(m::sin(x)),
        Op::Cos => v(m::cos(x)),
        Op::Tan => v(m::tan(x)),
        Op::Asin => v(m::asin(x)),
        Op::Acos => v(m::acos(x)),
        Op::Atan => v(m::atan(x)),
        Op::Sinh => v(m::sinh(x)),
        Op::Cosh => v(m::cosh(x)),
        Op::Tanh => v(m::tanh(x)),
        Op::Asinh => v(m::asinh(x)),
        Op::Acosh => v(m::acosh(x)),
        Op::Atanh => v(m::atanh(x)),
        Op::Round => v(C::new(maths::round(x.re), maths::round(x.im))),
        Op::IsFinite => b(x.re.is_finite() && x.im.is_finite()),
        Op::IsInf => b(x.re.is_infinite() || x.im.is_infinite()),
        Op::IsNan => b(x.re.is_nan() || x.im.is_nan()),
        Op::Equal => b(x.re == y.re && x.im == y.im),
        Op::NotEqual => b(x.re != y.re || x.im != y.im),
        other => alone(other, s),
    }
}

/// Integers (and `bool` as one unsigned bit) in 128 bits, cut to their width.
fn naive_int(op: Op, s: &[Scalar], bits: u32) -> Scalar {
    let dtype = s[s.len() - 1].dtype();
    let x = s[0].to_i128();
    let y = s[s.len() - 1].to_i128();
    let b = |b: bool| Scalar::new(rustarr_interface::Bool::from(b));
    let v = |v: i128| match dtype {
        DType::Bool => b(v & 1 != 0),
        int => dispatch!(int, int, T => Scalar::new(v as T), else unreachable!()),
    };
    let is_bool = dtype == DType::Bool;
    let wide = |n: i128| n < 0 || n >= bits as i128;
    match op {
        Op::Add if is_bool => b(x + y > 0),
        Op::Add => v(x + y),
        Op::Subtract => v(x - y),
        Op::Multiply => v(x.wrapping_mul(y)),
        Op::FloorDivide => v(if y == 0 {
            0
        } else {
            x.div_euclid(y) - (y < 0 && x.rem_euclid(y) != 0) as i128
        }),
        Op::Remainder => v(if y == 0 {
            0
        } else {
            x - y * (x.div_euclid(y) - (y < 0 && x.rem_euclid(y) != 0) as i128)
        }),
        Op::Pow => {
            let (mut power, mut base, mut n) = (1i128, x, y.max(0));
            while n > 0 {
                if n & 1 == 1 {
                    power = power.wrapping_mul(base);
                }
                base = base.wrapping_mul(base);
                n >>= 1;
            }
            v(power)
        }
        Op::Negative => v(-x),
        Op::Positive | Op::Conj | Op::Real | Op::Ceil | Op::Floor | Op::Trunc | Op::Round => v(x),
        Op::Imag => v(0),
        Op::Abs => v(x.abs()),
        Op::Sign => v(x.signum()),
        Op::Square => v(x.wrapping_mul(x)),
        Op::IsFinite => b(true),
        Op::IsInf | Op::IsNan => b(false),
        Op::Equal => b(x == y),
        Op::NotEqual => b(x != y),
        Op::Less => b(x < y),
        Op::LessEqual => b(x <= y),
        Op::Greater => b(x > y),
        Op::GreaterEqual => b(x >= y),
        Op::Maximum => v(x.max(y)),
        Op::Minimum => v(x.min(y)),
        Op::BitwiseAnd => v(x & y),
        Op::BitwiseOr => v(x | y),
        Op::BitwiseXor => v(x ^ y),
        Op::BitwiseInvert => v(!x),
        Op::BitwiseLeftShift => v(if wide(y) { 0 } else { x << y }),
        Op::BitwiseRightShift => v(if wide(y) {
            if x < 0 { -1 } else { 0 }
        } else {
            x >> y
        }),
        other => alone(other, s),
    }
}

fn operand_dtype(op: Op, k: usize, dtype: DType) -> DType {
    if op == Op::Select && k == 0 {
        DType::Bool
    } else {
        dtype
    }
}

#[test]
fn every_operation_in_every_dtype_at_every_length() {
    let host = serial();
    for (op, dtype) in every_pair() {
        if cfg!(miri) && (op, dtype) == (Op::NextAfter, DType::F16) {
            continue; // the reference searches all values for each
        }
        let program = program1(op, dtype);
        let mut rng = Rng(op as u64 * 31 + dtype as u64 + 1);
        let arity = op.info().arity;
        let most = *LENGTHS.last().unwrap();
        let values: Vec<Vec<Scalar>> = (0..arity)
            .map(|k| rng.scalars(operand_dtype(op, k, dtype), most))
            .collect();
        let expected: Vec<Scalar> = (0..most)
            .map(|i| naive(op, &values.iter().map(|v| v[i]).collect::<Vec<_>>()))
            .collect();
        for &n in LENGTHS {
            let line = Layout::contiguous(&[n]);
            let inputs: Vec<Array> = (0..arity)
                .map(|k| {
                    Array::new(
                        &host,
                        operand_dtype(op, k, dtype),
                        line.clone(),
                        &values[k][..n],
                    )
                })
                .collect();
            let out = map(&host, &program, &[n], &inputs, &[], &[line]);
            assert_same(
                &out[0].elements(&host),
                &expected[..n],
                &format!("{op:?} {dtype} {n}"),
            );
        }
    }
}

/// Every combination of layouts of two inputs and an output, in one dtype per item size.
#[test]
fn every_layout_gives_what_the_dense_one_gives() {
    let host = serial();
    let tight = Host::new(
        "test",
        Some(Pool::new(Some(2), None).unwrap()),
        Some(1),
        None,
    );
    let shapes = [
        &[][..],
        &[1],
        &[70],
        &[2000],
        &[3, 5],
        &[40, 33],
        &[2, 1500],
        &[1500, 2],
        &[7, 4, 9],
        &[3, 1, 50],
        &[400, 3, 2],
    ];
    for shape in affordable(&shapes[..], &[&[3, 2]]) {
        let n: usize = shape.iter().product();
        let ops = [
            (Op::Less, DType::I16),
            (Op::Subtract, DType::F64),
            (Op::Add, DType::F32),
            (Op::BitwiseXor, DType::U8),
            (Op::Multiply, DType::C128),
        ];
        for &(op, dtype) in &ops[..affordable(5, 1)] {
            let program = program1(op, dtype);
            let mut rng = Rng(n as u64 + 77);
            for (a_name, a_layout) in layouts(shape) {
                for (b_name, b_layout) in layouts(shape) {
                    let fill = |rng: &mut Rng, layout: &Layout| {
                        let array = Array::empty(&host, dtype, layout.clone());
                        let cells = array.buffer.len() / dtype.itemsize();
                        let flat = Layout::contiguous(&[cells]);
                        let values = Array {
                            layout: flat,
                            ..array
                        };
                        for (i, s) in rng.scalars(dtype, cells).iter().enumerate() {
                            host.write(&values.buffer, i * dtype.itemsize(), s.bytes())
                                .unwrap();
                        }
                        Array {
                            layout: layout.clone(),
                            ..values
                        }
                    };
                    let (a, b) = (fill(&mut rng, &a_layout), fill(&mut rng, &b_layout));
                    let expected: Vec<Scalar> = a
                        .elements(&host)
                        .iter()
                        .zip(b.elements(&host))
                        .map(|(x, y)| naive(op, &[*x, y]))
                        .collect();
                    for (o_name, o_layout) in layouts(shape) {
                        if repeats(&o_layout) {
                            continue;
                        }
                        let what =
                            format!("{op:?} {dtype} {shape:?}: {a_name}, {b_name} -> {o_name}");
                        for host in [&host, &tight] {
                            let out = map(
                                host,
                                &program,
                                shape,
                                &[a.clone(), b.clone()],
                                &[],
                                std::slice::from_ref(&o_layout),
                            );
                            assert_same(&out[0].elements(host), &expected, &what);
                            // Nothing else was written.
                            let blank = Array::empty(host, out[0].dtype, o_layout.clone());
                            let blank = Array::new(
                                host,
                                blank.dtype,
                                o_layout.clone(),
                                &out[0].elements(host),
                            );
                            assert_eq!(out[0].bytes(host), blank.bytes(host), "{what}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn casts_convert_as_scalars_do() {
    let host = serial();
    for from in DType::ALL {
        for to in DType::ALL {
            let program = Program::copy(from, to);
            for &n in affordable(&[1, 65, 1025][..], &[9]) {
                let mut rng = Rng(n as u64 * 7 + from as u64);
                let values = rng.scalars(from, n);
                let line = Layout::contiguous(&[n]);
                let input = Array::new(&host, from, line.clone(), &values);
                let out = map(&host, &program, &[n], &[input], &[], &[line]);
                let expected: Vec<Scalar> = values
                    .iter()
                    .map(|x| match to {
                        // Rounded once, as to float32.
                        DType::C64 if from.is(Kinds::INT) => x.cast(DType::F32).cast(to),
                        _ => x.cast(to),
                    })
                    .collect();
                assert_same(
                    &out[0].elements(&host),
                    &expected,
                    &format!("{from} -> {to}, {n}"),
                );
            }
        }
    }
}

#[test]
fn coordinates_follow_every_axis_and_layout() {
    let host = Host::new("test", None, Some(1), None);
    let shapes = [&[5][..], &[3000], &[40, 50], &[3, 1, 700], &[50, 4, 3]];
    for shape in affordable(shapes, [&[5], &[9], &[4, 5], &[3, 1, 2], &[2, 4, 3]]) {
        for axis in 0..shape.len() {
            for dtype in [DType::I64, DType::F64, DType::U8, DType::I32] {
                let mut b = ProgramBuilder::new();
                let (i, x) = (b.iota(axis, dtype), b.load(dtype));
                let sum = b.apply(Op::Add, &[i, x]).unwrap();
                let program = b.finish(&[sum, i]).unwrap();
                for (name, layout) in layouts(shape) {
                    if repeats(&layout) {
                        continue;
                    }
                    let n: usize = shape.iter().product();
                    let values: Vec<Scalar> = (0..n)
                        .map(|i| Scalar::from_i64(dtype, i as i64 % 100))
                        .collect();
                    let input = Array::new(&host, dtype, Layout::contiguous(shape), &values);
                    let outs = map(
                        &host,
                        &program,
                        shape,
                        &[input],
                        &[],
                        &[layout.clone(), layout.clone()],
                    );
                    let after: usize = shape[axis + 1..].iter().product();
                    let coordinate =
                        |i: usize| Scalar::from_i64(dtype, (i / after % shape[axis]) as i64);
                    let expected: Vec<Scalar> = (0..n).map(coordinate).collect();
                    assert_same(
                        &outs[1].elements(&host),
                        &expected,
                        &format!("{shape:?} {axis} {dtype} {name}"),
                    );
                    let sums: Vec<Scalar> = (0..n)
                        .map(|i| naive(Op::Add, &[coordinate(i), values[i]]))
                        .collect();
                    assert_same(
                        &outs[0].elements(&host),
                        &sums,
                        &format!("{shape:?} {axis} {dtype} {name}"),
                    );
                }
            }
        }
    }
}

/// A program of random instructions with several outputs, run as one and one instruction at a time.
#[test]
fn fused_programs_give_the_bits_of_single_steps() {
    let host = serial();
    let tight = Host::new(
        "test",
        Some(Pool::new(Some(3), None).unwrap()),
        Some(1),
        None,
    );
    for seed in affordable(1..60u64, 1..3) {
        let mut rng = Rng(seed * 0x9e37_79b9);
        let shapes = [&[5][..], &[1500], &[40, 60], &[3, 7, 90]];
        let shape: &[usize] = affordable(shapes, [&[5], &[70], &[5, 9], &[3, 2, 7]])[rng.below(4)];
        let n: usize = shape.iter().product();
        let mut b = ProgramBuilder::new();
        let mut values: Vec<Vec<Scalar>> = Vec::new();
        let (mut inputs, mut params) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let dtype = DType::ALL[rng.below(14)];
            let all = layouts(shape);
            let layout = all[rng.below(all.len())].1.clone();
            let array = Array::empty(&host, dtype, layout);
            let bytes: Vec<u8> = (0..array.buffer.len() / dtype.itemsize())
                .flat_map(|_| rng.scalar(dtype).bytes().to_vec())
                .collect();
            host.write(&array.buffer, 0, &bytes).unwrap();
            b.load(dtype);
            values.push(array.elements(&host));
            inputs.push(array);
        }
        let dtype = DType::ALL[rng.below(14)];
        let param = rng.scalar(dtype);
        b.param(dtype);
        params.push(param);
        values.push(vec![param; n]);
        while b.len() < 24 {
            let x = rng.below(b.len()) as Slot;
            if rng.below(4) == 0 {
                b.cast(x, DType::ALL[rng.below(14)]);
            } else {
                let op = Op::TABLE[rng.below(Op::TABLE.len())].op;
                let dtype = b.dtype(x);
                let Some(_) = op.result(dtype) else { continue };
                let mut args: Vec<Slot> = vec![x];
                while args.len() < op.info().arity {
                    let y = rng.below(b.len()) as Slot;
                    args.push(b.cast(y, dtype));
                }
                if op == Op::Select {
                    args[0] = b.cast(x, DType::Bool);
                    args[1] = b.cast(args[1], dtype);
                }
                b.apply(op, &args).unwrap();
            }
        }
        let last = b.len() as Slot - 1;
        let outs = [
            last,
            rng.below(b.len()) as Slot,
            rng.below(b.len()) as Slot,
            last,
        ];
        let program = b.finish(&outs).unwrap();
        // Step by step, each value in a dense array.
        let mut steps: Vec<Array> = Vec::new();
        let dense = Layout::contiguous(shape);
        for (slot, instr) in program.instrs().iter().enumerate() {
            let array = match instr.code {
                rustarr_interface::Code::Load(_) | rustarr_interface::Code::Param(_) => {
                    Array::new(&host, instr.dtype, dense.clone(), &values[slot])
                }
                code => {
                    let mut one = ProgramBuilder::new();
                    let args: Vec<&Array> = instr
                        .args
                        .iter()
                        .filter_map(|a| steps.get(*a as usize))
                        .collect();
                    let loads: Vec<Slot> = args.iter().map(|a| one.load(a.dtype)).collect();
                    let out = match code {
                        rustarr_interface::Code::Apply(op) => one.apply(op, &loads).unwrap(),
                        _ => one.cast(loads[0], instr.dtype),
                    };
                    let one = one.finish(&[out]).unwrap();
                    let args: Vec<Array> = args.into_iter().cloned().collect();
                    map(&host, &one, shape, &args, &[], std::slice::from_ref(&dense)).remove(0)
                }
            };
            steps.push(array);
        }
        let wanted = layouts(shape);
        let o = |rng: &mut Rng| loop {
            let layout = &wanted[rng.below(wanted.len())].1;
            if !repeats(layout) {
                return layout.clone();
            }
        };
        let layouts: Vec<Layout> = outs.iter().map(|_| o(&mut rng)).collect();
        for host in [&host, &tight] {
            let results = map(host, &program, shape, &inputs, &params, &layouts);
            for (k, &slot) in outs.iter().enumerate() {
                let expected = steps[slot as usize].elements(host);
                assert_same(
                    &results[k].elements(host),
                    &expected,
                    &format!("seed {seed} output {k} of {program:?}"),
                );
            }
        }
    }
}

/// An output may be the memory of an input, also where another output still needs that input.
#[test]
fn donated_inputs_are_read_before_they_are_written() {
    let host = Host::new("test", None, Some(1), None);
    for shape in affordable([&[10][..], &[3000], &[50, 70]], [&[10], &[33], &[3, 5]]) {
        let n: usize = shape.iter().product();
        for (name, layout) in layouts(shape) {
            if repeats(&layout) {
                continue;
            }
            let values = |k: i64| {
                (0..n as i64)
                    .map(|i| Scalar::new(i * k + k))
                    .collect::<Vec<_>>()
            };
            let mut b = ProgramBuilder::new();
            let (x, y) = (b.load(DType::I64), b.load(DType::I64));
            let swap = b.finish(&[y, x]).unwrap();
            let mut b = ProgramBuilder::new();
            let (x2, y2) = (b.load(DType::I64), b.load(DType::I64));
            let sum = b.apply(Op::Add, &[x2, y2]).unwrap();
            let difference = b.apply(Op::Subtract, &[x2, y2]).unwrap();
            let both = b.finish(&[sum, difference]).unwrap();
            for (program, f) in [
                (&swap, (|a, b| (b, a)) as fn(i64, i64) -> (i64, i64)),
                (&both, |a, b| (a + b, a - b)),
            ] {
                let a = Array::new(&host, DType::I64, layout.clone(), &values(3));
                let b = Array::new(&host, DType::I64, layout.clone(), &values(5));
                let operands: [Operand<'_>; 2] = [a.operand(), b.operand()];
                let args = Args {
                    shape,
                    inputs: &operands,
                    params: &[],
                    outputs: &operands,
                    donated: &[Some(0), Some(1)],
                };
                host.map(program, args).unwrap();
                let pairs = values(3).into_iter().zip(values(5));
                let (first, second): (Vec<Scalar>, Vec<Scalar>) = pairs
                    .map(|(p, q)| {
                        let (r, s) = f(p.get().unwrap(), q.get().unwrap());
                        (Scalar::new(r), Scalar::new(s))
                    })
                    .unzip();
                assert_same(&a.elements(&host), &first, &format!("{shape:?} {name}"));
                assert_same(&b.elements(&host), &second, &format!("{shape:?} {name}"));
            }
        }
    }
}

#[test]
fn parameters_fill_and_do_not_recompile() {
    let host = serial();
    let shape = &affordable([30, 41], [3, 41]);
    for dtype in DType::ALL {
        let mut rng = Rng(5);
        let value = rng.scalar(dtype);
        for (name, layout) in layouts(shape) {
            if repeats(&layout) {
                continue;
            }
            let out = map(
                &host,
                &Program::fill(dtype),
                shape,
                &[],
                &[value],
                &[layout],
            );
            assert_same(
                &out[0].elements(&host),
                &vec![value; shape[0] * shape[1]],
                &format!("{dtype} {name}"),
            );
        }
    }
}

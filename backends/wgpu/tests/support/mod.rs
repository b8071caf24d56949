//! What the device tests share: one backend, arrays in and out, ULP distances.

#![allow(dead_code)] // every test binary uses its own part

pub mod naive;

use std::sync::{Arc, OnceLock};

use rustarr_interface::{
    Args, AxisMask, Backend, Buffer, DType, Element, Layout, Op, Operand, Program, ProgramBuilder,
    Reduce, Scalar,
};
use rustarr_wgpu::{Choice, WgpuBackend};

/// Set to `1` where there is no adapter on purpose: the device tests then pass unrun.
const NO_GPU: &str = "RUSTARR_TEST_NO_GPU";

/// The backend of this test binary, on a software adapter if need be. Fails where there is no
/// adapter; `None` only where the environment says that there is none on purpose.
pub fn gpu() -> Option<Arc<WgpuBackend>> {
    static GPU: OnceLock<Arc<WgpuBackend>> = OnceLock::new();
    if std::env::var(NO_GPU).is_ok_and(|v| v == "1") {
        eprintln!("{NO_GPU}=1: device test not run");
        return None;
    }
    Some(Arc::clone(GPU.get_or_init(fresh)))
}

/// A backend of its own.
pub fn fresh() -> Arc<WgpuBackend> {
    let choice = Choice {
        allow_software: true,
        ..Choice::default()
    };
    WgpuBackend::open(&choice, None).unwrap_or_else(|e| {
        panic!("the device tests need an adapter ({NO_GPU}=1 leaves them out): {e}")
    })
}

/// An array on the device.
#[derive(Clone)]
pub struct Arr {
    pub buffer: Buffer,
    pub layout: Layout,
    pub dtype: DType,
}

impl Arr {
    pub fn operand(&self) -> Operand<'_> {
        Operand {
            buffer: &self.buffer,
            layout: &self.layout,
            dtype: self.dtype,
        }
    }
}

/// A dense array of the values.
pub fn upload<T: Element>(gpu: &WgpuBackend, shape: &[usize], values: &[T]) -> Arr {
    assert_eq!(shape.iter().product::<usize>(), values.len());
    let buffer = gpu.alloc(size_of_val(values)).unwrap();
    gpu.write(&buffer, 0, bytemuck::cast_slice(values)).unwrap();
    Arr {
        buffer,
        layout: Layout::contiguous(shape),
        dtype: T::DTYPE,
    }
}

/// A dense array whose bytes are all `0xa5`, so that missing writes show.
pub fn blank(gpu: &WgpuBackend, shape: &[usize], dtype: DType) -> Arr {
    let bytes = shape.iter().product::<usize>() * dtype.itemsize();
    let buffer = gpu.alloc(bytes).unwrap();
    gpu.write(&buffer, 0, &vec![0xa5; bytes]).unwrap();
    Arr {
        buffer,
        layout: Layout::contiguous(shape),
        dtype,
    }
}

/// The whole buffer behind an array.
pub fn raw<T: Element>(gpu: &WgpuBackend, a: &Arr) -> Vec<T> {
    let mut bytes = vec![0; a.buffer.len()];
    gpu.read(&a.buffer, 0, &mut bytes).unwrap();
    bytes
        .chunks_exact(size_of::<T>())
        .map(bytemuck::pod_read_unaligned)
        .collect()
}

/// The array's elements in row-major order.
pub fn download<T: Element>(gpu: &WgpuBackend, a: &Arr) -> Vec<T> {
    let all = raw::<T>(gpu, a);
    (0..a.layout.size())
        .map(|i| all[a.layout.position(i)])
        .collect()
}

/// Runs a program into fresh dense outputs.
pub fn run(
    gpu: &WgpuBackend,
    program: &Program,
    shape: &[usize],
    inputs: &[&Arr],
    params: &[Scalar],
) -> Vec<Arr> {
    let outs: Vec<Arr> = (0..program.outs().len())
        .map(|n| blank(gpu, shape, program.out_dtype(n)))
        .collect();
    run_into(
        gpu,
        program,
        shape,
        inputs,
        params,
        &outs.iter().collect::<Vec<_>>(),
        &[],
    );
    outs
}

pub fn run_into(
    gpu: &WgpuBackend,
    program: &Program,
    shape: &[usize],
    inputs: &[&Arr],
    params: &[Scalar],
    outputs: &[&Arr],
    donated: &[Option<u16>],
) {
    let inputs: Vec<Operand<'_>> = inputs.iter().map(|a| a.operand()).collect();
    let outputs: Vec<Operand<'_>> = outputs.iter().map(|a| a.operand()).collect();
    let args = Args {
        shape,
        inputs: &inputs,
        params,
        outputs: &outputs,
        donated,
    };
    gpu.map(program, args).unwrap();
}

/// Folds a program's values over axes.
pub fn fold(
    gpu: &WgpuBackend,
    reduce: Reduce,
    program: &Program,
    shape: &[usize],
    axes: &[usize],
    inputs: &[&Arr],
) -> Arr {
    let mask = AxisMask::of(axes.iter().copied());
    let kept: Vec<usize> = (0..shape.len())
        .filter(|a| !mask.contains(*a))
        .map(|a| shape[a])
        .collect();
    let dtype = match reduce {
        Reduce::ArgMin | Reduce::ArgMax => DType::I64,
        _ => program.out_dtype(0),
    };
    let out = blank(gpu, &kept, dtype);
    let inputs: Vec<Operand<'_>> = inputs.iter().map(|a| a.operand()).collect();
    let outputs = [out.operand()];
    let args = Args {
        shape,
        inputs: &inputs,
        params: &[],
        outputs: &outputs,
        donated: &[],
    };
    gpu.reduce(reduce, program, mask, args).unwrap();
    out
}

/// The program of one operation on loads.
pub fn single(op: Op, dtype: DType) -> Program {
    let mut b = ProgramBuilder::new();
    let operands: Vec<_> = (0..op.info().arity)
        .map(|n| {
            b.load(if op == Op::Select && n == 0 {
                DType::Bool
            } else {
                dtype
            })
        })
        .collect();
    let out = b.apply(op, &operands).unwrap();
    b.finish(&[out]).unwrap()
}

/// The program that hands its input on.
pub fn identity(dtype: DType) -> Program {
    let mut b = ProgramBuilder::new();
    let x = b.load(dtype);
    b.finish(&[x]).unwrap()
}

/// Distance in units of the last place of the exact value: 0 for equal values and for two NaN.
pub fn ulps(got: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    if got == rounded {
        return 0.0;
    }
    if rounded.is_infinite() || got.is_infinite() {
        // Next to the overflow threshold either side is fine.
        let edge = f64::from(f32::MAX);
        return if (exact.abs() - edge).abs() < edge * 1e-6 {
            1.0
        } else {
            f64::INFINITY
        };
    }
    let exponent = exact.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() as i32;
    (f64::from(got) - exact).abs() / 2f64.powi(exponent - 23)
}

/// Numbers where functions go wrong.
pub const SPECIAL: &[f32] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    1.5,
    -1.5,
    2.5,
    -2.5,
    3.0,
    0.99999994,
    1.0000001,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    1e-40,
    f32::MAX,
    f32::MIN,
    16777216.0,
    16777215.0,
    -16777217.0,
    8388607.5,
    -8388608.5,
    4194303.2,
    2147483648.0,
    -2147483648.0,
    4294967296.0,
    9.223372e18,
    1.8446744e19,
    88.7,
    88.73,
    -87.4,
    -103.9,
    -104.0,
    std::f32::consts::LN_2,
    0.346_573_6,
    std::f32::consts::FRAC_PI_2,
    std::f32::consts::FRAC_PI_4,
    std::f32::consts::PI,
    std::f32::consts::TAU,
    1e5,
    1e10,
    1e20,
    -1e30,
    255.5,
    256.0,
    127.5,
    -128.5,
    65504.0,
    65519.9,
    65520.0,
    5.9604645e-8,
    2.9802322e-8,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// A dense vector of scalars of one dtype.
pub fn upload_scalars(gpu: &WgpuBackend, dtype: DType, values: &[Scalar]) -> Arr {
    let bytes: Vec<u8> = values.iter().flat_map(|s| s.bytes().to_vec()).collect();
    let buffer = gpu.alloc(bytes.len()).unwrap();
    gpu.write(&buffer, 0, &bytes).unwrap();
    Arr {
        buffer,
        layout: Layout::contiguous(&[values.len()]),
        dtype,
    }
}

/// The array's elements as scalars, in row-major order.
pub fn download_scalars(gpu: &WgpuBackend, a: &Arr) -> Vec<Scalar> {
    let mut bytes = vec![0; a.buffer.len()];
    gpu.read(&a.buffer, 0, &mut bytes).unwrap();
    let size = a.dtype.itemsize();
    (0..a.layout.size())
        .map(|i| Scalar::from_bytes(a.dtype, &bytes[a.layout.position(i) * size..][..size]))
        .collect()
}

/// Whether two scalars are the same value: bits, or both NaN.
pub fn same(a: &Scalar, b: &Scalar) -> bool {
    a.bytes() == b.bytes() || a.to_f64().is_nan() && b.to_f64().is_nan()
}

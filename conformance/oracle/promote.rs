//! Result dtypes, derived from the words of the standard and of NumPy rather than from the front end's table.

use rustarr::Weak;
use rustarr_interface::{DType, Kinds, Op, Promote};

fn rank(dtype: DType) -> u8 {
    match dtype.kind() {
        Kinds::BOOL => 0,
        Kinds::SIGNED | Kinds::UNSIGNED => 1,
        Kinds::FLOAT => 2,
        _ => 3,
    }
}

/// The float with room for an integer dtype, as NumPy picks it.
fn float_for(dtype: DType) -> DType {
    match (rank(dtype), dtype.itemsize()) {
        (0 | 1, 1) => DType::F16,
        (0 | 1, 2) => DType::F32,
        (0 | 1, _) => DType::F64,
        _ => dtype.real(),
    }
}

/// The dtype of two arrays together.
pub fn join(a: DType, b: DType) -> DType {
    let (low, high) = if rank(a) <= rank(b) { (a, b) } else { (b, a) };
    match (rank(low), rank(high)) {
        (0, _) => high,
        (1, 1) if a.kind() == b.kind() => {
            if a.itemsize() >= b.itemsize() {
                a
            } else {
                b
            }
        }
        (1, 1) => {
            let (signed, unsigned) = if a.is(Kinds::SIGNED) { (a, b) } else { (b, a) };
            match signed.itemsize().max(2 * unsigned.itemsize()) {
                2 => DType::I16,
                4 => DType::I32,
                8 => DType::I64,
                _ => DType::F64,
            }
        }
        (_, 2) => wider(float_for(low), high),
        _ => match wider(float_for(low), high.real()) {
            DType::F64 => DType::C128,
            _ => DType::C64,
        },
    }
}

fn wider(a: DType, b: DType) -> DType {
    if a.itemsize() >= b.itemsize() { a } else { b }
}

/// The dtype of an array of `dtype` (or of none) with a Python scalar.
pub fn join_scalar(dtype: Option<DType>, scalar: Weak) -> DType {
    let inexact = dtype.filter(|d| rank(*d) >= 2);
    match scalar {
        Weak::Bool(_) => dtype.unwrap_or(DType::Bool),
        Weak::Int(_) | Weak::HugeInt(_) => dtype.filter(|d| rank(*d) >= 1).unwrap_or(DType::I64),
        Weak::Float(_) => inexact.unwrap_or(DType::F64),
        Weak::Complex(_) => match inexact.map(DType::real) {
            Some(DType::F16 | DType::F32) => DType::C64,
            _ => DType::C128,
        },
    }
}

/// The dtype that an operand brings to an operation: functions of floats take each integer as the float it needs.
pub fn brought(op: Op, dtype: DType) -> DType {
    match op.info().promote {
        Promote::Float if rank(dtype) == 1 => float_for(dtype),
        _ => dtype,
    }
}

/// The dtype that an operation computes in once its operands have met in `common`.
pub fn compute(op: Op, common: DType) -> DType {
    match op.info().promote {
        Promote::Float if rank(common) < 2 => float_for(common),
        Promote::Divide if rank(common) < 2 => DType::F64,
        // NumPy counts booleans as int8 where it has integer loops only, and refuses a few.
        Promote::Same if common == DType::Bool && op.result(DType::Bool).is_none() => match op {
            Op::Subtract | Op::Negative | Op::Positive | Op::Sign => common,
            _ if op.result(DType::I8).is_some() => DType::I8,
            _ => common,
        },
        _ => common,
    }
}

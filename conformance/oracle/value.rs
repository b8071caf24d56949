//! Values: what the oracle computes with.

use half::f16;
use num_complex::Complex64;
use rustarr_interface::{DType, Kinds};

/// One element as the oracle knows it. Floating-point values carry the largest absolute error that a
/// right implementation may have; 0 means that the bits are fixed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// `bool`.
    Bool(bool),
    /// An integer of any dtype, in range.
    Int(i128),
    /// A real number, representable in its dtype, and its uncertainty.
    Float(f64, f64),
    /// A complex number and its uncertainty.
    Complex(Complex64, f64),
    /// Whatever an implementation likes: the sign of a NaN, the floor of an uncertain number.
    Any,
}

impl From<bool> for Value {
    fn from(v: bool) -> Self {
        Value::Bool(v)
    }
}
impl From<i128> for Value {
    fn from(v: i128) -> Self {
        Value::Int(v)
    }
}
impl From<f64> for Value {
    fn from(v: f64) -> Self {
        Value::Float(v, 0.0)
    }
}
impl From<Complex64> for Value {
    fn from(v: Complex64) -> Self {
        Value::Complex(v, 0.0)
    }
}

/// Bits of an integer dtype.
pub fn width(dtype: DType) -> u32 {
    dtype.itemsize() as u32 * 8
}

/// The integer modulo two to the width of its dtype.
pub fn wrap(dtype: DType, v: i128) -> i128 {
    let bits = width(dtype);
    let low = v & ((1i128 << bits) - 1);
    if dtype.is(Kinds::SIGNED) && low >> (bits - 1) != 0 {
        low - (1i128 << bits)
    } else {
        low
    }
}

/// The smallest and the largest integer of a dtype.
pub fn int_range(dtype: DType) -> (i128, i128) {
    let bits = width(dtype);
    if dtype.is(Kinds::SIGNED) {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    }
}

/// The nearest number that a floating dtype (or a complex dtype's parts) can hold.
pub fn round(dtype: DType, v: f64) -> f64 {
    match dtype.real() {
        DType::F16 => f16::from_f64(v).to_f64(),
        DType::F32 => v as f32 as f64,
        _ => v,
    }
}

/// The distance from `|v|` to the next larger number of a floating dtype.
pub fn spacing(dtype: DType, v: f64) -> f64 {
    let (digits, lowest) = match dtype.real() {
        DType::F16 => (10, -14),
        DType::F32 => (23, -126),
        _ => (52, -1022),
    };
    if !v.is_finite() {
        return 0.0;
    }
    let exponent = if v == 0.0 {
        lowest
    } else {
        ilogb(v).max(lowest)
    };
    // In two factors, so that the spacing of the smallest numbers does not underflow on the way.
    2f64.powi(exponent) * 2f64.powi(-digits)
}

fn ilogb(v: f64) -> i32 {
    let bits = (v.abs().to_bits() >> 52) as i32;
    if bits == 0 { -1022 } else { bits - 1023 }
}

/// The largest finite number of a floating dtype.
pub fn largest(dtype: DType) -> f64 {
    match dtype.real() {
        DType::F16 => 65504.0,
        DType::F32 => f32::MAX as f64,
        _ => f64::MAX,
    }
}

impl Value {
    /// Whether every implementation gives these bits.
    pub fn is_exact(&self) -> bool {
        match self {
            Value::Bool(_) | Value::Int(_) => true,
            Value::Float(_, e) | Value::Complex(_, e) => *e == 0.0,
            Value::Any => false,
        }
    }

    /// The value of the bytes of one element.
    pub fn from_bytes(dtype: DType, b: &[u8]) -> Value {
        use bytemuck::pod_read_unaligned as read;
        let b = &b[..dtype.itemsize()];
        match dtype {
            DType::Bool => (b[0] != 0).into(),
            DType::I8 => (read::<i8>(b) as i128).into(),
            DType::I16 => (read::<i16>(b) as i128).into(),
            DType::I32 => (read::<i32>(b) as i128).into(),
            DType::I64 => (read::<i64>(b) as i128).into(),
            DType::U8 => (b[0] as i128).into(),
            DType::U16 => (read::<u16>(b) as i128).into(),
            DType::U32 => (read::<u32>(b) as i128).into(),
            DType::U64 => (read::<u64>(b) as i128).into(),
            DType::F16 => read::<f16>(b).to_f64().into(),
            DType::F32 => (read::<f32>(b) as f64).into(),
            DType::F64 => read::<f64>(b).into(),
            DType::C64 => {
                Complex64::new(read::<f32>(&b[..4]) as f64, read::<f32>(&b[4..]) as f64).into()
            }
            DType::C128 => Complex64::new(read::<f64>(&b[..8]), read::<f64>(&b[8..])).into(),
        }
    }

    /// Appends the bytes of the value as an element of `dtype`; zeros for [`Any`](Value::Any).
    pub fn push_bytes(self, dtype: DType, out: &mut Vec<u8>) {
        let float = |v: f64, out: &mut Vec<u8>| match dtype.real() {
            DType::F16 => out.extend(f16::from_f64(v).to_ne_bytes()),
            DType::F32 => out.extend((v as f32).to_ne_bytes()),
            _ => out.extend(v.to_ne_bytes()),
        };
        match self {
            Value::Bool(v) => out.push(v as u8),
            Value::Int(v) => {
                let bytes = v.to_ne_bytes();
                let size = dtype.itemsize();
                if cfg!(target_endian = "big") {
                    out.extend(&bytes[16 - size..]);
                } else {
                    out.extend(&bytes[..size]);
                }
            }
            Value::Float(v, _) => float(v, out),
            Value::Complex(v, _) => {
                float(v.re, out);
                float(v.im, out);
            }
            Value::Any => out.extend(std::iter::repeat_n(0, dtype.itemsize())),
        }
    }

    /// The value as `astype` converts it: integers wrap; floats to integers truncate and saturate, NaN
    /// gives 0; complex to real keeps the real part.
    #[must_use]
    pub fn cast(self, from: DType, to: DType) -> Value {
        if from == to {
            return self;
        }
        let exact = self.is_exact();
        match (self, to.kind()) {
            (Value::Any, _) => Value::Any,
            (Value::Float(v, e), Kinds::FLOAT) if !exact => uncertain(to, v, e),
            (Value::Float(v, e), Kinds::COMPLEX) if !exact => {
                uncertain_complex(to, Complex64::new(v, 0.0), e)
            }
            (Value::Complex(v, e), Kinds::FLOAT) if !exact => uncertain(to, v.re, e),
            (Value::Complex(v, e), Kinds::COMPLEX) if !exact => uncertain_complex(to, v, e),
            _ if !exact => Value::Any,
            (Value::Bool(v), Kinds::BOOL) => v.into(),
            (Value::Bool(v), Kinds::FLOAT) => (v as u8 as f64).into(),
            (Value::Bool(v), Kinds::COMPLEX) => Complex64::new(v as u8 as f64, 0.0).into(),
            (Value::Bool(v), _) => (v as i128).into(),
            (Value::Int(v), Kinds::BOOL) => (v != 0).into(),
            (Value::Int(v), Kinds::FLOAT) => int_to_float(to, v).into(),
            (Value::Int(v), Kinds::COMPLEX) => Complex64::new(int_to_float(to, v), 0.0).into(),
            (Value::Int(v), _) => wrap(to, v).into(),
            (Value::Float(v, _), Kinds::BOOL) => (v != 0.0).into(),
            (Value::Float(v, _), Kinds::FLOAT) => round(to, v).into(),
            (Value::Float(v, _), Kinds::COMPLEX) => Complex64::new(round(to, v), 0.0).into(),
            (Value::Float(v, _), _) => float_to_int(to, v).into(),
            (Value::Complex(v, _), Kinds::BOOL) => (v.re != 0.0 || v.im != 0.0).into(),
            (Value::Complex(v, _), Kinds::FLOAT) => round(to, v.re).into(),
            (Value::Complex(v, _), Kinds::COMPLEX) => {
                Complex64::new(round(to, v.re), round(to, v.im)).into()
            }
            (Value::Complex(v, _), _) => float_to_int(to, v.re).into(),
        }
    }

    /// Whether an implementation's element is right.
    pub fn accepts(&self, got: &Value) -> bool {
        match (self, got) {
            (Value::Any, _) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a, e), Value::Float(b, _)) => near(*a, *b, *e),
            (Value::Complex(a, e), Value::Complex(b, _)) => {
                near(a.re, b.re, *e) && near(a.im, b.im, *e)
            }
            _ => false,
        }
    }
}

fn near(want: f64, got: f64, err: f64) -> bool {
    if want.is_nan() || got.is_nan() {
        return want.is_nan() && got.is_nan();
    }
    if err == 0.0 {
        // The sign of zero counts too.
        return want == got && want.is_sign_negative() == got.is_sign_negative();
    }
    want == got || (want - got).abs() <= err
}

fn int_to_float(to: DType, v: i128) -> f64 {
    match to.real() {
        // In one rounding; through float64 it would be two.
        DType::F32 => v as f32 as f64,
        other => round(other, v as f64),
    }
}

fn float_to_int(to: DType, v: f64) -> i128 {
    let (low, high) = int_range(to);
    // Rust's own conversion truncates, saturates and makes NaN 0.
    (v as i128).clamp(low, high)
}

/// A value with uncertainty `err` before rounding to `dtype`, or `Any` where nothing can be said.
pub fn uncertain(dtype: DType, v: f64, err: f64) -> Value {
    let rounded = round(dtype, v);
    let err = err + spacing(dtype, rounded);
    if !rounded.is_finite() || !err.is_finite() || rounded.abs() + err >= largest(dtype) {
        return Value::Any;
    }
    Value::Float(rounded, err)
}

/// As [`uncertain`], for both parts of a complex number.
pub fn uncertain_complex(dtype: DType, v: Complex64, err: f64) -> Value {
    match (uncertain(dtype, v.re, err), uncertain(dtype, v.im, err)) {
        (Value::Float(re, a), Value::Float(im, b)) => {
            Value::Complex(Complex64::new(re, im), a.max(b))
        }
        _ => Value::Any,
    }
}

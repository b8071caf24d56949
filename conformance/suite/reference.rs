//! The reference of every operation, one row each: what it means, in plain `std` arithmetic.
//!
//! Real numbers of every width are computed in `f64` and rounded once, so that the operations with
//! an exact row are fixed to the bit. A row says `about(n, value)` where an implementation may be `n` units in
//! the last place off on a CPU; on a device the operation table's own bound holds.

use crate::oracle::value::{
    Value, largest, round, spacing, uncertain, uncertain_complex, width, wrap,
};
use half::f16;
use num_complex::Complex64;
use rustarr_interface::{DType, Kinds, Op};
use std::f64::consts::LN_2;

/// Where a result was computed, which decides how far it may be off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// On the CPU backends.
    Cpu,
    /// On a device: the bound is the operation table's.
    Device,
}

macro_rules! pattern {
    (bool $p:pat) => {
        Value::Bool($p)
    };
    (int $p:pat) => {
        Value::Int($p)
    };
    (float $p:pat) => {
        Value::Float($p, _)
    };
    (complex $p:pat) => {
        Value::Complex($p, _)
    };
}

/// Picks the arm of the operands' category and turns its result into a [`Value`].
macro_rules! row {
    ($x:expr; $($kind:ident($($p:ident),+) => $body:expr),+ $(,)?) => {
        match *$x {
            $([$(pattern!($kind $p)),+] => Value::from($body),)+
            _ => Value::Any,
        }
    };
}

/// A result that may be `ulps` units off; the bound becomes absolute in [`evaluate`].
fn about(ulps: u32, v: impl Into<Value>) -> Value {
    match v.into() {
        Value::Float(v, _) => Value::Float(v, ulps as f64),
        Value::Complex(v, _) => Value::Complex(v, ulps as f64),
        other => other,
    }
}

/// Units in the last place of the modulus that complex functions may be off.
const C: u32 = 8;

/// The value of `op`, before rounding, on exact operands of the dtype of the computation.
fn row(op: Op, dtype: DType, x: &[Value]) -> Value {
    match op {
        Op::Add => {
            row!(x; bool(a, b) => a | b, int(a, b) => a + b, float(a, b) => a + b, complex(a, b) => a + b)
        }
        Op::Subtract => row!(x; int(a, b) => a - b, float(a, b) => a - b, complex(a, b) => a - b),
        Op::Multiply => {
            row!(x; bool(a, b) => a & b, int(a, b) => a.wrapping_mul(b), float(a, b) => a * b,
                complex(a, b) => about(C, a * b))
        }
        Op::Divide => row!(x; float(a, b) => a / b, complex(a, b) => about(C, quotient(a, b))),
        Op::FloorDivide => {
            row!(x; int(a, b) => if b == 0 { 0 } else { floor_div(a, b) },
                float(a, b) => floor_quotient(dtype, a, b))
        }
        Op::Remainder => {
            row!(x; int(a, b) => if b == 0 { 0 } else { a - b * floor_div(a, b) },
                float(a, b) => floor_remainder(a, b))
        }
        Op::Pow => {
            row!(x; int(a, b) => int_pow(a, b), float(a, b) => about(2, a.powf(b)),
                complex(a, b) => complex_pow(a, b))
        }
        Op::Negative => row!(x; int(a) => -a, float(a) => -a, complex(a) => -a),
        Op::Positive => row!(x; int(a) => a, float(a) => a, complex(a) => a),
        Op::Abs => {
            row!(x; bool(a) => a, int(a) => a.abs(), float(a) => a.abs(), complex(a) => about(1, a.re.hypot(a.im)))
        }
        Op::Sign => {
            row!(x; int(a) => a.signum(),
                float(a) => if a.is_nan() { a } else if a == 0.0 { 0.0 } else { a.signum() },
                complex(a) => about(C, if a.norm() == 0.0 { Complex64::ZERO } else { a / a.norm() }))
        }
        Op::Square => {
            row!(x; int(a) => a.wrapping_mul(a), float(a) => a * a, complex(a) => about(C, a * a))
        }
        Op::Reciprocal => {
            row!(x; float(a) => 1.0 / a, complex(a) => about(C, quotient(Complex64::ONE, a)))
        }
        Op::Sqrt => row!(x; float(a) => a.sqrt(), complex(a) => about(C, a.sqrt())),
        Op::Hypot => row!(x; float(a, b) => about(1, a.hypot(b))),

        Op::Exp => row!(x; float(a) => about(1, a.exp()), complex(a) => about(C, a.exp())),
        Op::Expm1 => {
            row!(x; float(a) => about(1, a.exp_m1()), complex(a) => about(C, complex_expm1(a)))
        }
        Op::Log => row!(x; float(a) => about(1, a.ln()), complex(a) => about(C, a.ln())),
        Op::Log1p => {
            row!(x; float(a) => about(1, a.ln_1p()), complex(a) => about(C, (a + 1.0).ln()))
        }
        Op::Log2 => row!(x; float(a) => about(1, a.log2()), complex(a) => about(C, a.ln() / LN_2)),
        Op::Log10 => {
            row!(x; float(a) => about(1, a.log10()), complex(a) => about(C, a.ln() / 10f64.ln()))
        }
        Op::LogAddExp => row!(x; float(a, b) => log_add_exp(dtype, a, b)),

        Op::Sin => row!(x; float(a) => about(1, a.sin()), complex(a) => about(C, a.sin())),
        Op::Cos => row!(x; float(a) => about(1, a.cos()), complex(a) => about(C, a.cos())),
        Op::Tan => row!(x; float(a) => about(1, a.tan()), complex(a) => about(C, a.tan())),
        Op::Asin => row!(x; float(a) => about(1, a.asin()), complex(a) => about(C, cut::asin(a))),
        Op::Acos => row!(x; float(a) => about(1, a.acos()), complex(a) => about(C, cut::acos(a))),
        Op::Atan => row!(x; float(a) => about(1, a.atan()), complex(a) => about(C, cut::atan(a))),
        Op::Atan2 => row!(x; float(a, b) => about(1, a.atan2(b))),
        Op::Sinh => row!(x; float(a) => about(1, a.sinh()), complex(a) => about(C, a.sinh())),
        Op::Cosh => row!(x; float(a) => about(1, a.cosh()), complex(a) => about(C, a.cosh())),
        Op::Tanh => row!(x; float(a) => about(1, a.tanh()), complex(a) => about(C, a.tanh())),
        Op::Asinh => row!(x; float(a) => about(1, asinh(a)), complex(a) => about(C, cut::asinh(a))),
        Op::Acosh => row!(x; float(a) => about(1, acosh(a)), complex(a) => about(C, cut::acosh(a))),
        Op::Atanh => row!(x; float(a) => about(1, atanh(a)), complex(a) => about(C, cut::atanh(a))),

        Op::Ceil => row!(x; int(a) => a, float(a) => a.ceil()),
        Op::Floor => row!(x; int(a) => a, float(a) => a.floor()),
        Op::Trunc => row!(x; int(a) => a, float(a) => a.trunc()),
        Op::Round => {
            row!(x; int(a) => a, float(a) => a.round_ties_even(),
                complex(a) => Complex64::new(a.re.round_ties_even(), a.im.round_ties_even()))
        }

        Op::CopySign => {
            row!(x; float(a, b) => if b.is_nan() { Value::Any } else { a.copysign(b).into() })
        }
        Op::NextAfter => row!(x; float(a, b) => next_after(dtype, a, b)),
        Op::SignBit => {
            row!(x; float(a) => if a.is_nan() { Value::Any } else { a.is_sign_negative().into() })
        }
        Op::IsFinite => {
            row!(x; bool(_a) => true, int(_a) => true, float(a) => a.is_finite(), complex(a) => a.is_finite())
        }
        Op::IsInf => {
            row!(x; bool(_a) => false, int(_a) => false, float(a) => a.is_infinite(),
                complex(a) => a.re.is_infinite() || a.im.is_infinite())
        }
        Op::IsNan => {
            row!(x; bool(_a) => false, int(_a) => false, float(a) => a.is_nan(),
                complex(a) => a.re.is_nan() || a.im.is_nan())
        }

        Op::Conj => row!(x; int(a) => a, float(a) => a, complex(a) => a.conj()),
        Op::Real => row!(x; int(a) => a, float(a) => a, complex(a) => a.re),
        Op::Imag => row!(x; int(_a) => 0i128, float(_a) => 0.0, complex(a) => a.im),

        Op::Equal => {
            row!(x; bool(a, b) => a == b, int(a, b) => a == b, float(a, b) => a == b, complex(a, b) => a == b)
        }
        Op::NotEqual => {
            row!(x; bool(a, b) => a != b, int(a, b) => a != b, float(a, b) => a != b, complex(a, b) => a != b)
        }
        Op::Less => row!(x; bool(a, b) => !a & b, int(a, b) => a < b, float(a, b) => a < b),
        Op::LessEqual => row!(x; bool(a, b) => !a | b, int(a, b) => a <= b, float(a, b) => a <= b),
        Op::Greater => row!(x; bool(a, b) => a & !b, int(a, b) => a > b, float(a, b) => a > b),
        Op::GreaterEqual => {
            row!(x; bool(a, b) => a | !b, int(a, b) => a >= b, float(a, b) => a >= b)
        }
        Op::Maximum => {
            row!(x; bool(a, b) => a | b, int(a, b) => a.max(b), float(a, b) => extreme(a, b, a >= b))
        }
        Op::Minimum => {
            row!(x; bool(a, b) => a & b, int(a, b) => a.min(b), float(a, b) => extreme(a, b, a <= b))
        }

        Op::BitwiseAnd => row!(x; bool(a, b) => a & b, int(a, b) => a & b),
        Op::BitwiseOr => row!(x; bool(a, b) => a | b, int(a, b) => a | b),
        Op::BitwiseXor => row!(x; bool(a, b) => a ^ b, int(a, b) => a ^ b),
        Op::BitwiseInvert => row!(x; bool(a) => !a, int(a) => !a),
        Op::BitwiseLeftShift => {
            row!(x; int(a, n) => if (0..width(dtype) as i128).contains(&n) { a << n } else { 0 })
        }
        Op::BitwiseRightShift => {
            row!(x; int(a, n) => if (0..width(dtype) as i128).contains(&n) { a >> n } else { -((a < 0) as i128) })
        }
        Op::LogicalAnd => row!(x; bool(a, b) => a & b, int(a, b) => a != 0 && b != 0,
            float(a, b) => a != 0.0 && b != 0.0, complex(a, b) => nonzero(a) && nonzero(b)),
        Op::LogicalOr => row!(x; bool(a, b) => a | b, int(a, b) => a != 0 || b != 0,
            float(a, b) => a != 0.0 || b != 0.0, complex(a, b) => nonzero(a) || nonzero(b)),
        Op::LogicalXor => row!(x; bool(a, b) => a ^ b, int(a, b) => (a != 0) ^ (b != 0),
            float(a, b) => (a != 0.0) ^ (b != 0.0), complex(a, b) => nonzero(a) ^ nonzero(b)),
        Op::LogicalNot => {
            row!(x; bool(a) => !a, int(a) => a == 0, float(a) => a == 0.0, complex(a) => !nonzero(a))
        }
        Op::Select => match x {
            [Value::Bool(condition), a, b] => {
                if *condition {
                    *a
                } else {
                    *b
                }
            }
            _ => Value::Any,
        },
    }
}

fn nonzero(a: Complex64) -> bool {
    a.re != 0.0 || a.im != 0.0
}

fn floor_div(a: i128, b: i128) -> i128 {
    let q = a / b;
    if a % b != 0 && (a < 0) != (b < 0) {
        q - 1
    } else {
        q
    }
}

fn int_pow(a: i128, n: i128) -> i128 {
    let (mut power, mut base, mut n) = (1i128, a, n);
    while n > 0 {
        if n & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        n >>= 1;
    }
    power
}

/// The floor of the exact quotient; what division gives where a divisor is zero, NaN of an infinite dividend.
fn floor_quotient(dtype: DType, a: f64, b: f64) -> Value {
    if b == 0.0 || a.is_nan() || b.is_nan() {
        return (a / b).into();
    }
    if a.is_infinite() {
        return f64::NAN.into();
    }
    let rest = a % b;
    let whole = ((a - rest) / b).round();
    let q = if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
        whole - 1.0
    } else {
        whole
    };
    let q = if q == 0.0 { 0f64.copysign(a / b) } else { q };
    // A quotient with more digits than the dtype has been rounded.
    let digits = largest_odd(dtype);
    if q.abs() < digits {
        q.into()
    } else {
        about(1, q)
    }
}

/// The largest power of two below which the dtype has every integer.
fn largest_odd(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(11),
        DType::F32 => 2f64.powi(24),
        _ => 2f64.powi(52),
    }
}

fn floor_remainder(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest.is_nan() {
        rest
    } else if rest == 0.0 {
        0f64.copysign(b)
    } else if (rest < 0.0) != (b < 0.0) {
        rest + b
    } else {
        rest
    }
}

fn complex_pow(a: Complex64, b: Complex64) -> Value {
    if b == Complex64::ZERO {
        return Complex64::ONE.into();
    }
    if a == Complex64::ZERO {
        return if b.re > 0.0 {
            Complex64::ZERO.into()
        } else {
            Complex64::new(f64::NAN, f64::NAN).into()
        };
    }
    // The error of the logarithm grows with the exponent; far out only over- and underflow are left.
    let turns = b * a.ln();
    if turns.is_finite() && turns.norm() < 300.0 {
        about(C * (2 + turns.norm() as u32), turns.exp())
    } else {
        Value::Any
    }
}

fn complex_expm1(a: Complex64) -> Complex64 {
    // exp(x) cos(y) - 1 = expm1(x) cos(y) - 2 sin(y/2)^2, without the cancellation.
    let half = (a.im / 2.0).sin();
    let re = a.re.exp_m1() * a.im.cos() - 2.0 * half * half;
    Complex64::new(re, a.re.exp() * a.im.sin())
}

fn log_add_exp(dtype: DType, a: f64, b: f64) -> Value {
    if a.is_nan() || b.is_nan() {
        return f64::NAN.into();
    }
    if a == b {
        return about(1, a + LN_2);
    }
    let high = a.max(b);
    if high.is_infinite() {
        return high.into();
    }
    let v = high + (-(a - b).abs()).exp().ln_1p();
    if dtype == DType::F64 && v.abs() < 1.0 {
        // The reference itself cancels here.
        let lost = spacing(dtype, high) / spacing(dtype, v);
        return about(1 + lost as u32, v);
    }
    about(1, v)
}

/// `a / b` with `b` scaled to the size of 1 first: its squared modulus would overflow or vanish.
fn quotient(a: Complex64, b: Complex64) -> Complex64 {
    let size = b.re.abs().max(b.im.abs());
    if size == 0.0 || !size.is_finite() {
        return a / b;
    }
    // In two halves, either of which is a finite power of two.
    let exponent = -size.log2().floor();
    let (half, rest) = (
        (exponent / 2.0).trunc().exp2(),
        (exponent - (exponent / 2.0).trunc()).exp2(),
    );
    (a / (b * half * rest)) * half * rest
}

fn asinh(a: f64) -> f64 {
    let x = a.abs();
    let v = if x > 1e8 {
        x.ln() + LN_2
    } else {
        (x + x * x / (1.0 + (1.0 + x * x).sqrt())).ln_1p()
    };
    v.copysign(a)
}

fn acosh(a: f64) -> f64 {
    let t = a - 1.0;
    if a < 1.0 {
        f64::NAN
    } else if a > 1e8 {
        a.ln() + LN_2
    } else {
        (t + (2.0 * t + t * t).sqrt()).ln_1p()
    }
}

fn atanh(a: f64) -> f64 {
    let x = a.abs();
    (0.5 * (2.0 * x / (1.0 - x)).ln_1p()).copysign(a)
}

fn next_after(dtype: DType, a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a == b {
        return b;
    }
    let up = a < b;
    match dtype {
        DType::F16 => {
            let bits = f16::from_f64(a).to_bits();
            let next = match (a == 0.0, up == (a > 0.0)) {
                (true, _) => 1 | (!up as u16) << 15,
                (_, true) => bits + 1,
                (_, false) => bits - 1,
            };
            f16::from_bits(next).to_f64()
        }
        DType::F32 => {
            let a = a as f32;
            (if up { a.next_up() } else { a.next_down() }) as f64
        }
        _ => {
            if up {
                a.next_up()
            } else {
                a.next_down()
            }
        }
    }
}

fn extreme(a: f64, b: f64, first: bool) -> Value {
    if a.is_nan() || b.is_nan() {
        return f64::NAN.into();
    }
    if a == 0.0 && b == 0.0 && a.is_sign_negative() != b.is_sign_negative() {
        return Value::Any;
    }
    (if first { a } else { b }).into()
}

/// What `op`, computed in `dtype` at `place`, may give for these operands of that dtype.
pub fn evaluate(op: Op, dtype: DType, place: Place, x: &[Value]) -> Value {
    let result = op.result(dtype).expect("a legal pair");
    if let [Value::Bool(condition), a, b] = x
        && op == Op::Select
    {
        return if *condition { *a } else { *b };
    }
    if x.iter().any(|v| !v.is_exact()) {
        return propagate(op, result, x);
    }
    let bound = |ulps: f64| match place {
        Place::Device => op.info().ulp as f64,
        // `std` is no more than a unit off itself, and so may be the implementation.
        Place::Cpu if ulps > 0.0 && dtype.real() == DType::F64 => ulps * 4.0,
        Place::Cpu => ulps,
    };
    match row(op, dtype, x) {
        Value::Int(v) => Value::Int(wrap(result, v)),
        Value::Float(v, ulps) => {
            let rounded = round(result, v);
            let ulps = bound(ulps);
            let mut err = ulps * spacing(result, rounded);
            if op == Op::LogAddExp
                && place == Place::Device
                && let [Value::Float(a, _), Value::Float(b, _)] = x
            {
                // Near its zero the terms cancel: the unit is the smaller operand's.
                err = err.max(ulps * spacing(result, a.abs().min(b.abs())));
            }
            // Poles, zeros and branch ends are exact.
            let plain = |v: &Value| matches!(v, Value::Float(v, _) if v.fract() == 0.0 && v.abs() <= 1.0 || !v.is_finite());
            if ulps == 0.0
                || !rounded.is_finite() && !v.is_finite()
                || rounded == 0.0 && x.iter().all(plain)
            {
                Value::Float(rounded, 0.0)
            } else if !rounded.is_finite() || rounded.abs() + err >= largest(result) {
                Value::Any
            } else {
                Value::Float(rounded, err)
            }
        }
        Value::Complex(v, ulps) => {
            let rounded = Complex64::new(round(result, v.re), round(result, v.im));
            let ulps = bound(ulps);
            if ulps == 0.0 {
                return Value::Complex(rounded, 0.0);
            }
            let norm = rounded.re.hypot(rounded.im);
            if !norm.is_finite() || norm * 2.0 >= largest(result) {
                return Value::Any;
            }
            Value::Complex(rounded, ulps * spacing(result, norm))
        }
        other => other,
    }
}

/// The operation on uncertain operands, where the uncertainty of the result follows simply.
fn propagate(op: Op, result: DType, x: &[Value]) -> Value {
    use Value::{Complex, Float};
    if x.iter().any(|v| matches!(v, Float(v, _) if !v.is_finite())) {
        return Value::Any;
    }
    match (op, x) {
        (Op::Positive, [a]) => *a,
        (Op::Negative, [Float(a, e)]) => Float(-a, *e),
        (Op::Abs, [Float(a, e)]) => Float(a.abs(), *e),
        (Op::Negative, [Complex(a, e)]) => Complex(-a, *e),
        (Op::Conj, [Complex(a, e)]) => Complex(a.conj(), *e),
        (Op::Real, [Complex(a, e)]) => Float(a.re, *e),
        (Op::Imag, [Complex(a, e)]) => Float(a.im, *e),
        (Op::Add, [Float(a, d), Float(b, e)]) => uncertain(result, a + b, d + e),
        (Op::Subtract, [Float(a, d), Float(b, e)]) => uncertain(result, a - b, d + e),
        (Op::Multiply, [Float(a, d), Float(b, e)]) => {
            uncertain(result, a * b, a.abs() * e + b.abs() * d + d * e)
        }
        (Op::Square, [Float(a, e)]) => uncertain(result, a * a, 2.0 * a.abs() * e + e * e),
        (Op::Maximum, [Float(a, d), Float(b, e)]) => uncertain(result, a.max(*b), d.max(*e)),
        (Op::Minimum, [Float(a, d), Float(b, e)]) => uncertain(result, a.min(*b), d.max(*e)),
        (Op::Add, [Complex(a, d), Complex(b, e)]) => uncertain_complex(result, a + b, d + e),
        (Op::Subtract, [Complex(a, d), Complex(b, e)]) => uncertain_complex(result, a - b, d + e),
        _ => Value::Any,
    }
}

/// The dtypes in which an operation computes.
pub fn legal_dtypes(op: Op) -> impl Iterator<Item = DType> {
    DType::ALL
        .into_iter()
        .filter(move |d| op.result(*d).is_some())
}

/// Whether an operation of integers refuses this exponent.
pub fn refuses_exponent(op: Op, dtype: DType, exponent: &Value) -> bool {
    op == Op::Pow && dtype.is(Kinds::SIGNED) && matches!(exponent, Value::Int(n) if *n < 0)
}

/// Inverse functions of complex numbers that keep the side of a branch cut, which the sign of a zero tells.
///
/// Source: W. Kahan, "Branch cuts for complex elementary functions", 1987.
mod cut {
    use num_complex::Complex64;

    fn new(re: f64, im: f64) -> Complex64 {
        Complex64::new(re, im)
    }

    pub(super) fn asin(z: Complex64) -> Complex64 {
        let (below, above) = (new(1.0 - z.re, -z.im).sqrt(), new(1.0 + z.re, z.im).sqrt());
        new(
            z.re.atan2((below * above).re),
            super::asinh((below.conj() * above).im),
        )
    }

    pub(super) fn acos(z: Complex64) -> Complex64 {
        let (below, above) = (new(1.0 - z.re, -z.im).sqrt(), new(1.0 + z.re, z.im).sqrt());
        new(
            2.0 * below.re.atan2(above.re),
            super::asinh((above.conj() * below).im),
        )
    }

    pub(super) fn asinh(z: Complex64) -> Complex64 {
        let w = asin(new(z.im, -z.re));
        new(-w.im, w.re)
    }

    pub(super) fn acosh(z: Complex64) -> Complex64 {
        let (below, above) = (new(z.re - 1.0, z.im).sqrt(), new(z.re + 1.0, z.im).sqrt());
        new(
            super::asinh((below.conj() * above).re),
            2.0 * below.im.atan2(above.re),
        )
    }

    pub(super) fn atan(z: Complex64) -> Complex64 {
        let w = atanh(new(-z.im, z.re));
        new(w.im, -w.re)
    }

    pub(super) fn atanh(z: Complex64) -> Complex64 {
        (new(1.0 + z.re, z.im).ln() - new(1.0 - z.re, -z.im).ln()) * 0.5
    }
}

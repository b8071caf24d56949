//! A naive evaluator of single operations, on numbers as wide as they come.

use rustarr_interface::{DType, Kinds, Op, Scalar, f16};

/// A value, outside of any dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Val {
    B(bool),
    I(i128),
    F(f64),
}

impl Val {
    pub fn of(s: Scalar) -> Val {
        let d = s.dtype();
        if d == DType::Bool {
            Val::B(s.to_i128() != 0)
        } else if d.is(Kinds::INT) {
            Val::I(s.to_i128())
        } else {
            Val::F(s.to_f64())
        }
    }

    /// The value as an element of the dtype: wrapped or rounded.
    pub fn scalar(self, dtype: DType) -> Scalar {
        match self {
            Val::B(b) => Scalar::from_i64(DType::U8, b as i64).cast(dtype),
            Val::I(i) => Scalar::from_i64(DType::I64, i as i64).cast(dtype),
            Val::F(x) => Scalar::from_f64(dtype, x),
        }
    }
}

/// Rounds to the float dtype.
fn round(dtype: DType, x: f64) -> f64 {
    Scalar::from_f64(dtype, x).to_f64()
}

fn floor_divide(dtype: DType, a: f64, b: f64) -> f64 {
    let single = dtype != DType::F64;
    let ratio = if single {
        (a as f32 / b as f32) as f64
    } else {
        a / b
    };
    if b == 0.0 {
        return ratio;
    }
    let m = a % b;
    if m.is_nan() {
        return m;
    }
    let limit = if single {
        16777216.0
    } else {
        9007199254740992.0
    };
    let far = if single {
        ((a as f32 - m as f32) / b as f32).round_ties_even() as f64
    } else {
        ((a - m) / b).round_ties_even()
    };
    // Below the limit the quotient of what the remainder leaves is a whole number.
    let mut q = if ratio.abs() >= limit {
        far
    } else {
        ((a - m) / b).round_ties_even()
    };
    if m != 0.0 && (m < 0.0) != (b < 0.0) {
        q = if single {
            (q as f32 - 1.0) as f64
        } else {
            q - 1.0
        };
    }
    if q == 0.0 { 0f64.copysign(ratio) } else { q }
}

fn remainder(a: f64, b: f64) -> f64 {
    let m = a % b;
    if m.is_nan() {
        m
    } else if m == 0.0 {
        0f64.copysign(b)
    } else if (m < 0.0) != (b < 0.0) {
        m + b
    } else {
        m
    }
}

fn next(dtype: DType, x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    if x == y {
        return y;
    }
    let up = y > x;
    match dtype {
        DType::F16 => {
            let h = f16::from_f64(x);
            let bits = match (x == 0.0, up == (x > 0.0)) {
                (true, _) => {
                    if up {
                        1
                    } else {
                        0x8001
                    }
                }
                (false, true) => h.to_bits() + 1,
                (false, false) => h.to_bits() - 1,
            };
            f16::from_bits(bits).to_f64()
        }
        DType::F32 => {
            (if up {
                (x as f32).next_up()
            } else {
                (x as f32).next_down()
            }) as f64
        }
        _ => {
            if up {
                x.next_up()
            } else {
                x.next_down()
            }
        }
    }
}

fn bits_of(dtype: DType) -> i128 {
    8 * dtype.itemsize() as i128
}

/// The operation in the dtype; `None` where this evaluator has no opinion.
pub fn eval(op: Op, dtype: DType, v: &[Val]) -> Option<Val> {
    use Val::{B, F, I};
    let truth = |v: &Val| match *v {
        B(b) => b,
        I(i) => i != 0,
        F(x) => x != 0.0,
    };
    let out = match (op, v) {
        (Op::Select, [c, a, b]) => {
            if truth(c) {
                *a
            } else {
                *b
            }
        }
        (Op::LogicalAnd, [a, b]) => B(truth(a) && truth(b)),
        (Op::LogicalOr, [a, b]) => B(truth(a) || truth(b)),
        (Op::LogicalXor, [a, b]) => B(truth(a) != truth(b)),
        (Op::LogicalNot, [a]) => B(!truth(a)),
        (Op::IsNan, [F(x)]) => B(x.is_nan()),
        (Op::IsInf, [F(x)]) => B(x.is_infinite()),
        (Op::IsFinite, [F(x)]) => B(x.is_finite()),
        (Op::IsNan | Op::IsInf, [_]) => B(false),
        (Op::IsFinite, [_]) => B(true),
        (Op::Equal, [a, b]) => B(a == b),
        (Op::NotEqual, [a, b]) => B(a != b),
        (Op::Positive | Op::Conj | Op::Real, [a]) => *a,
        (Op::Imag, [F(_)]) => F(0.0),
        (Op::Imag, [I(_)]) => I(0),
        (_, [B(a)]) => match op {
            Op::Abs => B(*a),
            Op::BitwiseInvert => B(!a),
            _ => return None,
        },
        (_, [B(a), B(b)]) => match op {
            Op::Add | Op::BitwiseOr | Op::Maximum => B(a | b),
            Op::Multiply | Op::BitwiseAnd | Op::Minimum => B(a & b),
            Op::BitwiseXor => B(a ^ b),
            Op::Less => B(!a & b),
            Op::LessEqual => B(a <= b),
            Op::Greater => B(a > b),
            Op::GreaterEqual => B(a >= b),
            _ => return None,
        },
        (_, [I(a)]) => match op {
            Op::Negative => I(-a),
            Op::Abs => I(a.abs()),
            Op::Sign => I(a.signum()),
            Op::Square => I(a.wrapping_mul(*a)),
            Op::BitwiseInvert => I(!a),
            Op::Ceil | Op::Floor | Op::Trunc | Op::Round => I(*a),
            _ => return None,
        },
        (_, [I(a), I(b)]) => match op {
            Op::Add => I(a + b),
            Op::Subtract => I(a - b),
            Op::Multiply => I(a.wrapping_mul(*b)),
            Op::FloorDivide if *b == 0 => I(0),
            Op::FloorDivide => I(a.div_euclid(*b) - (*b < 0 && a.rem_euclid(*b) != 0) as i128),
            Op::Remainder if *b == 0 => I(0),
            Op::Remainder => I(((a % b) + b) % b),
            Op::Pow if *b < 0 => return None,
            Op::Pow => {
                let (mut r, mut base, mut left) = (1i128, *a, *b);
                while left > 0 {
                    if left & 1 == 1 {
                        r = (r.wrapping_mul(base)) as u64 as i128;
                    }
                    base = base.wrapping_mul(base) as u64 as i128;
                    left >>= 1;
                }
                I(r)
            }
            Op::BitwiseAnd => I(a & b),
            Op::BitwiseOr => I(a | b),
            Op::BitwiseXor => I(a ^ b),
            Op::BitwiseLeftShift if *b < 0 || *b >= bits_of(dtype) => I(0),
            Op::BitwiseLeftShift => I(a << b),
            Op::BitwiseRightShift if *b < 0 || *b >= bits_of(dtype) => {
                I(if *a < 0 { -1 } else { 0 })
            }
            Op::BitwiseRightShift => I(a >> b),
            Op::Less => B(a < b),
            Op::LessEqual => B(a <= b),
            Op::Greater => B(a > b),
            Op::GreaterEqual => B(a >= b),
            Op::Maximum => I(*a.max(b)),
            Op::Minimum => I(*a.min(b)),
            _ => return None,
        },
        (_, [F(a)]) => match op {
            Op::Negative => F(-a),
            Op::Abs => F(a.abs()),
            Op::Sign if *a == 0.0 => F(0.0),
            Op::Sign => F(if a.is_nan() { *a } else { a.signum() }),
            Op::Square => F(a * a),
            Op::Reciprocal => F(1.0 / a),
            Op::Sqrt => F(a.sqrt()),
            Op::Ceil => F(a.ceil()),
            Op::Floor => F(a.floor()),
            Op::Trunc => F(a.trunc()),
            Op::Round => F(a.round_ties_even()),
            Op::SignBit => B(a.is_sign_negative()),
            _ => return None,
        },
        (_, [F(a), F(b)]) => match op {
            Op::Add => F(a + b),
            Op::Subtract => F(a - b),
            Op::Multiply => F(a * b),
            Op::Divide => F(a / b),
            Op::FloorDivide => F(floor_divide(dtype, *a, *b)),
            Op::Remainder => F(remainder(*a, *b)),
            Op::CopySign => F(a.copysign(*b)),
            Op::NextAfter => F(next(dtype, *a, *b)),
            Op::Less => B(a < b),
            Op::LessEqual => B(a <= b),
            Op::Greater => B(a > b),
            Op::GreaterEqual => B(a >= b),
            Op::Maximum | Op::Minimum if a.is_nan() || b.is_nan() => F(f64::NAN),
            Op::Maximum => F(if a >= b { *a } else { *b }),
            Op::Minimum => F(if a <= b { *a } else { *b }),
            _ => return None,
        },
        _ => return None,
    };
    Some(match out {
        F(x) => F(round(dtype, x)),
        other => other,
    })
}

/// Numbers of a dtype where operations go wrong.
pub fn special(dtype: DType) -> Vec<Scalar> {
    if dtype == DType::Bool {
        return vec![Val::B(false).scalar(dtype), Val::B(true).scalar(dtype)];
    }
    if dtype.is(Kinds::FLOAT) {
        let mut all: Vec<f64> = super::SPECIAL.iter().map(|x| f64::from(*x)).collect();
        all.extend([
            1e300,
            -1e300,
            5e-324,
            1e-310,
            4503599627370495.5,
            9007199254740993.0,
            1.0 / 3.0,
            0.1,
        ]);
        return all
            .into_iter()
            .map(|x| Scalar::from_f64(dtype, x))
            .collect();
    }
    let bits = bits_of(dtype);
    let (lo, hi) = if dtype.is(Kinds::SIGNED) {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    let mut all = vec![
        0,
        1,
        2,
        3,
        5,
        7,
        10,
        bits - 1,
        bits,
        bits + 1,
        2 * bits,
        100,
        hi,
        hi - 1,
        hi / 2,
        hi / 3,
        lo,
        lo + 1,
        lo / 2,
    ];
    if lo < 0 {
        all.extend([-1, -2, -3, -7, -100]);
    }
    all.extend((0..30).map(|i| lo + (hi - lo) / 31 * i + i * i));
    all.into_iter()
        .map(|i| Scalar::from_bytes(dtype, &(i as u64).to_ne_bytes()))
        .collect()
}

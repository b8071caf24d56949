//! Which dtype a mixed operation computes in, and what a Python scalar is worth there.
//!
//! Source: array API standard, "Type Promotion Rules". Where the standard leaves a combination
//! undefined (mixed kinds, `uint64` with signed integers, `float16`), the result is NumPy 2's.
//! Python scalars are weak, as in NumPy's NEP 50: they bring a kind, not a precision.

use crate::Array;
use rustarr_interface::{Bool, Complex64, DType, Error, Kinds, Op, Result, Scalar, dispatch};

/// A Python scalar: a value with a kind and no dtype of its own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Weak {
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i128),
    /// An `int` of more than 128 bits: the nearest `float`, an infinity beyond its range.
    HugeInt(f64),
    /// `float`.
    Float(f64),
    /// `complex`.
    Complex(Complex64),
}

impl Weak {
    /// The Python type's name.
    pub fn type_name(self) -> &'static str {
        match self {
            Weak::Bool(_) => "bool",
            Weak::Int(_) | Weak::HugeInt(_) => "int",
            Weak::Float(_) => "float",
            Weak::Complex(_) => "complex",
        }
    }

    /// The value as a `float`, where it is real.
    pub fn to_f64(self) -> Option<f64> {
        match self {
            Weak::Bool(v) => Some(v as u8 as f64),
            Weak::Int(v) => Some(v as f64),
            Weak::HugeInt(v) | Weak::Float(v) => Some(v),
            Weak::Complex(_) => None,
        }
    }

    /// The value as an `int`, where it is one of 128 bits.
    pub fn to_int(self) -> Option<i128> {
        match self {
            Weak::Bool(v) => Some(v as i128),
            Weak::Int(v) => Some(v),
            Weak::HugeInt(_) | Weak::Float(_) | Weak::Complex(_) => None,
        }
    }

    /// The value as a `complex`.
    pub fn to_complex(self) -> Complex64 {
        match self {
            Weak::Complex(v) => v,
            real => Complex64::new(real.to_f64().unwrap_or_default(), 0.0),
        }
    }

    /// The dtype of a scalar that meets no array: the default dtype of its kind.
    pub fn default_dtype(self, default_float: DType) -> DType {
        self.with_dtype(DType::Bool, default_float)
    }

    /// The dtype of this scalar together with an array of `dtype`.
    fn with_dtype(self, dtype: DType, default_float: DType) -> DType {
        match self {
            Weak::Bool(_) => dtype,
            Weak::Int(_) | Weak::HugeInt(_) if dtype == DType::Bool => DType::I64,
            Weak::Int(_) | Weak::HugeInt(_) => dtype,
            Weak::Float(_) if dtype.is(Kinds::INEXACT) => dtype,
            Weak::Float(_) => default_float,
            Weak::Complex(_) => {
                let float = if dtype.is(Kinds::INEXACT) {
                    dtype
                } else {
                    default_float
                };
                float.complex().unwrap_or(DType::C64)
            }
        }
    }
}

impl From<Scalar> for Weak {
    /// The Python scalar of an element: its kind and value.
    fn from(value: Scalar) -> Self {
        match value.dtype() {
            DType::Bool => Weak::Bool(value.to_i128() != 0),
            d if d.is(Kinds::INT) => Weak::Int(value.to_i128()),
            d if d.is(Kinds::FLOAT) => Weak::Float(value.to_f64()),
            _ => Weak::Complex(value.to_complex()),
        }
    }
}

/// An argument that may be an array or a Python scalar.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// An array.
    Array(&'a Array),
    /// A Python scalar.
    Scalar(Weak),
}

impl<'a> From<&'a Array> for Arg<'a> {
    fn from(array: &'a Array) -> Self {
        Arg::Array(array)
    }
}

macro_rules! scalars {
    ($($t:ty => $kind:ident as $as:ty),* $(,)?) => { $(
        impl From<$t> for Weak {
            fn from(value: $t) -> Self {
                Weak::$kind(<$as>::from(value))
            }
        }
        impl From<$t> for Arg<'_> {
            fn from(value: $t) -> Self {
                Arg::Scalar(value.into())
            }
        }
    )* };
}
scalars!(bool => Bool as bool, i32 => Int as i128, i64 => Int as i128, u32 => Int as i128,
    u64 => Int as i128, i128 => Int as i128, f32 => Float as f64, f64 => Float as f64,
    Complex64 => Complex as Complex64);

impl From<Weak> for Arg<'_> {
    fn from(value: Weak) -> Self {
        Arg::Scalar(value)
    }
}

const INTS: [DType; 4] = [DType::I8, DType::I16, DType::I32, DType::I64];

/// The dtype of an operation on arrays of two dtypes.
///
/// Source: array API standard, "Type Promotion Rules"; NumPy 2 for what it leaves undefined.
pub fn promote(a: DType, b: DType) -> DType {
    use DType::*;
    if a == b || b == Bool {
        return a;
    }
    if a == Bool {
        return b;
    }
    match (a.is(Kinds::INEXACT), b.is(Kinds::INEXACT)) {
        (true, true) => {
            let real = a.real().max(b.real());
            if a.is(Kinds::COMPLEX) || b.is(Kinds::COMPLEX) {
                real.complex().unwrap_or(C64)
            } else {
                real
            }
        }
        (true, false) => promote(a, exact_float(b)),
        (false, true) => promote(b, exact_float(a)),
        (false, false) if a.kind() == b.kind() => a.max(b),
        (false, false) => {
            let (signed, unsigned) = if a.is(Kinds::SIGNED) { (a, b) } else { (b, a) };
            // The smallest signed integer that holds both.
            INTS.into_iter()
                .find(|d| d.itemsize() > unsigned.itemsize() && *d >= signed)
                .unwrap_or(F64)
        }
    }
}

/// The float that NumPy pairs with an integer dtype: `float16` for 8 bits, `float32` for 16,
/// `float64` for wider ones; other dtypes are their own.
pub(crate) fn exact_float(dtype: DType) -> DType {
    match dtype {
        DType::Bool | DType::I8 | DType::U8 => DType::F16,
        DType::I16 | DType::U16 => DType::F32,
        int if int.is(Kinds::INT) => DType::F64,
        other => other,
    }
}

/// The common dtype of dtypes and Python scalars, in any order. Floating dtypes are joined first, so
/// that `int16, uint16, float32` is `float32` however the operands are ordered.
///
/// # Errors
/// `Value` when there is neither a dtype nor a scalar.
pub fn common_dtype(
    op: &'static str,
    dtypes: impl IntoIterator<Item = DType>,
    scalars: impl IntoIterator<Item = Weak>,
    default_float: DType,
) -> Result<DType> {
    let (mut exact, mut inexact) = (None::<DType>, None::<DType>);
    let join = |slot: &mut Option<DType>, d| *slot = Some(slot.map_or(d, |s| promote(s, d)));
    let mut small = None::<DType>;
    for d in dtypes {
        if d.is(Kinds::INEXACT) {
            join(&mut inexact, d);
        } else {
            join(&mut exact, d);
            join(&mut small, exact_float(d));
        }
    }
    let strong = match (inexact, exact) {
        // Integers are joined as the floats they need, not as the wider integer they would share.
        (Some(f), _) => Some(small.map_or(f, |s| promote(f, s))),
        (None, exact) => exact,
    };
    // The scalar of the highest kind decides alone.
    let weak = scalars.into_iter().max_by_key(|w| match w {
        Weak::Bool(_) => 0,
        Weak::Int(_) | Weak::HugeInt(_) => 1,
        Weak::Float(_) => 2,
        Weak::Complex(_) => 3,
    });
    match (strong, weak) {
        (Some(d), Some(w)) => Ok(w.with_dtype(d, default_float)),
        (Some(d), None) => Ok(d),
        (None, Some(w)) => Ok(w.default_dtype(default_float)),
        (None, None) => Err(Error::value(
            op,
            "at least one array, dtype or scalar is required",
        )),
    }
}

/// The dtype of an operation on these arguments; the first array's context says what the default
/// floating-point dtype is.
///
/// Source: array API standard, `result_type`.
///
/// # Errors
/// `Value` without arguments.
pub fn result_type(op: &'static str, args: &[Arg<'_>]) -> Result<DType> {
    let arrays = || {
        args.iter().filter_map(|a| match a {
            Arg::Array(x) => Some(*x),
            Arg::Scalar(_) => None,
        })
    };
    let scalars = args.iter().filter_map(|a| match a {
        Arg::Array(_) => None,
        Arg::Scalar(w) => Some(*w),
    });
    let default = arrays()
        .next()
        .map_or(DType::F64, |x| x.context().default_float());
    common_dtype(op, arrays().map(Array::dtype), scalars, default)
}

/// Whether every value of `from` can become one of `to` by the promotion rules.
///
/// Source: array API standard, `can_cast`.
pub fn can_cast(from: DType, to: DType) -> bool {
    promote(from, to) == to
}

/// The smallest and the largest value of an integer dtype.
pub(crate) fn int_range(dtype: DType) -> Option<(i128, i128)> {
    dispatch!(int, dtype, T => Some((T::MIN as i128, T::MAX as i128)), else None)
}

/// The value of a Python scalar as an element of `dtype`.
///
/// A `float` becomes an integer by truncation, any number becomes a `bool` by comparison with zero.
///
/// # Errors
/// `Overflow`, naming value, dtype and range, for a number that an integer dtype cannot hold, and for an `int` beyond
/// the largest `float` in any but `bool`; `Value` for NaN as an integer; `DType` for a `complex` as a real dtype.
pub fn weak_scalar(op: &'static str, value: Weak, dtype: DType) -> Result<Scalar> {
    match (value, int_range(dtype)) {
        (Weak::Complex(z), _) if dtype.is(Kinds::ORDERED) && dtype != DType::Bool => {
            Err(Error::dtype(
                op,
                format!(
                    "the complex scalar {z} has no value in {dtype}; give its real part or use a \
                     complex dtype"
                ),
            ))
        }
        (Weak::Bool(v), _) => Ok(Scalar::new(Bool::from(v)).cast(dtype)),
        (Weak::Int(v), Some(range)) => int_scalar(op, v, dtype, range, &v),
        (Weak::Int(v), None) => Ok(match dtype {
            DType::Bool => Scalar::new(Bool::from(v != 0)),
            // In one rounding: through float64 it would be two.
            DType::F32 => Scalar::new(v as f32),
            DType::C64 => Scalar::new(v as f32).cast(DType::C64),
            _ => Scalar::from_f64(dtype, v as f64),
        }),
        (Weak::HugeInt(v), Some(range)) => {
            int_scalar(op, v as i128, dtype, range, &"an int of more than 128 bits")
        }
        (Weak::HugeInt(v), None) if v.is_infinite() && dtype != DType::Bool => {
            Err(Error::overflow(
                op,
                format!("an int of more than 1024 bits has no value in {dtype}"),
            ))
        }
        (Weak::Float(v), Some(range)) => {
            if v.is_nan() {
                return Err(Error::value(op, format!("NaN has no value in {dtype}")));
            }
            int_scalar(op, v as i128, dtype, range, &v)
        }
        (Weak::HugeInt(v) | Weak::Float(v), None) => Ok(Scalar::from_f64(dtype, v)),
        (Weak::Complex(z), _) => Ok(Scalar::new(z).cast(dtype)),
    }
}

fn int_scalar(
    op: &'static str,
    value: i128,
    dtype: DType,
    (low, high): (i128, i128),
    shown: &dyn std::fmt::Display,
) -> Result<Scalar> {
    if (low..=high).contains(&value) {
        return Ok(dispatch!(int, dtype, T => Scalar::new(value as T), else Scalar::new(0u8)));
    }
    Err(Error::overflow(
        op,
        format!("{shown} is out of bounds for {dtype}, which holds {low} to {high}"),
    ))
}

/// The answer of a comparison of an integer dtype with a Python `int` that it cannot hold: the same
/// for every element, and exact, as in NumPy. `None` where the comparison has to look at elements.
///
/// `scalar_first` says that the scalar is the left operand.
pub fn constant_comparison(op: Op, dtype: DType, value: Weak, scalar_first: bool) -> Option<bool> {
    let (low, high) = int_range(dtype)?;
    let value = match value {
        Weak::Int(value) => value,
        // The ends of the range are beyond every dtype.
        Weak::HugeInt(value) => value as i128,
        _ => return None,
    };
    if (low..=high).contains(&value) {
        return None;
    }
    let scalar_greater = value > high;
    match op {
        Op::Equal => Some(false),
        Op::NotEqual => Some(true),
        Op::Less | Op::LessEqual => Some(scalar_greater != scalar_first),
        Op::Greater | Op::GreaterEqual => Some(scalar_greater == scalar_first),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Weak, can_cast, common_dtype, constant_comparison, int_range, promote, weak_scalar,
    };
    use rustarr_interface::DType::{self, *};
    use rustarr_interface::{Complex64, ErrorKind, Kinds, Op};

    /// One row per dtype in the order of `DType::ALL`: its promotion with every dtype. The columns are
    /// those of NumPy 2.4, the standard's table included.
    const TABLE: [[DType; 14]; 14] = [
        [
            Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, C64, C128,
        ],
        [
            I8, I8, I16, I32, I64, I16, I32, I64, F64, F16, F32, F64, C64, C128,
        ],
        [
            I16, I16, I16, I32, I64, I16, I32, I64, F64, F32, F32, F64, C64, C128,
        ],
        [
            I32, I32, I32, I32, I64, I32, I32, I64, F64, F64, F64, F64, C128, C128,
        ],
        [
            I64, I64, I64, I64, I64, I64, I64, I64, F64, F64, F64, F64, C128, C128,
        ],
        [
            U8, I16, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, C64, C128,
        ],
        [
            U16, I32, I32, I32, I64, U16, U16, U32, U64, F32, F32, F64, C64, C128,
        ],
        [
            U32, I64, I64, I64, I64, U32, U32, U32, U64, F64, F64, F64, C128, C128,
        ],
        [
            U64, F64, F64, F64, F64, U64, U64, U64, U64, F64, F64, F64, C128, C128,
        ],
        [
            F16, F16, F32, F64, F64, F16, F32, F64, F64, F16, F32, F64, C64, C128,
        ],
        [
            F32, F32, F32, F64, F64, F32, F32, F64, F64, F32, F32, F64, C64, C128,
        ],
        [
            F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, C128, C128,
        ],
        [
            C64, C64, C64, C128, C128, C64, C64, C128, C128, C64, C64, C128, C64, C128,
        ],
        [C128; 14],
    ];

    #[test]
    fn promotion_is_the_table() {
        for (row, a) in TABLE.iter().zip(DType::ALL) {
            for (&want, b) in row.iter().zip(DType::ALL) {
                assert_eq!(promote(a, b), want, "{a} with {b}");
                assert_eq!(can_cast(a, b), want == b, "{a} to {b}");
            }
        }
    }

    #[test]
    fn the_common_dtype_does_not_depend_on_the_order() {
        let common = |d: [DType; 3]| common_dtype("t", d, [], F64).unwrap();
        assert_eq!(common([I16, U16, F32]), F32);
        assert_eq!(common([I8, U8, F16]), F16);
        assert_eq!(common([U64, I8, F32]), F64);
        for a in DType::ALL {
            for b in DType::ALL {
                assert_eq!(common([a, b, b]), promote(a, b), "{a} {b}");
                for c in DType::ALL {
                    let all = [
                        [a, b, c],
                        [a, c, b],
                        [b, a, c],
                        [b, c, a],
                        [c, a, b],
                        [c, b, a],
                    ];
                    assert!(
                        all.iter().all(|p| common(*p) == common([a, b, c])),
                        "{a} {b} {c}"
                    );
                }
            }
        }
    }

    #[test]
    fn scalars_bring_a_kind_and_no_precision() {
        let with = |d: DType, w: Weak, f: DType| common_dtype("t", [d], [w], f).unwrap();
        let (int, float, complex) = (
            Weak::Int(1),
            Weak::Float(1.5),
            Weak::Complex(Complex64::new(0.0, 1.0)),
        );
        for d in DType::ALL {
            assert_eq!(with(d, Weak::Bool(true), F64), d);
            assert_eq!(with(d, int, F64), if d == Bool { I64 } else { d });
            for f in [F32, F64] {
                let inexact = d.is(Kinds::INEXACT);
                assert_eq!(with(d, float, f), if inexact { d } else { f });
                let part = if inexact { d } else { f };
                assert_eq!(with(d, complex, f), part.complex().unwrap_or(C64));
            }
        }
        assert_eq!(common_dtype("t", [I8], [int, float], F64).unwrap(), F64);
        assert_eq!(
            common_dtype("t", [], [int, Weak::Bool(true)], F64).unwrap(),
            I64
        );
        assert_eq!(
            common_dtype("t", [], [], F64).unwrap_err().kind(),
            ErrorKind::Value
        );
    }

    #[test]
    fn scalars_outside_the_range_are_named() {
        let e = weak_scalar("add", Weak::Int(300), U8).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Overflow);
        assert_eq!(
            e.to_string(),
            "add: 300 is out of bounds for uint8, which holds 0 to 255"
        );
        for d in DType::ALL {
            let Some((low, high)) = int_range(d) else {
                continue;
            };
            for v in [low, high] {
                assert_eq!(
                    weak_scalar("t", Weak::Int(v), d).unwrap().to_i128(),
                    v,
                    "{d}"
                );
            }
            for v in [low - 1, high + 1, i128::MAX, i128::MIN] {
                let kind = weak_scalar("t", Weak::Int(v), d).unwrap_err().kind();
                assert_eq!(kind, ErrorKind::Overflow, "{d} {v}");
            }
        }
        let kind = |w, d| weak_scalar("t", w, d).unwrap_err().kind();
        assert_eq!(kind(Weak::Float(f64::NAN), I32), ErrorKind::Value);
        assert_eq!(kind(Weak::Float(1e30), I32), ErrorKind::Overflow);
        assert_eq!(kind(Weak::Float(f64::INFINITY), U64), ErrorKind::Overflow);
        assert_eq!(kind(Complex64::new(1.0, 0.0).into(), F64), ErrorKind::DType);
        assert_eq!(
            weak_scalar("t", Weak::Float(-2.9), I8).unwrap().to_i128(),
            -2
        );
        assert_eq!(
            weak_scalar("t", Weak::Float(0.5), Bool).unwrap().to_i128(),
            1
        );
        let huge = Weak::HugeInt(1e39);
        assert_eq!(kind(huge, U64), ErrorKind::Overflow);
        assert_eq!(kind(Weak::HugeInt(f64::INFINITY), F32), ErrorKind::Overflow);
        assert_eq!(weak_scalar("t", huge, F64).unwrap().to_f64(), 1e39);
        assert_eq!(weak_scalar("t", huge, F32).unwrap().to_f64(), f64::INFINITY);
        assert_eq!(weak_scalar("t", huge, Bool).unwrap().to_i128(), 1);
        // 2**60 + 2**36 + 1 rounds up in float32; through float64 it would be a tie.
        let wide = (1i128 << 60) + (1 << 36) + 1;
        let once = weak_scalar("t", Weak::Int(wide), F32).unwrap().to_f64();
        assert_eq!(once, ((1i128 << 60) + (1 << 37)) as f64);
    }

    #[test]
    fn comparisons_out_of_range_are_exact() {
        let answer = |op, v: i128, first| constant_comparison(op, U8, Weak::Int(v), first);
        for (v, first, less) in [
            (300, false, true),
            (-1, false, false),
            (300, true, false),
            (-1, true, true),
        ] {
            assert_eq!(answer(Op::Less, v, first), Some(less));
            assert_eq!(answer(Op::LessEqual, v, first), Some(less));
            assert_eq!(answer(Op::Greater, v, first), Some(!less));
            assert_eq!(answer(Op::GreaterEqual, v, first), Some(!less));
            assert_eq!(answer(Op::Equal, v, first), Some(false));
            assert_eq!(answer(Op::NotEqual, v, first), Some(true));
        }
        for (v, less) in [(1e39, true), (f64::NEG_INFINITY, false)] {
            for d in DType::ALL.into_iter().filter(|d| d.is(Kinds::INT)) {
                let answer = |op, first| constant_comparison(op, d, Weak::HugeInt(v), first);
                assert_eq!(answer(Op::Less, false), Some(less));
                assert_eq!(answer(Op::Less, true), Some(!less));
                assert_eq!(answer(Op::Equal, false), Some(false));
                assert_eq!(answer(Op::Add, false), None);
            }
        }
        assert_eq!(answer(Op::Less, 255, false), None);
        assert_eq!(answer(Op::Add, 300, false), None);
        assert_eq!(
            constant_comparison(Op::Equal, F32, Weak::Int(1 << 60), false),
            None
        );
    }
}

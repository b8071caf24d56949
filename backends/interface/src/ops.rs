//! The operation table: every elementwise function once, with all that the layers need to know.
//!
//! The enum, the front end's functions, the Python functions, their stubs and the docs are made
//! from [`for_each_op!`](crate::for_each_op). Adding a function means adding its row here, its
//! scalar body in `cpu-kernels` (an exhaustive `match` asks for it) and its reference in
//! `conformance`.

use crate::dtype::{DType, Kinds};

/// How operands' dtypes become the dtype that the operation computes in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Promote {
    /// The common dtype of the operands.
    Same,
    /// As `Same`, then integers become the float that NumPy picks: 8 bits and `bool` `float16`,
    /// 16 bits `float32`, wider `float64`.
    Float,
    /// As `Same`, then integers of every width become `float64`: true division.
    Divide,
}

/// How the result's dtype follows from the dtype of the computation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResultRule {
    /// The same dtype.
    Same,
    /// `bool`.
    Bool,
    /// The real part's dtype for complex, otherwise the same.
    Real,
}

/// One row of the operation table.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The operation.
    pub op: Op,
    /// Its name in the array API standard.
    pub name: &'static str,
    /// Number of operands.
    pub arity: usize,
    /// Dtypes it computes in, after promotion.
    pub kinds: Kinds,
    /// How operands are promoted.
    pub promote: Promote,
    /// How the result's dtype follows.
    pub result: ResultRule,
    /// WGSL expression; `{a}`, `{b}`, `{c}` are the operands, `{t}` the dtype's suffix in the
    /// shader prelude. A renderer may override it per dtype.
    pub wgsl: &'static str,
    /// Largest error allowed on a device, in units in the last place of the result; 0 is exact.
    pub ulp: u32,
    /// One line of documentation.
    pub doc: &'static str,
}

/// Calls the macro `$m` once with the whole operation table, a parenthesised row per operation:
/// `(Variant, name, arity, KINDS, promote, result, wgsl, ulp, doc)`.
#[macro_export]
macro_rules! for_each_op {
    ($m:ident) => { $m! {
        // Arithmetic. Sums and products of booleans are `or` and `and`, as in NumPy.
        (Add, add, 2, ALL, Same, Same, "add_{t}({a}, {b})", 0, "Sum `x1 + x2`, element by element.")
        (Subtract, subtract, 2, NUMERIC, Same, Same, "subtract_{t}({a}, {b})", 0, "Difference `x1 - x2`, element by element.")
        (Multiply, multiply, 2, ALL, Same, Same, "multiply_{t}({a}, {b})", 0, "Product `x1 * x2`, element by element.")
        (Divide, divide, 2, INEXACT, Divide, Same, "divide_{t}({a}, {b})", 3, "Quotient `x1 / x2`; integers are divided in float64.")
        (FloorDivide, floor_divide, 2, REAL, Same, Same, "floor_divide_{t}({a}, {b})", 1, "Quotient rounded towards minus infinity; an integer divided by zero is 0.")
        (Remainder, remainder, 2, REAL, Same, Same, "remainder_{t}({a}, {b})", 0, "Remainder with the divisor's sign; an integer modulo zero is 0.")
        (Pow, pow, 2, NUMERIC, Same, Same, "pow_{t}({a}, {b})", 16, "`x1` raised to the power `x2`; a negative integer exponent of an integer is an error.")
        (Negative, negative, 1, NUMERIC, Same, Same, "negative_{t}({a})", 0, "`-x`, element by element.")
        (Positive, positive, 1, NUMERIC, Same, Same, "{a}", 0, "`+x`, element by element.")
        (Abs, abs, 1, ALL, Same, Real, "abs_{t}({a})", 1, "Absolute value; the modulus of a complex number.")
        (Sign, sign, 1, NUMERIC, Same, Same, "sign_{t}({a})", 2, "Sign -1, 0 or 1; `x / abs(x)` for complex; NaN for NaN.")
        (Square, square, 1, NUMERIC, Same, Same, "multiply_{t}({a}, {a})", 0, "`x * x`, element by element.")
        (Reciprocal, reciprocal, 1, INEXACT, Float, Same, "reciprocal_{t}({a})", 3, "`1 / x`, element by element.")
        (Sqrt, sqrt, 1, INEXACT, Float, Same, "sqrt_{t}({a})", 3, "Principal square root.")
        (Hypot, hypot, 2, FLOAT, Float, Same, "hypot_{t}({a}, {b})", 4, "Hypotenuse `sqrt(x1**2 + x2**2)` without needless overflow.")

        // Exponentials and logarithms.
        (Exp, exp, 1, INEXACT, Float, Same, "exp_{t}({a})", 4, "Exponential function.")
        (Expm1, expm1, 1, INEXACT, Float, Same, "expm1_{t}({a})", 4, "`exp(x) - 1`, accurate near zero.")
        (Log, log, 1, INEXACT, Float, Same, "log_{t}({a})", 4, "Natural logarithm.")
        (Log1p, log1p, 1, INEXACT, Float, Same, "log1p_{t}({a})", 4, "`log(1 + x)`, accurate near zero.")
        (Log2, log2, 1, INEXACT, Float, Same, "log2_{t}({a})", 4, "Base-2 logarithm.")
        (Log10, log10, 1, INEXACT, Float, Same, "log10_{t}({a})", 4, "Base-10 logarithm.")
        (LogAddExp, logaddexp, 2, FLOAT, Float, Same, "logaddexp_{t}({a}, {b})", 4, "`log(exp(x1) + exp(x2))` without needless overflow.")

        // Trigonometry and hyperbolic functions.
        (Sin, sin, 1, INEXACT, Float, Same, "sin_{t}({a})", 4, "Sine of an angle in radians.")
        (Cos, cos, 1, INEXACT, Float, Same, "cos_{t}({a})", 4, "Cosine of an angle in radians.")
        (Tan, tan, 1, INEXACT, Float, Same, "tan_{t}({a})", 4, "Tangent of an angle in radians.")
        (Asin, asin, 1, INEXACT, Float, Same, "asin_{t}({a})", 4, "Inverse sine, in radians.")
        (Acos, acos, 1, INEXACT, Float, Same, "acos_{t}({a})", 4, "Inverse cosine, in radians.")
        (Atan, atan, 1, INEXACT, Float, Same, "atan_{t}({a})", 4, "Inverse tangent, in radians.")
        (Atan2, atan2, 2, FLOAT, Float, Same, "atan2_{t}({a}, {b})", 4, "Angle of the point `(x2, x1)`, in radians, with the quadrant.")
        (Sinh, sinh, 1, INEXACT, Float, Same, "sinh_{t}({a})", 4, "Hyperbolic sine.")
        (Cosh, cosh, 1, INEXACT, Float, Same, "cosh_{t}({a})", 4, "Hyperbolic cosine.")
        (Tanh, tanh, 1, INEXACT, Float, Same, "tanh_{t}({a})", 4, "Hyperbolic tangent.")
        (Asinh, asinh, 1, INEXACT, Float, Same, "asinh_{t}({a})", 4, "Inverse hyperbolic sine.")
        (Acosh, acosh, 1, INEXACT, Float, Same, "acosh_{t}({a})", 4, "Inverse hyperbolic cosine.")
        (Atanh, atanh, 1, INEXACT, Float, Same, "atanh_{t}({a})", 4, "Inverse hyperbolic tangent.")

        // Rounding.
        (Ceil, ceil, 1, REAL, Same, Same, "ceil_{t}({a})", 0, "Smallest whole number not below `x`.")
        (Floor, floor, 1, REAL, Same, Same, "floor_{t}({a})", 0, "Largest whole number not above `x`.")
        (Trunc, trunc, 1, REAL, Same, Same, "trunc_{t}({a})", 0, "`x` rounded towards zero.")
        (Round, round, 1, NUMERIC, Same, Same, "round_{t}({a})", 0, "Nearest whole number, halves to even.")

        // Floating-point structure.
        (CopySign, copysign, 2, FLOAT, Float, Same, "copysign_{t}({a}, {b})", 0, "Magnitude of `x1` with the sign of `x2`.")
        (NextAfter, nextafter, 2, FLOAT, Float, Same, "nextafter_{t}({a}, {b})", 0, "Next representable value after `x1` in the direction of `x2`.")
        (SignBit, signbit, 1, FLOAT, Float, Bool, "signbit_{t}({a})", 0, "Whether the sign bit is set, for -0 and NaN too.")
        (IsFinite, isfinite, 1, ALL, Same, Bool, "isfinite_{t}({a})", 0, "Whether a value is neither infinite nor NaN.")
        (IsInf, isinf, 1, ALL, Same, Bool, "isinf_{t}({a})", 0, "Whether a value is infinite.")
        (IsNan, isnan, 1, ALL, Same, Bool, "isnan_{t}({a})", 0, "Whether a value is NaN.")

        // Complex parts. `conj`, `real` and `imag` of real numbers are the obvious ones.
        (Conj, conj, 1, NUMERIC, Same, Same, "conj_{t}({a})", 0, "Complex conjugate.")
        (Real, real, 1, NUMERIC, Same, Real, "real_{t}({a})", 0, "Real part.")
        (Imag, imag, 1, NUMERIC, Same, Real, "imag_{t}({a})", 0, "Imaginary part; zero for real numbers.")

        // Comparison. NaN is unequal to everything and ordered with nothing.
        (Equal, equal, 2, ALL, Same, Bool, "equal_{t}({a}, {b})", 0, "`x1 == x2`, element by element.")
        (NotEqual, not_equal, 2, ALL, Same, Bool, "not_equal_{t}({a}, {b})", 0, "`x1 != x2`, element by element.")
        (Less, less, 2, ORDERED, Same, Bool, "less_{t}({a}, {b})", 0, "`x1 < x2`, element by element.")
        (LessEqual, less_equal, 2, ORDERED, Same, Bool, "less_equal_{t}({a}, {b})", 0, "`x1 <= x2`, element by element.")
        (Greater, greater, 2, ORDERED, Same, Bool, "less_{t}({b}, {a})", 0, "`x1 > x2`, element by element.")
        (GreaterEqual, greater_equal, 2, ORDERED, Same, Bool, "less_equal_{t}({b}, {a})", 0, "`x1 >= x2`, element by element.")
        (Maximum, maximum, 2, ORDERED, Same, Same, "maximum_{t}({a}, {b})", 0, "The larger of two values; NaN if either is NaN.")
        (Minimum, minimum, 2, ORDERED, Same, Same, "minimum_{t}({a}, {b})", 0, "The smaller of two values; NaN if either is NaN.")

        // Bits and logic.
        (BitwiseAnd, bitwise_and, 2, INT_BOOL, Same, Same, "bitwise_and_{t}({a}, {b})", 0, "Bitwise `x1 & x2`.")
        (BitwiseOr, bitwise_or, 2, INT_BOOL, Same, Same, "bitwise_or_{t}({a}, {b})", 0, "Bitwise `x1 | x2`.")
        (BitwiseXor, bitwise_xor, 2, INT_BOOL, Same, Same, "bitwise_xor_{t}({a}, {b})", 0, "Bitwise `x1 ^ x2`.")
        (BitwiseInvert, bitwise_invert, 1, INT_BOOL, Same, Same, "bitwise_invert_{t}({a})", 0, "Bitwise `~x`; logical not for booleans.")
        (BitwiseLeftShift, bitwise_left_shift, 2, INT, Same, Same, "bitwise_left_shift_{t}({a}, {b})", 0, "`x1 << x2`; a shift by the width or more gives 0.")
        (BitwiseRightShift, bitwise_right_shift, 2, INT, Same, Same, "bitwise_right_shift_{t}({a}, {b})", 0, "`x1 >> x2`, keeping the sign; a shift by the width or more leaves only the sign.")
        (LogicalAnd, logical_and, 2, ALL, Same, Bool, "logical_and_{t}({a}, {b})", 0, "Logical and; nonzero is true.")
        (LogicalOr, logical_or, 2, ALL, Same, Bool, "logical_or_{t}({a}, {b})", 0, "Logical or; nonzero is true.")
        (LogicalXor, logical_xor, 2, ALL, Same, Bool, "logical_xor_{t}({a}, {b})", 0, "Logical exclusive or; nonzero is true.")
        (LogicalNot, logical_not, 1, ALL, Same, Bool, "logical_not_{t}({a})", 0, "Logical not; nonzero is true.")
    } };
}

macro_rules! define_ops {
    ($(($v:ident, $name:ident, $arity:literal, $kinds:ident, $promote:ident, $result:ident,
        $wgsl:literal, $ulp:literal, $doc:literal))*) => {
        /// An elementwise operation. [`Select`](Op::Select) is the ternary `where`; every other
        /// one has a row in the table.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Op {
            $(#[doc = $doc] $v,)*
            /// `where(condition, x1, x2)`: the condition is `bool`, the others have one dtype.
            Select,
        }

        impl Op {
            /// The table, in the order of the enum.
            pub const TABLE: &'static [OpInfo] = &[
                $(OpInfo { op: Op::$v, name: stringify!($name), arity: $arity, kinds: Kinds::$kinds,
                    promote: Promote::$promote, result: ResultRule::$result, wgsl: $wgsl, ulp: $ulp,
                    doc: $doc },)*
                OpInfo { op: Op::Select, name: "where", arity: 3, kinds: Kinds::ALL,
                    promote: Promote::Same, result: ResultRule::Same, wgsl: "select_{t}({a}, {b}, {c})",
                    ulp: 0, doc: "Elements of `x1` where the condition is true, else of `x2`." },
            ];
        }
    };
}
for_each_op!(define_ops);

impl Op {
    /// The operation's row.
    #[inline]
    pub fn info(self) -> &'static OpInfo {
        &Op::TABLE[self as usize]
    }

    /// The operation's name in the standard.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The result's dtype when computing in `dtype`, or `None` where that is illegal: the one
    /// question every layer asks before it computes.
    #[inline]
    pub fn result(self, dtype: DType) -> Option<DType> {
        let row = self.info();
        if !dtype.is(row.kinds) {
            return None;
        }
        Some(match row.result {
            ResultRule::Same => dtype,
            ResultRule::Bool => DType::Bool,
            ResultRule::Real => dtype.real(),
        })
    }
}

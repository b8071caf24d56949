//! The operation table's bodies, bound to block loops: one exhaustive match per category of dtypes, so that an operation
//! without a body does not compile.

use super::half::{narrow, next_after, widen};
use super::lanes::{Block, map};
use crate::maths::{self, Real, complex, integer, near};
use num_complex::Complex;
use rustarr_interface::{Bool, Complex32, Complex64, DType, Element, Op, dispatch, f16};

/// `map1!(block, x: T => body)` and so on: a loop whose body is inlined into it.
macro_rules! map1 {
    ($b:expr, $x:ident: $A:ty => $e:expr) => {
        $b.map1(
            #[inline(always)]
            |$x: $A| $e,
        )
    };
}
macro_rules! map2 {
    ($b:expr, $x:ident, $y:ident: $A:ty => $e:expr) => {
        $b.map2(
            #[inline(always)]
            |$x: $A, $y: $A| $e,
        )
    };
}
/// A function of one or two arguments that exists in a near and a complete form, with the test for the near one.
macro_rules! near1 {
    ($b:expr, $T:ty, $f:ident, $good:expr) => {{
        map1!($b, x: $T => near::$f(x));
        $b.patch1(
            #[inline(always)]
            |x: $T, _: $T| $good(x),
            #[inline(always)]
            |x: $T| maths::$f(x),
        )
    }};
}
macro_rules! near2 {
    ($b:expr, $T:ty, $f:ident, $good:expr) => {{
        map2!($b, x, y: $T => near::$f(x, y));
        $b.patch2(
            #[inline(always)]
            |x: $T, y: $T, z: $T| ($good)(x, y, z),
            #[inline(always)]
            |x: $T, y: $T| maths::$f(x, y),
        )
    }};
}

/// Runs one operation over a block. `dtype` is that of the operands (for `Select` of the last two).
///
/// # Safety
/// The block's arguments hold elements of `dtype` (the first of `Select` `bool`), its result those of
/// `op.result(dtype)`, which is not `None`.
pub(crate) unsafe fn apply(op: Op, dtype: DType, block: Block) {
    if op == Op::Select {
        return select(dtype.itemsize(), block);
    }
    match dtype {
        DType::Bool => boolean(op, block),
        DType::F16 => half(op, block),
        DType::F32 => real::<f32>(op, block),
        DType::F64 => real::<f64>(op, block),
        DType::C64 => complex::<f32>(op, block),
        DType::C128 => complex::<f64>(op, block),
        int => dispatch!(int, int, T => integer::<T>(op, block), else ()),
    }
}

/// `where` moves bits, so it goes by the item size.
fn select(itemsize: usize, b: Block) {
    fn sized<T: Copy>(b: Block) {
        b.map3(
            #[inline(always)]
            |c: Bool, x: T, y: T| if c.get() { x } else { y },
        )
    }
    match itemsize {
        1 => sized::<u8>(b),
        2 => sized::<u16>(b),
        4 => sized::<u32>(b),
        8 => sized::<u64>(b),
        _ => sized::<Complex64>(b),
    }
}

fn copy<T: Copy>(b: Block) {
    b.out::<T>().copy_from_slice(b.arg(0));
}

#[cold]
fn illegal(op: Op, dtype: DType) -> ! {
    unreachable!("{} of {dtype} passed the program's verifier", op.name())
}

fn real<T: Real + Element>(op: Op, b: Block) {
    match op {
        Op::Add => map2!(b, x, y: T => x + y),
        Op::Subtract => map2!(b, x, y: T => x - y),
        Op::Multiply => map2!(b, x, y: T => x * y),
        Op::Divide => map2!(b, x, y: T => x / y),
        Op::FloorDivide => near2!(b, T, floor_divide, |x, y, _| near::quotient(x, y)),
        Op::Remainder => near2!(b, T, remainder, |x, y, _| near::quotient(x, y)),
        Op::Pow => map2!(b, x, y: T => maths::pow(x, y)),
        Op::Negative => map1!(b, x: T => -x),
        Op::Positive | Op::Conj | Op::Real => copy::<T>(b),
        Op::Imag => map1!(b, _x: T => T::zero()),
        Op::Abs => map1!(b, x: T => x.abs()),
        Op::Sign => map1!(b, x: T => maths::sign(x)),
        Op::Square => map1!(b, x: T => maths::square(x)),
        Op::Reciprocal => map1!(b, x: T => maths::reciprocal(x)),
        Op::Sqrt => map1!(b, x: T => maths::sqrt(x)),
        Op::Hypot => map2!(b, x, y: T => maths::hypot(x, y)),

        Op::Exp => map1!(b, x: T => maths::exp(x)),
        Op::Expm1 => map1!(b, x: T => maths::expm1(x)),
        Op::Log => map1!(b, x: T => maths::log(x)),
        Op::Log1p => map1!(b, x: T => maths::log1p(x)),
        Op::Log2 => map1!(b, x: T => maths::log2(x)),
        Op::Log10 => map1!(b, x: T => maths::log10(x)),
        Op::LogAddExp => near2!(b, T, logaddexp, near::sum),

        Op::Sin => near1!(b, T, sin, near::angle),
        Op::Cos => near1!(b, T, cos, near::angle),
        Op::Tan => near1!(b, T, tan, near::angle),
        Op::Asin => map1!(b, x: T => maths::asin(x)),
        Op::Acos => map1!(b, x: T => maths::acos(x)),
        Op::Atan => map1!(b, x: T => maths::atan(x)),
        Op::Atan2 => map2!(b, x, y: T => maths::atan2(x, y)),
        Op::Sinh => map1!(b, x: T => maths::sinh(x)),
        Op::Cosh => map1!(b, x: T => maths::cosh(x)),
        Op::Tanh => map1!(b, x: T => maths::tanh(x)),
        Op::Asinh => map1!(b, x: T => maths::asinh(x)),
        Op::Acosh => map1!(b, x: T => maths::acosh(x)),
        Op::Atanh => map1!(b, x: T => maths::atanh(x)),

        Op::Ceil => map1!(b, x: T => maths::ceil(x)),
        Op::Floor => map1!(b, x: T => maths::floor(x)),
        Op::Trunc => map1!(b, x: T => maths::trunc(x)),
        Op::Round => map1!(b, x: T => maths::round(x)),

        Op::CopySign => map2!(b, x, y: T => maths::copysign(x, y)),
        Op::NextAfter => map2!(b, x, y: T => maths::nextafter(x, y)),
        Op::SignBit => map1!(b, x: T => Bool::from(maths::signbit(x))),
        Op::IsFinite => map1!(b, x: T => Bool::from(x.abs() < T::infinity())),
        Op::IsInf => map1!(b, x: T => Bool::from(x.abs() == T::infinity())),
        Op::IsNan => map1!(b, x: T => Bool::from(x.is_nan())),

        Op::Equal => map2!(b, x, y: T => Bool::from(x == y)),
        Op::NotEqual => map2!(b, x, y: T => Bool::from(x != y)),
        Op::Less => map2!(b, x, y: T => Bool::from(x < y)),
        Op::LessEqual => map2!(b, x, y: T => Bool::from(x <= y)),
        Op::Greater => real::<T>(Op::Less, b.swapped()),
        Op::GreaterEqual => real::<T>(Op::LessEqual, b.swapped()),
        Op::Maximum => map2!(b, x, y: T => maths::maximum(x, y)),
        Op::Minimum => map2!(b, x, y: T => maths::minimum(x, y)),

        Op::LogicalAnd => map2!(b, x, y: T => Bool::from((x != T::zero()) & (y != T::zero()))),
        Op::LogicalOr => map2!(b, x, y: T => Bool::from((x != T::zero()) | (y != T::zero()))),
        Op::LogicalXor => map2!(b, x, y: T => Bool::from((x != T::zero()) != (y != T::zero()))),
        Op::LogicalNot => map1!(b, x: T => Bool::from(x == T::zero())),

        Op::BitwiseAnd
        | Op::BitwiseOr
        | Op::BitwiseXor
        | Op::BitwiseInvert
        | Op::BitwiseLeftShift
        | Op::BitwiseRightShift
        | Op::Select => illegal(op, T::DTYPE),
    }
}

/// What is the same with and without a sign, once for every size.
fn wrapping<T: integer::Int>(op: Op, b: Block) {
    match op {
        Op::Add => map2!(b, x, y: T => x.wrapping_add(&y)),
        Op::Subtract => map2!(b, x, y: T => x.wrapping_sub(&y)),
        Op::Multiply => map2!(b, x, y: T => x.wrapping_mul(&y)),
        Op::Negative => map1!(b, x: T => T::zero().wrapping_sub(&x)),
        Op::Square => map1!(b, x: T => integer::square(x)),
        Op::BitwiseAnd => map2!(b, x, y: T => x & y),
        Op::BitwiseOr => map2!(b, x, y: T => x | y),
        Op::BitwiseXor => map2!(b, x, y: T => x ^ y),
        Op::BitwiseInvert => map1!(b, x: T => !x),
        // A negative count is one beyond the width, read with or without its sign.
        Op::BitwiseLeftShift => map2!(b, x, y: T => integer::shift_left(x, y)),
        Op::Equal => map2!(b, x, y: T => Bool::from(x == y)),
        Op::NotEqual => map2!(b, x, y: T => Bool::from(x != y)),
        Op::LogicalAnd => map2!(b, x, y: T => Bool::from((x != T::zero()) & (y != T::zero()))),
        Op::LogicalOr => map2!(b, x, y: T => Bool::from((x != T::zero()) | (y != T::zero()))),
        Op::LogicalXor => map2!(b, x, y: T => Bool::from((x != T::zero()) != (y != T::zero()))),
        Op::LogicalNot => map1!(b, x: T => Bool::from(x == T::zero())),
        _ => unreachable!("{} knows signs", op.name()),
    }
}

fn integer<T: integer::Int + Element>(op: Op, b: Block) {
    match op {
        Op::Add
        | Op::Subtract
        | Op::Multiply
        | Op::Negative
        | Op::Square
        | Op::BitwiseAnd
        | Op::BitwiseOr
        | Op::BitwiseXor
        | Op::BitwiseInvert
        | Op::BitwiseLeftShift
        | Op::Equal
        | Op::NotEqual
        | Op::LogicalAnd
        | Op::LogicalOr
        | Op::LogicalXor
        | Op::LogicalNot => match size_of::<T>() {
            1 => wrapping::<u8>(op, b),
            2 => wrapping::<u16>(op, b),
            4 => wrapping::<u32>(op, b),
            _ => wrapping::<u64>(op, b),
        },
        Op::FloorDivide => map2!(b, x, y: T => integer::floor_divide(x, y)),
        Op::Remainder => map2!(b, x, y: T => integer::remainder(x, y)),
        Op::Pow => map2!(b, x, y: T => integer::pow(x, y)),
        Op::Positive | Op::Conj | Op::Real | Op::Ceil | Op::Floor | Op::Trunc | Op::Round => {
            copy::<T>(b)
        }
        Op::Imag => b.out::<T>().fill(T::zero()),
        Op::Abs => map1!(b, x: T => integer::abs(x)),
        Op::Sign => map1!(b, x: T => integer::sign(x)),
        Op::IsFinite => b.out().fill(Bool(1)),
        Op::IsInf | Op::IsNan => b.out().fill(Bool(0)),
        Op::Less => map2!(b, x, y: T => Bool::from(x < y)),
        Op::LessEqual => map2!(b, x, y: T => Bool::from(x <= y)),
        Op::Greater => integer::<T>(Op::Less, b.swapped()),
        Op::GreaterEqual => integer::<T>(Op::LessEqual, b.swapped()),
        Op::Maximum => map2!(b, x, y: T => if x > y { x } else { y }),
        Op::Minimum => map2!(b, x, y: T => if x < y { x } else { y }),
        Op::BitwiseRightShift => map2!(b, x, y: T => integer::shift_right(x, y)),

        Op::Divide
        | Op::Reciprocal
        | Op::Sqrt
        | Op::Hypot
        | Op::Exp
        | Op::Expm1
        | Op::Log
        | Op::Log1p
        | Op::Log2
        | Op::Log10
        | Op::LogAddExp
        | Op::Sin
        | Op::Cos
        | Op::Tan
        | Op::Asin
        | Op::Acos
        | Op::Atan
        | Op::Atan2
        | Op::Sinh
        | Op::Cosh
        | Op::Tanh
        | Op::Asinh
        | Op::Acosh
        | Op::Atanh
        | Op::CopySign
        | Op::NextAfter
        | Op::SignBit
        | Op::Select => illegal(op, T::DTYPE),
    }
}

fn complex<T: Real>(op: Op, b: Block)
where
    Complex<T>: Element,
{
    type C<T> = Complex<T>;
    fn truth<T: Real>(z: C<T>) -> bool {
        (z.re != T::zero()) | (z.im != T::zero())
    }
    match op {
        Op::Add => map2!(b, x, y: C<T> => C::new(x.re + y.re, x.im + y.im)),
        Op::Subtract => map2!(b, x, y: C<T> => C::new(x.re - y.re, x.im - y.im)),
        Op::Multiply => map2!(b, x, y: C<T> => complex::multiply(x, y)),
        Op::Divide => map2!(b, x, y: C<T> => complex::divide(x, y)),
        Op::Pow => map2!(b, x, y: C<T> => complex::pow(x, y)),
        Op::Negative => map1!(b, x: C<T> => C::new(-x.re, -x.im)),
        Op::Positive => copy::<C<T>>(b),
        Op::Conj => map1!(b, x: C<T> => C::new(x.re, -x.im)),
        Op::Real => map1!(b, x: C<T> => x.re),
        Op::Imag => map1!(b, x: C<T> => x.im),
        Op::Abs => map1!(b, x: C<T> => complex::abs(x)),
        Op::Sign => map1!(b, x: C<T> => complex::sign(x)),
        Op::Square => map1!(b, x: C<T> => complex::square(x)),
        Op::Reciprocal => map1!(b, x: C<T> => complex::reciprocal(x)),
        Op::Sqrt => map1!(b, x: C<T> => complex::sqrt(x)),
        Op::Exp => map1!(b, x: C<T> => complex::exp(x)),
        Op::Expm1 => map1!(b, x: C<T> => complex::expm1(x)),
        Op::Log => map1!(b, x: C<T> => complex::log(x)),
        Op::Log1p => map1!(b, x: C<T> => complex::log1p(x)),
        Op::Log2 => map1!(b, x: C<T> => complex::log2(x)),
        Op::Log10 => map1!(b, x: C<T> => complex::log10(x)),
        Op::Sin => map1!(b, x: C<T> => complex::sin(x)),
        Op::Cos => map1!(b, x: C<T> => complex::cos(x)),
        Op::Tan => map1!(b, x: C<T> => complex::tan(x)),
        Op::Asin => map1!(b, x: C<T> => complex::asin(x)),
        Op::Acos => map1!(b, x: C<T> => complex::acos(x)),
        Op::Atan => map1!(b, x: C<T> => complex::atan(x)),
        Op::Sinh => map1!(b, x: C<T> => complex::sinh(x)),
        Op::Cosh => map1!(b, x: C<T> => complex::cosh(x)),
        Op::Tanh => map1!(b, x: C<T> => complex::tanh(x)),
        Op::Asinh => map1!(b, x: C<T> => complex::asinh(x)),
        Op::Acosh => map1!(b, x: C<T> => complex::acosh(x)),
        Op::Atanh => map1!(b, x: C<T> => complex::atanh(x)),
        Op::Round => map1!(b, x: C<T> => C::new(maths::round(x.re), maths::round(x.im))),

        Op::IsFinite => {
            map1!(b, x: C<T> => Bool::from((x.re.abs() < T::infinity()) & (x.im.abs() < T::infinity())))
        }
        Op::IsInf => {
            map1!(b, x: C<T> => Bool::from((x.re.abs() == T::infinity()) | (x.im.abs() == T::infinity())))
        }
        Op::IsNan => map1!(b, x: C<T> => Bool::from(x.re.is_nan() | x.im.is_nan())),
        Op::Equal => map2!(b, x, y: C<T> => Bool::from((x.re == y.re) & (x.im == y.im))),
        Op::NotEqual => map2!(b, x, y: C<T> => Bool::from((x.re != y.re) | (x.im != y.im))),
        Op::LogicalAnd => map2!(b, x, y: C<T> => Bool::from(truth(x) & truth(y))),
        Op::LogicalOr => map2!(b, x, y: C<T> => Bool::from(truth(x) | truth(y))),
        Op::LogicalXor => map2!(b, x, y: C<T> => Bool::from(truth(x) != truth(y))),
        Op::LogicalNot => map1!(b, x: C<T> => Bool::from(!truth(x))),

        Op::FloorDivide
        | Op::Remainder
        | Op::Hypot
        | Op::LogAddExp
        | Op::Atan2
        | Op::Ceil
        | Op::Floor
        | Op::Trunc
        | Op::CopySign
        | Op::NextAfter
        | Op::SignBit
        | Op::Less
        | Op::LessEqual
        | Op::Greater
        | Op::GreaterEqual
        | Op::Maximum
        | Op::Minimum
        | Op::BitwiseAnd
        | Op::BitwiseOr
        | Op::BitwiseXor
        | Op::BitwiseInvert
        | Op::BitwiseLeftShift
        | Op::BitwiseRightShift
        | Op::Select => illegal(op, <Complex<T> as Element>::DTYPE),
    }
}

fn boolean(op: Op, b: Block) {
    macro_rules! bool1 {
        ($x:ident => $e:expr) => {
            map1!(b, x: Bool => { let $x = x.get(); Bool::from($e) })
        };
    }
    macro_rules! bool2 {
        ($x:ident, $y:ident => $e:expr) => {
            map2!(b, x, y: Bool => { let ($x, $y) = (x.get(), y.get()); Bool::from($e) })
        };
    }
    match op {
        Op::Add | Op::Maximum | Op::BitwiseOr | Op::LogicalOr => bool2!(x, y => x | y),
        Op::Multiply | Op::Minimum | Op::BitwiseAnd | Op::LogicalAnd => bool2!(x, y => x & y),
        Op::NotEqual | Op::BitwiseXor | Op::LogicalXor => bool2!(x, y => x ^ y),
        Op::Equal => bool2!(x, y => x == y),
        Op::Less => bool2!(x, y => !x & y),
        Op::LessEqual => bool2!(x, y => !x | y),
        Op::Greater => bool2!(x, y => x & !y),
        Op::GreaterEqual => bool2!(x, y => x | !y),
        Op::BitwiseInvert | Op::LogicalNot => bool1!(x => !x),
        Op::Abs => bool1!(x => x),
        Op::IsFinite => bool1!(_x => true),
        Op::IsInf | Op::IsNan => bool1!(_x => false),

        Op::Subtract
        | Op::Divide
        | Op::FloorDivide
        | Op::Remainder
        | Op::Pow
        | Op::Negative
        | Op::Positive
        | Op::Sign
        | Op::Square
        | Op::Reciprocal
        | Op::Sqrt
        | Op::Hypot
        | Op::Exp
        | Op::Expm1
        | Op::Log
        | Op::Log1p
        | Op::Log2
        | Op::Log10
        | Op::LogAddExp
        | Op::Sin
        | Op::Cos
        | Op::Tan
        | Op::Asin
        | Op::Acos
        | Op::Atan
        | Op::Atan2
        | Op::Sinh
        | Op::Cosh
        | Op::Tanh
        | Op::Asinh
        | Op::Acosh
        | Op::Atanh
        | Op::Ceil
        | Op::Floor
        | Op::Trunc
        | Op::Round
        | Op::CopySign
        | Op::NextAfter
        | Op::SignBit
        | Op::Conj
        | Op::Real
        | Op::Imag
        | Op::BitwiseLeftShift
        | Op::BitwiseRightShift
        | Op::Select => illegal(op, DType::Bool),
    }
}

/// `float16`: widened, computed by the `float32` loop and rounded, piece by piece on the stack.
fn half(op: Op, b: Block) {
    const PIECE: usize = 256;
    if op == Op::NextAfter {
        return map2!(b, x, y: f16 => next_after(x, y));
    }
    let (arity, out_size) = (
        op.info().arity,
        op.result(DType::F16).map_or(2, DType::itemsize),
    );
    let mut wide = [[0f32; PIECE]; 3];
    let mut start = 0;
    while start < b.len() {
        let part = b.part(start, PIECE, 2, out_size);
        let n = part.len();
        for (k, wide) in wide[..arity].iter_mut().enumerate() {
            map(part.arg::<f16>(k), &mut wide[..n], widen);
        }
        let args = [
            wide[0].as_ptr().cast(),
            wide[1].as_ptr().cast(),
            std::ptr::null(),
        ];
        if out_size == 2 {
            let result = wide[2].as_mut_ptr().cast();
            // SAFETY: at most two arguments and the result are three distinct arrays of `n` or more elements.
            real::<f32>(op, unsafe { Block::new(args, result, n) });
            map(&wide[2][..n], part.out(), narrow);
        } else {
            // SAFETY: as above; the result is the part's own, of `bool`.
            real::<f32>(op, unsafe {
                Block::new(args, part.out::<Bool>().as_mut_ptr().cast(), n)
            });
        }
        start += n;
    }
}

const _: () = assert!(size_of::<Complex64>() == 16 && size_of::<Complex32>() == 8);

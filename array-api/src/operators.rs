//! Rust's operators on arrays and scalars.
//!
//! An operator cannot return a `Result`. Operands that do not fit give an array that carries the
//! error instead of elements: asking for its value, and every operation on it, returns that error. The functions of
//! [`ops`](crate::ops) report the same errors at the call.

use crate::array::Array;
use crate::base::{Base, State};
use crate::ops::elementwise::{apply, apply_in_place};
use crate::promotion::{Arg, Weak};
use rustarr_interface::{DType, Error, Layout, Op, Result};
use std::ops;

/// An array in place of the one that could not be made.
fn failed(near: &Array, error: Error) -> Array {
    let base = Base::new(DType::F64, 1, near.context().space(), State::Failed(error));
    Array::of(base, Layout::contiguous(&[]), near.context().clone())
}

fn or_failed(near: &Array, result: Result<Array>) -> Array {
    result.unwrap_or_else(|error| failed(near, error))
}

macro_rules! binary {
    ($($trait:ident::$method:ident => $op:ident, $assign:ident::$assign_method:ident;)*) => { $(
        impl<'a, R: Into<Arg<'a>>> ops::$trait<R> for &Array {
            type Output = Array;
            fn $method(self, rhs: R) -> Array {
                or_failed(self, apply(Op::$op, &[Arg::Array(self), rhs.into()]))
            }
        }
        impl<'a, R: Into<Arg<'a>>> ops::$trait<R> for Array {
            type Output = Array;
            fn $method(self, rhs: R) -> Array {
                ops::$trait::$method(&self, rhs)
            }
        }
        impl ops::$trait<Array> for &Array {
            type Output = Array;
            fn $method(self, rhs: Array) -> Array {
                ops::$trait::$method(self, &rhs)
            }
        }
        impl ops::$trait<Array> for Array {
            type Output = Array;
            fn $method(self, rhs: Array) -> Array {
                ops::$trait::$method(&self, &rhs)
            }
        }
        binary!(@scalar $trait::$method => $op, f64, f32, i32, i64);
        impl<'a, R: Into<Arg<'a>>> ops::$assign<R> for Array {
            /// Writes into the elements, which other views see; an error replaces the array by one that
            /// carries it and leaves the elements alone.
            fn $assign_method(&mut self, rhs: R) {
                if let Err(error) = apply_in_place(Op::$op, self, rhs.into()) {
                    *self = failed(self, error);
                }
            }
        }
    )* };
    (@scalar $trait:ident::$method:ident => $op:ident, $($t:ty),*) => { $(
        impl ops::$trait<&Array> for $t {
            type Output = Array;
            fn $method(self, rhs: &Array) -> Array {
                or_failed(rhs, apply(Op::$op, &[Arg::Scalar(Weak::from(self)), Arg::Array(rhs)]))
            }
        }
        impl ops::$trait<Array> for $t {
            type Output = Array;
            fn $method(self, rhs: Array) -> Array {
                ops::$trait::$method(self, &rhs)
            }
        }
    )* };
}
binary! {
    Add::add => Add, AddAssign::add_assign;
    Sub::sub => Subtract, SubAssign::sub_assign;
    Mul::mul => Multiply, MulAssign::mul_assign;
    Div::div => Divide, DivAssign::div_assign;
    Rem::rem => Remainder, RemAssign::rem_assign;
    BitAnd::bitand => BitwiseAnd, BitAndAssign::bitand_assign;
    BitOr::bitor => BitwiseOr, BitOrAssign::bitor_assign;
    BitXor::bitxor => BitwiseXor, BitXorAssign::bitxor_assign;
    Shl::shl => BitwiseLeftShift, ShlAssign::shl_assign;
    Shr::shr => BitwiseRightShift, ShrAssign::shr_assign;
}

macro_rules! unary {
    ($($trait:ident::$method:ident => $op:ident;)*) => { $(
        impl ops::$trait for &Array {
            type Output = Array;
            fn $method(self) -> Array {
                or_failed(self, apply(Op::$op, &[Arg::Array(self)]))
            }
        }
        impl ops::$trait for Array {
            type Output = Array;
            fn $method(self) -> Array {
                ops::$trait::$method(&self)
            }
        }
    )* };
}
unary! {
    Neg::neg => Negative;
    Not::not => BitwiseInvert;
}

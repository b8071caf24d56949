//! The binary operators of arrays.
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "PyO3's own code, which the lint takes for ours because of the macro here"
)]

use crate::array::PyArray;
use pyo3::prelude::*;
use rustarr::interface::Op;

/// Rows: `__op__`, `__rop__`, `__iop__` and the operation.
macro_rules! operators {
    ($(($name:ident, $reflected:ident, $in_place:ident, $op:ident))*) => {
        #[pymethods]
        impl PyArray {
            $(
                fn $name(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    self.binary(Op::$op, other, false)
                }
                fn $reflected(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    self.binary(Op::$op, other, true)
                }
                fn $in_place(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
                    self.in_place(Op::$op, other)
                }
            )*
        }
    };
}
operators! {
    (__add__, __radd__, __iadd__, Add)
    (__sub__, __rsub__, __isub__, Subtract)
    (__mul__, __rmul__, __imul__, Multiply)
    (__truediv__, __rtruediv__, __itruediv__, Divide)
    (__floordiv__, __rfloordiv__, __ifloordiv__, FloorDivide)
    (__mod__, __rmod__, __imod__, Remainder)
    (__and__, __rand__, __iand__, BitwiseAnd)
    (__or__, __ror__, __ior__, BitwiseOr)
    (__xor__, __rxor__, __ixor__, BitwiseXor)
    (__lshift__, __rlshift__, __ilshift__, BitwiseLeftShift)
    (__rshift__, __rrshift__, __irshift__, BitwiseRightShift)
}

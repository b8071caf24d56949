//! The elementwise functions, one method per row of the operation table.

use crate::array::PyArray;
use crate::namespace::Functions;
use pyo3::prelude::*;
use rustarr::interface::{Op, for_each_op};

/// Walks the rows, collects one method each, and emits them as one block, as PyO3 needs it.
macro_rules! methods {
    (@rows [$($done:tt)*]) => {
        #[pymethods]
        impl Functions { $($done)* }
    };
    // Takes NumPy's `decimals` too, and stands with the functions that are no rows.
    (@rows [$($done:tt)*] (Round, $($row:tt)*) $($rest:tt)*) => {
        methods! { @rows [$($done)*] $($rest)* }
    };
    (@rows [$($done:tt)*] ($v:ident, $name:ident, 1, $kinds:ident, $promote:ident, $result:ident,
        $wgsl:tt, $ulp:tt, $doc:tt) $($rest:tt)*) => {
        methods! { @rows [$($done)*
            #[doc = $doc]
            ///
            /// Parameters
            /// ----------
            /// x
            ///     An array of any shape, or what ``asarray`` takes. Integers count as floating-point numbers where
            ///     the function's values are such.
            ///
            /// Returns
            /// -------
            /// Array
            ///     Of the same shape.
            ///
            /// Raises
            /// ------
            /// TypeError
            ///     For a dtype that the function does not take.
            ///
            /// Source: array API standard 2025.12, "Element-wise Functions".
            #[pyo3(signature = (x, /))]
            fn $name(&self, x: &Bound<'_, PyAny>) -> PyResult<PyArray> {
                self.0.elementwise(Op::$v, [x])
            }
        ] $($rest)* }
    };
    (@rows [$($done:tt)*] ($v:ident, $name:ident, 2, $kinds:ident, $promote:ident, $result:ident,
        $wgsl:tt, $ulp:tt, $doc:tt) $($rest:tt)*) => {
        methods! { @rows [$($done)*
            #[doc = $doc]
            ///
            /// Parameters
            /// ----------
            /// x1, x2
            ///     Arrays whose shapes broadcast, or what ``asarray`` takes. Python scalars adapt to the other
            ///     operand's dtype.
            ///
            /// Returns
            /// -------
            /// Array
            ///     Of the common shape.
            ///
            /// Raises
            /// ------
            /// TypeError
            ///     For dtypes that the function does not take.
            /// ValueError
            ///     If the shapes do not broadcast, or the arrays are on different devices.
            /// OverflowError
            ///     For a Python integer outside the dtype.
            ///
            /// Source: array API standard 2025.12, "Element-wise Functions".
            #[pyo3(signature = (x1, x2, /))]
            fn $name(&self, x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>) -> PyResult<PyArray> {
                self.0.elementwise(Op::$v, [x1, x2])
            }
        ] $($rest)* }
    };
    ($($rows:tt)*) => { methods! { @rows [] $($rows)* } };
}
for_each_op!(methods);

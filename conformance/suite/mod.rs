//! The suite: the meaning of every operation, what to try it on, and where.

pub mod folds;
pub mod inputs;
pub mod reference;
pub mod targets;

use crate::oracle::value::Value;
use rustarr::Array;
use rustarr_interface::DType;

/// The elements of an array.
///
/// # Panics
/// If its recorded work fails.
pub fn values(x: &Array) -> Vec<Value> {
    let bytes = x
        .to_bytes()
        .unwrap_or_else(|e| panic!("{x:?} cannot be read: {e}"));
    decode(x.dtype(), &bytes)
}

/// The elements of row-major bytes.
pub fn decode(dtype: DType, bytes: &[u8]) -> Vec<Value> {
    bytes
        .chunks_exact(dtype.itemsize())
        .map(|b| Value::from_bytes(dtype, b))
        .collect()
}

/// The row-major bytes of elements.
pub fn encode(dtype: DType, values: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.iter().for_each(|v| v.push_bytes(dtype, &mut bytes));
    bytes
}

/// Compares an array with what is accepted for each element.
///
/// # Panics
/// At the first element that is not accepted, naming it with `what`.
pub fn check(got: &Array, want: &[Value], what: &dyn Fn(usize) -> String) {
    let got = values(got);
    assert_eq!(got.len(), want.len(), "{}: the number of elements", what(0));
    for (i, (want, got)) in want.iter().zip(&got).enumerate() {
        assert!(want.accepts(got), "{}: {got:?}, not {want:?}", what(i));
    }
}

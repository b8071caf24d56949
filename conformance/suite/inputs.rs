//! What operations are tried on: special values, and every kind of view of them.

use super::encode;
use crate::oracle::value::{Value, int_range, largest, round, width};
use num_complex::Complex64;
use rustarr::{Array, Context};
use rustarr_interface::{DType, Kinds, Layout};

/// Values at which implementations go wrong.
pub fn special(dtype: DType) -> Vec<Value> {
    match dtype.kind() {
        Kinds::BOOL => vec![true.into(), false.into()],
        Kinds::FLOAT => floats(dtype).into_iter().map(Value::from).collect(),
        Kinds::COMPLEX => {
            let parts = [0.0, 1.0, -1.0, 0.5, -2.25, 3.0, f64::INFINITY, f64::NAN];
            let all = parts
                .iter()
                .flat_map(|&re| parts.map(|im| Complex64::new(re, im)));
            all.map(Value::from).collect()
        }
        _ => {
            let (low, high) = int_range(dtype);
            let bits = width(dtype) as i128;
            let mut all = vec![
                0,
                1,
                2,
                3,
                5,
                7,
                10,
                100,
                bits - 1,
                bits,
                bits + 1,
                high,
                high - 1,
                high / 3,
            ];
            all.extend(
                [-1, -2, -3, -7, -100, low, low + 1, low / 3]
                    .iter()
                    .filter(|v| **v >= low),
            );
            all.into_iter().map(Value::from).collect()
        }
    }
}

fn floats(dtype: DType) -> Vec<f64> {
    let smallest = match dtype {
        DType::F16 => 2f64.powi(-14),
        DType::F32 => f32::MIN_POSITIVE as f64,
        _ => f64::MIN_POSITIVE,
    };
    let top = largest(dtype);
    let positive = [
        0.0,
        1.0,
        0.5,
        1.5,
        2.5,
        0.1,
        3.0,
        10.0,
        88.5,
        1e-3,
        1e-7,
        1e4,
        2e9,
        0.999,
        1.001,
        std::f64::consts::PI,
        std::f64::consts::E,
        smallest,
        smallest * 1.5,
        smallest / 4.0,
        top,
        top / 2.0,
        f64::INFINITY,
    ];
    let mut all: Vec<f64> = positive.iter().map(|&v| round(dtype, v)).collect();
    all.extend(all.clone().iter().map(|v| -v));
    all.push(f64::NAN);
    all
}

/// How the elements of an array lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Row-major without gaps, from the start of the memory.
    Dense,
    /// As dense, from an offset that no vector is aligned to.
    Offset,
    /// Backwards.
    Negative,
    /// Every other element of the memory.
    Strided,
    /// Column-major: a transposed matrix.
    Transposed,
}

impl Form {
    /// Every form.
    pub const ALL: [Form; 5] = [
        Form::Dense,
        Form::Offset,
        Form::Negative,
        Form::Strided,
        Form::Transposed,
    ];

    /// An array of these elements of `shape` (for `Transposed` of at least two dimensions) in this form.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn array(self, ctx: &Context, dtype: DType, shape: &[usize], values: &[Value]) -> Array {
        let make = |values: &[Value], shape: &[usize]| {
            Array::from_bytes(ctx, dtype, shape, &encode(dtype, values)).expect("a small array")
        };
        let n = values.len();
        // What lies between is not to be seen.
        let rubbish = values.last().copied().unwrap_or(Value::Any);
        let shaped = |x: Array| {
            let layout = x.layout().reshape(shape).expect("one step says it");
            x.view(layout)
        };
        match self {
            Form::Dense => make(values, shape),
            Form::Offset => {
                let padded = [&[rubbish; 3], values].concat();
                let x = make(&padded, &[n + 3]);
                shaped(x.view(x.layout().slice(0, 3, 1, n)))
            }
            Form::Negative => {
                let back: Vec<Value> = values.iter().rev().copied().collect();
                let x = make(&back, &[n]);
                shaped(x.view(x.layout().flip(0)))
            }
            Form::Strided => {
                let spread: Vec<Value> = values.iter().flat_map(|v| [*v, rubbish]).collect();
                let x = make(&spread, &[2 * n]);
                shaped(x.view(x.layout().slice(0, 0, 2, n)))
            }
            Form::Transposed => {
                let axes: Vec<usize> = (0..shape.len()).rev().collect();
                let turned: Vec<usize> = axes.iter().map(|&a| shape[a]).collect();
                let own = Layout::contiguous(shape).permute(&axes);
                let order: Vec<Value> = (0..n).map(|i| values[own.position(i)]).collect();
                let x = make(&order, &turned);
                x.view(x.layout().permute(&axes))
            }
        }
    }
}

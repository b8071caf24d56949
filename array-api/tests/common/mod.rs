//! Contexts to run every case in, and short ways in and out of arrays.
#![allow(dead_code)]

use rustarr::interface::{Backend, Complex64, Element};
use rustarr::{Array, Context, ContextOptions, DType, Defer, ErrorKind, Result};
use std::sync::Arc;

/// One context per way of deferring: results must not depend on it.
pub fn contexts() -> Vec<Context> {
    [Defer::Auto, Defer::Always, Defer::Never]
        .into_iter()
        .map(context)
        .collect()
}

pub fn context(defer: Defer) -> Context {
    let backend: Arc<dyn Backend> = Arc::new(rustarr_serial::open(None, None));
    let options = ContextOptions {
        defer,
        ..ContextOptions::default()
    };
    Context::new("cpu-serial", backend.clone(), backend, options)
}

pub fn array<T: Element>(ctx: &Context, values: &[T], shape: &[usize]) -> Array {
    Array::from_slice(ctx, values, shape).unwrap()
}

/// `0, 1, ..` as `int64` in a shape.
pub fn range(ctx: &Context, shape: &[usize]) -> Array {
    let n: usize = shape.iter().product();
    array(ctx, &(0..n as i64).collect::<Vec<_>>(), shape)
}

pub fn ints(x: &Array) -> Vec<i64> {
    x.astype(DType::I64).unwrap().to_vec().unwrap()
}

pub fn floats(x: &Array) -> Vec<f64> {
    x.astype(DType::F64).unwrap().to_vec().unwrap()
}

pub fn complexes(x: &Array) -> Vec<Complex64> {
    x.astype(DType::C128).unwrap().to_vec().unwrap()
}

pub fn bools(x: &Array) -> Vec<bool> {
    assert_eq!(x.dtype(), DType::Bool);
    ints(x).into_iter().map(|v| v != 0).collect()
}

pub fn truths(ctx: &Context, values: &[bool], shape: &[usize]) -> Array {
    let bytes: Vec<u8> = values.iter().map(|&v| v as u8).collect();
    array(ctx, &bytes, shape).astype(DType::Bool).unwrap()
}

#[track_caller]
pub fn kind<T>(result: Result<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("no error"),
        Err(e) => e.kind(),
    }
}

#[track_caller]
pub fn close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{got:?} and {want:?}");
    for (g, w) in got.iter().zip(want) {
        let same = g == w || g.is_nan() && w.is_nan();
        assert!(
            same || (g - w).abs() <= tolerance * w.abs().max(1.0),
            "{got:?} is not {want:?}"
        );
    }
}

/// Small pseudo-random numbers for test inputs (a linear congruence; its quality does not matter).
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n.max(1) as u64) as usize
    }
    pub fn float(&mut self) -> f64 {
        self.below(1 << 20) as f64 / (1 << 19) as f64 - 1.0
    }
}

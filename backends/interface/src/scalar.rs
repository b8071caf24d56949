//! One typed value: a parameter of a program, a fill value, an element read out.

use crate::dispatch;
use crate::dtype::{Bool, Complex32, Complex64, DType, Element, f16};

/// A value of a dtype, stored as its own bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scalar {
    dtype: DType,
    bytes: [u8; 16],
}

impl Scalar {
    /// The scalar of a Rust value.
    pub fn new<T: Element>(value: T) -> Self {
        let mut bytes = [0; 16];
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        Scalar {
            dtype: T::DTYPE,
            bytes,
        }
    }

    /// A scalar of `dtype` from the first `itemsize` bytes of `bytes`, in native order.
    ///
    /// # Panics
    /// If `bytes` is shorter than one element.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Self {
        let mut own = [0; 16];
        own[..dtype.itemsize()].copy_from_slice(&bytes[..dtype.itemsize()]);
        Scalar { dtype, bytes: own }
    }

    /// `value` as an element of `dtype`: integers wrap, floats round to nearest.
    pub fn from_f64(dtype: DType, value: f64) -> Self {
        Scalar::new(value).cast(dtype)
    }

    /// `value` as an element of `dtype`: integers wrap, floats round to nearest.
    pub fn from_i64(dtype: DType, value: i64) -> Self {
        Scalar::new(value).cast(dtype)
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The element's bytes in native order.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.dtype.itemsize()]
    }

    /// The value as the storage type of its dtype; `None` for any other type.
    pub fn get<T: Element>(&self) -> Option<T> {
        (T::DTYPE == self.dtype).then(|| bytemuck::pod_read_unaligned(self.bytes()))
    }

    /// The value in `f64`, rounded; the real part of a complex.
    pub fn to_f64(&self) -> f64 {
        self.to_complex().re
    }

    /// The value in `complex128`, rounded.
    pub fn to_complex(&self) -> Complex64 {
        let b = self.bytes();
        let real = |re: f64| Complex64::new(re, 0.0);
        match self.dtype {
            DType::Bool => real((b[0] != 0) as u8 as f64),
            DType::F16 => real(bytemuck::pod_read_unaligned::<f16>(b).to_f64()),
            DType::F32 => real(bytemuck::pod_read_unaligned::<f32>(b) as f64),
            DType::F64 => real(bytemuck::pod_read_unaligned(b)),
            DType::C64 => {
                let c: Complex32 = bytemuck::pod_read_unaligned(b);
                Complex64::new(c.re as f64, c.im as f64)
            }
            DType::C128 => bytemuck::pod_read_unaligned(b),
            int => real(
                dispatch!(int, int, T => bytemuck::pod_read_unaligned::<T>(b) as f64, else 0.0),
            ),
        }
    }

    /// The value as an integer of 128 bits: floats truncate and saturate, NaN is 0.
    pub fn to_i128(&self) -> i128 {
        let b = self.bytes();
        match self.dtype {
            DType::Bool => (b[0] != 0) as i128,
            int => {
                dispatch!(int, int, T => bytemuck::pod_read_unaligned::<T>(b) as i128, else self.to_f64() as i128)
            }
        }
    }

    /// The value converted as `astype` does: integers wrap, floats to integers truncate and
    /// saturate with NaN as 0, complex to real keeps the real part.
    #[must_use]
    pub fn cast(&self, dtype: DType) -> Scalar {
        if dtype == self.dtype {
            return *self;
        }
        match dtype {
            DType::Bool => {
                let z = self.to_complex();
                Scalar::new(Bool::from(z.re != 0.0 || z.im != 0.0))
            }
            DType::F16 => Scalar::new(f16::from_f64(self.to_f64())),
            DType::F32 => Scalar::new(match self.get::<f64>() {
                Some(v) => v as f32,
                None => dispatch!(int, self.dtype, T => self.get::<T>().unwrap_or_default() as f32,
                    else self.to_f64() as f32),
            }),
            DType::F64 => Scalar::new(self.to_f64()),
            DType::C64 => {
                // An integer is rounded once: through float64 it would be twice.
                let re = self.cast(DType::F32).get().unwrap_or_default();
                Scalar::new(Complex32::new(re, self.to_complex().im as f32))
            }
            DType::C128 => Scalar::new(self.to_complex()),
            int => {
                let float = self.dtype.is(crate::Kinds::INEXACT);
                dispatch!(int, int, T => Scalar::new(if float {
                    self.to_f64() as T
                } else {
                    self.to_i128() as T
                }), else *self)
            }
        }
    }
}

//! The vocabulary that the front end and the backends share, and the trait between them.
//!
//! This crate imports no other crate of the project. Everything that crosses the boundary is
//! data: a [`DType`], a signed-stride [`Layout`], a flat [`Program`] over the operation table
//! [`Op`], or a small spec struct. A backend implements [`Backend`]; nothing else is needed.

mod backend;
mod buffer;
mod dtype;
mod error;
pub mod fork;
pub mod interrupt;
mod layout;
mod ops;
mod program;
mod scalar;
mod spec;

pub use backend::{Args, Backend, Caps, Counters, MemoryInfo, OpSupport, Operand, Verb};
pub use buffer::{Buffer, ForeignMemory, Memory, Space};
pub use dtype::{Bool, Complex32, Complex64, DType, DTypeSet, Element, Kinds, f16};
pub use error::{Error, ErrorKind, Result};
pub use layout::{Dims, Layout, Strides, broadcast_shapes, collapse};
pub use ops::{Op, OpInfo, Promote, ResultRule};
pub use program::{Code, Instr, NO_SLOT, Program, ProgramBuilder, Slot};
pub use scalar::Scalar;
pub use spec::{
    AxisMask, Fft, FftKind, FftNorm, Linalg, Random, Reduce, Scan, ScanKind, Search, Sort,
};

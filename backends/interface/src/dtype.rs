//! Element types, their sets, and the one macro where a run-time dtype meets generics.

use bytemuck::{Pod, Zeroable};
use std::fmt;

pub use half::f16;

/// `complex64`: two `f32`.
pub type Complex32 = num_complex::Complex<f32>;
/// `complex128`: two `f64`.
pub type Complex64 = num_complex::Complex<f64>;

/// One byte of boolean storage. Zero is false and every other value is true, so that foreign
/// memory with odd bytes is still sound to read.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Bool(pub u8);

impl Bool {
    /// True unless the byte is zero.
    #[inline(always)]
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    #[inline(always)]
    fn from(value: bool) -> Self {
        Bool(value as u8)
    }
}

impl PartialEq for Bool {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl fmt::Debug for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// The dtype of an array: the standard's thirteen, and `float16`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    /// `bool`, one byte.
    Bool,
    /// `int8`.
    I8,
    /// `int16`.
    I16,
    /// `int32`.
    I32,
    /// `int64`.
    I64,
    /// `uint8`.
    U8,
    /// `uint16`.
    U16,
    /// `uint32`.
    U32,
    /// `uint64`.
    U64,
    /// `float16`, IEEE binary16; not part of the standard.
    F16,
    /// `float32`.
    F32,
    /// `float64`.
    F64,
    /// `complex64`.
    C64,
    /// `complex128`.
    C128,
}

impl DType {
    /// Every dtype, in declaration order.
    pub const ALL: [DType; 14] = {
        use DType::*;
        [
            Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, C64, C128,
        ]
    };

    /// The name of the array API standard and of NumPy.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "int8",
            DType::I16 => "int16",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::U8 => "uint8",
            DType::U16 => "uint16",
            DType::U32 => "uint32",
            DType::U64 => "uint64",
            DType::F16 => "float16",
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::C64 => "complex64",
            DType::C128 => "complex128",
        }
    }

    /// The dtype of a standard name, if there is one.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Bytes per element, on every backend.
    pub const fn itemsize(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
        }
    }

    /// The category this dtype belongs to.
    pub const fn kind(self) -> Kinds {
        match self {
            DType::Bool => Kinds::BOOL,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kinds::SIGNED,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kinds::UNSIGNED,
            DType::F16 | DType::F32 | DType::F64 => Kinds::FLOAT,
            DType::C64 | DType::C128 => Kinds::COMPLEX,
        }
    }

    /// Whether this dtype is in one of `kinds`.
    pub const fn is(self, kinds: Kinds) -> bool {
        kinds.contains(self.kind())
    }

    /// The dtype of the real and imaginary parts; itself for every dtype that is not complex.
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// The complex dtype whose parts have this floating dtype, or itself if already complex.
    pub const fn complex(self) -> Option<DType> {
        match self {
            DType::F32 | DType::C64 => Some(DType::C64),
            DType::F64 | DType::C128 => Some(DType::C128),
            _ => None,
        }
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of dtype categories.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Kinds(u8);

impl Kinds {
    /// `bool`.
    pub const BOOL: Kinds = Kinds(1);
    /// Signed integers.
    pub const SIGNED: Kinds = Kinds(2);
    /// Unsigned integers.
    pub const UNSIGNED: Kinds = Kinds(4);
    /// Real floating point.
    pub const FLOAT: Kinds = Kinds(8);
    /// Complex floating point.
    pub const COMPLEX: Kinds = Kinds(16);
    /// Signed and unsigned integers.
    pub const INT: Kinds = Kinds(2 | 4);
    /// Integers and booleans.
    pub const INT_BOOL: Kinds = Kinds(1 | 2 | 4);
    /// Integers and real floating point.
    pub const REAL: Kinds = Kinds(2 | 4 | 8);
    /// Everything with an order: booleans, integers, real floating point.
    pub const ORDERED: Kinds = Kinds(1 | 2 | 4 | 8);
    /// Real and complex floating point.
    pub const INEXACT: Kinds = Kinds(8 | 16);
    /// Everything but `bool`.
    pub const NUMERIC: Kinds = Kinds(2 | 4 | 8 | 16);
    /// Every dtype.
    pub const ALL: Kinds = Kinds(31);

    /// Whether every category of `other` is in this set.
    pub const fn contains(self, other: Kinds) -> bool {
        self.0 & other.0 == other.0
    }

    /// The words that error messages use for this set.
    pub fn describe(self) -> &'static str {
        match self {
            Kinds::BOOL => "boolean",
            Kinds::INT => "integer",
            Kinds::INT_BOOL => "integer or boolean",
            Kinds::FLOAT => "real floating-point",
            Kinds::INEXACT => "floating-point",
            Kinds::REAL => "real numeric",
            Kinds::ORDERED => "boolean or real numeric",
            Kinds::NUMERIC => "numeric",
            Kinds::COMPLEX => "complex floating-point",
            _ => "other",
        }
    }
}

/// A set of dtypes, as a bit mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DTypeSet(u16);

impl DTypeSet {
    /// No dtype.
    pub const EMPTY: DTypeSet = DTypeSet(0);
    /// Every dtype.
    pub const ALL: DTypeSet = DTypeSet((1 << DType::ALL.len()) - 1);

    /// The set of the listed dtypes.
    pub const fn of(dtypes: &[DType]) -> DTypeSet {
        let mut bits = 0;
        let mut i = 0;
        while i < dtypes.len() {
            bits |= 1 << dtypes[i] as u8;
            i += 1;
        }
        DTypeSet(bits)
    }

    /// Whether `dtype` is in the set.
    pub const fn contains(self, dtype: DType) -> bool {
        self.0 & (1 << dtype as u8) != 0
    }

    /// This set with `dtype` in it.
    #[must_use]
    pub const fn with(self, dtype: DType) -> DTypeSet {
        DTypeSet(self.0 | (1 << dtype as u8))
    }

    /// The members, in declaration order.
    pub fn iter(self) -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(move |d| self.contains(*d))
    }
}

/// A Rust type that is the storage of one dtype.
pub trait Element: Pod + PartialEq + fmt::Debug + Send + Sync {
    /// The dtype stored as this type.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($t:ty => $d:ident),*) => { $(impl Element for $t { const DTYPE: DType = DType::$d; })* };
}
elements!(Bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16,
    u32 => U32, u64 => U64, f16 => F16, f32 => F32, f64 => F64, Complex32 => C64, Complex64 => C128);

/// Runs `$body` with the type alias `$T` bound to the storage type of a run-time dtype: the one
/// place where dtypes meet generics.
///
/// The first word picks the category, so that `$body` is only instantiated where it makes sense;
/// the other categories evaluate the `else` arm. `all` has no `else`.
///
/// ```
/// use rustarr_interface::{dispatch, DType, Element};
/// let size = dispatch!(all, DType::I32, T => std::mem::size_of::<T>());
/// assert_eq!(size, 4);
/// let bits = dispatch!(int, DType::F32, T => Some(T::BITS), else None);
/// assert_eq!(bits, None);
/// ```
#[macro_export]
macro_rules! dispatch {
    (@arms $dt:expr, $T:ident => $body:expr, [$($v:ident: $t:ty),*], $($rest:tt)*) => {
        match $dt {
            $($crate::DType::$v => { #[allow(dead_code)] type $T = $t; $body })*
            $($rest)*
        }
    };
    (all, $dt:expr, $T:ident => $body:expr) => {
        $crate::dispatch!(@arms $dt, $T => $body, [Bool: $crate::Bool, I8: i8, I16: i16, I32: i32,
            I64: i64, U8: u8, U16: u16, U32: u32, U64: u64, F16: $crate::f16, F32: f32, F64: f64,
            C64: $crate::Complex32, C128: $crate::Complex64],)
    };
    (bool, $dt:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::dispatch!(@arms $dt, $T => $body, [Bool: $crate::Bool], _ => $other)
    };
    (int, $dt:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::dispatch!(@arms $dt, $T => $body, [I8: i8, I16: i16, I32: i32, I64: i64, U8: u8,
            U16: u16, U32: u32, U64: u64], _ => $other)
    };
    (float, $dt:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::dispatch!(@arms $dt, $T => $body, [F16: $crate::f16, F32: f32, F64: f64], _ => $other)
    };
    (real, $dt:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::dispatch!(@arms $dt, $T => $body, [I8: i8, I16: i16, I32: i32, I64: i64, U8: u8,
            U16: u16, U32: u32, U64: u64, F16: $crate::f16, F32: f32, F64: f64], _ => $other)
    };
    (complex, $dt:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::dispatch!(@arms $dt, $T => $body, [C64: $crate::Complex32, C128: $crate::Complex64],
            _ => $other)
    };
    // The dtypes that LAPACK-style routines are written for.
    (lapack, $dt:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::dispatch!(@arms $dt, $T => $body, [F32: f32, F64: f64, C64: $crate::Complex32,
            C128: $crate::Complex64], _ => $other)
    };
}

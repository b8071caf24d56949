//! The arguments of the verbs other than `map`: small plain structs.

use crate::{DType, Kinds, Scalar, dispatch};

/// A set of axes, one bit per axis of the domain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AxisMask(pub u64);

impl AxisMask {
    /// The set of the listed axes; at most 64 dimensions.
    pub fn of(axes: impl IntoIterator<Item = usize>) -> Self {
        AxisMask(axes.into_iter().fold(0, |mask, axis| mask | 1 << axis))
    }

    /// All of the first `ndim` axes.
    pub fn all(ndim: usize) -> Self {
        AxisMask::of(0..ndim)
    }

    /// Whether `axis` is in the set.
    #[inline]
    pub fn contains(self, axis: usize) -> bool {
        self.0 >> axis & 1 == 1
    }

    /// How many axes are in the set.
    pub fn count(self) -> usize {
        self.0.count_ones() as usize
    }
}

/// How a reduction combines values.
///
/// The value's dtype is the program's output dtype and so is the result's, except for
/// `ArgMin` and `ArgMax`, whose result is the `int64` position in row-major order over the reduced
/// axes: the first NaN, else the first extreme. `Any` and `All` take `bool`. The empty
/// reduction gives the identity; the front end refuses it for the kinds that have none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduce {
    /// Sum; `or` for `bool`.
    Sum,
    /// Product; `and` for `bool`.
    Prod,
    /// Smallest value; NaN if there is one.
    Min,
    /// Largest value; NaN if there is one.
    Max,
    /// Logical or.
    Any,
    /// Logical and.
    All,
    /// Position of the smallest value.
    ArgMin,
    /// Position of the largest value.
    ArgMax,
}

impl Reduce {
    /// The name that users call it by.
    pub fn name(self) -> &'static str {
        match self {
            Reduce::Sum => "sum",
            Reduce::Prod => "prod",
            Reduce::Min => "min",
            Reduce::Max => "max",
            Reduce::Any => "any",
            Reduce::All => "all",
            Reduce::ArgMin => "argmin",
            Reduce::ArgMax => "argmax",
        }
    }

    /// What the reduction of no values of `dtype` gives, in the dtype of its result.
    pub fn identity(self, dtype: DType) -> Scalar {
        let one = |value: i64| Scalar::from_i64(dtype, value);
        let extreme = |most: bool| match dtype {
            DType::Bool => one(most as i64),
            dtype if dtype.is(Kinds::INT) => {
                dispatch!(int, dtype, T => Scalar::new(if most { T::MAX } else { T::MIN }), else one(0))
            }
            dtype if most => Scalar::from_f64(dtype, f64::INFINITY),
            dtype => Scalar::from_f64(dtype, f64::NEG_INFINITY),
        };
        match self {
            Reduce::Sum | Reduce::Any => one(0),
            Reduce::Prod | Reduce::All => one(1),
            Reduce::Min => extreme(true),
            Reduce::Max => extreme(false),
            Reduce::ArgMin | Reduce::ArgMax => Scalar::new(0i64),
        }
    }
}

/// What a scan accumulates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScanKind {
    /// Cumulative sum.
    Sum,
    /// Cumulative product.
    Prod,
}

/// An inclusive cumulative operation along one axis; input and output have one shape and dtype.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Scan {
    /// What is accumulated.
    pub kind: ScanKind,
    /// The axis along which.
    pub axis: usize,
}

/// A sort along one axis. Always stable; NaN comes last in both directions, complex numbers are
/// ordered by real, then imaginary part as in NumPy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sort {
    /// The axis along which.
    pub axis: usize,
    /// Falling instead of rising.
    pub descending: bool,
    /// Write the `int64` positions instead of the values.
    pub arg: bool,
}

/// A binary search in a sorted 1-D array; positions are `int64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Search {
    /// After equal elements instead of before them.
    pub right: bool,
}

/// A dense linear algebra routine over the last axes of its operands; leading axes are a batch.
///
/// Inputs and outputs are given per kind as operand lists, with shapes already broadcast.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Linalg {
    /// `A (n,n), B (n,k) -> X (n,k)`.
    Solve,
    /// `A (n,n) -> inverse (n,n)`.
    Inv,
    /// `A (n,n) -> sign (), logabsdet ()`.
    SlogDet,
    /// `A (n,n) -> L (n,n)`, or the upper factor.
    Cholesky {
        /// Return `U` with `A = U^H U` instead of `L`.
        upper: bool,
    },
    /// `A (m,n) -> Q (m,k), R (k,n)` with `k = min(m,n)`, or `k = m` when complete.
    Qr {
        /// Square `Q`.
        complete: bool,
    },
    /// `A (m,n) -> S (k)`, or `U (m,k), S (k), Vh (k,n)`.
    Svd {
        /// Compute `U` and `Vh` too.
        vectors: bool,
        /// Square `U` and `Vh`.
        full: bool,
    },
    /// Hermitian `A (n,n) -> W (n)`, or `W (n), V (n,n)`; reads the lower triangle.
    Eigh {
        /// Compute `V` too.
        vectors: bool,
    },
    /// General `A (n,n) -> W (n)`, or `W (n), V (n,n)`, both complex.
    Eig {
        /// Compute `V` too.
        vectors: bool,
    },
}

/// Which discrete Fourier transform.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FftKind {
    /// Complex to complex, forward.
    Forward,
    /// Complex to complex, inverse.
    Inverse,
    /// Real to the non-negative half of the spectrum.
    RealForward,
    /// Half a Hermitian spectrum to real; the output's length decides.
    RealInverse,
}

/// How a transform is scaled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FftNorm {
    /// Not at all.
    None,
    /// By `1/n`.
    ByN,
    /// By `1/sqrt(n)`.
    BySqrtN,
}

/// A 1-D transform along one axis; input already cut or padded to its length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fft {
    /// Which transform.
    pub kind: FftKind,
    /// The axis along which.
    pub axis: usize,
    /// How the result is scaled.
    pub norm: FftNorm,
}

/// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011). Element `i` of the output,
/// in row-major order, depends on `key`, `counter` and `i` only, so any number of threads and
/// any backend gives the same stream.
///
/// Block `b` is Philox of the 128-bit counter `(counter + b, stream 0)` and gives four 32-bit words.
/// A 32-bit value takes one word, a 64-bit value two (low word first), in order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Random {
    /// Raw bits; the output is `uint32` (one word per element) or `uint64` (two).
    Bits,
    /// Uniform in `[0, 1)`: `float32` has the top 24 bits of one word, `float64` the top 53 of two.
    Uniform,
    /// Standard normal by Box and Muller from two uniforms of the output's precision; elements `2j` and
    /// `2j + 1` are the cosine and sine branch of pair `j`.
    Normal,
    /// Integers `low + floor(x * range / 2^64)` with `x` of 64 bits, in the output's integer dtype.
    Integers {
        /// The smallest value.
        low: i128,
        /// How many values there are, at most `2^64`.
        range: u128,
    },
}

//! Random numbers from a counter: the stream depends on the seed and on what was drawn before, never on the backend,
//! the context or the number of threads. (Normals agree bit for bit on the CPU backends only.)

use super::args::{self, single};
use super::elementwise as ew;
use super::{argsort, count_nonzero, cumulative_sum, searchsorted, take};
use crate::promotion::{Weak, int_range};
use crate::{Array, Context, graph};
use rustarr_interface::{DType, Dims, Error, Kinds, Random, Result, Verb};
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words of 32 bits that a block of the stream has.
const WORDS: usize = 4;

/// A seed of the words of a longer one, lowest first, in sequence through the finalizer of SplitMix64 (Steele, Lea and
/// Flood, OOPSLA 2014).
pub fn mixed(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0, |state, word| {
        let z = (state ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    })
}

/// A stream of random numbers: Philox4x32-10 (Salmon et al., SC 2011) under a key, from a counter on. It may be
/// used by several threads, which then share the stream.
#[derive(Debug)]
pub struct Generator {
    key: AtomicU64,
    counter: AtomicU64,
}

impl Generator {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Generator {
        Generator::at(seed, 0)
    }

    /// A stream seeded by the operating system.
    pub fn from_os() -> Generator {
        Generator::new(os_seed())
    }

    /// The stream of a key from a position on, as [`state`](Generator::state) gives them.
    pub fn at(key: u64, counter: u64) -> Generator {
        Generator {
            key: AtomicU64::new(key),
            counter: AtomicU64::new(counter),
        }
    }

    /// The key and the position, from which [`at`](Generator::at) continues the stream.
    pub fn state(&self) -> (u64, u64) {
        (self.key.load(Relaxed), self.counter.load(Relaxed))
    }

    /// Starts the stream of another seed.
    pub fn reseed(&self, seed: u64) {
        self.key.store(seed, Relaxed);
        self.counter.store(0, Relaxed);
    }

    fn draw(
        &self,
        op: &'static str,
        ctx: &Context,
        random: Random,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Array> {
        args::check_shape(op, shape, dtype)?;
        let n = args::count(shape.iter().copied());
        // Normals come in pairs, so an odd count takes the words of the next even one.
        let (n, words) = match random {
            Random::Normal => (n.next_multiple_of(2), dtype.itemsize() / 4),
            Random::Integers { .. } => (n, 2),
            Random::Bits | Random::Uniform => (n, dtype.itemsize() / 4),
        };
        let blocks = (n * words).div_ceil(WORDS) as u64;
        let (key, counter) = (
            self.key.load(Relaxed),
            self.counter.fetch_add(blocks, Relaxed),
        );
        let outputs = [(dtype, Dims::from_slice(shape))];
        let run = graph::verb(ctx, op, Verb::Random, &[], &outputs, |backend, _, outs| {
            backend.random(random, key, counter, outs[0])
        })?;
        Ok(single(run))
    }

    /// A draw of a floating dtype: `float16` is rounded from `float32`.
    fn floats(
        &self,
        op: &'static str,
        ctx: &Context,
        random: Random,
        shape: &[usize],
        dtype: Option<DType>,
    ) -> Result<Array> {
        let dtype = dtype.unwrap_or(ctx.default_float());
        match dtype {
            DType::F16 => self
                .draw(op, ctx, random, shape, DType::F32)?
                .astype(DType::F16),
            DType::F32 | DType::F64 => self.draw(op, ctx, random, shape, dtype),
            other => Err(Error::dtype(
                op,
                format!("dtype {other} is not real floating-point"),
            )),
        }
    }

    /// Uniform numbers in `[0, 1)`, of the default float where no dtype is given.
    ///
    /// # Errors
    /// `DType` for a dtype that is not real floating-point; `Memory`.
    pub fn random(&self, ctx: &Context, shape: &[usize], dtype: Option<DType>) -> Result<Array> {
        self.floats("random", ctx, Random::Uniform, shape, dtype)
    }

    /// Uniform numbers in `[low, high)`.
    ///
    /// # Errors
    /// As [`random`](Generator::random); `Value` for bounds that are not finite.
    pub fn uniform(
        &self,
        ctx: &Context,
        low: f64,
        high: f64,
        shape: &[usize],
        dtype: Option<DType>,
    ) -> Result<Array> {
        if !(high - low).is_finite() {
            return Err(Error::value(
                "uniform",
                format!("the range from {low} to {high} is not finite"),
            ));
        }
        let unit = self.floats("uniform", ctx, Random::Uniform, shape, dtype)?;
        if (low, high) == (0.0, 1.0) {
            return Ok(unit);
        }
        ew::add(&ew::multiply(&unit, high - low)?, low)
    }

    /// Normal numbers of a mean and a standard deviation.
    ///
    /// # Errors
    /// As [`random`](Generator::random); `Value` for a negative deviation.
    pub fn normal(
        &self,
        ctx: &Context,
        mean: f64,
        deviation: f64,
        shape: &[usize],
        dtype: Option<DType>,
    ) -> Result<Array> {
        if deviation < 0.0 {
            return Err(Error::value(
                "normal",
                format!("the standard deviation {deviation} is negative"),
            ));
        }
        let standard = self.floats("normal", ctx, Random::Normal, shape, dtype)?;
        if (mean, deviation) == (0.0, 1.0) {
            return Ok(standard);
        }
        ew::add(&ew::multiply(&standard, deviation)?, mean)
    }

    /// Uniform integers in `[low, high)`, of the default integer where no dtype is given.
    ///
    /// # Errors
    /// `Value` for an empty range or one of more than `2**64` values; `Overflow` for one that the dtype cannot hold;
    /// `DType` for a dtype that is not an integer.
    pub fn integers(
        &self,
        ctx: &Context,
        low: i128,
        high: i128,
        shape: &[usize],
        dtype: Option<DType>,
    ) -> Result<Array> {
        const OP: &str = "integers";
        let dtype = dtype.unwrap_or(ctx.default_int());
        let Some((least, most)) = int_range(dtype) else {
            return Err(Error::dtype(OP, format!("dtype {dtype} is not an integer")));
        };
        if low >= high {
            return Err(Error::value(
                OP,
                format!("the range from {low} to below {high} is empty"),
            ));
        }
        if low < least || high - 1 > most {
            return Err(Error::overflow(
                OP,
                format!("the range from {low} to below {high} is out of bounds for {dtype}"),
            ));
        }
        let range = (high - low) as u128;
        self.draw(OP, ctx, Random::Integers { low, range }, shape, dtype)
    }

    /// Raw bits as `uint32` or `uint64`.
    ///
    /// # Errors
    /// `DType` for another dtype.
    pub fn bits(&self, ctx: &Context, shape: &[usize], dtype: DType) -> Result<Array> {
        match dtype {
            DType::U32 | DType::U64 => self.draw("bits", ctx, Random::Bits, shape, dtype),
            other => Err(Error::dtype(
                "bits",
                format!("raw bits are uint32 or uint64, not {other}"),
            )),
        }
    }

    /// The numbers below `n` in random order, `int64`.
    ///
    /// # Errors
    /// `Memory`.
    pub fn permutation(&self, ctx: &Context, n: usize) -> Result<Array> {
        argsort(&self.bits(ctx, &[n], DType::U64)?, 0, false, true)
    }

    /// The slices of an array along an axis in random order, as a new array.
    ///
    /// # Errors
    /// `Axis` for a bad axis.
    pub fn permuted(&self, x: &Array, axis: i64) -> Result<Array> {
        let axis = args::axis("permutation", axis, x.ndim())?;
        let order = self.permutation(x.context(), x.shape()[axis])?;
        take(x, &order, Some(axis as i64))
    }

    /// Brings the slices of an array along an axis into random order, in place.
    ///
    /// # Errors
    /// `Axis` for a bad axis; `Value` for an array that may not be written to.
    pub fn shuffle(&self, x: &Array, axis: i64) -> Result<()> {
        x.check_writable("shuffle")?;
        let shuffled = self.permuted(x, axis).map_err(|e| e.in_op("shuffle"))?;
        graph::assign("shuffle", x, shuffled)
    }

    /// Elements drawn from the slices of `x` along its first axis, with or without putting them back, each as likely as
    /// any other or with the probabilities `p`.
    ///
    /// Without replacement and with probabilities the draw is Efraimidis and Spirakis's (2006): the smallest of
    /// exponential variates scaled by `1/p`.
    ///
    /// # Errors
    /// `Value` for more elements than there are, or probabilities that are negative or do not add up to 1; `Shape` for
    /// an array without dimensions or another number of probabilities.
    pub fn choice(
        &self,
        x: &Array,
        shape: &[usize],
        replace: bool,
        p: Option<&Array>,
    ) -> Result<Array> {
        const OP: &str = "choice";
        let Some(&n) = x.shape().first() else {
            return Err(Error::shape(
                OP,
                "an array without dimensions has nothing to choose from",
            ));
        };
        let ctx = x.context();
        args::check_shape(OP, shape, x.dtype())?;
        let count = args::count(shape.iter().copied());
        if n == 0 && count > 0 {
            return Err(Error::value(OP, "there is nothing to choose from"));
        }
        let p = p.map(|p| probabilities(OP, p, n)).transpose()?;
        if !replace {
            let possible = match &p {
                Some(p) => count_nonzero(p, None, false)?.item()?.to_i128() as usize,
                None => n,
            };
            if count > possible {
                return Err(Error::value(
                    OP,
                    format!("{count} elements cannot be drawn from {possible} without replacement"),
                ));
            }
        }
        let picks = match (p, replace) {
            _ if count == 0 => super::zeros(ctx, shape, Some(DType::I64))?,
            (None, true) => self.integers(ctx, 0, n as i128, shape, Some(DType::I64))?,
            (Some(p), true) => {
                let ends = cumulative_sum(&p, Some(0), None, false)?;
                let total = ends.view(ends.layout().slice(0, n - 1, 1, 1));
                let u = ew::multiply(&self.random(ctx, shape, Some(p.dtype()))?, &total)?;
                let found = searchsorted(&ends, &u, true, None)?;
                // A product that was rounded up to the total belongs to the last element.
                ew::minimum(&found, Weak::Int(n as i128 - 1))?
            }
            (p, false) => {
                let order = match p {
                    None => self.permutation(ctx, n)?,
                    Some(p) => {
                        let u = self.random(ctx, &[n], Some(p.dtype()))?;
                        let waits =
                            ew::divide(&ew::negative(&ew::log1p(&ew::negative(&u)?)?)?, &p)?;
                        argsort(&waits, 0, false, true)?
                    }
                };
                args::reshaped(&order.view(order.layout().slice(0, 0, 1, count)), shape)?
            }
        };
        take(x, &picks, Some(0)).map_err(|e| e.in_op(OP))
    }
}

fn probabilities(op: &'static str, p: &Array, n: usize) -> Result<Array> {
    if p.shape() != [n] {
        return Err(Error::shape(
            op,
            format!(
                "probabilities of shape {:?} do not fit {n} elements",
                p.shape()
            ),
        ));
    }
    let dtype = if p.dtype().is(Kinds::FLOAT) {
        p.dtype()
    } else {
        p.context().default_float()
    };
    let p = p.astype(if dtype == DType::F16 {
        DType::F32
    } else {
        dtype
    })?;
    let negative = super::any(&ew::logical_not(&ew::greater_equal(&p, 0.0)?)?, None, false)?;
    let total = super::sum(&p, None, None, false)?.item()?.to_f64();
    let slack = if p.dtype() == DType::F32 { 1e-4 } else { 1e-8 };
    if super::truth(&negative)? || (total - 1.0).abs() > slack {
        return Err(Error::value(
            op,
            format!("probabilities must be non-negative and add up to 1, not to {total}"),
        ));
    }
    Ok(p)
}

fn os_seed() -> u64 {
    // The standard library's hash keys come from the system's random source.
    RandomState::new().hash_one(0u8)
}

static DEFAULT: LazyLock<Generator> = LazyLock::new(Generator::from_os);

/// The process's own stream, seeded by the operating system until [`seed`] is called.
pub fn default_generator() -> &'static Generator {
    &DEFAULT
}

/// Starts the process's stream anew: from a seed, or from the operating system.
pub fn seed(seed: Option<u64>) {
    DEFAULT.reseed(seed.unwrap_or_else(os_seed));
}

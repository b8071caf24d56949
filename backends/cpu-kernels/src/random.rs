//! Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
//! 1, 2, 3", SC 2011).

use crate::maths;
use crate::nest::{Nest, Raw, spread};
use crate::par::Par;
use rustarr_interface::{DType, Element, Error, Operand, Random, Result, dispatch};

/// The name in errors.
const OP: &str = "random";
/// Philox blocks computed side by side, so that they vectorise.
const LANES: usize = 16;
/// Words made at a time: they stay in the first-level cache.
const WORDS: usize = 4 * LANES * 16;
/// Such batches per task.
const BATCHES: usize = 16;

/// Fills `output` with the numbers of a stream, as [`Random`] defines them: element `i` in row-major order depends on
/// `key`, `counter` and `i` only. Normal numbers take the logarithm of `1 - u`, which is never zero.
///
/// # Errors
/// `DType` if the kind of numbers has none of the output's dtype.
pub fn random(
    par: Par<'_>,
    random: Random,
    key: u64,
    counter: u64,
    output: Operand<'_>,
) -> Result<()> {
    let stream = Stream {
        par,
        key,
        counter,
        output,
    };
    match (random, output.dtype) {
        (Random::Bits, DType::U32) => stream.fill(1, |w, out: &mut [u32]| out.copy_from_slice(w)),
        (Random::Bits, DType::U64) => stream.fill(2, |w, out| each(w, out, wide)),
        (Random::Uniform, DType::F32) => stream.fill(1, |w, out| {
            w.iter().zip(out).for_each(|(&w, out)| *out = uniform32(w));
        }),
        (Random::Uniform, DType::F64) => {
            stream.fill(2, |w, out| each(w, out, |w| uniform64(wide(w))))
        }
        (Random::Normal, DType::F32) => stream.fill(1, |w, out: &mut [f32]| {
            let mut unit = [0.0; WORDS];
            w.iter()
                .zip(&mut unit)
                .for_each(|(&w, u)| *u = uniform32(w));
            normal(&unit, out, std::f32::consts::TAU);
        }),
        (Random::Normal, DType::F64) => stream.fill(2, |w, out: &mut [f64]| {
            let mut unit = [0.0; WORDS / 2];
            each(w, &mut unit, |w| uniform64(wide(w)));
            normal(&unit, out, std::f64::consts::TAU);
        }),
        (Random::Integers { low, range }, dtype) => dispatch!(int, dtype, T => {
            stream.fill(2, |w, out: &mut [T]| {
                each(w, out, |w| (low as u64).wrapping_add(scaled(wide(w), range)) as T);
            })
        }, else refuse(random, dtype)),
        (_, dtype) => refuse(random, dtype),
    }
}

fn refuse(random: Random, dtype: DType) -> Result<()> {
    Err(Error::dtype(
        OP,
        format!("{random:?} has no {dtype} numbers"),
    ))
}

/// Two words as one number, the low one first.
#[inline(always)]
fn wide(words: [u32; 2]) -> u64 {
    words[0] as u64 | (words[1] as u64) << 32
}

#[inline(always)]
fn uniform32(word: u32) -> f32 {
    (word >> 8) as f32 * (1.0 / (1u32 << 24) as f32)
}

#[inline(always)]
fn uniform64(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// `floor(x * range / 2^64)` for a range of at most `2^64`.
#[inline(always)]
fn scaled(x: u64, range: u128) -> u64 {
    match u64::try_from(range) {
        Ok(range) => ((x as u128 * range as u128) >> 64) as u64,
        Err(_) => x,
    }
}

/// One element from every two words.
#[inline(always)]
fn each<T>(words: &[u32], out: &mut [T], f: impl Fn([u32; 2]) -> T) {
    for (pair, out) in words.as_chunks::<2>().0.iter().zip(out) {
        *out = f(*pair);
    }
}

/// Box and Muller's pairs from pairs of uniform numbers.
#[inline(always)]
fn normal<T: maths::Real>(unit: &[T], out: &mut [T], turn: T) {
    const PAIRS: usize = 32;
    let minus_two = T::narrow(-2.0);
    let chunks = unit.as_chunks::<{ 2 * PAIRS }>().0.iter();
    for (unit, out) in chunks.zip(out.as_chunks_mut::<{ 2 * PAIRS }>().0) {
        // Branch by branch, so that the functions vectorise.
        let (mut cosine, mut sine) = ([T::zero(); PAIRS], [T::zero(); PAIRS]);
        for i in 0..PAIRS {
            let radius = maths::sqrt(minus_two * maths::log(T::one() - unit[2 * i]));
            let angle = turn * unit[2 * i + 1];
            cosine[i] = radius * maths::near::cos(angle);
            sine[i] = radius * maths::near::sin(angle);
        }
        for i in 0..PAIRS {
            (out[2 * i], out[2 * i + 1]) = (cosine[i], sine[i]);
        }
    }
}

struct Stream<'a> {
    par: Par<'a>,
    key: u64,
    counter: u64,
    output: Operand<'a>,
}

impl Stream<'_> {
    /// Fills the output; `make` turns words into elements, `words` to each.
    fn fill<T: Element>(&self, words: usize, make: impl Fn(&[u32], &mut [T]) + Sync) -> Result<()> {
        let layout = self.output.layout;
        let nest = Nest::ordered(layout.shape(), &[layout]);
        let (base, step, size) = (Raw::<T>::of(self.output)?, nest.step(0), nest.size());
        let batch = WORDS / words;
        spread(
            self.par,
            OP,
            size.div_ceil(batch * BATCHES),
            || (),
            |(), task| {
                let (mut bits, mut values) = ([0; WORDS], [T::zeroed(); WORDS]);
                let values = &mut values[..batch];
                for index in task * BATCHES..(task + 1) * BATCHES {
                    let first = index * batch;
                    let count = batch.min(size.saturating_sub(first));
                    if count == 0 {
                        break;
                    }
                    let counter = self.counter.wrapping_add((index * WORDS / 4) as u64);
                    pulp::Arch::new().dispatch(
                        #[inline(always)]
                        || {
                            fill_words(self.key, counter, &mut bits);
                            make(&bits, values);
                        },
                    );
                    nest.runs(first, first + count, |at, start, len| {
                        for (i, v) in values[start - first..][..len].iter().enumerate() {
                            // SAFETY: inside the output, whose elements are divided among the tasks.
                            unsafe { *base.at(at[0] + i as isize * step) = *v };
                        }
                    });
                }
                Ok(())
            },
        )
    }
}

/// The words of the blocks from `counter` on.
#[inline(always)]
fn fill_words(key: u64, counter: u64, words: &mut [u32; WORDS]) {
    for (i, out) in words
        .as_chunks_mut::<{ 4 * LANES }>()
        .0
        .iter_mut()
        .enumerate()
    {
        let counters: [u64; LANES] =
            std::array::from_fn(|lane| counter.wrapping_add((i * LANES + lane) as u64));
        let low = counters.map(|c| c as u32);
        let high = counters.map(|c| (c >> 32) as u32);
        let key = [key as u32, (key >> 32) as u32];
        let block = philox([low, high, [0; LANES], [0; LANES]], key);
        for (lane, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *out = block.each_ref().map(|word| word[lane]);
        }
    }
}

/// Ten rounds of Philox4x32 on `N` counters, word by word.
#[inline(always)]
fn philox<const N: usize>(mut c: [[u32; N]; 4], mut key: [u32; 2]) -> [[u32; N]; 4] {
    for _ in 0..10 {
        let [c0, c1, c2, c3] = &mut c;
        for (((c0, c1), c2), c3) in c0.iter_mut().zip(c1).zip(c2).zip(c3) {
            let (a, b) = (0xD251_1F53 * *c0 as u64, 0xCD9E_8D57 * *c2 as u64);
            *c0 = (b >> 32) as u32 ^ *c1 ^ key[0];
            *c1 = b as u32;
            *c2 = (a >> 32) as u32 ^ *c3 ^ key[1];
            *c3 = a as u32;
        }
        key = [
            key[0].wrapping_add(0x9E37_79B9),
            key[1].wrapping_add(0xBB67_AE85),
        ];
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nest::tests::{Array, Rng, affordable, same_for_all_threads};
    use rustarr_interface::Layout;

    #[test]
    fn known_answers() {
        let answer = |c: [u32; 4], key| philox(c.map(|c| [c]), key).map(|c| c[0]);
        assert_eq!(
            answer([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            answer([!0; 4], [!0; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            answer(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    /// The stream's words by the definition.
    fn words(key: u64, counter: u64, count: usize) -> Vec<u32> {
        (0..count as u64)
            .map(|i| {
                let c = counter.wrapping_add(i / 4);
                let block = [c as u32, (c >> 32) as u32, 0, 0].map(|c| [c]);
                philox(block, [key as u32, (key >> 32) as u32])[i as usize % 4][0]
            })
            .collect()
    }

    fn run<T: Element>(kind: Random, key: u64, counter: u64, layout: &Layout) -> Vec<T> {
        let out = Array::empty(T::DTYPE, layout.clone());
        same_for_all_threads(|par| {
            random(par, kind, key, counter, out.operand()).unwrap();
            out.bytes()
        });
        out.values()
    }

    #[test]
    fn elements_are_those_of_the_definition() {
        let mut rng = Rng(7);
        let sizes = [0, 3, 130, 1, 2, 5, 511, 512, 513, 1025, 40_000];
        let counters = [u64::MAX - 3, 0, 1, 12_345, u32::MAX as u64 - 1];
        for &size in &sizes[..affordable(11, 3)] {
            for &counter in &counters[..affordable(5, 1)] {
                let (key, layout) = (rng.next(), rng.layout(&[size]));
                let w = words(key, counter, 2 * size);
                let wide = |i: usize| w[2 * i] as u64 | (w[2 * i + 1] as u64) << 32;
                assert_eq!(run::<u32>(Random::Bits, key, counter, &layout), w[..size]);
                let bits: Vec<u64> = (0..size).map(wide).collect();
                assert_eq!(run::<u64>(Random::Bits, key, counter, &layout), bits);
                let unit = run::<f32>(Random::Uniform, key, counter, &layout);
                let expected = w.iter().map(|&w| ((w >> 8) as f64 / 16_777_216.0) as f32);
                assert_eq!(unit, expected.take(size).collect::<Vec<_>>());
                let unit64 = run::<f64>(Random::Uniform, key, counter, &layout);
                let expected: Vec<f64> = bits
                    .iter()
                    .map(|&b| (b >> 11) as f64 / 9_007_199_254_740_992.0)
                    .collect();
                assert_eq!(unit64, expected);
                let dice = Random::Integers { low: -3, range: 6 };
                let expected: Vec<i8> = bits
                    .iter()
                    .map(|&b| (((b as u128 * 6) >> 64) as i8) - 3)
                    .collect();
                assert_eq!(run::<i8>(dice, key, counter, &layout), expected);
                let all = Random::Integers {
                    low: i64::MIN as i128,
                    range: 1 << 64,
                };
                let expected: Vec<i64> = bits
                    .iter()
                    .map(|&b| (b as i64).wrapping_add(i64::MIN))
                    .collect();
                assert_eq!(run::<i64>(all, key, counter, &layout), expected);
                let high = Random::Integers {
                    low: u64::MAX as i128 - 1,
                    range: 2,
                };
                let expected: Vec<u64> = bits.iter().map(|&b| u64::MAX - 1 + (b >> 63)).collect();
                assert_eq!(run::<u64>(high, key, counter, &layout), expected);
            }
        }
    }

    #[test]
    fn normal_numbers_are_box_and_mullers() {
        for &size in &[1, 2, 7, 1000, 20_001][..affordable(5, 3)] {
            let layout = Layout::contiguous(&[size]);
            let even = Layout::contiguous(&[size + size % 2]);
            let unit = run::<f64>(Random::Uniform, 5, 9, &even);
            let normal = run::<f64>(Random::Normal, 5, 9, &layout);
            let unit32 = run::<f32>(Random::Uniform, 5, 9, &even);
            let normal32 = run::<f32>(Random::Normal, 5, 9, &layout);
            let expected = |u: f64, v: f64, i: usize| {
                let (sin, cos) = (std::f64::consts::TAU * v).sin_cos();
                (-2.0 * (-u).ln_1p()).sqrt() * [cos, sin][i % 2]
            };
            for i in 0..size {
                let j = i / 2 * 2;
                let wanted = expected(unit[j], unit[j + 1], i);
                assert!(
                    (normal[i] - wanted).abs() < 1e-14 * (1.0 + wanted.abs()),
                    "{i}"
                );
                let wanted = expected(unit32[j] as f64, unit32[j + 1] as f64, i);
                assert!((normal32[i] as f64 - wanted).abs() < 5e-6, "{i}");
            }
        }
        if cfg!(miri) {
            return; // moments are of many numbers
        }
        let many = run::<f64>(Random::Normal, 1, 0, &Layout::contiguous(&[1 << 17]));
        let n = many.len() as f64;
        let mean = many.iter().sum::<f64>() / n;
        let variance = many.iter().map(|x| x * x).sum::<f64>() / n - mean * mean;
        assert!(
            mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02,
            "{mean} {variance}"
        );
    }

    #[test]
    fn kinds_without_the_dtype_are_refused() {
        let out = Array::empty(DType::F16, Layout::contiguous(&[3]));
        for kind in [Random::Bits, Random::Uniform, Random::Normal] {
            let error = random(Par::Seq, kind, 0, 0, out.operand()).unwrap_err();
            assert_eq!(error.kind(), rustarr_interface::ErrorKind::DType);
        }
    }
}

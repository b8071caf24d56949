//! Fast Fourier transforms along one axis.
//!
//! Every line is transformed by one thread with the same plan, so that the number of threads cannot change a bit.

use crate::nest::{GRAIN, Nest, Raw, lines, scratch, spread};
use crate::par::Par;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustarr_interface::{DType, Element, Error, Fft, FftKind, FftNorm, Operand, Result};
use rustfft::num_complex::Complex;
use rustfft::{FftNum, FftPlanner};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The name in errors.
const OP: &str = "fft";
/// Plans that a thread keeps for its next calls.
const KEPT: usize = 32;

/// A transform along one axis; the input is already cut or padded to its length.
///
/// # Errors
/// `DType` for other than single and double precision.
pub fn fft(par: Par<'_>, fft: Fft, input: Operand<'_>, output: Operand<'_>) -> Result<()> {
    match output.dtype.real() {
        DType::F32 => typed::<f32>(par, fft, input, output),
        DType::F64 => typed::<f64>(par, fft, input, output),
        dtype => Err(Error::dtype(
            OP,
            format!("{dtype} has no transform; convert to a complex dtype, float32 or float64"),
        )),
    }
}

fn typed<T: Float>(par: Par<'_>, fft: Fft, input: Operand<'_>, output: Operand<'_>) -> Result<()>
where
    Complex<T>: Element,
{
    let long = |o: Operand<'_>| o.layout.shape()[fft.axis];
    // The number of points in time.
    let points = if fft.kind == FftKind::RealInverse {
        long(output)
    } else {
        long(input)
    };
    if output.layout.size() == 0 {
        return Ok(());
    }
    let factor = match fft.norm {
        FftNorm::None => 1.0,
        FftNorm::ByN => 1.0 / points as f64,
        FftNorm::BySqrtN => 1.0 / (points as f64).sqrt(),
    };
    let factor = T::from_f64(factor).unwrap_or_else(T::one);
    let task = Task {
        par,
        axis: fft.axis,
        input,
        output,
    };
    let scale = |v: Complex<T>| Complex::new(v.re * factor, v.im * factor);
    match T::plan(fft.kind, points) {
        Plan::Complex(plan) => task.run(
            plan.get_outofplace_scratch_len(),
            |x, y, w| {
                plan.process_outofplace_with_scratch(x, y, w);
                Ok(())
            },
            scale,
        ),
        Plan::Forward(plan) => task.run(
            plan.get_scratch_len(),
            |x, y, w| plan.process_with_scratch(x, y, w).map_err(refused),
            scale,
        ),
        Plan::Inverse(plan) => task.run(
            plan.get_scratch_len(),
            |x: &mut [Complex<T>], y, w| {
                // The spectrum of a real signal has real ends, whatever it says of them.
                x[0].im = T::zero();
                if points % 2 == 0
                    && let Some(last) = x.last_mut()
                {
                    last.im = T::zero();
                }
                plan.process_with_scratch(x, y, w).map_err(refused)
            },
            |v| v * factor,
        ),
    }
}

fn refused(error: impl fmt::Display) -> Error {
    Error::shape(OP, error.to_string())
}

/// One transform over all lines.
struct Task<'a> {
    par: Par<'a>,
    axis: usize,
    input: Operand<'a>,
    output: Operand<'a>,
}

impl Task<'_> {
    /// Transforms every line from a buffer into another with `work` elements of scratch, and scales it.
    fn run<T: Float, A: Element, B: Element>(
        &self,
        work: usize,
        transform: impl Fn(&mut [A], &mut [B], &mut [Complex<T>]) -> Result<()> + Sync,
        scale: impl Fn(B) -> B + Sync,
    ) -> Result<()> {
        let (from, to) = (Raw::<A>::of(self.input)?, Raw::<B>::of(self.output)?);
        let (in_lines, in_step) = lines(self.input.layout, self.axis);
        let (out_lines, out_step) = lines(self.output.layout, self.axis);
        let nest = Nest::unordered(in_lines.shape(), &[&in_lines, &out_lines]);
        let long = |o: Operand<'_>| o.layout.shape()[self.axis];
        let zero = Complex::new(T::zero(), T::zero());
        let buffers = || -> Result<_> {
            let x = scratch(OP, long(self.input), A::zeroed())?;
            let y = scratch(OP, long(self.output), B::zeroed())?;
            Ok((x, y, scratch(OP, work, zero)?))
        };
        let count = nest.size();
        let block = (GRAIN / 4 / long(self.output)).max(1);
        spread(
            self.par,
            OP,
            count.div_ceil(block),
            buffers,
            |buffers, task| {
                let (x, y, w) = buffers.as_mut().map_err(|error| error.clone())?;
                let mut done = Ok(());
                nest.runs(
                    task * block,
                    ((task + 1) * block).min(count),
                    |at, _, run| {
                        for line in 0..run as isize {
                            let at = [0, 1].map(|o| at[o] + line * nest.step(o));
                            for (i, x) in x.iter_mut().enumerate() {
                                // SAFETY: layouts stay inside their buffers.
                                *x = unsafe { *from.at(at[0] + i as isize * in_step) };
                            }
                            if let Err(error) = transform(x, y, w) {
                                done = Err(error);
                                return;
                            }
                            for (i, y) in y.iter().enumerate() {
                                // SAFETY: as above; every line is written by one task.
                                unsafe { *to.at(at[1] + i as isize * out_step) = scale(*y) };
                            }
                        }
                    },
                );
                done
            },
        )
    }
}

/// How lines of one length are transformed.
#[derive(Clone)]
enum Plan<T> {
    Complex(Arc<dyn rustfft::Fft<T>>),
    Forward(Arc<dyn RealToComplex<T>>),
    Inverse(Arc<dyn ComplexToReal<T>>),
}

impl<T: FftNum> Plan<T> {
    fn new(kind: FftKind, points: usize) -> Plan<T> {
        match kind {
            FftKind::Forward => Plan::Complex(FftPlanner::new().plan_fft_forward(points)),
            FftKind::Inverse => Plan::Complex(FftPlanner::new().plan_fft_inverse(points)),
            FftKind::RealForward => Plan::Forward(RealFftPlanner::new().plan_fft_forward(points)),
            FftKind::RealInverse => Plan::Inverse(RealFftPlanner::new().plan_fft_inverse(points)),
        }
    }
}

/// `f32` or `f64`, with the plans that the calling thread made before.
trait Float: FftNum + Element {
    fn plan(kind: FftKind, points: usize) -> Plan<Self>;
}

macro_rules! float {
    ($($t:ty),*) => { $(impl Float for $t {
        fn plan(kind: FftKind, points: usize) -> Plan<$t> {
            thread_local! {
                static PLANS: RefCell<HashMap<(FftKind, usize), Plan<$t>>> = RefCell::default();
            }
            PLANS.with_borrow_mut(|plans| {
                if plans.len() >= KEPT && !plans.contains_key(&(kind, points)) {
                    plans.clear();
                }
                let plan = plans.entry((kind, points)).or_insert_with(|| Plan::new(kind, points));
                plan.clone()
            })
        }
    })* };
}
float!(f32, f64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nest::tests::{Array, Rng, affordable, same_for_all_threads};
    use rustarr_interface::{Complex32, Complex64, Layout};

    /// The transform by its definition, unscaled, in double precision.
    fn naive(line: &[Complex64], inverse: bool) -> Vec<Complex64> {
        let n = line.len();
        let turn = std::f64::consts::TAU / n as f64 * if inverse { 1.0 } else { -1.0 };
        (0..n)
            .map(|k| {
                let term = |(j, x): (usize, &Complex64)| {
                    x * Complex64::from_polar(1.0, turn * ((j * k) % n) as f64)
                };
                line.iter().enumerate().map(term).sum()
            })
            .collect()
    }

    fn wide<T: Element>(v: T) -> Complex64 {
        rustarr_interface::Scalar::new(v).to_complex()
    }

    fn check<A: Element, B: Element>(
        kinds: &[FftKind],
        tolerance: f64,
        value: impl Fn(&mut Rng) -> A,
    ) {
        let mut rng = Rng(41);
        for round in 0..affordable(100, 4) {
            let ndim = 1 + rng.below(3);
            let mut shape = rng.shape(ndim, 5);
            let axis = rng.below(ndim);
            let kind = kinds[rng.below(kinds.len())];
            let n = match round {
                0..40 => round + 1,
                40 => 1009,
                41 => 4096,
                _ => [1, 2, 3, 60, 128, 97][rng.below(6)],
            };
            let half = n / 2 + 1;
            let (long_in, long_out) = match kind {
                FftKind::RealForward => (n, half),
                FftKind::RealInverse => (half, n),
                _ => (n, n),
            };
            shape[axis] = long_in;
            let input = rng.array(&shape, &value);
            let mut out_shape = shape.clone();
            out_shape[axis] = long_out;
            let out = Array::empty(B::DTYPE, rng.layout(&out_shape));
            let norm = [FftNorm::None, FftNorm::ByN, FftNorm::BySqrtN][rng.below(3)];
            same_for_all_threads(|par| {
                fft(
                    par,
                    Fft { kind, axis, norm },
                    input.operand(),
                    out.operand(),
                )
                .unwrap();
                out.bytes()
            });
            let factor = match norm {
                FftNorm::None => 1.0,
                FftNorm::ByN => 1.0 / n as f64,
                FftNorm::BySqrtN => 1.0 / (n as f64).sqrt(),
            };
            let after: usize = shape[axis + 1..].iter().product();
            let before: usize = shape[..axis].iter().product();
            let (values, got) = (input.values::<A>(), out.values::<B>());
            for (i, j) in (0..before).flat_map(|i| (0..after).map(move |j| (i, j))) {
                let at = |n: usize, e: usize| (i * n + e) * after + j;
                let mut line: Vec<_> = (0..long_in).map(|e| wide(values[at(long_in, e)])).collect();
                if kind == FftKind::RealInverse {
                    line[0].im = 0.0;
                    if n % 2 == 0 {
                        line[half - 1].im = 0.0;
                    }
                    for e in half..n {
                        line.push(line[n - e].conj());
                    }
                }
                let inverse = matches!(kind, FftKind::Inverse | FftKind::RealInverse);
                for (e, wanted) in naive(&line, inverse).into_iter().take(long_out).enumerate() {
                    let error = (wide(got[at(long_out, e)]) - wanted * factor).norm();
                    assert!(
                        error <= tolerance * n as f64 * factor,
                        "{kind:?} {n}: {error}"
                    );
                }
            }
        }
    }

    #[test]
    fn complex_transforms_follow_the_definition() {
        let kinds = [FftKind::Forward, FftKind::Inverse];
        check::<Complex64, Complex64>(&kinds, 1e-14, |r| Complex64::new(r.float(), r.float()));
        let small = |r: &mut Rng| Complex32::new(r.float() as f32, r.float() as f32);
        check::<Complex32, Complex32>(&kinds, 5e-6, small);
    }

    #[test]
    fn real_transforms_follow_the_definition() {
        check::<f64, Complex64>(&[FftKind::RealForward], 1e-14, Rng::float);
        check::<f32, Complex32>(&[FftKind::RealForward], 5e-6, |r| r.float() as f32);
        let inverse = [FftKind::RealInverse];
        check::<Complex64, f64>(&inverse, 1e-14, |r| Complex64::new(r.float(), r.float()));
        let small = |r: &mut Rng| Complex32::new(r.float() as f32, r.float() as f32);
        check::<Complex32, f32>(&inverse, 5e-6, small);
    }

    #[test]
    fn many_lengths_keep_few_plans_and_bad_ones_are_refused() {
        let spec = |kind| Fft {
            kind,
            axis: 0,
            norm: FftNorm::None,
        };
        for n in 1..affordable(3 * KEPT, 5) {
            let x = Array::dense(&[n], &vec![Complex64::new(1.0, 0.0); n]);
            let out = Array::empty(DType::C128, Layout::contiguous(&[n]));
            fft(Par::Seq, spec(FftKind::Forward), x.operand(), out.operand()).unwrap();
            assert!((out.values::<Complex64>()[0].re - n as f64).abs() < 1e-10);
        }
        let x = Array::dense(&[4], &[1.0; 4]);
        let out = Array::empty(DType::C128, Layout::contiguous(&[4]));
        let error = fft(
            Par::Seq,
            spec(FftKind::RealForward),
            x.operand(),
            out.operand(),
        );
        assert_eq!(
            error.unwrap_err().kind(),
            rustarr_interface::ErrorKind::Shape
        );
    }
}

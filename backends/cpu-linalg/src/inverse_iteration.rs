//! Eigenvectors by inverse iteration (Wielandt), where better ones are wanted.

use crate::dense::{dot, dot_conjugate, norm};
use crate::eigen::General;
use crate::{Dense, Field, Result, householder};
use pulp::Arch;
use rustarr_interface::Complex64;

/// Solves at most; the first is nearly always good enough.
const STEPS: usize = 3;

/// How far, times the norm, the values given may be from the exact ones of a matrix that differs in the last digits.
const NEAR: f64 = 1e-12;

/// The least element beside the diagonal that counts.
const TINY: f64 = 1e-150;

/// `A = Q H Q^H` with `H` zero below its first subdiagonal.
pub(crate) struct Hessenberg<S> {
    /// `H`, and below it the reflectors of `Q`.
    h: Dense<S>,
    factors: Dense<S>,
}

impl<S: General> Hessenberg<S> {
    /// The reduction of a matrix.
    pub fn new(mut a: Dense<S>) -> Result<Hessenberg<S>> {
        let factors = householder::hessenberg(&mut a)?;
        Ok(Hessenberg { h: a, factors })
    }

    /// `H`, of norm about one, without the elements beside the diagonal whose squares leave the range of `f64`: with them
    /// the QR iteration may not end.
    pub fn matrix(&self) -> Result<Dense<S>> {
        let n = self.h.rows;
        let mut out = Dense::zeros(n, n)?;
        for j in 0..n {
            for i in 0..(j + 2).min(n) {
                let v = self.h.at(i, j);
                if i == j || v.magnitude() >= TINY {
                    *out.at_mut(i, j) = v;
                }
            }
        }
        Ok(out)
    }

    /// Multiplies by `Q` from the left.
    pub fn turn(&self, v: &mut Dense<S>) -> Result<()> {
        let n = self.h.rows;
        if n < 2 {
            return Ok(());
        }
        let reflectors = self.h.as_ref().get(1.., ..n - 1);
        householder::apply(reflectors, &self.factors, v.as_mut().get_mut(1.., ..))
    }

    /// Replaces some columns of `v` by better eigenvectors of `A`, and their eigenvalues by what fits them best.
    pub fn improve(
        self,
        values: &mut [Complex64],
        v: &mut Dense<Complex64>,
        which: &[usize],
    ) -> Result<()> {
        let n = self.h.rows;
        // The second of a pair follows from the first.
        let second = |j: usize| S::PAIRED && values[j].im < 0.0;
        let which: Vec<usize> = which.iter().copied().filter(|&j| !second(j)).collect();
        let mut found = v.columns(which.iter().copied())?;
        let (h, factors) = (self.h.wide()?, self.factors.wide()?);
        let reflectors = h.as_ref().get(1.., ..n - 1);
        householder::apply_adjoint(reflectors, &factors, found.as_mut().get_mut(1.., ..))?;
        let mut real = S::PAIRED.then(|| Shifted::new(&self.h)).transpose()?;
        let mut complex = Shifted::new(&h)?;
        for (column, &j) in found.values.chunks_exact_mut(n).zip(&which) {
            match &mut real {
                // A real eigenvalue of a real matrix has a real vector.
                Some(real) if values[j].im == 0.0 => {
                    let mut x: Vec<S> = column.iter().map(|z| S::from(z.re)).collect();
                    values[j] = real.improve(S::from(values[j].re), &mut x, j).into();
                    column.iter_mut().zip(&x).for_each(|(z, &x)| *z = x.into());
                }
                _ => {
                    let value = complex.improve(values[j], column, j);
                    // The first of a pair stays that.
                    if !S::PAIRED {
                        values[j] = value;
                    } else if value.im > 0.0 {
                        (values[j], values[j + 1]) = (value, value.conj());
                    }
                }
            }
        }
        householder::apply(reflectors, &factors, found.as_mut().get_mut(1.., ..))?;
        for (column, &j) in found.values.chunks_exact(n).zip(&which) {
            v.values[j * n..][..n].copy_from_slice(column);
            if S::PAIRED && values[j].im > 0.0 {
                let conjugates = column.iter().map(|z| z.conj());
                v.values[(j + 1) * n..][..n]
                    .iter_mut()
                    .zip(conjugates)
                    .for_each(|(to, z)| *to = z);
            }
        }
        Ok(())
    }
}

/// Factors of `H - shift`.
struct Shifted<S> {
    /// Row by row.
    h: Dense<S>,
    norm: f64,
    /// Row by row, the upper factor.
    u: Dense<S>,
    /// Whether row `i` was exchanged with the one below, and the multiplier.
    steps: Vec<(bool, S)>,
}

impl<S: Field> Shifted<S> {
    fn new(h: &Dense<S>) -> Result<Shifted<S>> {
        let n = h.rows;
        let mut rows = Dense::zeros(n, n)?;
        for i in 0..n {
            // What is left of these belongs to Q.
            for j in i.saturating_sub(1)..n {
                *rows.at_mut(j, i) = h.at(i, j);
            }
        }
        Ok(Shifted {
            norm: norm(&rows.values),
            h: rows,
            u: Dense::zeros(n, n)?,
            steps: vec![(false, S::default()); n - 1],
        })
    }

    /// Replaces `x` by the best of a few steps from there, of length 1, and returns the value that fits it best. Where `x` has
    /// nothing of the vector in it, steps start again from scattered numbers, other ones for each `seed`.
    fn improve(&mut self, shift: S, x: &mut [S], seed: usize) -> S {
        Arch::new().dispatch(
            #[inline(always)]
            || {
                self.factorise(shift);
                let near = NEAR * self.norm;
                let (mut value, mut least) = (shift, self.residual(x, Some(shift)).1);
                if least.is_nan() {
                    least = f64::INFINITY;
                }
                let mut next = x.to_vec();
                for _ in 0..2 {
                    for _ in 0..STEPS {
                        self.solve(&mut next);
                        let length = norm(&next);
                        next.iter_mut().for_each(|x| *x = x.scale(1.0 / length));
                        let (mut found, mut error) = self.residual(&next, None);
                        if (found - shift).magnitude() > near {
                            // Another one's.
                            (found, error) = self.residual(&next, Some(shift));
                        }
                        let much = error < least / 2.0;
                        if error < least {
                            x.copy_from_slice(&next);
                            (value, least) = (found, error);
                        }
                        if !much {
                            break;
                        }
                    }
                    if least <= near {
                        break;
                    }
                    let first = (seed * next.len()) as u64;
                    (first..)
                        .zip(&mut next)
                        .for_each(|(i, x)| *x = hash(i).into());
                }
                value
            },
        )
    }

    #[inline(always)]
    fn factorise(&mut self, shift: S) {
        let n = self.h.rows;
        // A pivot of this size is as good as the zero that it should be.
        let tiny = S::from(f64::EPSILON * self.norm.max(f64::MIN_POSITIVE / f64::EPSILON));
        let size = tiny.magnitude();
        self.u.values.copy_from_slice(&self.h.values);
        for i in 0..n {
            *self.u.at_mut(i, i) = self.u.at(i, i) - shift;
        }
        for (i, step) in self.steps.iter_mut().enumerate() {
            let (top, below) = self.u.values[i * n..].split_at_mut(n);
            let (top, below) = (&mut top[i..], &mut below[i..n]);
            let swap = below[0].magnitude() > top[0].magnitude();
            if swap {
                top.swap_with_slice(below);
            }
            if top[0].magnitude() < size {
                top[0] = tiny;
            }
            let factor = below[0].over(top[0]);
            for (below, top) in below[1..].iter_mut().zip(&top[1..]) {
                *below -= factor * *top;
            }
            *step = (swap, factor);
        }
        let last = self.u.at_mut(n - 1, n - 1);
        if last.magnitude() < size {
            *last = tiny;
        }
    }

    /// A multiple of the solution of `(H - shift) x = b`, in the place of `b`: only the direction counts.
    #[inline(always)]
    fn solve(&self, b: &mut [S]) {
        let n = b.len();
        for (i, &(swap, factor)) in self.steps.iter().enumerate() {
            if swap {
                b.swap(i, i + 1);
            }
            let top = b[i];
            b[i + 1] -= factor * top;
        }
        for i in (0..n).rev() {
            let row = &self.u.values[i * n + i..][..n - i];
            b[i] = (b[i] - dot(&row[1..], &b[i + 1..])).over(row[0]);
            let size = b[i].magnitude();
            if size > 1e100 {
                b.iter_mut().for_each(|x| *x = x.scale(1.0 / size));
            }
        }
    }

    /// A value, the Rayleigh quotient unless given, of a vector of length 1, and how far the two are from solving the
    /// eigenvalue problem.
    #[inline(always)]
    fn residual(&self, x: &[S], value: Option<S>) -> (S, f64) {
        let n = x.len();
        let row = |i: usize| {
            let from = i.saturating_sub(1);
            dot(&self.h.values[i * n + from..][..n - from], &x[from..])
        };
        let mut product: Vec<S> = (0..n).map(row).collect();
        let value = value.unwrap_or_else(|| dot_conjugate(x, &product));
        for (p, &x) in product.iter_mut().zip(x) {
            *p -= value * x;
        }
        (value, norm(&product))
    }
}

/// Scattered numbers between -1 and 1 (splitmix64).
fn hash(i: u64) -> f64 {
    let mut z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) as i64 as f64 / i64::MAX as f64
}

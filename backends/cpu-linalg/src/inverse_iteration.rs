//! Eigenvectors by inverse iteration (Wielandt), where back-substitution in the Schur form leaves the range of `f64`: for
//! defective matrices and large clusters of eigenvalues.

use crate::dense::norm;
use crate::{Dense, Result, stack};
use faer::linalg::evd::hessenberg::{hessenberg_in_place, hessenberg_in_place_scratch};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::{Conj, Par};
use rustarr_interface::Complex64;

/// Solves at most; the first is nearly always good enough.
const STEPS: usize = 3;

/// Replaces the columns of `v` that are not finite by eigenvectors of `a` to their eigenvalues.
pub(crate) fn repair(
    a: Dense<Complex64>,
    values: &[Complex64],
    v: &mut Dense<Complex64>,
) -> Result<()> {
    let n = a.rows;
    let finite = |z: &Complex64| z.re.is_finite() && z.im.is_finite();
    let bad: Vec<usize> = (0..n)
        .filter(|j| !v.values[j * n..][..n].iter().all(finite))
        .collect();
    if bad.is_empty() || n < 2 {
        return Ok(());
    }
    // A = Q H Q^H with H zero below its first subdiagonal.
    let mut h = a;
    let block = recommended_block_size::<Complex64>(n - 1, n - 1);
    let mut coefficients = Dense::zeros(block, n - 1)?;
    let params = Default::default();
    let need = hessenberg_in_place_scratch::<Complex64>(n, block, Par::Seq, params);
    stack(need, |stack| {
        hessenberg_in_place(h.as_mut(), coefficients.as_mut(), Par::Seq, stack, params);
    })?;
    let mut found = Dense::zeros(n, bad.len())?;
    for (column, &j) in found.values.chunks_exact_mut(n).zip(&bad) {
        column.copy_from_slice(&Shifted::new(&h, values[j]).eigenvector(j as u64));
    }
    let need = apply_block_householder_sequence_on_the_left_in_place_scratch::<Complex64>(
        n - 1,
        block,
        bad.len(),
    );
    stack(need, |stack| {
        apply_block_householder_sequence_on_the_left_in_place_with_conj(
            h.as_ref().get(1.., ..n - 1),
            coefficients.as_ref(),
            Conj::No,
            found.as_mut().get_mut(1.., ..),
            Par::Seq,
            stack,
        );
    })?;
    for (column, &j) in found.values.chunks_exact(n).zip(&bad) {
        v.values[j * n..][..n].copy_from_slice(column);
    }
    Ok(())
}

/// `H - shift`, factorised.
struct Shifted<'a> {
    h: &'a Dense<Complex64>,
    shift: Complex64,
    /// Rows of `U`, each from its diagonal on.
    rows: Vec<Vec<Complex64>>,
    /// Per step of the elimination, whether rows were swapped, and the multiplier.
    steps: Vec<(bool, Complex64)>,
}

impl<'a> Shifted<'a> {
    fn new(h: &'a Dense<Complex64>, shift: Complex64) -> Shifted<'a> {
        let n = h.rows;
        let element =
            |i: usize, j: usize| h.at(i, j) - if i == j { shift } else { Complex64::default() };
        // What is below the subdiagonal belongs to Q.
        let used = (0..n).flat_map(|j| &h.values[j * n..][..(j + 2).min(n)]);
        let largest = used.fold(0.0, |m: f64, z| m.max(z.norm()));
        let tiny = f64::EPSILON * largest.max(f64::MIN_POSITIVE / f64::EPSILON);
        let (mut rows, mut steps) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let mut top: Vec<Complex64> = (0..n).map(|j| element(0, j)).collect();
        for i in 0..n - 1 {
            let mut below: Vec<Complex64> = (i..n).map(|j| element(i + 1, j)).collect();
            let swap = below[0].norm() > top[0].norm();
            if swap {
                std::mem::swap(&mut top, &mut below);
            }
            // A pivot of this size is as good as the zero that it should be.
            if top[0].norm() < tiny {
                top[0] = tiny.into();
            }
            let factor = below[0] / top[0];
            let rest = below
                .iter()
                .zip(&top)
                .skip(1)
                .map(|(b, t)| b - factor * t)
                .collect();
            rows.push(std::mem::replace(&mut top, rest));
            steps.push((swap, factor));
        }
        if top[0].norm() < tiny {
            top[0] = tiny.into();
        }
        rows.push(top);
        Shifted {
            h,
            shift,
            rows,
            steps,
        }
    }

    /// The best of a few steps from a start that differs by `seed`, so that equal eigenvalues get different vectors.
    fn eigenvector(&self, seed: u64) -> Vec<Complex64> {
        let n = self.h.rows;
        let mut x: Vec<Complex64> = (0..n as u64)
            .map(|i| hash(seed * n as u64 + i).into())
            .collect();
        let (mut best, mut least) = (x.clone(), f64::INFINITY);
        for _ in 0..STEPS {
            self.solve(&mut x);
            let length = norm(&x);
            x.iter_mut().for_each(|x| *x /= length);
            let error = self.residual(&x);
            if error.is_nan() || error >= least / 2.0 {
                break;
            }
            best.copy_from_slice(&x);
            least = error;
        }
        best
    }

    /// A multiple of the solution of `(H - shift) x = b`, in the place of `b`: only the direction counts.
    fn solve(&self, b: &mut [Complex64]) {
        for (i, &(swap, factor)) in self.steps.iter().enumerate() {
            if swap {
                b.swap(i, i + 1);
            }
            let top = b[i];
            b[i + 1] -= factor * top;
        }
        for i in (0..b.len()).rev() {
            let known: Complex64 = self.rows[i]
                .iter()
                .zip(&b[i..])
                .skip(1)
                .map(|(u, x)| u * x)
                .sum();
            b[i] = (b[i] - known) / self.rows[i][0];
            let size = b[i].norm();
            if size > 1e100 {
                b.iter_mut().for_each(|x| *x /= size);
            }
        }
    }

    fn residual(&self, x: &[Complex64]) -> f64 {
        let row = |i: usize| -> Complex64 {
            let product: Complex64 = (i.saturating_sub(1)..x.len())
                .map(|j| self.h.at(i, j) * x[j])
                .sum();
            product - self.shift * x[i]
        };
        norm(&(0..x.len()).map(row).collect::<Vec<_>>())
    }
}

/// Scattered numbers between -1 and 1 (splitmix64).
fn hash(i: u64) -> f64 {
    let mut z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) as i64 as f64 / i64::MAX as f64
}

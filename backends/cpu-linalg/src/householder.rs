//! Products of Householder reflectors `1 - v v^H / tau`, each `v` in a column below its leading one, taken together in
//! blocks.

use crate::dense::{PowerOfTwo, dot_conjugate, norm};
use crate::{Dense, Field, Result, stack};
use faer::linalg::evd::hessenberg::{hessenberg_in_place, hessenberg_in_place_scratch};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
    apply_block_householder_sequence_transpose_on_the_left_in_place_scratch,
    apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj,
    apply_block_householder_transpose_on_the_left_in_place_scratch,
    apply_block_householder_transpose_on_the_left_in_place_with_conj, upgrade_householder_factor,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::reborrow::*;
use faer::{Conj, MatMut, MatRef, Par};
use pulp::Arch;

/// Up to this size, a QR factorisation applies reflectors one by one, which costs the least digits ..
const UNBLOCKED: usize = 128;
/// .. and beyond, which is faster, this many at a time.
const BLOCK: usize = 32;

/// The `tau` of a reflector that changes nothing to working precision: infinity is no number to divide a complex one by.
const NOTHING: f64 = 1e150;

/// Room for the factors of the blocks of `count` reflectors of a matrix of the given shape.
///
/// # Errors
/// `Memory`.
pub(crate) fn factors<S: Field>(rows: usize, cols: usize, count: usize) -> Result<Dense<S>> {
    Dense::zeros(recommended_block_size::<S>(rows, cols), count)
}

/// Multiplies `to` by the product of the reflectors from the left.
///
/// # Errors
/// `Memory`.
pub(crate) fn apply<S: Field>(
    reflectors: MatRef<'_, S>,
    factors: &Dense<S>,
    to: MatMut<'_, S>,
) -> Result<()> {
    if factors.rows == 1 {
        single(reflectors, factors, to, (0..factors.cols).rev());
        return Ok(());
    }
    let need = apply_block_householder_sequence_on_the_left_in_place_scratch::<S>(
        reflectors.nrows(),
        factors.rows,
        to.ncols(),
    );
    stack(need, |stack| {
        apply_block_householder_sequence_on_the_left_in_place_with_conj(
            reflectors,
            factors.as_ref(),
            Conj::No,
            to,
            Par::Seq,
            stack,
        );
    })
}

/// Multiplies `to` by the adjoint of the product of the reflectors from the left.
///
/// # Errors
/// `Memory`.
pub(crate) fn apply_adjoint<S: Field>(
    reflectors: MatRef<'_, S>,
    factors: &Dense<S>,
    to: MatMut<'_, S>,
) -> Result<()> {
    if factors.rows == 1 {
        single(reflectors, factors, to, 0..factors.cols);
        return Ok(());
    }
    let need = apply_block_householder_sequence_transpose_on_the_left_in_place_scratch::<S>(
        reflectors.nrows(),
        factors.rows,
        to.ncols(),
    );
    stack(need, |stack| {
        apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj(
            reflectors,
            factors.as_ref(),
            Conj::Yes,
            to,
            Par::Seq,
            stack,
        );
    })
}

/// Applies reflectors one by one.
fn single<S: Field>(
    reflectors: MatRef<'_, S>,
    factors: &Dense<S>,
    mut to: MatMut<'_, S>,
    order: impl Iterator<Item = usize>,
) {
    for k in order {
        let tau = Field::real(factors.at(0, k));
        let reflector = reflectors.col(k).try_as_col_major();
        let Some(tail) = reflector.map(|v| &v.as_slice()[k + 1..]) else {
            unreachable!("the columns of a dense matrix have no gaps");
        };
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for column in to.rb_mut().col_iter_mut() {
                    if let Some(column) = column.try_as_col_major_mut() {
                        reflect(&mut column.as_slice_mut()[k..], tail, tau);
                    }
                }
            },
        );
    }
}

/// Replaces a matrix by `R` and, below, the reflectors whose product is `Q`; returns the factors of their blocks.
///
/// faer's own factorisation leaves out the columns that nearly depend on those before, which costs digits.
///
/// # Errors
/// `Memory`.
pub(crate) fn qr<S: Field>(a: &mut Dense<S>) -> Result<Dense<S>> {
    let (m, n) = (a.rows, a.cols);
    let size = m.min(n);
    let block = if size <= UNBLOCKED { 1 } else { BLOCK };
    let mut factors = Dense::zeros(block, size)?;
    let need = apply_block_householder_transpose_on_the_left_in_place_scratch::<S>(m, block, n);
    stack(need, |stack| {
        let mut factors = factors.as_mut();
        for from in (0..size).step_by(block) {
            let to = (from + block).min(size);
            // One by one, reflectors change all columns at once, in blocks those of the block first.
            let end = if block == 1 { n } else { to };
            for k in from..to {
                let (left, right) = a.values.split_at_mut((k + 1) * m);
                let column = &mut left[k * m + k..];
                let tau = reflector(column);
                let tail = &column[1..];
                factors[(k - from, k)] = tau.into();
                Arch::new().dispatch(
                    #[inline(always)]
                    || {
                        for column in right.chunks_exact_mut(m).take(end - k - 1) {
                            reflect(&mut column[k..], tail, tau);
                        }
                    },
                );
            }
            if block == 1 {
                continue;
            }
            let (left, right) = a.as_mut().split_at_col_mut(to);
            let reflectors = left.rb().get(from.., from..to);
            let mut factor = factors.rb_mut().get_mut(..to - from, from..to);
            upgrade_householder_factor(factor.rb_mut(), reflectors, to - from, 1, Par::Seq);
            apply_block_householder_transpose_on_the_left_in_place_with_conj(
                reflectors,
                factor.rb(),
                Conj::Yes,
                right.get_mut(from.., ..),
                Par::Seq,
                stack,
            );
        }
    })?;
    Ok(factors)
}

/// Up to this size, our own reduction to Hessenberg form is as fast as faer's, which costs more digits.
const SMALL: usize = 256;

/// Replaces a matrix by `H` of `A = Q H Q^H`, zero below its first subdiagonal, and below, the reflectors whose product is
/// `Q` without its first row and column; returns their factors.
///
/// # Errors
/// `Memory`.
pub(crate) fn hessenberg<S: Field>(a: &mut Dense<S>) -> Result<Dense<S>> {
    let n = a.rows;
    let count = n.saturating_sub(1);
    if n > SMALL {
        let mut factors = factors(count, count, count)?;
        let params = Default::default();
        let need = hessenberg_in_place_scratch::<S>(n, factors.rows, Par::Seq, params);
        stack(need, |stack| {
            hessenberg_in_place(a.as_mut(), factors.as_mut(), Par::Seq, stack, params);
        })?;
        return Ok(factors);
    }
    let mut factors = Dense::zeros(1, count)?;
    // What a reflector takes from a column from the right is this times its element, and waits for the next one.
    let (mut product, mut next) = (vec![S::default(); n], vec![S::default(); n]);
    for k in 0..count {
        let (left, right) = a.values.split_at_mut((k + 1) * n);
        let (before, column) = left.split_at_mut(k * n);
        less(column, &product, S::ONE);
        let column = &mut column[k + 1..];
        let tau = reflector(column);
        factors.values[k] = tau.into();
        let tail = &column[1..];
        let tail_before = if k > 0 {
            &before[(k - 1) * n + k + 1..]
        } else {
            &[]
        };
        Arch::new().dispatch(
            #[inline(always)]
            || {
                next.fill(S::default());
                for (j, column) in right.chunks_exact_mut(n).enumerate() {
                    if let Some(v) = tail_before.get(j) {
                        less(column, &product, v.conjugate());
                    }
                    reflect(&mut column[k + 1..], tail, tau);
                    let v = if j == 0 { S::ONE } else { tail[j - 1] };
                    let factor = v.scale(1.0 / tau);
                    for (next, &x) in next.iter_mut().zip(&*column) {
                        *next += x * factor;
                    }
                }
            },
        );
        std::mem::swap(&mut product, &mut next);
    }
    if let Some(column) = a.values.chunks_exact_mut(n.max(1)).last() {
        less(column, &product, S::ONE);
    }
    Ok(factors)
}

/// Takes a multiple from a column.
#[inline(always)]
fn less<S: Field>(column: &mut [S], of: &[S], factor: S) {
    for (x, &of) in column.iter_mut().zip(of) {
        *x -= of * factor;
    }
}

/// Applies a reflector, its leading one left out, to a column.
#[inline(always)]
fn reflect<S: Field>(column: &mut [S], tail: &[S], tau: f64) {
    let (first, rest) = column.split_at_mut(1);
    let sum = (first[0] + dot_conjugate(tail, rest)).scale(1.0 / tau);
    first[0] -= sum;
    less(rest, tail, sum);
}

/// Replaces a column by the multiple of the first unit vector that its reflection is, and the rest of the reflector; returns
/// `tau`.
fn reflector<S: Field>(column: &mut [S]) -> f64 {
    let (head, tail) = column.split_at_mut(1);
    let rest = norm(tail);
    if rest < f64::MIN_POSITIVE {
        tail.fill(S::default());
        return NOTHING;
    }
    let (size, direction) = (head[0].magnitude().hypot(rest), head[0].direction());
    let pivot = head[0] + direction.scale(size);
    // The square of what a complex number is divided by must not vanish.
    let shrink = PowerOfTwo::near(size).inverse();
    let pivot = shrink.times(pivot);
    tail.iter_mut()
        .for_each(|v| *v = shrink.times(*v).over(pivot));
    head[0] = direction.scale(-size);
    // Of the numbers as they are, so that the reflection is one in spite of their rounding.
    (1.0 + Field::real(dot_conjugate(tail, tail))) / 2.0
}

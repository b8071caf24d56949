//! Products of Householder reflectors `1 - v v^H / tau`, each `v` in a column below its leading one, taken together in
//! blocks.

use crate::dense::dot_conjugate;
use crate::{Dense, Field, Result, stack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
    apply_block_householder_sequence_transpose_on_the_left_in_place_scratch,
    apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj,
    apply_block_householder_transpose_on_the_left_in_place_scratch,
    apply_block_householder_transpose_on_the_left_in_place_with_conj, make_householder_in_place,
    upgrade_householder_factor,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::reborrow::*;
use faer::{ColMut, Conj, MatMut, MatRef, Par};
use pulp::Arch;

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
    conj: Conj,
    to: MatMut<'_, S>,
) -> Result<()> {
    let need = apply_block_householder_sequence_on_the_left_in_place_scratch::<S>(
        reflectors.nrows(),
        factors.rows,
        to.ncols(),
    );
    stack(need, |stack| {
        apply_block_householder_sequence_on_the_left_in_place_with_conj(
            reflectors,
            factors.as_ref(),
            conj,
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

/// Replaces a matrix by `R` and, below, the reflectors whose product is `Q`; returns the factors of their blocks.
///
/// faer's own factorisation leaves out the columns that nearly depend on those before, which costs digits.
///
/// # Errors
/// `Memory`.
pub(crate) fn qr<S: Field>(a: &mut Dense<S>) -> Result<Dense<S>> {
    let (m, n) = (a.rows, a.cols);
    let size = m.min(n);
    let mut factors = factors(m, n, size)?;
    let block = factors.rows;
    let need = apply_block_householder_transpose_on_the_left_in_place_scratch::<S>(m, block, n);
    stack(need, |stack| {
        let mut factors = factors.as_mut();
        for from in (0..size).step_by(block) {
            let to = (from + block).min(size);
            for k in from..to {
                let (left, right) = a.values.split_at_mut((k + 1) * m);
                let (head, tail) = left[k * m + k..].split_at_mut(1);
                let tau = make_householder_in_place(&mut head[0], ColMut::from_slice_mut(tail)).tau;
                factors[(k - from, k)] = tau.into();
                Arch::new().dispatch(
                    #[inline(always)]
                    || {
                        for column in right.chunks_exact_mut(m).take(to - k - 1) {
                            let (first, rest) = column[k..].split_at_mut(1);
                            let sum = (first[0] + dot_conjugate(tail, rest)).scale(1.0 / tau);
                            first[0] = first[0] - sum;
                            for (x, v) in rest.iter_mut().zip(&*tail) {
                                *x = *x - *v * sum;
                            }
                        }
                    },
                );
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

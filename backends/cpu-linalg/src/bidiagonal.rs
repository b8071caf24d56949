//! The singular values of a real upper bidiagonal matrix (Gu and Eisenstat, SIAM J. Matrix Anal. Appl. 16, 1995).

use crate::divide::{Basis, Join, LEAST, Memory, Part, scale, sorted};
use crate::secular::Vectors;
use crate::{Dense, Result};
use smallvec::SmallVec;
use std::ops::Range;

/// Singular values, and the left and right vectors if asked for.
pub(crate) type Values = (Vec<f64>, Option<[Dense<f64>; 2]>);

/// The values in falling order, and the left and right vectors as columns if asked for, of the square matrix with the
/// given diagonal and elements above it.
///
/// # Errors
/// `Memory`.
pub(crate) fn singular(diagonal: &[f64], above: &[f64], vectors: bool) -> Result<Values> {
    let n = diagonal.len();
    let scale = scale([diagonal, above]);
    let normal = |v: &f64| scale.inverse().times(*v);
    let (diagonal, above): (Vec<f64>, Vec<f64>) = (
        diagonal.iter().map(normal).collect(),
        above.iter().map(normal).collect(),
    );
    let mut problem = Problem {
        diagonal: &diagonal,
        above: &above,
        values: vec![0.0; n],
        z: vec![0.0; n],
        left: vectors.then(|| Basis::new(n, true)).transpose()?,
        right: Basis::new(n + 1, vectors)?,
        memory: Memory::new(n, vectors)?,
    };
    problem.divide(0..n);
    let Problem {
        values,
        left,
        right,
        ..
    } = problem;
    let order = sorted(&values, true);
    let bases = left.map(|left| -> Result<_> {
        let right = right.into_matrix().columns(order.iter().copied())?;
        // The matrix was taken for one with a column of zeros.
        let mut square = Dense::zeros(n, n)?;
        for (to, from) in square
            .values
            .chunks_exact_mut(n.max(1))
            .zip(right.values.chunks_exact(n + 1))
        {
            to.copy_from_slice(&from[..n]);
        }
        Ok([left.into_matrix().columns(order.iter().copied())?, square])
    });
    let values = order.iter().map(|&j| scale.times(values[j]));
    Ok((values.collect(), bases.transpose()?))
}

struct Problem<'a> {
    diagonal: &'a [f64],
    above: &'a [f64],
    values: Vec<f64>,
    z: Vec<f64>,
    left: Option<Basis>,
    right: Basis,
    memory: Memory,
}

impl Problem<'_> {
    /// Rows `range` have one column more, and so one right vector more, in the column `range.end`: the one that the rows
    /// take to zero.
    fn divide(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let row = range.start + range.len() / 2;
        let middle = row + 1;
        self.divide(range.start..row);
        self.divide(middle..range.end);
        let (here, next) = (
            self.diagonal[row],
            self.above.get(row).copied().unwrap_or(0.0),
        );
        for j in range.start..row {
            self.z[j] = here * self.right.last(row, j);
        }
        for j in middle..range.end {
            self.z[j] = next * self.right.first(middle, j);
        }
        let null = (
            here * self.right.last(row, row),
            next * self.right.first(middle, range.end),
        );
        self.right.join(range.start..range.end + 1, middle);
        self.values[row] = 0.0;
        let size = |largest: f64, v: &f64| largest.max(v.abs());
        let norm = self.values[range.clone()]
            .iter()
            .fold(here.abs().max(next.abs()), size);
        if norm == 0.0 {
            return;
        }
        let tiny = f64::EPSILON * norm.max(LEAST);
        // Of the two vectors that the parts take to zero, the row keeps one combination.
        let length = null.0.hypot(null.1);
        self.z[row] = length.max(tiny);
        let turn = if length > tiny {
            (null.0 / length, null.1 / length)
        } else {
            (1.0, 0.0)
        };
        let rows = range.start..range.end + 1;
        self.right.rotate(rows.clone(), (row, range.end), turn);
        let last = range.len() == self.diagonal.len();
        let right = self.left.is_some() || !last;
        let mut parts: SmallVec<[Part<'_>; 2]> = SmallVec::new();
        parts.extend(self.left.as_mut().map(|basis| Part {
            basis,
            rows: range.clone(),
            which: Vectors::Left,
        }));
        parts.extend(right.then_some(Part {
            basis: &mut self.right,
            rows,
            which: Vectors::Right,
        }));
        let join = Join {
            columns: range,
            middle,
            values: &mut self.values,
            z: &mut self.z,
            fixed: Some(row),
            tiny: (tiny, tiny),
        };
        join.run(&mut parts, &mut self.memory);
        if length < tiny && self.z[row] == tiny {
            // The least value is a multiple of what the row keeps, and zero if that is.
            self.values[row] *= length / tiny;
        }
    }
}

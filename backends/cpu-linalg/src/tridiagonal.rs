//! The eigenvalues of a real symmetric tridiagonal matrix (Cuppen, Numer. Math. 36, 1981).

use crate::divide::{Basis, Join, LEAST, Memory, Part, scale, sorted};
use crate::secular::Vectors;
use crate::{Dense, Result};
use smallvec::SmallVec;
use std::ops::Range;

/// The eigenvalues in rising order, and the eigenvectors as columns if asked for, of the matrix with the given diagonal
/// and elements beside it.
///
/// # Errors
/// `Memory`.
pub(crate) fn eigen(
    mut diagonal: Vec<f64>,
    beside: &[f64],
    vectors: bool,
) -> Result<(Vec<f64>, Option<Dense<f64>>)> {
    let n = diagonal.len();
    let scale = scale([&diagonal, beside]);
    let normal = |v: &f64| scale.inverse().times(*v);
    let beside: Vec<f64> = beside.iter().map(normal).collect();
    diagonal = diagonal.iter().map(normal).collect();
    let mut problem = Problem {
        z: vec![0.0; n],
        basis: Basis::new(n, vectors)?,
        vectors,
        memory: Memory::new(n, vectors)?,
        values: &mut diagonal,
        beside: &beside,
    };
    problem.divide(0..n);
    let basis = problem.basis.into_matrix();
    let order = sorted(&diagonal, false);
    let basis = vectors
        .then(|| basis.columns(order.iter().copied()))
        .transpose()?;
    let values = order.iter().map(|&j| scale.times(diagonal[j]));
    Ok((values.collect(), basis))
}

struct Problem<'a> {
    values: &'a mut [f64],
    beside: &'a [f64],
    z: Vec<f64>,
    basis: Basis,
    /// Whether the eigenvectors are wanted.
    vectors: bool,
    memory: Memory,
}

impl Problem<'_> {
    fn divide(&mut self, range: Range<usize>) {
        if range.len() < 2 {
            return;
        }
        let middle = range.start + range.len() / 2;
        let coupling = self.beside[middle - 1];
        // What is left is a multiple of a vector's outer product with itself.
        self.values[middle - 1] -= coupling.abs();
        self.values[middle] -= coupling.abs();
        self.divide(range.start..middle);
        self.divide(middle..range.end);
        let root = coupling.abs().sqrt();
        for j in range.start..middle {
            self.z[j] = root * self.basis.last(middle - 1, j);
        }
        for j in middle..range.end {
            self.z[j] = root.copysign(coupling) * self.basis.first(middle, j);
        }
        self.basis.join(range.clone(), middle);
        let size = |largest: f64, v: &f64| largest.max(v.abs());
        let norm = self.values[range.clone()]
            .iter()
            .fold(coupling.abs().max(LEAST), size);
        let join = Join {
            columns: range.clone(),
            middle,
            values: self.values,
            z: &mut self.z,
            fixed: None,
            tiny: (
                f64::EPSILON * norm,
                f64::EPSILON * norm / (root * 2f64.sqrt()),
            ),
        };
        let last = range.len() == self.beside.len() + 1;
        let part = (self.vectors || !last).then_some(Part {
            basis: &mut self.basis,
            rows: range,
            which: Vectors::Right,
        });
        let mut parts: SmallVec<[Part<'_>; 2]> = part.into_iter().collect();
        join.run(&mut parts, &mut self.memory);
    }
}

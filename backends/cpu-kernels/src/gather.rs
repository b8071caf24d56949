//! Indexed reading and writing.

use crate::nest::{GRAIN, Nest, Raw, by_size, copy_run, spread};
use crate::par::Par;
use rustarr_interface::{Error, Layout, Operand, Result};
use smallvec::SmallVec;

/// Indices per block: their resolved positions stay in the first-level cache.
const BLOCK: usize = 1024;

/// Reads `output[j, r] = source[indices[0][j], .., indices[k-1][j], r]`; indices are `int64`, negative
/// ones count from the end.
///
/// # Errors
/// `Index` naming the first bad index; the output is then unspecified.
pub fn gather(
    par: Par<'_>,
    source: Operand<'_>,
    indices: &[Operand<'_>],
    output: Operand<'_>,
) -> Result<()> {
    let plan = Plan::new("take", source, indices, output)?;
    let pieces = plan.row.size().div_ceil(GRAIN).max(1);
    // Enough rows for a task; long rows are cut instead.
    let block = (GRAIN / plan.row.size().max(1)).clamp(1, GRAIN);
    let blocks = plan.heads.size().div_ceil(block);
    by_size!(source.dtype, T => {
        let (from, to) = (Raw::<T>::of(source)?, Raw::<T>::of(output)?);
        spread(par, "take", blocks * pieces, || Vec::with_capacity(BLOCK), |offsets, task| {
            let (first, piece) = (task / pieces * block, task % pieces);
            let last = (first + block).min(plan.heads.size());
            let row = (piece * GRAIN, ((piece + 1) * GRAIN).min(plan.row.size()));
            for j in (first..last).step_by(BLOCK) {
                let end = (j + BLOCK).min(last);
                plan.resolve(j, end, offsets)?;
                // SAFETY: offsets are checked, layouts stay inside their buffers, and every
                // task writes its own part of the output.
                unsafe { plan.copy_rows::<T, false>(j, offsets, row, from, to) };
            }
            Ok(())
        })
    })
}

/// Writes `target[indices[..][j], r] = values[j, r]`, the last in row-major order winning. All
/// indices are checked before the first write.
///
/// # Errors
/// `Index` naming the first bad index, with the target untouched.
pub fn scatter(
    par: Par<'_>,
    target: Operand<'_>,
    indices: &[Operand<'_>],
    values: Operand<'_>,
) -> Result<()> {
    let plan = Plan::new("put", target, indices, values)?;
    let total = plan.heads.size();
    spread(
        par,
        "put",
        total.div_ceil(GRAIN),
        || Vec::with_capacity(BLOCK),
        |offsets, task| {
            let last = ((task + 1) * GRAIN).min(total);
            for j in (task * GRAIN..last).step_by(BLOCK) {
                plan.resolve(j, (j + BLOCK).min(last), offsets)?;
            }
            Ok(())
        },
    )?;
    // Equal indices conflict, so that only rows are cut into tasks: each writes its columns
    // for all indices in order.
    let pieces = plan
        .row
        .size()
        .div_ceil(GRAIN.min((1 << 18) / total.clamp(1, 1 << 12)));
    let piece = plan.row.size().div_ceil(pieces.max(1));
    by_size!(target.dtype, T => {
        let (to, from) = (Raw::<T>::of(target)?, Raw::<T>::of(values)?);
        spread(par, "put", pieces, || Vec::with_capacity(BLOCK), |offsets, task| {
            let row = (task * piece, ((task + 1) * piece).min(plan.row.size()));
            for j in (0..total).step_by(BLOCK) {
                plan.resolve(j, (j + BLOCK).min(total), offsets)?;
                // SAFETY: offsets are checked, layouts stay inside their buffers, and every
                // task writes columns of its own.
                unsafe { plan.copy_rows::<T, true>(j, offsets, row, to, from) };
            }
            Ok(())
        })
    })
}

/// How index arrays, an indexed operand and a plain operand of shape `J + R` walk together.
struct Plan<'a> {
    op: &'static str,
    /// Over `J`: the index arrays, then the plain operand.
    heads: Nest,
    /// Over `R`: the indexed operand, then the plain one; offsets are zero.
    row: Nest,
    bases: SmallVec<[Raw<i64>; 4]>,
    indexed: &'a Layout,
}

impl<'a> Plan<'a> {
    fn new(
        op: &'static str,
        indexed: Operand<'a>,
        indices: &[Operand<'_>],
        plain: Operand<'_>,
    ) -> Result<Plan<'a>> {
        let k = indices.len();
        let (shape, strides) = (plain.layout.shape(), plain.layout.strides());
        let j = shape.len() - (indexed.layout.ndim() - k);
        let heads = Layout::new(&shape[..j], &strides[..j], plain.layout.offset());
        let row_of =
            |l: &Layout, from: usize| Layout::new(&l.shape()[from..], &l.strides()[from..], 0);
        let rows = [row_of(indexed.layout, k), row_of(plain.layout, j)];
        let layouts: SmallVec<[&Layout; 5]> =
            indices.iter().map(|i| i.layout).chain([&heads]).collect();
        Ok(Plan {
            op,
            heads: Nest::ordered(&shape[..j], &layouts),
            row: Nest::unordered(&shape[j..], &[&rows[0], &rows[1]]),
            bases: indices.iter().map(|&i| Raw::of(i)).collect::<Result<_>>()?,
            indexed: indexed.layout,
        })
    }

    /// Positions in the indexed operand of the rows `from..to`.
    ///
    /// # Errors
    /// `Index` for the first row with a bad index.
    fn resolve(&self, from: usize, to: usize, offsets: &mut Vec<isize>) -> Result<()> {
        offsets.clear();
        offsets.resize(to - from, self.indexed.offset() as isize);
        let mut bad = usize::MAX;
        self.heads.runs(from, to, |at, start, len| {
            for (axis, base) in self.bases.iter().enumerate() {
                let size = self.indexed.shape()[axis] as i64;
                let stride = self.indexed.strides()[axis];
                let step = self.heads.step(axis);
                for (i, offset) in offsets[start - from..][..len].iter_mut().enumerate() {
                    // SAFETY: layouts stay inside their buffers.
                    let index = unsafe { *base.at(at[axis] + i as isize * step) };
                    let wrapped = if index < 0 {
                        index.wrapping_add(size)
                    } else {
                        index
                    };
                    if (wrapped as u64) < size as u64 {
                        *offset += wrapped as isize * stride;
                    } else {
                        bad = bad.min(start + i);
                    }
                }
            }
        });
        if bad == usize::MAX {
            Ok(())
        } else {
            Err(self.error(bad))
        }
    }

    /// The error of row `j`, which has a bad index.
    fn error(&self, j: usize) -> Error {
        let at = self.heads.position(j);
        for (axis, base) in self.bases.iter().enumerate() {
            // SAFETY: layouts stay inside their buffers.
            let index = unsafe { *base.at(at[axis]) };
            let size = self.indexed.shape()[axis] as i64;
            if index >= size || index < -size {
                return Error::index(
                    self.op,
                    format!("index {index} is out of bounds for axis {axis} with size {size}"),
                );
            }
        }
        Error::index(self.op, "the indices changed while they were read")
    }

    /// Copies part of the rows from `first` on: out of the indexed operand, or with `WRITE` into it.
    ///
    /// # Safety
    /// The offsets belong to these rows, and nobody else writes what is written here.
    unsafe fn copy_rows<T: Copy, const WRITE: bool>(
        &self,
        first: usize,
        offsets: &[isize],
        row: (usize, usize),
        indexed: Raw<T>,
        plain: Raw<T>,
    ) {
        if row.0 >= row.1 {
            return; // rows without elements have no address
        }
        let column = self.bases.len();
        let step = self.heads.step(column);
        let (a, b) = (self.row.step(0), self.row.step(1));
        let single = self.row.size() == 1;
        self.heads
            .runs(first, first + offsets.len(), |at, start, len| {
                for (i, &offset) in offsets[start - first..][..len].iter().enumerate() {
                    // SAFETY: by contract.
                    unsafe {
                        let indexed = indexed.at(offset);
                        let plain = plain.at(at[column] + i as isize * step);
                        if single {
                            if WRITE {
                                *indexed = *plain
                            } else {
                                *plain = *indexed
                            }
                            continue;
                        }
                        self.row.runs(row.0, row.1, |at, _, len| {
                            let (indexed, plain) = (indexed.offset(at[0]), plain.offset(at[1]));
                            if WRITE {
                                copy_run(plain, b, indexed, a, len);
                            } else {
                                copy_run(indexed, a, plain, b, len);
                            }
                        });
                    }
                }
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nest::tests::{Array, Rng, affordable, same_for_all_threads};
    use rustarr_interface::{Complex32, Complex64, DType, Element, ErrorKind};

    /// A source, `k` index arrays and the shapes `J` and `J + R`.
    fn case<T: Element>(
        rng: &mut Rng,
        below: usize,
        value: impl FnMut(&mut Rng) -> T,
    ) -> (Array, Vec<Array>, Vec<usize>, Vec<usize>) {
        let (k, j, r) = (1 + rng.below(2), rng.below(3), rng.below(3));
        let (d, heads, rest) = (rng.shape(k, 6), rng.shape(j, below), rng.shape(r, 7));
        let d: Vec<usize> = d.iter().map(|d| d + 1).collect();
        let source = rng.array([&d[..], &rest].concat().as_slice(), value);
        let indices = d
            .iter()
            .map(|&d| rng.array(&heads, |rng| rng.below(2 * d) as i64 - d as i64))
            .collect();
        (source, indices, heads.clone(), [&heads[..], &rest].concat())
    }

    fn operands(arrays: &[Array]) -> Vec<Operand<'_>> {
        arrays.iter().map(Array::operand).collect()
    }

    /// The source's row-major index of every element of the gathered array.
    fn naive(source: &Layout, indices: &[Array], heads: &[usize], shape: &[usize]) -> Vec<usize> {
        let columns: Vec<Vec<i64>> = indices.iter().map(Array::values).collect();
        let rest: usize = shape[heads.len()..].iter().product();
        (0..shape.iter().product())
            .map(|i| {
                let (j, r) = (i / rest, i % rest);
                let head = columns
                    .iter()
                    .zip(source.shape())
                    .fold(0, |at, (column, &d)| {
                        let index = column[j];
                        at * d + if index < 0 { index + d as i64 } else { index } as usize
                    });
                head * rest + r
            })
            .collect()
    }

    fn check<T: Element>(seed: u64, mut value: impl FnMut(&mut Rng) -> T) {
        let mut rng = Rng(seed);
        for _ in 0..affordable(60, 2) {
            let (source, indices, heads, shape) = case(&mut rng, 9, &mut value);
            let elements = source.values::<T>();
            let wanted: Vec<T> = naive(&source.layout, &indices, &heads, &shape)
                .iter()
                .map(|&i| elements[i])
                .collect();
            let out = Array::empty(T::DTYPE, rng.layout(&shape));
            same_for_all_threads(|par| {
                gather(par, source.operand(), &operands(&indices), out.operand()).unwrap();
                out.bytes()
            });
            assert_eq!(out.values::<T>(), wanted);
        }
    }

    #[test]
    fn gather_follows_its_definition() {
        check::<u8>(1, |r| r.next() as u8);
        check::<i16>(2, |r| r.next() as i16);
        check::<f32>(3, |r| r.float() as f32);
        check::<f64>(4, Rng::float);
        check::<Complex32>(5, |r| Complex32::new(r.float() as f32, 1.0));
        check::<Complex64>(6, |r| Complex64::new(r.float(), 1.0));
    }

    #[test]
    fn scatter_follows_its_definition() {
        let mut rng = Rng(8);
        for _ in 0..affordable(200, 5) {
            let (target, indices, heads, shape) = case(&mut rng, 9, |r| r.next() as i32);
            let before = target.values::<i32>();
            let target = || Array::new(Layout::contiguous(target.layout.shape()), &before);
            let values = rng.array(&shape, |r| r.next() as i32);
            let mut wanted = before.clone();
            let places = naive(&target().layout, &indices, &heads, &shape);
            for (i, v) in places.iter().zip(values.values::<i32>()) {
                wanted[*i] = v;
            }
            let written = same_for_all_threads(|par| {
                let target = target();
                scatter(par, target.operand(), &operands(&indices), values.operand()).unwrap();
                target.bytes()
            });
            assert_eq!(written, bytemuck::cast_slice::<i32, u8>(&wanted));
        }
    }

    #[test]
    fn long_arrays_are_cut_into_tasks() {
        let mut rng = Rng(9);
        let cases = [(50, 100_000, 1), (7, 5, 100_000), (40, 3000, 200)];
        for (rows, count, row) in affordable(cases, [(9, 70, 1), (3, 2, 70), (5, 10, 7)]) {
            let source = rng.array(&[rows, row], |r| r.next() as u32);
            let index = rng.array(&[count], |r| r.below(rows) as i64);
            let out = Array::empty(DType::U32, Layout::contiguous(&[count, row]));
            same_for_all_threads(|par| {
                gather(par, source.operand(), &[index.operand()], out.operand()).unwrap();
                out.bytes()
            });
            let places = naive(
                &source.layout,
                std::slice::from_ref(&index),
                &[count],
                &[count, row],
            );
            let (from, got) = (source.values::<u32>(), out.values::<u32>());
            assert!(places.iter().zip(&got).all(|(&i, &v)| from[i] == v));

            let mut wanted = vec![0; rows * row];
            places
                .iter()
                .zip(&got)
                .for_each(|(&i, &v)| wanted[i] = v.wrapping_mul(3));
            let values: Vec<u32> = got.iter().map(|v| v.wrapping_mul(3)).collect();
            let values = Array::dense(&[count, row], &values);
            let written = same_for_all_threads(|par| {
                let target = Array::dense(&[rows, row], &vec![0u32; rows * row]);
                scatter(par, target.operand(), &[index.operand()], values.operand()).unwrap();
                target.bytes()
            });
            assert_eq!(written, bytemuck::cast_slice::<u32, u8>(&wanted));
        }
    }

    #[test]
    fn the_first_bad_index_is_named_and_nothing_written() {
        let n = affordable(100_000, 80);
        let target = Array::dense(&[3, 4], &[0i32; 12]);
        let mut column = vec![0i64; n];
        let values = Array::dense(&[n], &vec![1i32; n]);
        for (bad, text) in [
            (4, "index 4 is"),
            (-5, "index -5 is"),
            (i64::MIN, "index -9223372036854775808 is"),
        ] {
            column.fill(0);
            column[n / 5 * 2] = bad;
            column[n / 10 * 9] = 77;
            let indices = [
                Array::dense(&[n], &vec![-3i64; n]),
                Array::dense(&[n], &column),
            ];
            same_for_all_threads(|par| {
                let error = scatter(par, target.operand(), &operands(&indices), values.operand());
                let error = error.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Index);
                let out = Array::empty(DType::I32, Layout::contiguous(&[n]));
                let other = gather(par, target.operand(), &operands(&indices), out.operand());
                assert_eq!(other.unwrap_err().detail(), error.detail());
                error.detail().as_bytes().to_vec()
            });
            let error = scatter(
                Par::Seq,
                target.operand(),
                &operands(&indices),
                values.operand(),
            );
            let text = format!("{text} out of bounds for axis 1 with size 4");
            assert_eq!(error.unwrap_err().detail(), text);
        }
        assert_eq!(target.values::<i32>(), [0; 12]);
    }
}

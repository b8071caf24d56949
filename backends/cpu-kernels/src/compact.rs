//! Positions of true elements.

use crate::nest::{GRAIN, Nest, Raw, spread};
use crate::par::Par;
use rustarr_interface::{Buffer, Operand, Result};

/// The row-major positions (`int64`, dense) of the true elements of a `bool` array, in a buffer
/// of `alloc`, and how many there are. One pass counts, one writes.
///
/// # Errors
/// Those of `alloc`.
pub fn compact(
    par: Par<'_>,
    mask: Operand<'_>,
    alloc: impl FnOnce(usize) -> Result<Buffer>,
) -> Result<(Buffer, usize)> {
    let nest = Nest::ordered(mask.layout.shape(), &[mask.layout]);
    let base = Raw::<u8>::of(mask)?;
    let step = nest.step(0);
    let blocks = nest.size().div_ceil(GRAIN);
    let block = |task: usize| (task * GRAIN, ((task + 1) * GRAIN).min(nest.size()));

    // Where each block's positions begin: first its count, then the sum of those before.
    let mut starts = vec![0usize; blocks + 1];
    let counts = Raw(starts.as_mut_ptr());
    spread(
        par,
        "nonzero",
        blocks,
        || (),
        |(), task| {
            let (from, to) = block(task);
            let mut count = 0;
            nest.runs(from, to, |at, _, len| {
                // SAFETY: layouts stay inside their buffers.
                count += unsafe { count_run(base.at(at[0]), step, len) };
            });
            // SAFETY: one element per task.
            unsafe { *counts.at(task as isize + 1) = count };
            Ok(())
        },
    )?;
    for i in 0..blocks {
        starts[i + 1] += starts[i];
    }

    let total = starts[blocks];
    let buffer = alloc(total * size_of::<i64>())?;
    let Some(out) = buffer.host_ptr().filter(|_| total > 0) else {
        return Ok((buffer, total));
    };
    let out = Raw(out.as_ptr().cast::<i64>());
    spread(
        par,
        "nonzero",
        blocks,
        || (),
        |(), task| {
            let (from, to) = block(task);
            let (mut next, end) = (starts[task], starts[task + 1]);
            nest.runs(from, to, |at, start, len| {
                for i in 0..len {
                    if next == end {
                        return;
                    }
                    // SAFETY: `next` stays below this block's end, so that the position is written
                    // into the block's own part of the buffer, if only to be overwritten.
                    unsafe {
                        *out.at(next as isize) = (start + i) as i64;
                        next += (*base.at(at[0] + i as isize * step) != 0) as usize;
                    }
                }
            });
            Ok(())
        },
    )?;
    Ok((buffer, total))
}

/// # Safety
/// The run lies inside the buffer.
unsafe fn count_run(at: *const u8, step: isize, len: usize) -> usize {
    if step == 1 {
        // SAFETY: by contract.
        let bytes = unsafe { std::slice::from_raw_parts(at, len) };
        // Counters of one byte vectorise; 255 of them cannot overflow.
        return bytes
            .chunks(255)
            .map(|chunk| chunk.iter().map(|&b| (b != 0) as u8).sum::<u8>() as usize)
            .sum();
    }
    (0..len as isize)
        // SAFETY: by contract.
        .filter(|i| unsafe { *at.offset(i * step) } != 0)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nest::tests::{Array, Rng, affordable, buffer, same_for_all_threads};
    use rustarr_interface::{Bool, DType, Layout};

    #[test]
    fn positions_are_those_of_the_true_elements() {
        let mut rng = Rng(3);
        for round in 0..affordable(150, 6) {
            let ndim = rng.below(4);
            let mut shape = rng.shape(ndim, 9);
            if round % 10 == 0 {
                shape = vec![3, affordable(50_000, 50) + rng.below(100)];
            }
            // Odd bytes are true as well.
            let odds = 1 + rng.below(8);
            let mask = rng.array(&shape, |r| {
                Bool((r.below(odds) == 0) as u8 * r.next() as u8)
            });
            let wanted: Vec<i64> = (0i64..)
                .zip(mask.values::<Bool>())
                .filter(|(_, m)| m.get())
                .map(|(i, _)| i)
                .collect();
            let positions = same_for_all_threads(|par| {
                let (buffer, count) = compact(par, mask.operand(), |n| Ok(buffer(n))).unwrap();
                assert_eq!(count, wanted.len());
                let layout = Layout::contiguous(&[count]);
                Array {
                    buffer,
                    layout,
                    dtype: DType::I64,
                }
                .bytes()
            });
            assert_eq!(positions, bytemuck::cast_slice::<i64, u8>(&wanted));
        }
    }
}

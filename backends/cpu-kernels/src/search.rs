//! Binary search in a sorted array.

use crate::nest::{Nest, Raw, spread};
use crate::order::{Digits, Ordered};
use crate::par::Par;
use rustarr_interface::{Operand, Result, Search, dispatch};

/// Values looked up per task.
const BLOCK: usize = 4096;

/// Writes the `int64` positions at which `values` would be inserted into the sorted 1-D array.
pub fn search(
    par: Par<'_>,
    search: Search,
    sorted: Operand<'_>,
    values: Operand<'_>,
    output: Operand<'_>,
) -> Result<()> {
    dispatch!(all, sorted.dtype, T => typed::<T>(par, search.right, sorted, values, output))
}

fn typed<T: Ordered>(
    par: Par<'_>,
    right: bool,
    sorted: Operand<'_>,
    values: Operand<'_>,
    output: Operand<'_>,
) -> Result<()> {
    let (table, from, to) = (
        Raw::<T>::of(sorted)?,
        Raw::<T>::of(values)?,
        Raw::<i64>::of(output)?,
    );
    let nest = Nest::unordered(values.layout.shape(), &[values.layout, output.layout]);
    let (start, stride) = (sorted.layout.offset() as isize, sorted.layout.strides()[0]);
    let len = sorted.layout.shape()[0];
    let rising = <T::Key as Digits>::ZERO;
    spread(
        par,
        "searchsorted",
        nest.size().div_ceil(BLOCK),
        || (),
        |(), task| {
            let last = ((task + 1) * BLOCK).min(nest.size());
            nest.runs(task * BLOCK, last, |at, _, run| {
                for i in 0..run as isize {
                    // SAFETY: layouts stay inside their buffers; tasks write their own elements.
                    unsafe {
                        let key = (*from.at(at[0] + i * nest.step(0))).key(rising);
                        let (mut low, mut rest) = (0, len);
                        while rest > 0 {
                            let half = rest / 2;
                            let probe = *table.at(start + (low + half) as isize * stride);
                            let probe = probe.key(rising);
                            let before = if right { probe <= key } else { probe < key };
                            low = if before { low + half + 1 } else { low };
                            rest = if before { rest - half - 1 } else { half };
                        }
                        *to.at(at[1] + i * nest.step(1)) = low as i64;
                    }
                }
            });
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nest::tests::{Array, Rng, affordable, same_for_all_threads};
    use rustarr_interface::{Complex64, DType, Element};

    fn check<T: Element>(mut value: impl FnMut(&mut Rng) -> T, less: impl Fn(&T, &T) -> bool) {
        let mut rng = Rng(21);
        for round in 0..affordable(60, 2) {
            let mut table: Vec<T> = (0..rng.below(40)).map(|_| value(&mut rng)).collect();
            // A plain insertion sort: shares nothing with the code under test.
            for i in 1..table.len() {
                for j in (1..=i).rev() {
                    if less(&table[j], &table[j - 1]) {
                        table.swap(j, j - 1);
                    }
                }
            }
            let shape = if round % 20 == 0 {
                vec![affordable(10_000, 40)]
            } else {
                rng.shape(round % 4, 6)
            };
            let sorted = Array::new(rng.layout(&[table.len()]), &table);
            let values = rng.array(&shape, &mut value);
            let out = Array::empty(DType::I64, rng.layout(&shape));
            for right in [false, true] {
                same_for_all_threads(|par| {
                    let (s, v, o) = (sorted.operand(), values.operand(), out.operand());
                    search(par, Search { right }, s, v, o).unwrap();
                    out.bytes()
                });
                let wanted = values.values::<T>().into_iter().map(|v| {
                    let before = |t: &&T| if right { !less(&v, t) } else { less(t, &v) };
                    table.iter().filter(before).count() as i64
                });
                assert_eq!(out.values::<i64>(), wanted.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn positions_keep_the_order() {
        check::<u8>(|r| r.below(20) as u8, |a, b| a < b);
        check::<i64>(|r| r.below(20) as i64 - 10, |a, b| a < b);
        let special = [
            f64::NAN,
            -0.0,
            0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1.0,
            -1.0,
        ];
        let nan_last = |a: &f64, b: &f64| a < b || (b.is_nan() && !a.is_nan());
        check::<f64>(|r| special[r.below(7)], nan_last);
        check::<Complex64>(
            |r| Complex64::new(special[r.below(7)], special[r.below(7)]),
            crate::sort::tests::complex_less,
        );
    }
}

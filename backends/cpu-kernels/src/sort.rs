//! Stable sorting along one axis.
//!
//! A stable order is unique, so that neither the method nor the number of threads shows.

use crate::nest::{GRAIN, Nest, Raw, lines, scratch, spread};
use crate::order::{Digits, Ordered};
use crate::par::Par;
use rustarr_interface::{Operand, Result, Sort, dispatch};

/// Shorter lines are sorted by comparison, longer ones digit by digit.
const RADIX_FROM: usize = 256;
/// Keys with more digits are sorted by comparison at any length.
const MAX_DIGITS: usize = 9;
/// Shorter lines are sorted by one thread.
const SPLIT_FROM: usize = if cfg!(miri) { 1 << 9 } else { 1 << 16 };

/// Sorts along one axis, or writes the `int64` positions of the sorted order. Stable; NaN comes
/// last in both directions; complex numbers are ordered by real, then imaginary part as in NumPy.
pub fn sort(par: Par<'_>, sort: Sort, input: Operand<'_>, output: Operand<'_>) -> Result<()> {
    dispatch!(all, input.dtype, T => typed::<T>(par, sort, input, output))
}

fn typed<T: Ordered>(
    par: Par<'_>,
    sort: Sort,
    input: Operand<'_>,
    output: Operand<'_>,
) -> Result<()> {
    let flip = if sort.descending {
        T::Key::MAX
    } else {
        T::Key::ZERO
    };
    let from = Raw::<T>::of(input)?;
    let (in_lines, in_step) = lines(input.layout, sort.axis);
    let (out_lines, out_step) = lines(output.layout, sort.axis);
    let task = Task {
        nest: Nest::unordered(in_lines.shape(), &[&in_lines, &out_lines]),
        len: input.layout.shape()[sort.axis],
        steps: (in_step, out_step),
    };
    if task.len == 0 {
        return Ok(());
    }
    if !sort.arg {
        let to = Raw::<T>::of(output)?;
        task.run(
            par,
            // SAFETY: called with positions of the layouts only, which stay inside their buffers.
            |position, _| unsafe { *from.at(position) },
            |v| v.key(flip),
            // SAFETY: as above.
            |position, v| unsafe { *to.at(position) = v },
        )
    } else if u32::try_from(task.len).is_ok() {
        let to = Raw::<i64>::of(output)?;
        task.run(
            par,
            // SAFETY: as above.
            |position, i| (unsafe { *from.at(position) }.key(flip), i as u32),
            |v| v.0,
            // SAFETY: as above.
            |position, v| unsafe { *to.at(position) = v.1 as i64 },
        )
    } else {
        let to = Raw::<i64>::of(output)?;
        task.run(
            par,
            // SAFETY: as above.
            |position, i| (unsafe { *from.at(position) }.key(flip), i as i64),
            |v| v.0,
            // SAFETY: as above.
            |position, v| unsafe { *to.at(position) = v.1 },
        )
    }
}

/// The lines to sort, each of `len` elements.
struct Task {
    /// Over the lines: the input and the output.
    nest: Nest,
    len: usize,
    steps: (isize, isize),
}

impl Task {
    /// Loads each line's elements by position and index, sorts them by key, stores them by position.
    fn run<E: Copy + Send + Sync, K: Digits>(
        &self,
        par: Par<'_>,
        load: impl Fn(isize, usize) -> E + Sync,
        key: impl Fn(&E) -> K + Sync + Copy,
        store: impl Fn(isize, E) + Sync,
    ) -> Result<()> {
        let (len, lines) = (self.len, self.nest.size());
        if lines == 0 {
            return Ok(());
        }
        let buffers = || -> Result<(Vec<E>, Vec<E>)> {
            let any = load(self.nest.position(0)[0], 0);
            Ok((scratch("sort", len, any)?, scratch("sort", len, any)?))
        };
        let load_part = |line: isize, first: usize, part: &mut [E]| {
            for (i, v) in (first..).zip(part) {
                *v = load(line + i as isize * self.steps.0, i);
            }
        };
        let store_part = |line: isize, first: usize, part: &[E]| {
            for (i, v) in (first..).zip(part) {
                store(line + i as isize * self.steps.1, *v);
            }
        };
        if len >= SPLIT_FROM && lines < par.threads() {
            let (mut values, mut other) = buffers()?;
            for line in 0..lines {
                let at = self.nest.position(line);
                for_parts(par, &mut values, |first, part| {
                    load_part(at[0], first, part)
                })?;
                sort_parallel(par, &mut values, &mut other, key)?;
                for_parts(par, &mut values, |first, part| {
                    store_part(at[1], first, part)
                })?;
            }
            return Ok(());
        }
        let block = (GRAIN / len).max(1);
        spread(
            par,
            "sort",
            lines.div_ceil(block),
            buffers,
            |buffers, task| {
                let (values, other) = match buffers {
                    Ok(buffers) => buffers,
                    Err(error) => return Err(error.clone()),
                };
                let last = ((task + 1) * block).min(lines);
                self.nest.runs(task * block, last, |at, _, run| {
                    for line in 0..run as isize {
                        load_part(at[0] + line * self.nest.step(0), 0, values);
                        sort_slice(values, other, key);
                        store_part(at[1] + line * self.nest.step(1), 0, values);
                    }
                });
                Ok(())
            },
        )
    }
}

/// Runs `f` over parts of a slice, each with the index of its first element.
fn for_parts<E: Send>(
    par: Par<'_>,
    slice: &mut [E],
    f: impl Fn(usize, &mut [E]) + Sync,
) -> Result<()> {
    let (base, len) = (Raw(slice.as_mut_ptr()), slice.len());
    spread(
        par,
        "sort",
        len.div_ceil(GRAIN),
        || (),
        |(), task| {
            let first = task * GRAIN;
            // SAFETY: the parts are disjoint.
            f(first, unsafe {
                part(base, first, (first + GRAIN).min(len))
            });
            Ok(())
        },
    )
}

/// # Safety
/// Nobody else uses this part of the slice at `base`.
unsafe fn part<'a, E>(base: Raw<E>, from: usize, to: usize) -> &'a mut [E] {
    // SAFETY: by contract.
    unsafe { std::slice::from_raw_parts_mut(base.at(from as isize), to - from) }
}

/// Sorts by key, stably; `other` is as long and its content lost.
fn sort_slice<E: Copy, K: Digits>(values: &mut [E], other: &mut [E], key: impl Fn(&E) -> K) {
    if values.len() < RADIX_FROM || K::BYTES > MAX_DIGITS {
        return values.sort_by_key(key);
    }
    let len = values.len();
    let mut counts = [[0usize; 256]; MAX_DIGITS];
    for v in values.iter() {
        let key = key(v);
        for (digit, counts) in counts[..K::BYTES].iter_mut().enumerate() {
            counts[key.digit(digit)] += 1;
        }
    }
    let (mut from, mut to) = (values, other);
    let mut swapped = false;
    for (digit, counts) in counts[..K::BYTES].iter_mut().enumerate() {
        if counts.contains(&len) {
            continue;
        }
        let mut next = 0;
        for count in counts.iter_mut() {
            next += std::mem::replace(count, next);
        }
        for v in from.iter() {
            let place = &mut counts[key(v).digit(digit)];
            to[*place] = *v;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
        swapped = !swapped;
    }
    if swapped {
        to.copy_from_slice(from);
    }
}

/// Sorts one long slice: a part per thread, then merges of neighbours, themselves cut into parts.
fn sort_parallel<E: Copy + Send + Sync, K: Digits>(
    par: Par<'_>,
    values: &mut [E],
    other: &mut [E],
    key: impl Fn(&E) -> K + Sync + Copy,
) -> Result<()> {
    let len = values.len();
    let parts = par
        .threads()
        .next_power_of_two()
        .min(len / RADIX_FROM)
        .max(1);
    let bound = |i: usize| (i as u128 * len as u128 / parts as u128) as usize;
    let (mut from, mut to) = (Raw(values.as_mut_ptr()), Raw(other.as_mut_ptr()));
    spread(
        par,
        "sort",
        parts,
        || (),
        |(), task| {
            let (first, last) = (bound(task), bound(task + 1));
            // SAFETY: the parts are disjoint.
            unsafe { sort_slice(part(from, first, last), part(to, first, last), key) };
            Ok(())
        },
    )?;
    let (mut width, mut swapped) = (1, false);
    while width < parts {
        let pairs = parts.div_ceil(2 * width);
        let cuts = (2 * par.threads()).div_ceil(pairs);
        spread(
            par,
            "sort",
            pairs * cuts,
            || (),
            |(), task| {
                let (pair, cut) = (task / cuts, task % cuts);
                let ends = [0, 1, 2].map(|i| bound(((2 * pair + i) * width).min(parts)));
                // SAFETY: in this round `from` is only read and every task writes its own part of `to`.
                unsafe {
                    let a: &[E] = part(from, ends[0], ends[1]);
                    let b: &[E] = part(from, ends[1], ends[2]);
                    let total = a.len() + b.len();
                    let (first, last) = (total * cut / cuts, total * (cut + 1) / cuts);
                    let (i, j) = (split(a, b, first, key), split(a, b, last, key));
                    let out = part(to, ends[0] + first, ends[0] + last);
                    merge(&a[i..j], &b[first - i..last - j], out, key);
                }
                Ok(())
            },
        )?;
        std::mem::swap(&mut from, &mut to);
        swapped = !swapped;
        width *= 2;
    }
    if swapped {
        for_parts(par, values, |first, part| {
            // SAFETY: the sorted values lie in `from`, which is not the slice written here.
            part.copy_from_slice(unsafe {
                std::slice::from_raw_parts(from.at(first as isize), part.len())
            });
        })?;
    }
    Ok(())
}

/// How many of the first `n` merged elements come from `a`.
fn split<E, K: Ord>(a: &[E], b: &[E], n: usize, key: impl Fn(&E) -> K) -> usize {
    let (mut low, mut high) = (n.saturating_sub(b.len()), n.min(a.len()));
    while low < high {
        let i = low + (high - low) / 2;
        // Element i of `a` is among the first n if it goes before element n-1-i of `b`.
        if key(&b[n - 1 - i]) < key(&a[i]) {
            high = i;
        } else {
            low = i + 1;
        }
    }
    low
}

/// Merges sorted slices, on equal keys `a` first.
fn merge<E: Copy, K: Ord>(a: &[E], b: &[E], out: &mut [E], key: impl Fn(&E) -> K) {
    let (mut i, mut j) = (0, 0);
    for o in out.iter_mut() {
        let from_b = i == a.len() || (j < b.len() && key(&b[j]) < key(&a[i]));
        *o = if from_b { b[j] } else { a[i] };
        i += !from_b as usize;
        j += from_b as usize;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::nest::tests::{Array, Rng, affordable, same_for_all_threads};
    use rustarr_interface::{Bool, Complex32, Complex64, DType, Element, f16};

    /// NumPy's order of complex numbers: by class (no NaN, NaN imaginary part only, NaN real part),
    /// then by the parts that are numbers.
    pub fn complex_less(a: &Complex64, b: &Complex64) -> bool {
        if a.re < b.re {
            !a.im.is_nan() || b.im.is_nan()
        } else if a.re > b.re {
            b.im.is_nan() && !a.im.is_nan()
        } else if a.re == b.re || (a.re.is_nan() && b.re.is_nan()) {
            a.im < b.im || (b.im.is_nan() && !a.im.is_nan())
        } else {
            b.re.is_nan()
        }
    }

    fn check<T: Element>(
        value: impl Fn(&mut Rng) -> T,
        less: impl Fn(&T, &T) -> bool,
        last: impl Fn(&T) -> u8,
    ) {
        let mut rng = Rng(31);
        // For Miri a line that is cut, and a few short ones.
        for round in affordable(0..80, 1..3) {
            let ndim = 1 + rng.below(3);
            let mut shape = rng.shape(ndim, 9);
            let axis = rng.below(ndim);
            match round {
                0 => shape[axis] = 3000,
                1 => (shape, _) = (vec![affordable(200_003, 530)], 0),
                2..10 if !cfg!(miri) => shape[axis] = 250 + rng.below(50),
                _ => {}
            }
            let axis = axis.min(shape.len() - 1);
            let input = rng.array(&shape, &value);
            let values = input.values::<T>();
            let after: usize = shape[axis + 1..].iter().product();
            for descending in [false, true] {
                // What goes before what: unsorted classes stay last when falling.
                let before = |a: &T, b: &T| match last(a).cmp(&last(b)) {
                    std::cmp::Ordering::Equal if descending => less(b, a),
                    std::cmp::Ordering::Equal => less(a, b),
                    order => order.is_lt(),
                };
                let run = |arg: bool| {
                    let dtype = if arg { DType::I64 } else { T::DTYPE };
                    let out = Array::empty(dtype, Rng(round).layout(&shape));
                    let spec = Sort {
                        axis,
                        descending,
                        arg,
                    };
                    same_for_all_threads(|par| {
                        sort(par, spec, input.operand(), out.operand()).unwrap();
                        out.bytes()
                    });
                    out
                };
                let (sorted, order) = (run(false).values::<T>(), run(true).values::<i64>());
                let n = shape[axis];
                for line in 0..values.len().checked_div(n).unwrap_or(0) {
                    let at = |i: usize| (line / after * n + i) * after + line % after;
                    let mut seen = vec![false; n];
                    for i in 0..n {
                        let from = order[at(i)] as usize;
                        assert!(!std::mem::replace(&mut seen[from], true));
                        let (v, w) = (&values[at(from)], &sorted[at(i)]);
                        assert_eq!(bytemuck::bytes_of(v), bytemuck::bytes_of(w));
                        if i > 0 {
                            let u = &sorted[at(i - 1)];
                            assert!(!before(w, u), "{w:?} comes before {u:?}");
                            // Ties keep their order.
                            assert!(before(u, w) || order[at(i - 1)] < order[at(i)]);
                        }
                    }
                }
            }
        }
    }

    const SPECIAL: [f64; 9] = [
        f64::NAN,
        -0.0,
        0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.5,
        -1.5,
        1e-310,
        65504.0,
    ];

    fn float(rng: &mut Rng) -> f64 {
        match rng.below(3) {
            0 => SPECIAL[rng.below(9)],
            1 if rng.below(4) == 0 => -f64::NAN,
            _ => rng.float() * 100.0,
        }
    }

    #[test]
    fn integers() {
        check::<Bool>(|r| Bool(r.below(3) as u8), |a, b| !a.get() & b.get(), |_| 0);
        check::<i8>(|r| r.next() as i8, |a, b| a < b, |_| 0);
        if cfg!(miri) {
            return; // the same code again
        }
        check::<u16>(|r| r.next() as u16, |a, b| a < b, |_| 0);
        check::<i32>(|r| r.next() as i32, |a, b| a < b, |_| 0);
        check::<i64>(|r| r.next() as i64, |a, b| a < b, |_| 0);
        check::<u64>(|r| r.below(50) as u64, |a, b| a < b, |_| 0);
    }

    #[test]
    fn floats() {
        check::<f16>(
            |r| f16::from_f64(float(r)),
            |a, b| a < b,
            |v| v.is_nan() as u8,
        );
        if cfg!(miri) {
            return; // the same code again
        }
        check::<f32>(|r| float(r) as f32, |a, b| a < b, |v| v.is_nan() as u8);
        check::<f64>(float, |a, b| a < b, |v| v.is_nan() as u8);
    }

    #[test]
    fn complex() {
        let class = |z: Complex64| match (z.re.is_nan(), z.im.is_nan()) {
            (false, im) => im as u8,
            (true, im) => 2 + im as u8,
        };
        let small = |r: &mut Rng| SPECIAL[r.below(9)];
        check::<Complex64>(
            |r| Complex64::new(small(r), small(r)),
            complex_less,
            |&z| class(z),
        );
        if cfg!(miri) {
            return; // the same code again
        }
        let wide = |z: &Complex32| Complex64::new(z.re as f64, z.im as f64);
        check::<Complex32>(
            |r| Complex32::new(small(r) as f32, small(r) as f32),
            |a, b| complex_less(&wide(a), &wide(b)),
            |z| class(wide(z)),
        );
    }
}

//! What is done with the values of a chunk: kernels along rows of values and across them, in the order that
//! [`tree`](super::tree) lays down.

use super::tree::LANES;
use pulp::{Arch, Simd, WithSimd};
use std::marker::PhantomData;
use std::slice;

/// Rows of values in memory.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub first: *const u8,
    /// Values from one row to the next.
    pub step: isize,
    pub rows: usize,
    pub cols: usize,
}

impl Rows {
    /// One row.
    ///
    /// # Safety
    /// The rows lie in memory that holds values of `T` and does not change for `'a`, and `r` is one of them.
    #[inline(always)]
    unsafe fn row<'a, T>(&self, r: usize) -> &'a [T] {
        debug_assert!(r < self.rows);
        // SAFETY: the caller's promise.
        unsafe {
            slice::from_raw_parts(
                self.first.cast::<T>().offset(r as isize * self.step),
                self.cols,
            )
        }
    }
}

/// A way to combine values, on memory whose types it knows: the walk through a domain is compiled once for all of them.
///
/// # Safety
/// Callers of all methods give memory that is valid, aligned to 16 and nobody else's: rows of the values' type, `out` and
/// `accs` with room for, or holding, one accumulator per row (`along`) or column, and a `state` of the size asked for.
pub(crate) trait Fold: Sync {
    /// Bytes of what a chunk comes to.
    fn acc_size(&self) -> usize;
    /// Bytes of what is kept while walking across so many chunks that lie side by side.
    fn state_size(&self, width: usize) -> usize;
    /// Combines each row.
    unsafe fn along(&self, rows: Rows, out: *mut u8);
    /// Takes rows `first..` of chunks that are columns; the first call begins with row 0.
    unsafe fn across(&self, first: usize, rows: Rows, state: *mut u8);
    /// What the columns come to after `n` rows.
    unsafe fn across_result(&self, n: usize, width: usize, state: *mut u8, out: *mut u8);
    /// Moves results to chunks that begin at the positions `start`, `start + step`, ...
    unsafe fn place(&self, _accs: *mut u8, _n: usize, _start: i64, _step: i64) {}
    /// Combines `n` results with those on their right.
    unsafe fn join(&self, left: *mut u8, right: *const u8, n: usize);
    /// Whether one of the results is not changed by any other.
    unsafe fn decided(&self, _accs: *const u8, _n: usize) -> bool {
        false
    }
    /// Writes results, `step` elements apart.
    unsafe fn store(&self, accs: *const u8, n: usize, to: *mut u8, step: isize);
    /// Writes results as elements of the output, `step` elements apart.
    unsafe fn finish(&self, accs: *const u8, n: usize, to: *mut u8, step: isize);
}

/// `n` elements.
///
/// # Safety
/// There are so many, of this type.
#[inline(always)]
unsafe fn view<'a, A>(accs: *const u8, n: usize) -> &'a [A] {
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(accs.cast(), n) }
}

/// `n` elements to change.
///
/// # Safety
/// There are so many, of this type, and nobody else uses them.
#[inline(always)]
unsafe fn view_mut<'a, A>(accs: *mut u8, n: usize) -> &'a mut [A] {
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts_mut(accs.cast(), n) }
}

/// Writes elements `step` apart.
///
/// # Safety
/// There is room for all of them.
unsafe fn scatter<R>(elements: impl Iterator<Item = R>, to: *mut u8, step: isize) {
    for (i, x) in elements.enumerate() {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<R>().offset(i as isize * step).write(x) };
    }
}

/// A combination of values by lanes: `into` makes a value an accumulator, `f` combines, `finish` rounds.
pub(crate) struct Lanes<T, A, R, I, F, O> {
    pub into: I,
    pub f: F,
    pub finish: O,
    /// For logical reductions: the value that decides.
    pub decides: fn(A) -> bool,
    pub types: PhantomData<fn(T) -> R>,
}

/// Combines the first `n` lanes.
#[inline(always)]
fn tree<A: Copy>(mut acc: [A; LANES], n: usize, f: impl Fn(A, A) -> A) -> A {
    if n >= LANES {
        // A constant count unrolls.
        for h in [16, 8, 4, 2, 1] {
            for l in 0..h {
                acc[l] = f(acc[l], acc[l + h]);
            }
        }
        return acc[0];
    }
    for h in [16, 8, 4, 2, 1] {
        for l in 0..h {
            if l + h < n {
                acc[l] = f(acc[l], acc[l + h]);
            }
        }
    }
    acc[0]
}

struct Along<'a, T, A, I, F>(Rows, &'a mut [A], &'a I, &'a F, PhantomData<T>);

impl<T: Copy, A: Copy, I: Fn(T) -> A, F: Fn(A, A) -> A> WithSimd for Along<'_, T, A, I, F> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Along(rows, out, into, f, _) = self;
        for (r, out) in out.iter_mut().enumerate() {
            // SAFETY: there is a result per row.
            let row: &[T] = unsafe { rows.row(r) };
            *out = if let Some((first, rest)) = row.split_first_chunk::<LANES>() {
                let mut acc = first.map(into);
                let (body, tail) = rest.as_chunks::<LANES>();
                for values in body {
                    for l in 0..LANES {
                        acc[l] = f(acc[l], into(values[l]));
                    }
                }
                for (acc, &x) in acc.iter_mut().zip(tail) {
                    *acc = f(*acc, into(x));
                }
                tree(acc, LANES, f)
            } else {
                let mut acc = [into(row[0]); LANES];
                for (acc, &x) in acc.iter_mut().zip(row) {
                    *acc = into(x);
                }
                tree(acc, row.len(), f)
            };
        }
    }
}

struct Across<'a, T, A, I, F>(Rows, usize, &'a mut [A], &'a I, &'a F, PhantomData<T>);

impl<T: Copy, A: Copy, I: Fn(T) -> A, F: Fn(A, A) -> A> WithSimd for Across<'_, T, A, I, F> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Across(rows, first, state, into, f, _) = self;
        for r in 0..rows.rows.min(LANES) {
            let (k, mut next) = (first + r, r);
            let lane = &mut state[k % LANES * rows.cols..][..rows.cols];
            if k < LANES {
                // SAFETY: one of the rows.
                let row: &[T] = unsafe { rows.row(r) };
                for (acc, &x) in lane.iter_mut().zip(row) {
                    *acc = into(x);
                }
                next += LANES;
            }
            // A full chunk has 15 more rows for each lane. Several at a time, since the accumulators are further away
            // than registers.
            next = add_rows::<5, T, A>(rows, next, lane, into, f);
            add_rows::<1, T, A>(rows, next, lane, into, f);
        }
    }
}

/// Combines a lane with its rows from row `next` on, in order, `N` at a time as long as there are so many. Returns
/// the first row that is left.
#[inline(always)]
fn add_rows<const N: usize, T: Copy, A: Copy>(
    rows: Rows,
    mut next: usize,
    lane: &mut [A],
    into: &impl Fn(T) -> A,
    f: &impl Fn(A, A) -> A,
) -> usize {
    while next + (N - 1) * LANES < rows.rows {
        // SAFETY: rows up to the last one, whose number is in bounds.
        let several: [&[T]; N] = std::array::from_fn(|i| unsafe { rows.row(next + i * LANES) });
        let several = several.map(|row| &row[..lane.len()]);
        for (i, acc) in lane.iter_mut().enumerate() {
            *acc = several.iter().fold(*acc, |acc, row| f(acc, into(row[i])));
        }
        next += N * LANES;
    }
    next
}

struct Join<'a, A, F>(&'a mut [A], &'a [A], &'a F);

impl<A: Copy, F: Fn(A, A) -> A> WithSimd for Join<'_, A, F> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (a, &b) in self.0.iter_mut().zip(self.1) {
            *a = (self.2)(*a, b);
        }
    }
}

impl<T, A, R, I, F, O> Fold for Lanes<T, A, R, I, F, O>
where
    T: Copy,
    A: Copy,
    I: Fn(T) -> A + Sync,
    F: Fn(A, A) -> A + Sync,
    O: Fn(A) -> R + Sync,
{
    fn acc_size(&self) -> usize {
        size_of::<A>()
    }

    /// A row of accumulators per lane.
    fn state_size(&self, width: usize) -> usize {
        width * LANES * size_of::<A>()
    }

    unsafe fn along(&self, rows: Rows, out: *mut u8) {
        // SAFETY: one result per row, as for all methods.
        let out = unsafe { view_mut(out, rows.rows) };
        Arch::new().dispatch(Along::<T, A, I, F>(
            rows,
            out,
            &self.into,
            &self.f,
            PhantomData,
        ));
    }

    unsafe fn across(&self, first: usize, rows: Rows, state: *mut u8) {
        // SAFETY: the state has the size asked for.
        let state = unsafe { view_mut(state, rows.cols * LANES) };
        Arch::new().dispatch(Across::<T, A, I, F>(
            rows,
            first,
            state,
            &self.into,
            &self.f,
            PhantomData,
        ));
    }

    unsafe fn across_result(&self, n: usize, width: usize, state: *mut u8, out: *mut u8) {
        // SAFETY: the state has the size asked for, and there is a result per column.
        let (state, out) = unsafe {
            (
                view_mut::<A>(state, width * LANES),
                view_mut::<A>(out, width),
            )
        };
        for h in [16, 8, 4, 2, 1] {
            for l in (0..h).filter(|l| l + h < n.min(LANES)) {
                let (left, right) = state.split_at_mut((l + h) * width);
                let (left, right) = (&mut left[l * width..][..width], &right[..width]);
                Arch::new().dispatch(Join(left, right, &self.f));
            }
        }
        out.copy_from_slice(&state[..width]);
    }

    unsafe fn join(&self, left: *mut u8, right: *const u8, n: usize) {
        // SAFETY: so many results on both sides.
        let (left, right) = unsafe { (view_mut::<A>(left, n), view::<A>(right, n)) };
        for (left, &right) in left.iter_mut().zip(right) {
            *left = (self.f)(*left, right);
        }
    }

    unsafe fn decided(&self, accs: *const u8, n: usize) -> bool {
        // SAFETY: so many results.
        unsafe { view(accs, n) }
            .iter()
            .any(|acc| (self.decides)(*acc))
    }

    unsafe fn store(&self, accs: *const u8, n: usize, to: *mut u8, step: isize) {
        // SAFETY: so many results, and room for them.
        unsafe { scatter(view::<A>(accs, n).iter().copied(), to, step) };
    }

    unsafe fn finish(&self, accs: *const u8, n: usize, to: *mut u8, step: isize) {
        // SAFETY: so many results, and room for the elements.
        unsafe {
            scatter(
                view(accs, n).iter().map(|acc| (self.finish)(*acc)),
                to,
                step,
            )
        };
    }
}

/// The position of the best value: `into` makes it comparable, `better(a, b)` says that `b` displaces an earlier `a`.
pub(crate) struct Arg<T, K, I, B> {
    pub into: I,
    pub better: B,
    pub types: PhantomData<fn(T) -> K>,
}

struct ArgAcross<'a, T, K, I, B>(
    Rows,
    i64,
    &'a mut [K],
    &'a mut [i64],
    &'a I,
    &'a B,
    PhantomData<T>,
);

impl<T: Copy, K: Copy, I: Fn(T) -> K, B: Fn(K, K) -> bool> WithSimd for ArgAcross<'_, T, K, I, B> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let ArgAcross(rows, first, keys, places, into, better, _) = self;
        for r in 0..rows.rows {
            let place = first + r as i64;
            // SAFETY: one of the rows.
            let row: &[T] = unsafe { rows.row(r) };
            for ((key, at), &x) in keys.iter_mut().zip(places.iter_mut()).zip(row) {
                let x = into(x);
                let take = (place == 0) | better(*key, x);
                *key = if take { x } else { *key };
                *at = if take { place } else { *at };
            }
        }
    }
}

fn best<T: Copy, K: Copy>(row: Rows, into: &impl Fn(T) -> K, f: impl Fn(K, K) -> K) -> K {
    // SAFETY: the row has at least one value.
    let mut key = [into(unsafe { row.row(0) }[0])];
    Arch::new().dispatch(Along(row, &mut key, into, &f, PhantomData));
    key[0]
}

impl<T, K, I, B> Fold for Arg<T, K, I, B>
where
    T: Copy,
    K: Copy,
    I: Fn(T) -> K + Sync,
    B: Fn(K, K) -> bool + Sync,
{
    fn acc_size(&self) -> usize {
        size_of::<(K, i64)>()
    }

    /// A row of positions, then one of the values there.
    fn state_size(&self, width: usize) -> usize {
        width * (size_of::<i64>() + size_of::<K>())
    }

    unsafe fn along(&self, rows: Rows, out: *mut u8) {
        // SAFETY: one result per row, as for all methods.
        let out = unsafe { view_mut::<(K, i64)>(out, rows.rows) };
        for (r, out) in out.iter_mut().enumerate() {
            // SAFETY: one of the rows.
            let row: &[T] = unsafe { rows.row(r) };
            let one = Rows {
                first: row.as_ptr().cast(),
                rows: 1,
                ..rows
            };
            let key = best(
                one,
                &self.into,
                #[inline(always)]
                |a, b| if (self.better)(a, b) { b } else { a },
            );
            // The first value that the best one does not displace is as good.
            let as_good = |&x: &T| !(self.better)((self.into)(x), key);
            *out = (key, row.iter().position(as_good).unwrap_or(0) as i64);
        }
    }

    unsafe fn across(&self, first: usize, rows: Rows, state: *mut u8) {
        // SAFETY: the state has the size asked for: positions, then values.
        let (places, keys) = unsafe {
            let keys = state.add(rows.cols * size_of::<i64>());
            (view_mut(state, rows.cols), view_mut::<K>(keys, rows.cols))
        };
        let across = ArgAcross::<T, _, _, _>(
            rows,
            first as i64,
            keys,
            places,
            &self.into,
            &self.better,
            PhantomData,
        );
        Arch::new().dispatch(across);
    }

    unsafe fn across_result(&self, _n: usize, width: usize, state: *mut u8, out: *mut u8) {
        // SAFETY: as in `across`; there is a result per column.
        unsafe {
            let keys = view::<K>(state.add(width * size_of::<i64>()), width);
            let pairs = keys
                .iter()
                .copied()
                .zip(view::<i64>(state, width).iter().copied());
            scatter(pairs, out, 1);
        }
    }

    unsafe fn place(&self, accs: *mut u8, n: usize, start: i64, step: i64) {
        // SAFETY: so many results.
        for (i, acc) in unsafe { view_mut::<(K, i64)>(accs, n) }
            .iter_mut()
            .enumerate()
        {
            acc.1 += start + i as i64 * step;
        }
    }

    unsafe fn join(&self, left: *mut u8, right: *const u8, n: usize) {
        // SAFETY: so many results on both sides.
        let (left, right) = unsafe { (view_mut::<(K, i64)>(left, n), view::<(K, i64)>(right, n)) };
        for (left, &right) in left.iter_mut().zip(right) {
            if (self.better)(left.0, right.0) {
                *left = right;
            }
        }
    }

    unsafe fn store(&self, accs: *const u8, n: usize, to: *mut u8, step: isize) {
        // SAFETY: so many results, and room for them.
        unsafe { scatter(view::<(K, i64)>(accs, n).iter().copied(), to, step) };
    }

    unsafe fn finish(&self, accs: *const u8, n: usize, to: *mut u8, step: isize) {
        // SAFETY: so many results, and room for the positions.
        unsafe { scatter(view::<(K, i64)>(accs, n).iter().map(|acc| acc.1), to, step) };
    }
}

//! What is done with the values of a chunk: kernels along rows of values and across them, in the order that
//! [`tree`](super::tree) lays down.

use super::tree::LANES;
use pulp::{Arch, Simd, WithSimd};
use std::marker::PhantomData;

/// Rows of values in memory.
pub(crate) struct Rows<'a, T> {
    first: *const T,
    step: isize,
    rows: usize,
    cols: usize,
    _values: PhantomData<&'a [T]>,
}

impl<'a, T> Rows<'a, T> {
    /// `rows` rows of `cols` values, `step` values from one to the next.
    ///
    /// # Safety
    /// All rows lie in memory that is valid, aligned and unchanged for `'a`.
    pub unsafe fn new(first: *const T, step: isize, rows: usize, cols: usize) -> Self {
        Rows {
            first,
            step,
            rows,
            cols,
            _values: PhantomData,
        }
    }

    #[inline(always)]
    fn row(&self, r: usize) -> &'a [T] {
        debug_assert!(r < self.rows);
        // SAFETY: promised to `new` for every row.
        unsafe { std::slice::from_raw_parts(self.first.offset(r as isize * self.step), self.cols) }
    }
}

/// A way to combine values.
pub(crate) trait Fold: Sync {
    /// The program's value.
    type Value: Copy;
    /// What a chunk comes to.
    type Acc: Copy + Send + Sync;
    /// What is kept while walking across chunks that lie side by side.
    type State: Default;
    /// An element of the output.
    type Result: Copy;

    /// Combines each row.
    fn along(&self, rows: Rows<'_, Self::Value>, out: &mut [Self::Acc]);
    /// Takes rows `first..` of chunks that are columns.
    fn across(&self, state: &mut Self::State, first: usize, rows: Rows<'_, Self::Value>);
    /// What the columns come to after `n` rows.
    fn across_result(&self, state: &mut Self::State, n: usize, out: &mut [Self::Acc]);
    /// Combines what two chunks came to.
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc;
    /// The result for a chunk that begins at this position.
    fn placed(&self, acc: Self::Acc, _start: i64) -> Self::Acc {
        acc
    }
    /// Any value, for memory that is written before it is read; where chunks may be left out, the identity.
    fn filler(&self) -> Self::Acc;
    /// Whether nothing can change this any more.
    fn decides(&self, _acc: Self::Acc) -> bool {
        false
    }
    /// The output's element.
    fn finish(&self, acc: Self::Acc) -> Self::Result;
}

/// A combination of values by lanes: `into` makes a value an accumulator, `f` combines, `finish` rounds.
pub(crate) struct Lanes<T, A, R, I, F, O> {
    pub into: I,
    pub f: F,
    pub finish: O,
    pub filler: A,
    /// For logical reductions: the value that decides.
    pub decides: fn(A) -> bool,
    pub types: PhantomData<fn(T) -> R>,
}

/// Combines the first `n` lanes.
#[inline(always)]
fn tree<A: Copy>(mut acc: [A; LANES], n: usize, f: impl Fn(A, A) -> A) -> A {
    if n >= LANES {
        // A constant count unrolls.
        for h in [8, 4, 2, 1] {
            for l in 0..h {
                acc[l] = f(acc[l], acc[l + h]);
            }
        }
        return acc[0];
    }
    for h in [8, 4, 2, 1] {
        for l in 0..h {
            if l + h < n {
                acc[l] = f(acc[l], acc[l + h]);
            }
        }
    }
    acc[0]
}

struct Along<'a, T, A, I, F>(Rows<'a, T>, &'a mut [A], &'a I, &'a F);

impl<T: Copy, A: Copy, I: Fn(T) -> A, F: Fn(A, A) -> A> WithSimd for Along<'_, T, A, I, F> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Along(rows, out, into, f) = self;
        for (r, out) in out.iter_mut().enumerate() {
            let row = rows.row(r);
            *out = if let Some((first, rest)) = row.split_first_chunk::<LANES>() {
                let mut acc = first.map(
                    #[inline(always)]
                    |x| into(x),
                );
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

struct Across<'a, T, A, I, F>(Rows<'a, T>, usize, &'a mut Vec<A>, &'a I, &'a F);

impl<T: Copy, A: Copy, I: Fn(T) -> A, F: Fn(A, A) -> A> WithSimd for Across<'_, T, A, I, F> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Across(rows, first, state, into, f) = self;
        let width = rows.cols;
        for r in 0..rows.rows {
            let row = rows.row(r);
            match first + r {
                k @ 0..LANES => {
                    state.truncate(k * width);
                    state.extend(row.iter().map(
                        #[inline(always)]
                        |&x| into(x),
                    ));
                }
                k => {
                    let acc = &mut state[k % LANES * width..][..width];
                    for (acc, &x) in acc.iter_mut().zip(row) {
                        *acc = f(*acc, into(x));
                    }
                }
            }
        }
    }
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
    A: Copy + Send + Sync,
    R: Copy,
    I: Fn(T) -> A + Sync,
    F: Fn(A, A) -> A + Sync,
    O: Fn(A) -> R + Sync,
{
    type Value = T;
    type Acc = A;
    /// A row of accumulators per lane.
    type State = Vec<A>;
    type Result = R;

    fn along(&self, rows: Rows<'_, T>, out: &mut [A]) {
        Arch::new().dispatch(Along(rows, out, &self.into, &self.f));
    }

    fn across(&self, state: &mut Vec<A>, first: usize, rows: Rows<'_, T>) {
        Arch::new().dispatch(Across(rows, first, state, &self.into, &self.f));
    }

    fn across_result(&self, state: &mut Vec<A>, n: usize, out: &mut [A]) {
        let width = out.len();
        for h in [8, 4, 2, 1] {
            for l in 0..h {
                if l + h < n.min(LANES) {
                    let (left, right) = state.split_at_mut((l + h) * width);
                    let (left, right) = (&mut left[l * width..][..width], &right[..width]);
                    Arch::new().dispatch(Join(left, right, &self.f));
                }
            }
        }
        out.copy_from_slice(&state[..width]);
    }

    fn combine(&self, left: A, right: A) -> A {
        (self.f)(left, right)
    }

    fn filler(&self) -> A {
        self.filler
    }

    fn decides(&self, acc: A) -> bool {
        (self.decides)(acc)
    }

    fn finish(&self, acc: A) -> R {
        (self.finish)(acc)
    }
}

/// The position of the best value: `into` makes it comparable, `better(a, b)` says that `b` displaces an earlier `a`.
pub(crate) struct Arg<T, K, I, B> {
    pub into: I,
    pub better: B,
    pub types: PhantomData<fn(T) -> K>,
    pub filler: K,
}

struct ArgAcross<'a, T, K, I, B>(Rows<'a, T>, i64, &'a mut [K], &'a mut [i64], &'a I, &'a B);

impl<T: Copy, K: Copy, I: Fn(T) -> K, B: Fn(K, K) -> bool> WithSimd for ArgAcross<'_, T, K, I, B> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let ArgAcross(rows, first, keys, places, into, better) = self;
        for r in 0..rows.rows {
            let place = first + r as i64;
            for ((key, at), &x) in keys.iter_mut().zip(places.iter_mut()).zip(rows.row(r)) {
                let x = into(x);
                let take = better(*key, x);
                *key = if take { x } else { *key };
                *at = if take { place } else { *at };
            }
        }
    }
}

fn best<T: Copy, K: Copy>(
    rows: Rows<'_, T>,
    out: &mut [K],
    into: &impl Fn(T) -> K,
    f: impl Fn(K, K) -> K,
) {
    Arch::new().dispatch(Along(rows, out, into, &f));
}

impl<T, K, I, B> Fold for Arg<T, K, I, B>
where
    T: Copy,
    K: Copy + Send + Sync,
    I: Fn(T) -> K + Sync,
    B: Fn(K, K) -> bool + Sync,
{
    type Value = T;
    type Acc = (K, i64);
    type State = (Vec<K>, Vec<i64>);
    type Result = i64;

    fn along(&self, rows: Rows<'_, T>, out: &mut [(K, i64)]) {
        for (r, out) in out.iter_mut().enumerate() {
            let row = rows.row(r);
            let mut key = [self.filler];
            // SAFETY: one row of the rows at hand.
            let one = unsafe { Rows::new(row.as_ptr(), 0, 1, row.len()) };
            best(
                one,
                &mut key,
                &self.into,
                #[inline(always)]
                |a, b| if (self.better)(a, b) { b } else { a },
            );
            // The first value that the best one does not displace is as good.
            let as_good = |&x: &T| !(self.better)((self.into)(x), key[0]);
            *out = (key[0], row.iter().position(as_good).unwrap_or(0) as i64);
        }
    }

    fn across(&self, (keys, places): &mut Self::State, first: usize, rows: Rows<'_, T>) {
        if first == 0 {
            keys.clear();
            keys.extend(rows.row(0).iter().map(|&x| (self.into)(x)));
            places.clear();
            places.resize(rows.cols, 0);
        }
        Arch::new().dispatch(ArgAcross(
            rows,
            first as i64,
            keys,
            places,
            &self.into,
            &self.better,
        ));
    }

    fn across_result(&self, (keys, places): &mut Self::State, _n: usize, out: &mut [(K, i64)]) {
        for ((out, &key), &place) in out.iter_mut().zip(&*keys).zip(&*places) {
            *out = (key, place);
        }
    }

    fn combine(&self, left: (K, i64), right: (K, i64)) -> (K, i64) {
        if (self.better)(left.0, right.0) {
            right
        } else {
            left
        }
    }

    fn placed(&self, (key, place): (K, i64), start: i64) -> (K, i64) {
        (key, place + start)
    }

    fn filler(&self) -> (K, i64) {
        (self.filler, 0)
    }

    fn finish(&self, acc: (K, i64)) -> i64 {
        acc.1
    }
}

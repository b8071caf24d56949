//! Unit-stride loops, compiled once per instruction set and chosen at run time.
//!
//! The functions handed in are closures marked `#[inline(always)]`, so that their bodies become part of the
//! loop and are vectorised with it. A loop's tail runs the same operations as its body, which are all
//! correctly rounded: an element's value never depends on its place in a block.

use pulp::{Arch, Simd, WithSimd};
use std::slice;

struct Map1<'a, A, R, F>(&'a [A], &'a mut [R], F);
struct Map2<'a, A, B, R, F>(&'a [A], &'a [B], &'a mut [R], F);
struct Map3<'a, A, B, C, R, F>(&'a [A], &'a [B], &'a [C], &'a mut [R], F);
struct Patch1<'a, A, R, G, F>(&'a [A], &'a mut [R], G, F);
struct Patch2<'a, A, R, G, F>(&'a [A], &'a [A], &'a mut [R], G, F);

impl<A: Copy, R, F: Fn(A) -> R> WithSimd for Map1<'_, A, R, F> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Map1(a, out, f) = self;
        for (out, &a) in out.iter_mut().zip(a) {
            *out = f(a);
        }
    }
}

impl<A: Copy, B: Copy, R, F: Fn(A, B) -> R> WithSimd for Map2<'_, A, B, R, F> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Map2(a, b, out, f) = self;
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = f(a, b);
        }
    }
}

impl<A: Copy, B: Copy, C: Copy, R, F: Fn(A, B, C) -> R> WithSimd for Map3<'_, A, B, C, R, F> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Map3(a, b, c, out, f) = self;
        for (((out, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *out = f(a, b, c);
        }
    }
}

impl<A: Copy, R: Copy, G: Fn(A, R) -> bool, F: Fn(A) -> R> WithSimd for Patch1<'_, A, R, G, F> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Patch1(a, out, good, f) = self;
        // Most blocks pass the test, which is vectorised.
        if out
            .iter()
            .zip(a)
            .fold(true, |all, (&y, &a)| all & good(a, y))
        {
            return;
        }
        for (out, &a) in out.iter_mut().zip(a) {
            if !good(a, *out) {
                *out = f(a);
            }
        }
    }
}

impl<A: Copy, R: Copy, G: Fn(A, A, R) -> bool, F: Fn(A, A) -> R> WithSimd
    for Patch2<'_, A, R, G, F>
{
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Patch2(a, b, out, good, f) = self;
        let results = out.iter().zip(a).zip(b);
        if results.fold(true, |all, ((&y, &a), &b)| all & good(a, b, y)) {
            return;
        }
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            if !good(a, b, *out) {
                *out = f(a, b);
            }
        }
    }
}

/// The operands of one instruction for one block: up to three argument blocks and the block of
/// results, of `n` elements each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    args: [*const u8; 3],
    out: *mut u8,
    n: usize,
}

impl Block {
    /// A block of `n` elements.
    ///
    /// # Safety
    /// For every use of the block with `n > 0`, each argument that the use reads must point at `n` initialised
    /// elements of the type it is read as, `out` at room for `n` elements of the result's type, all aligned;
    /// `out` must overlap no argument, and nobody else may write any of them meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn new(args: [*const u8; 3], out: *mut u8, n: usize) -> Block {
        Block { args, out, n }
    }

    /// How many elements.
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.n
    }

    /// The block's elements from `start` on, at most `len`, with arguments and results of the given sizes.
    #[inline(always)]
    pub(crate) fn part(self, start: usize, len: usize, size: usize, out_size: usize) -> Block {
        let skip = |p: *const u8| p.wrapping_add(start * size);
        Block {
            args: self.args.map(skip),
            out: self.out.wrapping_add(start * out_size),
            n: len.min(self.n - start),
        }
    }

    /// The block with its first two arguments exchanged.
    #[inline(always)]
    pub(crate) fn swapped(self) -> Block {
        let [a, b, c] = self.args;
        Block {
            args: [b, a, c],
            ..self
        }
    }

    /// Argument `k`.
    #[inline(always)]
    pub(crate) fn arg<'a, A: Copy>(self, k: usize) -> &'a [A] {
        // SAFETY: `new` promises `n` elements of the type that the argument is read as, unchanged meanwhile.
        unsafe { slice::from_raw_parts(self.args[k].cast(), self.n) }
    }

    /// The results.
    #[inline(always)]
    pub(crate) fn out<'a, R: Copy>(self) -> &'a mut [R] {
        // SAFETY: `new` promises room for `n` elements that nobody else uses; every caller here makes one slice at a
        // time, and all element types are plain data, for which any bits are a value.
        unsafe { slice::from_raw_parts_mut(self.out.cast(), self.n) }
    }

    #[inline(always)]
    pub(crate) fn map1<A: Copy, R: Copy>(self, f: impl Fn(A) -> R) {
        Arch::new().dispatch(Map1(self.arg::<A>(0), self.out::<R>(), f));
    }

    #[inline(always)]
    pub(crate) fn map2<A: Copy, B: Copy, R: Copy>(self, f: impl Fn(A, B) -> R) {
        Arch::new().dispatch(Map2(self.arg::<A>(0), self.arg::<B>(1), self.out::<R>(), f));
    }

    #[inline(always)]
    pub(crate) fn map3<A: Copy, B: Copy, C: Copy, R: Copy>(self, f: impl Fn(A, B, C) -> R) {
        let (a, b, c) = (self.arg::<A>(0), self.arg::<B>(1), self.arg::<C>(2));
        Arch::new().dispatch(Map3(a, b, c, self.out::<R>(), f));
    }

    /// Computes with `f` the results anew for which `good` of the argument and the result does not hold.
    #[inline(always)]
    pub(crate) fn patch1<A: Copy, R: Copy>(self, good: impl Fn(A, R) -> bool, f: impl Fn(A) -> R) {
        Arch::new().dispatch(Patch1(self.arg::<A>(0), self.out::<R>(), good, f));
    }

    /// The same for two arguments.
    #[inline(always)]
    pub(crate) fn patch2<A: Copy, R: Copy>(
        self,
        good: impl Fn(A, A, R) -> bool,
        f: impl Fn(A, A) -> R,
    ) {
        Arch::new().dispatch(Patch2(
            self.arg::<A>(0),
            self.arg::<A>(1),
            self.out::<R>(),
            good,
            f,
        ));
    }
}

/// `f` of every element of `a`, for callers with slices.
#[inline(always)]
pub(crate) fn map<A: Copy, R: Copy>(a: &[A], out: &mut [R], f: impl Fn(A) -> R) {
    debug_assert_eq!(a.len(), out.len());
    Arch::new().dispatch(Map1(a, out, f));
}

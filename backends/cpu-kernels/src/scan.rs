//! Cumulative sums and products.
//!
//! A line of `n` values is cut into blocks of [`BLOCK`] values. Within a block the accumulation runs from left to right;
//! the results of whole blocks are accumulated from left to right too, and what came before a block is combined with each
//! of its values in the end. So the order of operations depends on `n` alone, and blocks can be done by different threads.

use crate::interp::half::{narrow, widen};
use crate::interp::machine::address;
use crate::maths;
use crate::par::Par;
use crate::tasks;
use pulp::{Arch, Simd, WithSimd};
use rustarr_interface::{DType, Error, Operand, Result, Scan, ScanKind, dispatch, f16};

/// Values of a block along the scanned axis.
const BLOCK: usize = 4096;
/// Blocks between two questions whether to stop.
const POLL: usize = 64;
/// Lines that are walked side by side.
const SIDE: usize = 64;

/// Accumulates along one axis; input and output have one shape and dtype.
///
/// # Errors
/// `Interrupted` if the user asked to stop; `Backend` for a fault of a kernel, or a dtype without such a scan.
pub fn scan(
    par: Par<'_>,
    grain: usize,
    scan: Scan,
    input: Operand<'_>,
    output: Operand<'_>,
) -> Result<()> {
    let dtype = input.dtype;
    let illegal = || {
        Err(Error::backend(
            "scan",
            format!("{:?} of {dtype} passed the front end", scan.kind),
        ))
    };
    let lines = Lines::new(grain, scan.axis, input, output);
    macro_rules! go {
        ($T:ty, |$a:ident, $b:ident| $e:expr) => {
            run(
                par,
                &lines,
                |x: $T| x,
                #[inline(always)]
                |$a: $T, $b: $T| $e,
                |x: $T| x,
            )
        };
    }
    macro_rules! half {
        (|$a:ident, $b:ident| $e:expr) => {
            run(
                par,
                &lines,
                |x: f16| widen(x),
                #[inline(always)]
                |$a: f32, $b: f32| $e,
                narrow,
            )
        };
    }
    match (scan.kind, dtype) {
        (ScanKind::Sum, DType::F16) => half!(|a, b| a + b),
        (ScanKind::Prod, DType::F16) => half!(|a, b| a * b),
        (ScanKind::Sum, DType::F32) => go!(f32, |a, b| a + b),
        (ScanKind::Prod, DType::F32) => go!(f32, |a, b| a * b),
        (ScanKind::Sum, DType::F64) => go!(f64, |a, b| a + b),
        (ScanKind::Prod, DType::F64) => go!(f64, |a, b| a * b),
        (ScanKind::Sum, DType::C64 | DType::C128) => {
            dispatch!(complex, dtype, T => go!(T, |a, b| a + b), else illegal())
        }
        (ScanKind::Prod, DType::C64 | DType::C128) => {
            dispatch!(complex, dtype, T => go!(T, |a, b| maths::complex::multiply(a, b)), else illegal())
        }
        (ScanKind::Sum, int) => {
            dispatch!(int, int, T => go!(T, |a, b| a.wrapping_add(b)), else illegal())
        }
        (ScanKind::Prod, int) => {
            dispatch!(int, int, T => go!(T, |a, b| a.wrapping_mul(b)), else illegal())
        }
    }
}

/// The lines along the axis, in groups of neighbours.
struct Lines<'a> {
    input: Operand<'a>,
    output: Operand<'a>,
    from: *mut u8,
    to: *mut u8,
    axis: usize,
    /// The axis whose neighbours are walked side by side.
    side: Option<usize>,
    /// Values of a line, and lines.
    n: usize,
    lines: usize,
    grain: usize,
}

// SAFETY: tasks read the input and write different elements of the output.
unsafe impl Sync for Lines<'_> {}

/// A group of lines: the offsets of its first, and how many there are.
#[derive(Clone, Copy)]
struct Group {
    from: isize,
    to: isize,
    width: usize,
}

impl<'a> Lines<'a> {
    fn new(grain: usize, axis: usize, input: Operand<'a>, output: Operand<'a>) -> Self {
        let shape = input.layout.shape();
        let n = shape[axis];
        // Side by side pays where neighbours share cache lines and the values of a line do not.
        let near = |a: usize| {
            (
                output.layout.strides()[a].unsigned_abs(),
                input.layout.strides()[a].unsigned_abs(),
            )
        };
        let side = (0..shape.len())
            .filter(|&a| a != axis && shape[a] > 1)
            .min_by_key(|&a| near(a))
            .filter(|&a| near(a) < near(axis));
        Lines {
            input,
            output,
            from: address(&input),
            to: address(&output),
            axis,
            side,
            n,
            lines: input.layout.size() / n.max(1),
            grain,
        }
    }

    fn steps(&self, axis: usize) -> (isize, isize) {
        (
            self.input.layout.strides()[axis],
            self.output.layout.strides()[axis],
        )
    }

    fn side_len(&self) -> usize {
        self.side.map_or(1, |a| self.input.layout.shape()[a])
    }

    /// Groups along the side axis.
    fn per_side(&self) -> usize {
        self.side_len().div_ceil(SIDE)
    }

    fn groups(&self) -> usize {
        self.lines / self.side_len().max(1) * self.per_side()
    }

    fn group(&self, index: usize) -> Group {
        let (mut outer, part) = (index / self.per_side(), index % self.per_side());
        let start = part * SIDE;
        let mut group = Group {
            from: 0,
            to: 0,
            width: SIDE.min(self.side_len() - start),
        };
        let mut go = |axis: usize, i: usize| {
            let (from, to) = self.steps(axis);
            group.from += i as isize * from;
            group.to += i as isize * to;
        };
        if let Some(side) = self.side {
            go(side, start);
        }
        for (axis, &dim) in self.input.layout.shape().iter().enumerate().rev() {
            if axis != self.axis && Some(axis) != self.side {
                go(axis, outer % dim);
                outer /= dim;
            }
        }
        group
    }
}

/// One block of a group of lines.
struct Block<'a, T, A, I, F, O> {
    from: *const T,
    to: *mut T,
    len: usize,
    /// Steps from value to value, and from line to line.
    along: (isize, isize),
    aside: (isize, isize),
    /// Per line, what its block comes to.
    local: &'a mut [A],
    /// Per line, what came before, if anything did.
    before: Option<&'a [A]>,
    into: &'a I,
    f: &'a F,
    finish: &'a O,
}

impl<T: Copy, A: Copy, I: Fn(T) -> A, F: Fn(A, A) -> A, O: Fn(A) -> T> WithSimd
    for Block<'_, T, A, I, F, O>
{
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (width, aside) = (self.local.len(), self.aside);
        match aside {
            _ if width == 1 => self.line(),
            // Constant steps, so that the loop over the lines is vectorised.
            (1, 1) => self.lines((1, 1), width),
            _ => self.lines(aside, width),
        }
    }
}

impl<T: Copy, A: Copy, I: Fn(T) -> A, F: Fn(A, A) -> A, O: Fn(A) -> T> Block<'_, T, A, I, F, O> {
    /// A single line: the accumulator stays in a register.
    #[inline(always)]
    fn line(self) {
        let (into, f, finish) = (self.into, self.f, self.finish);
        // SAFETY: the block lies within the input's and the output's layout.
        let read = |k: usize| into(unsafe { *self.from.offset(k as isize * self.along.0) });
        // SAFETY: as above.
        let write =
            |k: usize, a: A| unsafe { *self.to.offset(k as isize * self.along.1) = finish(a) };
        let mut acc = read(0);
        let before = self.before.map(|b| b[0]);
        write(0, before.map_or(acc, |b| f(b, acc)));
        for k in 1..self.len {
            acc = f(acc, read(k));
            write(k, before.map_or(acc, |b| f(b, acc)));
        }
        self.local[0] = acc;
    }

    /// Lines side by side.
    #[inline(always)]
    fn lines(self, aside: (isize, isize), width: usize) {
        let (into, f, finish) = (self.into, self.f, self.finish);
        for k in 0..self.len as isize {
            let (from, to) = (
                self.from.wrapping_offset(k * self.along.0),
                self.to.wrapping_offset(k * self.along.1),
            );
            for w in 0..width {
                // SAFETY: the block lies within the input's and the output's layout.
                let x = into(unsafe { *from.offset(w as isize * aside.0) });
                let acc = if k == 0 { x } else { f(self.local[w], x) };
                self.local[w] = acc;
                let all = self.before.map_or(acc, |before| f(before[w], acc));
                // SAFETY: as above.
                unsafe { *to.offset(w as isize * aside.1) = finish(all) };
            }
        }
    }
}

fn run<T, A>(
    par: Par<'_>,
    lines: &Lines<'_>,
    into: impl Fn(T) -> A + Sync,
    f: impl Fn(A, A) -> A + Sync,
    finish: impl Fn(A) -> T + Sync,
) -> Result<()>
where
    T: Copy,
    A: Copy + Send + Sync,
{
    if lines.n == 0 || lines.lines == 0 {
        return Ok(());
    }
    let along = lines.steps(lines.axis);
    let aside = lines.side.map_or((0, 0), |a| lines.steps(a));
    // SAFETY: the first value lies within the input.
    let filler = into(unsafe { *lines.from.cast::<T>() });
    let block = |group: Group, start: usize, local: &mut [A], before: Option<&[A]>| {
        let (from, to) = (
            group.from + start as isize * along.0,
            group.to + start as isize * along.1,
        );
        let block = Block {
            from: lines.from.cast::<T>().wrapping_offset(from).cast_const(),
            to: lines.to.cast::<T>().wrapping_offset(to),
            len: BLOCK.min(lines.n - start),
            along,
            aside,
            local: &mut local[..group.width],
            before: before.map(|b| &b[..group.width]),
            into: &into,
            f: &f,
            finish: &finish,
        };
        Arch::new().dispatch(block);
    };
    let blocks = lines.n.div_ceil(BLOCK);
    let groups = lines.groups();
    if blocks == 1 || groups >= par.threads() || par.threads() == 1 {
        // Whole lines per task.
        let per_task = (lines.grain / (lines.n * lines.side_len().min(SIDE))).max(1);
        let scratch = || (vec![filler; SIDE], vec![filler; SIDE]);
        return tasks::run_until(
            par,
            "scan",
            groups.div_ceil(per_task),
            scratch,
            |(local, before), task, stopped| {
                for index in task * per_task..groups.min((task + 1) * per_task) {
                    let group = lines.group(index);
                    for b in 0..blocks {
                        // A line may be as long as the array.
                        if b % POLL == POLL - 1 && stopped() {
                            return;
                        }
                        let carry = (b > 0).then_some(&before[..]);
                        block(group, b * BLOCK, local, carry);
                        for (before, &local) in before.iter_mut().zip(&*local) {
                            *before = if b == 0 { local } else { f(*before, local) };
                        }
                    }
                }
            },
        );
    }
    // Few long lines: totals of all blocks, what comes before each, then the blocks.
    let mut totals = vec![filler; groups * blocks * SIDE];
    let cells = Cells(totals.as_mut_ptr());
    let total = |task: usize| {
        let (group, start) = (lines.group(task / blocks), task % blocks * BLOCK);
        // SAFETY: every task has its own totals.
        let out = unsafe { cells.row(task) };
        for (w, out) in out[..group.width].iter_mut().enumerate() {
            let first = group.from + start as isize * along.0 + w as isize * aside.0;
            for k in 0..BLOCK.min(lines.n - start) as isize {
                // SAFETY: the block lies within the input.
                let x = into(unsafe { *lines.from.cast::<T>().offset(first + k * along.0) });
                *out = if k == 0 { x } else { f(*out, x) };
            }
        }
    };
    tasks::run(par, "scan", groups * blocks, || (), |(), task| total(task))?;
    for group in totals.chunks_exact_mut(blocks * SIDE) {
        for b in 1..blocks {
            for w in 0..SIDE {
                group[b * SIDE + w] = f(group[(b - 1) * SIDE + w], group[b * SIDE + w]);
            }
        }
    }
    tasks::run(
        par,
        "scan",
        groups * blocks,
        || vec![filler; SIDE],
        |local, task| {
            let (group, b) = (task / blocks, task % blocks);
            let before = (b > 0).then(|| &totals[(task - 1) * SIDE..task * SIDE]);
            block(lines.group(group), b * BLOCK, local, before);
        },
    )
}

/// Rows of accumulators that tasks write, each its own.
struct Cells<A>(*mut A);

// SAFETY: see `row`.
unsafe impl<A: Send> Sync for Cells<A> {}

impl<A> Cells<A> {
    /// # Safety
    /// The row exists, and nobody else uses it.
    #[allow(clippy::mut_from_ref)]
    unsafe fn row(&self, n: usize) -> &mut [A] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(n * SIDE), SIDE) }
    }
}

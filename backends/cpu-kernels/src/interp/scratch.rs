//! Working memory of a thread, kept between calls: small calls never allocate.

use std::cell::Cell;
use std::mem;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// What a thread keeps at most, in lines.
const KEPT: usize = 1 << 14;

thread_local! {
    static LINES: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Memory that is given back to the thread when dropped.
pub(crate) struct Scratch(Vec<Line>);

impl Scratch {
    /// At least `bytes` bytes of any content, at a multiple of 64.
    pub(crate) fn new(bytes: usize) -> Scratch {
        let mut lines = LINES.try_with(Cell::take).unwrap_or_default();
        let needed = bytes.div_ceil(64);
        if lines.len() < needed {
            lines.resize(needed, Line([0; 64]));
        }
        Scratch(lines)
    }

    /// The first byte.
    #[inline]
    pub(crate) fn ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let lines = mem::take(&mut self.0);
        if lines.len() <= KEPT {
            // The thread may be ending, and then keeps nothing.
            let _ = LINES.try_with(|kept| kept.set(lines));
        }
    }
}

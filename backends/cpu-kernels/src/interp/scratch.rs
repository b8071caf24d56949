//! Working memory of a thread, kept between calls: small calls never allocate.

use std::cell::RefCell;
use std::mem;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// What a thread keeps at most: so many pieces of memory, of so many lines each.
const PIECES: usize = 4;
const LINES: usize = 1 << 14;

thread_local! {
    static KEPT: RefCell<Vec<Vec<Line>>> = const { RefCell::new(Vec::new()) };
}

/// Memory that is given back to the thread when dropped.
pub(crate) struct Scratch(Vec<Line>);

impl Scratch {
    /// At least `bytes` bytes of any content, at a multiple of 64.
    pub(crate) fn new(bytes: usize) -> Scratch {
        if bytes == 0 {
            return Scratch(Vec::new());
        }
        // A thread that is ending keeps nothing.
        let kept = KEPT.try_with(|kept| kept.borrow_mut().pop());
        let mut lines = kept.ok().flatten().unwrap_or_default();
        let needed = bytes.div_ceil(64);
        if lines.len() < needed {
            lines.resize(needed, Line([0; 64]));
        }
        Scratch(lines)
    }

    /// At least `bytes` zero bytes, at a multiple of 64; `None` if there is no such memory.
    pub(crate) fn zeroed(bytes: usize) -> Option<Scratch> {
        let lines = bytes.div_ceil(64);
        // Asked first, because the macro would end the process.
        Vec::<Line>::new().try_reserve_exact(lines).ok()?;
        Some(Scratch(vec![Line([0; 64]); lines]))
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
        if !lines.is_empty() && lines.len() <= LINES {
            let _ = KEPT.try_with(|kept| {
                let mut kept = kept.borrow_mut();
                if kept.len() < PIECES {
                    kept.push(lines);
                }
            });
        }
    }
}

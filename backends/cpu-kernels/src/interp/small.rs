//! Programs over few elements that lie densely: one block on the stack, nothing to plan.

use super::machine::{address, compute, fill, is_constant};
use rustarr_interface::{Args, Code, Program, Slot};
use std::mem::MaybeUninit;
use std::ptr;

/// Most elements and instructions.
pub(crate) const ELEMENTS: usize = 512;
const INSTRS: usize = 16;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Room for values, and where they are.
pub(crate) struct Small {
    lines: [MaybeUninit<Line>; 64],
    used: usize,
    values: [*const u8; INSTRS],
}

impl Small {
    #[inline(always)]
    pub fn new() -> Small {
        Small {
            lines: [MaybeUninit::uninit(); 64],
            used: 0,
            values: [ptr::null(); INSTRS],
        }
    }

    /// Room for so many bytes, if there is some left.
    fn room(&mut self, bytes: usize) -> Option<*mut u8> {
        let at = self.used;
        self.used += bytes.div_ceil(64);
        (self.used <= self.lines.len()).then(|| self.lines[at..].as_mut_ptr().cast())
    }

    /// Where the value of a slot is after [`run`](Self::run).
    pub fn value(&self, slot: Slot) -> *const u8 {
        self.values[slot as usize]
    }

    /// Runs the program over all `n` elements of its domain, if it is small and its inputs are dense or constant; the
    /// value of output `k` goes to `wanted(k)`, unless that is null. Returns whether it has; if not, whatever it has
    /// written is to be written again.
    ///
    /// # Safety
    /// Input layouts lie within their buffers, which nobody writes; every place wanted has room for `n` elements, nobody
    /// else uses it, and it overlaps no input.
    pub unsafe fn run(
        &mut self,
        program: &Program,
        args: &Args<'_>,
        n: usize,
        wanted: impl Fn(usize) -> *mut u8,
    ) -> bool {
        let instrs = program.instrs();
        if n > ELEMENTS || instrs.len() > INSTRS {
            return false;
        }
        for (slot, instr) in instrs.iter().enumerate() {
            let size = instr.dtype.itemsize();
            let constant = match instr.code {
                Code::Load(k) => {
                    let input = &args.inputs[k as usize];
                    if input.layout.is_contiguous() {
                        self.values[slot] = address(input);
                        continue;
                    }
                    if !is_constant(input.layout) {
                        return false;
                    }
                    address(input).cast_const()
                }
                Code::Param(k) => args.params[k as usize].bytes().as_ptr(),
                Code::Iota(_) => return false,
                Code::Cast | Code::Apply(_) => ptr::null(),
            };
            let output = program.outs().iter().position(|o| *o as usize == slot);
            let place = match output.map(&wanted) {
                Some(place) if constant.is_null() && !place.is_null() => Some(place),
                _ => self.room(n * size),
            };
            let Some(to) = place else { return false };
            // SAFETY: the place has room for `n` elements and is apart from all others; values are dense.
            unsafe {
                match constant.is_null() {
                    true => compute(program, slot, &self.values, to, n),
                    false => fill(size, constant, to, n),
                }
            }
            self.values[slot] = to;
        }
        true
    }
}

//! The block interpreter: a program analysed once per call ([`Plan`]), and run tile by tile by any number of
//! threads ([`Machine`]).

use super::apply::apply;
use super::cast::cast;
use super::lanes::Block;
use super::scratch::Scratch;
use super::tile::{self, Steps, Tile};
use rustarr_interface::{
    Args, Code, Dims, Layout, NO_SLOT, Op, Operand, Program, Scalar, Slot, Strides, collapse,
};
use smallvec::SmallVec;
use std::ptr;

/// Elements of a block: operands and temporaries of common programs fit the first-level cache.
pub(crate) const BLOCK: usize = 1024;

/// Memory, or the coordinates along an axis, walked over the axes of a domain.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// The operand's first element; null for coordinates.
    pub base: *mut u8,
    /// Bytes per element.
    pub itemsize: usize,
    /// Where the walk begins, in elements after the first one.
    pub origin: isize,
    /// Steps per axis, in elements.
    pub strides: Strides,
}

impl Walk {
    /// Where the element `at` steps from the first one is.
    #[inline]
    pub fn at(&self, at: isize) -> *mut u8 {
        self.base.wrapping_offset(at * self.itemsize as isize)
    }

    /// The steps of a tile of two axes; without a row axis there is one row.
    #[inline]
    pub fn steps(&self, row: Option<usize>, col: usize) -> Steps {
        Steps {
            row: row.map_or(0, |axis| self.strides[axis]),
            col: self.strides[col],
        }
    }
}

/// The address of an operand's first element.
pub(crate) fn address(operand: &Operand<'_>) -> *mut u8 {
    let offset = operand.layout.offset() * operand.dtype.itemsize();
    operand
        .buffer
        .host_ptr()
        .map_or(ptr::null_mut(), |p| p.as_ptr().wrapping_add(offset))
}

/// The layouts of the program's sources: its inputs, then one of coordinates per `iota` instruction, which walks a
/// memory that holds its own addresses.
pub(crate) fn source_layouts(program: &Program, args: &Args<'_>) -> SmallVec<[Layout; 4]> {
    let mut layouts: SmallVec<[Layout; 4]> = args.inputs.iter().map(|i| i.layout.clone()).collect();
    for instr in program.instrs() {
        if let Code::Iota(axis) = instr.code {
            let mut strides: Strides = SmallVec::from_elem(0, args.shape.len());
            strides[axis as usize] = 1;
            layouts.push(Layout::new(args.shape, &strides, 0));
        }
    }
    layouts
}

/// A domain in as few axes as can be, and the walks of sources and outputs over them.
#[derive(Debug)]
pub(crate) struct Domain {
    pub dims: Dims,
    pub walks: SmallVec<[Walk; 4]>,
}

impl Domain {
    /// The domain of a `map`: its axes are in the order of the (first) output's memory.
    pub fn of_map(program: &Program, args: &Args<'_>) -> Domain {
        let operands = || args.inputs.iter().chain(args.outputs);
        let flat = |o: &Operand<'_>| {
            o.layout.is_contiguous() || o.layout.strides().iter().all(|s| *s == 0)
        };
        let has_iota = || {
            program
                .instrs()
                .iter()
                .any(|i| matches!(i.code, Code::Iota(_)))
        };
        if operands().all(flat) && !has_iota() {
            let size = args.shape.iter().product();
            let walk = |o: &Operand<'_>| Walk {
                base: address(o),
                itemsize: o.dtype.itemsize(),
                origin: 0,
                strides: [(size > 1 && !is_constant(o.layout)) as isize]
                    .into_iter()
                    .collect(),
            };
            return Domain {
                dims: [size].into_iter().collect(),
                walks: operands().map(walk).collect(),
            };
        }
        let sources = source_layouts(program, args);
        // The first output comes last, where `collapse` takes the order of axes from.
        let mut layouts: SmallVec<[&Layout; 8]> = sources.iter().collect();
        layouts.extend(args.outputs.iter().rev().map(|o| o.layout));
        let (dims, mut strides, _) = collapse(args.shape, &layouts, Default::default(), true);
        strides[sources.len()..].reverse();
        Domain::new(dims, strides, args, sources.len())
    }

    /// A domain of given axes; `strides` lists those of the sources, then those of the outputs, if any.
    pub fn new(
        mut dims: Dims,
        mut strides: SmallVec<[Strides; 4]>,
        args: &Args<'_>,
        sources: usize,
    ) -> Domain {
        if dims.is_empty() {
            dims.push(1);
            strides.iter_mut().for_each(|s| s.push(0));
        }
        let walk = |(i, strides): (usize, Strides)| {
            let operand = match i.checked_sub(sources) {
                Some(output) => args.outputs.get(output),
                None => args.inputs.get(i),
            };
            Walk {
                base: operand.map_or(ptr::null_mut(), address),
                itemsize: operand.map_or(0, |o| o.dtype.itemsize()),
                origin: 0,
                strides,
            }
        };
        Domain {
            dims,
            walks: strides.into_iter().enumerate().map(walk).collect(),
        }
    }
}

/// Whether every index is the same element.
pub(crate) fn is_constant(layout: &Layout) -> bool {
    layout
        .shape()
        .iter()
        .zip(layout.strides())
        .all(|(d, s)| *d <= 1 || *s == 0)
}

/// What an inexact operation costs, in additions of values that are in the cache.
const DEAR: usize = 8;

/// What an instruction does, with its operands' places resolved.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A parameter or an input without steps: filled once per machine.
    Constant,
    /// An input, by its walk, and whether dense tiles of it are used where they lie.
    Load(usize, bool),
    /// Coordinates, by their walk.
    Iota(usize),
    /// A cast or an operation.
    Compute,
}

/// A program's instructions with registers for their values, and where its inputs are. Shared by all threads of a call.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    program: &'a Program,
    params: &'a [Scalar],
    steps: SmallVec<[(Step, u16); 8]>,
    registers: usize,
    /// Bytes from one register to the next.
    register_size: usize,
    /// Most elements of a tile.
    room: usize,
    /// Sources, then outputs.
    walks: &'a [Walk],
}

// SAFETY: the walks' addresses are read, or written, only through `Machine`, whose callers give each thread its own
// elements.
unsafe impl Sync for Plan<'_> {}

impl<'a> Plan<'a> {
    /// Analyses a program whose tiles have at most `room` elements. Registers are reused once their value has
    /// been read for the last time. Where outputs overwrite inputs (`donates`), an input that is also an output is
    /// first brought to safety.
    pub fn new(
        program: &'a Program,
        params: &'a [Scalar],
        walks: &'a [Walk],
        room: usize,
        donates: bool,
    ) -> Plan<'a> {
        let instrs = program.instrs();
        let mut last: SmallVec<[usize; 8]> = (0..instrs.len()).collect();
        for (i, instr) in instrs.iter().enumerate() {
            for &a in instr.args.iter().filter(|a| **a != NO_SLOT) {
                last[a as usize] = i;
            }
        }
        for &out in program.outs() {
            last[out as usize] = usize::MAX;
        }
        let mut steps: SmallVec<[(Step, u16); 8]> = SmallVec::new();
        let (mut registers, mut itemsize, mut iotas) = (0u16, 1, program.inputs());
        let mut free: SmallVec<[u16; 8]> = SmallVec::new();
        for (i, instr) in instrs.iter().enumerate() {
            let step = match instr.code {
                Code::Param(_) => Step::Constant,
                Code::Load(n) if walks[n as usize].strides.iter().all(|s| *s == 0) => {
                    Step::Constant
                }
                Code::Load(n) => {
                    let rewritten = donates && program.outs().contains(&(i as Slot));
                    Step::Load(n as usize, !rewritten)
                }
                Code::Iota(_) => {
                    iotas += 1;
                    Step::Iota(iotas - 1)
                }
                Code::Cast | Code::Apply(_) => Step::Compute,
            };
            let constant = matches!(step, Step::Constant);
            let reused = if constant { None } else { free.pop() };
            let register = reused.unwrap_or_else(|| {
                registers += 1;
                registers - 1
            });
            itemsize = itemsize.max(instr.dtype.itemsize());
            steps.push((step, register));
            if constant {
                last[i] = usize::MAX;
            }
            // After the result has its own, since a loop's arguments and result must be apart.
            for (k, &a) in instr.args.iter().enumerate() {
                if a != NO_SLOT && last[a as usize] == i && !instr.args[..k].contains(&a) {
                    free.push(steps[a as usize].1);
                }
            }
        }
        // An odd number of lines, so that registers do not share their low address bits.
        let lines = (room * itemsize).div_ceil(64) | 1;
        Plan {
            program,
            params,
            steps,
            registers: registers as usize,
            register_size: lines * 64,
            room,
            walks,
        }
    }

    /// The work of one element, in that of an addition.
    pub fn weight(&self) -> usize {
        let cost =
            |(step, slot): &(Step, u16)| match (step, self.program.instrs()[*slot as usize].code) {
                // What is not exact is a polynomial, a division or a loop.
                (Step::Compute, Code::Apply(op)) if op.info().ulp > 0 => DEAR,
                (Step::Compute, _) => 1,
                _ => 0,
            };
        self.steps.iter().map(cost).sum::<usize>().max(1)
    }
}

/// Runs one instruction that computes, over `n` elements whose earlier values are at `values`.
///
/// # Safety
/// The values that the instruction takes are blocks of `n` elements of their slots' dtypes; `to` has room for the
/// result's, aligned, and overlaps none of them.
#[inline]
pub(crate) unsafe fn compute(
    program: &Program,
    slot: usize,
    values: &[*const u8],
    to: *mut u8,
    n: usize,
) {
    let instrs = program.instrs();
    let instr = &instrs[slot];
    let args = instr
        .args
        .map(|a| values.get(a as usize).copied().unwrap_or(ptr::null()));
    let of = |k: usize| instrs[instr.args[k] as usize].dtype;
    // SAFETY: the caller's promise; the program is verified, so the dtypes are those that the operation takes.
    unsafe {
        let block = Block::new(args, to, n);
        match instr.code {
            Code::Apply(Op::Select) => apply(Op::Select, of(1), block),
            Code::Apply(op) => apply(op, of(0), block),
            Code::Cast => cast(of(0), instr.dtype, block),
            code => unreachable!("{code:?} computes nothing"),
        }
    }
}

/// Writes `n` copies of the element at `from`, whatever its alignment.
///
/// # Safety
/// `to` has room for them and is aligned.
pub(crate) unsafe fn fill(itemsize: usize, from: *const u8, to: *mut u8, n: usize) {
    let one = Steps { row: 0, col: 0 };
    let rest = Tile {
        rows: 1,
        cols: n - 1,
    };
    // SAFETY: the first element is written, then read to write the others.
    unsafe {
        ptr::copy_nonoverlapping(from, to, itemsize);
        tile::copy(itemsize, rest, to, one, to.add(itemsize), rest.dense());
    }
}

/// One thread's run of a [`Plan`].
pub(crate) struct Machine<'a> {
    plan: &'a Plan<'a>,
    scratch: Scratch,
    /// Per slot, where its value for the current tile is.
    values: SmallVec<[*const u8; 8]>,
    /// Per slot, where the caller wants it, or null.
    wanted: SmallVec<[*mut u8; 8]>,
}

impl<'a> Machine<'a> {
    /// A machine with the constants in place.
    pub fn new(plan: &'a Plan<'a>) -> Self {
        let n = plan.steps.len();
        let mut machine = Machine {
            plan,
            scratch: Scratch::new(plan.registers * plan.register_size),
            values: SmallVec::from_elem(ptr::null(), n),
            wanted: SmallVec::from_elem(ptr::null_mut(), n),
        };
        for slot in 0..n {
            if let (Step::Constant, register) = plan.steps[slot] {
                let instr = &plan.program.instrs()[slot];
                let to = machine.register(register);
                let from = match instr.code {
                    Code::Load(n) => {
                        let walk = &plan.walks[n as usize];
                        walk.at(walk.origin).cast_const()
                    }
                    Code::Param(n) => plan.params[n as usize].bytes().as_ptr(),
                    _ => unreachable!("only loads and parameters are constant"),
                };
                // SAFETY: the register has room for `room` elements.
                unsafe { fill(instr.dtype.itemsize(), from, to, plan.room) };
                machine.values[slot] = to;
            }
        }
        machine
    }

    fn register(&mut self, n: u16) -> *mut u8 {
        self.scratch
            .ptr()
            .wrapping_add(n as usize * self.plan.register_size)
    }

    /// Asks for the dense value of a slot at `to` in the next [`run`](Self::run). A value that is there without
    /// computing, a constant or an input, stays where it is.
    pub fn want(&mut self, slot: Slot, to: *mut u8) {
        self.wanted[slot as usize] = to;
    }

    /// Where the value of a slot is after [`run`](Self::run), dense.
    pub fn value(&self, slot: Slot) -> *const u8 {
        self.values[slot as usize]
    }

    /// Runs the program over one tile. Per source, `at` says how many elements after the operand's first one the
    /// tile begins, and `steps` how it goes on.
    ///
    /// # Safety
    /// The tile has at most the plan's `room` elements, unless the program is a load and the tile dense. At
    /// every source it lies within memory that may be read and nobody writes; every wanted place has room for it, nobody
    /// else uses it, and it overlaps no source.
    pub unsafe fn run(&mut self, tile: Tile, at: &[isize], steps: &[Steps]) {
        let n = tile.len();
        let plan = self.plan;
        for (slot, instr) in plan.program.instrs().iter().enumerate() {
            let (step, register) = plan.steps[slot];
            let wanted = std::mem::replace(&mut self.wanted[slot], ptr::null_mut());
            let to = if wanted.is_null() {
                self.register(register)
            } else {
                wanted
            };
            let dtype = instr.dtype;
            let size = dtype.itemsize();
            let value = match step {
                Step::Constant => continue,
                Step::Load(k, in_place) => {
                    let from = plan.walks[k].at(at[k]).cast_const();
                    if in_place && tile.is_dense(steps[k]) {
                        from
                    } else {
                        // SAFETY: the caller's promise for the source, and for the place wanted or our own register.
                        unsafe { tile::copy(size, tile, from, steps[k], to, tile.dense()) };
                        to.cast_const()
                    }
                }
                Step::Iota(k) => {
                    // SAFETY: the register or the place wanted has room for the tile.
                    unsafe { tile::iota(dtype, tile, at[k], steps[k], to) };
                    to
                }
                Step::Compute => {
                    // SAFETY: the values of earlier slots hold the tile in their dtype, and their registers are not reused
                    // before their last use; the result is apart from them and has room for the tile.
                    unsafe { compute(plan.program, slot, &self.values, to, n) };
                    to
                }
            };
            self.values[slot] = value;
        }
    }
}

//! What a pipeline is compiled for, and where its run-time numbers lie.
//!
//! Shapes, strides, offsets and scalars are words of one uniform block, so a new
//! size or a new constant never compiles anything.

use rustarr_interface::{Code, DType, Program, Reduce};
use smallvec::SmallVec;

use crate::plan::Domain;

/// Threads per workgroup of a map, and of a reduction by single threads.
pub(crate) const THREADS: u32 = 64;
/// Threads per workgroup of a reduction by groups.
pub(crate) const GROUP: u32 = 256;
/// Steps summed on their own before they join the total: keeps rounding errors
/// of long runs small.
pub(crate) const RUN: u32 = 64;

/// How the elements of a port are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Form {
    /// As arrays are: the dtype's own bytes, narrow ones packed into words.
    Array,
    /// As a register, one or two whole words: partial results of a reduction.
    Register,
    /// As an array of narrow elements whose words each belong to one thread.
    Packed,
}

/// One array argument of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Port {
    pub dtype: DType,
    pub form: Form,
    /// Which binding it is reached through.
    pub binding: u8,
}

/// The kinds of random numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Drawn {
    Bits,
    Uniform,
    Normal,
    Integers,
}

/// What the kernel does with the program's values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Task {
    /// Writes them.
    Map,
    /// Draws random numbers instead of running the program, whose one output only
    /// tells the dtype.
    Draw(Drawn),
    /// Combines them over the inner dimensions.
    Fold {
        reduce: Reduce,
        /// A workgroup per result instead of a thread.
        group: bool,
        /// Whether the inputs are (values, positions) of an earlier fold.
        again: bool,
        /// Whether positions are written for the user, as `int64`, instead of
        /// values with positions for another fold.
        done: bool,
    },
}

/// The key of the pipeline cache.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Signature {
    pub program: Program,
    pub task: Task,
    /// Dimensions of the results.
    pub outer: u8,
    /// Dimensions that are combined; none for a map.
    pub inner: u8,
    /// Inputs, then outputs.
    pub ports: SmallVec<[Port; 6]>,
    /// Per binding whether it is written.
    pub writable: SmallVec<[bool; 6]>,
    /// Per iota of the program, in order, the dimension it counts along; none
    /// where the axis has length 1.
    pub counted: SmallVec<[Option<u8>; 2]>,
}

/// Word numbers of the uniform block's fixed part.
pub(crate) mod header {
    /// Zero, hidden from the compiler.
    pub const ZERO: usize = 0;
    /// Elements of a map, or results of a fold.
    pub const COUNT: usize = 1;
    /// Threads (or groups) in one row of the two-dimensional dispatch.
    pub const ROW: usize = 2;
    /// Pieces that a result's elements are cut into.
    pub const PIECES: usize = 3;
    /// Elements of one piece.
    pub const PIECE: usize = 4;
    /// Elements combined into one result.
    pub const DEPTH: usize = 5;
    /// Where the fixed part ends.
    pub const LEN: usize = 8;
}

/// Where the variable part of the uniform block keeps things, in words.
pub(crate) struct Words {
    /// Sizes of the dimensions, outer ones first.
    pub dims: usize,
    /// Per port its offset, followed by its strides.
    pub ports: SmallVec<[usize; 6]>,
    /// Per parameter its one or two words.
    pub params: SmallVec<[usize; 6]>,
    /// Per dimension the first coordinate, two words each.
    pub bases: usize,
    /// Position of the first element and its strides, for folds that locate.
    pub position: usize,
    /// Counter, key, smallest value and range of random numbers, two words each.
    pub seeds: usize,
    /// Words in all.
    pub len: usize,
}

/// Words that a register of the dtype takes in a uniform block or a partial result.
pub(crate) fn register_words(dtype: DType) -> usize {
    if dtype.itemsize() == 8 { 2 } else { 1 }
}

impl Signature {
    /// The signature of a program over a domain, before its operands are bound.
    pub fn new(program: &Program, task: Task, domain: &Domain) -> Self {
        Signature {
            counted: program
                .instrs()
                .iter()
                .filter_map(|i| match i.code {
                    Code::Iota(axis) => Some(domain.dim_of(axis as usize)),
                    _ => None,
                })
                .collect(),
            program: program.clone(),
            task,
            outer: domain.outer as u8,
            inner: (domain.dims.len() - domain.outer) as u8,
            ports: SmallVec::new(),
            writable: SmallVec::new(),
        }
    }

    pub fn rank(&self) -> usize {
        self.outer as usize + self.inner as usize
    }

    pub fn outputs(&self) -> &[Port] {
        &self.ports[self.program.inputs()..]
    }

    /// Elements that a thread of a map handles: as many as share a word.
    pub fn lanes(&self) -> usize {
        self.outputs()
            .iter()
            .filter(|p| p.form == Form::Packed)
            .map(|p| 4 / p.dtype.itemsize())
            .max()
            .unwrap_or(1)
    }

    /// Whether the fold keeps positions.
    pub fn locates(&self) -> bool {
        matches!(
            self.task,
            Task::Fold {
                reduce: Reduce::ArgMin | Reduce::ArgMax,
                ..
            }
        )
    }

    /// Strides that a port has: folds write along the outer dimensions only.
    pub fn strides_of(&self, port: usize) -> usize {
        if port < self.program.inputs() {
            self.rank()
        } else {
            self.outer as usize
        }
    }

    pub fn words(&self) -> Words {
        let mut at = header::LEN;
        let mut take = |n: usize| {
            let here = at;
            at += n;
            here
        };
        let dims = take(self.rank());
        let ports = (0..self.ports.len())
            .map(|p| take(1 + self.strides_of(p)))
            .collect();
        let mut params: SmallVec<[usize; 6]> = SmallVec::from_elem(0, self.program.params());
        for instr in self.program.instrs() {
            if let Code::Param(n) = instr.code {
                params[n as usize] = take(register_words(instr.dtype));
            }
        }
        let bases = take(if self.counted.is_empty() {
            0
        } else {
            2 * self.rank()
        });
        let position = take(if self.locates() {
            1 + self.inner as usize
        } else {
            0
        });
        let seeds = take(if matches!(self.task, Task::Draw(_)) {
            8
        } else {
            0
        });
        Words {
            dims,
            ports,
            params,
            bases,
            position,
            seeds,
            len: at,
        }
    }
}

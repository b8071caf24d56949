//! Fused elementwise expressions as flat, hashable, verified data.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::Op;
use smallvec::SmallVec;

/// Index of an instruction, which is also the name of its value.
pub type Slot = u16;

/// An unused argument.
pub const NO_SLOT: Slot = Slot::MAX;

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Code {
    /// The current element of input `n`.
    Load(u16),
    /// Parameter `n`, a run-time scalar.
    Param(u16),
    /// The current coordinate along an axis of the domain, as an integer or `float64`.
    Iota(u16),
    /// The argument converted to the instruction's dtype, as `astype` does.
    Cast,
    /// An operation of the table.
    Apply(Op),
}

/// One step of a [`Program`]: its value has the dtype `dtype` and is rounded to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Instr {
    /// What is done.
    pub code: Code,
    /// The dtype of the value.
    pub dtype: DType,
    /// The slots it is done to; [`NO_SLOT`] past the arity.
    pub args: [Slot; 3],
}

/// A straight-line program in single-assignment form, run once per element of a domain.
///
/// It is the key of every kernel cache: what changes the code is inside, run-time scalars and shapes
/// are outside. Only [`ProgramBuilder::finish`] makes one, so every program has been verified.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Program {
    instrs: SmallVec<[Instr; 4]>,
    outs: SmallVec<[Slot; 2]>,
    inputs: u16,
    params: u16,
}

impl Program {
    /// The instructions, in an order in which arguments come before their uses.
    #[inline]
    pub fn instrs(&self) -> &[Instr] {
        &self.instrs
    }

    /// The slots that are written out (or reduced), in the order of the outputs.
    #[inline]
    pub fn outs(&self) -> &[Slot] {
        &self.outs
    }

    /// How many inputs are loaded.
    pub fn inputs(&self) -> usize {
        self.inputs as usize
    }

    /// How many parameters are read.
    pub fn params(&self) -> usize {
        self.params as usize
    }

    /// The dtype of output `n`.
    pub fn out_dtype(&self, n: usize) -> DType {
        self.instrs[self.outs[n] as usize].dtype
    }

    /// The program `outs = op(cast inputs)` of one operation, whose operands are loads.
    pub fn copy(from: DType, to: DType) -> Program {
        let mut b = ProgramBuilder::new();
        let x = b.load(from);
        let y = b.cast(x, to);
        b.finish(&[y]).expect("a cast is always legal")
    }

    /// The program that writes parameter 0 everywhere.
    pub fn fill(dtype: DType) -> Program {
        let mut b = ProgramBuilder::new();
        let x = b.param(dtype);
        b.finish(&[x]).expect("a parameter is always legal")
    }
}

/// Builds a [`Program`]. Equal instructions get one slot, so shared subexpressions run once.
#[derive(Default, Debug)]
pub struct ProgramBuilder {
    instrs: SmallVec<[Instr; 4]>,
    inputs: u16,
    params: u16,
}

impl ProgramBuilder {
    /// An empty program.
    pub fn new() -> Self {
        ProgramBuilder::default()
    }

    /// How many instructions there are.
    pub fn len(&self) -> usize {
        self.instrs.len()
    }

    /// True before the first instruction.
    pub fn is_empty(&self) -> bool {
        self.instrs.is_empty()
    }

    /// How many inputs there are.
    pub fn inputs(&self) -> usize {
        self.inputs as usize
    }

    /// The dtype of a slot.
    pub fn dtype(&self, slot: Slot) -> DType {
        self.instrs[slot as usize].dtype
    }

    fn push(&mut self, code: Code, dtype: DType, args: [Slot; 3]) -> Slot {
        self.instrs.push(Instr { code, dtype, args });
        (self.instrs.len() - 1) as Slot
    }

    fn push_shared(&mut self, code: Code, dtype: DType, args: [Slot; 3]) -> Slot {
        let instr = Instr { code, dtype, args };
        match self.instrs.iter().position(|i| *i == instr) {
            Some(slot) => slot as Slot,
            None => self.push(code, dtype, args),
        }
    }

    /// Loads the next input.
    pub fn load(&mut self, dtype: DType) -> Slot {
        self.inputs += 1;
        self.push(Code::Load(self.inputs - 1), dtype, [NO_SLOT; 3])
    }

    /// The slot of input `n`, which has been loaded.
    ///
    /// # Panics
    /// If it has not.
    pub fn loaded(&self, n: usize) -> Slot {
        let is_load = |i: &Instr| i.code == Code::Load(n as u16);
        self.instrs
            .iter()
            .position(is_load)
            .expect("a loaded input") as Slot
    }

    /// Reads the next parameter.
    pub fn param(&mut self, dtype: DType) -> Slot {
        self.params += 1;
        self.push(Code::Param(self.params - 1), dtype, [NO_SLOT; 3])
    }

    /// The coordinate along `axis`, as `dtype` (an integer or `float64`).
    pub fn iota(&mut self, axis: usize, dtype: DType) -> Slot {
        self.push_shared(Code::Iota(axis as u16), dtype, [NO_SLOT; 3])
    }

    /// `x` as `dtype`; `x` itself if it already is.
    pub fn cast(&mut self, x: Slot, dtype: DType) -> Slot {
        if self.dtype(x) == dtype {
            return x;
        }
        self.push_shared(Code::Cast, dtype, [x, NO_SLOT, NO_SLOT])
    }

    /// `op` of operands that all have the dtype of the computation (for `Select`: `bool`, then two of
    /// one dtype).
    ///
    /// # Errors
    /// [`ErrorKind::DType`](crate::ErrorKind::DType) where the table has no such pair;
    /// [`ErrorKind::Backend`](crate::ErrorKind::Backend) for a wrong number of operands.
    pub fn apply(&mut self, op: Op, operands: &[Slot]) -> Result<Slot> {
        let mut args = [NO_SLOT; 3];
        if operands.len() != op.info().arity {
            return Err(Error::backend(
                op.name(),
                "wrong number of operands in a program",
            ));
        }
        args[..operands.len()].copy_from_slice(operands);
        let dtype = self.dtype(if op == Op::Select { args[1] } else { args[0] });
        let Some(result) = op.result(dtype) else {
            return Err(illegal(op, dtype));
        };
        Ok(self.push_shared(Code::Apply(op), result, args))
    }

    /// Verifies and returns the program that writes `outs`.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`](crate::ErrorKind::Backend) for a malformed program: a bug, not bad input.
    pub fn finish(self, outs: &[Slot]) -> Result<Program> {
        let program = Program {
            instrs: self.instrs,
            outs: outs.iter().copied().collect(),
            inputs: self.inputs,
            params: self.params,
        };
        program.verify()?;
        Ok(program)
    }
}

#[cold]
fn illegal(op: Op, dtype: DType) -> Error {
    Error::dtype(
        op.name(),
        format!("dtype {dtype} is not {}", op.info().kinds.describe()),
    )
}

impl Program {
    /// Checks order, arity and dtypes of every instruction.
    fn verify(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::backend("program", format!("{what} in {self:?}")));
        if self.instrs.len() >= NO_SLOT as usize {
            return bad("too many instructions");
        }
        for (i, instr) in self.instrs.iter().enumerate() {
            let arity = match instr.code {
                Code::Load(_) | Code::Param(_) | Code::Iota(_) => 0,
                Code::Cast => 1,
                Code::Apply(op) => op.info().arity,
            };
            let (used, unused) = instr.args.split_at(arity);
            if used.iter().any(|&a| a as usize >= i) || unused.iter().any(|&a| a != NO_SLOT) {
                return bad("argument out of order");
            }
            let dtype_of = |a: Slot| self.instrs[a as usize].dtype;
            match instr.code {
                Code::Load(n) if n >= self.inputs => return bad("unknown input"),
                Code::Param(n) if n >= self.params => return bad("unknown parameter"),
                Code::Iota(_)
                    if !instr.dtype.is(crate::Kinds::INT) && instr.dtype != DType::F64 =>
                {
                    return bad("iota dtype");
                }
                Code::Apply(op) => {
                    let operands = match op {
                        Op::Select if dtype_of(used[0]) != DType::Bool => {
                            return bad("condition dtype");
                        }
                        Op::Select => &used[1..],
                        _ => used,
                    };
                    let dtype = dtype_of(operands[0]);
                    if operands.iter().any(|&a| dtype_of(a) != dtype)
                        || op.result(dtype) != Some(instr.dtype)
                    {
                        return bad("operand dtype");
                    }
                }
                _ => {}
            }
        }
        if self.outs.iter().any(|&o| o as usize >= self.instrs.len()) {
            return bad("unknown output");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn equal_instructions_share_a_slot_and_a_key() {
        let build = |op| {
            let mut b = ProgramBuilder::new();
            let (x, c) = (b.load(DType::F32), b.param(DType::F32));
            let y = b.apply(op, &[x, c]).unwrap();
            let again = b.apply(op, &[x, c]).unwrap();
            assert_eq!(y, again);
            b.finish(&[y]).unwrap()
        };
        let set: HashSet<Program> = [build(Op::Add), build(Op::Add), build(Op::Multiply)].into();
        assert_eq!(set.len(), 2);
    }

    #[test]
    fn illegal_pairs_are_refused_when_built() {
        let mut b = ProgramBuilder::new();
        let (x, y) = (b.load(DType::F32), b.load(DType::I32));
        assert_eq!(
            b.apply(Op::BitwiseAnd, &[x, x]).unwrap_err().kind(),
            crate::ErrorKind::DType
        );
        assert!(b.apply(Op::Add, &[x]).is_err());
        let bad = b.apply(Op::Add, &[x, y]).unwrap();
        assert!(b.finish(&[bad]).is_err(), "mixed dtypes pass the verifier");
    }

    #[test]
    fn every_row_knows_its_place_and_its_result() {
        for (i, row) in Op::TABLE.iter().enumerate() {
            assert_eq!(row.op as usize, i);
            assert_eq!(row.op.name(), row.name);
            assert!(DType::ALL.iter().any(|d| row.op.result(*d).is_some()));
        }
    }
}

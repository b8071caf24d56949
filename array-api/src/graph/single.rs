//! Programs of one operation. Small work needs the same few again and again, and runs in less time than it takes to
//! build one.

use super::fuse::apply_recipe;
use super::node::Recipe;
use super::realise::In;
use rustarr_interface::{DType, Op, Program, ProgramBuilder, Result, Slot};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;

/// Programs that a thread remembers: enough for the operations of a loop.
const REMEMBERED: usize = 64;

/// What a one-operation program depends on.
#[derive(Clone, Copy, PartialEq)]
struct Key {
    recipe: Recipe,
    dtype: DType,
    /// The operands' dtypes, and whether they are parameters.
    operands: [Option<(DType, bool)>; 3],
}

impl Key {
    fn new(recipe: Recipe, dtype: DType, ins: &[In<'_>]) -> Key {
        let mut operands = [None; 3];
        for (operand, input) in operands.iter_mut().zip(ins) {
            *operand = Some(match input {
                In::Array(x, _) => (x.dtype(), false),
                In::Scalar(scalar) => (scalar.dtype(), true),
            });
        }
        Key {
            recipe,
            dtype,
            operands,
        }
    }

    /// Where the program is remembered; another key there is forgotten.
    fn place(&self) -> usize {
        let recipe = match self.recipe {
            Recipe::Apply(op, _) => op as usize,
            Recipe::Cast | Recipe::Iota(_) | Recipe::Reduce(..) => Op::TABLE.len(),
        };
        let mut place = recipe * DType::ALL.len() + self.dtype as usize;
        for operand in self.operands.iter().flatten() {
            place = place * 5 + 2 * operand.0 as usize + usize::from(operand.1);
        }
        place % REMEMBERED
    }

    fn build(&self) -> Result<Program> {
        let mut builder = ProgramBuilder::new();
        let mut slots: SmallVec<[Slot; 3]> = SmallVec::new();
        for &(dtype, param) in self.operands.iter().flatten() {
            slots.push(match param {
                true => builder.param(dtype),
                false => builder.load(dtype),
            });
        }
        let out = apply_recipe(&mut builder, self.recipe, self.dtype, &mut slots)?;
        builder.finish(&[out])
    }
}

type Slots = RefCell<[Option<(Key, Rc<Program>)>; REMEMBERED]>;

thread_local! {
    static PROGRAMS: Slots = const { RefCell::new([const { None }; REMEMBERED]) };
}

/// The program of one operation on `ins`.
pub(super) fn program(recipe: Recipe, dtype: DType, ins: &[In<'_>]) -> Result<Rc<Program>> {
    let key = Key::new(recipe, dtype, ins);
    PROGRAMS.with_borrow_mut(|programs| {
        let place = &mut programs[key.place()];
        if let Some((known, program)) = place
            && *known == key
        {
            return Ok(program.clone());
        }
        let program = Rc::new(key.build()?);
        *place = Some((key, program.clone()));
        Ok(program)
    })
}

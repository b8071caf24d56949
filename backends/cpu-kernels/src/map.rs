//! Elementwise programs over whole domains.

use crate::interp::grid::Grid;
use crate::interp::machine::{Domain, Machine, Plan, Walk, address};
use crate::interp::small::{self, Small};
use crate::interp::tile::{self, Steps};
use crate::par::Par;
use crate::tasks;
use rustarr_interface::{Args, Operand, Program, Result};
use smallvec::SmallVec;

/// Runs a program over a domain, in tasks of about `grain` elements times the cost of one.
///
/// # Errors
/// `Interrupted` if the user asked to stop; `Backend` for a fault of a kernel.
pub fn map(par: Par<'_>, grain: usize, program: &Program, args: Args<'_>) -> Result<()> {
    if args.shape.contains(&0) {
        return Ok(());
    }
    if small(program, &args) {
        return Ok(());
    }
    let domain = Domain::of_map(program, &args);
    let walks = &domain.walks[..];
    let grid = Grid::of_map(&domain.dims, walks);
    let donates = args.donated.iter().any(Option::is_some);
    let plan = Plan::new(program, args.params, walks, grid.room(), donates);
    let steps: SmallVec<[Steps; 8]> = walks.iter().map(|w| w.steps(grid.row, grid.col)).collect();
    let outputs = walks.len() - args.outputs.len();
    let donated = |k: usize| args.donated.get(k).is_some_and(Option::is_some);

    let tiles = grid.tiles();
    let per_task = (grain / (grid.room() * plan.weight())).max(1);
    let shared = Shared(&plan, walks);
    let count = tiles.div_ceil(per_task);
    tasks::run(
        par.worth(count),
        "map",
        count,
        || {
            let Shared(plan, walks) = &shared;
            (
                Machine::new(plan),
                SmallVec::<[isize; 8]>::from_elem(0, walks.len()),
            )
        },
        |(machine, at), task| {
            let Shared(_, walks) = &shared;
            for n in task * per_task..tiles.min((task + 1) * per_task) {
                let tile = grid.tile(n, walks, at);
                for (k, &slot) in program.outs().iter().enumerate() {
                    let w = outputs + k;
                    if tile.is_dense(steps[w]) && !donated(k) {
                        machine.want(slot, walks[w].at(at[w]));
                    }
                }
                // SAFETY: layouts lie within their buffers, so the tile lies within every operand; no other tile has its
                // elements; an output overlaps an input only where it is donated, and is then not wanted.
                unsafe { machine.run(tile, at, &steps) };
                for (k, &slot) in program.outs().iter().enumerate() {
                    let w = outputs + k;
                    let (from, to) = (machine.value(slot), walks[w].at(at[w]));
                    if from != to.cast_const() {
                        // SAFETY: the value is dense and the output's tile within its buffer. All inputs of the tile
                        // have been read, and the value is a register or an input that the output does not overlap.
                        unsafe {
                            tile::copy(walks[w].itemsize, tile, from, tile.dense(), to, steps[w])
                        };
                    }
                }
            }
        },
    )
}

/// Runs a program over few dense elements, if that is what it is asked for.
fn small(program: &Program, args: &Args<'_>) -> bool {
    let n = args.shape.iter().product();
    let dense = |o: &Operand<'_>| o.layout.is_contiguous();
    if n > small::ELEMENTS
        || args.donated.iter().any(Option::is_some)
        || !args.outputs.iter().all(dense)
    {
        return false;
    }
    let mut small = Small::new();
    let place = |k: usize| address(&args.outputs[k]);
    // SAFETY: layouts lie within their buffers, and outputs overlap nothing unless they are donated.
    if !unsafe { small.run(program, args, n, place) } {
        return false;
    }
    for (k, &slot) in program.outs().iter().enumerate() {
        let (from, to) = (small.value(slot), place(k));
        if from != to.cast_const() {
            // SAFETY: `n` elements each, which do not overlap.
            unsafe {
                std::ptr::copy_nonoverlapping(from, to, n * args.outputs[k].dtype.itemsize())
            };
        }
    }
    true
}

/// Lets threads share the addresses.
struct Shared<'a>(&'a Plan<'a>, &'a [Walk]);

// SAFETY: the tasks of one call write different elements.
unsafe impl Sync for Shared<'_> {}

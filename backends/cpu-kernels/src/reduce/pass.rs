//! Walking a domain chunk by chunk.
//!
//! A *cell* is one chunk of one result. Cells are independent of each other, so they are computed in any order and
//! by any thread: several side by side, along the chunk's values where those lie densely in memory (`along`), or across
//! them where the cells do (`across`). Each way gives the same bits.

use super::fold::{Fold, Rows};
use super::tree::{Chunks, pairwise};
use crate::interp::grid::Grid;
use crate::interp::machine::{BLOCK, Domain, Machine, Plan, Walk, address, source_layouts};
use crate::interp::tile::{Steps, Tile};
use crate::par::Par;
use crate::tasks;
use rustarr_interface::{Args, AxisMask, Dims, Layout, Program, Result, Strides, collapse};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The arguments of a reduction.
pub(super) struct Call<'a> {
    pub par: Par<'a>,
    pub grain: usize,
    pub program: &'a Program,
    pub axes: AxisMask,
    pub args: Args<'a>,
}

/// A stretch of every cut axis: `pieces` chunks of `step` indices from index `start` on.
#[derive(Clone, Copy)]
struct Stretch {
    start: usize,
    step: usize,
    pieces: usize,
}

/// Where the cells' results go.
#[derive(Clone, Copy)]
struct Sink {
    first: *mut u8,
    /// To the output itself, finished; else into an array of accumulators for the next step.
    is_output: bool,
}

/// Runs a reduction of a domain that is not empty.
pub(super) fn run<F: Fold>(call: &Call<'_>, fold: &F) -> Result<()> {
    let shape = call.args.shape;
    let output = &call.args.outputs[0];
    let reduced: SmallVec<[usize; 4]> = (0..shape.len())
        .filter(|&a| call.axes.contains(a) && shape[a] > 1)
        .collect();
    let dims: Dims = reduced.iter().map(|&a| shape[a]).collect();
    let chunks = Chunks::new(&dims);
    if !chunks.is_cut() {
        let whole = Stretch {
            start: 0,
            step: 1,
            pieces: 1,
        };
        let sink = Sink {
            first: address(output),
            is_output: true,
        };
        return pass(
            call,
            fold,
            &chunks,
            &reduced,
            whole,
            output.layout.strides(),
            sink,
        );
    }

    // One row of accumulators per chunk, each with one column per result.
    let width = output.layout.size();
    let outer: usize = dims[..chunks.outer].iter().product();
    let mut partial = vec![fold.filler(); outer * chunks.pieces * width];
    let sink = Sink {
        first: partial.as_mut_ptr().cast(),
        is_output: false,
    };
    let dense = Layout::contiguous(output.layout.shape());
    let full = chunks.dim / chunks.step;
    let stretches = [
        (chunks.step, 0, full),
        (chunks.dim % chunks.step, full, chunks.pieces - full),
    ];
    for (step, first, pieces) in stretches {
        if pieces > 0 {
            let stretch = Stretch {
                start: first * chunks.step,
                step,
                pieces,
            };
            pass(
                call,
                fold,
                &chunks,
                &reduced,
                stretch,
                dense.strides(),
                sink,
            )?;
        }
    }
    pairwise(&mut partial, width, |a, b| fold.combine(a, b));
    let to = address(output).cast::<F::Result>();
    for_each_row(output.layout, |index, at, len, step| {
        for (i, acc) in partial[index..index + len].iter().enumerate() {
            // SAFETY: the layout lies within the output's buffer, which nobody else uses.
            unsafe { *to.offset(at + i as isize * step) = fold.finish(*acc) };
        }
    });
    Ok(())
}

/// Calls `f` for each row along the last axis with the row-major index of its first element, how far that is from the
/// layout's first, the row's length and step.
fn for_each_row(layout: &Layout, mut f: impl FnMut(usize, isize, usize, isize)) {
    let len = layout.shape().last().copied().unwrap_or(1);
    let step = layout.strides().last().copied().unwrap_or(0);
    for index in (0..layout.size()).step_by(len.max(1)) {
        let at = layout.position(index) as isize - layout.offset() as isize;
        f(index, at, len, step);
    }
}

/// The two ways through a cell's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Along,
    Across,
}

/// Computes the cells of a stretch. `kept_strides` are the sink's, over the kept axes.
fn pass<F: Fold>(
    call: &Call<'_>,
    fold: &F,
    chunks: &Chunks,
    reduced: &[usize],
    stretch: Stretch,
    kept_strides: &[isize],
    sink: Sink,
) -> Result<()> {
    let (program, args) = (call.program, &call.args);
    let (sources, cells, chunk) = split(call, chunks, reduced, stretch, kept_strides);
    let (outs, cell_dims) = (sources, cells.0);
    let ncells = cell_dims.len();
    let dims: Dims = cell_dims.iter().chain(&chunk.0).copied().collect();
    let mut strides: SmallVec<[Strides; 4]> = cells.1;
    for (s, more) in strides.iter_mut().zip(chunk.1.iter()) {
        s.extend_from_slice(more);
    }
    let mut domain = Domain::new(dims, strides, args, outs + 2);
    for (walk, origin) in domain.walks.iter_mut().zip(&cells.2) {
        walk.origin = *origin;
    }
    let (inputs, rest) = domain.walks.split_at(outs);
    let (place, out) = (&rest[0], &rest[1]);
    let chunk_dims = &chunk.0[..];
    let n: usize = chunk_dims.iter().product();
    let last = domain.dims.len() - 1;

    // Which way, and along which axis of cells the tiles extend.
    let varies = |w: &&Walk| w.strides.iter().any(|s| *s != 0);
    let dense_at = |axis: usize| {
        inputs
            .iter()
            .filter(|w| w.strides[axis].unsigned_abs() == 1)
            .count()
    };
    let side = (0..ncells)
        .filter(|&a| domain.dims[a] > 1)
        .max_by_key(|&a| (dense_at(a), a));
    let (way, axis) = match side {
        None => (Way::Along, 0),
        Some(side) if n < 16 || dense_at(side) > dense_at(last) => (Way::Across, side),
        Some(_) => {
            // Chunks that follow each other in memory make dense tiles.
            let follows = |a: &usize| {
                inputs
                    .iter()
                    .filter(varies)
                    .all(|w| w.strides[*a] == n as isize)
            };
            (
                Way::Along,
                (0..ncells).rev().find(follows).unwrap_or(ncells - 1),
            )
        }
    };
    let plain = program.instrs().len() == 1 && inputs.first().is_some_and(|w| varies(&w));
    let tile = match way {
        Way::Along if chunk_dims.len() > 1 => Tile { rows: 1, cols: n },
        Way::Along => {
            let step = Steps {
                row: inputs.first().map_or(0, |w| w.strides[axis]),
                col: inputs.first().map_or(0, |w| w.strides[last]),
            };
            let in_place = plain && step.col == 1 && (step.row == n as isize);
            let room = if in_place { 16 * BLOCK } else { BLOCK };
            Tile {
                rows: (room / n).max(1),
                cols: n,
            }
        }
        Way::Across => {
            let cols = domain.dims[axis].min(256);
            Tile {
                rows: (BLOCK / cols).min(domain.dims[last]),
                cols,
            }
        }
    };
    let width = if way == Way::Along {
        tile.rows
    } else {
        tile.cols
    };
    let grid = Grid::cut(
        &domain.dims[..ncells],
        None,
        axis,
        Tile {
            rows: 1,
            cols: width,
        },
    );
    let room = match way {
        Way::Along if plain => BLOCK.max(n),
        _ => tile.len(),
    };
    let plan = Plan::new(program, args.params, &domain.walks, room, false);
    let job = Job {
        fold,
        plan: &plan,
        program,
        way,
        tile,
        chunk: chunk_dims,
        chunk_axis: ncells,
        axis,
        walks: &domain.walks,
        place,
        out,
        sink,
        n,
        direct: plain && inputs[0].strides[axis] == 1,
    };

    let tiles = grid.tiles();
    let per_task = (call.grain / (width * n * plan.weight())).max(1);
    // A logical reduction to one result is over as soon as one chunk decides it.
    let decided = AtomicBool::new(false);
    let may_stop = !sink.is_output && args.outputs[0].layout.size() == 1;
    tasks::run(
        call.par,
        "reduce",
        tiles.div_ceil(per_task),
        || job.worker(),
        |worker, task| {
            for t in task * per_task..tiles.min((task + 1) * per_task) {
                if may_stop && decided.load(Relaxed) {
                    return;
                }
                let cells = grid.tile(t, job.walks(), &mut worker.at).cols;
                job.run(worker, cells);
                if may_stop && worker.results.iter().any(|a| fold.decides(*a)) {
                    decided.store(true, Relaxed);
                }
            }
        },
    )
}

/// Axes, and per walk its strides over them (and where it begins).
type Axes<O> = (Dims, SmallVec<[Strides; 4]>, O);

/// The axes of cells and of the values of a chunk, in as few as can be. The walks are the sources, the position within
/// the reduced axes, and the sink. Returns how many sources there are too.
fn split(
    call: &Call<'_>,
    chunks: &Chunks,
    reduced: &[usize],
    stretch: Stretch,
    kept_strides: &[isize],
) -> (usize, Axes<SmallVec<[isize; 8]>>, Axes<()>) {
    let shape = call.args.shape;
    let layouts = source_layouts(call.program, &call.args);
    let kept: SmallVec<[usize; 4]> = (0..shape.len())
        .filter(|&a| !call.axes.contains(a))
        .collect();
    let cut = chunks.is_cut().then(|| reduced[chunks.outer]);
    let (outer, inner) = match cut {
        Some(_) => (&reduced[..chunks.outer], &reduced[chunks.outer + 1..]),
        None => (&reduced[..0], reduced),
    };

    // Per axis of the array, the steps of the position and of the sink's rows of accumulators.
    let width: usize = kept.iter().map(|&a| shape[a]).product();
    let (mut place, mut sink): (Strides, Strides) = (SmallVec::new(), kept_strides.into());
    let (mut after, mut rows) = (chunks.inner * chunks.dim, chunks.pieces);
    for &axis in outer.iter().rev() {
        place.insert(0, after as isize);
        sink.insert(kept.len(), (rows * width) as isize);
        after *= shape[axis];
        rows *= shape[axis];
    }

    let mut cell_shape: Dims = kept.iter().chain(outer).map(|&a| shape[a]).collect();
    let mut chunk_shape = Dims::new();
    if cut.is_some() {
        cell_shape.push(stretch.pieces);
        chunk_shape.push(stretch.step);
        place.push((stretch.step * chunks.inner) as isize);
        sink.push(width as isize);
    }
    chunk_shape.extend(inner.iter().map(|&a| shape[a]));

    let mut cells: SmallVec<[Layout; 6]> = SmallVec::new();
    let mut values: SmallVec<[Layout; 6]> = SmallVec::new();
    let mut origins: SmallVec<[isize; 8]> = SmallVec::new();
    for layout in &layouts {
        let of = |a: &usize| layout.strides()[*a];
        let mut cell: Strides = kept.iter().chain(outer).map(of).collect();
        let mut value = Strides::new();
        let mut origin = 0;
        if let Some(cut) = cut {
            cell.push(of(&cut) * stretch.step as isize);
            value.push(of(&cut));
            origin = of(&cut) * stretch.start as isize;
        }
        value.extend(inner.iter().map(of));
        cells.push(Layout::new(&cell_shape, &cell, 0));
        values.push(Layout::new(&chunk_shape, &value, 0));
        origins.push(origin);
    }
    let kept_place: Strides = kept.iter().map(|_| 0).chain(place).collect();
    cells.push(Layout::new(&cell_shape, &kept_place, 0));
    cells.push(Layout::new(&cell_shape, &sink, 0));
    let first_piece = if cut.is_some() {
        stretch.start / chunks.step
    } else {
        0
    };
    origins.push((stretch.start * chunks.inner) as isize);
    origins.push((first_piece * width) as isize);
    // Cells are visited in the order of the first source's memory: that is where most bytes are. It has to come last.
    let mut cell_refs: SmallVec<[&Layout; 8]> = cells.iter().collect();
    cell_refs.reverse();
    let (cell_dims, mut cell_strides, _) = collapse(&cell_shape, &cell_refs, AxisMask(0), true);
    cell_strides.reverse();
    let value_refs: SmallVec<[&Layout; 8]> = values.iter().collect();
    let (mut value_dims, mut value_strides, _) =
        collapse(&chunk_shape, &value_refs, AxisMask(0), false);
    if value_dims.is_empty() {
        value_dims.push(1);
        value_strides.iter_mut().for_each(|s| s.push(0));
    }
    // Position and sink do not move within a chunk.
    value_strides.extend((0..2).map(|_| value_dims.iter().map(|_| 0).collect::<Strides>()));
    let mut cell_dims = cell_dims;
    if cell_dims.is_empty() {
        cell_dims.push(1);
        cell_strides.iter_mut().for_each(|s| s.push(0));
    }
    (
        layouts.len(),
        (cell_dims, cell_strides, origins),
        (value_dims, value_strides, ()),
    )
}

/// What all threads of a pass share.
struct Job<'a, F> {
    fold: &'a F,
    plan: &'a Plan<'a>,
    program: &'a Program,
    way: Way,
    /// Most rows and columns of the tiles that the program runs over.
    tile: Tile,
    chunk: &'a [usize],
    /// The first axis of the chunk; the axes before are those of cells.
    chunk_axis: usize,
    /// The axis of cells along which a tile extends.
    axis: usize,
    walks: &'a [Walk],
    place: &'a Walk,
    out: &'a Walk,
    sink: Sink,
    /// Values of a chunk.
    n: usize,
    /// Whether the values are rows of cells as they lie in memory.
    direct: bool,
}

// SAFETY: the addresses in it are read by all threads and written only at the cells of the task at hand.
unsafe impl<F: Sync> Sync for Job<'_, F> {}

/// What one thread needs.
struct Worker<'a, F: Fold> {
    machine: Machine<'a>,
    at: SmallVec<[isize; 8]>,
    state: F::State,
    results: Vec<F::Acc>,
    /// The values of a chunk that is no single tile.
    values: Vec<F::Value>,
}

impl<'a, F: Fold> Job<'a, F> {
    fn worker(&self) -> Worker<'a, F> {
        Worker {
            machine: Machine::new(self.plan),
            at: SmallVec::from_elem(0, self.walks.len()),
            state: F::State::default(),
            results: Vec::new(),
            values: Vec::new(),
        }
    }

    fn walks(&self) -> &[Walk] {
        self.walks
    }

    /// Computes the `cells` cells that begin at the worker's place.
    fn run(&self, worker: &mut Worker<'_, F>, cells: usize) {
        worker.results.clear();
        worker.results.resize(cells, self.fold.filler());
        match self.way {
            Way::Along => self.along(worker, cells),
            Way::Across => self.across(worker, cells),
        }
        let place = worker.at[self.walks.len() - 2];
        let (place_step, step) = (self.place.strides[self.axis], self.out.strides[self.axis]);
        let mut at = worker.at[self.walks.len() - 1];
        for (c, acc) in worker.results.iter_mut().enumerate() {
            *acc = self
                .fold
                .placed(*acc, (place + c as isize * place_step) as i64);
            // SAFETY: the sink has a place for every cell, of this type, and no other task writes this one.
            unsafe {
                if self.sink.is_output {
                    *self.sink.first.cast::<F::Result>().offset(at) = self.fold.finish(*acc);
                } else {
                    *self.sink.first.cast::<F::Acc>().offset(at) = *acc;
                }
            }
            at += step;
        }
    }

    fn along(&self, worker: &mut Worker<'_, F>, cells: usize) {
        let slot = self.program.outs()[0];
        let last = self.chunk_axis + self.chunk.len() - 1;
        if let [n] = *self.chunk {
            let tile = Tile {
                rows: cells,
                cols: n,
            };
            let steps: SmallVec<[Steps; 8]> = self
                .walks
                .iter()
                .map(|w| w.steps(Some(self.axis), last))
                .collect();
            // SAFETY: layouts lie within their buffers, and so does the tile; it is larger than the plan's room only
            // where the program is a load of dense tiles.
            unsafe { worker.machine.run(tile, &worker.at, &steps) };
            // SAFETY: the machine holds the value of the tile, dense, until its next run.
            let rows =
                unsafe { Rows::new(worker.machine.value(slot).cast(), n as isize, cells, n) };
            self.fold.along(rows, &mut worker.results);
            return;
        }
        // Gather the chunk from its rectangles.
        let size = size_of::<F::Value>();
        worker.values.clear();
        worker.values.reserve(self.n);
        let to = worker.values.as_mut_ptr().cast::<u8>();
        let steps: SmallVec<[Steps; 8]> = self
            .walks
            .iter()
            .map(|w| w.steps(Some(last - 1), last))
            .collect();
        let rectangle = Tile {
            rows: self.chunk[self.chunk.len() - 2],
            cols: self.chunk[self.chunk.len() - 1],
        };
        let at = worker.at.clone();
        for index in 0..self.n / rectangle.len() {
            self.place_outer(&at, index, 2, &mut worker.at);
            let to = to.wrapping_add(index * rectangle.len() * size);
            worker.machine.want(slot, to);
            // SAFETY: as above; the place wanted is the rectangle's part of the values.
            unsafe { worker.machine.run(rectangle, &worker.at, &steps) };
            let from = worker.machine.value(slot);
            if from != to.cast_const() {
                // SAFETY: the rectangle's values are dense at `from`, which is no part of the values.
                unsafe { std::ptr::copy_nonoverlapping(from, to, rectangle.len() * size) };
            }
        }
        worker.at = at;
        // SAFETY: the rectangles have filled all `n` values.
        unsafe { worker.values.set_len(self.n) };
        // SAFETY: they are one row.
        let rows = unsafe { Rows::new(worker.values.as_ptr(), 0, 1, self.n) };
        self.fold.along(rows, &mut worker.results);
    }

    fn across(&self, worker: &mut Worker<'_, F>, cells: usize) {
        let slot = self.program.outs()[0];
        let last = self.chunk_axis + self.chunk.len() - 1;
        let rows = self.chunk[self.chunk.len() - 1];
        let at = worker.at.clone();
        let steps: SmallVec<[Steps; 8]> = self
            .walks
            .iter()
            .map(|w| w.steps(Some(last), self.axis))
            .collect();
        let mut first = 0;
        for index in 0..self.n / rows {
            self.place_outer(&at, index, 1, &mut worker.at);
            if self.direct {
                let walk = &self.walks[0];
                let from = walk.at(worker.at[0]).cast_const();
                // SAFETY: the program's value is the input, whose layout lies within its buffer.
                let tile = unsafe { Rows::new(from.cast(), walk.strides[last], rows, cells) };
                self.fold.across(&mut worker.state, first, tile);
                first += rows;
                continue;
            }
            for start in (0..rows).step_by(self.tile.rows) {
                let tile = Tile {
                    rows: self.tile.rows.min(rows - start),
                    cols: cells,
                };
                // SAFETY: layouts lie within their buffers, and so does the tile.
                unsafe { worker.machine.run(tile, &worker.at, &steps) };
                let value = worker.machine.value(slot).cast();
                // SAFETY: the machine holds the value of the tile, dense, until its next run.
                let values = unsafe { Rows::new(value, cells as isize, tile.rows, cells) };
                self.fold.across(&mut worker.state, first, values);
                first += tile.rows;
                for (at, walk) in worker.at.iter_mut().zip(self.walks) {
                    *at += tile.rows as isize * walk.strides[last];
                }
            }
        }
        worker.at = at;
        self.fold
            .across_result(&mut worker.state, self.n, &mut worker.results);
    }

    /// Moves to the `index`th position of the chunk's axes but the last `inner`.
    fn place_outer(&self, from: &[isize], mut index: usize, inner: usize, at: &mut [isize]) {
        at.copy_from_slice(from);
        for (k, &dim) in self.chunk.iter().enumerate().rev().skip(inner) {
            let i = (index % dim) as isize;
            index /= dim;
            for (at, walk) in at.iter_mut().zip(self.walks) {
                *at += i * walk.strides[self.chunk_axis + k];
            }
        }
    }
}

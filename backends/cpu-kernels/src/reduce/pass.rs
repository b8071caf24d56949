//! Walking a domain chunk by chunk.
//!
//! A *cell* is one chunk of one result. Cells are independent of each other, so they are computed in any order and
//! by any thread: several side by side, along the chunk's values where those lie densely in memory (`along`), or across
//! them where the cells do (`across`). Each way gives the same bits.

use super::fold::{Fold, Rows};
use super::tree::{CHUNK, Chunks, pairwise};
use crate::interp::grid::Grid;
use crate::interp::machine::{BLOCK, Domain, Machine, Plan, Walk, address, source_layouts};
use crate::interp::scratch::Scratch;
use crate::interp::small::{self, Small};
use crate::interp::tile::{Steps, Tile};
use crate::par::Par;
use crate::tasks;
use rustarr_interface::{
    Args, AxisMask, Code, Dims, Error, Instr, Layout, Program, Result, Strides, collapse,
};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bytes of a row of accumulators at most, when walking across chunks: so many that the rows of all lanes fit the
/// first-level cache beside a tile's values, and, where values are read as they lie in memory, that the processor sees
/// long streams and the rows fit the second-level cache.
const ROW: usize = 1024;
const LONG_ROW: usize = 8 * ROW;

/// Combinations of results between two questions whether to stop.
const POLL: usize = 1 << 12;

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
pub(super) fn run(call: &Call<'_>, fold: &dyn Fold) -> Result<()> {
    let shape = call.args.shape;
    let output = &call.args.outputs[0];
    if small(call, fold) {
        return Ok(());
    }
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
    let count = outer * chunks.pieces;
    let row = width * fold.acc_size();
    let bytes = count.checked_mul(row);
    let mut partial = bytes.and_then(Scratch::zeroed).ok_or_else(|| {
        let what = format!(
            "no memory for {count} partial results over the shape {shape:?}; reduce it in parts"
        );
        Error::memory("reduce", what)
    })?;
    let sink = Sink {
        first: partial.ptr(),
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
    let accs = partial.ptr();
    let place = |n: usize| accs.wrapping_add(n * row);
    pairwise(count, |to, left, right| {
        if to % POLL == POLL - 1 {
            tasks::check("reduce")?;
        }
        // SAFETY: rows of results within the array; the one to the right is another than the place, which is not
        // behind the one on the left.
        unsafe {
            std::ptr::copy(place(left), place(to), row);
            if let Some(right) = right {
                fold.join(place(to), place(right), width);
            }
        }
        Ok(())
    })?;
    let to = address(output);
    let (itemsize, layout) = (output.dtype.itemsize(), output.layout);
    let len = layout.shape().last().copied().unwrap_or(1);
    let step = layout.strides().last().copied().unwrap_or(0);
    for index in (0..width).step_by(len) {
        let at = layout.position(index) - layout.offset();
        let accs = accs.wrapping_add(index * fold.acc_size());
        // SAFETY: a row along the last axis of the output, which lies within its buffer, and its results.
        unsafe { fold.finish(accs, len, to.wrapping_add(at * itemsize), step) };
    }
    Ok(())
}

/// Reduces few dense elements to one, which is a single chunk, if that is what is asked for.
fn small(call: &Call<'_>, fold: &dyn Fold) -> bool {
    #[repr(align(64))]
    struct Acc([u8; 64]);

    let args = &call.args;
    let n: usize = args.shape.iter().product();
    if n > small::ELEMENTS.min(CHUNK) || args.outputs[0].layout.size() != 1 {
        return false;
    }
    let mut small = Small::new();
    // SAFETY: input layouts lie within their buffers, and nothing is wanted elsewhere.
    if !unsafe { small.run(call.program, args, n, |_| std::ptr::null_mut()) } {
        return false;
    }
    let row = Rows {
        first: small.value(call.program.outs()[0]),
        step: 0,
        rows: 1,
        cols: n,
    };
    let mut acc = Acc([0; 64]);
    let acc = acc.0.as_mut_ptr();
    // SAFETY: the value has `n` elements, the accumulator at most 16 bytes, and the output one element.
    unsafe {
        fold.along(row, acc);
        fold.finish(acc, 1, address(&args.outputs[0]), 0);
    }
    true
}

/// The two ways through a cell's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Along,
    Across,
}

/// Computes the cells of a stretch. `kept_strides` are the sink's, over the kept axes.
fn pass(
    call: &Call<'_>,
    fold: &dyn Fold,
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
    let load = |program: &Program| {
        matches!(
            program.instrs(),
            [Instr {
                code: Code::Load(_),
                ..
            }]
        )
    };
    // The values are those of an input: they may be read as they lie, more than a block at a time.
    let plain = load(program) && inputs.first().is_some_and(|w| varies(&w));
    let direct = plain && inputs[0].strides[axis] == 1;
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
            let row = if direct { LONG_ROW } else { ROW };
            let cols = domain.dims[axis].min(row / fold.acc_size().max(4));
            Tile {
                rows: (BLOCK / cols).clamp(1, domain.dims[last]),
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
    let step = |w: &Walk| match way {
        Way::Along if chunk_dims.len() > 1 => w.steps(Some(last - 1), last),
        Way::Along => w.steps(Some(axis), last),
        Way::Across => w.steps(Some(last), axis),
    };
    let job = Job {
        fold,
        plan: &plan,
        program,
        way,
        tile,
        steps: domain.walks.iter().map(step).collect(),
        chunk: chunk_dims,
        chunk_axis: ncells,
        axis,
        walks: &domain.walks,
        place,
        out,
        sink,
        sink_size: match sink.is_output {
            true => args.outputs[0].dtype.itemsize(),
            false => fold.acc_size(),
        },
        n,
        itemsize: program.out_dtype(0).itemsize(),
        width,
        direct,
    };

    let tiles = grid.tiles();
    let per_task = (call.grain / (width * n * plan.weight())).max(1);
    // A logical reduction to one result is over as soon as one chunk decides it.
    let decided = AtomicBool::new(false);
    let may_stop = !sink.is_output && args.outputs[0].layout.size() == 1;
    let count = tiles.div_ceil(per_task);
    tasks::run(
        call.par.worth(count),
        "reduce",
        count,
        || job.worker(),
        |worker, task| {
            for t in task * per_task..tiles.min((task + 1) * per_task) {
                if may_stop && decided.load(Relaxed) {
                    return;
                }
                let cells = grid.tile(t, job.walks(), &mut worker.at).cols;
                job.run(worker, cells);
                // SAFETY: the worker has just computed so many results.
                if may_stop && unsafe { fold.decided(worker.results.ptr(), cells) } {
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
struct Job<'a> {
    fold: &'a dyn Fold,
    plan: &'a Plan<'a>,
    program: &'a Program,
    way: Way,
    /// Most rows and columns of the tiles that the program runs over, and the walks' steps in them.
    tile: Tile,
    steps: SmallVec<[Steps; 8]>,
    chunk: &'a [usize],
    /// The first axis of the chunk; the axes before are those of cells.
    chunk_axis: usize,
    /// The axis of cells along which a tile extends.
    axis: usize,
    walks: &'a [Walk],
    place: &'a Walk,
    out: &'a Walk,
    sink: Sink,
    /// Bytes of an element of the sink.
    sink_size: usize,
    /// Values of a chunk, and bytes of a value.
    n: usize,
    itemsize: usize,
    /// Most cells of a tile.
    width: usize,
    /// Whether the values are rows of cells as they lie in memory.
    direct: bool,
}

// SAFETY: the addresses in it are read by all threads and written only at the cells of the task at hand.
unsafe impl Sync for Job<'_> {}

/// What one thread needs.
struct Worker<'a> {
    machine: Machine<'a>,
    at: SmallVec<[isize; 8]>,
    /// Results of a tile's cells, the state across them, and the values of a chunk that is no single tile.
    results: Scratch,
    state: Scratch,
    values: Scratch,
}

impl<'a> Job<'a> {
    fn worker(&self) -> Worker<'a> {
        Worker {
            machine: Machine::new(self.plan),
            at: SmallVec::from_elem(0, self.walks.len()),
            results: Scratch::new(self.width * self.fold.acc_size()),
            state: Scratch::new(match self.way {
                Way::Across => self.fold.state_size(self.width),
                Way::Along => 0,
            }),
            values: Scratch::new(if self.chunk.len() > 1 {
                self.n * self.itemsize
            } else {
                0
            }),
        }
    }

    fn walks(&self) -> &[Walk] {
        self.walks
    }

    /// Computes the `cells` cells that begin at the worker's place.
    fn run(&self, worker: &mut Worker<'_>, cells: usize) {
        match self.way {
            Way::Along => self.along(worker, cells),
            Way::Across => self.across(worker, cells),
        }
        let [.., place, at] = worker.at[..] else {
            unreachable!("position and sink are walks")
        };
        let (place_step, step) = (self.place.strides[self.axis], self.out.strides[self.axis]);
        let accs = worker.results.ptr();
        let to = self
            .sink
            .first
            .wrapping_offset(at * self.sink_size as isize);
        // SAFETY: the results of all cells are there; the sink has a place for each, which no other task writes.
        unsafe {
            self.fold
                .place(accs, cells, place as i64, place_step as i64);
            if self.sink.is_output {
                self.fold.finish(accs, cells, to, step);
            } else {
                self.fold.store(accs, cells, to, step);
            }
        }
    }

    fn along(&self, worker: &mut Worker<'_>, cells: usize) {
        let slot = self.program.outs()[0];
        let results = worker.results.ptr();
        if let [n] = *self.chunk {
            let tile = Tile {
                rows: cells,
                cols: n,
            };
            // SAFETY: layouts lie within their buffers, and so does the tile; it is larger than the plan's room only
            // where the program is a load of dense tiles.
            unsafe { worker.machine.run(tile, &worker.at, &self.steps) };
            let rows = Rows {
                first: worker.machine.value(slot),
                step: n as isize,
                rows: cells,
                cols: n,
            };
            // SAFETY: the machine holds the value of the tile, dense, until its next run.
            unsafe { self.fold.along(rows, results) };
            return;
        }
        // Gather the chunk from its rectangles.
        let [.., rows, cols] = *self.chunk else {
            unreachable!("a chunk has at least one axis")
        };
        let (rectangle, bytes) = (Tile { rows, cols }, rows * cols * self.itemsize);
        let values = worker.values.ptr();
        let at = worker.at.clone();
        for index in 0..self.n / rectangle.len() {
            self.place_outer(&at, index, 2, &mut worker.at);
            let to = values.wrapping_add(index * bytes);
            worker.machine.want(slot, to);
            // SAFETY: as above; the place wanted is the rectangle's part of the values.
            unsafe { worker.machine.run(rectangle, &worker.at, &self.steps) };
            let from = worker.machine.value(slot);
            if from != to.cast_const() {
                // SAFETY: the rectangle's values are dense at `from`, which is no part of the values.
                unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
            }
        }
        worker.at = at;
        let row = Rows {
            first: values,
            step: 0,
            rows: 1,
            cols: self.n,
        };
        // SAFETY: the rectangles have filled all `n` values.
        unsafe { self.fold.along(row, results) };
    }

    fn across(&self, worker: &mut Worker<'_>, cells: usize) {
        let slot = self.program.outs()[0];
        let last = self.walks[0].strides.len() - 1;
        let rows = self.chunk[self.chunk.len() - 1];
        let state = worker.state.ptr();
        let at = worker.at.clone();
        let mut first = 0;
        for index in 0..self.n / rows {
            self.place_outer(&at, index, 1, &mut worker.at);
            if self.direct {
                let walk = &self.walks[0];
                let values = Rows {
                    first: walk.at(worker.at[0]),
                    step: walk.strides[last],
                    rows,
                    cols: cells,
                };
                // SAFETY: the program's value is the input, whose layout lies within its buffer.
                unsafe { self.fold.across(first, values, state) };
                first += rows;
                continue;
            }
            for start in (0..rows).step_by(self.tile.rows) {
                let tile = Tile {
                    rows: self.tile.rows.min(rows - start),
                    cols: cells,
                };
                // SAFETY: layouts lie within their buffers, and so does the tile.
                unsafe { worker.machine.run(tile, &worker.at, &self.steps) };
                let values = Rows {
                    first: worker.machine.value(slot),
                    step: cells as isize,
                    rows: tile.rows,
                    cols: cells,
                };
                // SAFETY: the machine holds the value of the tile, dense, until its next run.
                unsafe { self.fold.across(first, values, state) };
                first += tile.rows;
                for (at, walk) in worker.at.iter_mut().zip(self.walks) {
                    *at += tile.rows as isize * walk.strides[last];
                }
            }
        }
        worker.at = at;
        // SAFETY: the state has seen all `n` rows of so many columns, each of which has a result.
        unsafe {
            self.fold
                .across_result(self.n, cells, state, worker.results.ptr())
        };
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

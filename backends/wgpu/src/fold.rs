//! Reductions: cut into pieces of fixed size, folded level by level.

use std::sync::Arc;

use rustarr_interface::{Buffer, DType, Program, ProgramBuilder, Reduce, Scalar};
use smallvec::SmallVec;

use crate::fault::Fault;
use crate::launch::{Dispatch, Launcher, Work};
use crate::plan::{Box, Domain, View};
use crate::pool::Pool;
use crate::signature::{Form, GROUP, RUN, Signature, Task, register_words};

/// Elements that a single thread folds at most.
const SERIAL: usize = 64 * RUN as usize;
/// Elements that a group folds at most.
const GROUPED: usize = (GROUP * RUN) as usize;
/// From this depth on, groups are worth their barriers.
const DEEP: usize = 128;
/// With this many results, threads alone fill a device.
const WIDE: usize = 4096;

/// One level of a reduction.
pub(crate) struct Fold<'a> {
    pub reduce: Reduce,
    pub program: Program,
    pub params: &'a [Scalar],
    pub domain: Domain,
    pub inputs: Vec<View<'a>>,
    pub output: View<'a>,
    /// Whether neighbours in memory are, as a rule, combined with each other.
    pub inner_last: bool,
    /// Whether the inputs are the partial results of an earlier level.
    pub again: bool,
}

/// Scratch memory of one reduction, kept until its dispatches are submitted.
#[derive(Default)]
pub(crate) struct Scratch(Vec<Buffer>);

/// How the elements of a result are cut: the choice depends on sizes alone, so that
/// equal shapes combine in equal order.
struct Cut {
    group: bool,
    pieces: usize,
    piece: usize,
}

fn cut(results: usize, depth: usize, inner_last: bool) -> Cut {
    let group = depth >= DEEP && (inner_last || results < WIDE);
    let most = if group { GROUPED } else { SERIAL };
    let pieces = depth.div_ceil(most);
    Cut {
        group,
        pieces,
        piece: depth.div_ceil(pieces),
    }
}

/// The program of the later levels: it reads what the first one wrote.
fn reread(reduce: Reduce, dtype: DType) -> Program {
    let mut b = ProgramBuilder::new();
    let value = b.load(dtype);
    if locates(reduce) {
        b.load(DType::U32);
    }
    b.finish(&[value]).expect("a load is always legal")
}

pub(crate) fn locates(reduce: Reduce) -> bool {
    matches!(reduce, Reduce::ArgMin | Reduce::ArgMax)
}

impl<'a> Fold<'a> {
    /// Prepares the dispatches of all levels, in order. `limit` bounds the elements
    /// of one dispatch.
    pub fn prepare(
        &self,
        launcher: &Launcher,
        pool: &Arc<Pool>,
        limit: usize,
        scratch: &mut Scratch,
        into: &mut Vec<Dispatch>,
    ) -> Result<(), Fault> {
        let outer = self.domain.outer;
        let mut sizes: Vec<usize> = self.inputs.iter().map(View::itemsize).collect();
        sizes.push(self.output.itemsize());
        let pieces = self.domain.pieces(&sizes, limit, launcher.reach());
        let boxes = self.domain.boxes(&pieces);
        // Boxes come with the inner dimensions fastest: those of one set of results
        // stand together.
        for parts in boxes.chunk_by(|a, b| a.start[..outer] == b.start[..outer]) {
            self.prepare_results(parts, launcher, pool, limit, scratch, into)?;
        }
        Ok(())
    }

    fn prepare_results(
        &self,
        parts: &[Box],
        launcher: &Launcher,
        pool: &Arc<Pool>,
        limit: usize,
        scratch: &mut Scratch,
        into: &mut Vec<Dispatch>,
    ) -> Result<(), Fault> {
        let outer = self.domain.outer;
        let results = parts[0].size(0..outer);
        let cuts: Vec<Cut> = parts
            .iter()
            .map(|p| cut(results, p.size(outer..p.dims.len()), self.inner_last))
            .collect();
        let columns: usize = cuts.iter().map(|c| c.pieces).sum();
        let output = self.output.within(&parts[0]);
        if columns == 1 {
            let task = self.task(&cuts[0], true);
            into.push(self.dispatch(launcher, task, &parts[0], &cuts[0], vec![output])?);
            return Ok(());
        }
        // Partial results: a row per result, a column per piece.
        let dtype = self.program.out_dtype(0);
        let mut kinds: SmallVec<[DType; 2]> = SmallVec::from_elem(dtype, 1);
        if locates(self.reduce) {
            kinds.push(DType::U32);
        }
        let mut buffers = Vec::new();
        for kind in &kinds {
            let bytes = (results * columns * 4 * register_words(*kind)) as u64;
            buffers.push(Buffer::new(pool.alloc(bytes)?));
        }
        let mut row: SmallVec<[isize; 6]> = SmallVec::from_elem(0, outer);
        let mut step = columns as isize;
        for d in (0..outer).rev() {
            row[d] = step;
            step *= parts[0].dims[d] as isize;
        }
        let view = |n: usize, offset: usize, strides: &[isize], run: usize| View {
            buffer: &buffers[n],
            dtype: kinds[n],
            form: Form::Register,
            offset,
            strides: SmallVec::from_slice(strides),
            run,
            written: true,
        };
        let mut column = 0;
        for (part, cut) in parts.iter().zip(&cuts) {
            let outputs = (0..kinds.len())
                .map(|n| view(n, column, &row, cut.pieces))
                .collect();
            into.push(self.dispatch(launcher, self.task(cut, false), part, cut, outputs)?);
            column += cut.pieces;
        }
        let mut strides = row.clone();
        strides.push(1);
        let mut dims: SmallVec<[usize; 6]> = SmallVec::from_slice(&parts[0].dims[..outer]);
        dims.push(columns);
        let inputs: Vec<View<'_>> = (0..kinds.len())
            .map(|n| View {
                written: false,
                ..view(n, 0, &strides, 1)
            })
            .collect();
        let mut all: SmallVec<[SmallVec<[isize; 6]>; 6]> =
            SmallVec::from_elem(strides.clone(), kinds.len());
        all.push(output.strides.clone());
        let next = Fold {
            reduce: self.reduce,
            program: reread(self.reduce, dtype),
            params: &[],
            domain: Domain {
                origin: SmallVec::from_elem(usize::MAX, dims.len()),
                dims,
                outer,
                strides: all,
                position: SmallVec::from_elem(0, 1),
            },
            inputs,
            output,
            inner_last: true,
            again: true,
        };
        next.prepare(launcher, pool, limit, scratch, into)?;
        scratch.0.extend(buffers);
        Ok(())
    }

    fn task(&self, cut: &Cut, done: bool) -> Task {
        Task::Fold {
            reduce: self.reduce,
            group: cut.group,
            again: self.again,
            done,
        }
    }

    fn dispatch(
        &self,
        launcher: &Launcher,
        task: Task,
        part: &Box,
        cut: &Cut,
        outputs: Vec<View<'_>>,
    ) -> Result<Dispatch, Fault> {
        let mut views: Vec<View<'_>> = self.inputs.iter().map(|v| v.within(part)).collect();
        views.extend(outputs);
        let signature = Signature::new(&self.program, task, &self.domain);
        let work = Work {
            domain: &self.domain,
            part,
            params: self.params,
            pieces: (cut.pieces as u32, cut.piece as u32),
            seeds: &[],
        };
        launcher.prepare(signature, &mut views, &work)
    }
}

//! Random numbers: one thread per block of the counter-based generator.

use std::fmt::Write;

use rustarr_interface::{DType, DTypeSet, Kinds, Operand, Program, Random};
use smallvec::SmallVec;

use crate::fault::Fault;
use crate::launch::{Dispatch, Launcher, Work};
use crate::plan::{Box, Domain, View};
use crate::signature::{Drawn, Signature, Task};

/// Numbers of these dtypes are drawn on the device, given what it computes with.
/// Normal numbers of `float64` need functions that are left to the host.
pub(crate) fn dtypes(native: DTypeSet) -> DTypeSet {
    let drawn = |d: &DType| d.is(Kinds::INT) || *d == DType::F32;
    native
        .iter()
        .filter(drawn)
        .fold(DTypeSet::EMPTY, DTypeSet::with)
}

/// What the kernel is compiled for; `None` for numbers that it does not draw.
fn drawn(random: Random, dtype: DType) -> Option<Drawn> {
    match random {
        Random::Bits if matches!(dtype, DType::U32 | DType::U64) => Some(Drawn::Bits),
        Random::Uniform if dtype == DType::F32 => Some(Drawn::Uniform),
        Random::Normal if dtype == DType::F32 => Some(Drawn::Normal),
        Random::Integers { .. } if dtype.is(Kinds::INT) => Some(Drawn::Integers),
        _ => None,
    }
}

impl Drawn {
    /// Elements that the four words of a block make.
    pub fn lanes(self, dtype: DType) -> usize {
        match self {
            Drawn::Bits => 16 / dtype.itemsize(),
            Drawn::Uniform | Drawn::Normal => 4,
            Drawn::Integers => 2,
        }
    }

    /// The values `v0..` of one thread's elements, from the block `b`.
    pub fn values(self, dtype: DType, low: &str, range: &str, out: &mut String) {
        let pairs = ["b.xy", "b.zw"];
        let words = ["b.x", "b.y", "b.z", "b.w"];
        let join = |w: &str| format!("(u64({w}.x) | (u64({w}.y) << 32u))");
        for lane in 0..self.lanes(dtype) {
            let value = match self {
                Drawn::Bits if dtype == DType::U64 => join(pairs[lane]),
                Drawn::Bits => words[lane].to_owned(),
                Drawn::Uniform => format!("random_unit_f32({})", words[lane]),
                Drawn::Normal => {
                    let part = ["x", "y"][lane % 2];
                    format!("random_normal_f32({}).{part}", pairs[lane / 2])
                }
                Drawn::Integers => {
                    let _ = writeln!(
                        out,
                        "let r{lane} = random_between({}, {low}, {range});",
                        pairs[lane]
                    );
                    let word = format!("r{lane}");
                    match dtype {
                        DType::U64 => join(&word),
                        DType::I64 => format!("bitcast<i64>({})", join(&word)),
                        _ if dtype.is(Kinds::SIGNED) => format!("bitcast<i32>({word}.x)"),
                        _ => format!("{word}.x"),
                    }
                }
            };
            let _ = writeln!(out, "let v{lane} = {value};");
        }
    }
}

/// Prepares the dispatches that fill the output, at most `limit` elements each; `None`
/// for numbers that the device does not draw.
pub(crate) fn prepare(
    launcher: &Launcher,
    random: Random,
    key: u64,
    counter: u64,
    output: &Operand<'_>,
    limit: usize,
) -> Result<Option<Vec<Dispatch>>, Fault> {
    let Some(drawn) = drawn(random, output.dtype) else {
        return Ok(None);
    };
    let lanes = drawn.lanes(output.dtype);
    let (low, range) = match random {
        Random::Integers { low, range } => (low as u64, range as u64),
        _ => (0, 0),
    };
    let n = output.layout.size();
    let window = (launcher.reach() / 2) as usize / output.dtype.itemsize();
    let part = limit.min(window).next_multiple_of(lanes);
    let domain = Domain {
        dims: SmallVec::from_elem(n, 1),
        outer: 1,
        origin: SmallVec::from_elem(usize::MAX, 1),
        strides: SmallVec::from_elem(SmallVec::from_elem(1, 1), 1),
        position: SmallVec::new(),
    };
    let mut dispatches = Vec::new();
    for start in (0..n).step_by(part) {
        let part = Box {
            start: SmallVec::from_elem(start, 1),
            dims: SmallVec::from_elem(part.min(n - start), 1),
        };
        let first = counter.wrapping_add((start / lanes) as u64);
        let seeds = [first, key, low, range];
        let program = Program::fill(output.dtype);
        let signature = Signature::new(&program, Task::Draw(drawn), &domain);
        let mut views = [View::new(output, &[1], true).within(&part)];
        let work = Work {
            domain: &domain,
            part: &part,
            params: &[],
            pieces: (1, 1),
            seeds: &seeds,
        };
        dispatches.push(launcher.prepare(signature, &mut views, &work)?);
    }
    Ok(Some(dispatches))
}

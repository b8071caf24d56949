//! Random programs. They are drawn from the oracle's state alone, so that one seed is one program,
//! whatever runs it.

use super::array::{Fold, View};
use super::program::{Id, Model, Operand, Step, ViewKind};
use super::random::Rng;
use super::value::{Value, int_range, largest, round};
use num_complex::Complex64;
use rustarr::Weak;
use rustarr_interface::{DType, Kinds, Op};

/// Contexts of every configuration.
pub const CONTEXTS: usize = 2;

const MOST_ELEMENTS: usize = 48;
const MOST_DIMENSIONS: usize = 4;
const MOST_ARRAYS: usize = 12;

struct Generator {
    rng: Rng,
    model: Model,
    next: Id,
    /// The few dtypes of this program, so that arrays meet.
    dtypes: Vec<DType>,
    steps: Vec<Step>,
}

/// The program of a seed.
pub fn generate(seed: u64) -> Vec<Step> {
    let mut rng = Rng::new(seed);
    let dtypes = (0..1 + rng.below(3))
        .map(|_| rng.pick(&DType::ALL))
        .collect();
    let length = 6 + rng.below(40);
    let mut g = Generator {
        rng,
        model: Model::default(),
        next: 0,
        dtypes,
        steps: Vec::new(),
    };
    while g.steps.len() < length {
        if let Some(step) = g.draw() {
            let drop = g.temporary(&step);
            g.push(step);
            // Most operands are temporaries that their owner lets go at once.
            drop.into_iter().for_each(|of| g.push(Step::Drop { of }));
        }
    }
    g.steps
}

impl Generator {
    fn push(&mut self, step: Step) {
        if self.model.step(&step).is_ok() {
            self.steps.push(step);
        }
    }

    fn id(&mut self) -> Id {
        self.next += 1;
        self.next
    }

    fn any(&mut self) -> Option<Id> {
        let ids: Vec<Id> = self.model.arrays.keys().copied().collect();
        if ids.is_empty() {
            return None;
        }
        // Recent ones more often: they may still be pending.
        let skewed = self.rng.below(ids.len()).max(self.rng.below(ids.len()));
        Some(ids[skewed])
    }

    fn temporary(&mut self, step: &Step) -> Vec<Id> {
        let used: Vec<Id> = match step {
            Step::Apply { args, .. } => args
                .iter()
                .filter_map(|a| {
                    if let Operand::Array(id) = a {
                        Some(*id)
                    } else {
                        None
                    }
                })
                .collect(),
            Step::Cast { of, .. }
            | Step::Reduce { of, .. }
            | Step::View { of, .. }
            | Step::Copy { of, .. } => {
                vec![*of]
            }
            Step::Assign { from, .. } => vec![*from],
            _ => vec![],
        };
        let mut dropped: Vec<Id> = used.into_iter().filter(|_| self.rng.chance(30)).collect();
        dropped.sort_unstable();
        dropped.dedup();
        dropped
    }

    fn dtype(&mut self) -> DType {
        if self.rng.chance(90) {
            self.rng.pick(&self.dtypes.clone())
        } else {
            self.rng.pick(&DType::ALL)
        }
    }

    fn shape(&mut self) -> Vec<usize> {
        loop {
            let ndim = self.rng.pick(&[0, 1, 1, 1, 2, 2, 2, 3, 4]);
            let shape: Vec<usize> = (0..ndim)
                .map(|_| self.rng.pick(&[0, 1, 1, 2, 2, 3, 3, 4, 5, 6]))
                .collect();
            if shape.iter().product::<usize>() <= MOST_ELEMENTS {
                return shape;
            }
        }
    }

    fn values(&mut self, dtype: DType, n: usize) -> Vec<Value> {
        (0..n).map(|_| value(&mut self.rng, dtype)).collect()
    }

    fn draw(&mut self) -> Option<Step> {
        if self.model.arrays.len() >= MOST_ARRAYS {
            return self.any().map(|of| Step::Drop { of });
        }
        if self.model.arrays.is_empty() || self.rng.chance(10) {
            return Some(self.create());
        }
        let roll = self.rng.below(100);
        match roll {
            0..=19 => self.draw_view(),
            20..=44 => self.draw_apply(),
            45..=52 => self.draw_in_place(),
            53..=64 => self.draw_assign(),
            65..=70 => {
                let of = self.any()?;
                Some(Step::Copy { id: self.id(), of })
            }
            71..=74 => {
                let (of, dtype) = (self.any()?, self.dtype());
                Some(Step::Cast {
                    id: self.id(),
                    of,
                    dtype,
                })
            }
            75..=80 => self.draw_reduce(),
            81..=83 => {
                let of = self.any()?;
                Some(Step::Clone { id: self.id(), of })
            }
            84..=85 => {
                let (of, ctx) = (self.any()?, self.rng.below(CONTEXTS));
                Some(Step::Relabel {
                    id: self.id(),
                    of,
                    ctx,
                })
            }
            86 => {
                let of = self.any()?;
                Some(Step::ReadOnly { id: self.id(), of })
            }
            87..=93 => self.draw_outside(),
            94 => self.any().map(|of| Step::Realise { of }),
            95..=96 => self.any().map(|of| Step::Read { of }),
            _ => self.any().map(|of| Step::Drop { of }),
        }
    }

    fn create(&mut self) -> Step {
        let (id, ctx, dtype, shape) = (
            self.id(),
            self.rng.below(CONTEXTS),
            self.dtype(),
            self.shape(),
        );
        let size = shape.iter().product();
        match self.rng.below(10) {
            0 => Step::Full {
                id,
                ctx,
                dtype,
                shape,
                value: value(&mut self.rng, dtype),
            },
            1 | 2 => {
                let values = self.values(dtype, size);
                let (memory, writable) = (self.id(), self.rng.chance(85));
                Step::Foreign {
                    id,
                    ctx,
                    memory,
                    dtype,
                    shape,
                    values,
                    writable,
                }
            }
            _ => Step::New {
                id,
                ctx,
                dtype,
                values: self.values(dtype, size),
                shape,
            },
        }
    }

    fn draw_view(&mut self) -> Option<Step> {
        let of = self.any()?;
        let x = self.model.arrays[&of].clone();
        let kind = self.view_kind(&x)?;
        Some(Step::View {
            id: self.id(),
            of,
            kind,
        })
    }

    fn view_kind(&mut self, x: &View) -> Option<ViewKind> {
        let ndim = x.shape.len();
        let axis = if ndim > 0 { self.rng.below(ndim) } else { 0 };
        match self.rng.below(12) {
            0..=3 if ndim > 0 => Some(self.slice(axis, x.shape[axis])),
            4 if ndim > 0 && x.shape[axis] > 0 => Some(ViewKind::Select {
                axis,
                index: self.rng.below(x.shape[axis]),
            }),
            5 if ndim > 0 => Some(ViewKind::Flip { axis }),
            6 | 7 if ndim > 1 => {
                let mut axes: Vec<usize> = (0..ndim).collect();
                for i in (1..ndim).rev() {
                    axes.swap(i, self.rng.below(i + 1));
                }
                Some(ViewKind::Permute { axes })
            }
            8 if ndim < MOST_DIMENSIONS => Some(ViewKind::NewAxis {
                axis: self.rng.below(ndim + 1),
            }),
            9 => {
                let mut shape = x.shape.clone();
                for dim in shape.iter_mut().filter(|d| **d == 1) {
                    *dim = self.rng.pick(&[1, 2, 3, 0]);
                }
                if ndim < MOST_DIMENSIONS && self.rng.chance(50) {
                    shape.insert(0, self.rng.pick(&[1, 2, 3]));
                }
                (shape.iter().product::<usize>() <= MOST_ELEMENTS)
                    .then_some(ViewKind::Broadcast { shape })
            }
            10 if ndim > 1 => {
                let (a, b) = (axis, (axis + 1 + self.rng.below(ndim - 1)) % ndim);
                let k = self.rng.below(5) as isize - 2;
                let reach = (-k).max(0) as usize <= x.shape[a] && k.max(0) as usize <= x.shape[b];
                reach.then_some(ViewKind::Diagonal { k, a, b })
            }
            _ => Some(ViewKind::Reshape {
                shape: self.factors(x.size()),
            }),
        }
    }

    fn slice(&mut self, axis: usize, dim: usize) -> ViewKind {
        if dim == 0 || self.rng.chance(5) {
            return ViewKind::Slice {
                axis,
                start: 0,
                step: 1,
                len: 0,
            };
        }
        let step: isize = self.rng.pick(&[1, 1, 1, 2, 3, -1, -1, -2]);
        let start = if self.rng.chance(40) {
            if step > 0 { 0 } else { dim - 1 }
        } else {
            self.rng.below(dim)
        };
        let room = if step > 0 { dim - 1 - start } else { start };
        let most = room / step.unsigned_abs() + 1;
        let len = if self.rng.chance(60) {
            most
        } else {
            1 + self.rng.below(most)
        };
        ViewKind::Slice {
            axis,
            start,
            step,
            len,
        }
    }

    /// A random shape of `size` elements.
    fn factors(&mut self, size: usize) -> Vec<usize> {
        let mut shape = Vec::new();
        let mut rest = size;
        while shape.len() + 1 < MOST_DIMENSIONS && rest != 1 && self.rng.chance(70) {
            if rest == 0 {
                shape.push(self.rng.below(3));
                continue;
            }
            let divisors: Vec<usize> = (1..=rest).filter(|d| rest.is_multiple_of(*d)).collect();
            let dim = self.rng.pick(&divisors);
            shape.push(dim);
            rest /= dim;
        }
        if rest != 1 || self.rng.chance(20) || (size == 0 && !shape.contains(&0)) {
            shape.push(rest);
        }
        shape
    }

    /// An operand for arrays of `shape`: mostly an array that broadcasts with it.
    fn partner(&mut self, of: Id, op: Op) -> Option<Operand> {
        let shape = self.model.arrays[&of].shape.clone();
        if self.rng.chance(25) {
            return Some(Operand::Scalar(self.scalar(op)));
        }
        let fits: Vec<Id> = self
            .model
            .arrays
            .iter()
            .filter(|(_, v)| {
                super::array::broadcast(&[&v.shape, &shape])
                    .is_some_and(|s| s.iter().product::<usize>() <= MOST_ELEMENTS)
            })
            .map(|(id, _)| *id)
            .collect();
        // Now and then one that does not fit: the error must leave everything as it is.
        if self.rng.chance(2) {
            self.any()
        } else {
            Some(self.rng.pick(&fits))
        }
        .map(Operand::Array)
    }

    fn scalar(&mut self, op: Op) -> Weak {
        match self.rng.below(12) {
            0 => Weak::Bool(self.rng.chance(50)),
            1..=6 => {
                let small = self.rng.below(7) as i128 - (if op == Op::Pow { 0 } else { 2 });
                if self.rng.chance(5) {
                    self.rng.pick(&[
                        Weak::Int(300),
                        Weak::Int(-1),
                        Weak::Int(1 << 40),
                        Weak::Int(1 << 70),
                        Weak::HugeInt(1e39),
                        Weak::HugeInt(f64::NEG_INFINITY),
                    ])
                } else {
                    Weak::Int(small)
                }
            }
            7..=10 => {
                Weak::Float(
                    self.rng
                        .pick(&[0.5, 2.0, -1.5, 0.0, f64::INFINITY, f64::NAN, 3.0]),
                )
            }
            _ => Weak::Complex(Complex64::new(
                self.rng.pick(&[0.0, 1.0, -2.0]),
                self.rng.pick(&[0.0, 1.0]),
            )),
        }
    }

    /// An operation that is mostly legal for the dtype.
    fn op(&mut self, arity: usize, dtype: DType) -> Op {
        loop {
            let row = &Op::TABLE[self.rng.below(Op::TABLE.len())];
            let common = [
                Op::Add,
                Op::Multiply,
                Op::Subtract,
                Op::Maximum,
                Op::Negative,
                Op::Square,
            ];
            let op = if self.rng.chance(50) {
                self.rng.pick(&common)
            } else {
                row.op
            };
            let legal = op.result(super::promote::compute(op, dtype)).is_some();
            if op.info().arity == arity && (legal || self.rng.chance(3)) {
                return op;
            }
        }
    }

    fn draw_apply(&mut self) -> Option<Step> {
        let x = self.any()?;
        let dtype = self.model.arrays[&x].dtype();
        let args = match self.rng.below(10) {
            0..=2 => vec![Operand::Array(x)],
            3 => {
                let mask = self
                    .model
                    .arrays
                    .iter()
                    .filter(|(_, v)| v.dtype() == DType::Bool)
                    .map(|(id, _)| *id)
                    .collect::<Vec<_>>();
                let mask = if mask.is_empty() {
                    x
                } else {
                    self.rng.pick(&mask)
                };
                let (a, b) = (
                    self.partner(mask, Op::Select)?,
                    self.partner(mask, Op::Select)?,
                );
                vec![Operand::Array(mask), a, b]
            }
            _ => {
                let y = self.partner(x, Op::Add)?;
                if self.rng.chance(70) {
                    vec![Operand::Array(x), y]
                } else {
                    vec![y, Operand::Array(x)]
                }
            }
        };
        let op = if args.len() == 3 {
            Op::Select
        } else {
            self.op(args.len(), dtype)
        };
        // Every array must broadcast with every other within the bound on size.
        let shapes: Vec<Vec<usize>> = args
            .iter()
            .filter_map(|a| match a {
                Operand::Array(id) => Some(self.model.arrays[id].shape.clone()),
                Operand::Scalar(_) => None,
            })
            .collect();
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        let size = super::array::broadcast(&shapes).map_or(0, |s| s.iter().product());
        (size <= MOST_ELEMENTS && self.settled(op, &args)).then(|| Step::Apply {
            id: self.id(),
            op,
            args,
        })
    }

    /// Whether it is certain that the operation succeeds or fails: no exponent is uncertain.
    fn settled(&self, op: Op, args: &[Operand]) -> bool {
        op != Op::Pow
            || args.iter().all(|a| match a {
                Operand::Array(id) => self.model.arrays[id].values().iter().all(Value::is_exact),
                Operand::Scalar(_) => true,
            })
    }

    fn draw_in_place(&mut self) -> Option<Step> {
        let to = self.any()?;
        let dtype = self.model.arrays[&to].dtype();
        let op = self.op(2, dtype);
        let from = self.partner(to, op)?;
        self.settled(op, &[Operand::Array(to), from])
            .then_some(Step::InPlace { op, to, from })
    }

    fn draw_assign(&mut self) -> Option<Step> {
        let to = self.any()?;
        let target = self.model.arrays[&to].clone();
        let fits: Vec<Id> = self
            .model
            .arrays
            .iter()
            .filter(|(_, v)| v.broadcast_to(&target.shape).is_some())
            .map(|(id, _)| *id)
            .collect();
        // Parts of one array into another part of it: the overlaps.
        let own: Vec<Id> = fits
            .iter()
            .copied()
            .filter(|id| std::rc::Rc::ptr_eq(&self.model.arrays[id].cells, &target.cells))
            .collect();
        let from = match self.rng.below(20) {
            0 => self.any()?,
            1..=8 if !own.is_empty() => self.rng.pick(&own),
            _ => self.rng.pick(&fits),
        };
        Some(Step::Assign { to, from })
    }

    fn draw_reduce(&mut self) -> Option<Step> {
        let of = self.any()?;
        let (ndim, fold) = (
            self.model.arrays[&of].shape.len(),
            self.rng.pick(&Fold::ALL),
        );
        let axes: Vec<usize> = match fold {
            Fold::ArgMin | Fold::ArgMax if ndim > 0 && self.rng.chance(60) => {
                vec![self.rng.below(ndim)]
            }
            Fold::ArgMin | Fold::ArgMax => (0..ndim).collect(),
            _ => (0..ndim).filter(|_| self.rng.chance(60)).collect(),
        };
        // What an empty array is reduced to need not be empty, nor small.
        let shape = &self.model.arrays[&of].shape;
        let kept = (0..ndim).filter(|a| !axes.contains(a)).map(|a| shape[a]);
        if kept.product::<usize>() > MOST_ELEMENTS {
            return None;
        }
        Some(Step::Reduce {
            id: self.id(),
            fold,
            of,
            axes,
            keepdims: self.rng.chance(40),
        })
    }

    /// Steps in which memory is shared with the outside.
    fn draw_outside(&mut self) -> Option<Step> {
        let exports: Vec<Id> = self.model.exports.keys().copied().collect();
        let memories: Vec<Id> = self.model.memories.keys().copied().collect();
        match self.rng.below(8) {
            0 | 1 => {
                let of = self.any()?;
                Some(Step::Export { id: self.id(), of })
            }
            2 if !exports.is_empty() => {
                let export = self.rng.pick(&exports);
                let view = self.model.exports[&export].clone();
                if view.read_only || view.repeats() || view.size() == 0 {
                    return None;
                }
                let (index, value) = (
                    self.rng.below(view.size()),
                    value(&mut self.rng, view.dtype()),
                );
                Some(Step::ExportWrite {
                    export,
                    index,
                    value,
                })
            }
            3 if !exports.is_empty() => Some(Step::ExportRead {
                export: self.rng.pick(&exports),
            }),
            4 if !exports.is_empty() => Some(Step::DropExport {
                export: self.rng.pick(&exports),
            }),
            5 if !exports.is_empty() => {
                let (export, ctx) = (self.rng.pick(&exports), self.rng.below(CONTEXTS));
                Some(Step::Adopt {
                    id: self.id(),
                    ctx,
                    export,
                })
            }
            6 if !memories.is_empty() => {
                let memory = self.rng.pick(&memories);
                let size = self.model.memories[&memory].size();
                if size == 0 {
                    return None;
                }
                let ViewKind::Slice {
                    start, step, len, ..
                } = self.slice(0, size)
                else {
                    return None;
                };
                let ctx = self.rng.below(CONTEXTS);
                Some(Step::ForeignAgain {
                    id: self.id(),
                    ctx,
                    memory,
                    start,
                    step,
                    len,
                })
            }
            _ if !memories.is_empty() => {
                let memory = self.rng.pick(&memories);
                let flat = &self.model.memories[&memory];
                let (size, dtype) = (flat.size(), flat.dtype());
                if size == 0 {
                    return None;
                }
                let index = self.rng.below(size);
                Some(Step::OwnerWrite {
                    memory,
                    index,
                    value: value(&mut self.rng, dtype),
                })
            }
            _ => None,
        }
    }
}

/// A random element: mostly small whole numbers, on which arithmetic is exact, and now and then a special one.
fn value(rng: &mut Rng, dtype: DType) -> Value {
    match dtype.kind() {
        Kinds::BOOL => rng.chance(50).into(),
        Kinds::FLOAT => float(rng, dtype).into(),
        Kinds::COMPLEX => Complex64::new(float(rng, dtype), float(rng, dtype)).into(),
        _ => {
            let (low, high) = int_range(dtype);
            let v = match rng.below(10) {
                0 => rng.pick(&[low, low + 1, high, high - 1]),
                1 => (rng.bits() as i128).clamp(low, high),
                _ => rng.below(12) as i128 - 4,
            };
            v.clamp(low, high).into()
        }
    }
}

fn float(rng: &mut Rng, dtype: DType) -> f64 {
    match rng.below(16) {
        0 => rng.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
        1 => rng.pick(&[-0.0, 0.0, largest(dtype), -largest(dtype)]),
        2 | 3 => round(dtype, rng.below(1000) as f64 / 37.0 - 10.0),
        4 | 5 => rng.below(9) as f64 / 4.0 - 1.0,
        _ => rng.below(12) as f64 - 4.0,
    }
}

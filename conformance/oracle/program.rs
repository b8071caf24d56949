//! Programs: what the oracle and the front end both carry out.

use super::array::{Fold, View, broadcast, groups};
use super::promote::{brought, compute, join, join_scalar};
use super::value::{Value, int_range};
use crate::suite::reference::{Place, evaluate, refuses_exponent};
use num_complex::Complex64;
use rustarr::Weak;
use rustarr_interface::{DType, ErrorKind, Kinds, Op};
use std::collections::BTreeMap;

/// The name of an array, of a block of foreign memory or of an export; never used twice.
pub type Id = u32;

/// A view of an array, as basic indexing and the view functions make them.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum ViewKind {
    /// `len` elements from `start` in steps of `step` along `axis`.
    Slice {
        axis: usize,
        start: usize,
        step: isize,
        len: usize,
    },
    /// One element along `axis`, which disappears.
    Select { axis: usize, index: usize },
    /// The order along `axis` reversed.
    Flip { axis: usize },
    /// The axes in another order.
    Permute { axes: Vec<usize> },
    /// A new axis of length 1.
    NewAxis { axis: usize },
    /// Repeated to a larger shape.
    Broadcast { shape: Vec<usize> },
    /// Diagonal `k` of the axes `a` and `b`, as the last axis.
    Diagonal { k: isize, a: usize, b: usize },
    /// Another shape, as a view; a copy where strides cannot say it.
    Reshape { shape: Vec<usize> },
}

/// An operand: an array or a Python scalar.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand {
    /// An array.
    Array(Id),
    /// A scalar.
    Scalar(Weak),
}

/// One step of a program. `id` names what it makes.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Step {
    New {
        id: Id,
        ctx: usize,
        dtype: DType,
        shape: Vec<usize>,
        values: Vec<Value>,
    },
    Full {
        id: Id,
        ctx: usize,
        dtype: DType,
        shape: Vec<usize>,
        value: Value,
    },
    /// Memory of somebody else and an array over it.
    Foreign {
        id: Id,
        ctx: usize,
        memory: Id,
        dtype: DType,
        shape: Vec<usize>,
        values: Vec<Value>,
        writable: bool,
    },
    /// Another array over the elements of foreign memory from `start` on, in steps of `step`.
    ForeignAgain {
        id: Id,
        ctx: usize,
        memory: Id,
        start: usize,
        step: isize,
        len: usize,
    },
    /// The owner of foreign memory writes into it.
    OwnerWrite {
        memory: Id,
        index: usize,
        value: Value,
    },
    View {
        id: Id,
        of: Id,
        kind: ViewKind,
    },
    Clone {
        id: Id,
        of: Id,
    },
    Relabel {
        id: Id,
        of: Id,
        ctx: usize,
    },
    ReadOnly {
        id: Id,
        of: Id,
    },
    Copy {
        id: Id,
        of: Id,
    },
    Cast {
        id: Id,
        of: Id,
        dtype: DType,
    },
    Apply {
        id: Id,
        op: Op,
        args: Vec<Operand>,
    },
    Reduce {
        id: Id,
        fold: Fold,
        of: Id,
        axes: Vec<usize>,
        keepdims: bool,
    },
    Assign {
        to: Id,
        from: Id,
    },
    InPlace {
        op: Op,
        to: Id,
        from: Operand,
    },
    Export {
        id: Id,
        of: Id,
    },
    /// Whoever holds the export writes its element `index`.
    ExportWrite {
        export: Id,
        index: usize,
        value: Value,
    },
    /// Whoever holds the export reads all of it.
    ExportRead {
        export: Id,
    },
    /// The exported memory comes back as a foreign array.
    Adopt {
        id: Id,
        ctx: usize,
        export: Id,
    },
    DropExport {
        export: Id,
    },
    Realise {
        of: Id,
    },
    /// Its values are compared at once.
    Read {
        of: Id,
    },
    Drop {
        of: Id,
    },
}

/// The state of the oracle.
#[derive(Clone, Default, Debug)]
pub struct Model {
    /// Live arrays.
    pub arrays: BTreeMap<Id, View>,
    /// Foreign memory, as one flat view.
    pub memories: BTreeMap<Id, View>,
    /// Live exports.
    pub exports: BTreeMap<Id, View>,
}

/// What a step does: nothing to report, or one of these errors with nothing changed.
pub type Outcome = Result<(), Vec<ErrorKind>>;

/// A step that cannot be carried out at all, as it names what is not there.
#[derive(Debug)]
pub struct Dangling;

impl Model {
    fn array(&self, id: Id) -> Result<&View, Dangling> {
        self.arrays.get(&id).ok_or(Dangling)
    }

    /// Carries a step out.
    ///
    /// # Errors
    /// [`Dangling`] where the step names what is not there.
    pub fn step(&mut self, step: &Step) -> Result<Outcome, Dangling> {
        let (id, made) = match step {
            Step::New {
                id,
                ctx,
                dtype,
                shape,
                values,
            } => (*id, View::new(*dtype, shape, values.clone(), *ctx)),
            Step::Full {
                id,
                ctx,
                dtype,
                shape,
                value,
            } => {
                let size = shape.iter().product();
                (*id, View::new(*dtype, shape, vec![*value; size], *ctx))
            }
            Step::Foreign {
                id,
                ctx,
                memory,
                dtype,
                shape,
                values,
                writable,
            } => {
                let flat = View::new(*dtype, &[values.len()], values.clone(), *ctx);
                self.memories.insert(*memory, flat.clone());
                (
                    *id,
                    View {
                        shape: shape.clone(),
                        read_only: !writable,
                        ..flat
                    },
                )
            }
            Step::ForeignAgain {
                id,
                ctx,
                memory,
                start,
                step,
                len,
            } => {
                let flat = self.memories.get(memory).ok_or(Dangling)?;
                let view = flat.view(vec![*len], |i| {
                    vec![(*start as isize + i[0] as isize * step) as usize]
                });
                (*id, View { ctx: *ctx, ..view })
            }
            Step::OwnerWrite {
                memory,
                index,
                value,
            } => {
                let flat = self.memories.get(memory).ok_or(Dangling)?;
                flat.cells.values.borrow_mut()[*index] = *value;
                return Ok(Ok(()));
            }
            Step::View { id, of, kind } => (*id, view(self.array(*of)?, kind)),
            Step::Clone { id, of } => (*id, self.array(*of)?.clone()),
            Step::Relabel { id, of, ctx } => (
                *id,
                View {
                    ctx: *ctx,
                    ..self.array(*of)?.clone()
                },
            ),
            Step::ReadOnly { id, of } => (
                *id,
                View {
                    read_only: true,
                    ..self.array(*of)?.clone()
                },
            ),
            Step::Copy { id, of } => (*id, self.array(*of)?.copy()),
            Step::Cast { id, of, dtype } => (*id, self.array(*of)?.astype(*dtype)),
            Step::Apply { id, op, args } => match self.apply(*op, args)? {
                Ok(made) => (*id, made),
                Err(kinds) => return Ok(Err(kinds)),
            },
            Step::Reduce {
                id,
                fold,
                of,
                axes,
                keepdims,
            } => match reduce(*fold, self.array(*of)?, axes, *keepdims) {
                Ok(made) => (*id, made),
                Err(kinds) => return Ok(Err(kinds)),
            },
            Step::Assign { to, from } => return Ok(assign(self.array(*to)?, self.array(*from)?)),
            Step::InPlace { op, to, from } => return self.in_place(*op, *to, *from),
            Step::Export { id, of } => {
                let view = self.array(*of)?.clone();
                self.exports.insert(*id, view);
                return Ok(Ok(()));
            }
            Step::ExportWrite {
                export,
                index,
                value,
            } => {
                let view = self.exports.get(export).ok_or(Dangling)?;
                view.cells.values.borrow_mut()[view.at[*index]] = *value;
                return Ok(Ok(()));
            }
            Step::ExportRead { export } => {
                return self.exports.get(export).map(|_| Ok(())).ok_or(Dangling);
            }
            Step::Adopt { id, ctx, export } => {
                let view = self.exports.get(export).ok_or(Dangling)?;
                (
                    *id,
                    View {
                        ctx: *ctx,
                        read_only: view.read_only || view.repeats(),
                        ..view.clone()
                    },
                )
            }
            Step::DropExport { export } => {
                return self.exports.remove(export).map(|_| Ok(())).ok_or(Dangling);
            }
            Step::Realise { of } | Step::Read { of } => {
                return self.array(*of).map(|_| Ok(()));
            }
            Step::Drop { of } => return self.arrays.remove(of).map(|_| Ok(())).ok_or(Dangling),
        };
        self.arrays.insert(id, made);
        Ok(Ok(()))
    }

    fn apply(&self, op: Op, args: &[Operand]) -> Result<Result<View, Vec<ErrorKind>>, Dangling> {
        let mut views = Vec::new();
        for arg in args {
            views.push(match arg {
                Operand::Array(id) => Ok(self.array(*id)?),
                Operand::Scalar(s) => Err(*s),
            });
        }
        Ok(apply(op, &views))
    }

    fn in_place(&self, op: Op, to: Id, from: Operand) -> Result<Outcome, Dangling> {
        let target = self.array(to)?;
        let value = self.apply(op, &[Operand::Array(to), from])?;
        let mut kinds = Vec::new();
        if target.read_only || target.repeats() {
            kinds.push(ErrorKind::Value);
        }
        match value {
            Ok(value) => {
                if value.dtype() != target.dtype() {
                    kinds.push(ErrorKind::DType);
                }
                if value.shape != target.shape {
                    kinds.push(ErrorKind::Shape);
                }
                if kinds.is_empty() {
                    target.write(&value.values());
                    return Ok(Ok(()));
                }
            }
            Err(more) => kinds.extend(more),
        }
        Ok(Err(kinds))
    }
}

/// The view that `kind` makes.
pub fn view(x: &View, kind: &ViewKind) -> View {
    let mut shape = x.shape.clone();
    let put = |index: &[usize], axis: usize, i: usize| {
        let mut source = index.to_vec();
        source.insert(axis, i);
        source
    };
    match kind {
        ViewKind::Slice {
            axis,
            start,
            step,
            len,
        } => {
            shape[*axis] = *len;
            x.view(shape, |index| {
                let mut source = index.to_vec();
                source[*axis] = (*start as isize + index[*axis] as isize * step) as usize;
                source
            })
        }
        ViewKind::Select { axis, index: i } => {
            shape.remove(*axis);
            x.view(shape, |index| put(index, *axis, *i))
        }
        ViewKind::Flip { axis } => x.view(shape, |index| {
            let mut source = index.to_vec();
            source[*axis] = x.shape[*axis] - 1 - index[*axis];
            source
        }),
        ViewKind::Permute { axes } => {
            let shape = axes.iter().map(|&a| x.shape[a]).collect();
            x.view(shape, |index| {
                let mut source = vec![0; axes.len()];
                for (i, &axis) in index.iter().zip(axes) {
                    source[axis] = *i;
                }
                source
            })
        }
        ViewKind::NewAxis { axis } => {
            shape.insert(*axis, 1);
            x.reshape(&shape)
        }
        ViewKind::Broadcast { shape } => x
            .broadcast_to(shape)
            .expect("a shape that it broadcasts to"),
        ViewKind::Diagonal { k, a, b } => {
            let first = ((-k).max(0) as usize, (*k).max(0) as usize);
            let len = x.shape[*a]
                .saturating_sub(first.0)
                .min(x.shape[*b].saturating_sub(first.1));
            let mut shape: Vec<usize> = (0..x.shape.len())
                .filter(|d| d != a && d != b)
                .map(|d| x.shape[d])
                .collect();
            shape.push(len);
            x.view(shape, |index| {
                let (&i, mut rest) = index
                    .split_last()
                    .map(|(i, r)| (i, r.iter()))
                    .expect("the diagonal");
                (0..x.shape.len())
                    .map(|d| match d {
                        d if d == *a => first.0 + i,
                        d if d == *b => first.1 + i,
                        _ => *rest.next().expect("an axis that stays"),
                    })
                    .collect()
            })
        }
        ViewKind::Reshape { shape } => {
            let view = x.reshape(shape);
            if view.is_strided() {
                view
            } else {
                View {
                    read_only: false,
                    ..view.copy()
                }
            }
        }
    }
}

fn apply(op: Op, args: &[Result<&View, Weak>]) -> Result<View, Vec<ErrorKind>> {
    let operands = if op == Op::Select { &args[1..] } else { args };
    let arrays = || operands.iter().filter_map(|a| a.ok());
    // A complex scalar outranks a float, and so on; they never add precision.
    let rank = |w: &Weak| match w {
        Weak::Bool(_) => 0,
        Weak::Int(_) | Weak::HugeInt(_) => 1,
        Weak::Float(_) => 2,
        Weak::Complex(_) => 3,
    };
    let weak = operands.iter().filter_map(|a| a.err()).max_by_key(rank);
    let met = |strong: Option<DType>| match (strong, weak) {
        (strong, Some(weak)) => Ok(join_scalar(strong, weak)),
        (Some(strong), None) => Ok(strong),
        (None, None) => Err(vec![ErrorKind::Value]),
    };
    let mut common = met(arrays().map(View::dtype).reduce(join))?;
    if !common.is(Kinds::INEXACT) {
        common = met(arrays().map(|v| brought(op, v.dtype())).reduce(join))?;
    }
    // Integers are compared as the numbers that they are, also where no integer dtype holds both.
    let comparison = matches!(
        op,
        Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual
    );
    let integers = weak.is_none() && arrays().all(|v| v.dtype().is(Kinds::INT));
    let dtype = if comparison && integers && common == DType::F64 {
        DType::I64
    } else {
        compute(op, common)
    };
    let mut kinds = Vec::new();
    let shapes: Vec<&[usize]> = args
        .iter()
        .filter_map(|a| a.ok())
        .map(|v| &v.shape[..])
        .collect();
    let shape = broadcast(&shapes);
    if shape.is_none() {
        kinds.push(ErrorKind::Shape);
    }
    let result = op.result(dtype);
    if result.is_none() {
        kinds.push(ErrorKind::DType);
    }
    let mut columns = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        let condition = op == Op::Select && i == 0;
        let to = if condition { DType::Bool } else { dtype };
        match arg {
            Ok(view) if condition && view.dtype() != DType::Bool => kinds.push(ErrorKind::DType),
            Ok(view) => {
                if let Some(shape) = &shape {
                    let values = view.broadcast_to(shape).expect("the common shape").values();
                    columns.push(
                        values
                            .into_iter()
                            .map(|v| match v {
                                Value::Int(_) if comparison && integers => v,
                                _ => v.cast(view.dtype(), to),
                            })
                            .collect(),
                    );
                }
            }
            Err(scalar) => match weak_value(*scalar, to) {
                Ok(value) => {
                    let size = shape.iter().flatten().product();
                    columns.push(vec![value; size]);
                }
                Err(kind) => {
                    // A comparison with a number out of range has an answer all the same.
                    if let (Some(answer), Some(shape)) = (outside(op, i == 0, *scalar, to), &shape)
                    {
                        let ctx = arrays().next().map_or(0, |v| v.ctx);
                        let size = shape.iter().product();
                        return Ok(View::new(
                            DType::Bool,
                            shape,
                            vec![answer.into(); size],
                            ctx,
                        ));
                    }
                    kinds.push(kind);
                }
            },
        }
    }
    let exponents = || columns.get(1).into_iter().flatten();
    if op == Op::Pow && exponents().any(|n: &Value| refuses_exponent(op, dtype, n)) {
        kinds.push(ErrorKind::Value);
    }
    let (Some(shape), Some(result), true) = (shape, result, kinds.is_empty()) else {
        return Err(kinds);
    };
    let ctx = args.iter().find_map(|a| a.ok()).map_or(0, |v| v.ctx);
    let size: usize = shape.iter().product();
    let values = (0..size)
        .map(|i| {
            let x: Vec<Value> = columns.iter().map(|c: &Vec<Value>| c[i]).collect();
            evaluate(op, dtype, Place::Cpu, &x)
        })
        .collect();
    Ok(View::new(result, &shape, values, ctx))
}

/// A Python scalar as an element of `dtype`.
fn weak_value(scalar: Weak, dtype: DType) -> Result<Value, ErrorKind> {
    let integer = dtype.is(Kinds::INT);
    match scalar {
        Weak::Bool(v) => Ok(Value::Bool(v).cast(DType::Bool, dtype)),
        Weak::Int(v) if integer => {
            let (low, high) = int_range(dtype);
            if (low..=high).contains(&v) {
                Ok(Value::Int(v))
            } else {
                Err(ErrorKind::Overflow)
            }
        }
        Weak::Int(v) => Ok(Value::Int(v).cast(DType::I64, dtype)),
        Weak::HugeInt(v) if integer || v.is_infinite() && dtype != DType::Bool => {
            Err(ErrorKind::Overflow)
        }
        Weak::Float(v) if integer && v.is_nan() => Err(ErrorKind::Value),
        Weak::Float(v) if integer => weak_value(Weak::Int(v as i128), dtype),
        Weak::HugeInt(v) | Weak::Float(v) => Ok(Value::from(v).cast(DType::F64, dtype)),
        Weak::Complex(z) if dtype.is(Kinds::COMPLEX) || dtype == DType::Bool => {
            Ok(Value::from(Complex64::new(z.re, z.im)).cast(DType::C128, dtype))
        }
        Weak::Complex(_) => Err(ErrorKind::DType),
    }
}

fn outside(op: Op, first: bool, scalar: Weak, dtype: DType) -> Option<bool> {
    let above = match scalar {
        Weak::Int(v) => v > int_range(dtype).1,
        Weak::HugeInt(v) if dtype.is(Kinds::INT) => v > 0.0,
        _ => return None,
    };
    match op {
        Op::Equal => Some(false),
        Op::NotEqual => Some(true),
        // `x < huge` and `tiny < x` hold.
        Op::Less | Op::LessEqual => Some(above != first),
        Op::Greater | Op::GreaterEqual => Some(above == first),
        _ => None,
    }
}

fn reduce(fold: Fold, x: &View, axes: &[usize], keepdims: bool) -> Result<View, Vec<ErrorKind>> {
    let mut kinds = Vec::new();
    if fold.needs_elements() {
        if !x.dtype().is(Kinds::ORDERED) {
            kinds.push(ErrorKind::DType);
        }
        if axes.iter().any(|&a| x.shape[a] == 0) {
            kinds.push(ErrorKind::Value);
        }
    }
    if !kinds.is_empty() {
        return Err(kinds);
    }
    let (mut shape, groups) = groups(&x.shape, axes);
    let values = x.values();
    let results = groups
        .iter()
        .map(|group| {
            let items: Vec<Value> = group.iter().map(|&i| values[i]).collect();
            fold.over(x.dtype(), &items)
        })
        .collect();
    if keepdims {
        shape = x.shape.clone();
        axes.iter().for_each(|&a| shape[a] = 1);
    }
    Ok(View::new(fold.result(x.dtype()), &shape, results, x.ctx))
}

fn assign(target: &View, value: &View) -> Outcome {
    let mut kinds = Vec::new();
    if target.read_only || target.repeats() {
        kinds.push(ErrorKind::Value);
    }
    let spread = value.broadcast_to(&target.shape);
    if spread.is_none() {
        kinds.push(ErrorKind::Shape);
    }
    match spread {
        Some(spread) if kinds.is_empty() => {
            target.write(&spread.astype(target.dtype()).values());
            Ok(())
        }
        _ => Err(kinds),
    }
}

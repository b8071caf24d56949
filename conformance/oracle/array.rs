//! Arrays of the oracle: shared cells and, for every index, the cell it names.

use super::value::{Value, round, spacing, uncertain, wrap};
use crate::suite::reference::{Place, evaluate};
use num_complex::Complex64;
use rustarr_interface::{DType, Kinds, Op};
use std::cell::RefCell;
use std::rc::Rc;

/// A block of elements that views share.
#[derive(Debug)]
pub struct Cells {
    /// The element type.
    pub dtype: DType,
    /// The elements.
    pub values: RefCell<Vec<Value>>,
}

/// A view: a shape and the cell of every element in row-major order.
#[derive(Clone, Debug)]
pub struct View {
    /// The shared elements.
    pub cells: Rc<Cells>,
    /// Sizes of the dimensions.
    pub shape: Vec<usize>,
    /// The cell of each element.
    pub at: Vec<usize>,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Which of the contexts it computes in.
    pub ctx: usize,
}

/// Every index of a shape in row-major order.
pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &dim in shape {
        all = all
            .into_iter()
            .flat_map(|index| (0..dim).map(move |i| [index.clone(), vec![i]].concat()))
            .collect();
    }
    all
}

fn row_major(shape: &[usize], index: &[usize]) -> usize {
    shape.iter().zip(index).fold(0, |at, (dim, i)| at * dim + i)
}

/// The shape that shapes broadcast to, if they do.
pub fn broadcast(shapes: &[&[usize]]) -> Option<Vec<usize>> {
    let ndim = shapes.iter().map(|s| s.len()).max()?;
    (0..ndim)
        .map(|axis| {
            let dims = shapes
                .iter()
                .filter_map(|s| (axis + s.len()).checked_sub(ndim).map(|a| s[a]));
            let mut size = 1;
            for dim in dims {
                if dim != 1 {
                    if size != 1 && size != dim {
                        return None;
                    }
                    size = dim;
                }
            }
            Some(size)
        })
        .collect()
}

impl View {
    /// A fresh dense array.
    pub fn new(dtype: DType, shape: &[usize], values: Vec<Value>, ctx: usize) -> View {
        let at = (0..values.len()).collect();
        let cells = Rc::new(Cells {
            dtype,
            values: values.into(),
        });
        View {
            cells,
            shape: shape.to_vec(),
            at,
            read_only: false,
            ctx,
        }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.cells.dtype
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        self.at.len()
    }

    /// The elements in row-major order.
    pub fn values(&self) -> Vec<Value> {
        let cells = self.cells.values.borrow();
        self.at.iter().map(|&i| cells[i]).collect()
    }

    /// Another view of the same cells: `source` says which index of this view each new index is.
    pub fn view(&self, shape: Vec<usize>, source: impl Fn(&[usize]) -> Vec<usize>) -> View {
        let at = indices(&shape)
            .iter()
            .map(|index| self.at[row_major(&self.shape, &source(index))])
            .collect();
        View {
            shape,
            at,
            ..self.clone()
        }
    }

    /// This view repeated to a larger shape, if it broadcasts.
    pub fn broadcast_to(&self, shape: &[usize]) -> Option<View> {
        let lead = shape.len().checked_sub(self.shape.len())?;
        let fits = self
            .shape
            .iter()
            .zip(&shape[lead..])
            .all(|(a, b)| a == b || *a == 1);
        fits.then(|| {
            self.view(shape.to_vec(), |index| {
                let own = index[lead..].iter().zip(&self.shape);
                own.map(|(&i, &dim)| if dim == 1 { 0 } else { i }).collect()
            })
        })
    }

    /// The same elements in another shape of equal size.
    pub fn reshape(&self, shape: &[usize]) -> View {
        View {
            shape: shape.to_vec(),
            ..self.clone()
        }
    }

    /// Whether one step per axis says where every element is: whether strides can express the view.
    pub fn is_strided(&self) -> bool {
        if self.size() == 0 {
            return true;
        }
        let steps: Vec<isize> = (0..self.shape.len())
            .map(|axis| {
                let mut index = vec![0; self.shape.len()];
                if self.shape[axis] < 2 {
                    return 0;
                }
                index[axis] = 1;
                self.at[row_major(&self.shape, &index)] as isize - self.at[0] as isize
            })
            .collect();
        indices(&self.shape)
            .iter()
            .zip(&self.at)
            .all(|(index, &at)| {
                let moved: isize = index.iter().zip(&steps).map(|(&i, s)| i as isize * s).sum();
                self.at[0] as isize + moved == at as isize
            })
    }

    /// Whether two elements are one cell.
    pub fn repeats(&self) -> bool {
        let mut at = self.at.clone();
        at.sort_unstable();
        at.windows(2).any(|w| w[0] == w[1])
    }

    /// Independent cells of the same values.
    pub fn copy(&self) -> View {
        View::new(self.dtype(), &self.shape, self.values(), self.ctx)
    }

    /// The values converted to `dtype`, or this very view if it is equal.
    pub fn astype(&self, dtype: DType) -> View {
        if dtype == self.dtype() {
            return self.clone();
        }
        let values = self
            .values()
            .into_iter()
            .map(|v| v.cast(self.dtype(), dtype))
            .collect();
        View::new(dtype, &self.shape, values, self.ctx)
    }

    /// Writes values, one per element.
    pub fn write(&self, values: &[Value]) {
        let mut cells = self.cells.values.borrow_mut();
        for (&at, value) in self.at.iter().zip(values) {
            cells[at] = *value;
        }
    }
}

/// What is combined over axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Fold {
    Sum,
    Prod,
    Min,
    Max,
    Any,
    All,
    ArgMin,
    ArgMax,
    CountNonzero,
}

impl Fold {
    /// Every kind.
    pub const ALL: [Fold; 9] = [
        Fold::Sum,
        Fold::Prod,
        Fold::Min,
        Fold::Max,
        Fold::Any,
        Fold::All,
        Fold::ArgMin,
        Fold::ArgMax,
        Fold::CountNonzero,
    ];

    /// The dtype of the result for an array of `dtype`.
    pub fn result(self, dtype: DType) -> DType {
        match self {
            Fold::Sum | Fold::Prod => match dtype.kind() {
                Kinds::BOOL | Kinds::SIGNED => DType::I64,
                Kinds::UNSIGNED => DType::U64,
                _ => dtype,
            },
            Fold::Min | Fold::Max => dtype,
            Fold::Any | Fold::All => DType::Bool,
            Fold::ArgMin | Fold::ArgMax | Fold::CountNonzero => DType::I64,
        }
    }

    /// Whether there is no value over no elements.
    pub fn needs_elements(self) -> bool {
        matches!(self, Fold::Min | Fold::Max | Fold::ArgMin | Fold::ArgMax)
    }

    /// The value over some elements of `dtype`, in any order of combination.
    pub fn over(self, dtype: DType, items: &[Value]) -> Value {
        let result = self.result(dtype);
        match self {
            Fold::Sum => sum(dtype, result, items),
            Fold::Prod => prod(dtype, result, items),
            Fold::Min | Fold::Max => {
                let op = if self == Fold::Min {
                    Op::Minimum
                } else {
                    Op::Maximum
                };
                let mut items = items.iter();
                let first = *items.next().expect("an element");
                items.fold(first, |a, b| evaluate(op, dtype, Place::Cpu, &[a, *b]))
            }
            Fold::Any | Fold::All => {
                let end = self == Fold::Any;
                let truths: Vec<Value> = items.iter().map(|v| v.cast(dtype, DType::Bool)).collect();
                if truths.contains(&Value::Bool(end)) {
                    end.into()
                } else if truths.contains(&Value::Any) {
                    Value::Any
                } else {
                    (!end).into()
                }
            }
            Fold::CountNonzero => {
                let truths: Vec<Value> = items.iter().map(|v| v.cast(dtype, DType::Bool)).collect();
                if truths.contains(&Value::Any) {
                    return Value::Any;
                }
                (truths.iter().filter(|t| **t == Value::Bool(true)).count() as i128).into()
            }
            Fold::ArgMin | Fold::ArgMax => self.position(items),
        }
    }

    fn position(self, items: &[Value]) -> Value {
        if items.iter().any(|v| !v.is_exact()) {
            return Value::Any;
        }
        let nan = |v: &Value| matches!(v, Value::Float(v, _) if v.is_nan());
        if let Some(first) = items.iter().position(nan) {
            return (first as i128).into();
        }
        let better = |a: &Value, b: &Value| {
            let below = match (a, b) {
                (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
                (Value::Int(a), Value::Int(b)) => a.cmp(b),
                (Value::Float(a, _), Value::Float(b, _)) => a.partial_cmp(b).expect("no NaN"),
                _ => std::cmp::Ordering::Equal,
            };
            if self == Fold::ArgMin {
                below.is_lt()
            } else {
                below.is_gt()
            }
        };
        let mut best = 0;
        for (i, item) in items.iter().enumerate() {
            if better(item, &items[best]) {
                best = i;
            }
        }
        (best as i128).into()
    }
}

/// The dtype that floats are added up in: `float16` in `float32`.
fn accumulator(dtype: DType) -> DType {
    if dtype == DType::F16 {
        DType::F32
    } else {
        dtype
    }
}

fn sum(dtype: DType, result: DType, items: &[Value]) -> Value {
    if items.contains(&Value::Any) {
        return Value::Any;
    }
    let carrier = accumulator(result);
    // Of n terms in any order: n roundings of partial sums no larger than the sum of magnitudes.
    let real = |part: &dyn Fn(&Value) -> (f64, f64)| {
        let (mut total, mut magnitude, mut err, mut whole) = (0f64, 0f64, 0f64, true);
        for item in items {
            let (v, e) = part(item);
            total += v;
            magnitude += v.abs();
            err += e;
            whole &= v.fract() == 0.0;
        }
        let special = items.iter().any(|item| !part(item).0.is_finite());
        let exact = whole && err == 0.0 && magnitude < spacing(carrier, 1.0).recip();
        if special {
            total.into()
        } else if magnitude.is_infinite() {
            // Whether a partial sum overflows depends on the order.
            Value::Any
        } else if exact {
            settle(result, total)
        } else {
            uncertain(
                result,
                total,
                err + items.len() as f64 * spacing(carrier, magnitude),
            )
        }
    };
    match result.kind() {
        Kinds::SIGNED | Kinds::UNSIGNED => {
            let total = items
                .iter()
                .fold(0i128, |n, v| match v.cast(dtype, result) {
                    Value::Int(v) => n + v,
                    _ => n,
                });
            wrap(result, total).into()
        }
        Kinds::FLOAT => real(&|v| {
            if let Value::Float(v, e) = v {
                (*v, *e)
            } else {
                (0.0, 0.0)
            }
        }),
        _ => {
            let re = real(&|v| {
                if let Value::Complex(v, e) = v {
                    (v.re, *e)
                } else {
                    (0.0, 0.0)
                }
            });
            let im = real(&|v| {
                if let Value::Complex(v, e) = v {
                    (v.im, *e)
                } else {
                    (0.0, 0.0)
                }
            });
            match (re, im) {
                (Value::Float(re, d), Value::Float(im, e)) if re.is_finite() && im.is_finite() => {
                    Value::Complex(Complex64::new(re, im), d.max(e).max(f64::MIN_POSITIVE))
                }
                _ => Value::Any,
            }
        }
    }
}

/// An exact total in its dtype; the sign of a zero is free.
fn settle(result: DType, total: f64) -> Value {
    if total == 0.0 {
        Value::Float(0.0, f64::MIN_POSITIVE)
    } else if round(result, total) == total {
        total.into()
    } else {
        uncertain(result, total, 0.0)
    }
}

fn prod(dtype: DType, result: DType, items: &[Value]) -> Value {
    if items.contains(&Value::Any) {
        return Value::Any;
    }
    match result.kind() {
        Kinds::SIGNED | Kinds::UNSIGNED => {
            let total = items
                .iter()
                .fold(1i128, |n, v| match v.cast(dtype, result) {
                    Value::Int(v) => wrap(result, n.wrapping_mul(v)),
                    _ => n,
                });
            total.into()
        }
        Kinds::FLOAT => {
            let (mut total, mut largest, mut whole, mut exact) = (1f64, 1f64, true, true);
            for item in items {
                if let Value::Float(v, e) = item {
                    total *= v;
                    largest *= v.abs().max(1.0);
                    whole &= v.fract() == 0.0;
                    exact &= *e == 0.0;
                }
            }
            if total.is_nan()
                && exact
                && items
                    .iter()
                    .any(|v| matches!(v, Value::Float(v, _) if v.is_nan()))
            {
                return f64::NAN.into();
            }
            let carrier = accumulator(result);
            let ulp = spacing(carrier, 1.0);
            if whole && exact && largest < ulp.recip() {
                return settle(result, total);
            }
            // Under- and overflow depend on the order.
            let safe = items
                .iter()
                .all(|v| matches!(v, Value::Float(v, _) if (0.01..100.0).contains(&v.abs())));
            if !safe || items.len() > 8 || total.abs() > 1e4 || total.abs() < 1e-4 || !exact {
                return Value::Any;
            }
            uncertain(result, total, total.abs() * ulp * (items.len() + 1) as f64)
        }
        _ => Value::Any,
    }
}

/// The positions that a reduction over `axes` combines, per element of the result in row-major order.
pub fn groups(shape: &[usize], axes: &[usize]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let kept: Vec<usize> = (0..shape.len()).filter(|a| !axes.contains(a)).collect();
    let out: Vec<usize> = kept.iter().map(|&a| shape[a]).collect();
    let mut groups = vec![Vec::new(); out.iter().product()];
    for (position, index) in indices(shape).iter().enumerate() {
        let own: Vec<usize> = kept.iter().map(|&a| index[a]).collect();
        groups[row_major(&out, &own)].push(position);
    }
    (out, groups)
}

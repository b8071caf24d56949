//! Arrays in host memory and a naive evaluator of programs, which shares no loop with the kernels.
#![allow(dead_code)]

use rustarr_interface::{
    Args, AxisMask, Backend, Buffer, DType, Kinds, Layout, Op, Operand, Program, Reduce, Scalar,
    Slot,
};

/// An array: elements in row-major order, and how they lie in a buffer.
#[derive(Clone, Debug)]
pub struct Array {
    pub buffer: Buffer,
    pub layout: Layout,
    pub dtype: DType,
}

impl Array {
    pub fn operand(&self) -> Operand<'_> {
        Operand {
            buffer: &self.buffer,
            layout: &self.layout,
            dtype: self.dtype,
        }
    }

    /// Room for `layout` with every byte set.
    pub fn empty(host: &dyn Backend, dtype: DType, layout: Layout) -> Array {
        let elements = layout.extent().map_or(0, |(_, end)| end) + 3;
        let buffer = host.alloc(elements * dtype.itemsize()).unwrap();
        host.write(&buffer, 0, &vec![0xa5; buffer.len()]).unwrap();
        Array {
            buffer,
            layout,
            dtype,
        }
    }

    /// These elements, laid out so.
    pub fn new(host: &dyn Backend, dtype: DType, layout: Layout, elements: &[Scalar]) -> Array {
        let array = Array::empty(host, dtype, layout);
        for (i, x) in elements.iter().enumerate() {
            assert_eq!(x.dtype(), dtype);
            let at = array.layout.position(i) * dtype.itemsize();
            host.write(&array.buffer, at, x.bytes()).unwrap();
        }
        array
    }

    pub fn elements(&self, host: &dyn Backend) -> Vec<Scalar> {
        let size = self.dtype.itemsize();
        let mut bytes = vec![0; self.buffer.len()];
        host.read(&self.buffer, 0, &mut bytes).unwrap();
        (0..self.layout.size())
            .map(|i| Scalar::from_bytes(self.dtype, &bytes[self.layout.position(i) * size..]))
            .collect()
    }

    /// All bytes, to see that nothing beside the layout was written.
    pub fn bytes(&self, host: &dyn Backend) -> Vec<u8> {
        let mut bytes = vec![0; self.buffer.len()];
        host.read(&self.buffer, 0, &mut bytes).unwrap();
        bytes
    }
}

/// Equal bits; every NaN is equal to every NaN, and every true to every true.
pub fn same(a: &Scalar, b: &Scalar) -> bool {
    let nan = |s: &Scalar| {
        let z = s.to_complex();
        (z.re.is_nan(), z.im.is_nan())
    };
    a.dtype() == b.dtype()
        && (a.bytes() == b.bytes()
            || match a.dtype() {
                DType::Bool => (a.bytes()[0] != 0) == (b.bytes()[0] != 0),
                d if d.is(Kinds::INEXACT) => {
                    let (x, y) = (a.to_complex(), b.to_complex());
                    let part =
                        |p: f64, q: f64| p.to_bits() == q.to_bits() || (p.is_nan() && q.is_nan());
                    nan(a) == nan(b) && part(x.re, y.re) && part(x.im, y.im)
                }
                _ => false,
            })
}

#[track_caller]
pub fn assert_same(got: &[Scalar], expected: &[Scalar], what: &dyn std::fmt::Display) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (a, b)) in got.iter().zip(expected).enumerate() {
        assert!(same(a, b), "{what}: element {i} is {a:?}, expected {b:?}");
    }
}

/// `all`, or `few` under Miri, which is about a thousand times slower.
pub fn affordable<T>(all: T, few: T) -> T {
    if cfg!(miri) { few } else { all }
}

/// A small generator (xorshift), so that runs repeat.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A value of a dtype: mostly ordinary ones, some special.
    pub fn scalar(&mut self, dtype: DType) -> Scalar {
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            1e300,
            1e-300,
            65504.0,
        ];
        let real = |rng: &mut Rng| match rng.below(8) {
            0 => special[rng.below(special.len())],
            1 => (rng.unit() - 0.5) * 1e6,
            _ => (rng.unit() - 0.5) * 8.0,
        };
        match dtype {
            DType::Bool => Scalar::from_bytes(dtype, &[[0, 0, 1, 1, 2, 255][self.below(6)]]),
            d if d.is(Kinds::FLOAT) => Scalar::from_f64(d, real(self)),
            d if d.is(Kinds::COMPLEX) => {
                let z = rustarr_interface::Complex64::new(real(self), real(self));
                Scalar::new(z).cast(d)
            }
            d => {
                let bits = self.next().to_le_bytes();
                match self.below(3) {
                    0 => Scalar::from_bytes(d, &bits),
                    _ => Scalar::from_i64(d, self.below(20) as i64 - 6),
                }
            }
        }
    }

    pub fn scalars(&mut self, dtype: DType, n: usize) -> Vec<Scalar> {
        (0..n).map(|_| self.scalar(dtype)).collect()
    }
}

/// The program of one operation on loads.
pub fn program1(op: Op, dtype: DType) -> Program {
    let mut b = rustarr_interface::ProgramBuilder::new();
    let arity = op.info().arity;
    let args: Vec<Slot> = (0..arity)
        .map(|k| {
            b.load(if op == Op::Select && k == 0 {
                DType::Bool
            } else {
                dtype
            })
        })
        .collect();
    let out = b.apply(op, &args).unwrap();
    b.finish(&[out]).unwrap()
}

/// Runs `program` over `shape`, with outputs of these layouts.
pub fn map(
    host: &dyn Backend,
    program: &Program,
    shape: &[usize],
    inputs: &[Array],
    params: &[Scalar],
    outs: &[Layout],
) -> Vec<Array> {
    let outputs: Vec<Array> = outs
        .iter()
        .enumerate()
        .map(|(k, layout)| Array::empty(host, program.out_dtype(k), layout.clone()))
        .collect();
    let ins: Vec<Operand<'_>> = inputs.iter().map(Array::operand).collect();
    let ops: Vec<Operand<'_>> = outputs.iter().map(Array::operand).collect();
    let args = Args {
        shape,
        inputs: &ins,
        params,
        outputs: &ops,
        donated: &[],
    };
    host.map(program, args).unwrap();
    outputs
}

/// Runs a reduction with an output of row-major layout.
pub fn reduce(
    host: &dyn Backend,
    kind: Reduce,
    program: &Program,
    axes: AxisMask,
    shape: &[usize],
    inputs: &[Array],
) -> Vec<Scalar> {
    let kept: Vec<usize> = (0..shape.len())
        .filter(|&a| !axes.contains(a))
        .map(|a| shape[a])
        .collect();
    let dtype = match kind {
        Reduce::ArgMin | Reduce::ArgMax => DType::I64,
        _ => program.out_dtype(0),
    };
    let output = Array::empty(host, dtype, Layout::contiguous(&kept));
    let ins: Vec<Operand<'_>> = inputs.iter().map(Array::operand).collect();
    let args = Args {
        shape,
        inputs: &ins,
        params: &[],
        outputs: &[output.operand()],
        donated: &[],
    };
    host.reduce(kind, program, axes, args).unwrap();
    output.elements(host)
}

/// Layouts of a shape: dense, with a gap, backwards, transposed, every second element.
pub fn layouts(shape: &[usize]) -> Vec<(&'static str, Layout)> {
    let dense = Layout::contiguous(shape);
    let shifted = Layout::new(shape, dense.strides(), 3);
    let mut all = vec![("dense", dense.clone()), ("offset", shifted)];
    let wide: Vec<usize> = shape.iter().map(|d| 2 * d).collect();
    let mut strided = Layout::contiguous(&wide);
    let mut reversed = dense.clone();
    for (axis, &dim) in shape.iter().enumerate() {
        strided = strided.slice(axis, 0, 2, dim);
        reversed = reversed.flip(axis);
    }
    all.push(("strided", strided));
    all.push(("reversed", reversed));
    if shape.len() > 1 {
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        let back: Vec<usize> = order.iter().map(|&a| shape[a]).collect();
        all.push(("transposed", Layout::contiguous(&back).permute(&order)));
        let mut rows = Layout::contiguous(&shape[..1]);
        rows = (1..shape.len()).fold(rows, |l, a| l.insert_axis(a));
        all.push(("broadcast rows", rows.broadcast_to(shape).unwrap()));
    }
    let scalar = Layout::contiguous(&vec![1; shape.len()]);
    all.push(("constant", scalar.broadcast_to(shape).unwrap()));
    all
}

/// Whether two indices of the layout are one element: not for outputs.
pub fn repeats(layout: &Layout) -> bool {
    layout.may_self_overlap()
}

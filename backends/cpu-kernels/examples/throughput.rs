//! How fast the kernels move bytes, per operation, size and layout: `cargo run --release --example throughput`.

use rustarr_cpu_kernels::{Host, pool::Pool};
use rustarr_interface::{
    Args, AxisMask, Backend, Buffer, DType, Layout, Op, Operand, Program, ProgramBuilder, Reduce,
    Result, Scalar, Scan, ScanKind,
};
use std::time::Instant;

/// Seconds of the fastest of many runs.
fn time(mut f: impl FnMut() -> Result<()>) -> f64 {
    let mut best = f64::INFINITY;
    let start = Instant::now();
    let mut runs = 0;
    while start.elapsed().as_secs_f64() < 0.3 || runs < 3 {
        let begin = Instant::now();
        f().expect("the kernels take these arguments");
        best = best.min(begin.elapsed().as_secs_f64());
        runs += 1;
    }
    best
}

fn op2(op: Op, dtype: DType) -> Program {
    let mut b = ProgramBuilder::new();
    let (x, y) = (b.load(dtype), b.load(dtype));
    let z = b.apply(op, &[x, y]).expect("legal");
    b.finish(&[z]).expect("well formed")
}

/// `sum(exp(-x * x) * 2 + 1)` without the sum.
fn chain(dtype: DType) -> Program {
    let mut b = ProgramBuilder::new();
    let (x, two, one) = (b.load(dtype), b.param(dtype), b.param(dtype));
    let apply = |b: &mut ProgramBuilder, op, args: &[u16]| b.apply(op, args).expect("legal");
    let minus = apply(&mut b, Op::Negative, &[x]);
    let square = apply(&mut b, Op::Multiply, &[minus, x]);
    let exp = apply(&mut b, Op::Exp, &[square]);
    let double = apply(&mut b, Op::Multiply, &[exp, two]);
    let out = apply(&mut b, Op::Add, &[double, one]);
    b.finish(&[out]).expect("well formed")
}

fn load(dtype: DType) -> Program {
    let mut b = ProgramBuilder::new();
    let x = b.load(dtype);
    b.finish(&[x]).expect("well formed")
}

struct Bench<'a> {
    host: &'a Host,
    name: &'a str,
}

impl Bench<'_> {
    fn array(&self, dtype: DType, n: usize) -> Buffer {
        let buffer = self.host.alloc(n * dtype.itemsize()).expect("memory");
        let layout = Layout::contiguous(&[n]);
        let args = Args {
            shape: &[n],
            inputs: &[],
            params: &[Scalar::from_f64(dtype, 0.5)],
            outputs: &[Operand {
                buffer: &buffer,
                layout: &layout,
                dtype,
            }],
            donated: &[],
        };
        self.host.map(&Program::fill(dtype), args).expect("a fill");
        buffer
    }

    fn report(&self, what: &str, bytes: usize, seconds: f64) {
        let rate = bytes as f64 / seconds / 1e9;
        println!(
            "{:>9} {what:44} {:10.2} us {rate:8.2} GB/s",
            self.name,
            seconds * 1e6
        );
    }

    fn map(&self, what: &str, program: &Program, dtype: DType, layouts: &[Layout], out: &Layout) {
        let n = out.size();
        let buffers: Vec<Buffer> = layouts.iter().map(|_| self.array(dtype, n)).collect();
        let output = self.array(dtype, n);
        let inputs: Vec<Operand<'_>> = buffers
            .iter()
            .zip(layouts)
            .map(|(buffer, layout)| Operand {
                buffer,
                layout,
                dtype,
            })
            .collect();
        let params = vec![Scalar::from_f64(dtype, 1.5); program.params()];
        let args = Args {
            shape: out.shape(),
            inputs: &inputs,
            params: &params,
            outputs: &[Operand {
                buffer: &output,
                layout: out,
                dtype: program.out_dtype(0),
            }],
            donated: &[],
        };
        let seconds = time(|| self.host.map(program, args));
        self.report(what, (layouts.len() + 1) * n * dtype.itemsize(), seconds);
    }

    fn reduce(
        &self,
        what: &str,
        kind: Reduce,
        program: &Program,
        dtype: DType,
        layout: &Layout,
        axes: &[usize],
    ) {
        let n = layout.size();
        let buffers: Vec<Buffer> = (0..program.inputs())
            .map(|_| self.array(dtype, n))
            .collect();
        let inputs: Vec<Operand<'_>> = buffers
            .iter()
            .map(|buffer| Operand {
                buffer,
                layout,
                dtype,
            })
            .collect();
        let mask = AxisMask::of(axes.iter().copied());
        let kept = layout.remove_axes(mask);
        let out_layout = Layout::contiguous(kept.shape());
        let out_dtype = match kind {
            Reduce::ArgMin | Reduce::ArgMax => DType::I64,
            _ => dtype,
        };
        let output = self.array(out_dtype, out_layout.size());
        let params = vec![Scalar::from_f64(dtype, 1.5); program.params()];
        let args = Args {
            shape: layout.shape(),
            inputs: &inputs,
            params: &params,
            outputs: &[Operand {
                buffer: &output,
                layout: &out_layout,
                dtype: out_dtype,
            }],
            donated: &[],
        };
        let seconds = time(|| self.host.reduce(kind, program, mask, args));
        self.report(what, inputs.len() * n * dtype.itemsize(), seconds);
    }

    fn scan(&self, what: &str, dtype: DType, layout: &Layout, axis: usize) {
        let (from, to) = (
            self.array(dtype, layout.size()),
            self.array(dtype, layout.size()),
        );
        let of = |buffer| Operand {
            buffer,
            layout,
            dtype,
        };
        let scan = Scan {
            kind: ScanKind::Sum,
            axis,
        };
        let seconds = time(|| self.host.scan(scan, of(&from), of(&to)));
        self.report(what, 2 * layout.size() * dtype.itemsize(), seconds);
    }

    fn all(&self) {
        for n in [10, 1000, 30_000, 10_000_000] {
            let line = Layout::contiguous(&[n]);
            let two = [line.clone(), line.clone()];
            for dtype in [DType::F32, DType::F64] {
                self.map(
                    &format!("add {dtype} {n}"),
                    &op2(Op::Add, dtype),
                    dtype,
                    &two,
                    &line,
                );
                self.map(
                    &format!("exp chain {dtype} {n}"),
                    &chain(dtype),
                    dtype,
                    &two[..1],
                    &line,
                );
                self.reduce(
                    &format!("sum {dtype} {n}"),
                    Reduce::Sum,
                    &load(dtype),
                    dtype,
                    &line,
                    &[0],
                );
                self.reduce(
                    &format!("sum of exp chain {dtype} {n}"),
                    Reduce::Sum,
                    &chain(dtype),
                    dtype,
                    &line,
                    &[0],
                );
            }
            self.map(
                &format!("less float32 {n}"),
                &op2(Op::Less, DType::F32),
                DType::F32,
                &two,
                &line,
            );
            self.reduce(
                &format!("max float32 {n}"),
                Reduce::Max,
                &load(DType::F32),
                DType::F32,
                &line,
                &[0],
            );
            self.reduce(
                &format!("argmax float32 {n}"),
                Reduce::ArgMax,
                &load(DType::F32),
                DType::F32,
                &line,
                &[0],
            );
            self.reduce(
                &format!("sum int64 {n}"),
                Reduce::Sum,
                &load(DType::I64),
                DType::I64,
                &line,
                &[0],
            );
            self.reduce(
                &format!("sum float16 {n}"),
                Reduce::Sum,
                &load(DType::F16),
                DType::F16,
                &line,
                &[0],
            );
            self.scan(&format!("cumulative sum float64 {n}"), DType::F64, &line, 0);
        }
        let f = DType::F64;
        let square = Layout::contiguous(&[3000, 3000]);
        let turned = square.permute(&[1, 0]);
        let row = Layout::contiguous(&[1, 3000])
            .broadcast_to(&[3000, 3000])
            .expect("a row");
        let add = op2(Op::Add, f);
        self.map(
            "add of a transposed matrix",
            &add,
            f,
            &[square.clone(), turned.clone()],
            &square,
        );
        self.map("add of a row", &add, f, &[square.clone(), row], &square);
        self.map(
            "copy of a transposed matrix",
            &load(f),
            f,
            std::slice::from_ref(&turned),
            &square,
        );
        let thin = Layout::contiguous(&[3_000_000, 3]);
        let three = Layout::contiguous(&[1, 3])
            .broadcast_to(&[3_000_000, 3])
            .expect("a row");
        self.map("add of a row of 3", &add, f, &[thin.clone(), three], &thin);
        for (name, layout) in [("", &square), (" of the transposed", &turned)] {
            for (axes, which) in [
                (&[0][..], "axis 0"),
                (&[1], "axis 1"),
                (&[0, 1], "both axes"),
            ] {
                self.reduce(
                    &format!("sum of a matrix over {which}{name}"),
                    Reduce::Sum,
                    &load(f),
                    f,
                    layout,
                    axes,
                );
            }
        }
        self.reduce(
            "max of a matrix over axis 0",
            Reduce::Max,
            &load(f),
            f,
            &square,
            &[0],
        );
        self.reduce(
            "argmax of a matrix over axis 0",
            Reduce::ArgMax,
            &load(f),
            f,
            &square,
            &[0],
        );
        self.reduce(
            "dot products of columns",
            Reduce::Sum,
            &op2(Op::Multiply, f),
            f,
            &square,
            &[0],
        );
        self.reduce("sum of rows of 3", Reduce::Sum, &load(f), f, &thin, &[1]);
        self.reduce("sum of 3 columns", Reduce::Sum, &load(f), f, &thin, &[0]);
        let rows = Layout::contiguous(&[300_000, 30]);
        self.reduce("sum of rows of 30", Reduce::Sum, &load(f), f, &rows, &[1]);
        self.scan("cumulative sum over axis 0", f, &square, 0);
        self.scan("cumulative sum over axis 1", f, &square, 1);
    }
}

fn main() {
    let serial = Host::new("serial", None, None, None);
    let pool = Pool::new(None, None).expect("the default pool");
    let parallel = Host::new("parallel", Some(pool), None, None);
    for host in [&serial, &parallel] {
        Bench {
            host,
            name: host.name(),
        }
        .all();
    }
}

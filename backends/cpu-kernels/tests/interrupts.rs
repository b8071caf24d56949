//! Long work stops when the user asks, unless it is shielded. A test binary of its own: the hook is the process's.

use rustarr_cpu_kernels::{Host, pool::Pool};
use rustarr_interface::{
    Args, AxisMask, Backend, DType, ErrorKind, Layout, Op, Operand, Program, ProgramBuilder,
    Reduce, Result, Scalar, Scan, ScanKind, interrupt,
};

const N: usize = 4_000_000;

fn program() -> Program {
    let mut b = ProgramBuilder::new();
    let x = b.load(DType::F64);
    let y = b.apply(Op::Exp, &[x]).unwrap();
    let y = b.apply(Op::Sin, &[y]).unwrap();
    b.finish(&[y]).unwrap()
}

/// A pass of tens of milliseconds, again and again until it stops or has had every chance to.
fn run(host: &Host, reduce: bool) -> Result<()> {
    let layout = Layout::contiguous(&[N]);
    let buffers = [(); 2].map(|()| host.alloc(8 * N).unwrap());
    let [input, output] = buffers.each_ref().map(|buffer| Operand {
        buffer,
        layout: &layout,
        dtype: DType::F64,
    });
    let fill = Args {
        shape: &[N],
        inputs: &[],
        params: &[Scalar::new(0.5f64)],
        outputs: &[input],
        donated: &[],
    };
    let inputs = [input];
    let one = Layout::contiguous(&[]);
    let result = Operand {
        layout: if reduce { &one } else { &layout },
        ..output
    };
    let args = Args {
        inputs: &inputs,
        params: &[],
        outputs: &[result],
        ..fill
    };
    interrupt::shield(|| host.map(&Program::fill(DType::F64), fill))?;
    for _ in 0..100 {
        match reduce {
            true => host.reduce(Reduce::Sum, &program(), AxisMask(1), args)?,
            false => host.map(&program(), args)?,
        }
    }
    Ok(())
}

#[test]
fn long_work_stops_when_the_user_asks() {
    interrupt::set_hook(|| true);
    let pool = Pool::new(Some(2), None).unwrap();
    for host in [
        Host::new("seq", None, None, None),
        Host::new("pool", Some(pool), None, None),
    ] {
        for reduce in [false, true] {
            let error = run(&host, reduce).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
        }
        // One line is one task, however long: values of a broadcast input, all written to one place.
        let long = Layout::new(&[1 << 29], &[0], 0);
        let line = Operand {
            buffer: &host.alloc(8).unwrap(),
            layout: &long,
            dtype: DType::F64,
        };
        let cell = Operand {
            buffer: &host.alloc(8).unwrap(),
            ..line
        };
        if host.threads() == 1 {
            let sum = Scan {
                kind: ScanKind::Sum,
                axis: 0,
            };
            let error = host.scan(sum, line, cell).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
        }
        // A write that the user can see completes.
        let layout = Layout::contiguous(&[N]);
        let buffer = host.alloc(8 * N).unwrap();
        let args = Args {
            shape: &[N],
            inputs: &[],
            params: &[Scalar::new(2.5f64)],
            outputs: &[Operand {
                buffer: &buffer,
                layout: &layout,
                dtype: DType::F64,
            }],
            donated: &[],
        };
        for _ in 0..20 {
            interrupt::shield(|| host.map(&Program::fill(DType::F64), args)).unwrap();
        }
    }
}

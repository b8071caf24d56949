//! A call that fails says why and leaves everything as it was.

use rustarr::{Array, Context, ErrorKind, ops};
use rustarr_conformance::suite::targets::targets;
use rustarr_interface::{DType, Op};

struct Case {
    what: &'static str,
    kind: ErrorKind,
    /// Parts of the message: the operation, and shapes, dtypes or the way out.
    says: &'static [&'static str],
    run: fn(&Array) -> rustarr::Result<()>,
}

fn other(x: &Array, dtype: DType, shape: &[usize]) -> Array {
    let size: usize = shape.iter().product();
    Array::from_bytes(x.context(), dtype, shape, &vec![1; size * dtype.itemsize()]).unwrap()
}

/// What may be done wrong to a float32 array of shape (2, 3).
const CASES: &[Case] = &[
    Case {
        what: "shapes that do not broadcast",
        kind: ErrorKind::Shape,
        says: &["add", "[2, 3]", "[4]"],
        run: |x| ops::add(x, &other(x, DType::F32, &[4])).map(drop),
    },
    Case {
        what: "a dtype that the operation does not take",
        kind: ErrorKind::DType,
        says: &["bitwise_and", "float32"],
        run: |x| ops::bitwise_and(x, x).map(drop),
    },
    Case {
        what: "an integer out of range",
        kind: ErrorKind::Overflow,
        says: &["add", "300", "uint8"],
        run: |x| ops::add(&other(x, DType::U8, &[2]), 300).map(drop),
    },
    Case {
        what: "an integer to a negative power",
        kind: ErrorKind::Value,
        says: &["pow"],
        run: |x| ops::pow(&other(x, DType::I32, &[2]), -1).map(drop),
    },
    Case {
        what: "a result that does not fit in place",
        kind: ErrorKind::DType,
        says: &["add", "float64", "float32"],
        run: |x| ops::apply_in_place(Op::Add, x, (&other(x, DType::F64, &[3])).into()),
    },
    Case {
        what: "a result that is larger in place",
        kind: ErrorKind::Shape,
        says: &["add", "[4, 2, 3]", "[2, 3]"],
        run: |x| ops::apply_in_place(Op::Add, x, (&other(x, DType::F32, &[4, 2, 3])).into()),
    },
    Case {
        what: "an illegal operation in place",
        kind: ErrorKind::DType,
        says: &["bitwise_left_shift", "float32"],
        run: |x| ops::apply_in_place(Op::BitwiseLeftShift, x, 1.into()),
    },
    Case {
        what: "a value that does not broadcast into the target",
        kind: ErrorKind::Shape,
        says: &["assign", "[4]", "[2, 3]"],
        run: |x| x.assign(other(x, DType::F32, &[4])),
    },
    Case {
        what: "a write through a read-only handle",
        kind: ErrorKind::Value,
        says: &["assign", "read-only", "copy"],
        run: |x| x.read_only().assign(other(x, DType::F32, &[3])),
    },
    Case {
        what: "a write into a broadcast view",
        kind: ErrorKind::Value,
        says: &["assign", "broadcast", "copy"],
        run: |x| {
            x.view(x.layout().broadcast_to(&[4, 2, 3])?)
                .assign(other(x, DType::F32, &[3]))
        },
    },
    Case {
        what: "an axis out of range",
        kind: ErrorKind::Axis,
        says: &["sum", "2"],
        run: |x| ops::sum(x, Some(&[2]), None, false).map(drop),
    },
    Case {
        what: "an axis given twice",
        kind: ErrorKind::Axis,
        says: &["sum"],
        run: |x| ops::sum(x, Some(&[0, -2]), None, false).map(drop),
    },
    Case {
        what: "the largest of nothing",
        kind: ErrorKind::Value,
        says: &["max", "[0, 3]"],
        run: |x| ops::max(&other(x, DType::F32, &[0, 3]), Some(&[0]), false).map(drop),
    },
    Case {
        what: "a condition that is no bool",
        kind: ErrorKind::DType,
        says: &["where", "float32", "bool"],
        run: |x| ops::apply(Op::Select, &[x.into(), x.into(), x.into()]).map(drop),
    },
    Case {
        what: "more bytes than memory can have",
        kind: ErrorKind::Memory,
        says: &["[", "float64"],
        run: |x| {
            x.context()
                .full(&[usize::MAX / 8, 4], 1f64)
                .and_then(|y| y.realise())
                .map(drop)
        },
    },
];

#[test]
fn errors_are_typed_name_the_operation_and_touch_nothing() {
    for target in targets() {
        for case in CASES {
            let values: Vec<f32> = (0..6).map(|i| i as f32 - 2.5).collect();
            let x = Array::from_slice(&target.ctx, &values, &[2, 3]).unwrap();
            let copy = x.copy().unwrap();
            let error = (case.run)(&x).expect_err(case.what);
            assert_eq!(
                error.kind(),
                case.kind,
                "{}: {}: {error}",
                target.name,
                case.what
            );
            let message = error.to_string();
            for part in case.says {
                assert!(
                    message.contains(part),
                    "{}: {message:?} does not say {part:?}",
                    case.what
                );
            }
            for untouched in [&x, &copy] {
                assert_eq!(
                    untouched.to_vec::<f32>().unwrap(),
                    values,
                    "{}: {}",
                    target.name,
                    case.what
                );
            }
        }
    }
}

#[test]
fn memories_do_not_mix() {
    let Some(gpu) = targets()
        .iter()
        .find(|t| !t.ctx.backend().caps().host_visible)
    else {
        return;
    };
    let cpu = &targets()[0];
    let make = |ctx: &Context| Array::from_slice(ctx, &[1f32, 2.0], &[2]).unwrap();
    let (a, b) = (make(&cpu.ctx), make(&gpu.ctx));
    for error in [
        ops::add(&a, &b).unwrap_err(),
        a.assign(b.clone()).unwrap_err(),
        b.relabel(&cpu.ctx).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Device);
        assert!(
            error.to_string().contains(cpu.ctx.name())
                && error.to_string().contains(gpu.ctx.name()),
            "{error}"
        );
    }
    assert_eq!(
        ops::add(&a, &b.to_context(&cpu.ctx).unwrap())
            .unwrap()
            .to_vec::<f32>()
            .unwrap(),
        [2.0, 4.0]
    );
    // A Python scalar never meets the wrong memory.
    let ctx = gpu.fresh();
    let b = make(&ctx);
    ctx.reset_stats();
    ops::add(&b, 2.0).unwrap().realise().unwrap();
    assert_eq!(ctx.stats().bytes_transferred, 0);
}

#[test]
fn a_closed_context_refuses_and_its_arrays_can_be_read() {
    for target in targets() {
        let ctx = target.fresh();
        let x = Array::from_slice(&ctx, &[1f32, 2.0], &[2]).unwrap();
        let pending = ops::add(&x, 1.0).unwrap();
        ctx.close();
        for error in [
            ops::add(&x, 1.0).unwrap_err(),
            x.assign(pending.clone()).unwrap_err(),
            ops::apply_in_place(Op::Add, &x, 1.0.into()).unwrap_err(),
            Array::from_slice(&ctx, &[1f32], &[1]).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Device, "{error}");
            assert!(error.to_string().contains("closed"), "{error}");
        }
        assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0]);
        assert_eq!(pending.to_vec::<f32>().unwrap(), [2.0, 3.0]);
    }
}

/// Work that found no memory is done later, when there is some.
#[test]
fn no_memory_leaves_the_work_to_be_tried_again() {
    for target in targets() {
        let ctx = target.fresh();
        let n = 1 << 20;
        let x = ctx.full(&[n], 1f32).unwrap();
        x.realise().unwrap();
        let y = ops::add(&x, 1.0).unwrap();
        ctx.release();
        ctx.set_memory_limit(Some(ctx.memory_info().in_use + 1000));
        let error = y.realise().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{}: {error}", target.name);
        assert_eq!(
            ops::apply_in_place(Op::Add, &x, 1.0.into())
                .and_then(|()| x.realise())
                .unwrap_err()
                .kind(),
            ErrorKind::Memory
        );
        ctx.set_memory_limit(None);
        assert_eq!(
            y.view(y.layout().slice(0, 0, 1, 1))
                .item()
                .unwrap()
                .to_f64(),
            2.0,
            "{}",
            target.name
        );
    }
}

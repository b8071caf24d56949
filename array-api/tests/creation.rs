//! New arrays: counts, exact ends, and dtypes.

mod common;

use common::*;
use rustarr::interface::Complex64;
use rustarr::{Array, DType, Defer, ErrorKind, Weak, ops};

fn line(
    ctx: &rustarr::Context,
    a: impl Into<Weak>,
    b: impl Into<Weak>,
    s: impl Into<Weak>,
    d: DType,
) -> Array {
    ops::arange(ctx, a.into(), Some(b.into()), s.into(), Some(d)).unwrap()
}

#[test]
fn arange_counts_in_double_and_steps_exactly() {
    for ctx in contexts() {
        let count = |a: f64, b: f64, s: f64| line(&ctx, a, b, s, DType::F32).size();
        assert_eq!(count(0.0, 81.43, 0.01), 8144);
        assert_eq!(count(0.0, 1001.0 * 0.001, 0.001), 1002);
        assert_eq!(count(2114.8, 2114.8 + 0.05, 0.05), 2);
        assert_eq!(count(0.0, 1.0, 0.1), 10);
        assert_eq!(count(1.0, 0.0, 0.1), 0);
        assert_eq!(ints(&line(&ctx, 5, 1, 1, DType::I32)), [] as [i64; 0]);
        assert_eq!(ints(&line(&ctx, 5, 1, -2, DType::I32)), [5, 3]);
        assert_eq!(ints(&line(&ctx, -3, 3, 2, DType::I8)), [-3, -1, 1]);
        assert_eq!(
            ints(&line(&ctx, 127, -129, -85, DType::I8)),
            [127, 42, -43, -128]
        );
        let top = line(&ctx, u64::MAX - 4, 1i128 << 64, 2, DType::U64);
        assert_eq!(
            top.to_vec::<u64>().unwrap(),
            [u64::MAX - 4, u64::MAX - 2, u64::MAX]
        );
        assert_eq!(
            ints(&line(&ctx, i64::MIN, i64::MAX, i64::MAX, DType::I64)),
            [i64::MIN, -1, i64::MAX - 1]
        );
        close(
            &floats(&line(&ctx, 0.5, 2.0, 0.5, DType::F64)),
            &[0.5, 1.0, 1.5],
            0.0,
        );
        assert_eq!(ints(&line(&ctx, 0.5, 4.0, 1.0, DType::I16)), [0, 1, 2, 3]);

        let one = |w: Weak| ops::arange(&ctx, w, None, Weak::Int(1), None).unwrap();
        assert_eq!(
            (one(Weak::Int(3)).dtype(), ints(&one(Weak::Int(3)))),
            (DType::I64, vec![0, 1, 2])
        );
        assert_eq!(one(Weak::Float(2.5)).dtype(), DType::F64);
        assert_eq!(one(Weak::Float(2.5)).size(), 3);
    }
}

#[test]
fn arange_refuses_what_has_no_numbers() {
    let ctx = context(Defer::Auto);
    let bad = |a: Weak, b: Weak, s: Weak, d| kind(ops::arange(&ctx, a, Some(b), s, d));
    let (i, f) = (Weak::Int, Weak::Float);
    assert_eq!(bad(i(0), i(5), i(0), None), ErrorKind::Value);
    assert_eq!(bad(i(0), f(f64::NAN), i(1), None), ErrorKind::Value);
    assert_eq!(bad(i(0), f(f64::INFINITY), i(1), None), ErrorKind::Value);
    assert_eq!(
        bad(i(0), i(300), i(1), Some(DType::U8)),
        ErrorKind::Overflow
    );
    assert_eq!(bad(i(-1), i(3), i(1), Some(DType::U8)), ErrorKind::Overflow);
    assert_eq!(bad(i(0), i(5), Complex64::I.into(), None), ErrorKind::DType);
    assert_eq!(bad(i(0), i(2), i(1), Some(DType::Bool)), ErrorKind::DType);
    assert_eq!(
        bad(i(0), i(1 << 100), i(1), Some(DType::F64)),
        ErrorKind::Memory
    );
    assert_eq!(bad(f(0.0), f(1e300), f(1.0), None), ErrorKind::Memory);
}

#[test]
fn linspace_hits_its_ends() {
    for ctx in contexts() {
        let space = |a: f64, b: f64, n: i64, d, e| {
            ops::linspace(&ctx, Weak::Float(a), Weak::Float(b), n, Some(d), e).unwrap()
        };
        for n in 2..200 {
            let v = space(0.1, 0.7, n, DType::F32, true)
                .to_vec::<f32>()
                .unwrap();
            assert_eq!((v.len(), v[0], v[v.len() - 1]), (n as usize, 0.1, 0.7));
            assert!(v.windows(2).all(|w| w[0] < w[1]));
        }
        assert_eq!(floats(&space(1.0, 10.0, 1, DType::F64, true)), [1.0]);
        assert_eq!(
            floats(&space(1.0, 10.0, 0, DType::F64, true)),
            [] as [f64; 0]
        );
        assert_eq!(
            floats(&space(0.0, 1.0, 4, DType::F32, false)),
            [0.0, 0.25, 0.5, 0.75]
        );
        assert_eq!(
            floats(&space(2.0, -2.0, 5, DType::F64, true)),
            [2.0, 1.0, 0.0, -1.0, -2.0]
        );
        assert_eq!(ints(&space(-1.5, 1.5, 4, DType::I32, true)), [-2, -1, 0, 1]);
        let z = ops::linspace(
            &ctx,
            Weak::Int(0),
            Complex64::new(2.0, -4.0).into(),
            3,
            None,
            true,
        )
        .unwrap();
        assert_eq!(z.dtype(), DType::C128);
        let want = [(0.0, 0.0), (1.0, -2.0), (2.0, -4.0)].map(|(re, im)| Complex64::new(re, im));
        assert_eq!(complexes(&z), want);
        let negative = ops::linspace(&ctx, Weak::Int(0), Weak::Int(1), -1, None, true);
        assert_eq!(kind(negative), ErrorKind::Value);
        let real = ops::linspace(
            &ctx,
            Weak::Int(0),
            Complex64::I.into(),
            3,
            Some(DType::F32),
            true,
        );
        assert_eq!(kind(real), ErrorKind::DType);
    }
}

#[test]
fn filled_arrays_have_the_dtype_of_their_value() {
    for ctx in contexts() {
        let full = |w: Weak| ops::full(&ctx, &[2], w, None).unwrap();
        assert_eq!(full(Weak::Bool(true)).dtype(), DType::Bool);
        assert_eq!(full(Weak::Int(7)).dtype(), DType::I64);
        assert_eq!(full(Weak::Float(0.1)).dtype(), DType::F64);
        assert_eq!(full(Complex64::I.into()).dtype(), DType::C128);
        assert_eq!(
            ints(&ops::full(&ctx, &[2, 2], 200, Some(DType::U8)).unwrap()),
            [200; 4]
        );
        assert_eq!(
            kind(ops::full(&ctx, &[2], 300, Some(DType::U8))),
            ErrorKind::Overflow
        );
        let row = range(&ctx, &[3]);
        let rows = ops::full(&ctx, &[2, 3], &row, Some(DType::F32)).unwrap();
        assert_eq!(
            (rows.dtype(), ints(&rows)),
            (DType::F32, vec![0, 1, 2, 0, 1, 2])
        );
        assert_eq!(kind(ops::full(&ctx, &[2], &row, None)), ErrorKind::Shape);
        assert_eq!(ops::zeros(&ctx, &[0, 3], None).unwrap().dtype(), DType::F64);
        assert_eq!(
            floats(&ops::ones(&ctx, &[2], Some(DType::C64)).unwrap()),
            [1.0, 1.0]
        );
        assert_eq!(ops::empty_like(&row, Some(DType::I8)).unwrap().shape(), [3]);
        assert_eq!(
            kind(ops::zeros(&ctx, &[usize::MAX, 2], None)),
            ErrorKind::Memory
        );
        assert_eq!(kind(ops::empty(&ctx, &[1; 65], None)), ErrorKind::Shape);
        assert_eq!(kind(ops::shape("zeros", &[2, -1])), ErrorKind::Shape);
    }
}

#[test]
fn matrices_of_coordinates() {
    for ctx in contexts() {
        let eye = |r, c, k| ints(&ops::eye(&ctx, r, c, k, Some(DType::I8)).unwrap());
        assert_eq!(eye(2, Some(3), 1), [0, 1, 0, 0, 0, 1]);
        assert_eq!(eye(3, Some(2), -1), [0, 0, 1, 0, 0, 1]);
        assert_eq!(eye(2, None, 7), [0; 4]);
        assert_eq!(eye(2, None, i64::MIN), [0; 4]);
        let x = ops::add(&range(&ctx, &[3, 4]), 1i64).unwrap();
        assert_eq!(
            ints(&ops::tril(&x, 0).unwrap()),
            [1, 0, 0, 0, 5, 6, 0, 0, 9, 10, 11, 0]
        );
        assert_eq!(
            ints(&ops::triu(&x, 1).unwrap()),
            [0, 2, 3, 4, 0, 0, 7, 8, 0, 0, 0, 12]
        );
        assert_eq!(ints(&ops::tril(&x, -9).unwrap()), [0; 12]);
        assert_eq!(ints(&ops::triu(&x, -9).unwrap()), ints(&x));
        assert_eq!(
            ops::tril(&x.astype(DType::Bool).unwrap(), 0)
                .unwrap()
                .dtype(),
            DType::Bool
        );
        // What is cut away may be anything.
        let nan = ops::full(&ctx, &[2, 2], f64::NAN, None).unwrap();
        assert_eq!(floats(&ops::tril(&nan, 0).unwrap())[1], 0.0);
        assert_eq!(kind(ops::triu(&range(&ctx, &[3]), 0)), ErrorKind::Shape);

        let (a, b) = (range(&ctx, &[2]), range(&ctx, &[3]));
        let grid = ops::meshgrid(&[&a, &b], true).unwrap();
        assert_eq!(
            (grid[0].shape(), ints(&grid[0])),
            (&[3, 2][..], vec![0, 1, 0, 1, 0, 1])
        );
        assert_eq!(ints(&grid[1]), [0, 0, 1, 1, 2, 2]);
        let grid = ops::meshgrid(&[&a, &b], false).unwrap();
        assert_eq!(
            (grid[0].shape(), ints(&grid[0])),
            (&[2, 3][..], vec![0, 0, 0, 1, 1, 1])
        );
        assert_eq!(ops::meshgrid(&[&b], true).unwrap()[0].shape(), [3]);
        assert!(ops::meshgrid(&[], true).unwrap().is_empty());
    }
}

#[test]
fn coordinates_fuse_with_what_is_done_to_them() {
    let ctx = context(Defer::Always);
    let n = 100_000i64;
    // An array that is still held would be stored for its holder.
    let lines = {
        let line = ops::linspace(&ctx, Weak::Int(0), Weak::Int(n as i128), n + 1, None, true);
        let steps = ops::arange(&ctx, Weak::Int(n as i128 + 1), None, Weak::Int(1), None);
        ops::add(&line.unwrap(), &steps.unwrap()).unwrap()
    };
    let total = ops::sum(&lines, None, None, false).unwrap();
    drop(lines);
    assert_eq!(floats(&total), [(n * (n + 1)) as f64]);
    let lower = {
        let eye = ops::eye(&ctx, 1000, None, 0, None).unwrap();
        ops::tril(&ops::add(&eye, 1.0).unwrap(), 0).unwrap()
    };
    let total = ops::sum(&lower, None, None, false).unwrap();
    drop(lower);
    assert_eq!(floats(&total), [500_500.0 + 1000.0]);
    let stats = ctx.stats();
    assert_eq!((stats.maps, stats.reduces), (0, 2), "{stats:?}");
    assert!(stats.bytes_allocated < 10_000, "{stats:?}");
}

#[test]
fn sizes_without_elements_may_be_large() {
    for ctx in contexts() {
        let x = ops::zeros(&ctx, &[1 << 62, 4, 0], None).unwrap();
        assert_eq!(
            ops::sum(&x, Some(&[2]), None, false)
                .map(|y| y.ndim())
                .map_err(|e| e.kind()),
            Err(ErrorKind::Memory)
        );
        assert_eq!(ops::sum(&x, None, None, false).unwrap().size(), 1);
        assert_eq!(ops::reshape(&x, &[0, 7], None).unwrap().shape(), [0, 7]);
        let y = ops::ones(&ctx, &[0, 1 << 62, 4], None).unwrap();
        assert_eq!(
            ops::tensordot(&x, &y, &[2], &[0])
                .map(|t| t.ndim())
                .map_err(|e| e.kind()),
            Err(ErrorKind::Memory)
        );
        assert_eq!(
            ops::tensordot(&y, &x, &[1, 2], &[0, 1]).unwrap().shape(),
            [0, 0]
        );
        let (column, row) = ([1 << 40, 1], [1, 1 << 40]);
        let one = ops::ones(&ctx, &[1, 1], None).unwrap();
        let (a, b) = (
            ops::broadcast_to(&one, &column).unwrap(),
            ops::broadcast_to(&one, &row).unwrap(),
        );
        assert_eq!(kind(ops::add(&a, &b)), ErrorKind::Memory);
        let far = kind(ops::zeros(&ctx, &[usize::MAX, 0], None));
        assert_eq!(far, ErrorKind::Memory);
    }
}

//! Views stay views, copies are copies, and elements land where they should.

mod common;

use common::*;
use rustarr::indexing::{Key, set};
use rustarr::{DType, Defer, ErrorKind, ops};

#[test]
fn reshape_copies_only_when_it_has_to_or_is_told() {
    for ctx in contexts() {
        let x = range(&ctx, &[2, 3]);
        let t = ops::transpose(&x);
        assert!(ops::reshape(&x, &[3, -1], None).unwrap().same_base(&x));
        assert!(!ops::reshape(&x, &[6], Some(true)).unwrap().same_base(&x));
        assert!(ops::reshape(&x, &[6], Some(false)).unwrap().same_base(&x));
        assert_eq!(
            ints(&ops::reshape(&t, &[-1], None).unwrap()),
            [0, 3, 1, 4, 2, 5]
        );
        assert_eq!(kind(ops::reshape(&t, &[6], Some(false))), ErrorKind::Value);
        for bad in [
            &[4i64][..],
            &[-1, 4],
            &[-1, -1],
            &[-2, 3],
            &[6, 0],
            &[i64::MAX, i64::MAX],
        ] {
            assert_eq!(
                kind(ops::reshape(&x, bad, None)),
                ErrorKind::Shape,
                "{bad:?}"
            );
        }
        let none = range(&ctx, &[0, 3]);
        assert_eq!(
            ops::reshape(&none, &[3, 0, 7], None).unwrap().shape(),
            [3, 0, 7]
        );
        assert_eq!(kind(ops::reshape(&none, &[0, -1], None)), ErrorKind::Shape);
        assert_eq!(
            ops::reshape(&range(&ctx, &[1]), &[], None).unwrap().ndim(),
            0
        );
        let moved = ops::reshape(&x, &[6], Some(true)).unwrap();
        set(&x, &[Key::Ellipsis], 9i64).unwrap();
        assert_eq!(ints(&moved), [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn axes_move_as_views() {
    let ctx = context(Defer::Auto);
    let x = range(&ctx, &[2, 3, 4]);
    let shape = |y: rustarr::Array| {
        assert!(y.same_base(&x));
        y.shape().to_vec()
    };
    assert_eq!(
        shape(ops::expand_dims(&x, &[0, -1]).unwrap()),
        [1, 2, 3, 4, 1]
    );
    assert_eq!(shape(ops::expand_dims(&x, &[1]).unwrap()), [2, 1, 3, 4]);
    let e = ops::expand_dims(&x, &[0, 2]).unwrap();
    assert_eq!(shape(ops::squeeze(&e, &[0, 2]).unwrap()), [2, 3, 4]);
    assert_eq!(kind(ops::squeeze(&e, &[1])), ErrorKind::Value);
    assert_eq!(kind(ops::squeeze(&e, &[0, -5])), ErrorKind::Axis);
    assert_eq!(kind(ops::expand_dims(&x, &[4])), ErrorKind::Axis);
    assert_eq!(shape(ops::permute_dims(&x, &[2, 0, 1]).unwrap()), [4, 2, 3]);
    assert_eq!(kind(ops::permute_dims(&x, &[0, 1])), ErrorKind::Axis);
    assert_eq!(kind(ops::permute_dims(&x, &[0, 1, 1])), ErrorKind::Axis);
    assert_eq!(shape(ops::moveaxis(&x, &[0], &[-1]).unwrap()), [3, 4, 2]);
    assert_eq!(
        shape(ops::moveaxis(&x, &[0, 1], &[1, 2]).unwrap()),
        [4, 2, 3]
    );
    assert_eq!(kind(ops::moveaxis(&x, &[0, 1], &[1])), ErrorKind::Value);
    assert_eq!(shape(ops::matrix_transpose(&x).unwrap()), [2, 4, 3]);
    assert_eq!(
        kind(ops::matrix_transpose(&range(&ctx, &[3]))),
        ErrorKind::Shape
    );
    assert_eq!(
        shape(ops::broadcast_to(&x, &[5, 2, 3, 4]).unwrap()),
        [5, 2, 3, 4]
    );
    assert_eq!(kind(ops::broadcast_to(&x, &[2, 3, 5])), ErrorKind::Shape);
    assert_eq!(
        kind(ops::broadcast_to(
            &range(&ctx, &[1]),
            &[usize::MAX, usize::MAX]
        )),
        ErrorKind::Memory
    );
    let both = ops::broadcast_arrays(&[&range(&ctx, &[3, 1]), &range(&ctx, &[4])]).unwrap();
    assert!(both.iter().all(|a| a.shape() == [3, 4]));
    let parts = ops::unstack(&x, 1).unwrap();
    assert_eq!((parts.len(), parts[1].shape()), (3, &[2, 4][..]));
    assert_eq!(ints(&parts[1])[..2], [4, 5]);
    let f = range(&ctx, &[2, 2]);
    assert_eq!(ints(&ops::flip(&f, None).unwrap()), [3, 2, 1, 0]);
    assert_eq!(ints(&ops::flip(&f, Some(&[1])).unwrap()), [1, 0, 3, 2]);
}

#[test]
fn elements_are_rolled_joined_and_repeated() {
    for ctx in contexts() {
        let x = range(&ctx, &[2, 3]);
        let roll = |s: &[i64], a: Option<&[i64]>| ints(&ops::roll(&x, s, a).unwrap());
        assert_eq!(roll(&[1], None), [5, 0, 1, 2, 3, 4]);
        assert_eq!(roll(&[-1], Some(&[1])), [1, 2, 0, 4, 5, 3]);
        assert_eq!(roll(&[1, 1], Some(&[0, 1])), [5, 3, 4, 2, 0, 1]);
        assert_eq!(roll(&[4], Some(&[1, 1])), [1, 2, 0, 4, 5, 3]);
        assert_eq!(
            roll(&[i64::MAX, i64::MAX], None),
            ints(&ops::roll(&x, &[2], None).unwrap())
        );
        let still = ops::roll(&x, &[3], Some(&[1])).unwrap();
        assert!(!still.same_base(&x) && ints(&still) == ints(&x));
        assert_eq!(ops::roll(&range(&ctx, &[0]), &[1], None).unwrap().size(), 0);
        assert_eq!(
            kind(ops::roll(&x, &[1, 2], Some(&[0, 1, 0]))),
            ErrorKind::Value
        );

        let half = ops::divide(&x, 2i64).unwrap();
        let joined = ops::concat(&[&x, &half], Some(0)).unwrap();
        assert_eq!((joined.dtype(), joined.shape()), (DType::F64, &[4, 3][..]));
        close(&floats(&joined)[4..8], &[4.0, 5.0, 0.0, 0.5], 0.0);
        let t = ops::transpose(&x);
        assert_eq!(
            ints(&ops::concat(&[&x, &t], None).unwrap()),
            [0, 1, 2, 3, 4, 5, 0, 3, 1, 4, 2, 5]
        );
        assert_eq!(
            ints(&ops::concat(&[&x, &x], Some(-1)).unwrap()),
            [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5]
        );
        assert_eq!(kind(ops::concat(&[&x, &t], Some(0))), ErrorKind::Shape);
        assert_eq!(kind(ops::concat(&[], Some(0))), ErrorKind::Value);
        let single = ops::concat(&[&x], Some(0)).unwrap();
        assert!(!single.same_base(&x));
        let z = ops::zeros(&ctx, &[], None).unwrap();
        assert_eq!(kind(ops::concat(&[&z, &z], Some(0))), ErrorKind::Shape);
        assert_eq!(ops::stack(&[&z, &z], 0).unwrap().shape(), [2]);
        let stacked = ops::stack(&[&x, &x], -1).unwrap();
        assert_eq!(
            (stacked.shape(), &ints(&stacked)[..4]),
            (&[2, 3, 2][..], &[0, 0, 1, 1][..])
        );
        assert_eq!(kind(ops::stack(&[&x, &t], 0)), ErrorKind::Shape);

        assert_eq!(
            ints(&ops::repeat(&x, 2, None).unwrap()),
            [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
        );
        assert_eq!(ops::repeat(&x, 0, Some(1)).unwrap().shape(), [2, 0]);
        assert_eq!(
            ints(&ops::repeat(&x, 2, Some(0)).unwrap())[..6],
            [0, 1, 2, 0, 1, 2]
        );
        assert_eq!(
            ops::repeat(&range(&ctx, &[0, 3]), 2, Some(1))
                .unwrap()
                .shape(),
            [0, 6]
        );
        assert_eq!(kind(ops::repeat(&x, -1, None)), ErrorKind::Value);
        let v = array(&ctx, &[1i64, 2, 3], &[3]);
        for d in [DType::I8, DType::U8, DType::I64, DType::U64] {
            let counts = array(&ctx, &[0i64, 2, 1], &[3]).astype(d).unwrap();
            assert_eq!(
                ints(&ops::repeat_each(&v, &counts, None).unwrap()),
                [2, 2, 3]
            );
            let rows = ops::repeat_each(&t, &counts, Some(0)).unwrap();
            assert_eq!(ints(&rows), [1, 4, 1, 4, 2, 5]);
        }
        let one = array(&ctx, &[2i64], &[1]);
        assert_eq!(
            ints(&ops::repeat_each(&v, &one, None).unwrap()),
            [1, 1, 2, 2, 3, 3]
        );
        let none = ops::zeros(&ctx, &[3], Some(DType::I32)).unwrap();
        assert_eq!(ops::repeat_each(&v, &none, None).unwrap().shape(), [0]);
        let empty = range(&ctx, &[0]);
        assert_eq!(ops::repeat_each(&empty, &empty, None).unwrap().shape(), [0]);
        let two = array(&ctx, &[1i64, 2], &[2]);
        assert_eq!(kind(ops::repeat_each(&v, &two, None)), ErrorKind::Shape);
        assert_eq!(
            kind(ops::repeat_each(
                &v,
                &array(&ctx, &[1i64, -1, 1], &[3]),
                None
            )),
            ErrorKind::Value
        );
        assert_eq!(
            kind(ops::repeat_each(&v, &ops::divide(&v, 1i64).unwrap(), None)),
            ErrorKind::DType
        );

        assert_eq!(
            ints(&ops::tile(&two, &[2, 2]).unwrap()),
            [1, 2, 1, 2, 1, 2, 1, 2]
        );
        assert_eq!(ops::tile(&x, &[2]).unwrap().shape(), [2, 6]);
        assert_eq!(ints(&ops::tile(&x, &[2]).unwrap())[..6], [0, 1, 2, 0, 1, 2]);
        assert_eq!(ops::tile(&x, &[2, 0]).unwrap().shape(), [4, 0]);
        assert!(!ops::tile(&x, &[]).unwrap().same_base(&x));
    }
}

#[test]
fn taking_puts_the_indices_axes_in_place() {
    for ctx in contexts() {
        let x = range(&ctx, &[2, 3, 2]);
        let i = array(&ctx, &[2i32, 0, -1, 1], &[2, 2]);
        let out = ops::take(&x, &i, Some(1)).unwrap();
        assert_eq!(out.shape(), [2, 2, 2, 2]);
        let want: Vec<i64> = (0..2)
            .flat_map(|a| {
                [2, 0, 2, 1]
                    .into_iter()
                    .flat_map(move |k| (0..2).map(move |b| a * 6 + k * 2 + b))
            })
            .collect();
        assert_eq!(ints(&out), want);
        let message = ops::take(&x, &array(&ctx, &[1i64, 5], &[2]), Some(1))
            .unwrap_err()
            .to_string();
        assert_eq!(
            message,
            "take: index 5 is out of bounds for axis 1 with size 3"
        );
        assert_eq!(kind(ops::take(&x, &i, None)), ErrorKind::Axis);
        assert_eq!(
            kind(ops::take(&x, &ops::divide(&i, 2i64).unwrap(), Some(1))),
            ErrorKind::DType
        );

        let m = array(&ctx, &[30i64, 10, 20, 1, 3, 2], &[2, 3]);
        let order = ops::argsort(&m, 1, false, true).unwrap();
        assert_eq!(
            ints(&ops::take_along_axis(&m, &order, 1).unwrap()),
            [10, 20, 30, 1, 2, 3]
        );
        let best = ops::argmax(&m, Some(0), true).unwrap();
        assert_eq!(
            ints(&ops::take_along_axis(&m, &best, 0).unwrap()),
            [30, 10, 20]
        );
        let first = array(&ctx, &[0i64], &[1, 1]);
        assert_eq!(ints(&ops::take_along_axis(&m, &first, 1).unwrap()), [30, 1]);
        assert_eq!(
            kind(ops::take_along_axis(&m, &array(&ctx, &[0i64], &[1]), 0)),
            ErrorKind::Shape
        );
        let message = ops::take_along_axis(&m, &array(&ctx, &[3i64], &[1, 1]), 1)
            .unwrap_err()
            .to_string();
        assert_eq!(
            message,
            "take_along_axis: index 3 is out of bounds for axis 1 with size 3"
        );
    }
}

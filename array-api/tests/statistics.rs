//! Reductions, scans, comparisons beyond the table, search, sort and sets.

mod common;

use common::*;
use rustarr::interface::Complex64;
use rustarr::{Array, DType, Defer, ErrorKind, Weak, ops};

const NAN: f64 = f64::NAN;

#[test]
fn sums_widen_small_integers_only() {
    for ctx in contexts() {
        let u = ops::full(&ctx, &[200], 255, Some(DType::U8)).unwrap();
        let s = ops::sum(&u, None, None, false).unwrap();
        assert_eq!((s.dtype(), ints(&s)), (DType::U64, vec![51000]));
        let s = ops::sum(&u, None, Some(DType::U8), false).unwrap();
        assert_eq!((s.dtype(), ints(&s)), (DType::U8, vec![51000 % 256]));
        let cases = [
            (DType::Bool, DType::I64),
            (DType::I8, DType::I64),
            (DType::I32, DType::I64),
            (DType::U16, DType::U64),
            (DType::F16, DType::F16),
            (DType::F32, DType::F32),
            (DType::C64, DType::C64),
        ];
        for (from, to) in cases {
            let x = ops::ones(&ctx, &[3], Some(from)).unwrap();
            for f in [ops::sum, ops::prod] {
                assert_eq!(f(&x, None, None, false).unwrap().dtype(), to);
            }
            assert_eq!(
                ops::cumulative_sum(&x, None, None, false).unwrap().dtype(),
                to
            );
        }
        // 2049 ones stop growing at 2048 if each partial sum is rounded to float16.
        let h = ops::ones(&ctx, &[2050], Some(DType::F16)).unwrap();
        assert_eq!(floats(&ops::sum(&h, None, None, false).unwrap()), [2050.0]);
        assert_eq!(floats(&ops::mean(&h, None, false).unwrap()), [1.0]);
    }
}

#[test]
fn reductions_keep_or_drop_axes() {
    for ctx in contexts() {
        let x = range(&ctx, &[2, 3, 4]);
        let sum = |a: Option<&[i64]>, k| ops::sum(&x, a, None, k).unwrap();
        assert_eq!(sum(Some(&[0, -1]), true).shape(), [1, 3, 1]);
        assert_eq!(ints(&sum(Some(&[-1, 0]), false)), [60, 92, 124]);
        assert_eq!(ints(&sum(None, false)), [276]);
        assert_eq!(sum(None, true).shape(), [1, 1, 1]);
        let same = sum(Some(&[]), false);
        assert!(!same.same_base(&x) && ints(&same) == ints(&x));
        assert_eq!(kind(ops::sum(&x, Some(&[3]), None, false)), ErrorKind::Axis);
        assert_eq!(
            kind(ops::sum(&x, Some(&[0, -3]), None, false)),
            ErrorKind::Axis
        );
        let zero_d = ops::full(&ctx, &[], 5, None).unwrap();
        let total = ops::sum(&zero_d, None, None, false).unwrap();
        assert!(!total.same_base(&zero_d) && ints(&total) == [5]);
        assert_eq!(ints(&ops::argmax(&zero_d, None, false).unwrap()), [0]);

        let m = array(&ctx, &[3i64, 9, 2, 9, 1, 7], &[2, 3]);
        assert_eq!(ints(&ops::argmax(&m, None, false).unwrap()), [1]);
        assert_eq!(ints(&ops::argmax(&m, Some(0), false).unwrap()), [1, 0, 1]);
        let least = ops::argmin(&m, Some(-1), true).unwrap();
        assert_eq!((least.shape(), ints(&least)), (&[2, 1][..], vec![2, 1]));
        assert_eq!(ops::argmin(&m, None, true).unwrap().shape(), [1, 1]);
        let n = array(&ctx, &[1.0, NAN, 3.0, NAN], &[4]);
        for f in [ops::argmax, ops::argmin] {
            assert_eq!(ints(&f(&n, None, false).unwrap()), [1]);
        }
        assert_eq!(
            ints(&ops::argmax(&truths(&ctx, &[false, true, true], &[3]), None, false).unwrap()),
            [1]
        );
    }
}

#[test]
fn reductions_of_nothing() {
    for ctx in contexts() {
        let z = ops::zeros(&ctx, &[0, 3], None).unwrap();
        let axis = Some(&[0i64][..]);
        assert_eq!(floats(&ops::sum(&z, axis, None, false).unwrap()), [0.0; 3]);
        assert_eq!(floats(&ops::prod(&z, axis, None, false).unwrap()), [1.0; 3]);
        assert_eq!(bools(&ops::all(&z, axis, false).unwrap()), [true; 3]);
        assert_eq!(bools(&ops::any(&z, axis, false).unwrap()), [false; 3]);
        assert!(
            floats(&ops::mean(&z, axis, false).unwrap())
                .iter()
                .all(|v| v.is_nan())
        );
        assert_eq!(ops::max(&z, Some(&[1]), false).unwrap().shape(), [0]);
        assert_eq!(ops::argmax(&z, Some(1), false).unwrap().shape(), [0]);
        for bad in [
            ops::max(&z, axis, false),
            ops::min(&z, None, false),
            ops::argmin(&z, Some(0), false),
        ] {
            let e = bad.unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Value);
            assert!(["max", "min", "argmin"].contains(&e.op()), "{e}");
        }
        let c = ops::ones(&ctx, &[2], Some(DType::C64)).unwrap();
        assert_eq!(kind(ops::max(&c, None, false)), ErrorKind::DType);
        let empty = ops::zeros(&ctx, &[0], None).unwrap();
        let scan = |initial| ops::cumulative_sum(&empty, None, None, initial).unwrap();
        assert_eq!(
            (scan(false).shape(), floats(&scan(true))),
            (&[0][..], vec![0.0])
        );
        assert_eq!(ops::sort(&empty, 0, false, true).unwrap().shape(), [0]);
        assert_eq!(ops::argsort(&z, 0, false, true).unwrap().shape(), [0, 3]);
        assert_eq!(ops::unique_values(&empty).unwrap().shape(), [0]);
    }
}

#[test]
fn moments() {
    for ctx in contexts() {
        let x = array(&ctx, &[1.0, 2.0, 3.0, 4.0], &[4]);
        let var = |x: &Array, c| floats(&ops::var(x, None, c, false).unwrap())[0];
        close(
            &[var(&x, 0.0), var(&x, 1.0), var(&x, 0.5)],
            &[1.25, 5.0 / 3.0, 5.0 / 3.5],
            1e-15,
        );
        assert!([4.0, 5.0, NAN].iter().all(|&c| var(&x, c).is_nan()));
        close(
            &floats(&ops::std(&x, None, 0.0, false).unwrap()),
            &[1.25f64.sqrt()],
            1e-15,
        );
        // Two passes do not cancel where the mean is large.
        let large = ops::add(&x, 1e9).unwrap();
        close(&[var(&large, 0.0)], &[1.25], 1e-12);
        let kept = ops::var(&range(&ctx, &[2, 3]), Some(&[1]), 0.0, true).unwrap();
        assert_eq!((kept.dtype(), kept.shape()), (DType::F64, &[2, 1][..]));
        assert_eq!(
            ops::var(&range(&ctx, &[2, 3]), Some(&[1]), 3.0, true)
                .unwrap()
                .shape(),
            [2, 1]
        );
        let i = array(&ctx, &[1i8, 2], &[2]);
        assert_eq!(floats(&ops::mean(&i, None, false).unwrap()), [1.5]);
        let z = array(
            &ctx,
            &[Complex64::new(1.0, 1.0), Complex64::new(3.0, -1.0)],
            &[2],
        );
        assert_eq!(
            complexes(&ops::mean(&z, None, false).unwrap()),
            [Complex64::new(2.0, 0.0)]
        );
        let v = ops::var(&z, None, 0.0, false).unwrap();
        assert_eq!((v.dtype(), floats(&v)), (DType::F64, vec![2.0]));
        let h = array(&ctx, &[60000.0, 60000.0, 60000.0], &[3])
            .astype(DType::F16)
            .unwrap();
        let mean = ops::mean(&h, None, false).unwrap();
        assert_eq!(
            (mean.dtype(), floats(&mean)),
            (DType::F16, floats(&h)[..1].to_vec())
        );
        let t = array(&ctx, &[0.0, NAN, -0.0, 2.0], &[2, 2]);
        assert_eq!(
            ints(&ops::count_nonzero(&t, Some(&[0]), false).unwrap()),
            [0, 2]
        );
        assert_eq!(
            bools(&ops::any(&t, Some(&[1]), false).unwrap()),
            [true, true]
        );
        assert_eq!(
            bools(&ops::all(&t, Some(&[0]), true).unwrap()),
            [false, true]
        );
    }
}

#[test]
fn a_statistic_of_an_expression_allocates_no_array() {
    let ctx = context(Defer::Always);
    let x = ops::ones(&ctx, &[1000, 1000], None).unwrap();
    x.realise().unwrap();
    ctx.reset_stats();
    let y = ops::sum(
        &ops::exp(&ops::negative(&x).unwrap()).unwrap(),
        None,
        None,
        false,
    )
    .unwrap();
    close(&floats(&y), &[1e6 * (-1f64).exp()], 1e-12);
    let stats = ctx.stats();
    assert_eq!((stats.maps, stats.reduces), (0, 1), "{stats:?}");
    assert!(stats.bytes_allocated < 1000, "{stats:?}");
}

#[test]
fn scans_and_differences() {
    for ctx in contexts() {
        let x = range(&ctx, &[2, 3]);
        let scan = |a, i| ops::cumulative_sum(&x, Some(a), None, i).unwrap();
        assert_eq!(ints(&scan(1, false)), [0, 1, 3, 3, 7, 12]);
        assert_eq!(ints(&scan(0, true)), [0, 0, 0, 0, 1, 2, 3, 5, 7]);
        assert_eq!(
            kind(ops::cumulative_sum(&x, None, None, false)),
            ErrorKind::Axis
        );
        let v = array(&ctx, &[2i16, 3, 4], &[3]);
        let p = ops::cumulative_prod(&v, None, None, true).unwrap();
        assert_eq!((p.dtype(), ints(&p)), (DType::I64, vec![1, 2, 6, 24]));
        let p = ops::cumulative_prod(&v, None, Some(DType::F32), false).unwrap();
        assert_eq!((p.dtype(), ints(&p)), (DType::F32, vec![2, 6, 24]));

        let y = array(&ctx, &[1i64, 4, 9, 16], &[4]);
        let diff = |n| ints(&ops::diff(&y, -1, n, None, None).unwrap());
        assert_eq!(
            (diff(1), diff(2), diff(4)),
            (vec![3, 5, 7], vec![2, 2], vec![])
        );
        assert_eq!(diff(0), ints(&y));
        let zero = array(&ctx, &[0i64], &[1]);
        assert_eq!(
            ints(&ops::diff(&y, 0, 1, Some(&zero), Some(&zero)).unwrap()),
            [1, 3, 5, 7, -16]
        );
        let b = truths(&ctx, &[true, false, false], &[3]);
        assert_eq!(
            bools(&ops::diff(&b, 0, 1, None, None).unwrap()),
            [true, false]
        );
        assert_eq!(ints(&ops::diff(&x, 0, 1, None, None).unwrap()), [3, 3, 3]);
    }
}

#[test]
fn clip_keeps_nan_dtype_and_large_integers() {
    for ctx in contexts() {
        let f = array(&ctx, &[NAN as f32, -5.0, 5.0], &[3]);
        let got = ops::clip(&f, Some((-1i64).into()), Some(1i64.into())).unwrap();
        assert_eq!(got.dtype(), DType::F32);
        close(&floats(&got), &[NAN, -1.0, 1.0], 0.0);
        let (lo, hi) = (
            array(&ctx, &[NAN as f32, 1.0], &[2]),
            array(&ctx, &[2.0f32, 2.0], &[2]),
        );
        let x = array(&ctx, &[0.0f32, 5.0], &[2]);
        close(
            &floats(&ops::clip(&x, Some((&lo).into()), Some((&hi).into())).unwrap()),
            &[NAN, 2.0],
            0.0,
        );
        let free = ops::clip(&x, None, None).unwrap();
        assert!(!free.same_base(&x) && floats(&free) == floats(&x));
        let u = array(&ctx, &[(1u64 << 63) + 1, 5], &[2]);
        let got = ops::clip(&u, Some(10i64.into()), None).unwrap();
        assert_eq!(got.to_vec::<u64>().unwrap(), [(1 << 63) + 1, 10]);
        let signed = array(&ctx, &[-3i64, 7], &[2]);
        let got = ops::clip(&u, Some((&signed).into()), None).unwrap();
        assert_eq!(got.to_vec::<u64>().unwrap(), [(1 << 63) + 1, 7]);
        let b = array(&ctx, &[1u8, 200], &[2]);
        assert_eq!(
            ints(&ops::clip(&b, Some((-5i64).into()), Some(300i64.into())).unwrap()),
            [1, 200]
        );
        assert_eq!(
            kind(ops::clip(&b, Some(300i64.into()), None)),
            ErrorKind::Overflow
        );
        assert_eq!(
            ops::clip(&b, Some(0.5.into()), None).unwrap().dtype(),
            DType::F64
        );
        let double = array(&ctx, &[100.0f64], &[1]);
        assert_eq!(
            ops::clip(&x, Some((&double).into()), None).unwrap().dtype(),
            DType::F32
        );
        let crossed = ops::clip(&b, Some(9i64.into()), Some(3i64.into())).unwrap();
        assert_eq!(ints(&crossed), [3, 3]);
        let c = ops::ones(&ctx, &[1], Some(DType::C64)).unwrap();
        assert_eq!(kind(ops::clip(&c, None, None)), ErrorKind::DType);
    }
}

#[test]
fn nearness() {
    for ctx in contexts() {
        let inf = f64::INFINITY;
        let a = array(&ctx, &[1.0, inf, inf, NAN, 0.0, 1.0], &[6]);
        let b = array(&ctx, &[1.0 + 1e-9, inf, -inf, NAN, 1e-9, inf], &[6]);
        let near = |nan| bools(&ops::isclose(&a, &b, 1e-5, 1e-8, nan).unwrap());
        assert_eq!(near(false), [true, true, false, false, true, false]);
        assert_eq!(near(true), [true, true, false, true, true, false]);
        assert!(ops::allclose(&a, &a, 0.0, 0.0, true).unwrap());
        assert!(!ops::allclose(&a, &a, 0.0, 0.0, false).unwrap());
        let i = range(&ctx, &[3]);
        assert!(ops::array_equal(&i, &i).unwrap());
        assert!(!ops::array_equal(&i, &range(&ctx, &[1])).unwrap());
        assert!(ops::allclose(&i, &ops::divide(&i, 1i64).unwrap(), 0.0, 0.0, false).unwrap());
    }
}

#[test]
fn finding() {
    for ctx in contexts() {
        let m = array(&ctx, &[0.0, 2.0, NAN, 0.0, 0.0, -1.0], &[2, 3]);
        let found = ops::nonzero(&m).unwrap();
        assert_eq!(
            (ints(&found[0]), ints(&found[1])),
            (vec![0, 0, 1], vec![1, 2, 2])
        );
        assert_eq!(
            kind(ops::nonzero(&ops::ones(&ctx, &[], None).unwrap())),
            ErrorKind::Shape
        );

        let s = array(&ctx, &[1i64, 2, 2, 5], &[4]);
        let at = |v: &Array, r| ints(&ops::searchsorted(&s, v, r, None).unwrap());
        let v = array(&ctx, &[0i64, 2, 5, 6], &[2, 2]);
        assert_eq!(
            (at(&v, false), at(&v, true)),
            (vec![0, 1, 3, 4], vec![0, 3, 4, 4])
        );
        assert_eq!(at(&array(&ctx, &[1.5], &[1]), false), [1]);
        let one = ops::searchsorted(&s, 2i64, true, None).unwrap();
        assert_eq!((one.ndim(), ints(&one)), (0, vec![3]));
        let mixed = array(&ctx, &[5i64, 2, 1, 2], &[4]);
        let sorter = ops::argsort(&mixed, 0, false, true).unwrap();
        assert_eq!(
            ints(&ops::searchsorted(&mixed, &v, false, Some(&sorter)).unwrap()),
            [0, 1, 3, 4]
        );
        assert_eq!(
            kind(ops::searchsorted(&m, &v, false, None)),
            ErrorKind::Shape
        );
        assert_eq!(
            kind(ops::searchsorted(
                &s,
                &v,
                false,
                Some(&array(&ctx, &[0i64], &[1]))
            )),
            ErrorKind::Shape
        );

        let x = array(&ctx, &[1.0, NAN, -0.0, 7.0], &[2, 2]);
        let set = array(&ctx, &[NAN, 7.0, 0.0], &[3]);
        assert_eq!(
            bools(&ops::isin(&x, &set, false).unwrap()),
            [false, false, true, true]
        );
        assert_eq!(
            bools(&ops::isin(&x, &set, true).unwrap()),
            [true, true, false, false]
        );
        assert_eq!(
            bools(&ops::isin(&x, 7i64, false).unwrap()),
            [false, false, false, true]
        );
        assert_eq!(bools(&ops::isin(7i64, &x, false).unwrap()), [true]);
        let nothing = ops::zeros(&ctx, &[0], None).unwrap();
        assert_eq!(bools(&ops::isin(&x, &nothing, true).unwrap()), [true; 4]);
        let bytes = array(&ctx, &[44u8, 1], &[2]);
        assert_eq!(
            bools(&ops::isin(&bytes, 300i64, false).unwrap()),
            [false, false]
        );

        let c = truths(&ctx, &[true, false], &[2]);
        let w = ops::where_(&c, Weak::Int(1), &array(&ctx, &[5i8, 6], &[2])).unwrap();
        assert_eq!((w.dtype(), ints(&w)), (DType::I8, vec![1, 6]));
    }
}

#[test]
fn sorting_puts_nan_last_and_keeps_ties() {
    for ctx in contexts() {
        for n in [5usize, 33, 300, 5000] {
            let v: Vec<f64> = (0..n)
                .map(|i| {
                    if i % 4 == 1 {
                        NAN
                    } else {
                        ((i * 37) % 11) as f64
                    }
                })
                .collect();
            let x = array(&ctx, &v, &[n]);
            for falling in [false, true] {
                let mut want: Vec<usize> = (0..n).collect();
                want.sort_by(|&a, &b| {
                    let order = v[a]
                        .partial_cmp(&v[b])
                        .map(|o| if falling { o.reverse() } else { o });
                    order.unwrap_or(v[a].is_nan().cmp(&v[b].is_nan()))
                });
                let got = ints(&ops::argsort(&x, 0, falling, true).unwrap());
                assert_eq!(got, want.iter().map(|&i| i as i64).collect::<Vec<_>>());
                let values: Vec<f64> = want.iter().map(|&i| v[i]).collect();
                close(
                    &floats(&ops::sort(&x, 0, falling, true).unwrap()),
                    &values,
                    0.0,
                );
            }
        }
        let m = array(&ctx, &[3i64, 1, 2, 5, 1, 9], &[3, 2]);
        assert_eq!(
            ints(&ops::sort(&m, 0, false, true).unwrap()),
            [1, 1, 2, 5, 3, 9]
        );
        assert_eq!(
            ints(&ops::sort(&ops::transpose(&m), 1, true, true).unwrap()),
            [3, 2, 1, 9, 5, 1]
        );
        let b = truths(&ctx, &[true, false, true], &[3]);
        assert_eq!(
            bools(&ops::sort(&b, 0, false, true).unwrap()),
            [false, true, true]
        );
        assert_eq!(kind(ops::sort(&m, 2, false, true)), ErrorKind::Axis);
    }
}

#[test]
fn distinct_elements() {
    for ctx in contexts() {
        let flat = [1i32, 0, 1, 0, 2, 1];
        let x = array(&ctx, &flat, &[2, 3]);
        let u = ops::unique_all(&x).unwrap();
        assert_eq!(ints(&u.values), [0, 1, 2]);
        assert_eq!(ints(&u.indices), [1, 0, 4]);
        assert_eq!(ints(&u.counts), [2, 3, 1]);
        assert_eq!(
            (u.inverse.shape(), ints(&u.inverse)),
            (&[2, 3][..], vec![1, 0, 1, 0, 2, 1])
        );
        let t = ops::transpose(&x);
        let (values, inverse) = ops::unique_inverse(&t).unwrap();
        let back = ops::take(
            &values,
            &ops::reshape(&inverse, &[-1], None).unwrap(),
            Some(0),
        )
        .unwrap();
        assert_eq!(ints(&back), ints(&t));

        let f = array(&ctx, &[NAN, 1.0, -0.0, NAN, 0.0, 1.0], &[6]);
        let (values, counts) = ops::unique_counts(&f).unwrap();
        close(&floats(&values), &[-0.0, 1.0, NAN, NAN], 0.0);
        assert_eq!(ints(&counts), [2, 2, 1, 1]);
        let u = ops::unique_all(&f).unwrap();
        assert_eq!(ints(&u.indices), [2, 1, 0, 3]);
        assert_eq!(ints(&u.inverse), [2, 1, 0, 3, 0, 1]);
        let half = array(&ctx, &[0.0, 1.0, NAN], &[3])
            .astype(DType::F16)
            .unwrap();
        assert_eq!(ops::unique_values(&half).unwrap().size(), 3);
        let zero_d = ops::full(&ctx, &[], 7, None).unwrap();
        let (values, inverse) = ops::unique_inverse(&zero_d).unwrap();
        assert_eq!((ints(&values), inverse.ndim()), (vec![7], 0));
        let b = truths(&ctx, &[true, true, false], &[3]);
        assert_eq!(bools(&ops::unique_values(&b).unwrap()), [false, true]);
    }
}

//! Products, norms, factorisations: by small known answers and by what defines them.

mod common;

use common::*;
use rustarr::interface::Complex64;
use rustarr::ops::linalg::{self, NormOrder};
use rustarr::{Array, Context, DType, Defer, ErrorKind, ops};

fn random(ctx: &Context, shape: &[usize], seed: u64) -> Array {
    let mut dice = Dice(seed);
    let n: usize = shape.iter().product();
    array(
        ctx,
        &(0..n).map(|_| dice.float()).collect::<Vec<_>>(),
        shape,
    )
}

fn complex(ctx: &Context, shape: &[usize], seed: u64) -> Array {
    let im = ops::multiply(&random(ctx, shape, seed + 1000), Complex64::I).unwrap();
    ops::add(&random(ctx, shape, seed), &im).unwrap()
}

fn mul(a: &Array, b: &Array) -> Array {
    ops::matmul(a, b).unwrap()
}

fn adjoint(a: &Array) -> Array {
    ops::conj(&ops::matrix_transpose(a).unwrap()).unwrap()
}

#[track_caller]
fn same(a: &Array, b: &Array, tolerance: f64) {
    assert_eq!(a.shape(), b.shape());
    assert_eq!(a.dtype(), b.dtype());
    assert!(
        ops::allclose(a, b, tolerance, tolerance, false).unwrap(),
        "{:?} is not {:?}",
        complexes(a),
        complexes(b)
    );
}

/// The product by its definition, element by element.
fn naive(a: &[f64], b: &[f64], m: usize, k: usize, n: usize) -> Vec<f64> {
    let at = |i: usize, j: usize| (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum();
    (0..m * n).map(|i| at(i / n, i % n)).collect()
}

#[test]
fn matrix_products_follow_the_rules_for_shapes() {
    for ctx in contexts() {
        let (a, b) = (random(&ctx, &[5, 7], 1), random(&ctx, &[7, 3], 2));
        let want = naive(&floats(&a), &floats(&b), 5, 7, 3);
        close(&floats(&mul(&a, &b)), &want, 1e-14);
        let t = ops::transpose(&mul(&ops::transpose(&b), &ops::transpose(&a)));
        close(&floats(&t), &want, 1e-14);

        let x = range(&ctx, &[2, 3]);
        let v = range(&ctx, &[3]);
        assert_eq!(ints(&mul(&x, &v)), [5, 14]);
        assert_eq!(ints(&mul(&range(&ctx, &[2]), &x)), [3, 4, 5]);
        let inner = mul(&v, &v);
        assert_eq!((inner.ndim(), ints(&inner)), (0, vec![5]));
        assert_eq!(
            mul(&range(&ctx, &[4, 1, 2, 3]), &range(&ctx, &[5, 3, 2])).shape(),
            [4, 5, 2, 2]
        );
        assert_eq!(mul(&v, &range(&ctx, &[5, 3, 2])).shape(), [5, 2]);
        let none = mul(&range(&ctx, &[2, 0]), &range(&ctx, &[0, 3]));
        assert_eq!((none.shape(), ints(&none)), (&[2, 3][..], vec![0; 6]));
        assert_eq!(
            mul(&range(&ctx, &[0, 3]), &range(&ctx, &[3, 2])).shape(),
            [0, 2]
        );
        for (p, q) in [
            (&x, &x),
            (&x, &range(&ctx, &[2])),
            (&ops::full(&ctx, &[], 1, None).unwrap(), &x),
        ] {
            let e = ops::matmul(p, q).unwrap_err();
            assert_eq!((e.kind(), e.op()), (ErrorKind::Shape, "matmul"));
        }
        let types = [
            (DType::I8, DType::I8, DType::I8),
            (DType::U8, DType::I8, DType::I16),
            (DType::F32, DType::I8, DType::F32),
            (DType::F16, DType::F16, DType::F16),
            (DType::Bool, DType::Bool, DType::Bool),
            (DType::C64, DType::F64, DType::C128),
        ];
        for (p, q, want) in types {
            let out = mul(&x.astype(p).unwrap(), &v.astype(q).unwrap());
            assert_eq!(out.dtype(), want);
            let values = if want == DType::Bool {
                vec![1, 1]
            } else {
                vec![5, 14]
            };
            assert_eq!(ints(&out), values);
        }
        let wrapped = mul(
            &ops::full(&ctx, &[1, 2], 100, Some(DType::I8)).unwrap(),
            &ops::full(&ctx, &[2, 1], 100, Some(DType::I8)).unwrap(),
        );
        assert_eq!(ints(&wrapped), [(20000i64 as i8) as i64]);
    }
}

#[test]
fn other_products() {
    for ctx in contexts() {
        let (a, b) = (range(&ctx, &[2, 3, 4]), range(&ctx, &[4, 3, 5]));
        let t = ops::tensordot(&a, &b, &[1, 2], &[1, 0]).unwrap();
        assert_eq!(t.shape(), [2, 5]);
        let (fa, fb) = (ints(&a), ints(&b));
        let want: Vec<i64> = (0..10)
            .map(|o| {
                let (i, n) = (o / 5, o % 5);
                (0..12)
                    .map(|jk| fa[i * 12 + jk] * fb[(jk % 4) * 15 + (jk / 4) * 5 + n])
                    .sum()
            })
            .collect();
        assert_eq!(ints(&t), want);
        assert_eq!(
            ops::tensordot(&a, &b, &[], &[]).unwrap().shape(),
            [2, 3, 4, 4, 3, 5]
        );
        assert_eq!(
            linalg::tensordot_last(&a, &b, 1).unwrap().shape(),
            [2, 3, 3, 5]
        );
        assert_eq!(kind(linalg::tensordot_last(&a, &b, 4)), ErrorKind::Axis);
        assert_eq!(kind(ops::tensordot(&a, &b, &[0], &[0])), ErrorKind::Shape);
        assert_eq!(
            kind(ops::tensordot(&a, &b, &[1, 1], &[1, 1])),
            ErrorKind::Axis
        );

        let z = array(&ctx, &[Complex64::new(1.0, 2.0), Complex64::I], &[2]);
        assert_eq!(
            complexes(&ops::vecdot(&z, &z, -1).unwrap()),
            [Complex64::new(6.0, 0.0)]
        );
        assert_eq!(
            complexes(&linalg::dot(&z, &z).unwrap()),
            [Complex64::new(-4.0, 4.0)]
        );
        let rows = range(&ctx, &[2, 3]);
        assert_eq!(
            ints(&ops::vecdot(&rows, &range(&ctx, &[3]), -1).unwrap()),
            [5, 14]
        );
        assert_eq!(ints(&ops::vecdot(&rows, &rows, 0).unwrap()), [9, 17, 29]);
        assert_eq!(ops::vecdot(&rows, &rows, -1).unwrap().dtype(), DType::I64);
        let small = ops::full(&ctx, &[2], 100, Some(DType::I8)).unwrap();
        assert_eq!(ops::vecdot(&small, &small, -1).unwrap().dtype(), DType::I8);
        assert_eq!(
            kind(ops::vecdot(&rows, &range(&ctx, &[1]), -1)),
            ErrorKind::Shape
        );
        assert_eq!(
            kind(ops::vecdot(&rows, &range(&ctx, &[3]), 1)),
            ErrorKind::Axis
        );
        assert_eq!(
            kind(ops::vecdot(&rows, &range(&ctx, &[3]), -2)),
            ErrorKind::Axis
        );
        let o = ops::outer(&range(&ctx, &[2]), &range(&ctx, &[3])).unwrap();
        assert_eq!((o.shape(), ints(&o)), (&[2, 3][..], vec![0, 0, 0, 0, 1, 2]));
        assert_eq!(kind(ops::outer(&rows, &rows)), ErrorKind::Shape);

        let dot = |a: &Array, b: &Array| linalg::dot(a, b).unwrap();
        assert_eq!(dot(&a, &range(&ctx, &[4])).shape(), [2, 3]);
        assert_eq!(dot(&a, &range(&ctx, &[5, 4, 6])).shape(), [2, 3, 5, 6]);
        assert_eq!(
            ints(&dot(&ops::full(&ctx, &[], 2, None).unwrap(), &rows)),
            [0, 2, 4, 6, 8, 10]
        );
        assert_eq!(linalg::dot(&rows, &rows).unwrap_err().op(), "dot");

        let (u, v) = (
            array(&ctx, &[1i64, 0, 0], &[3]),
            array(&ctx, &[0i64, 1, 0, 0, 0, 1], &[2, 3]),
        );
        assert_eq!(
            ints(&linalg::cross(&u, &v, -1).unwrap()),
            [0, 0, 1, 0, -1, 0]
        );
        let first = linalg::cross(&ops::transpose(&v), &ops::transpose(&v), 0).unwrap();
        assert_eq!((first.shape(), ints(&first)), (&[3, 2][..], vec![0; 6]));
        assert_eq!(
            kind(linalg::cross(&rows, &range(&ctx, &[2]), -1)),
            ErrorKind::Shape
        );
        let m = range(&ctx, &[2, 3, 4]);
        assert_eq!(ints(&linalg::trace(&m, 1, None).unwrap()), [18, 54]);
        assert_eq!(ints(&linalg::diagonal(&m, -1).unwrap()), [4, 9, 16, 21]);
        assert_eq!(linalg::diagonal(&m, 9).unwrap().shape(), [2, 0]);
        assert_eq!(
            linalg::trace(&m.astype(DType::U8).unwrap(), 0, None)
                .unwrap()
                .dtype(),
            DType::U64
        );
        assert_eq!(kind(linalg::diagonal(&u, 0)), ErrorKind::Shape);
    }
}

#[test]
fn norms_without_factorisation() {
    for ctx in contexts() {
        let v = array(&ctx, &[3.0, -4.0, 0.0], &[3]);
        let inf = f64::INFINITY;
        for (p, want) in [
            (2.0, 5.0),
            (1.0, 7.0),
            (0.0, 2.0),
            (inf, 4.0),
            (-inf, 0.0),
            (3.0, 91f64.cbrt()),
        ] {
            close(
                &floats(&linalg::vector_norm(&v, None, false, p).unwrap()),
                &[want],
                1e-14,
            );
        }
        let i = array(&ctx, &[3i32, 4], &[2]);
        assert_eq!(
            linalg::vector_norm(&i, None, false, 2.0).unwrap().dtype(),
            DType::F64
        );
        let z = array(
            &ctx,
            &[Complex64::new(3.0, 4.0), Complex64::new(0.0, 12.0)],
            &[2],
        );
        let n = linalg::vector_norm(&z, None, false, 2.0).unwrap();
        assert_eq!((n.dtype(), floats(&n)), (DType::F64, vec![13.0]));
        let half = ops::full(&ctx, &[4], 300, Some(DType::F16)).unwrap();
        assert_eq!(
            floats(&linalg::vector_norm(&half, None, false, 2.0).unwrap()),
            [600.0]
        );

        let m = array(&ctx, &[1.0, -2.0, 3.0, 4.0], &[2, 2]);
        let norm = |o| floats(&linalg::matrix_norm(&m, false, o).unwrap())[0];
        close(
            &[1.0, inf, -1.0, -inf].map(|p| norm(NormOrder::P(p))),
            &[6.0, 7.0, 4.0, 3.0],
            0.0,
        );
        close(&[norm(NormOrder::Frobenius)], &[30f64.sqrt()], 1e-15);
        assert_eq!(
            kind(linalg::matrix_norm(&m, false, NormOrder::P(3.0))),
            ErrorKind::Value
        );
        assert_eq!(
            kind(linalg::matrix_norm(&v, false, NormOrder::Frobenius)),
            ErrorKind::Shape
        );
        let kept = linalg::matrix_norm(&ops::stack(&[&m, &m], 0).unwrap(), true, NormOrder::P(1.0))
            .unwrap();
        assert_eq!(kept.shape(), [2, 1, 1]);

        let t = range(&ctx, &[2, 3, 4]);
        let norm = |o, a: Option<&[i64]>, k| linalg::norm(&t, o, a, k).unwrap();
        let all: f64 = (0..24).map(|v| (v * v) as f64).sum();
        close(&floats(&norm(None, None, false)), &[all.sqrt()], 1e-15);
        assert_eq!(norm(None, Some(&[1]), false).shape(), [2, 4]);
        assert_eq!(
            norm(Some(NormOrder::P(1.0)), Some(&[0, 2]), false).shape(),
            [3]
        );
        assert_eq!(norm(None, Some(&[2, 0]), true).shape(), [1, 3, 1]);
        // Columns and rows change places with the axes.
        let ones = linalg::norm(&m, Some(NormOrder::P(1.0)), Some(&[1, 0]), false).unwrap();
        assert_eq!(floats(&ones), [7.0]);
        assert_eq!(
            kind(linalg::norm(&t, Some(NormOrder::P(1.0)), None, false)),
            ErrorKind::Value
        );
        assert_eq!(
            kind(linalg::norm(&v, Some(NormOrder::Nuclear), None, false)),
            ErrorKind::Value
        );
    }
}

#[test]
fn systems_and_factors() {
    for ctx in contexts() {
        for n in [1usize, 3, 40] {
            for a in [random(&ctx, &[n, n], 3), complex(&ctx, &[n, n], 4)] {
                let b = random(&ctx, &[n, 2], 5);
                let x = linalg::solve(&a, &b).unwrap();
                same(&mul(&a, &x), &b.astype(a.dtype()).unwrap(), 1e-9);
                let v = random(&ctx, &[n], 6);
                same(
                    &mul(&a, &linalg::solve(&a, &v).unwrap()),
                    &v.astype(a.dtype()).unwrap(),
                    1e-9,
                );
                let eye = ops::eye(&ctx, n, None, 0, Some(a.dtype())).unwrap();
                same(&mul(&a, &linalg::inv(&a).unwrap()), &eye, 1e-8);
                same(
                    &linalg::matrix_power(&a, -2).unwrap(),
                    &mul(&linalg::inv(&a).unwrap(), &linalg::inv(&a).unwrap()),
                    1e-8,
                );

                let h =
                    ops::add(&mul(&a, &adjoint(&a)), &ops::multiply(&eye, 0.5).unwrap()).unwrap();
                let l = linalg::cholesky(&h, false).unwrap();
                same(&mul(&l, &adjoint(&l)), &h, 1e-12);
                same(&linalg::cholesky(&h, true).unwrap(), &adjoint(&l), 1e-12);
                let (w, q) = linalg::eigh(&h).unwrap();
                assert_eq!(w.dtype(), DType::F64);
                same(&mul(&h, &q), &ops::multiply(&q, &w).unwrap(), 1e-10);
                close(&floats(&linalg::eigvalsh(&h).unwrap()), &floats(&w), 1e-11);
                assert!(floats(&w).windows(2).all(|p| p[0] <= p[1]));

                let (w, v) = linalg::eig(&a).unwrap();
                let a128 = a.astype(DType::C128).unwrap();
                same(&mul(&a128, &v), &ops::multiply(&v, &w).unwrap(), 1e-9);
                let sum = ops::sum(&linalg::eigvals(&a).unwrap(), None, None, false).unwrap();
                same(&sum, &linalg::trace(&a128, 0, None).unwrap(), 1e-10);
            }
        }
        let b = linalg::solve(
            &random(&ctx, &[4, 1, 3, 3], 1),
            &random(&ctx, &[2, 3, 5], 2),
        )
        .unwrap();
        assert_eq!(b.shape(), [4, 2, 3, 5]);
    }
}

#[test]
fn orthogonal_factors_and_what_they_give() {
    for ctx in contexts() {
        for (m, n) in [(4usize, 4usize), (5, 3), (3, 5), (1, 1)] {
            for a in [random(&ctx, &[2, m, n], 7), complex(&ctx, &[2, m, n], 8)] {
                let k = m.min(n);
                for complete in [false, true] {
                    let (q, r) = linalg::qr(&a, complete).unwrap();
                    same(&mul(&q, &r), &a, 1e-12);
                    let eye = ops::eye(&ctx, q.shape()[2], None, 0, Some(a.dtype())).unwrap();
                    let gram = mul(&adjoint(&q), &q);
                    same(
                        &gram,
                        &ops::broadcast_to(&eye, gram.shape()).unwrap(),
                        1e-12,
                    );
                    same(&r, &ops::triu(&r, 0).unwrap(), 0.0);
                    let (u, s, vh) = linalg::svd(&a, complete).unwrap();
                    assert_eq!(u.shape(), [2, m, if complete { m } else { k }]);
                    assert_eq!((s.shape(), s.dtype()), (&[2, k][..], DType::F64));
                    assert_eq!(vh.shape(), [2, if complete { n } else { k }, n]);
                    if !complete {
                        let us = ops::multiply(&u, &ops::expand_dims(&s, &[1]).unwrap()).unwrap();
                        same(&mul(&us, &vh), &a, 1e-12);
                    }
                }
                let (_, s, _) = linalg::svd(&a, false).unwrap();
                same(&linalg::svdvals(&a).unwrap(), &s, 1e-12);
                let norm = |o| linalg::matrix_norm(&a, false, o).unwrap();
                same(
                    &norm(NormOrder::P(2.0)),
                    &ops::max(&s, Some(&[-1]), false).unwrap(),
                    1e-12,
                );
                same(
                    &norm(NormOrder::P(-2.0)),
                    &ops::min(&s, Some(&[-1]), false).unwrap(),
                    1e-12,
                );
                same(
                    &norm(NormOrder::Nuclear),
                    &ops::sum(&s, Some(&[-1]), None, false).unwrap(),
                    1e-12,
                );
                let p = linalg::pinv(&a, None).unwrap();
                same(&mul(&mul(&a, &p), &a), &a, 1e-11);
                assert_eq!(ints(&linalg::matrix_rank(&a, None).unwrap()), [k as i64; 2]);
            }
        }
        let flat = array(&ctx, &[1.0, 2.0, 2.0, 4.0], &[2, 2]);
        let rank = |r: Option<rustarr::Arg<'_>>| ints(&linalg::matrix_rank(&flat, r).unwrap());
        assert_eq!((rank(None), rank(Some(2.0.into()))), (vec![1], vec![0]));
        same(
            &mul(&mul(&flat, &linalg::pinv(&flat, None).unwrap()), &flat),
            &flat,
            1e-12,
        );
        let zero = ops::zeros(&ctx, &[2, 3], None).unwrap();
        assert_eq!(floats(&linalg::pinv(&zero, None).unwrap()), [0.0; 6]);
        assert_eq!(
            linalg::pinv(&ops::zeros(&ctx, &[0, 3], None).unwrap(), None)
                .unwrap()
                .shape(),
            [3, 0]
        );
    }
}

#[test]
fn determinants_and_powers() {
    for ctx in contexts() {
        let m = array(&ctx, &[2i64, 1, 5, 3], &[2, 2]);
        close(&floats(&linalg::det(&m).unwrap()), &[1.0], 1e-14);
        let stacked = array(&ctx, &[0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0], &[2, 2, 2]);
        let (sign, log) = linalg::slogdet(&stacked).unwrap();
        assert_eq!(floats(&sign), [-1.0, 0.0]);
        assert_eq!(floats(&log), [0.0, f64::NEG_INFINITY]);
        close(&floats(&linalg::det(&stacked).unwrap()), &[-1.0, 0.0], 0.0);
        let power = |n| linalg::matrix_power(&m, n).unwrap();
        assert_eq!(ints(&power(0)), [1, 0, 0, 1]);
        assert_eq!(
            ints(&power(5)),
            ints(&mul(&mul(&mul(&mul(&m, &m), &m), &m), &m))
        );
        assert_eq!(power(3).dtype(), DType::I64);
        assert!(!power(1).same_base(&m) && ints(&power(1)) == ints(&m));
        close(&floats(&power(-1)), &[3.0, -1.0, -5.0, 2.0], 1e-13);
        assert_eq!(
            linalg::matrix_power(&ops::ones(&ctx, &[3, 2, 2], None).unwrap(), 0)
                .unwrap()
                .shape(),
            [3, 2, 2]
        );
    }
}

#[test]
fn matrices_that_do_not_fit_are_refused() {
    let ctx = context(Defer::Auto);
    let flat = array(&ctx, &[1.0, 2.0, 2.0, 4.0], &[2, 2]);
    assert_eq!(kind(linalg::inv(&flat)), ErrorKind::Linalg);
    assert_eq!(kind(linalg::solve(&flat, &flat)), ErrorKind::Linalg);
    assert_eq!(kind(linalg::matrix_power(&flat, -1)), ErrorKind::Linalg);
    let indefinite = array(&ctx, &[1.0, 2.0, 2.0, 1.0], &[2, 2]);
    let e = linalg::cholesky(&indefinite, false).unwrap_err();
    assert_eq!((e.kind(), e.op()), (ErrorKind::Linalg, "cholesky"));
    let wide = random(&ctx, &[2, 3], 1);
    for e in [
        linalg::inv(&wide),
        linalg::det(&wide),
        linalg::eigvals(&wide),
        linalg::solve(&wide, &flat),
        linalg::matrix_power(&wide, 2),
        linalg::inv(&random(&ctx, &[3], 1)),
    ] {
        assert_eq!(kind(e), ErrorKind::Linalg);
    }
    assert_eq!(
        kind(linalg::solve(&flat, &random(&ctx, &[3], 1))),
        ErrorKind::Shape
    );
    assert_eq!(
        kind(linalg::qr(&random(&ctx, &[3], 1), false)),
        ErrorKind::Linalg
    );
    assert_eq!(
        kind(linalg::inv(&flat.astype(DType::F16).unwrap())),
        ErrorKind::DType
    );
}

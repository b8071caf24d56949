//! The values that the standard leaves open, decided once and the same on every backend.

use rustarr::{Array, Context, DType, ErrorKind, ops};
use rustarr_conformance::suite::targets::targets;
use rustarr_interface::{DType::*, Element, dispatch};

fn array<T: Element>(ctx: &Context, values: &[T]) -> Array {
    Array::from_slice(ctx, values, &[values.len()]).unwrap()
}

/// Integers of any dtype from and to `i64`.
fn ints(ctx: &Context, dtype: DType, values: &[i64]) -> Array {
    array(ctx, values).astype(dtype).unwrap()
}

fn read(x: &Array) -> Vec<i64> {
    x.astype(I64).unwrap().to_vec().unwrap()
}

fn floats(x: &Array) -> Vec<f64> {
    x.astype(F64).unwrap().to_vec().unwrap()
}

const SIGNED: [DType; 4] = [I8, I16, I32, I64];
const UNSIGNED: [DType; 4] = [U8, U16, U32, U64];

fn each(test: impl Fn(&str, &Context)) {
    targets().iter().for_each(|t| test(&t.name, &t.ctx));
}

#[test]
fn integer_division_by_zero_is_zero() {
    each(|name, ctx| {
        for dtype in SIGNED.into_iter().chain(UNSIGNED) {
            let x = ints(ctx, dtype, &[0, 1, 7, 100]);
            let zero = ints(ctx, dtype, &[0]);
            assert_eq!(
                read(&ops::floor_divide(&x, &zero).unwrap()),
                [0; 4],
                "{name}: {dtype}"
            );
            assert_eq!(
                read(&ops::remainder(&x, 0).unwrap()),
                [0; 4],
                "{name}: {dtype}"
            );
        }
    });
}

#[test]
fn the_smallest_integer_divided_by_minus_one() {
    each(|name, ctx| {
        for dtype in SIGNED {
            let least = dispatch!(int, dtype, T => T::MIN as i128 as i64, else 0);
            let x = ints(ctx, dtype, &[least]);
            assert_eq!(
                read(&ops::floor_divide(&x, -1).unwrap()),
                [least],
                "{name}: {dtype}"
            );
            assert_eq!(
                read(&ops::remainder(&x, -1).unwrap()),
                [0],
                "{name}: {dtype}"
            );
            assert_eq!(read(&ops::abs(&x).unwrap()), [least], "{name}: {dtype}");
            assert_eq!(
                read(&ops::negative(&x).unwrap()),
                [least],
                "{name}: {dtype}"
            );
        }
    });
}

#[test]
fn division_rounds_down_and_the_remainder_has_the_divisors_sign() {
    each(|name, ctx| {
        for dtype in SIGNED.into_iter().chain([F32, F64]) {
            let x = ints(ctx, dtype, &[7, -7, 7, -7, 6, -6]);
            let y = ints(ctx, dtype, &[3, 3, -3, -3, 3, -3]);
            assert_eq!(
                read(&ops::floor_divide(&x, &y).unwrap()),
                [2, -3, -3, 2, 2, 2],
                "{name}: {dtype}"
            );
            assert_eq!(
                read(&ops::remainder(&x, &y).unwrap()),
                [1, 2, -2, -1, 0, 0],
                "{name}: {dtype}"
            );
        }
    });
}

#[test]
fn negative_integer_exponents_are_refused() {
    each(|name, ctx| {
        let x = ints(ctx, I32, &[2, 3]);
        for error in [
            ops::pow(&x, -1).unwrap_err(),
            ops::pow(&x, &ints(ctx, I32, &[1, -1])).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Value, "{name}");
        }
        assert_eq!(
            read(&ops::pow(&x, &ints(ctx, I32, &[0, 4])).unwrap()),
            [1, 81],
            "{name}"
        );
        assert_eq!(
            ops::pow(&ints(ctx, I64, &[]), -3).unwrap().shape(),
            [0],
            "{name}"
        );
    });
}

#[test]
fn wide_shifts_leave_zero_or_the_sign() {
    each(|name, ctx| {
        for dtype in SIGNED {
            let bits = 8 * dtype.itemsize() as i64;
            let x = ints(ctx, dtype, &[5, -5]);
            for n in [bits, bits + 1, 100] {
                let n = ints(ctx, dtype, &[n]);
                assert_eq!(
                    read(&ops::bitwise_left_shift(&x, &n).unwrap()),
                    [0, 0],
                    "{name}: {dtype}"
                );
                assert_eq!(
                    read(&ops::bitwise_right_shift(&x, &n).unwrap()),
                    [0, -1],
                    "{name}: {dtype}"
                );
            }
            assert_eq!(
                read(&ops::bitwise_right_shift(&x, 1).unwrap()),
                [2, -3],
                "{name}: {dtype}"
            );
        }
        for dtype in UNSIGNED {
            let x = ints(ctx, dtype, &[5]);
            let n = 8 * dtype.itemsize() as i64;
            assert_eq!(
                read(&ops::bitwise_left_shift(&x, n).unwrap()),
                [0],
                "{name}: {dtype}"
            );
            assert_eq!(
                read(&ops::bitwise_right_shift(&x, n).unwrap()),
                [0],
                "{name}: {dtype}"
            );
        }
    });
}

#[test]
fn too_large_a_correction_gives_nan() {
    each(|name, ctx| {
        for dtype in [F32, F64] {
            let x = ints(ctx, dtype, &[1, 2]);
            for correction in [2.0, 3.0] {
                assert!(
                    floats(&ops::var(&x, None, correction, false).unwrap())[0].is_nan(),
                    "{name}"
                );
                assert!(
                    floats(&ops::std(&x, None, correction, false).unwrap())[0].is_nan(),
                    "{name}"
                );
            }
        }
    });
}

#[test]
fn floats_saturate_as_integers_and_nan_is_zero() {
    each(|name, ctx| {
        let x = array(
            ctx,
            &[
                f32::NAN,
                f32::INFINITY,
                f32::NEG_INFINITY,
                1e30,
                -1e30,
                2.9,
                -2.9,
            ],
        );
        for dtype in SIGNED.into_iter().chain(UNSIGNED) {
            let got = x.astype(dtype).unwrap().to_bytes().unwrap();
            let want: Vec<u8> = x
                .to_vec::<f32>()
                .unwrap()
                .iter()
                .flat_map(
                    |v| dispatch!(int, dtype, T => (*v as T).to_ne_bytes().to_vec(), else vec![]),
                )
                .collect();
            assert_eq!(got, want, "{name}: {dtype}");
        }
    });
}

#[test]
fn extremes_are_the_first_nan_or_the_first_extreme() {
    each(|name, ctx| {
        let nan = f32::NAN;
        for (values, low, high) in [
            (vec![2f32, 1.0, 3.0, 1.0, 3.0], 1, 2),
            (vec![2.0, nan, -1.0, nan], 1, 1),
            (vec![f32::INFINITY, f32::NEG_INFINITY], 1, 0),
            (vec![nan], 0, 0),
        ] {
            let x = array(ctx, &values);
            assert_eq!(
                read(&ops::argmin(&x, None, false).unwrap()),
                [low],
                "{name}: {values:?}"
            );
            assert_eq!(
                read(&ops::argmax(&x, None, false).unwrap()),
                [high],
                "{name}: {values:?}"
            );
            let has_nan = values.iter().any(|v| v.is_nan());
            assert_eq!(
                floats(&ops::max(&x, None, false).unwrap())[0].is_nan(),
                has_nan,
                "{name}"
            );
            assert_eq!(
                floats(&ops::min(&x, None, false).unwrap())[0].is_nan(),
                has_nan,
                "{name}"
            );
        }
    });
}

#[test]
fn sorting_puts_nan_last_both_ways() {
    each(|name, ctx| {
        let x = array(ctx, &[2f32, f32::NAN, -1.0, f32::INFINITY]);
        let up = floats(&ops::sort(&x, 0, false, true).unwrap());
        let down = floats(&ops::sort(&x, 0, true, true).unwrap());
        assert_eq!(
            (&up[..3], up[3].is_nan()),
            (&[-1.0, 2.0, f64::INFINITY][..], true),
            "{name}"
        );
        assert_eq!(
            (&down[..3], down[3].is_nan()),
            (&[f64::INFINITY, 2.0, -1.0][..], true),
            "{name}"
        );
    });
}

#[test]
fn bad_indices_are_refused_and_nothing_is_written() {
    each(|name, ctx| {
        let x = array(ctx, &[1f32, 2.0, 3.0]);
        for bad in [3i64, -4] {
            let index = array(ctx, &[0, bad]);
            let taken = ops::take(&x, &index, Some(0)).and_then(|y| y.to_bytes().map(drop));
            let error = taken.and_then(|()| ctx.synchronize()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Index, "{name}: {error}");
        }
        let back = ops::take(&x, &array(ctx, &[-1i64, 0]), Some(0)).unwrap();
        assert_eq!(floats(&back), [3.0, 1.0], "{name}");
        assert_eq!(floats(&x), [1.0, 2.0, 3.0], "{name}");
    });
}

#[test]
fn broadcast_views_are_not_written() {
    each(|name, ctx| {
        let x = array(ctx, &[1f32, 2.0]);
        let wide = x.view(x.layout().broadcast_to(&[3, 2]).unwrap());
        assert_eq!(
            wide.assign(x.clone()).unwrap_err().kind(),
            ErrorKind::Value,
            "{name}"
        );
        let op = rustarr_interface::Op::Add;
        assert_eq!(
            ops::apply_in_place(op, &wide, 1.0.into())
                .unwrap_err()
                .kind(),
            ErrorKind::Value,
            "{name}"
        );
        assert_eq!(floats(&x), [1.0, 2.0], "{name}");
    });
}

/// As if the right side were copied first, in either direction, by steps and backwards.
#[test]
fn overlapping_assignments_read_before_they_write() {
    each(|name, ctx| {
        let fresh = || ints(ctx, I32, &[0, 1, 2, 3, 4, 5, 6, 7]);
        let cases: [(usize, isize, usize, isize, usize, [i64; 8]); 5] = [
            (1, 1, 0, 1, 7, [0, 0, 1, 2, 3, 4, 5, 6]),
            (0, 1, 1, 1, 7, [1, 2, 3, 4, 5, 6, 7, 7]),
            (0, 1, 7, -1, 8, [7, 6, 5, 4, 3, 2, 1, 0]),
            (0, 2, 0, 1, 4, [0, 1, 1, 3, 2, 5, 3, 7]),
            (4, 1, 0, 1, 4, [0, 1, 2, 3, 0, 1, 2, 3]),
        ];
        for (to, to_step, from, from_step, n, want) in cases {
            let x = fresh();
            let source = x.view(x.layout().slice(0, from, from_step, n));
            x.view(x.layout().slice(0, to, to_step, n))
                .assign(source)
                .unwrap();
            assert_eq!(
                read(&x),
                want,
                "{name}: {to}:{to_step} = {from}:{from_step}"
            );
            let x = fresh();
            let part = x.view(x.layout().slice(0, to, to_step, n));
            let other = x.view(x.layout().slice(0, from, from_step, n));
            let (a, b) = (read(&part), read(&other));
            ops::apply_in_place(rustarr_interface::Op::Add, &part, (&other).into()).unwrap();
            let sums: Vec<i64> = a.iter().zip(b).map(|(a, b)| a + b).collect();
            assert_eq!(
                read(&part),
                sums,
                "{name}: {to}:{to_step} += {from}:{from_step}"
            );
        }
    });
}

#[test]
fn not_a_number_is_found_under_every_compiler() {
    each(|name, ctx| {
        let x = array(
            ctx,
            &[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0],
        );
        let flags = |x: Array| {
            x.to_vec::<rustarr_interface::Bool>()
                .unwrap()
                .iter()
                .map(|b| b.get())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            flags(ops::isnan(&x).unwrap()),
            [true, false, false, false, false],
            "{name}"
        );
        assert_eq!(
            flags(ops::isinf(&x).unwrap()),
            [false, true, true, false, false],
            "{name}"
        );
        assert_eq!(
            flags(ops::isfinite(&x).unwrap()),
            [false, false, false, true, true],
            "{name}"
        );
        assert_eq!(
            flags(ops::not_equal(&x, &x).unwrap()),
            [true, false, false, false, false],
            "{name}"
        );
        assert_eq!(
            flags(ops::signbit(&ops::multiply(&x, 1.0).unwrap()).unwrap())[1..],
            [false, true, false, true],
            "{name}"
        );
        // Algebra that a compiler must not do.
        let huge = array(ctx, &[1e20f32, 1.0]);
        let sum = ops::subtract(&ops::add(&huge, 1.0).unwrap(), &huge).unwrap();
        assert_eq!(floats(&sum), [0.0, 1.0], "{name}");
        let zero = ops::subtract(&x, &x).unwrap();
        assert_eq!(
            floats(&zero).iter().map(|v| v.is_nan()).collect::<Vec<_>>(),
            [true, true, true, false, false],
            "{name}"
        );
        let product = ops::multiply(&x, 0.0).unwrap();
        assert_eq!(
            floats(&product)
                .iter()
                .map(|v| v.is_nan())
                .collect::<Vec<_>>(),
            [true, true, true, false, false],
            "{name}"
        );
    });
}

#[test]
fn integers_wrap() {
    each(|name, ctx| {
        for dtype in SIGNED.into_iter().chain(UNSIGNED) {
            let (low, high) =
                dispatch!(int, dtype, T => (T::MIN as i128, T::MAX as i128), else (0, 0));
            let top = ctx.full(&[1], 0u8).unwrap().astype(dtype).unwrap();
            let top = ops::add(&top, high).unwrap();
            let one_more = ops::add(&top, 1).unwrap();
            let want = ops::equal(&one_more, low).unwrap().item().unwrap();
            assert_eq!(want.to_i128(), 1, "{name}: {dtype}");
        }
    });
}

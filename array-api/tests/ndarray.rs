//! `ndarray` arrays in and out: whose memory they are, and which element is where.

mod common;

use common::*;
use ndarray::{ArrayD, Axis, IxDyn, Slice};
use rustarr::indexing::{Key, get, set};
use rustarr::{Array, ErrorKind, ops};

/// `0, 1, ..` in a shape.
fn counting(shape: &[usize]) -> ArrayD<i64> {
    let n = shape.iter().product::<usize>() as i64;
    ArrayD::from_shape_vec(IxDyn(shape), (0..n).collect()).unwrap()
}

fn slice(start: Option<i64>, stop: Option<i64>, step: i64) -> Key {
    let step = Some(step);
    Key::Slice { start, stop, step }
}

#[test]
fn arrays_are_taken_over_in_every_layout() {
    for ctx in contexts() {
        let whole = counting(&[3, 4]);
        let start = whole.as_ptr().addr();
        let x = Array::from_ndarray(&ctx, whole.clone()).unwrap();
        assert_eq!(x.to_ndarray::<i64>().unwrap(), whole);
        // Without a copy: the same address, also from the middle of the vector.
        let taken = Array::from_ndarray(&ctx, whole.clone()).unwrap();
        set(&taken, &[Key::Int(0)], 7i64).unwrap();
        assert_eq!(ints(&taken)[..5], [7, 7, 7, 7, 4]);
        let moved = Array::from_ndarray(&ctx, whole).unwrap();
        assert_eq!(moved.export().unwrap().ptr().addr().get(), start);
        let tail = counting(&[3, 4]).slice_axis_move(Axis(0), Slice::from(1..));
        let address = tail.as_ptr().addr();
        let tail = Array::from_ndarray(&ctx, tail).unwrap();
        assert_eq!(tail.export().unwrap().ptr().addr().get(), address);
        assert_eq!(ints(&tail), (4..12).collect::<Vec<_>>());
        let mut turned = counting(&[3, 4]).reversed_axes();
        turned.invert_axis(Axis(0));
        let y = Array::from_ndarray(&ctx, turned.clone()).unwrap();
        assert_eq!(y.to_ndarray::<i64>().unwrap(), turned);
        for shape in [&[][..], &[0], &[3, 0, 2]] {
            let x = Array::from_ndarray(&ctx, counting(shape)).unwrap();
            assert_eq!(x.to_ndarray::<i64>().unwrap(), counting(shape));
        }
    }
}

#[test]
fn views_show_the_elements_of_every_layout() {
    for ctx in contexts() {
        let x = range(&ctx, &[3, 4]);
        let back = get(&x, &[slice(None, None, -1), slice(None, None, -2)]).unwrap();
        let column = get(&x, &[Key::ALL, Key::Int(2)]).unwrap();
        for y in [&x, &ops::transpose(&x), &back, &column] {
            let export = y.export().unwrap();
            let view = export.view::<i64>().unwrap();
            assert_eq!(view, y.to_ndarray::<i64>().unwrap());
        }
        let export = x.export().unwrap();
        assert_eq!(kind(export.view::<f64>().map(|_| ())), ErrorKind::DType);
    }
}

/// Without elements no axis has a last one, from which a view of one that runs backward would start.
#[test]
fn views_of_nothing_have_their_shape() {
    for ctx in contexts() {
        let x = range(&ctx, &[3, 4]);
        for keys in [
            [slice(None, None, -1), slice(Some(0), Some(0), 1)],
            [slice(Some(0), Some(0), -1), slice(None, None, -1)],
        ] {
            for empty in [get(&x, &keys), get(&range(&ctx, &[3, 0]), &keys)] {
                let empty = empty.unwrap();
                let export = empty.export().unwrap();
                assert_eq!(export.view::<i64>().unwrap().shape(), empty.shape());
            }
        }
    }
}

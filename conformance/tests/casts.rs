//! Every dtype converted to every other, on every backend.

use rustarr_conformance::oracle::value::Value;
use rustarr_conformance::suite::check;
use rustarr_conformance::suite::inputs::{Form, special};
use rustarr_conformance::suite::targets::targets;
use rustarr_interface::{DType, Kinds};

/// Special values, and those at the edges of every integer dtype.
fn inputs(dtype: DType) -> Vec<Value> {
    let mut all = special(dtype);
    if dtype.is(Kinds::FLOAT) {
        for bits in [7, 8, 15, 16, 31, 32, 63, 64] {
            let edge = 2f64.powi(bits);
            for v in [
                edge,
                edge - 1.0,
                edge - 0.5,
                -edge,
                -edge - 1.0,
                edge.next_down(),
                edge.next_up(),
            ] {
                all.push(Value::from(v).cast(DType::F64, dtype));
            }
        }
    }
    if dtype == DType::I64 || dtype == DType::U64 {
        // In one rounding these go up to float32, in two they do not.
        all.extend([(1i128 << 60) + (1 << 36) + 1, (1 << 53) + 1, (1 << 24) + 1].map(Value::from));
    }
    all
}

#[test]
fn every_dtype_to_every_dtype() {
    for target in targets() {
        for from in DType::ALL {
            let mut values = inputs(from);
            values.truncate(values.len() & !1);
            let n = values.len();
            for to in DType::ALL {
                let want: Vec<Value> = values.iter().map(|v| v.cast(from, to)).collect();
                for form in Form::ALL {
                    let shape = if form == Form::Transposed {
                        vec![2, n / 2]
                    } else {
                        vec![n]
                    };
                    let x = form.array(&target.ctx, from, &shape, &values);
                    let got = x.astype(to).unwrap();
                    assert_eq!((got.dtype(), got.shape()), (to, &shape[..]));
                    check(&got, &want, &|i| {
                        format!(
                            "{}: {from} to {to}, {form:?}, element {i}, {:?}",
                            target.name, values[i]
                        )
                    });
                }
            }
        }
    }
}

/// A read-out scalar converts like an array.
#[test]
fn scalars_convert_like_arrays() {
    for target in targets().iter().take(1) {
        for from in DType::ALL {
            for value in inputs(from) {
                let x = Form::Dense.array(&target.ctx, from, &[], &[value]);
                for to in DType::ALL {
                    let got = x.item().unwrap().cast(to);
                    let want = value.cast(from, to);
                    let got = Value::from_bytes(to, got.bytes());
                    assert!(
                        want.accepts(&got),
                        "{from} to {to} of {value:?}: {got:?}, not {want:?}"
                    );
                }
            }
        }
    }
}

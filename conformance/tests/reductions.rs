//! Every reduction in every dtype over every set of axes; and the same bits for any number of threads.

use rustarr::{Array, Context, Result, ops};
use rustarr_conformance::oracle::array::Fold;
use rustarr_conformance::oracle::random::Rng;
use rustarr_conformance::oracle::value::Value;
use rustarr_conformance::suite::folds::{expected, is_legal, reduce};
use rustarr_conformance::suite::inputs::{Form, special};
use rustarr_conformance::suite::targets::{cpu_targets, targets};
use rustarr_conformance::suite::{check, encode, values};
use rustarr_interface::{DType, Kinds};

/// Mostly small numbers, on which sums are exact.
fn small(dtype: DType, n: usize, seed: u64) -> Vec<Value> {
    let mut rng = Rng::new(seed);
    let mut part = || rng.below(9) as f64 - 4.0;
    (0..n)
        .map(|_| match dtype.kind() {
            Kinds::BOOL => (part() > 0.0).into(),
            Kinds::FLOAT => part().into(),
            Kinds::COMPLEX => num_complex::Complex64::new(part(), part()).into(),
            Kinds::UNSIGNED => (part().abs() as i128).into(),
            _ => (part() as i128).into(),
        })
        .collect()
}

/// Numbers on which every addition rounds.
fn rough(dtype: DType, shape: &[usize], seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut part = || (rng.bits() >> 11) as f64 / (1u64 << 53) as f64 - 0.4;
    let values: Vec<Value> = (0..shape.iter().product())
        .map(|_| match dtype.kind() {
            Kinds::COMPLEX => Value::from(num_complex::Complex64::new(part(), part())),
            _ => Value::from(part()),
        })
        .collect();
    encode(dtype, &values)
}

fn subsets(ndim: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1usize << ndim).map(move |mask| (0..ndim).filter(|a| mask >> a & 1 == 1).collect())
}

#[test]
fn every_set_of_axes_in_every_form() {
    let shape = [3, 4, 5];
    for target in targets() {
        for dtype in DType::ALL {
            let values = small(dtype, 60, 7);
            for fold in Fold::ALL {
                for axes in subsets(3).filter(|axes| is_legal(fold, dtype, 3, axes)) {
                    let want = expected(fold, dtype, &shape, &axes, &values);
                    for form in Form::ALL {
                        let x = form.array(&target.ctx, dtype, &shape, &values);
                        let got = reduce(fold, &x, &axes, false).unwrap();
                        assert_eq!(got.dtype(), fold.result(dtype), "{fold:?} of {dtype}");
                        check(&got, &want, &|i| {
                            format!(
                                "{}: {fold:?} of {dtype} over {axes:?}, {form:?}, element {i}",
                                target.name
                            )
                        });
                    }
                    let x = Form::Dense.array(&target.ctx, dtype, &shape, &values);
                    let kept = reduce(fold, &x, &axes, true).unwrap();
                    assert_eq!(kept.ndim(), 3, "{fold:?} over {axes:?}");
                    assert!(
                        axes.iter().all(|&a| kept.shape()[a] == 1),
                        "{fold:?} over {axes:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn lengths_special_values_scalars_and_nothing() {
    let lengths = || (1..=70).chain([1023, 1024, 1025, 2048, 2049]);
    for target in targets() {
        for dtype in DType::ALL {
            for fold in Fold::ALL
                .into_iter()
                .filter(|f| is_legal(*f, dtype, 1, &[0]))
            {
                let what = |n: usize| move |_: usize| format!("{fold:?} of {n} {dtype}");
                let every = target.name == "cpu-serial";
                for n in lengths().filter(|n| every || n % 17 == 1) {
                    let values = small(dtype, n, n as u64);
                    let x = Form::Dense.array(&target.ctx, dtype, &[n], &values);
                    let want = expected(fold, dtype, &[n], &[0], &values);
                    check(&reduce(fold, &x, &[0], false).unwrap(), &want, &what(n));
                }
                // Pairs, so that one special value does not hide the others.
                let all = special(dtype);
                let pairs: Vec<Value> = all
                    .iter()
                    .flat_map(|a| all.iter().flat_map(move |b| [*a, *b]))
                    .collect();
                let shape = [pairs.len() / 2, 2];
                let x = Form::Dense.array(&target.ctx, dtype, &shape, &pairs);
                let want = expected(fold, dtype, &shape, &[1], &pairs);
                check(&reduce(fold, &x, &[1], false).unwrap(), &want, &|i| {
                    format!(
                        "{}: {fold:?} of {:?}",
                        target.name,
                        &pairs[2 * i..2 * i + 2]
                    )
                });

                let one = small(dtype, 1, 3);
                let x = Form::Dense.array(&target.ctx, dtype, &[], &one);
                let want = vec![fold.over(dtype, &one)];
                check(&reduce(fold, &x, &[], false).unwrap(), &want, &what(1));

                let none = Form::Dense.array(&target.ctx, dtype, &[3, 0], &[]);
                if fold.needs_elements() {
                    assert!(
                        reduce(fold, &none, &[1], false).is_err(),
                        "{fold:?} of nothing"
                    );
                    continue;
                }
                let want = vec![fold.over(dtype, &[]); 3];
                check(&reduce(fold, &none, &[1], false).unwrap(), &want, &what(0));
            }
        }
    }
}

/// Mean, variance and deviation against sums in twice the precision.
#[test]
fn statistics_are_accurate() {
    for target in targets() {
        for dtype in [DType::F32, DType::F64] {
            for n in [2usize, 7, 64, 1000, 5000] {
                let bytes = rough(dtype, &[n], n as u64);
                let x = Array::from_bytes(&target.ctx, dtype, &[n], &bytes).unwrap();
                let items: Vec<f64> = values(&x).iter().map(real).collect();
                let mean = accurate(&items) / n as f64;
                let squares: Vec<f64> = items.iter().map(|v| (v - mean) * (v - mean)).collect();
                let var = accurate(&squares) / (n - 1) as f64;
                let digits = if dtype == DType::F32 { 1e-6 } else { 1e-14 };
                let near = |got: Result<Array>, want: f64, what: &str| {
                    let got = got.unwrap().item().unwrap().to_f64();
                    assert!(
                        (got - want).abs() <= digits,
                        "{}: {what} of {n}: {got}, not {want}",
                        target.name
                    );
                };
                near(ops::mean(&x, None, false), mean, "mean");
                near(ops::var(&x, None, 1.0, false), var, "var");
                near(ops::std(&x, None, 1.0, false), var.sqrt(), "std");
            }
        }
    }
}

fn real(v: &Value) -> f64 {
    let Value::Float(v, _) = v else {
        panic!("a real number")
    };
    *v
}

/// A sum with compensation (Neumaier, ZAMM 1974).
fn accurate(items: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0f64, 0f64);
    for &v in items {
        let next = sum + v;
        lost += if sum.abs() >= v.abs() {
            (sum - next) + v
        } else {
            (v - next) + sum
        };
        sum = next;
    }
    sum + lost
}

/// A float32 sum of many terms loses no more than pairwise summation would.
#[test]
fn long_float_sums_stay_accurate() {
    for target in targets().iter().filter(|t| !t.is_deferred()) {
        let n = 1_000_000;
        let bytes = rough(DType::F32, &[n], 1);
        let x = Array::from_bytes(&target.ctx, DType::F32, &[n], &bytes).unwrap();
        let items: Vec<f64> = x
            .to_vec::<f32>()
            .unwrap()
            .iter()
            .map(|v| *v as f64)
            .collect();
        let (want, magnitude) = (accurate(&items), items.iter().map(|v| v.abs()).sum::<f64>());
        let got = ops::sum(&x, None, None, false)
            .unwrap()
            .item()
            .unwrap()
            .to_f64();
        let bound = 20.0 * f32::EPSILON as f64 * magnitude / 2.0 + f32::EPSILON as f64 * want.abs();
        assert!(
            (got - want).abs() <= bound,
            "{}: {got}, not {want}",
            target.name
        );
    }
}

/// Runs `work` on every CPU target and demands the bits of the first.
fn same_bits(what: &str, work: impl Fn(&Context) -> Result<Array>) {
    let mut first: Option<Vec<u8>> = None;
    for target in cpu_targets() {
        let bytes = work(&target.ctx)
            .and_then(|x| x.to_bytes())
            .unwrap_or_else(|e| panic!("{}: {e}", target.name));
        match &first {
            None => first = Some(bytes),
            Some(want) => assert!(*want == bytes, "{what} has other bits with {}", target.name),
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for dtype in [DType::F16, DType::F32, DType::F64, DType::C64, DType::C128] {
        for shape in [
            &[100_003][..],
            &[317, 331],
            &[5, 20_001],
            &[20_001, 5],
            &[7, 11, 1301],
        ] {
            let bytes = rough(dtype, shape, shape.len() as u64);
            let load = |ctx: &Context| Array::from_bytes(ctx, dtype, shape, &bytes);
            for axes in subsets(shape.len()).filter(|axes| !axes.is_empty()) {
                let list: Vec<i64> = axes.iter().map(|&a| a as i64).collect();
                let what = |op: &str| format!("{op} of {dtype} over {axes:?} of {shape:?}");
                same_bits(&what("sum"), |ctx| {
                    ops::sum(&load(ctx)?, Some(&list), None, false)
                });
                same_bits(&what("mean"), |ctx| {
                    ops::mean(&load(ctx)?, Some(&list), false)
                });
                same_bits(&what("prod"), |ctx| {
                    // Near one, so that the product neither vanishes nor overflows.
                    let near_one = ops::add(&ops::multiply(&load(ctx)?, 1e-3)?, 1.0)?;
                    ops::prod(&near_one, Some(&list), None, false)
                });
                same_bits(&what("var"), |ctx| {
                    ops::var(&load(ctx)?, Some(&list), 1.0, false)
                });
                // The expression in front of a reduction, and one that runs backwards through memory.
                same_bits(&what("sum of an expression"), |ctx| {
                    let x = load(ctx)?;
                    let x = x.view(x.layout().flip(0));
                    ops::sum(
                        &ops::exp(&ops::multiply(&x, &x)?)?,
                        Some(&list),
                        None,
                        false,
                    )
                });
            }
        }
    }
}

#[test]
fn products_of_matrices_have_the_same_bits() {
    for dtype in [DType::F32, DType::F64, DType::C64, DType::C128, DType::I32] {
        for (m, k, n) in [
            (1, 1, 1),
            (3, 5, 4),
            (64, 64, 64),
            (129, 300, 67),
            (1, 1000, 1),
            (257, 3, 255),
        ] {
            let matrix = |ctx: &Context, rows: usize, cols: usize| {
                let bytes = rough(
                    if dtype == DType::I32 {
                        DType::F64
                    } else {
                        dtype
                    },
                    &[rows, cols],
                    5,
                );
                let load = if dtype == DType::I32 {
                    DType::F64
                } else {
                    dtype
                };
                let x = Array::from_bytes(ctx, load, &[rows, cols], &bytes)?;
                if dtype == DType::I32 {
                    ops::multiply(&x, 1000.0)?.astype(dtype)
                } else {
                    Ok(x)
                }
            };
            same_bits(&format!("matmul of {dtype} {m}x{k}x{n}"), |ctx| {
                ops::matmul(&matrix(ctx, m, k)?, &matrix(ctx, k, n)?)
            });
            same_bits(
                &format!("transposed matmul of {dtype} {m}x{k}x{n}"),
                |ctx| {
                    let (a, b) = (matrix(ctx, k, m)?, matrix(ctx, n, k)?);
                    ops::matmul(
                        &a.view(a.layout().permute(&[1, 0])),
                        &b.view(b.layout().permute(&[1, 0])),
                    )
                },
            );
        }
    }
}

#[test]
fn random_streams_have_the_same_bits() {
    use ops::random::Generator;
    for shape in [&[1][..], &[7], &[1023], &[100_003], &[33, 65]] {
        for dtype in [DType::F32, DType::F64] {
            same_bits("random", |ctx| {
                Generator::new(42).random(ctx, shape, Some(dtype))
            });
            same_bits("normal", |ctx| {
                Generator::new(42).normal(ctx, 1.0, 2.0, shape, Some(dtype))
            });
        }
        same_bits("bits", |ctx| {
            Generator::new(42).bits(ctx, shape, DType::U64)
        });
        same_bits("integers", |ctx| {
            Generator::new(42).integers(ctx, -5, 1000, shape, None)
        });
    }
}

/// Raw bits, uniforms and integers are the same on devices too.
#[test]
fn random_streams_are_the_same_everywhere() {
    use ops::random::Generator;
    let mut first: Option<Vec<Vec<u8>>> = None;
    for target in targets() {
        let ctx = &target.ctx;
        let made = [
            Generator::new(7).bits(ctx, &[999], DType::U32),
            Generator::new(7).random(ctx, &[999], Some(DType::F32)),
            Generator::new(7).random(ctx, &[999], Some(DType::F64)),
            Generator::new(7).integers(ctx, 0, 6, &[999], Some(DType::I64)),
        ];
        let bytes: Vec<Vec<u8>> = made
            .into_iter()
            .map(|x| x.unwrap().to_bytes().unwrap())
            .collect();
        match &first {
            None => first = Some(bytes),
            Some(want) => assert!(*want == bytes, "{}", target.name),
        }
    }
}

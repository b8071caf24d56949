//! What fusion saves, counted: passes, allocated bytes, nothing computed twice; and that it changes no bit.

use rustarr::{Array, Context, ContextOptions, DType, Defer, Stats, ops};
use rustarr_conformance::oracle::checked::Checked;
use rustarr_conformance::oracle::random::Rng;
use rustarr_conformance::suite::targets::{cpu, targets};
use rustarr_interface::{Backend, Op};
use std::sync::Arc;

/// Contexts that record everything, with counters of their own.
fn deferring() -> Vec<(String, Context)> {
    let deferred = targets().iter().filter(|t| t.is_deferred());
    deferred.map(|t| (t.name.clone(), t.fresh())).collect()
}

fn line(ctx: &Context, n: usize) -> Array {
    let values: Vec<f32> = (0..n).map(|i| (i % 97) as f32 / 50.0 - 0.9).collect();
    Array::from_slice(ctx, &values, &[n]).unwrap()
}

/// What `work` does to the counters, from its start until its result is there.
fn counted(ctx: &Context, work: impl FnOnce() -> Array) -> (Array, Stats) {
    ctx.reset_stats();
    let result = work();
    result.realise().unwrap();
    (result, ctx.stats())
}

#[test]
fn a_chain_is_one_pass() {
    for (name, ctx) in deferring() {
        let n = 3000;
        let [a, b, c, d, e] = [(); 5].map(|_| line(&ctx, n));
        let (_, stats) = counted(&ctx, || (&a * &b + &c) * &d - &e);
        assert_eq!(
            (stats.maps, stats.reduces, stats.fallbacks),
            (1, 0, 0),
            "{name}: {stats:?}"
        );
        assert_eq!(stats.bytes_allocated, 4 * n as u64, "{name}: {stats:?}");
    }
}

#[test]
fn a_reduction_takes_its_operand_along() {
    for (name, ctx) in deferring() {
        let x = line(&ctx, 5000);
        let (total, stats) = counted(&ctx, || {
            let y = ops::exp(&(-&x * &x)).unwrap() * 2.0 + 1.0;
            ops::sum(&y, None, None, false).unwrap()
        });
        assert_eq!(
            (stats.maps, stats.reduces, stats.fallbacks),
            (0, 1, 0),
            "{name}: {stats:?}"
        );
        assert_eq!(stats.bytes_allocated, 4, "{name}: {stats:?}");
        let want: f64 = x
            .to_vec::<f32>()
            .unwrap()
            .iter()
            .map(|v| (-v * v).exp() as f64 * 2.0 + 1.0)
            .sum();
        assert!(
            (total.item().unwrap().to_f64() / want - 1.0).abs() < 1e-5,
            "{name}"
        );
    }
}

/// An inner value that somebody holds is written by the same pass, not computed again.
#[test]
fn held_inner_values_are_computed_once() {
    for (name, ctx) in deferring() {
        let x = line(&ctx, 2000);
        let mut held = None;
        let (_, stats) = counted(&ctx, || {
            let inner = held.insert(ops::exp(&x).unwrap());
            &*inner * 2.0 + 1.0
        });
        let inner = held.unwrap();
        assert_eq!(
            (stats.maps, stats.bytes_allocated),
            (1, 2 * 4 * 2000),
            "{name}: {stats:?}"
        );
        assert!(!inner.is_pending(), "{name}");
        inner.realise().unwrap();
        assert_eq!(ctx.stats().maps, 1, "{name}");
    }
}

/// An operand used twice is loaded and computed once.
#[test]
fn shared_operands_are_computed_once() {
    for (name, ctx) in deferring() {
        let x = line(&ctx, 500);
        let (_, stats) = counted(&ctx, || {
            let y = ops::sin(&x).unwrap();
            &y * &y + &y
        });
        assert_eq!(
            (stats.maps, stats.bytes_allocated),
            (1, 4 * 500),
            "{name}: {stats:?}"
        );
    }
}

#[test]
fn a_long_chain_is_cut_into_kernels_of_bounded_size() {
    // The naive backend refuses a program of more instructions or operands than it has said.
    let backend: Arc<dyn Backend> = Arc::new(Checked::new(64, 16));
    let options = ContextOptions {
        defer: Defer::Always,
        ..ContextOptions::default()
    };
    let checked = Context::new("checked", backend.clone(), backend, options);
    for (name, ctx) in deferring()
        .into_iter()
        .chain([("checked".to_owned(), checked)])
    {
        let x = line(&ctx, 10);
        let mut y = x.clone();
        ctx.reset_stats();
        for i in 0..200 {
            y = if i % 2 == 0 { &y + 1.0 } else { &y * &x };
        }
        y.realise().unwrap();
        let stats = ctx.stats();
        assert!(
            (200 / 64..=200 / 8).contains(&(stats.maps as usize)),
            "{name}: {stats:?}"
        );
        let mut want = x.to_vec::<f32>().unwrap();
        for (w, x) in want.iter_mut().zip(x.to_vec::<f32>().unwrap()) {
            (0..200).for_each(|i| *w = if i % 2 == 0 { *w + 1.0 } else { *w * x });
        }
        for (got, want) in y.to_vec::<f32>().unwrap().iter().zip(want) {
            assert!(
                (got - want).abs() <= want.abs() * 1e-4,
                "{name}: {got}, not {want}"
            );
        }
    }
}

#[test]
fn many_operands_are_cut_too() {
    for (name, ctx) in deferring() {
        let all: Vec<Array> = (0..40).map(|_| line(&ctx, 100)).collect();
        let (total, _) = counted(&ctx, || {
            all[1..].iter().fold(all[0].clone(), |sum, x| &sum + x)
        });
        let one = all[0].to_vec::<f32>().unwrap();
        for (got, x) in total.to_vec::<f32>().unwrap().iter().zip(one) {
            assert!((got - 40.0 * x).abs() <= 1e-4, "{name}");
        }
    }
}

/// `x[1:-1] += 1` is one pass over the part and allocates nothing.
#[test]
fn updating_a_part_in_place_allocates_nothing() {
    for (name, ctx) in deferring() {
        for pending in [false, true] {
            let n = 4000;
            let mut x = line(&ctx, n);
            if pending {
                // Not yet run when its part is written: running it is one pass more, and no copy.
                x = &x * 2.0;
            }
            let part = x.view(x.layout().slice(0, 1, 1, n - 2));
            let before = if pending {
                0
            } else {
                ctx.stats().bytes_allocated
            };
            ctx.reset_stats();
            ops::apply_in_place(Op::Add, &part, 1.0.into()).unwrap();
            x.realise().unwrap();
            let stats = ctx.stats();
            let (maps, bytes) = if pending { (2, 4 * n as u64) } else { (1, 0) };
            assert_eq!(
                (stats.maps, stats.bytes_allocated),
                (maps, bytes),
                "{name}: {stats:?}, before {before}"
            );
            let got = x.to_vec::<f32>().unwrap();
            let scale = if pending { 2.0 } else { 1.0 };
            let old = line(&ctx, n).to_vec::<f32>().unwrap();
            for (i, (got, old)) in got.iter().zip(old).enumerate() {
                let add = if i == 0 || i == n - 1 { 0.0 } else { 1.0 };
                assert_eq!(*got, old * scale + add, "{name}: element {i}");
            }
        }
    }
}

/// A row written into a matrix that is still pending.
#[test]
fn parts_of_pending_arrays_can_be_written() {
    for (name, ctx) in deferring() {
        let x = line(&ctx, 12);
        let m = x.view(x.layout().reshape(&[3, 4]).unwrap());
        let y = &m + 1.0;
        let reader = &y * 10.0;
        y.view(y.layout().select(0, 1))
            .assign(ctx.full(&[], 7f32).unwrap())
            .unwrap();
        let got = y.to_vec::<f32>().unwrap();
        let old: Vec<f32> = x.to_vec::<f32>().unwrap().iter().map(|v| v + 1.0).collect();
        let want: Vec<f32> = (0..12)
            .map(|i| if i / 4 == 1 { 7.0 } else { old[i] })
            .collect();
        assert_eq!(got, want, "{name}");
        // What was recorded before the write sees what was there before it.
        let want: Vec<f32> = old.iter().map(|v| v * 10.0).collect();
        assert_eq!(reader.to_vec::<f32>().unwrap(), want, "{name}");
    }
}

#[test]
fn a_new_constant_or_size_compiles_nothing() {
    for (name, ctx) in deferring() {
        for (n, c) in [(100, 1.5), (101, 2.5), (100, 3.5), (3000, 9.0)] {
            let x = line(&ctx, n);
            let (_, stats) = counted(&ctx, || &x * c + 1.0);
            assert!(
                n == 100 && c == 1.5 || stats.pipelines == 0,
                "{name}: {n} {c} {stats:?}"
            );
        }
    }
}

/// A random expression over longer arrays; the same one for the same seed.
fn expression(ctx: &Context, dtype: DType, n: usize, seed: u64) -> Array {
    let mut rng = Rng::new(seed);
    let values: Vec<f64> = (0..n)
        .map(|i| ((i * 37 + 11) % 1009) as f64 / 300.0 - 1.5)
        .collect();
    let base = Array::from_slice(ctx, &values, &[n])
        .unwrap()
        .astype(dtype)
        .unwrap();
    base.realise().unwrap();
    let mut live = vec![base.clone(), base.view(base.layout().flip(0))];
    for _ in 0..12 {
        let (x, y) = (
            live[rng.below(live.len())].clone(),
            live[rng.below(live.len())].clone(),
        );
        let made = match rng.below(9) {
            0 => ops::sin(&x),
            1 => ops::exp(&ops::minimum(&x, 1.0).unwrap()),
            2 => ops::multiply(&x, &y),
            3 => ops::add(&x, 0.1),
            4 => ops::divide(&x, &y),
            5 => ops::sqrt(&ops::abs(&x).unwrap()),
            6 => ops::where_(&ops::less(&x, &y).unwrap(), &x, 0.5),
            7 => ops::subtract(&x, &ops::mean(&y, None, true).unwrap()),
            _ => ops::floor_divide(&x, 0.3),
        };
        live.push(made.unwrap());
        if live.len() > 4 {
            live.remove(rng.below(live.len() - 1));
        }
    }
    live.pop().unwrap()
}

/// Fused and unfused, serial and parallel: no bit differs on the CPU.
#[test]
fn fusion_changes_no_bit() {
    use Defer::{Always, Auto, Never};
    let eager = cpu("cpu-serial", None, Never, None);
    let others = [
        ("serial, auto", cpu("cpu-serial", None, Auto, None)),
        ("serial, deferred", cpu("cpu-serial", None, Always, Some(1))),
        (
            "parallel 2, eager",
            cpu("cpu-parallel", Some(2), Never, Some(64)),
        ),
        (
            "parallel 3, deferred",
            cpu("cpu-parallel", Some(3), Always, Some(64)),
        ),
        ("parallel 8, auto", cpu("cpu-parallel", Some(8), Auto, None)),
    ];
    for dtype in [DType::F16, DType::F32, DType::F64] {
        for seed in 0..60 {
            let n = [5, 1023, 1025, 5000, 6001][seed as usize % 5];
            let want = expression(&eager, dtype, n, seed).to_bytes().unwrap();
            for (name, ctx) in &others {
                let got = expression(ctx, dtype, n, seed).to_bytes().unwrap();
                assert!(
                    got == want,
                    "{name}: expression {seed} of {n} {dtype} has other bits"
                );
            }
        }
    }
}

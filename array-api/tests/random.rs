//! The stream: reproducible, continued where the last draw ended, the same in every context.

mod common;

use common::*;
use rustarr::indexing::{Key, set};
use rustarr::ops::random::{Generator, default_generator, seed};
use rustarr::{Array, Context, DType, Defer, ErrorKind, ops};

fn words(x: &Array) -> Vec<u32> {
    x.to_vec::<u32>().unwrap()
}

#[test]
fn draws_continue_the_stream() {
    let ctx = context(Defer::Auto);
    let bits = |g: &Generator, n: usize| words(&g.bits(&ctx, &[n], DType::U32).unwrap());
    let whole = bits(&Generator::new(7), 16);
    let parts = Generator::new(7);
    assert_eq!([bits(&parts, 4), bits(&parts, 12)].concat(), whole);
    // A draw ends at a block of four words.
    let ragged = Generator::new(7);
    assert_eq!(bits(&ragged, 3), whole[..3]);
    assert_eq!(ragged.state(), (7, 1));
    assert_eq!(bits(&ragged, 5), whole[4..9]);
    assert_eq!(bits(&Generator::at(7, 3), 4), whole[12..]);
    let wide = Generator::new(7)
        .bits(&ctx, &[8], DType::U64)
        .unwrap()
        .to_vec::<u64>()
        .unwrap();
    let pairs: Vec<u64> = whole
        .chunks(2)
        .map(|w| w[0] as u64 | (w[1] as u64) << 32)
        .collect();
    assert_eq!(wide, pairs);
    assert_ne!(bits(&Generator::new(8), 16), whole);
    assert_ne!(
        Generator::from_os().state().0,
        Generator::from_os().state().0
    );

    // How many blocks each kind of draw takes: no two draws share a word.
    let blocks = |draw: &dyn Fn(&Generator) -> Array| {
        let g = Generator::new(1);
        draw(&g).realise().unwrap();
        g.state().1
    };
    assert_eq!(
        blocks(&|g| g.random(&ctx, &[5], Some(DType::F32)).unwrap()),
        2
    );
    assert_eq!(blocks(&|g| g.random(&ctx, &[5], None).unwrap()), 3);
    assert_eq!(
        blocks(&|g| g.normal(&ctx, 0.0, 1.0, &[5], Some(DType::F32)).unwrap()),
        2
    );
    assert_eq!(
        blocks(&|g| g.normal(&ctx, 0.0, 1.0, &[5], None).unwrap()),
        3
    );
    assert_eq!(
        blocks(&|g| g.integers(&ctx, 0, 9, &[5], Some(DType::I8)).unwrap()),
        3
    );
    assert_eq!(blocks(&|g| g.random(&ctx, &[0], None).unwrap()), 0);
}

#[test]
fn every_context_draws_the_same() {
    let draw = |ctx: &Context| {
        let g = Generator::new(42);
        let arrays = [
            g.random(ctx, &[3, 5], None).unwrap(),
            g.uniform(ctx, -2.0, 3.0, &[7], Some(DType::F32)).unwrap(),
            g.normal(ctx, 1.0, 2.0, &[9], None).unwrap(),
            g.integers(ctx, -5, 6, &[11], Some(DType::I16)).unwrap(),
            g.permutation(ctx, 13).unwrap(),
            g.random(ctx, &[4], Some(DType::F16)).unwrap(),
        ];
        arrays.map(|a| a.to_bytes().unwrap())
    };
    let first = draw(&context(Defer::Auto));
    for ctx in contexts() {
        assert_eq!(draw(&ctx), first);
    }
}

#[test]
fn draws_have_their_distribution() {
    let ctx = context(Defer::Auto);
    let g = Generator::new(3);
    let n = 200_000usize;
    let moments = |x: &Array| {
        let mean = floats(&ops::mean(x, None, false).unwrap())[0];
        (mean, floats(&ops::std(x, None, 0.0, false).unwrap())[0])
    };
    for dtype in [DType::F32, DType::F64] {
        let u = g.random(&ctx, &[n], Some(dtype)).unwrap();
        let v = floats(&u);
        assert!(v.iter().all(|v| (0.0..1.0).contains(v)));
        let (mean, std) = moments(&u);
        assert!((mean - 0.5).abs() < 0.005 && (std - (1f64 / 12.0).sqrt()).abs() < 0.005);
        let (mean, std) = moments(&g.normal(&ctx, 5.0, 2.0, &[n + 1], Some(dtype)).unwrap());
        assert!(
            (mean - 5.0).abs() < 0.03 && (std - 2.0).abs() < 0.03,
            "{mean} {std}"
        );
    }
    let v = floats(&g.uniform(&ctx, -2.0, 6.0, &[n], None).unwrap());
    assert!(v.iter().all(|v| (-2.0..6.0).contains(v)) && v.iter().any(|&v| v > 5.9));
    let mut seen = [0usize; 7];
    for i in ints(&g.integers(&ctx, -3, 4, &[n], None).unwrap()) {
        seen[(i + 3) as usize] += 1;
    }
    assert!(
        seen.iter()
            .all(|&c| (c as f64 / n as f64 - 1.0 / 7.0).abs() < 0.005),
        "{seen:?}"
    );
    let all = g
        .integers(&ctx, i64::MIN as i128, i64::MAX as i128 + 1, &[64], None)
        .unwrap();
    assert!(ints(&all).iter().any(|&v| v < 0) && ints(&all).iter().any(|&v| v > 0));
    let top = g
        .integers(
            &ctx,
            u64::MAX as i128,
            u64::MAX as i128 + 1,
            &[3],
            Some(DType::U64),
        )
        .unwrap();
    assert_eq!(top.to_vec::<u64>().unwrap(), [u64::MAX; 3]);
}

#[test]
fn orders_and_choices() {
    for ctx in contexts() {
        let g = Generator::new(5);
        let sorted = |x: &Array| {
            let mut v = ints(x);
            v.sort_unstable();
            v
        };
        let p = g.permutation(&ctx, 100).unwrap();
        assert_eq!(sorted(&p), (0..100).collect::<Vec<_>>());
        assert_ne!(ints(&p), (0..100).collect::<Vec<_>>());
        let m = range(&ctx, &[20, 2]);
        let rows = ints(&g.permuted(&m, 0).unwrap());
        assert!(rows.chunks(2).all(|r| r[1] == r[0] + 1 && r[0] % 2 == 0));
        assert_ne!(rows, ints(&m));
        let view = range(&ctx, &[50]);
        g.shuffle(&view, 0).unwrap();
        assert_eq!(sorted(&view), (0..50).collect::<Vec<_>>());
        assert_eq!(kind(g.shuffle(&view.read_only(), 0)), ErrorKind::Value);

        let x = ops::multiply(&range(&ctx, &[10]), 10i64).unwrap();
        let picks = g.choice(&x, &[4, 5], true, None).unwrap();
        assert_eq!(picks.shape(), [4, 5]);
        assert!(
            ints(&picks)
                .iter()
                .all(|v| v % 10 == 0 && (0..100).contains(v))
        );
        let mut some = sorted(&g.choice(&x, &[6], false, None).unwrap());
        some.dedup();
        assert_eq!(some.len(), 6);
        assert_eq!(kind(g.choice(&x, &[11], false, None)), ErrorKind::Value);
        assert_eq!(g.choice(&m, &[3], true, None).unwrap().shape(), [3, 2]);
        assert_eq!(
            kind(g.choice(&range(&ctx, &[0]), &[1], true, None)),
            ErrorKind::Value
        );
        assert_eq!(
            g.choice(&range(&ctx, &[0]), &[0], true, None)
                .unwrap()
                .shape(),
            [0]
        );

        let weights = ops::zeros(&ctx, &[10], None).unwrap();
        set(&weights, &[Key::Int(2)], 0.25).unwrap();
        set(&weights, &[Key::Int(7)], 0.75).unwrap();
        let drawn = ints(&g.choice(&x, &[4000], true, Some(&weights)).unwrap());
        let sevens = drawn.iter().filter(|&&v| v == 70).count();
        assert!(
            drawn.iter().all(|v| [20, 70].contains(v)) && (2800..3200).contains(&sevens),
            "{sevens}"
        );
        assert_eq!(
            sorted(&g.choice(&x, &[2], false, Some(&weights)).unwrap()),
            [20, 70]
        );
        assert_eq!(
            kind(g.choice(&x, &[3], false, Some(&weights))),
            ErrorKind::Value
        );
        let off = ops::multiply(&weights, 2.0).unwrap();
        assert_eq!(kind(g.choice(&x, &[1], true, Some(&off))), ErrorKind::Value);
        let negative =
            ops::subtract(&ops::full(&ctx, &[10], 0.2, None).unwrap(), &weights).unwrap();
        assert_eq!(
            kind(g.choice(&x, &[1], true, Some(&negative))),
            ErrorKind::Value
        );
        assert_eq!(
            kind(g.choice(&m, &[1], true, Some(&weights))),
            ErrorKind::Shape
        );
    }
}

#[test]
fn bad_draws() {
    let ctx = context(Defer::Auto);
    let g = Generator::new(0);
    let integers = |low: i128, high: i128, d| kind(g.integers(&ctx, low, high, &[1], Some(d)));
    assert_eq!(integers(3, 3, DType::I8), ErrorKind::Value);
    assert_eq!(integers(0, 300, DType::U8), ErrorKind::Overflow);
    assert_eq!(integers(-1, 3, DType::U8), ErrorKind::Overflow);
    assert_eq!(integers(0, 2, DType::F32), ErrorKind::DType);
    assert_eq!(
        kind(g.random(&ctx, &[1], Some(DType::I32))),
        ErrorKind::DType
    );
    assert_eq!(kind(g.bits(&ctx, &[1], DType::I32)), ErrorKind::DType);
    assert_eq!(
        kind(g.normal(&ctx, 0.0, -1.0, &[1], None)),
        ErrorKind::Value
    );
    assert_eq!(
        kind(g.uniform(&ctx, 0.0, f64::INFINITY, &[1], None)),
        ErrorKind::Value
    );
    assert_eq!(
        kind(g.random(&ctx, &[usize::MAX, usize::MAX], None)),
        ErrorKind::Memory
    );
    assert_eq!(
        g.state().1,
        0,
        "a refused draw leaves the stream where it was"
    );
}

#[test]
fn the_process_stream_can_be_seeded() {
    let ctx = context(Defer::Auto);
    let draw = || words(&default_generator().bits(&ctx, &[8], DType::U32).unwrap());
    seed(Some(11));
    let first = draw();
    assert_ne!(draw(), first);
    seed(Some(11));
    assert_eq!(draw(), first);
    seed(None);
    assert_ne!(draw(), first);
}

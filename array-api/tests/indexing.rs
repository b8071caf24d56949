//! Keys against an evaluator that knows nothing of layouts: it lists, element by element, where a key points.

mod common;

use common::*;
use rustarr::indexing::{Key, get, set};
use rustarr::{Array, Context, DType, Defer, ErrorKind, ops};

/// A key entry as data, so that the evaluator and the library each read it for themselves.
#[derive(Clone, Debug)]
enum Entry {
    Int(i64),
    Slice(Option<i64>, Option<i64>, Option<i64>),
    New,
    Dots,
    Index(Vec<i64>, Vec<usize>),
    Mask(Vec<bool>, Vec<usize>),
    Bool(bool),
}

fn key(ctx: &Context, entry: &Entry) -> Key {
    match entry.clone() {
        Entry::Int(i) => Key::Int(i),
        Entry::Slice(start, stop, step) => Key::Slice { start, stop, step },
        Entry::New => Key::NewAxis,
        Entry::Dots => Key::Ellipsis,
        Entry::Index(v, shape) => Key::Array(array(ctx, &v, &shape)),
        Entry::Mask(v, shape) => Key::Array(truths(ctx, &v, &shape)),
        Entry::Bool(b) => Key::Bool(b),
    }
}

fn keys(ctx: &Context, entries: &[Entry]) -> Vec<Key> {
    entries.iter().map(|e| key(ctx, e)).collect()
}

/// What one axis of the array is read at: a list of positions per result axis, or an index array.
enum Axis {
    At(i64),
    Along(Vec<i64>),
    Picked(Vec<i64>, Vec<usize>),
}

fn positions(n: usize, start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> Vec<i64> {
    let (n, step) = (n as i64, step.unwrap_or(1));
    let fix = |v: i64| if v < 0 { v + n } else { v };
    let (mut at, mut out) = (0, Vec::new());
    if step > 0 {
        at += start.map_or(0, |v| fix(v).max(0));
        let end = stop.map_or(n, |v| fix(v).min(n));
        while at < end {
            out.push(at);
            at += step;
        }
    } else {
        at += start.map_or(n - 1, |v| fix(v).min(n - 1));
        let end = stop.map_or(-1, |v| fix(v).max(-1));
        while at > end {
            out.push(at);
            at += step;
        }
    }
    out
}

fn unravel(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (o, n) in out.iter_mut().zip(shape).rev() {
        *o = flat % n;
        flat /= n;
    }
    out
}

/// The element of an array of `shape` at coordinates of a shape that it broadcasts to.
fn broadcast_at(values: &[i64], shape: &[usize], at: &[usize]) -> i64 {
    let lead = at.len() - shape.len();
    let flat = shape.iter().enumerate().fold(0, |f, (i, &n)| {
        f * n + if n == 1 { 0 } else { at[lead + i] }
    });
    values[flat]
}

/// The result's shape and, for each of its elements, the flat position in the array; `None` where the index arrays do not
/// broadcast.
fn evaluate(shape: &[usize], entries: &[Entry]) -> Option<(Vec<usize>, Vec<usize>)> {
    let used: usize = entries
        .iter()
        .map(|e| match e {
            Entry::Int(_) | Entry::Slice(..) | Entry::Index(..) => 1,
            Entry::Mask(_, s) => s.len(),
            _ => 0,
        })
        .sum();
    let mut full: Vec<Entry> = entries.to_vec();
    if !full.iter().any(|e| matches!(e, Entry::Dots)) {
        full.push(Entry::Dots);
    }
    let fancy = full
        .iter()
        .any(|e| matches!(e, Entry::Index(..) | Entry::Mask(..) | Entry::Bool(_)));
    // Axes of the result in the order of the key; `None` stands for the index arrays' axes.
    let mut axes: Vec<Axis> = Vec::new();
    let mut order: Vec<Option<usize>> = Vec::new();
    let mut virtual_axes: Vec<(Vec<i64>, Vec<usize>)> = Vec::new();
    let (mut blocks, mut previous) = (0, false);
    for e in &full {
        let n = |k: usize| shape[k];
        let advanced = fancy
            && matches!(
                e,
                Entry::Int(_) | Entry::Index(..) | Entry::Mask(..) | Entry::Bool(_)
            );
        if advanced && !previous {
            blocks += 1;
            order.push(None);
        }
        previous = advanced;
        match e {
            Entry::Int(i) => {
                axes.push(Axis::At(if *i < 0 { i + n(axes.len()) as i64 } else { *i }))
            }
            Entry::Slice(a, b, c) => {
                order.push(Some(axes.len()));
                axes.push(Axis::Along(positions(n(axes.len()), *a, *b, *c)));
            }
            Entry::New => order.push(Some(usize::MAX)),
            Entry::Dots => {
                for _ in 0..shape.len() - used {
                    order.push(Some(axes.len()));
                    axes.push(Axis::Along((0..n(axes.len()) as i64).collect()));
                }
            }
            Entry::Index(v, s) => {
                let size = n(axes.len()) as i64;
                let v = v
                    .iter()
                    .map(|&i| if i < 0 { i + size } else { i })
                    .collect();
                axes.push(Axis::Picked(v, s.clone()));
            }
            Entry::Mask(m, s) => {
                let hits: Vec<Vec<usize>> = (0..m.len())
                    .filter(|&i| m[i])
                    .map(|i| unravel(i, s))
                    .collect();
                if s.is_empty() {
                    virtual_axes.push((vec![0; hits.len()], vec![hits.len()]));
                }
                for k in 0..s.len() {
                    axes.push(Axis::Picked(
                        hits.iter().map(|h| h[k] as i64).collect(),
                        vec![hits.len()],
                    ));
                }
            }
            Entry::Bool(b) => virtual_axes.push((vec![0; *b as usize], vec![*b as usize])),
        }
    }
    if blocks > 1 {
        order.retain(Option::is_some);
        order.insert(0, None);
    }
    // The common shape of the index arrays.
    let mut common: Vec<usize> = Vec::new();
    let picked = axes.iter().filter_map(|a| match a {
        Axis::Picked(_, s) => Some(s),
        _ => None,
    });
    for s in picked.chain(virtual_axes.iter().map(|(_, s)| s)) {
        let n = common.len().max(s.len());
        let pad = |s: &[usize]| [vec![1; n - s.len()], s.to_vec()].concat();
        let (a, b) = (pad(&common), pad(s));
        common = Vec::new();
        for (x, y) in a.into_iter().zip(b) {
            common.push(match (x, y) {
                (1, y) => y,
                (x, 1) => x,
                (x, y) if x == y => x,
                _ => return None,
            });
        }
    }
    let mut out = Vec::new();
    for o in &order {
        match o {
            None => out.extend(&common),
            Some(usize::MAX) => out.push(1),
            Some(a) => out.push(match &axes[*a] {
                Axis::Along(p) => p.len(),
                _ => unreachable!(),
            }),
        }
    }
    let mut flat = Vec::new();
    for i in 0..out.iter().product() {
        let at = unravel(i, &out);
        let (mut k, mut index, mut place) = (0, vec![0usize; axes.len()], vec![]);
        for o in &order {
            match o {
                None => {
                    place = at[k..k + common.len()].to_vec();
                    k += common.len();
                }
                Some(usize::MAX) => k += 1,
                Some(a) => {
                    if let Axis::Along(p) = &axes[*a] {
                        index[*a] = p[at[k]] as usize;
                    }
                    k += 1;
                }
            }
        }
        for (a, axis) in axes.iter().enumerate() {
            match axis {
                Axis::At(p) => index[a] = *p as usize,
                Axis::Picked(v, s) => index[a] = broadcast_at(v, s, &place) as usize,
                Axis::Along(_) => {}
            }
        }
        flat.push(index.iter().zip(shape).fold(0, |f, (i, n)| f * n + i));
    }
    Some((out, flat))
}

/// A random key for a shape; sizes are small, so that everything is met often.
fn random_key(dice: &mut Dice, shape: &[usize]) -> Vec<Entry> {
    let mut out = Vec::new();
    let (mut axis, mut dots) = (0, false);
    let lead = [
        vec![],
        vec![2],
        vec![1],
        vec![2, 1],
        vec![3],
        vec![1, 3],
        vec![0],
    ][dice.below(7)]
    .clone();
    loop {
        if dice.below(8) == 0 {
            out.push(Entry::New);
        }
        if dice.below(16) == 0 {
            out.push(Entry::Bool(dice.below(3) > 0));
        }
        if !dots && dice.below(6) == 0 {
            dots = true;
            out.push(Entry::Dots);
            axis += dice.below(shape.len() - axis + 1);
        }
        if axis >= shape.len() || dice.below(10) == 0 {
            break;
        }
        let n = shape[axis];
        let any = |d: &mut Dice| {
            if d.below(3) == 0 {
                None
            } else {
                Some(d.below(2 * n + 3) as i64 - n as i64 - 1)
            }
        };
        match dice.below(5) {
            0 if n > 0 => out.push(Entry::Int(dice.below(2 * n) as i64 - n as i64)),
            1 | 2 => {
                let step = [None, Some(1), Some(2), Some(-1), Some(-2), Some(7)][dice.below(6)];
                out.push(Entry::Slice(any(dice), any(dice), step));
            }
            3 => {
                let most = (shape.len() - axis).min(2);
                let s = shape[axis..axis + dice.below(most + 1)].to_vec();
                let m = (0..s.iter().product())
                    .map(|_| dice.below(2) == 0)
                    .collect();
                axis += s.len();
                out.push(Entry::Mask(m, s));
                continue;
            }
            4 => {
                let s = if n == 0 { vec![0] } else { lead.clone() };
                let len: usize = s.iter().product();
                out.push(Entry::Index(
                    (0..len)
                        .map(|_| dice.below(2 * n) as i64 - n as i64)
                        .collect(),
                    s,
                ));
            }
            _ => out.push(Entry::Slice(None, None, None)),
        }
        axis += 1;
    }
    // An ellipsis in the middle leaves room; without one the key just ends early.
    let used: usize = out
        .iter()
        .map(|e| match e {
            Entry::Mask(_, s) => s.len(),
            Entry::Int(_) | Entry::Slice(..) | Entry::Index(..) => 1,
            _ => 0,
        })
        .sum();
    // The entries after an ellipsis count from the end: only keep the key if they still fit there.
    if dots && used > shape.len() {
        vec![]
    } else {
        out
    }
}

/// Keys whose entries after the ellipsis meet axes of another size are refused by both.
fn fits(shape: &[usize], entries: &[Entry]) -> bool {
    let count = |e: &Entry| match e {
        Entry::Mask(_, s) => s.len(),
        Entry::Int(_) | Entry::Slice(..) | Entry::Index(..) => 1,
        _ => 0,
    };
    let used: usize = entries.iter().map(count).sum();
    let mut axis = 0;
    for e in entries {
        let n = shape.get(axis).copied().unwrap_or(0) as i64;
        let inside = |i: &i64| (-n..n).contains(i);
        let good = match e {
            Entry::Int(i) => inside(i),
            Entry::Index(v, _) => v.iter().all(inside),
            Entry::Mask(_, s) => *s == shape[axis..axis + s.len()],
            _ => true,
        };
        if !good {
            return false;
        }
        axis += if matches!(e, Entry::Dots) {
            shape.len() - used
        } else {
            count(e)
        };
    }
    true
}

/// The same elements in other layouts: reversed, transposed and cut out of something larger.
fn layouts(ctx: &Context, shape: &[usize]) -> Vec<Array> {
    let x = range(ctx, shape);
    let n = shape.len();
    let copy_of = |like: Array| {
        like.assign(x.clone()).unwrap();
        like
    };
    let back: Vec<usize> = shape.iter().rev().copied().collect();
    let transposed = ops::transpose(&ops::zeros(ctx, &back, Some(DType::I64)).unwrap());
    let wide: Vec<usize> = shape.iter().map(|n| 2 * n + 1).collect();
    let large = ops::zeros(ctx, &wide, Some(DType::I64)).unwrap();
    let keys: Vec<Key> = shape
        .iter()
        .map(|&n| Key::Slice {
            start: Some(1),
            stop: Some(1 + 2 * n as i64),
            step: Some(2),
        })
        .collect();
    let cut = if n == 0 {
        large
    } else {
        get(&large, &keys).unwrap()
    };
    let flipped = ops::flip(&ops::zeros(ctx, shape, Some(DType::I64)).unwrap(), None).unwrap();
    vec![
        x.clone(),
        copy_of(transposed),
        copy_of(cut),
        copy_of(flipped),
    ]
}

const SHAPES: [&[usize]; 7] = [
    &[],
    &[5],
    &[3, 4],
    &[2, 3, 4],
    &[2, 1, 3, 2],
    &[0, 3],
    &[3, 0, 2],
];

#[test]
fn reading_is_what_the_key_says() {
    let (mut cases, mut fancy) = (0, 0);
    for ctx in contexts() {
        let mut dice = Dice(1);
        for round in 0..1500 {
            let shape = SHAPES[round % SHAPES.len()];
            let entries = random_key(&mut dice, shape);
            if !fits(shape, &entries) {
                continue;
            }
            let x = &layouts(&ctx, shape)[dice.below(4)];
            let got = get(x, &keys(&ctx, &entries));
            let Some((want_shape, want)) = evaluate(shape, &entries) else {
                assert_eq!(kind(got), ErrorKind::Index, "{shape:?} {entries:?}");
                continue;
            };
            let got = got.unwrap_or_else(|e| panic!("{shape:?} {entries:?}: {e}"));
            assert_eq!(got.shape(), want_shape, "{shape:?} {entries:?}");
            let want: Vec<i64> = want.into_iter().map(|i| i as i64).collect();
            assert_eq!(ints(&got), want, "{shape:?} {entries:?}");
            cases += 1;
            fancy += entries
                .iter()
                .any(|e| matches!(e, Entry::Mask(..) | Entry::Index(..)))
                as usize;
        }
    }
    assert!(
        cases > 3000 && fancy > 1000,
        "{cases} cases, {fancy} with arrays"
    );
}

#[test]
fn writing_is_what_the_key_says() {
    for ctx in contexts() {
        let mut dice = Dice(2);
        let mut cases = 0;
        for round in 0..1500 {
            let shape = SHAPES[round % SHAPES.len()];
            let entries = random_key(&mut dice, shape);
            if !fits(shape, &entries) {
                continue;
            }
            let Some((target, at)) = evaluate(shape, &entries) else {
                continue;
            };
            let x = &layouts(&ctx, shape)[dice.below(4)];
            let mut want: Vec<i64> = ints(x);
            // A value that broadcasts: axes of length 1 and missing leading ones.
            let keep = dice.below(target.len() + 1);
            let value_shape: Vec<usize> = target[keep..]
                .iter()
                .map(|&n| if dice.below(3) == 0 { 1 } else { n })
                .collect();
            let n: usize = value_shape.iter().product();
            let values: Vec<i64> = (0..n as i64).map(|i| 1000 + i).collect();
            for (i, &p) in at.iter().enumerate() {
                want[p] = broadcast_at(&values, &value_shape, &unravel(i, &target));
            }
            let key = keys(&ctx, &entries);
            if n == 1 && value_shape.is_empty() && dice.below(2) == 0 {
                set(x, &key, 1000i64).unwrap();
            } else {
                // Values of another dtype are cast.
                let value = array(&ctx, &values, &value_shape)
                    .astype(DType::F32)
                    .unwrap();
                set(x, &key, &value)
                    .unwrap_or_else(|e| panic!("{shape:?} {entries:?} {value_shape:?}: {e}"));
            }
            assert_eq!(ints(x), want, "{shape:?} {entries:?} = {value_shape:?}");
            cases += 1;
        }
        assert!(cases > 1000, "{cases} cases");
    }
}

#[test]
fn arrays_go_where_numpy_puts_them() {
    // Shapes that NumPy 2.4 gives.
    let ctx = context(Defer::Auto);
    let y = range(&ctx, &[2, 3, 4, 5]);
    let i = || Entry::Index(vec![0, 1], vec![2]);
    let one = || Entry::Index(vec![0], vec![1]);
    let all = || Entry::Slice(None, None, None);
    let mask = |s: &[usize]| Entry::Mask(vec![true; s.iter().product()], s.to_vec());
    let cases: [(Vec<Entry>, &[usize]); 14] = [
        (vec![Entry::Int(0), all(), i()], &[2, 3, 5]),
        (vec![all(), Entry::Int(0), i()], &[2, 2, 5]),
        (vec![all(), i(), Entry::New, i()], &[2, 2, 1, 5]),
        (vec![all(), i(), Entry::Bool(true), i()], &[2, 2, 5]),
        (vec![Entry::Bool(true), all(), i()], &[2, 2, 4, 5]),
        (vec![Entry::New, i(), i()], &[1, 2, 4, 5]),
        (vec![all(), one(), Entry::Dots, one(), all()], &[1, 2, 5]),
        (vec![all(), one(), one(), Entry::Dots], &[2, 1, 5]),
        (
            vec![all(), Entry::Int(0), Entry::Dots, one(), all()],
            &[1, 2, 5],
        ),
        (vec![mask(&[2, 3])], &[6, 4, 5]),
        (vec![all(), mask(&[3, 4])], &[2, 12, 5]),
        (vec![Entry::Int(0), mask(&[3, 4])], &[12, 5]),
        (vec![Entry::Bool(false)], &[0, 2, 3, 4, 5]),
        (vec![Entry::Bool(true), Entry::Bool(true)], &[1, 2, 3, 4, 5]),
    ];
    for (entries, want) in cases {
        assert_eq!(
            get(&y, &keys(&ctx, &entries)).unwrap().shape(),
            want,
            "{entries:?}"
        );
    }
}

#[test]
fn bad_keys_are_named_and_leave_the_target_alone() {
    for ctx in contexts() {
        let x = range(&ctx, &[2, 3]);
        let i = |v: &[i64]| Key::Array(array(&ctx, v, &[v.len()]));
        let message = |k: &[Key]| get(&x, k).unwrap_err().to_string();
        assert_eq!(
            message(&[Key::Int(5)]),
            "getitem: index 5 is out of bounds for axis 0 with size 2"
        );
        assert_eq!(
            message(&[Key::ALL, i(&[0, -4])]),
            "getitem: index -4 is out of bounds for axis 1 with size 3"
        );
        let many = [Key::Int(0), Key::Int(0), Key::Int(0)];
        assert!(message(&many).contains("2 dimensions, the key stands for 3"));
        assert!(message(&[Key::Ellipsis, Key::Ellipsis]).contains("one ellipsis"));
        let mask = Key::Array(truths(&ctx, &[true; 2], &[2]));
        assert!(
            message(&[Key::ALL, mask.clone()])
                .contains("size 2 along axis 1 is not the array's, 3")
        );
        let zero_step = [Key::Slice {
            start: None,
            stop: None,
            step: Some(0),
        }];
        assert_eq!(kind(get(&x, &zero_step)), ErrorKind::Value);
        let float = Key::Array(array(&ctx, &[0.5f64], &[1]));
        assert_eq!(kind(get(&x, &[float])), ErrorKind::Index);
        assert_eq!(
            kind(get(&x, &[i(&[0, 1]), i(&[0, 1, 2])])),
            ErrorKind::Index
        );
        let news = vec![Key::NewAxis; 63];
        assert_eq!(kind(get(&x, &news)), ErrorKind::Index);

        let two = array(&ctx, &[7i64, 7], &[2]);
        let bad: [&[Key]; 3] = [&[i(&[0, 2])], &[i(&[1, 0]), i(&[2, 3])], &[Key::Int(-3)]];
        for k in bad {
            assert_eq!(kind(set(&x, k, 7i64)), ErrorKind::Index, "{k:?}");
        }
        let e = set(&x, &[Key::ALL, i(&[1, 3])], 7i64).unwrap_err();
        assert_eq!(
            e.to_string(),
            "setitem: index 3 is out of bounds for axis 1 with size 3"
        );
        assert_eq!(kind(set(&x, &[Key::Int(0)], &two)), ErrorKind::Shape);
        assert_eq!(kind(set(&x, &[i(&[0, 1])], &two)), ErrorKind::Shape);
        assert_eq!(
            kind(set(&x, &[mask], &range(&ctx, &[3, 3]))),
            ErrorKind::Shape
        );
        assert_eq!(
            kind(set(&x, &[Key::Int(0)], 1i128 << 64)),
            ErrorKind::Overflow
        );
        assert_eq!(kind(set(&x, &[Key::Int(0)], f64::NAN)), ErrorKind::Value);
        let complex = two.astype(DType::C64).unwrap();
        assert_eq!(
            kind(set(&x, &[Key::ALL, Key::Int(0)], &complex)),
            ErrorKind::DType
        );
        assert_eq!(
            kind(set(&x.read_only(), &[Key::Int(0)], 1i64)),
            ErrorKind::Value
        );
        let wide = ops::broadcast_to(&x, &[4, 2, 3]).unwrap();
        assert_eq!(kind(set(&wide, &[Key::Int(0)], 1i64)), ErrorKind::Value);
        assert_eq!(ints(&x), [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn basic_keys_are_views_and_a_single_element_is_a_copy() {
    for ctx in contexts() {
        let x = range(&ctx, &[4]);
        let element = get(&x, &[Key::Int(1)]).unwrap();
        let view = get(&x, &[Key::Int(1), Key::Ellipsis]).unwrap();
        let tail = get(
            &x,
            &[Key::Slice {
                start: Some(2),
                stop: None,
                step: None,
            }],
        )
        .unwrap();
        let copied = get(&x, &[Key::Array(array(&ctx, &[1i64], &[1]))]).unwrap();
        set(&x, &[Key::Ellipsis], 9i64).unwrap();
        assert_eq!((ints(&element), ints(&view)), (vec![1], vec![9]));
        assert_eq!((ints(&tail), ints(&copied)), (vec![9, 9], vec![1]));
        set(&tail, &[Key::Int(0)], 5i64).unwrap();
        assert_eq!(ints(&x), [9, 9, 5, 9]);
        // Rows can be swapped through copies of single elements.
        let (a, b) = (
            get(&x, &[Key::Int(1)]).unwrap(),
            get(&x, &[Key::Int(2)]).unwrap(),
        );
        set(&x, &[Key::Int(1)], &b).unwrap();
        set(&x, &[Key::Int(2)], &a).unwrap();
        assert_eq!(ints(&x), [9, 5, 9, 9]);
    }
}

#[test]
fn a_masked_scalar_is_one_map_without_compaction() {
    let ctx = context(Defer::Always);
    let values: Vec<f64> = (0..10_000).map(|i| (i % 7) as f64 - 3.0).collect();
    let x = array(&ctx, &values, &[100, 100]);
    ctx.reset_stats();
    let negative = ops::less(&x, 0.0).unwrap();
    set(&x, &[Key::Array(negative)], 0.0).unwrap();
    x.realise().unwrap();
    let stats = ctx.stats();
    assert_eq!((stats.maps, stats.verbs), (1, 0), "{stats:?}");
    let want: Vec<f64> = values.iter().map(|v| v.max(0.0)).collect();
    assert_eq!(floats(&x), want);
    // In an integer dtype a float does not widen the elements on their way.
    let big = array(&ctx, &[i64::MAX, -5, i64::MAX - 1], &[3]);
    let negative = ops::less(&big, 0i64).unwrap();
    set(&big, &[Key::Array(negative)], 2.75).unwrap();
    assert_eq!(ints(&big), [i64::MAX, 2, i64::MAX - 1]);
}

#[test]
fn values_that_alias_the_target_are_read_first() {
    for ctx in contexts() {
        let slice = |a: Option<i64>, b: Option<i64>, s| Key::Slice {
            start: a,
            stop: b,
            step: s,
        };
        let x = range(&ctx, &[6]);
        let head = get(&x, &[slice(None, Some(-1), None)]).unwrap();
        set(&x, &[slice(Some(1), None, None)], &head).unwrap();
        assert_eq!(ints(&x), [0, 0, 1, 2, 3, 4]);
        let back = get(&x, &[slice(None, None, Some(-1))]).unwrap();
        set(
            &x,
            &[Key::Array(array(&ctx, &[0i64, 1, 2, 3, 4, 5], &[6]))],
            &back,
        )
        .unwrap();
        assert_eq!(ints(&x), [4, 3, 2, 1, 0, 0]);
        // The target as its own index.
        let x = array(&ctx, &[2i64, 0, 1], &[3]);
        set(
            &x,
            &[Key::Array(x.clone())],
            &array(&ctx, &[7i64, 8, 9], &[3]),
        )
        .unwrap();
        assert_eq!(ints(&x), [8, 9, 7]);
        let m = truths(&ctx, &[true, false, true], &[3]);
        set(&m, &[Key::Array(m.clone())], false).unwrap();
        assert_eq!(bools(&m), [false; 3]);
    }
}

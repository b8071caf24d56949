//! Gates: who waits when a scheduler has announced readers and writers of an array.

mod common;

use common::{context, kind};
use rustarr::gate::{Gate, hold};
use rustarr::indexing::{Key, get, set};
use rustarr::{Array, Defer, Error, ErrorKind, Result, ops};
use std::any::Any;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// Counts those who wait, lets the array be touched, and may refuse.
#[derive(Debug, Default)]
struct Counting {
    reads: AtomicU32,
    writes: AtomicU32,
    refuse: Mutex<Option<Error>>,
}

impl Gate for Counting {
    fn wait(&self, writes: bool) -> Result<()> {
        let count = if writes { &self.writes } else { &self.reads };
        count.fetch_add(1, SeqCst);
        match &*self.refuse.lock().unwrap() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

impl Counting {
    fn taken(&self) -> (u32, u32) {
        (self.reads.swap(0, SeqCst), self.writes.swap(0, SeqCst))
    }
}

fn array(values: &[f64]) -> Array {
    common::array(&context(Defer::Auto), values, &[values.len()])
}

fn gated() -> (Array, Arc<Counting>) {
    let x = array(&[1.0, 2.0, 3.0]);
    let gate = Arc::new(Counting::default());
    x.gate_or(gate.clone());
    (x, gate)
}

#[test]
fn an_open_gate_asks_nobody() {
    let (x, gate) = gated();
    x.to_vec::<f64>().unwrap();
    set(&x, &[Key::Int(0)], 5.0).unwrap();
    x.announce(true);
    x.withdraw(true);
    x.realise().unwrap();
    assert_eq!(gate.taken(), (0, 0));
}

#[test]
fn readers_wait_for_writers_and_writers_for_both() {
    let (x, gate) = gated();
    let view = x.view(x.layout().clone());
    x.announce(false);
    view.to_vec::<f64>().unwrap();
    let sum = ops::sum(&view, None, None, false).unwrap();
    assert_eq!((sum.item().unwrap().to_f64(), gate.taken()), (6.0, (0, 0)));
    set(&view, &[Key::Int(0)], 5.0).unwrap();
    assert!(gate.taken().1 > 0);
    x.withdraw(false);
    x.announce(true);
    for read in [
        |x: &Array| x.to_vec::<f64>().map(drop),
        |x: &Array| x.copy().map(drop),
        |x: &Array| get(x, &[Key::Int(0)])?.item().map(drop),
        |x: &Array| (x + 1.0).realise().map(drop),
        |x: &Array| ops::sum(x, None, None, false).map(drop),
        |x: &Array| x.export().map(drop),
    ] {
        gate.taken();
        read(&x).unwrap();
        assert!(gate.taken().0 > 0, "a read did not wait");
    }
    x.withdraw(true);
    assert_eq!(gate.taken(), (0, 0));
}

#[test]
fn a_thread_that_holds_the_array_passes() {
    let (x, gate) = gated();
    x.announce(true);
    hold([&x]);
    x.to_vec::<f64>().unwrap();
    set(&x, &[Key::Int(0)], 5.0).unwrap();
    assert_eq!(gate.taken(), (0, 0));
    std::thread::scope(|s| {
        s.spawn(|| x.to_vec::<f64>().unwrap());
    });
    assert!(gate.taken().0 > 0, "another thread does not");
    hold([]);
    x.held(|| x.to_vec::<f64>()).unwrap();
    assert_eq!(gate.taken(), (0, 0));
    x.to_vec::<f64>().unwrap();
    assert!(gate.taken().0 > 0);
}

#[test]
fn a_wait_that_fails_fails_the_touch_and_nothing_else() {
    let (x, gate) = gated();
    x.announce(true);
    *gate.refuse.lock().unwrap() = Some(Error::interrupted("wait", "stopped"));
    assert_eq!(kind(x.to_vec::<f64>()), ErrorKind::Interrupted);
    assert_eq!(kind(x.copy()), ErrorKind::Interrupted);
    assert_eq!(kind((&x + 1.0).to_vec::<f64>()), ErrorKind::Interrupted);
    assert_eq!(kind(set(&x, &[Key::Int(0)], 5.0)), ErrorKind::Interrupted);
    x.withdraw(true);
    assert_eq!(x.to_vec::<f64>().unwrap(), [1.0, 2.0, 3.0]);
}

#[test]
fn a_base_keeps_its_first_gate() {
    let (x, gate) = gated();
    let kept: &dyn Any = &**x.gate_or(Arc::new(Counting::default()));
    assert!(std::ptr::eq(
        kept.downcast_ref::<Counting>().unwrap(),
        &*gate
    ));
    assert!(array(&[1.0]).gate().is_none());
}

#[test]
fn versions_count_writes_and_nothing_else() {
    let x = array(&[1.0, 2.0, 3.0]);
    let before = x.version();
    x.to_vec::<f64>().unwrap();
    let copy = x.copy().unwrap();
    (&x + 1.0).realise().unwrap();
    assert_eq!(x.version(), before);
    set(&x, &[Key::Int(0)], 5.0).unwrap();
    let part = x.version();
    x.assign(copy.clone()).unwrap();
    assert!(
        before < part && part < x.version(),
        "a part, then the whole"
    );
    assert_eq!(copy.to_vec::<f64>().unwrap(), [1.0, 2.0, 3.0]);
}

#[test]
fn a_copy_of_the_base_has_the_same_views() {
    let x = array(&[1.0, 2.0, 3.0, 4.0]);
    let view = get(
        &x,
        &[Key::Slice {
            start: None,
            stop: None,
            step: Some(-2),
        }],
    )
    .unwrap();
    let copy = view.whole().copy().unwrap();
    assert_eq!(
        view.within(&copy).unwrap().to_vec::<f64>().unwrap(),
        [4.0, 2.0]
    );
    let other = array(&[1.0]);
    assert_eq!(kind(view.within(&other)), ErrorKind::Value);
    let weak = view.downgrade();
    assert_eq!(weak.upgrade().unwrap().size(), 4);
    drop((x, view));
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_declared_argument_is_named() {
    let x = array(&[1.0, 2.0]).read_only_as("field");
    let error = set(&x.view(x.layout().clone()), &[Key::Int(0)], 1.0).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("argument \"field\" was declared \"R\"")
    );
}

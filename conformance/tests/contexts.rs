//! Which context an operation computes in, and what contexts share.

use rustarr::{Array, Context, Defer, ops};
use rustarr_conformance::suite::targets::{cpu, targets};

fn ones(ctx: &Context) -> Array {
    Array::from_slice(ctx, &[1f32, 1.0], &[2]).unwrap()
}

#[test]
fn cpu_contexts_meet_in_the_current_one_else_the_first_operands() {
    let (a, b) = (
        cpu("cpu-serial", None, Defer::Auto, None),
        cpu("cpu-parallel", Some(2), Defer::Auto, None),
    );
    let current = cpu("cpu-serial", None, Defer::Always, None);
    let (x, y) = (ones(&a), ones(&b));
    assert!(*ops::add(&x, &y).unwrap().context() == a);
    assert!(*ops::add(&y, &x).unwrap().context() == b);
    current.scope(|| {
        assert!(*ops::add(&x, &y).unwrap().context() == current);
        // Arrays of one context stay in it, whatever the current one is.
        assert!(*ops::add(&y, &y).unwrap().context() == b);
        b.scope(|| assert!(*ops::add(&x, &y).unwrap().context() == b));
        assert!(*ops::add(&x, &y).unwrap().context() == current);
    });
    assert!(*ops::add(&x, &y).unwrap().context() == a);
}

/// A relabelled array is the same memory: a write through one handle is read through the other.
#[test]
fn relabelling_shares_elements() {
    for target in targets() {
        let Ok(other) = ones(&targets()[0].ctx).relabel(&target.ctx) else {
            continue;
        };
        assert!(*other.context() == target.ctx, "{}", target.name);
        let x = ones(&target.ctx);
        let y = x.relabel(&targets()[0].ctx).unwrap();
        ops::apply_in_place(rustarr_interface::Op::Add, &y, 1.0.into()).unwrap();
        assert_eq!(x.to_vec::<f32>().unwrap(), [2.0, 2.0], "{}", target.name);
    }
}

/// Two contexts opened alike count for themselves.
#[test]
fn counters_belong_to_a_context() {
    for target in targets() {
        let (a, b) = (target.fresh(), target.fresh());
        a.reset_stats();
        b.reset_stats();
        (ones(&a) + 1.0).realise().unwrap();
        assert_eq!((a.stats().maps, b.stats().maps), (1, 0), "{}", target.name);
        a.reset_stats();
        assert_eq!(a.stats().maps, 0, "{}", target.name);
    }
}

/// A view that leaves its array is refused, not read.
#[test]
#[should_panic(expected = "leaves the 2 elements")]
fn views_stay_inside() {
    let x = ones(&targets()[0].ctx);
    let _ = x.view(rustarr::interface::Layout::contiguous(&[3]));
}

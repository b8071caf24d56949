//! What the front end asks of Python: whether Ctrl-C was pressed, to let go of the interpreter's lock
//! around long work, and which context is current.

use crate::{context, errors};
use pyo3::prelude::*;
use rustarr::context::set_current_hook;
use rustarr::interface::interrupt;
use std::cell::Cell;

thread_local! {
    /// Whether this thread has let go of the interpreter inside [`blocking`].
    static DETACHED: Cell<bool> = const { Cell::new(false) };
}

/// Sets [`DETACHED`] until dropped.
struct Mark(bool);

impl Mark {
    fn set(detached: bool) -> Mark {
        Mark(DETACHED.replace(detached))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        DETACHED.set(self.0);
    }
}

/// Installs the hooks; the first module that is loaded wins.
pub fn install() {
    interrupt::set_hook(interrupted);
    interrupt::set_blocking_hook(blocking);
    set_current_hook(context::current_of_python);
}

/// Runs Python code, rustarr's own included, on a thread that may have let go of the interpreter.
pub fn attached<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    let _mark = Mark::set(false);
    Python::attach(work)
}

fn interrupted() -> bool {
    attached(|py| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            errors::set_signalled(error);
            true
        }
    })
}

fn blocking(work: &mut dyn FnMut()) {
    if DETACHED.get() {
        return work();
    }
    struct SameThread<'a>(&'a mut dyn FnMut());
    // SAFETY: `detach` runs its closure on the calling thread; nothing is sent anywhere. The work knows
    // nothing of Python, so no object of the interpreter is reached from it.
    unsafe impl Send for SameThread<'_> {}
    impl SameThread<'_> {
        fn run(self) {
            (self.0)();
        }
    }
    let work = SameThread(work);
    Python::attach(|py| {
        py.detach(move || {
            let _mark = Mark::set(true);
            work.run();
        });
    });
}

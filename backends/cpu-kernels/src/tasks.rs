//! Running a kernel's tasks: on this thread when there is one, else wherever the caller's [`Par`] says, stopping
//! between two tasks when the user asks.

use crate::par::{Cancel, Par, ParError};
use rustarr_interface::{Error, Result, interrupt};

/// Runs the tasks `0..count`, each with the scratch value of its thread.
///
/// # Errors
/// `Interrupted` if the user asked to stop; `Backend` if a task panicked.
pub(crate) fn run<S>(
    par: Par<'_>,
    op: &'static str,
    count: usize,
    init: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize) + Sync,
) -> Result<()> {
    if count == 1 {
        task(&mut init(), 0);
        return Ok(());
    }
    let cancel = Cancel::new();
    let polls = matches!(par, Par::Seq);
    let poll = || {
        if polls && interrupt::requested() {
            cancel.set();
        }
    };
    let done = cancel.scope(|| {
        par.for_each_with(count, init, |scratch, n| {
            poll();
            task(scratch, n);
        })
    });
    done.map_err(|error| match error {
        ParError::Cancelled => Error::interrupted(op, "stopped by the user"),
        ParError::Panicked(_) => Error::backend(op, error.to_string()),
    })
}

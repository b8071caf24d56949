//! Running a kernel's tasks: on this thread when there is one, else wherever the caller's [`Par`] says.

use crate::par::{self, Cancel, Par, ParError};
use rustarr_interface::{Error, Result};

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
    par.for_each_with(count, init, task)
        .map_err(|error| failure(op, &error))
}

/// [`run`] for tasks that may take long, each of which asks now and then whether to stop.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_until<S>(
    par: Par<'_>,
    op: &'static str,
    count: usize,
    init: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize, &dyn Fn() -> bool) + Sync,
) -> Result<()> {
    let par = if count == 1 { Par::Seq } else { par };
    par.for_each_until(count, init, task)
        .map_err(|error| failure(op, &error))
}

/// Looks whether to stop, in work that is no task.
///
/// # Errors
/// `Interrupted` if so.
pub(crate) fn check(op: &'static str) -> Result<()> {
    if par::asked(Cancel::current().as_ref()) {
        return Err(failure(op, &ParError::Cancelled));
    }
    Ok(())
}

#[cold]
fn failure(op: &'static str, error: &ParError) -> Error {
    match error {
        ParError::Cancelled => Error::interrupted(op, "stopped by the user"),
        ParError::Panicked(_) => Error::backend(op, error.to_string()),
    }
}

//! Running a kernel's tasks: on this thread when there is one, else wherever the caller's [`Par`] says.

use crate::par::{Par, ParError};
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
        .map_err(|error| match error {
            ParError::Cancelled => Error::interrupted(op, "stopped by the user"),
            ParError::Panicked(_) => Error::backend(op, error.to_string()),
        })
}

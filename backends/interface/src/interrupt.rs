//! Ctrl-C: the embedding program installs one hook, long work polls it between blocks.

use crate::fork;
use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static HOOK: OnceLock<fn() -> bool> = OnceLock::new();

/// How often a thread asks the hook at most: often enough for a person, too seldom to cost.
pub const INTERVAL: Duration = Duration::from_millis(20);

thread_local! {
    static LAST: Cell<Option<Instant>> = const { Cell::new(None) };
    static SHIELDED: Cell<u32> = const { Cell::new(0) };
}

/// Installs the process-wide hook that says whether the user asked to stop; the first one stays.
pub fn set_hook(hook: fn() -> bool) {
    let _ = HOOK.set(hook);
}

/// Whether the user asked to stop. To be called, between blocks, only by the thread that entered
/// the backend (it may take the interpreter's lock); asks the hook at most every [`INTERVAL`].
pub fn requested() -> bool {
    let Some(hook) = HOOK.get() else { return false };
    if SHIELDED.get() > 0 {
        return false;
    }
    let now = Instant::now();
    match LAST.get() {
        Some(last) if now.duration_since(last) < INTERVAL => false,
        // The first poll of a thread only starts the clock: short work never asks.
        None => {
            LAST.set(Some(now));
            false
        }
        Some(_) => {
            LAST.set(Some(now));
            // The hook may wait for a lock that a thread which wants to fork holds.
            fork::paused(hook)
        }
    }
}

/// Runs `f` with interruption off on this thread: for a write into memory that the user can see,
/// which has to complete.
pub fn shield<R>(f: impl FnOnce() -> R) -> R {
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            SHIELDED.set(SHIELDED.get() - 1);
        }
    }
    SHIELDED.set(SHIELDED.get() + 1);
    let _restore = Restore;
    f()
}

/// The embedding program's way to run long work: it lets go of its own locks (the interpreter's)
/// around the closure and must run it exactly once, on this thread.
pub type BlockingHook = fn(&mut dyn FnMut());

static BLOCKING: OnceLock<BlockingHook> = OnceLock::new();

/// Installs the process-wide hook around long work; the first one stays.
pub fn set_blocking_hook(hook: BlockingHook) {
    let _ = BLOCKING.set(hook);
}

/// Runs work that may take long, or that may wait for another thread. No thread forks meanwhile.
pub fn blocking<R>(work: impl FnOnce() -> R) -> R {
    let Some(hook) = BLOCKING.get() else {
        let _section = fork::running();
        return work();
    };
    let (mut work, mut result) = (Some(work), None);
    hook(&mut || {
        // Opened once the embedding program's lock is free: a forking thread may hold it and wait for us.
        let _section = fork::running();
        if let Some(work) = work.take() {
            result = Some(work());
        }
    });
    result.expect("the blocking hook runs its work")
}

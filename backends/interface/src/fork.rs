//! Surviving `fork`.
//!
//! A forked child has one thread: the one that forked. Pool workers are gone, and a
//! lock that another thread held is held for ever. Two guards keep that from hanging it:
//!
//! * [`running`] marks a *section* that uses a pool (or holds locks for long). A fork
//!   waits until no section of another thread runs, and new sections wait for the fork.
//! * [`critical`] marks a brief stretch that holds a lock and never forks, waits or calls
//!   user code. A fork always waits for these.
//!
//! A thread may fork from inside its own section, or from inside a task on a worker; it
//! then does not wait for sections (it would wait for itself), only for critical
//! stretches. Its child may use every pool and lock of this crate, and computes on its
//! one thread.
//!
//! In the child [`generation`] differs from the parent's: whoever caches threads compares it.
//!
//! Rules for callers: enter the guard before taking a lock; inside a section wait for
//! nothing that a forking thread may hold (in Python: the GIL) but within [`paused`].
//!
//! `posix_spawn` and `vfork` run no handlers and need none. Systems without `fork` pay
//! for the counters only.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// The gate in one word: counts of sections, critical stretches and forks that wait,
/// and one bit for the fork in progress.
static GATE: AtomicU64 = AtomicU64::new(0);
const SECTION: u64 = 1;
const CRITICAL: u64 = 1 << 24;
const WAITING: u64 = 1 << 48;
const FORKING: u64 = 1 << 63;
const SECTIONS: u64 = CRITICAL - SECTION;
const CRITICALS: u64 = WAITING - CRITICAL;
const WAITINGS: u64 = FORKING - WAITING;

static GENERATION: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// How many sections this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The generation in which this thread became a pool's worker, 0 for other threads.
    static WORKER: Cell<u64> = const { Cell::new(0) };
    /// Whether the fork that this thread is in waited for the sections.
    static WAITED: Cell<bool> = const { Cell::new(false) };
}

/// How often this process has been forked off, plus one: a pool or a handle made under
/// another generation belongs to an ancestor.
pub fn generation() -> u64 {
    GENERATION.load(SeqCst)
}

/// A section in progress; ends when dropped.
#[must_use = "the section ends when this is dropped"]
pub struct Running {
    counted: bool,
    /// The section belongs to the thread that opened it.
    _thread: PhantomData<*const ()>,
}

/// Opens a section: no other thread forks until the guard is dropped.
///
/// Sections nest; a nested one, and one on a pool's worker, is part of the section
/// around it and so never waits for a fork that waits for it.
pub fn running() -> Running {
    install();
    let depth = DEPTH.get();
    let counted = depth == 0 && WORKER.get() == 0;
    if counted {
        enter(SECTION, FORKING | WAITINGS);
    }
    DEPTH.set(depth + 1);
    Running {
        counted,
        _thread: PhantomData,
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if self.counted {
            GATE.fetch_sub(SECTION, SeqCst);
        }
    }
}

/// Runs `f` outside the sections this thread is in: for a wait, within a section, on something that a forking thread may
/// hold (in Python: the GIL). A child forked meanwhile has none of this thread's work.
pub fn paused<R>(f: impl FnOnce() -> R) -> R {
    let depth = DEPTH.get();
    if depth == 0 || WORKER.get() != 0 {
        return f();
    }
    struct Resume(u32);
    impl Drop for Resume {
        fn drop(&mut self) {
            enter(SECTION, FORKING | WAITINGS);
            DEPTH.set(self.0);
        }
    }
    DEPTH.set(0);
    GATE.fetch_sub(SECTION, SeqCst);
    let _resume = Resume(depth);
    f()
}

/// A critical stretch in progress; ends when dropped.
#[must_use = "the critical stretch ends when this is dropped"]
pub struct Critical {
    _thread: PhantomData<*const ()>,
}

/// Opens a critical stretch: take it before a lock that a forked child will want.
pub fn critical() -> Critical {
    install();
    enter(CRITICAL, FORKING);
    Critical {
        _thread: PhantomData,
    }
}

impl Drop for Critical {
    fn drop(&mut self) {
        GATE.fetch_sub(CRITICAL, SeqCst);
    }
}

/// Marks this thread as a pool's worker: its sections are its caller's.
pub fn mark_worker() {
    WORKER.set(generation());
}

/// Whether this thread was a worker of a pool that died with the parent process, that is,
/// whether this process was forked from inside a task.
pub fn orphaned() -> bool {
    !matches!(WORKER.get(), 0) && WORKER.get() != generation()
}

/// Whether this thread is a worker of a pool of this process.
pub fn is_worker() -> bool {
    WORKER.get() != 0 && !orphaned()
}

/// Adds `unit` to the gate once no bit of `closed` is set.
fn enter(unit: u64, closed: u64) {
    change(|gate| (gate & closed == 0).then_some(gate + unit));
}

/// Applies `f` to the gate as soon as it allows it. Waits by polling, because a condition
/// variable would itself be a lock that a child can inherit held.
fn change(f: impl Fn(u64) -> Option<u64>) {
    let mut rounds = 0u32;
    while GATE.fetch_update(SeqCst, SeqCst, &f).is_err() {
        rounds += 1;
        match rounds {
            0..64 => std::hint::spin_loop(),
            64..128 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

/// Registers the handlers, once. A plain flag: a `Once` could be inherited half done.
pub fn install() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if INSTALLED.load(SeqCst) || INSTALLED.swap(true, SeqCst) {
        return;
    }
    #[cfg(unix)]
    // SAFETY: the handlers are `extern "C"`, never unwind and live as long as the process.
    unsafe {
        // Fails only without memory for one list entry; then forks are not guarded.
        libc::pthread_atfork(Some(prepare), Some(parent), Some(child));
    }
}

/// Before the fork, in the forking thread.
#[cfg(unix)]
extern "C" fn prepare() {
    let inside = DEPTH.get() > 0 || WORKER.get() != 0;
    WAITED.set(!inside);
    if inside {
        change(|gate| (gate & (CRITICALS | FORKING) == 0).then_some(gate | FORKING));
    } else {
        // Announced first, so that a stream of new sections cannot starve the fork.
        GATE.fetch_add(WAITING, SeqCst);
        change(|gate| (gate & (SECTIONS | CRITICALS | FORKING) == 0).then_some(gate | FORKING));
    }
}

/// After the fork, in the parent.
#[cfg(unix)]
extern "C" fn parent() {
    let waited = if WAITED.get() { WAITING } else { 0 };
    GATE.fetch_sub(FORKING + waited, SeqCst);
}

/// After the fork, in the child: only this thread is left, so only its section counts.
#[cfg(unix)]
extern "C" fn child() {
    GENERATION.fetch_add(1, SeqCst);
    let counted = DEPTH.get() > 0 && WORKER.get() == 0;
    GATE.store(if counted { SECTION } else { 0 }, SeqCst);
}

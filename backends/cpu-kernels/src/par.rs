//! Parallelism as an argument: every kernel takes a [`Par`] and cuts its work into tasks.

use std::any::Any;
use std::cell::RefCell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use rustarr_interface::interrupt;

use crate::fork;
use crate::pool::Pool;

/// Handing work over and waiting for it costs about as much as so many tasks of a grain.
const WORTH: usize = 8;

/// Where a kernel's tasks run.
#[derive(Debug, Clone, Copy)]
pub enum Par<'a> {
    /// On the calling thread, in order.
    Seq,
    /// On the workers of this pool and nowhere else.
    Pool(&'a Pool),
}

/// Why tasks were left undone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParError {
    /// The [`Cancel`] token in force was set, or the user asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// A task panicked, with this message: a bug in a kernel.
    #[error("internal error: {0}")]
    Panicked(String),
}

/// A request to stop: work started within [`scope`](Cancel::scope) ends between two tasks
/// once [`set`](Cancel::set) has been called, from any thread.
///
/// The token is in force for a stretch of the calling thread's work, nested calls and the
/// tasks on workers included, so that no kernel passes it on.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

thread_local! {
    static IN_FORCE: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

impl Cancel {
    /// A token that is not set.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Asks the work under this token to stop. A token stays set.
    pub fn set(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether the work under this token is to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Runs `f` with this token in force in place of the one around it.
    pub fn scope<R>(&self, f: impl FnOnce() -> R) -> R {
        in_force(Some(self.clone()), f)
    }

    /// The token in force on this thread, for work that is one long task.
    pub fn current() -> Option<Cancel> {
        IN_FORCE.with_borrow(Clone::clone)
    }
}

/// Runs `f` under `cancel`, also under none: a worker that waits may pick up a task of
/// another call, which must not inherit the token of the first.
fn in_force<R>(cancel: Option<Cancel>, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Cancel>);
    impl Drop for Restore {
        fn drop(&mut self) {
            IN_FORCE.set(self.0.take());
        }
    }
    let _restore = Restore(IN_FORCE.replace(cancel));
    f()
}

impl Par<'_> {
    /// How many tasks may run at once: what to cut the work for, never what a result may
    /// depend on.
    pub fn threads(self) -> usize {
        match self {
            Par::Seq => 1,
            Par::Pool(pool) => pool.threads(),
        }
    }

    /// For tasks of a grain each: the calling thread, if they are too few to be worth waking workers.
    pub(crate) fn worth(self, tasks: usize) -> Self {
        if tasks < WORTH { Par::Seq } else { self }
    }

    /// Runs `f(0)`, `f(1)`, ..., `f(tasks - 1)`: in order when [`Par::Seq`], else each on
    /// the next free worker. Returns when all are done. Calls nest.
    ///
    /// # Errors
    /// [`ParError::Cancelled`] if the [`Cancel`] token in force was set, or the user asked to
    /// stop ([`interrupt::requested`]), before the last task began;
    /// [`ParError::Panicked`] if a task panicked. Tasks not yet begun are then left out;
    /// those begun have ended.
    pub fn for_each(self, tasks: usize, f: impl Fn(usize) + Sync) -> Result<(), ParError> {
        self.for_each_with(tasks, || (), |(), task| f(task))
    }

    /// [`for_each`](Par::for_each) whose tasks share scratch memory: `init` makes one value
    /// per worker taking part, and each task gets the one of its worker, in the state that
    /// the task before left it in.
    ///
    /// # Errors
    /// As [`for_each`](Par::for_each); a panic of `init` counts as a task's.
    pub fn for_each_with<S>(
        self,
        tasks: usize,
        init: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, usize) + Sync,
    ) -> Result<(), ParError> {
        self.for_each_until(tasks, init, |scratch, task, _| f(scratch, task))
    }

    /// [`for_each_with`](Par::for_each_with) for tasks that may take long: each is also given
    /// a question to ask now and then, and may return at once where the answer is yes; the
    /// call is an error then.
    ///
    /// # Errors
    /// As [`for_each_with`](Par::for_each_with).
    pub fn for_each_until<S>(
        self,
        tasks: usize,
        init: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, usize, &dyn Fn() -> bool) + Sync,
    ) -> Result<(), ParError> {
        self.spread(tasks, &|queue| {
            let mut scratch = None;
            while let Some(task) = queue.take() {
                f(scratch.get_or_insert_with(&init), task, &|| queue.stopped());
            }
        })
    }

    /// [`for_each_until`](Par::for_each_until) but for the types: `runner` is called by each worker
    /// that takes part, and takes tasks until there is none.
    fn spread(self, tasks: usize, runner: &Runner<'_>) -> Result<(), ParError> {
        if tasks == 0 {
            return Ok(());
        }
        let queue = Queue {
            tasks,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            error: Mutex::new(None),
            cancel: Cancel::current(),
        };
        match self {
            Par::Seq => queue.drain(runner),
            Par::Pool(pool) => {
                let drain = || in_force(queue.cancel.clone(), || queue.drain(runner));
                let poll = || {
                    if interrupt::requested() {
                        queue.fail(ParError::Cancelled);
                    }
                };
                pool.spread(pool.threads().min(tasks), &drain, &poll);
            }
        }
        let error = queue.error.into_inner();
        error
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), Err)
    }

    /// Runs `f` on a worker, so that what it does through rayon stays inside the pool; on
    /// the calling thread when [`Par::Seq`], where `f` must not use rayon.
    ///
    /// # Errors
    /// [`ParError::Panicked`] if `f` panics. A set [`Cancel`] token is `f`'s to look at.
    pub fn run<R: Send>(self, f: impl FnOnce() -> R + Send) -> Result<R, ParError> {
        self.run_with(|_| f())
    }

    /// [`run`](Par::run) for faer's functions: `f` gets the parallelism to hand them, which
    /// is right inside the pool only.
    ///
    /// # Errors
    /// As [`run`](Par::run).
    pub fn run_faer<R: Send>(self, f: impl FnOnce(faer::Par) -> R + Send) -> Result<R, ParError> {
        self.run_with(|threads| {
            f(match threads {
                1 => faer::Par::Seq,
                n => faer::Par::rayon(n),
            })
        })
    }

    fn run_with<R: Send>(self, f: impl FnOnce(usize) -> R + Send) -> Result<R, ParError> {
        let cancel = Cancel::current();
        // The closure is gone after a panic and its result never made, so that nothing
        // half-changed is seen but what f itself shares.
        let guarded = |threads| {
            in_force(cancel, || {
                catch_unwind(AssertUnwindSafe(|| f(threads))).map_err(panicked)
            })
        };
        match self {
            Par::Seq => guarded(1),
            Par::Pool(pool) => pool.install(guarded),
        }
    }
}

/// What a worker does with the tasks that it is given one after the other.
type Runner<'a> = dyn Fn(&Queue) + Sync + 'a;

/// The tasks of one call; every runner takes the next one until none is left.
struct Queue {
    tasks: usize,
    next: AtomicUsize,
    stop: AtomicBool,
    error: Mutex<Option<ParError>>,
    cancel: Option<Cancel>,
}

impl Queue {
    /// Runs tasks until none is left or the call is to stop. Never panics.
    fn drain(&self, runner: &Runner<'_>) {
        // After a panic the caller gets an error for the whole call and trusts no output.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| runner(self))) {
            self.fail(panicked(payload));
        }
    }

    fn take(&self) -> Option<usize> {
        if self.stop.load(Relaxed) {
            return None;
        }
        let step = |next| (next < self.tasks).then(|| next + 1);
        let task = self.next.fetch_update(Relaxed, Relaxed, step).ok()?;
        (!self.stopped()).then_some(task)
    }

    /// Whether the call is to stop.
    fn stopped(&self) -> bool {
        if self.stop.load(Relaxed) {
            return true;
        }
        let asked = asked(self.cancel.as_ref());
        if asked {
            self.fail(ParError::Cancelled);
        }
        asked
    }

    /// Records the first error; a panic outranks a cancellation.
    fn fail(&self, error: ParError) {
        self.stop.store(true, Relaxed);
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*first, Some(ParError::Panicked(_))) {
            *first = Some(error);
        }
    }
}

/// Whether work of this thread is to stop.
pub(crate) fn asked(cancel: Option<&Cancel>) -> bool {
    // Only the thread that entered the backend may ask for the user's wish.
    !fork::is_worker() && interrupt::requested() || cancel.is_some_and(Cancel::is_set)
}

fn panicked(payload: Box<dyn Any + Send>) -> ParError {
    let text = match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => match payload.downcast::<&'static str>() {
            Ok(text) => (*text).to_owned(),
            Err(payload) => {
                // Dropping a foreign payload may panic in turn.
                mem::forget(payload);
                "a panic without a message".to_owned()
            }
        },
    };
    ParError::Panicked(text)
}

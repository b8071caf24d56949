//! A context's own worker threads.

use std::mem;
use std::num::NonZeroUsize;
use std::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rustarr_interface::interrupt;

use crate::cores::{self, VariableError};
use crate::fork;

/// The most threads that a pool takes.
pub const MAX_THREADS: usize = 4096;

/// The workers of one context: named `rustarr-0`, `rustarr-1`, ..., bound to the context's
/// cores if it names any, started on first use and stopped when the pool is dropped.
///
/// The calling thread never computes beside the workers, so one call keeps at most
/// [`threads`](Pool::threads) threads busy, and so do several calls at once. A pool of one
/// thread without a core list has no worker: it computes on the calling thread.
///
/// When the system refuses threads the pool makes do with those it got, in the extreme
/// with the calling thread, and says so once in [`take_warning`](Pool::take_warning).
///
/// After a fork the child's pool starts workers of its own on first use (see
/// [`fork`]).
#[derive(Debug)]
pub struct Pool {
    threads: usize,
    cores: Option<Arc<[usize]>>,
    /// Only locked within a [`fork::critical`] stretch.
    state: Mutex<State>,
    unbound: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct State {
    workers: Option<Arc<Workers>>,
    warning: Option<String>,
}

#[derive(Debug)]
struct Workers {
    /// `None` to compute on the calling thread.
    rayon: Option<rayon::ThreadPool>,
    generation: u64,
}

/// Why a pool cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// Zero threads, or more than [`MAX_THREADS`].
    #[error(
        "threads={0}: a pool has 1 to {MAX_THREADS} threads; leave threads out for the default"
    )]
    Threads(usize),
    /// An empty core list.
    #[error(
        "cores is empty: name at least one of the cores {}, or leave cores out",
        ranges(allowed)
    )]
    NoCores {
        /// The cores that this process may use.
        allowed: Vec<usize>,
    },
    /// A core outside the process's affinity mask.
    #[error(
        "core {core} is not among the cores that this process may use: {}",
        ranges(allowed)
    )]
    Core {
        /// The core asked for.
        core: usize,
        /// The cores that this process may use.
        allowed: Vec<usize>,
    },
    /// The default number of threads cannot be told.
    #[error(transparent)]
    Variable(#[from] VariableError),
}

/// `0-3, 6` for 0, 1, 2, 3, 6.
fn ranges(cores: &[usize]) -> String {
    cores
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [core] => core.to_string(),
            _ => format!("{}-{}", run[0], run[run.len() - 1]),
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// The cores, ascending, if the calling thread may run on each.
///
/// # Errors
/// [`PoolError`] for an empty list, or a core outside the affinity mask.
pub fn usable_cores(cores: &[usize]) -> Result<Arc<[usize]>, PoolError> {
    let allowed = cores::current_affinity();
    if cores.is_empty() {
        return Err(PoolError::NoCores { allowed });
    }
    if let Some(&core) = cores.iter().find(|core| !allowed.contains(core)) {
        return Err(PoolError::Core { core, allowed });
    }
    let mut cores = cores.to_vec();
    cores.sort_unstable();
    cores.dedup();
    Ok(cores.into())
}

impl Pool {
    /// A pool of `threads` workers, by default [`cores::default_threads`] and at most one a
    /// core, which all run on `cores`, by default wherever the process may. Starts none yet.
    ///
    /// On systems without affinity masks (other than Linux) `cores` sets the default number
    /// of threads only.
    ///
    /// # Errors
    /// [`PoolError`] for `threads` out of range, an empty core list, a core outside the
    /// affinity mask, or (without `threads`) an environment variable that is no number.
    pub fn new(threads: Option<usize>, cores: Option<&[usize]>) -> Result<Pool, PoolError> {
        fork::install();
        let cores: Option<Arc<[usize]>> = cores.map(usable_cores).transpose()?;
        let threads = match threads {
            Some(threads) => threads,
            None => {
                let room = cores.as_ref().map_or(MAX_THREADS, |cores| cores.len());
                cores::default_threads()?.min(room)
            }
        };
        if threads == 0 || threads > MAX_THREADS {
            return Err(PoolError::Threads(threads));
        }
        Ok(Pool {
            threads,
            cores,
            state: Mutex::default(),
            unbound: Arc::default(),
        })
    }

    /// How many threads the pool was made for. It may run with fewer, see
    /// [`take_warning`](Pool::take_warning).
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The cores that the workers are bound to, ascending, if the pool names any.
    pub fn cores(&self) -> Option<&[usize]> {
        self.cores.as_deref()
    }

    /// What went less than well since the last call and the user should hear once: fewer
    /// workers than asked for, or workers that could not be bound to their cores.
    pub fn take_warning(&self) -> Option<String> {
        let _critical = fork::critical();
        let unbound = self.unbound.swap(false, Relaxed).then(|| {
            let cores = ranges(self.cores.as_deref().unwrap_or_default());
            format!("the system refused to bind worker threads to the cores {cores}")
        });
        self.lock().warning.take().or(unbound)
    }

    /// Runs `f` on a worker, waits, and returns its result; with the number of workers that
    /// f may keep busy. A panic of `f` unwinds into the caller.
    pub(crate) fn install<R: Send>(&self, f: impl FnOnce(usize) -> R + Send) -> R {
        if self.alone() {
            return f(1);
        }
        let _section = fork::running();
        match &self.workers().rayon {
            Some(rayon) => rayon.install(|| f(rayon.current_num_threads())),
            None => f(1),
        }
    }

    /// Runs `runner` on up to `n` workers at once, and at least on one thread; waits for
    /// all of them and calls `poll` now and then meanwhile, unless this thread is a worker
    /// itself. Neither may panic.
    pub(crate) fn spread(&self, n: usize, runner: &(dyn Fn() + Sync), poll: &dyn Fn()) {
        if self.alone() {
            return runner();
        }
        let _section = fork::running();
        let workers = self.workers();
        let Some(rayon) = &workers.rayon else {
            return runner();
        };
        let n = n.min(rayon.current_num_threads());
        let left = AtomicUsize::new(n);
        let caller = thread::current();
        rayon.in_place_scope(|scope| {
            for _ in 0..n {
                scope.spawn(|_| {
                    runner();
                    if left.fetch_sub(1, SeqCst) == 1 {
                        caller.unpark();
                    }
                });
            }
            // A worker must not sleep here: it may be the one to run them.
            while !fork::is_worker() && left.load(SeqCst) > 0 {
                thread::park_timeout(interrupt::INTERVAL);
                poll();
            }
        });
    }

    /// Whether the calling thread computes by itself: there is but one thread, or this
    /// process was forked off inside a task, so that rayon takes the thread for a worker of
    /// the dead pool.
    fn alone(&self) -> bool {
        (self.threads == 1 && self.cores.is_none()) || fork::orphaned()
    }

    /// The workers, started now if need be.
    fn workers(&self) -> Arc<Workers> {
        let _critical = fork::critical();
        let mut state = self.lock();
        if let Some(workers) = &state.workers
            && workers.generation == fork::generation()
        {
            return workers.clone();
        }
        abandon(state.workers.take());
        let (rayon, warning) = start(self.threads, self.cores.as_ref(), &self.unbound);
        let workers = Arc::new(Workers {
            rayon,
            generation: fork::generation(),
        });
        state.workers = Some(workers.clone());
        state.warning = warning.or(state.warning.take());
        workers
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops workers of this process, forgets an ancestor's: to stop those would take locks
/// that may be held for ever.
fn abandon(workers: Option<Arc<Workers>>) {
    if let Some(workers) = workers
        && workers.generation != fork::generation()
    {
        mem::forget(workers);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let _critical = fork::critical();
        let workers = self.lock().workers.take();
        abandon(workers);
    }
}

/// Starts `threads` workers or as many as the system grants; with a warning if fewer.
fn start(
    threads: usize,
    cores: Option<&Arc<[usize]>>,
    unbound: &Arc<AtomicBool>,
) -> (Option<rayon::ThreadPool>, Option<String>) {
    let mut refusal = String::new();
    let mut count = NonZeroUsize::new(threads);
    while let Some(n) = count {
        let mut started: Vec<JoinHandle<()>> = Vec::new();
        let built = rayon::ThreadPoolBuilder::new()
            .num_threads(n.get())
            .spawn_handler(|worker| {
                let cores = cores.cloned();
                let unbound = unbound.clone();
                let thread = thread::Builder::new()
                    .name(format!("rustarr-{}", worker.index()))
                    .spawn(move || {
                        fork::mark_worker();
                        if cores.is_some_and(|cores| !cores::bind(&cores)) {
                            unbound.store(true, Relaxed);
                        }
                        worker.run();
                    })?;
                started.push(thread);
                Ok(())
            })
            .build();
        match built {
            Ok(pool) => {
                let warning = (n.get() < threads).then(|| warning(threads, n.get(), &refusal));
                return (Some(pool), warning);
            }
            Err(error) => refusal = error.to_string(),
        }
        // The failed build stops the workers it started; try again with as many once they
        // have made room.
        count = NonZeroUsize::new(started.len().min(n.get() - 1));
        for thread in started {
            let _ = thread.join();
        }
    }
    (None, Some(warning(threads, 0, &refusal)))
}

fn warning(threads: usize, got: usize, refusal: &str) -> String {
    let rest = match got {
        0 => "work runs on the calling thread".to_owned(),
        1 => "work runs on 1 worker thread".to_owned(),
        _ => format!("work runs on {got} worker threads"),
    };
    format!(
        "the system refused to start {threads} worker threads ({refusal}); {rest}. \
         Raise the limit on processes (ulimit -u) or ask for fewer threads"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked() {
        let allowed = cores::current_affinity();
        let text = |threads, cores| Pool::new(threads, cores).unwrap_err().to_string();
        assert!(text(Some(0), None).contains("threads=0: a pool has 1 to 4096"));
        assert!(text(Some(usize::MAX), None).contains("1 to 4096"));
        assert!(text(None, Some(&[])).contains(&ranges(&allowed)));
        let foreign = allowed[allowed.len() - 1] + 1;
        let text = text(Some(1), Some(&[allowed[0], foreign]));
        assert!(text.contains(&format!("core {foreign} is not among")));
        assert!(text.ends_with(&ranges(&allowed)), "{text}");
        assert!(Pool::new(None, Some(&[usize::MAX])).is_err());
    }

    #[test]
    fn defaults_follow_the_cores() {
        let core = cores::current_affinity()[0];
        let pool = Pool::new(None, Some(&[core, core])).unwrap();
        assert_eq!((pool.threads(), pool.cores()), (1, Some(&[core][..])));
        let pool = Pool::new(Some(3), Some(&[core])).unwrap();
        assert_eq!(pool.threads(), 3);
        let pool = Pool::new(None, None).unwrap();
        assert_eq!(pool.threads(), cores::default_threads().unwrap());
    }

    #[test]
    fn ranges_are_short() {
        assert_eq!(ranges(&[0, 1, 2, 3, 6]), "0-3, 6");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[]), "");
    }
}

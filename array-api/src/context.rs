//! Contexts: where arrays live and where operations run.

use crate::graph::{self, Node, fallback, policy};
use rustarr_interface::{Backend, DType, Error, MemoryInfo, Result, Space};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// When recorded operations run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Defer {
    /// Small ready work at once, the rest when its value is needed.
    #[default]
    Auto,
    /// Everything is recorded, however small: for tests of fusion on short inputs.
    Always,
    /// Everything runs at the call.
    Never,
}

/// What happens when the device lacks an operation or a dtype.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fallback {
    /// The host kernels run, counted and with one warning per operation.
    #[default]
    Warn,
    /// The host kernels run, counted.
    Allow,
    /// The call fails with [`ErrorKind::Unsupported`](rustarr_interface::ErrorKind::Unsupported).
    Error,
}

/// Settings of a context that are the front end's own.
#[derive(Clone, Debug, Default)]
pub struct ContextOptions {
    /// When recorded operations run.
    pub defer: Defer,
    /// What happens when the device lacks something.
    pub fallback: Fallback,
    /// The floating dtype of creation functions; by default `float64` where the device has it.
    pub default_float: Option<DType>,
    /// The cores that its threads are bound to. A serial context has no threads: whoever gives it one binds that.
    pub cores: Option<Vec<usize>>,
}

/// What a context has done since it was made or its counters were reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Elementwise programs run: each is one pass over its operands.
    pub maps: u64,
    /// Reductions run, with the elementwise program in front of them.
    pub reduces: u64,
    /// Other verbs run: gather, sort, matmul, ...
    pub verbs: u64,
    /// Calls that the host kernels ran because the device could not.
    pub fallbacks: u64,
    /// Bytes allocated for results.
    pub bytes_allocated: u64,
    /// Kernels launched.
    pub dispatches: u64,
    /// Pipelines compiled.
    pub pipelines: u64,
    /// Bytes copied between the host and the device.
    pub bytes_transferred: u64,
}

#[derive(Default)]
pub(crate) struct Counts {
    pub maps: AtomicU64,
    pub reduces: AtomicU64,
    pub verbs: AtomicU64,
    pub fallbacks: AtomicU64,
    pub bytes_allocated: AtomicU64,
}

pub(crate) struct Inner {
    name: String,
    primary: Arc<dyn Backend>,
    host: Arc<dyn Backend>,
    options: ContextOptions,
    default_float: DType,
    space: Space,
    pub(crate) eager_small: bool,
    /// The host backend is the context's own: there is nothing to fall back to, and nothing to ask.
    pub(crate) only_host: bool,
    pub(crate) counts: Counts,
    base_counters: Mutex<rustarr_interface::Counters>,
    /// Bytes of buffers that pending nodes keep alive.
    pub(crate) retained: AtomicUsize,
    warnings: Mutex<Vec<String>>,
    has_warnings: AtomicBool,
    warned: Mutex<HashSet<String>>,
    /// Recorded work in the order of recording; entries that have run or were dropped are swept.
    recorded: Mutex<Vec<Weak<Node>>>,
    closed: AtomicBool,
}

/// Every context of the process that is alive.
static OPEN: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

/// A place to compute: a backend, the host backend behind it, and settings. A cheap handle; two
/// handles are equal if they are of one context.
#[derive(Clone)]
pub struct Context(pub(crate) Arc<Inner>);

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.name())
    }
}

impl Context {
    /// A context that computes on `primary`; `host` runs what `primary` cannot and may be the same.
    pub fn new(
        name: &str,
        primary: Arc<dyn Backend>,
        host: Arc<dyn Backend>,
        options: ContextOptions,
    ) -> Context {
        let caps = primary.caps();
        let native = if caps.dtypes.contains(DType::F64) {
            DType::F64
        } else {
            DType::F32
        };
        let context = Context(Arc::new(Inner {
            name: name.to_owned(),
            default_float: options.default_float.unwrap_or(native),
            space: primary.space(),
            eager_small: caps.eager_small,
            only_host: Arc::ptr_eq(&primary, &host),
            base_counters: Mutex::new(primary.counters()),
            primary,
            host,
            options,
            counts: Counts::default(),
            retained: AtomicUsize::new(0),
            warnings: Mutex::new(Vec::new()),
            has_warnings: AtomicBool::new(false),
            warned: Mutex::new(HashSet::new()),
            recorded: Mutex::new(Vec::new()),
            closed: AtomicBool::new(false),
        }));
        let mut open = lock(&OPEN);
        open.retain(|other| other.strong_count() > 0);
        open.push(Arc::downgrade(&context.0));
        context
    }

    /// The name it was opened under.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The backend that computes.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.0.primary
    }

    /// The backend that runs what the first one cannot.
    pub fn host(&self) -> &Arc<dyn Backend> {
        &self.0.host
    }

    /// The memory space of its arrays.
    pub fn space(&self) -> Space {
        self.0.space
    }

    /// Threads that compute.
    pub fn threads(&self) -> usize {
        self.0.primary.threads()
    }

    /// The cores that its threads are bound to, or that a thread which computes in it should be; `None` if any will do.
    pub fn cores(&self) -> Option<&[usize]> {
        self.0.options.cores.as_deref()
    }

    /// When recorded operations run.
    pub fn defer(&self) -> Defer {
        self.0.options.defer
    }

    /// What happens when the device lacks something.
    pub fn fallback(&self) -> Fallback {
        self.0.options.fallback
    }

    /// The dtype of floating creation functions.
    pub fn default_float(&self) -> DType {
        self.0.default_float
    }

    /// The dtype of integer creation functions and of indices.
    pub fn default_int(&self) -> DType {
        DType::I64
    }

    /// The complex dtype that goes with the default float.
    pub fn default_complex(&self) -> DType {
        self.default_float().complex().unwrap_or(DType::C64)
    }

    /// What was done so far.
    pub fn stats(&self) -> Stats {
        let (c, now) = (&self.0.counts, self.0.primary.counters());
        let base = *lock(&self.0.base_counters);
        Stats {
            maps: c.maps.load(Relaxed),
            reduces: c.reduces.load(Relaxed),
            verbs: c.verbs.load(Relaxed),
            fallbacks: c.fallbacks.load(Relaxed),
            bytes_allocated: c.bytes_allocated.load(Relaxed),
            dispatches: now.dispatches - base.dispatches,
            pipelines: now.pipelines - base.pipelines,
            bytes_transferred: now.bytes_transferred - base.bytes_transferred,
        }
    }

    /// Sets every counter to zero.
    pub fn reset_stats(&self) {
        let c = &self.0.counts;
        for counter in [
            &c.maps,
            &c.reduces,
            &c.verbs,
            &c.fallbacks,
            &c.bytes_allocated,
        ] {
            counter.store(0, Relaxed);
        }
        *lock(&self.0.base_counters) = self.0.primary.counters();
    }

    /// Runs the recorded work whose result somebody still holds, waits for all queued work and reports failures
    /// that had no call to report them.
    ///
    /// # Errors
    /// Whatever an operation failed with.
    pub fn synchronize(&self) -> Result<()> {
        // The newest first: what it takes in runs with it, in one pass.
        let recorded = std::mem::take(&mut *lock(&self.0.recorded));
        for node in recorded.iter().rev().filter_map(Weak::upgrade) {
            if node.is_pending() {
                graph::realise(&node)?;
            }
        }
        rustarr_interface::interrupt::blocking(|| self.0.primary.sync())
    }

    /// Notes recorded work for [`synchronize`](Context::synchronize) to find.
    pub(crate) fn note_recorded(&self, node: &Arc<Node>) {
        let mut recorded = lock(&self.0.recorded);
        if recorded.len() == recorded.capacity() {
            recorded.retain(|node| node.upgrade().is_some_and(|node| node.is_pending()));
            let live = recorded.len();
            recorded.reserve(live.max(policy::RECORDED));
        }
        recorded.push(Arc::downgrade(node));
    }

    /// Ends the context: later operations in it are an error, its arrays can still be read.
    pub fn close(&self) {
        self.0.closed.store(true, Relaxed);
        self.0.primary.release();
    }

    /// Whether [`close`](Context::close) was called.
    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Relaxed)
    }

    /// Whether operations may be asked for.
    ///
    /// # Errors
    /// `Device` for a closed context.
    #[inline]
    pub fn check_open(&self, op: &'static str) -> Result<()> {
        if self.is_closed() {
            Err(self.closed_error(op))
        } else {
            Ok(())
        }
    }

    #[cold]
    fn closed_error(&self, op: &'static str) -> Error {
        Error::device(
            op,
            format!("the context {} is closed; open a new one", self.name()),
        )
    }

    /// The memory pool's account.
    pub fn memory_info(&self) -> MemoryInfo {
        self.0.primary.memory()
    }

    /// Sets or lifts the limit of the memory pool, in bytes.
    pub fn set_memory_limit(&self, limit: Option<usize>) {
        self.0.primary.set_memory_limit(limit);
    }

    /// Returns cached memory to the system.
    pub fn release(&self) {
        self.0.primary.release();
    }

    /// Warnings that came up since the last call, each once.
    pub fn take_warnings(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.0.has_warnings.swap(false, Relaxed) {
            out.append(&mut lock(&self.0.warnings));
        }
        out.extend(self.0.primary.take_warning());
        out
    }

    /// Whether [`take_warnings`](Context::take_warnings) has a fallback warning; a plain load.
    #[inline]
    pub fn has_warnings(&self) -> bool {
        self.0.has_warnings.load(Relaxed)
    }

    /// Counts a fallback and warns once per operation.
    ///
    /// # Errors
    /// `Unsupported` where the context's policy is [`Fallback::Error`].
    pub(crate) fn note_fallback(&self, op: &str, dtype: DType) -> Result<()> {
        if self.fallback() == Fallback::Error {
            return Err(fallback::refused(self, op, dtype));
        }
        if self.fallback() == Fallback::Warn && lock(&self.0.warned).insert(op.to_owned()) {
            lock(&self.0.warnings).push(format!(
                "{op} of {dtype} is not available on {} and runs on the host; \
                 fallback=\"allow\" silences this, fallback=\"error\" forbids it",
                self.name()
            ));
            self.0.has_warnings.store(true, Relaxed);
        }
        Ok(())
    }

    /// Runs `f` with this context as the thread's current one, which decides where arrays of
    /// different CPU contexts meet.
    pub fn scope<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Restore;
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.with_borrow_mut(|stack| stack.pop());
            }
        }
        CURRENT.with_borrow_mut(|stack| stack.push(self.clone()));
        let _restore = Restore;
        f()
    }
}

thread_local! {
    static CURRENT: RefCell<Vec<Context>> = const { RefCell::new(Vec::new()) };
}

static CURRENT_HOOK: OnceLock<fn() -> Option<Context>> = OnceLock::new();

/// Installs the embedding program's own notion of the current context (Python's context
/// variables); the first one stays.
pub fn set_current_hook(hook: fn() -> Option<Context>) {
    let _ = CURRENT_HOOK.set(hook);
}

/// The current context: the innermost [`Context::scope`] of this thread, else the embedding program's.
pub fn current() -> Option<Context> {
    CURRENT
        .with_borrow(|stack| stack.last().cloned())
        .or_else(|| CURRENT_HOOK.get().and_then(|hook| hook()))
}

/// [`Context::synchronize`] for every context of the process.
///
/// # Errors
/// The first failure.
pub fn synchronize_all() -> Result<()> {
    let open: Vec<_> = lock(&OPEN).iter().filter_map(Weak::upgrade).collect();
    open.into_iter()
        .try_for_each(|inner| Context(inner).synchronize())
}

/// Locks a mutex whose data is valid after every statement, so that a panic elsewhere does not matter.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

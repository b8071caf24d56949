//! One opened device: errors collected, loss noticed, waits bounded.

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::adapter::{self, AdapterReport, Choice};
use crate::fault::Fault;

/// A device that completes nothing for this long is taken for hung. Dispatches
/// are cut to about a second, so this leaves room for a loaded machine.
const HUNG: Duration = Duration::from_secs(120);

/// Longest pause between two looks at the device.
const LONGEST_PAUSE: Duration = Duration::from_micros(500);

/// Submissions that may be in flight: bounds the memory that they hold.
const IN_FLIGHT: u64 = 32;

/// Staged bytes that may wait for a submission: the queue holds them until then.
const STAGED: u64 = 16 << 20;

/// Locks, going on after a panic elsewhere: the guarded data is plain values.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A driver object, forgotten instead of dropped in a forked child, where its
/// destructor would wait for threads that do not exist.
#[derive(Debug)]
pub(crate) struct Owned<T>(ManuallyDrop<T>);

impl<T> Owned<T> {
    pub(crate) fn new(inner: T) -> Self {
        Owned(ManuallyDrop::new(inner))
    }
}

impl<T> std::ops::Deref for Owned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !adapter::forked() {
            // SAFETY: dropped once, here, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.0) }
        }
    }
}

/// What the callbacks of a device report, shared with them.
#[derive(Debug, Default)]
struct Health {
    lost: OnceLock<String>,
    failed: Mutex<Option<String>>,
    completed: AtomicU64,
}

/// An opened device and its queue.
#[derive(Debug)]
pub struct Gpu {
    pub(crate) device: Owned<wgpu::Device>,
    pub(crate) queue: Owned<wgpu::Queue>,
    report: AdapterReport,
    limits: wgpu::Limits,
    health: Arc<Health>,
    submitted: AtomicU64,
    /// Bytes staged since the last submission.
    staged: AtomicU64,
}

impl Gpu {
    /// Opens the adapter that `choice` selects, with all of its limits and the
    /// features that its number formats need.
    ///
    /// # Errors
    /// [`Fault::NoAdapter`] with the list of what was found, [`Fault::Lost`] in
    /// a forked child, [`Fault::Device`] if the driver refuses.
    pub fn open(choice: &Choice) -> Result<Arc<Gpu>, Fault> {
        let (report, adapter) = adapter::select(choice)?;
        let wanted = wgpu::Features::SHADER_INT64
            | wgpu::Features::SHADER_F64
            | wgpu::Features::PIPELINE_CACHE;
        let limits = adapter.limits();
        let descriptor = wgpu::DeviceDescriptor {
            label: None,
            required_features: adapter.features() & wanted,
            required_limits: limits.clone(),
            ..Default::default()
        };
        let opened = catch_unwind(AssertUnwindSafe(|| {
            pollster::block_on(adapter.request_device(&descriptor))
        }));
        let (device, queue) = match opened {
            Ok(Ok(pair)) => pair,
            Ok(Err(e)) => return Err(Fault::Device(format!("{} does not open: {e}", report.name))),
            Err(_) => return Err(Fault::Device(format!("{} does not open", report.name))),
        };
        let health = Arc::new(Health::default());
        let on_loss = Arc::clone(&health);
        device.set_device_lost_callback(move |reason, message| {
            let _ = on_loss.lost.set(match reason {
                wgpu::DeviceLostReason::Destroyed => "it was destroyed".to_owned(),
                wgpu::DeviceLostReason::Unknown => message,
            });
        });
        let on_error = Arc::clone(&health);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            lock(&on_error.failed).get_or_insert_with(|| error.to_string());
        }));
        Ok(Arc::new(Gpu {
            device: Owned::new(device),
            queue: Owned::new(queue),
            report,
            limits,
            health,
            submitted: AtomicU64::new(0),
            staged: AtomicU64::new(0),
        }))
    }

    /// The adapter that was opened.
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// The limits of the device.
    pub fn limits(&self) -> &wgpu::Limits {
        &self.limits
    }

    /// Why the device cannot be used, if so. To be asked before every use.
    pub fn check(&self) -> Result<(), Fault> {
        if adapter::forked() {
            return Err(adapter::forked_fault());
        }
        match self.health.lost.get() {
            Some(why) => Err(Fault::Lost(why.clone())),
            None => Ok(()),
        }
    }

    /// Marks the device as gone; it stays so.
    fn lose(&self, why: String) -> Fault {
        let _ = self.health.lost.set(why.clone());
        Fault::Lost(why)
    }

    /// Runs `build`, which creates objects, and turns validation errors, a lack
    /// of memory, internal errors and panics of the compiler into a fault.
    pub(crate) fn scoped<T>(&self, build: impl FnOnce() -> T) -> Result<T, Fault> {
        self.check()?;
        let scopes = [
            wgpu::ErrorFilter::Internal,
            wgpu::ErrorFilter::Validation,
            wgpu::ErrorFilter::OutOfMemory,
        ]
        .map(|filter| self.device.push_error_scope(filter));
        let built = catch_unwind(AssertUnwindSafe(build));
        let errors: Vec<wgpu::Error> = scopes
            .into_iter()
            .rev()
            .filter_map(|scope| pollster::block_on(scope.pop()))
            .collect();
        self.check()?;
        let value = built.map_err(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without a message");
            Fault::Shader(text.to_owned())
        })?;
        match errors.into_iter().next() {
            None => Ok(value),
            Some(wgpu::Error::OutOfMemory { .. }) => {
                Err(Fault::Memory("the device has no memory left".to_owned()))
            }
            Some(error) => Err(Fault::Shader(error.to_string())),
        }
    }

    /// Hands recorded commands to the device; waits only when too many are in
    /// flight already.
    pub(crate) fn submit(&self, commands: Option<wgpu::CommandBuffer>) -> Result<(), Fault> {
        self.check()?;
        self.staged.store(0, Ordering::Relaxed);
        self.queue.submit(commands);
        let number = self.submitted.fetch_add(1, Ordering::Relaxed) + 1;
        let health = Arc::clone(&self.health);
        self.queue.on_submitted_work_done(move || {
            health.completed.fetch_max(number, Ordering::Release);
        });
        let oldest = number.saturating_sub(IN_FLIGHT);
        self.wait(&|| self.completed() >= oldest, &|| false)
            .map(drop)
    }

    /// Notes that the queue staged `bytes`, and submits once many wait: uploads that
    /// no dispatch follows would be held for ever.
    pub(crate) fn stage(&self, bytes: u64) -> Result<(), Fault> {
        let staged = self.staged.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if staged < STAGED {
            return Ok(());
        }
        self.submit(None)
    }

    /// Submits what is staged.
    pub(crate) fn flush(&self) -> Result<(), Fault> {
        self.check()?;
        if self.staged() == 0 {
            return Ok(());
        }
        self.submit(None)
    }

    /// Bytes staged that no submission has taken.
    pub fn staged(&self) -> u64 {
        self.staged.load(Ordering::Relaxed)
    }

    /// The last submission that is done, with all before it.
    fn completed(&self) -> u64 {
        self.health.completed.load(Ordering::Acquire)
    }

    /// Lets the device's callbacks run until `done`. Asks `stop` now and then and
    /// returns false as soon as it says so.
    ///
    /// The driver's own blocking wait is not used: the library asserts that only one
    /// thread at a time waits with a timeout.
    pub(crate) fn wait(
        &self,
        done: &dyn Fn() -> bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<bool, Fault> {
        let (mut seen, mut since) = (self.completed(), Instant::now());
        let mut pause = Duration::ZERO;
        loop {
            self.check()?;
            if done() {
                return Ok(true);
            }
            if let Err(e) = self.device.poll(wgpu::PollType::Poll) {
                return Err(self.lose(e.to_string()));
            }
            if done() {
                return self.check().map(|()| true);
            }
            if stop() {
                return Ok(false);
            }
            let now = self.completed();
            if now != seen {
                (seen, since) = (now, Instant::now());
            } else if since.elapsed() > HUNG {
                let secs = HUNG.as_secs();
                return Err(self.lose(format!("it completed nothing for {secs} s and is hung")));
            }
            if pause.is_zero() {
                std::thread::yield_now();
            } else {
                std::thread::sleep(pause);
            }
            pause = (pause * 3 / 2 + Duration::from_micros(2)).min(LONGEST_PAUSE);
        }
    }

    /// Submits what is staged, waits for all submitted work and reports what failed in
    /// it. Gives up, and returns false, as soon as `stop` says so.
    ///
    /// # Errors
    /// [`Fault::Lost`], or [`Fault::Device`] with the first error that no verb
    /// has reported yet.
    pub fn sync(&self, stop: &dyn Fn() -> bool) -> Result<bool, Fault> {
        self.flush()?;
        let last = self.submitted.load(Ordering::Relaxed);
        if !self.wait(&|| self.completed() >= last, stop)? {
            return Ok(false);
        }
        self.take_failure().map(|()| true)
    }

    /// The first error that the device raised outside of every scope.
    pub(crate) fn take_failure(&self) -> Result<(), Fault> {
        match lock(&self.health.failed).take() {
            Some(why) => Err(Fault::Device(why)),
            None => Ok(()),
        }
    }

    /// Takes the device away, as a driver reset would: for tests of device loss.
    pub fn destroy(&self) {
        if self.check().is_ok() {
            self.device.destroy();
            // The callback that reports the loss runs inside a poll.
            let _ = self.device.poll(wgpu::PollType::Poll);
        }
    }
}

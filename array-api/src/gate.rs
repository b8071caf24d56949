//! Gates: how a scheduler of tasks keeps others off an array until the tasks that will write it are done.
//!
//! A base has at most one gate, which stays with it. While the scheduler has announced readers, writers wait at it; while
//! it has announced a writer, everybody does, except a thread that [`hold`]s the array.

use crate::array::Array;
use crate::base::Base;
use rustarr_interface::Result;
use smallvec::SmallVec;
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

/// Where those wait who touch an array's elements out of turn.
pub trait Gate: Any + Send + Sync + fmt::Debug {
    /// Returns once the elements may be read or, if `writes`, written.
    ///
    /// # Errors
    /// Whatever ends the wait; the touch that it was for fails with it.
    fn wait(&self, writes: bool) -> Result<()>;
}

/// What has been announced for a base.
#[derive(Default)]
pub(crate) struct Announced {
    gate: OnceLock<Arc<dyn Gate>>,
    readers: AtomicU32,
    writers: AtomicU32,
}

thread_local! {
    /// The addresses of the bases that this thread may touch whatever has been announced.
    static HELD: RefCell<SmallVec<[usize; 8]>> = RefCell::default();
}

impl Announced {
    /// Waits until the elements of the base, whose address it is, may be touched.
    #[inline]
    pub fn pass(&self, base: usize, writes: bool) -> Result<()> {
        let closed = self.writers.load(SeqCst) > 0 || (writes && self.readers.load(SeqCst) > 0);
        if closed {
            self.wait(base, writes)
        } else {
            Ok(())
        }
    }

    #[cold]
    fn wait(&self, base: usize, writes: bool) -> Result<()> {
        match self.gate.get() {
            Some(gate) if !HELD.with_borrow(|held| held.contains(&base)) => gate.wait(writes),
            _ => Ok(()),
        }
    }

    fn count(&self, writes: bool) -> &AtomicU32 {
        if writes { &self.writers } else { &self.readers }
    }
}

/// Runs `work` while the thread passes the gate of `base`.
pub(crate) fn held<R>(base: &Base, work: impl FnOnce() -> R) -> R {
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            HELD.with_borrow_mut(SmallVec::pop);
        }
    }
    HELD.with_borrow_mut(|held| held.push(base.address()));
    let _restore = Restore;
    work()
}

/// From now on the calling thread passes the gates of these arrays, and of no others.
pub fn hold<'a>(arrays: impl IntoIterator<Item = &'a Array>) {
    let bases = arrays.into_iter().map(|x| x.base().address()).collect();
    HELD.set(bases);
}

impl Array {
    /// The gate of the array's base, which is `gate` if it had none.
    pub fn gate_or(&self, gate: Arc<dyn Gate>) -> &Arc<dyn Gate> {
        self.base().announced.gate.get_or_init(|| gate)
    }

    /// The gate of the array's base, if it has one.
    pub fn gate(&self) -> Option<&Arc<dyn Gate>> {
        self.base().announced.gate.get()
    }

    /// Announces a reader or a writer of the base: until [`withdraw`](Array::withdraw), others wait at the gate.
    pub fn announce(&self, writes: bool) {
        self.base().announced.count(writes).fetch_add(1, SeqCst);
    }

    /// Runs `work` while the thread passes the gate of the array's base.
    pub fn held<R>(&self, work: impl FnOnce() -> R) -> R {
        held(self.base(), work)
    }

    /// Takes back what [`announce`](Array::announce) has said.
    pub fn withdraw(&self, writes: bool) {
        self.base().announced.count(writes).fetch_sub(1, SeqCst);
    }
}

//! The cell that views share: recorded work, memory, or the error that took its place.

use crate::context::lock;
use crate::gate::{self, Announced};
use crate::graph::{Node, policy};
use rustarr_interface::{Buffer, DType, Error, ForeignMemory, Result, Space, fork, interrupt};
use smallvec::SmallVec;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// What a base holds.
#[derive(Clone)]
pub(crate) enum State {
    /// Work that nobody has needed yet; its value is dense and row-major.
    Node(Arc<Node>),
    /// Memory.
    Buf(Buffer),
    /// The device failed while the value was computed.
    Failed(Error),
}

struct Cell {
    state: State,
    /// Pending nodes that read this base's value; a partial write runs them first.
    readers: SmallVec<[Weak<Node>; 2]>,
    /// Alive while somebody outside holds a pointer to the memory.
    exported: Weak<()>,
}

/// A block of elements that arrays view.
pub(crate) struct Base {
    pub dtype: DType,
    /// Number of elements of the block.
    pub len: usize,
    pub space: Space,
    foreign: bool,
    cell: Mutex<Cell>,
    /// The process that writes a part of the elements, by its [`fork::generation`]; 0 for none.
    writing: AtomicU64,
    /// How often elements were written or replaced.
    version: AtomicU64,
    /// What tasks are going to do with the elements.
    pub announced: Announced,
}

/// The right to write a part of a base's elements; ends when dropped.
struct Writing<'a>(&'a AtomicU64);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.store(0, Release);
    }
}

impl Base {
    pub fn new(dtype: DType, len: usize, space: Space, state: State) -> Arc<Base> {
        let foreign = match &state {
            State::Buf(b) => b
                .downcast::<ForeignMemory>()
                .is_some_and(ForeignMemory::is_shared),
            _ => false,
        };
        let cell = Cell {
            state,
            readers: SmallVec::new(),
            exported: Weak::new(),
        };
        Arc::new(Base {
            dtype,
            len,
            space,
            foreign,
            cell: Mutex::new(cell),
            writing: AtomicU64::new(0),
            version: AtomicU64::new(0),
            announced: Announced::default(),
        })
    }

    /// What tells this base from every other one that is alive.
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Waits until no task is going to write the elements or, to write them, to touch them at all.
    ///
    /// # Errors
    /// Those of the gate.
    #[inline]
    pub fn pass(&self, writes: bool) -> Result<()> {
        self.announced.pass(self.address(), writes)
    }

    /// How often elements were written or replaced.
    pub fn version(&self) -> u64 {
        self.version.load(Acquire)
    }

    /// The current state for a reader, who waits at the gate.
    ///
    /// # Errors
    /// Those of the gate.
    pub fn state(&self) -> Result<State> {
        self.pass(false)?;
        Ok(self.peek())
    }

    /// The current state; a node that has run in the meantime is replaced by its memory.
    pub fn peek(&self) -> State {
        let mut cell = lock(&self.cell);
        if let State::Node(node) = &cell.state
            && let Some(done) = node.finished()
        {
            cell.state = match done {
                Ok(buffer) => State::Buf(buffer),
                Err(error) => State::Failed(error),
            };
        }
        cell.state.clone()
    }

    /// The memory, if it is there and nobody else's: the fast path of small operations.
    ///
    /// # Errors
    /// Those of the gate.
    #[inline]
    pub fn ready(&self) -> Result<Option<Buffer>> {
        self.pass(false)?;
        Ok(match &lock(&self.cell).state {
            State::Buf(buffer) => Some(buffer.clone()),
            _ => None,
        })
    }

    /// Replaces the value: pending readers keep the old one.
    pub fn set(&self, state: State) {
        let mut cell = lock(&self.cell);
        cell.readers.clear();
        self.version.fetch_add(1, Release);
        let old = std::mem::replace(&mut cell.state, state);
        drop(cell);
        drop(old);
    }

    /// Registers a pending node as a reader of this base's value.
    pub fn add_reader(&self, node: &Arc<Node>) {
        let mut cell = lock(&self.cell);
        if cell.readers.len() >= policy::READERS {
            cell.readers
                .retain(|r| r.upgrade().is_some_and(|n| n.is_pending()));
        }
        cell.readers.push(Arc::downgrade(node));
    }

    /// The pending readers, taken off the list.
    pub fn take_readers(&self) -> SmallVec<[Arc<Node>; 2]> {
        std::mem::take(&mut lock(&self.cell).readers)
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|n| n.is_pending())
            .collect()
    }

    /// Runs `write` when no other thread writes a part of the elements, and keeps others from it meanwhile: a second
    /// writer that saw the first one's handle of the memory would write into a copy, and one of the writes would be
    /// lost. No signal handler runs under it, which might write the same elements: what may take long is done before.
    ///
    /// # Errors
    /// `Interrupted` if the user asks to stop while another thread writes; then those of `write`.
    pub fn writing<R>(&self, name: &'static str, write: impl FnOnce() -> Result<R>) -> Result<R> {
        if !self.try_begin() {
            self.wait_to_begin(name)?;
        }
        let _writing = Writing(&self.writing);
        // A task that is announced now may want the right to write before it lets us pass.
        let result = gate::held(self, || interrupt::shield(write));
        self.version.fetch_add(1, Release);
        result
    }

    /// Takes the right to write, unless another thread of this process has it: a forked child has only one.
    fn try_begin(&self) -> bool {
        let own = fork::generation();
        let free = |holder| (holder != own).then_some(own);
        self.writing.fetch_update(Acquire, Relaxed, free).is_ok()
    }

    #[cold]
    fn wait_to_begin(&self, name: &'static str) -> Result<()> {
        // The other writer may need the embedding program's lock to end, and a fork must not wait for us. Polled,
        // because a child could inherit a lock held.
        interrupt::blocking(|| {
            let mut rounds = 0u32;
            while !self.try_begin() {
                if interrupt::requested() {
                    return Err(Error::interrupted(name, "stopped by the user"));
                }
                rounds += 1;
                fork::paused(|| match rounds {
                    0..64 => std::thread::yield_now(),
                    _ => std::thread::sleep(Duration::from_micros(50)),
                });
            }
            Ok(())
        })
    }

    /// Whether others can see or change the memory behind our back: foreign or exported memory. Reads
    /// of it finish at the call, writes go in place.
    pub fn is_shared(&self) -> bool {
        self.foreign || lock(&self.cell).exported.strong_count() > 0
    }

    /// Whether the memory is another owner's.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// A token that keeps the memory marked as exported.
    pub fn export_token(&self) -> Arc<()> {
        let mut cell = lock(&self.cell);
        cell.exported.upgrade().unwrap_or_else(|| {
            let token = Arc::new(());
            cell.exported = Arc::downgrade(&token);
            token
        })
    }

    /// Forces the value.
    pub fn realise(&self) -> Result<Buffer> {
        match self.state()? {
            State::Buf(buffer) => Ok(buffer),
            State::Failed(error) => Err(error),
            State::Node(node) => {
                let result = crate::graph::realise(&node);
                let mut cell = lock(&self.cell);
                let still = matches!(&cell.state, State::Node(n) if Arc::ptr_eq(n, &node));
                if still && let Some(done) = node.finished() {
                    // The readers stay: they have captured the node, whose memory this now is.
                    cell.state = match done {
                        Ok(buffer) => State::Buf(buffer),
                        Err(error) => State::Failed(error),
                    };
                }
                result
            }
        }
    }
}

//! Every threshold of the front end, in one place.

/// Most instructions of one fused program; longer chains are cut here.
pub(crate) const MAX_INSTRS: usize = 64;

/// On a backend that launches at no cost, results of up to this many elements whose inputs are
/// ready are computed at once: recording would cost more than the pass over memory it might save.
pub(crate) const EAGER_ELEMENTS: usize = 4096;

/// Work on at least this many elements releases the caller's locks (Python's GIL) while it runs.
pub(crate) const BLOCKING_ELEMENTS: usize = 1 << 15;

/// Recorded work of one context keeps at most this many bytes of inputs alive; past that the next
/// recorded operation runs at once.
pub(crate) const RETAINED_BYTES: usize = 4 << 30;

/// A base prunes its list of readers when it is longer than this.
pub(crate) const READERS: usize = 16;

/// A context sweeps its list of recorded work at this length, and then whenever it has doubled.
pub(crate) const RECORDED: usize = 64;

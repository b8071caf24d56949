//! Recorded work: nodes, how they are fused into programs, when they run, and what a write does to
//! them.
//!
//! Operations record a [`Node`]; a value that is needed realises it. A node captures *values* (memory
//! or other nodes), never bases, so what happens to an array later cannot change what was recorded.

pub(crate) mod fallback;
mod fuse;
mod hazard;
mod node;
pub(crate) mod policy;
mod realise;
mod single;
mod verb;

pub(crate) use hazard::{assign, detach, scatter};
pub(crate) use node::{Node, Recipe};
pub(crate) use realise::{In, apply, cast, contiguous_copy, empty, fill, iota, realise, reduce};
pub(crate) use verb::{compact, verb};

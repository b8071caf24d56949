//! The suite: the meaning of every operation, and what to try it on.

pub mod reference;

//! Complex.

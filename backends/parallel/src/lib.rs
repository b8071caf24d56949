//! rustarr-parallel

//! rustarr

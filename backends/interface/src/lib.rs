//! rustarr-interface

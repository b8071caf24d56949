//! rustarr-shaders

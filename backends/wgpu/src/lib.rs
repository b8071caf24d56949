//! rustarr-wgpu

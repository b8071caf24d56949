//! rustarr-cpu-kernels

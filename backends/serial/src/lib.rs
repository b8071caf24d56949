//! The `cpu-serial` backend: the CPU kernels on the calling thread.

use rustarr_cpu_kernels::Host;

/// The backend's registered name.
pub const NAME: &str = "cpu-serial";

/// Opens the backend. `grain` is for tests: about how many elements times instructions are done between two looks at
/// whether the user asked to stop. `memory_limit` is in bytes.
pub fn open(grain: Option<usize>, memory_limit: Option<usize>) -> Host {
    Host::new(NAME, None, grain, memory_limit)
}

//! The `cpu-serial` backend: the CPU kernels on the calling thread.

use rustarr_cpu_kernels::Host;
use rustarr_cpu_kernels::pool::usable_cores;
use rustarr_interface::{Error, Result};

/// The backend's registered name.
pub const NAME: &str = "cpu-serial";

/// Opens the backend. `grain` is for tests: about how many elements times instructions are done between two looks at
/// whether the user asked to stop. `memory_limit` is in bytes.
pub fn open(grain: Option<usize>, memory_limit: Option<usize>) -> Host {
    Host::new(NAME, None, grain, memory_limit)
}

/// Checks the cores that a thread which computes here is to be bound to; the backend itself binds nobody's thread.
///
/// # Errors
/// `Value` for an empty list, or a core that the process may not use.
pub fn check_cores(cores: &[usize]) -> Result<()> {
    usable_cores(cores).map_err(|error| Error::value("Context", error.to_string()))?;
    Ok(())
}

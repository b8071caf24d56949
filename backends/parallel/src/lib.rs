//! The `cpu-parallel` backend: the CPU kernels on a pool of threads of its own.

use rustarr_cpu_kernels::Host;
use rustarr_cpu_kernels::pool::Pool;
use rustarr_interface::{Error, Result};

/// The backend's registered name.
pub const NAME: &str = "cpu-parallel";

/// Opens the backend with `threads` workers on `cores`; by default one per core that the process may use, wherever the
/// system puts it. Results never depend on either, nor on `grain`, which is about how many elements times instructions
/// a task has. `memory_limit` is in bytes.
///
/// # Errors
/// `Value` for a number of threads that cannot be, or a core that the process may not use.
pub fn open(
    threads: Option<usize>,
    cores: Option<&[usize]>,
    grain: Option<usize>,
    memory_limit: Option<usize>,
) -> Result<Host> {
    let pool =
        Pool::new(threads, cores).map_err(|error| Error::value("Context", error.to_string()))?;
    Ok(Host::new(NAME, Some(pool), grain, memory_limit))
}

//! How each backend is opened, and the devices that it finds.

use crate::{ContextSpec, Environment};
use rustarr_interface::{Backend, DType, Error, Result};
use std::sync::Arc;

/// One device of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceInfo {
    /// What [`open`](crate::open) takes: `cpu-serial`, `wgpu:0`.
    pub spec: String,
    /// The device's own name.
    pub name: String,
    /// `cpu`, `discrete`, `integrated`, `virtual`, `software` or `other`.
    pub kind: String,
    /// The interface it is reached through: `host`, `vulkan`, `metal` or `dx12`.
    pub api: String,
    /// Computing threads; 1 for a GPU.
    pub threads: usize,
    /// The dtypes that it computes natively.
    pub dtypes: Vec<DType>,
    /// The largest block of memory, where there is a limit.
    pub max_buffer_size: Option<u64>,
    /// Why it is not used unless asked for, if so.
    pub refused: Option<String>,
}

/// The host as one backend sees it; what keeps the backend from opening is the reason why it is refused.
#[cfg(any(feature = "serial", feature = "parallel"))]
fn host_device(spec: &str, opened: Result<Arc<dyn Backend>>) -> Vec<DeviceInfo> {
    vec![DeviceInfo {
        spec: spec.to_owned(),
        name: std::env::consts::ARCH.to_owned(),
        kind: "cpu".to_owned(),
        api: "host".to_owned(),
        threads: opened.as_ref().map_or(1, |backend| backend.threads()),
        dtypes: DType::ALL.to_vec(),
        max_buffer_size: None,
        refused: opened.err().map(|error| error.to_string()),
    }]
}

/// The backend behind a device, for what the device cannot do.
pub(crate) fn host() -> Result<Arc<dyn Backend>> {
    #[cfg(feature = "parallel")]
    return open_parallel(&ContextSpec::default());
    #[cfg(all(feature = "serial", not(feature = "parallel")))]
    return open_serial(&ContextSpec::default());
    #[cfg(not(any(feature = "serial", feature = "parallel")))]
    Err(Error::device("Context", "no CPU backend was compiled in"))
}

#[cfg(feature = "serial")]
pub(crate) fn open_serial(spec: &ContextSpec) -> Result<Arc<dyn Backend>> {
    Ok(Arc::new(rustarr_serial::open(
        spec.grain,
        spec.memory_limit,
    )))
}

#[cfg(feature = "serial")]
pub(crate) fn serial(_: &Environment) -> Vec<DeviceInfo> {
    host_device(rustarr_serial::NAME, open_serial(&ContextSpec::default()))
}

#[cfg(feature = "parallel")]
pub(crate) fn open_parallel(spec: &ContextSpec) -> Result<Arc<dyn Backend>> {
    let backend = rustarr_parallel::open(
        spec.threads,
        spec.cores.as_deref(),
        spec.grain,
        spec.memory_limit,
    )?;
    Ok(Arc::new(backend))
}

#[cfg(feature = "parallel")]
pub(crate) fn parallel(_: &Environment) -> Vec<DeviceInfo> {
    host_device(
        rustarr_parallel::NAME,
        open_parallel(&ContextSpec::default()),
    )
}

//! How each backend is opened, and the devices that it finds.

use crate::{ContextSpec, Environment};
use rustarr_interface::{Backend, DType, Result};
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

/// The backend behind the device of a context, for what the device cannot do: it splits work as the context says. The
/// memory limit is the device's.
pub(crate) fn host(grain: Option<usize>) -> Result<Arc<dyn Backend>> {
    let spec = ContextSpec {
        grain,
        ..ContextSpec::default()
    };
    #[cfg(feature = "parallel")]
    return open_parallel(&spec);
    #[cfg(all(feature = "serial", not(feature = "parallel")))]
    return open_serial(&spec);
    #[cfg(not(any(feature = "serial", feature = "parallel")))]
    Err(rustarr_interface::Error::device(
        "Context",
        "no CPU backend was compiled in",
    ))
}

#[cfg(feature = "serial")]
pub(crate) fn open_serial(spec: &ContextSpec) -> Result<Arc<dyn Backend>> {
    if let Some(cores) = &spec.cores {
        rustarr_serial::check_cores(cores)?;
    }
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

/// The adapter that a spec asks for, by index or by a part of its name.
#[cfg(feature = "wgpu")]
fn choice(spec: &ContextSpec) -> rustarr_wgpu::Choice {
    let index = spec.device.as_ref().and_then(|device| device.parse().ok());
    rustarr_wgpu::Choice {
        index,
        name: spec.device.clone().filter(|_| index.is_none()),
        allow_software: spec.allow_software.unwrap_or(false),
    }
}

#[cfg(feature = "wgpu")]
pub(crate) fn open_wgpu(spec: &ContextSpec) -> Result<Arc<dyn Backend>> {
    Ok(rustarr_wgpu::WgpuBackend::open(
        &choice(spec),
        spec.memory_limit,
    )?)
}

#[cfg(feature = "wgpu")]
pub(crate) fn wgpu(environment: &Environment) -> Vec<DeviceInfo> {
    let spec = ContextSpec {
        allow_software: environment.allow_software,
        ..ContextSpec::default()
    };
    let found = match rustarr_wgpu::adapters(&choice(&spec)) {
        Ok(found) => found,
        // A forked child cannot even look.
        Err(fault) => {
            return vec![DeviceInfo {
                spec: "wgpu".to_owned(),
                name: "unknown".to_owned(),
                kind: "other".to_owned(),
                api: "unknown".to_owned(),
                threads: 1,
                dtypes: Vec::new(),
                max_buffer_size: None,
                refused: Some(fault.to_string()),
            }];
        }
    };
    found
        .into_iter()
        .map(|adapter| DeviceInfo {
            spec: format!("wgpu:{}", adapter.index),
            kind: if adapter.is_software() {
                "software"
            } else {
                adapter.kind
            }
            .to_owned(),
            api: adapter.backend.to_owned(),
            threads: 1,
            dtypes: adapter.native.dtypes().iter().collect(),
            max_buffer_size: Some(adapter.max_buffer_size),
            name: adapter.name,
            refused: adapter.refused,
        })
        .collect()
}

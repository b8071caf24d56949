//! The registry: opens contexts by name and re-exports the front end.
//!
//! A backend is one entry of `BACKENDS`, behind a Cargo feature.
//!
//! ```no_run
//! let ctx = rustarr_backends::open(&"cpu-parallel".parse()?)?;
//! assert_eq!(ctx.name(), "cpu-parallel");
//! # Ok::<(), rustarr_backends::Error>(())
//! ```

mod device;
mod environment;
mod spec;

pub use device::DeviceInfo;
pub use environment::{Environment, VARIABLES};
pub use rustarr::*;
pub use spec::ContextSpec;

use rustarr_interface::Backend;
use std::sync::Arc;

/// One backend: its name, how to open it, and what machines it finds.
struct Entry {
    name: &'static str,
    open: fn(&ContextSpec) -> Result<Arc<dyn Backend>>,
    devices: fn(&Environment) -> Vec<DeviceInfo>,
}

/// Every backend that was compiled in.
const BACKENDS: &[Entry] = &[
    #[cfg(feature = "serial")]
    Entry {
        name: rustarr_serial::NAME,
        open: device::open_serial,
        devices: device::serial,
    },
    #[cfg(feature = "parallel")]
    Entry {
        name: rustarr_parallel::NAME,
        open: device::open_parallel,
        devices: device::parallel,
    },
    #[cfg(feature = "wgpu")]
    Entry {
        name: "wgpu",
        open: device::open_wgpu,
        devices: device::wgpu,
    },
];

/// Names that [`open`] takes, without device numbers.
pub fn backends() -> impl Iterator<Item = &'static str> {
    BACKENDS.iter().map(|entry| entry.name)
}

/// Opens a context. What the spec leaves open is decided by the environment ([`VARIABLES`]), then by defaults.
///
/// # Errors
/// `Value` for an unknown backend or an environment variable that makes no sense, `Device` if there is no
/// usable device, with all that were found and why each was refused.
pub fn open(spec: &ContextSpec) -> Result<Context> {
    let environment = Environment::read()?;
    let spec = spec.resolve(&environment)?;
    let name = spec.backend();
    let entry = BACKENDS
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| {
            let known: Vec<_> = backends().collect();
            Error::value(
                "Context",
                format!("unknown backend {name:?}; there are {}", known.join(", ")),
            )
        })?;
    let primary = (entry.open)(&spec)?;
    let host = if primary.caps().host_visible {
        primary.clone()
    } else {
        device::host(spec.grain)?
    };
    let options = ContextOptions {
        defer: spec.defer.unwrap_or_default(),
        fallback: spec.fallback.unwrap_or_default(),
        default_float: spec.default_float,
        cores: spec.cores,
    };
    let name = primary.name().to_owned();
    Ok(Context::new(&name, primary, host, options))
}

/// Every device that each backend finds, with the reason where one is refused. Opens none.
///
/// # Errors
/// `Value` for an environment variable that makes no sense.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    let environment = Environment::read()?;
    Ok(BACKENDS
        .iter()
        .flat_map(|entry| (entry.devices)(&environment))
        .collect())
}

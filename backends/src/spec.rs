//! What a context should be.

use crate::{Defer, Environment, Fallback};
use rustarr_interface::{DType, Error, Result};
use std::str::FromStr;

/// Which backend a context computes on, and how. `None` leaves a setting to the environment, then to the default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContextSpec {
    /// `cpu-serial`, `cpu-parallel` or `wgpu`; by default `RUSTARR_BACKEND`, then `cpu-parallel`.
    pub backend: Option<String>,
    /// Which of several devices, by index or by a part of its name: the `1` of `wgpu:1`.
    pub device: Option<String>,
    /// Computing threads of `cpu-parallel`; by default as many as the process may use.
    pub threads: Option<usize>,
    /// Cores that the threads are pinned to; of `cpu-serial`, those for a thread that is lent to it, a task worker's.
    pub cores: Option<Vec<usize>>,
    /// Most bytes that the context's arrays may hold.
    pub memory_limit: Option<usize>,
    /// What happens when the device lacks an operation.
    pub fallback: Option<Fallback>,
    /// The dtype of floating creation functions.
    pub default_float: Option<DType>,
    /// Whether a GPU that is a CPU in disguise may be used.
    pub allow_software: Option<bool>,
    /// When recorded work runs.
    pub defer: Option<Defer>,
    /// Elements from which work is split over threads, for tests.
    pub grain: Option<usize>,
}

impl FromStr for ContextSpec {
    type Err = Error;

    /// Reads `NAME` or `NAME:DEVICE`.
    fn from_str(text: &str) -> Result<Self> {
        let (backend, device) = match text.split_once(':') {
            Some((backend, device)) => (backend, Some(device)),
            None => (text, None),
        };
        if backend.is_empty() || device == Some("") {
            return Err(Error::value(
                "Context",
                format!(
                    "{text:?} is not a backend; write for example \"cpu-parallel\" or \"wgpu:1\""
                ),
            ));
        }
        Ok(ContextSpec {
            backend: Some(backend.to_owned()),
            device: device.map(str::to_owned),
            ..ContextSpec::default()
        })
    }
}

impl ContextSpec {
    /// The backend's name.
    pub fn backend(&self) -> &str {
        self.backend.as_deref().unwrap_or("cpu-parallel")
    }

    /// The name with the device: what [`from_str`](ContextSpec::from_str) reads.
    pub fn name(&self) -> String {
        match &self.device {
            Some(device) => format!("{}:{device}", self.backend()),
            None => self.backend().to_owned(),
        }
    }

    /// This spec with every open setting filled in from the environment, and checked.
    pub(crate) fn resolve(&self, environment: &Environment) -> Result<ContextSpec> {
        let mut spec = self.clone();
        if spec.backend.is_none() {
            let named: ContextSpec = environment.backend.parse()?;
            spec.backend = named.backend;
            spec.device = spec.device.or(named.device);
        }
        spec.allow_software = spec.allow_software.or(environment.allow_software);
        spec.defer = spec.defer.or(environment.defer);
        spec.grain = spec.grain.or(environment.grain);
        spec.fallback = spec.fallback.or(environment.fallback);

        let name = spec.name();
        let refuse = |what: &str, why: &str| {
            Err(Error::value(
                "Context",
                format!("{what} does not apply to {name}: {why}"),
            ))
        };
        if !spec.backend().starts_with("cpu-") && spec.cores.is_some() {
            return refuse("cores", "it does not compute on cores of the host");
        }
        if spec.backend() != "cpu-parallel" && spec.threads.is_some_and(|n| n != 1) {
            return refuse("threads", "only cpu-parallel has threads to count");
        }
        if spec.backend().starts_with("cpu-") && spec.device.is_some() {
            return refuse("device", "there is one host");
        }
        if spec.threads == Some(0) {
            return refuse("threads=0", "a context needs one thread at least");
        }
        if spec.cores.as_ref().is_some_and(Vec::is_empty) {
            return refuse("cores=[]", "a context needs one core at least");
        }
        if spec
            .default_float
            .is_some_and(|d| !matches!(d, DType::F32 | DType::F64))
        {
            return refuse("default_float", "it is float32 or float64");
        }
        Ok(spec)
    }
}

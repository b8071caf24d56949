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

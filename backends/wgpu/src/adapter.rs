//! What adapters this machine has, what each can do, and why one is refused.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::fault::Fault;
use rustarr_interface::{DType, DTypeSet};

/// Environment variable that lets software adapters be opened by default.
pub const ALLOW_SOFTWARE_ENV: &str = "RUSTARR_ALLOW_SOFTWARE";

/// One adapter as reported by its driver.
#[derive(Clone, Debug)]
pub struct AdapterReport {
    /// Position in the list; what `wgpu:INDEX` selects.
    pub index: usize,
    /// The driver's name for it.
    pub name: String,
    /// Graphics API it is reached through: `vulkan`, `metal` or `dx12`.
    pub backend: &'static str,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub kind: &'static str,
    /// Driver name and version.
    pub driver: String,
    /// What it offers beyond 32-bit numbers.
    pub native: Native,
    /// Largest buffer in bytes.
    pub max_buffer_size: u64,
    /// Largest part of a buffer that one dispatch can bind, in bytes.
    pub max_binding_size: u64,
    /// Why it cannot be opened under the given choice, if so.
    pub refused: Option<String>,
}

impl AdapterReport {
    /// Whether the adapter is a CPU in disguise (llvmpipe, lavapipe, WARP).
    pub fn is_software(&self) -> bool {
        self.kind == "cpu"
    }

    fn line(&self) -> String {
        let verdict = match &self.refused {
            None => "usable".to_owned(),
            Some(why) => format!("refused: {why}"),
        };
        format!(
            "wgpu:{} {} ({}, {}): {verdict}",
            self.index, self.name, self.backend, self.kind
        )
    }
}

/// Number formats that the adapter's shaders can compute with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Native {
    /// 64-bit integers.
    pub int64: bool,
    /// 64-bit floats: `+ - * /`, comparisons, and what is built on them.
    pub float64: bool,
}

impl Native {
    fn of(features: wgpu::Features) -> Self {
        Native {
            int64: features.contains(wgpu::Features::SHADER_INT64),
            float64: features.contains(wgpu::Features::SHADER_F64 | wgpu::Features::SHADER_INT64),
        }
    }

    /// The dtypes that are computed with these formats; the narrow ones need no feature.
    pub fn dtypes(self) -> DTypeSet {
        use DType::{Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let mut dtypes = DTypeSet::of(&[Bool, I8, I16, I32, U8, U16, U32, F16, F32]);
        if self.int64 {
            dtypes = dtypes.with(I64).with(U64);
        }
        if self.float64 {
            dtypes = dtypes.with(F64);
        }
        dtypes
    }
}

/// Which adapter to open.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The adapter at this index, or the best usable one.
    pub index: Option<usize>,
    /// Only adapters whose name contains this text (case ignored).
    pub name: Option<String>,
    /// Whether a software adapter may be opened.
    pub allow_software: bool,
}

impl Choice {
    fn refusal(&self, report: &AdapterReport) -> Option<String> {
        if report.is_software() && !self.allow_software {
            return Some(format!(
                "a software adapter, used only when asked for (allow_software=True or \
                 {ALLOW_SOFTWARE_ENV}=1)"
            ));
        }
        if self.index.is_some_and(|i| i != report.index) {
            return Some("another index was asked for".to_owned());
        }
        let hit = |n: &String| report.name.to_lowercase().contains(&n.to_lowercase());
        if !self.name.as_ref().is_none_or(hit) {
            return Some("another name was asked for".to_owned());
        }
        None
    }
}

/// The process that first touched the graphics driver. A forked child inherits
/// driver state without the driver's threads, so nothing may be used there.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Whether this process was forked from one that had already used the driver.
pub(crate) fn forked() -> bool {
    let owner = OWNER.load(Ordering::Acquire);
    owner != 0 && owner != std::process::id()
}

/// The error that every use in a forked child gets.
pub(crate) fn forked_fault() -> Fault {
    Fault::Lost(
        "this process was forked after the parent had opened the graphics driver, which does not \
         survive a fork; start workers with the 'spawn' method, or compute on a CPU context"
            .to_owned(),
    )
}

fn instance() -> Result<&'static wgpu::Instance, Fault> {
    static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
    if forked() {
        return Err(forked_fault());
    }
    OWNER.store(std::process::id(), Ordering::Release);
    Ok(INSTANCE.get_or_init(|| {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
        // Validation layers and labels are for debugging drivers, not for users.
        descriptor.flags = wgpu::InstanceFlags::empty();
        wgpu::Instance::new(descriptor)
    }))
}

/// All adapters of this machine, each with the reason why `choice` refuses it.
/// Opens no device.
///
/// # Errors
/// [`Fault::Lost`] in a forked child.
pub fn adapters(choice: &Choice) -> Result<Vec<AdapterReport>, Fault> {
    Ok(enumerate(choice)?
        .into_iter()
        .map(|(report, _)| report)
        .collect())
}

fn enumerate(choice: &Choice) -> Result<Vec<(AdapterReport, wgpu::Adapter)>, Fault> {
    let found = pollster::block_on(instance()?.enumerate_adapters(wgpu::Backends::all()));
    Ok(found
        .into_iter()
        .enumerate()
        .map(|(index, adapter)| {
            let info = adapter.get_info();
            let limits = adapter.limits();
            let mut report = AdapterReport {
                index,
                name: info.name,
                backend: info.backend.to_str(),
                kind: match info.device_type {
                    wgpu::DeviceType::DiscreteGpu => "discrete",
                    wgpu::DeviceType::IntegratedGpu => "integrated",
                    wgpu::DeviceType::VirtualGpu => "virtual",
                    wgpu::DeviceType::Cpu => "cpu",
                    wgpu::DeviceType::Other => "other",
                },
                driver: format!("{} {}", info.driver, info.driver_info)
                    .trim()
                    .to_owned(),
                native: Native::of(adapter.features()),
                max_buffer_size: limits.max_buffer_size,
                max_binding_size: limits.max_storage_buffer_binding_size,
                refused: None,
            };
            report.refused = choice.refusal(&report);
            (report, adapter)
        })
        .collect())
}

/// The adapter to open: the first usable one, discrete before integrated
/// before the rest.
pub(crate) fn select(choice: &Choice) -> Result<(AdapterReport, wgpu::Adapter), Fault> {
    let found = enumerate(choice)?;
    let lines: Vec<String> = found.iter().map(|(report, _)| report.line()).collect();
    let rank = |kind: &str| {
        ["discrete", "integrated", "virtual", "other", "cpu"]
            .iter()
            .position(|k| *k == kind)
    };
    found
        .into_iter()
        .filter(|(report, _)| report.refused.is_none())
        .min_by_key(|(report, _)| (rank(report.kind), report.index))
        .ok_or_else(|| {
            let list = if lines.is_empty() {
                "no Vulkan, Metal or DX12 driver reported any".to_owned()
            } else {
                lines.join("; ")
            };
            Fault::NoAdapter(format!("no usable GPU adapter; found: {list}"))
        })
}

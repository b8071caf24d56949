//! The backends under test.

use super::reference::Place;
use rustarr::{Context, ContextOptions, Defer};
use rustarr_interface::Backend;
use std::sync::{Arc, LazyLock};

/// One way to compute.
pub struct Target {
    /// For messages.
    pub name: String,
    /// Its context.
    pub ctx: Context,
    /// Where results are computed, which decides how exact they are.
    pub place: Place,
    /// Whether everything is recorded first, however small.
    pub deferred: bool,
}

/// The environment variable that says that there is no GPU to test, not even a software one.
pub const NO_GPU: &str = "RUSTARR_TEST_NO_GPU";

/// Every backend in every setting that must not change a result: as it is, and recording everything with tasks
/// as small as can be; the parallel one with several numbers of threads.
///
/// # Panics
/// If there is no GPU adapter, unless [`NO_GPU`] is 1: a missing one is a failure, not a skip.
pub fn targets() -> &'static [Target] {
    static TARGETS: LazyLock<Vec<Target>> = LazyLock::new(|| {
        let mut targets = Vec::new();
        for deferred in [false, true] {
            let grain = deferred.then_some(1);
            targets.push(target("cpu-serial", serial(grain), Place::Cpu, deferred));
            for threads in [1, 2, 3, 8] {
                let name = format!("cpu-parallel with {threads} threads");
                targets.push(target(
                    &name,
                    parallel(threads, grain),
                    Place::Cpu,
                    deferred,
                ));
            }
        }
        if let Some(gpu) = gpu() {
            for deferred in [false, true] {
                targets.push(target("wgpu", gpu.clone(), Place::Device, deferred));
            }
        }
        targets
    });
    &TARGETS
}

/// The targets that compute on the CPU: their results are equal to the bit.
pub fn cpu_targets() -> impl Iterator<Item = &'static Target> {
    targets().iter().filter(|t| t.place == Place::Cpu)
}

fn target(name: &str, primary: Arc<dyn Backend>, place: Place, deferred: bool) -> Target {
    let host = if primary.caps().host_visible {
        primary.clone()
    } else {
        serial(None)
    };
    let defer = if deferred { Defer::Always } else { Defer::Auto };
    let options = ContextOptions {
        defer,
        ..ContextOptions::default()
    };
    let name = if deferred {
        format!("{name}, deferred")
    } else {
        name.to_owned()
    };
    let ctx = Context::new(&name, primary, host, options);
    Target {
        name,
        ctx,
        place,
        deferred,
    }
}

/// A serial backend; `grain` is the size of its steps.
pub fn serial(grain: Option<usize>) -> Arc<dyn Backend> {
    Arc::new(rustarr_serial::open(grain, None))
}

/// A parallel backend.
///
/// # Panics
/// If the pool cannot be made.
pub fn parallel(threads: usize, grain: Option<usize>) -> Arc<dyn Backend> {
    Arc::new(rustarr_parallel::open(Some(threads), None, grain, None).expect("a pool"))
}

fn gpu() -> Option<Arc<dyn Backend>> {
    if std::env::var(NO_GPU).is_ok_and(|v| v == "1") {
        return None;
    }
    let choice = rustarr_wgpu::Choice {
        allow_software: true,
        ..rustarr_wgpu::Choice::default()
    };
    match rustarr_wgpu::WgpuBackend::open(&choice, None) {
        Ok(backend) => Some(backend),
        Err(e) => panic!("no adapter ({e}); install a Vulkan driver, or set {NO_GPU}=1"),
    }
}

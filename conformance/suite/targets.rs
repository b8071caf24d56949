//! The backends under test: all that are registered.

use super::reference::Place;
use rustarr::{Context, Defer};
use rustarr_backends::{ContextSpec, open};
use std::sync::LazyLock;

/// One way to compute.
pub struct Target {
    /// For messages.
    pub name: String,
    /// How its contexts are opened.
    pub spec: ContextSpec,
    /// One context, which tests share: its counters belong to nobody.
    pub ctx: Context,
    /// Where results are computed, which decides how exact they are.
    pub place: Place,
}

/// The environment variable that says that there is no GPU to test, not even a software one.
pub const NO_GPU: &str = "RUSTARR_TEST_NO_GPU";

impl Target {
    fn new(spec: ContextSpec) -> Target {
        let mut name = spec.name();
        if let Some(threads) = spec.threads {
            name += &format!(" with {threads} threads");
        }
        if spec.defer == Some(Defer::Always) {
            name += ", deferred";
        }
        let ctx = open(&spec).unwrap_or_else(|e| {
            panic!("{e}\nWhere there is no GPU, not even a software one, set {NO_GPU}=1.")
        });
        let host = ctx.backend().caps().host_visible;
        let place = if host { Place::Cpu } else { Place::Device };
        Target {
            name,
            spec,
            ctx,
            place,
        }
    }

    /// Whether everything is recorded first, however small.
    pub fn is_deferred(&self) -> bool {
        self.spec.defer == Some(Defer::Always)
    }

    /// A context of its own, with counters and a memory limit of its own.
    ///
    /// # Panics
    /// If it cannot be opened a second time.
    pub fn fresh(&self) -> Context {
        open(&self.spec).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }
}

/// Every backend in every setting that must not change a result: as it is, and recording everything with tasks
/// as small as can be; the parallel one with several numbers of threads.
///
/// # Panics
/// If there is no GPU adapter, unless [`NO_GPU`] is 1: a missing one is a failure, not a skip.
pub fn targets() -> &'static [Target] {
    static TARGETS: LazyLock<Vec<Target>> = LazyLock::new(|| {
        let no_gpu = std::env::var(NO_GPU).is_ok_and(|v| v == "1");
        let mut targets = Vec::new();
        for backend in rustarr_backends::backends() {
            if backend == "wgpu" && no_gpu {
                continue;
            }
            let threads: &[Option<usize>] = match backend {
                "cpu-parallel" => &[Some(1), Some(2), Some(3), Some(8)],
                _ => &[None],
            };
            for &threads in threads {
                for (defer, grain) in [(Defer::Auto, None), (Defer::Always, Some(1))] {
                    targets.push(Target::new(ContextSpec {
                        backend: Some(backend.to_owned()),
                        threads,
                        defer: Some(defer),
                        grain,
                        allow_software: Some(true),
                        ..ContextSpec::default()
                    }));
                }
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

/// A context of a CPU backend.
///
/// # Panics
/// If it cannot be opened.
pub fn cpu(backend: &str, threads: Option<usize>, defer: Defer, grain: Option<usize>) -> Context {
    let spec = ContextSpec {
        backend: Some(backend.to_owned()),
        threads,
        defer: Some(defer),
        grain,
        ..ContextSpec::default()
    };
    open(&spec).unwrap_or_else(|e| panic!("{backend}: {e}"))
}

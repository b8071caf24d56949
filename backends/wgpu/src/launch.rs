//! Pipelines, bind groups, dispatches.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustarr_interface::{Code, Scalar};
use smallvec::SmallVec;

use crate::device::{Gpu, Owned, lock};
use crate::disk::DiskCache;
use crate::fault::Fault;
use crate::plan::{Box, Domain, View, Window, bind};
use crate::pool::Block;
use crate::render::render;
use crate::signature::{Signature, Task, header};

/// A compiled signature.
#[derive(Debug)]
pub(crate) struct Pipeline {
    raw: Owned<wgpu::ComputePipeline>,
    layout: Owned<wgpu::BindGroupLayout>,
}

/// Everything that one dispatch needs, with its pipeline compiled.
#[derive(Debug)]
pub(crate) struct Dispatch {
    pipeline: Arc<Pipeline>,
    group: Owned<wgpu::BindGroup>,
    words: Vec<u32>,
    uniform: Owned<wgpu::Buffer>,
    workgroups: (u32, u32),
}

/// What a dispatch works on, beside its views.
pub(crate) struct Work<'a> {
    pub domain: &'a Domain,
    pub part: &'a Box,
    pub params: &'a [Scalar],
    /// Pieces per result and elements per piece, for folds.
    pub pieces: (u32, u32),
    /// Counter, key, smallest value and range, for random numbers.
    pub seeds: &'a [u64],
}

/// Compiles and runs kernels on one device.
#[derive(Debug)]
pub(crate) struct Launcher {
    gpu: Arc<Gpu>,
    pipelines: Mutex<HashMap<Signature, Arc<Pipeline>>>,
    layouts: Mutex<HashMap<SmallVec<[bool; 6]>, Owned<wgpu::BindGroupLayout>>>,
    disk: DiskCache,
    compiled: AtomicU64,
    dispatched: AtomicU64,
}

impl Launcher {
    pub fn new(gpu: Arc<Gpu>) -> Self {
        Launcher {
            disk: DiskCache::open(&gpu),
            gpu,
            pipelines: Mutex::default(),
            layouts: Mutex::default(),
            compiled: AtomicU64::new(0),
            dispatched: AtomicU64::new(0),
        }
    }

    /// Pipelines compiled so far.
    pub fn compiled(&self) -> u64 {
        self.compiled.load(Ordering::Relaxed)
    }

    /// Dispatches submitted so far.
    pub fn dispatched(&self) -> u64 {
        self.dispatched.load(Ordering::Relaxed)
    }

    /// Largest window of a buffer that a dispatch can see.
    pub fn reach(&self) -> u64 {
        self.gpu
            .limits()
            .max_storage_buffer_binding_size
            .min(1 << 31)
    }

    fn bind_layout(&self, writable: &[bool]) -> Result<Owned<wgpu::BindGroupLayout>, Fault> {
        let mut layouts = lock(&self.layouts);
        let key = SmallVec::from_slice(writable);
        if let Some(found) = layouts.get(&key) {
            return Ok(Owned::new((**found).clone()));
        }
        let entry = |binding: usize, ty| wgpu::BindGroupLayoutEntry {
            binding: binding as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty,
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform)];
        entries.extend(writable.iter().enumerate().map(|(n, writable)| {
            entry(
                n + 1,
                wgpu::BufferBindingType::Storage {
                    read_only: !writable,
                },
            )
        }));
        let made = self.gpu.scoped(|| {
            self.gpu
                .device
                .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                    label: None,
                    entries: &entries,
                })
        })?;
        layouts.insert(key, Owned::new(made.clone()));
        Ok(Owned::new(made))
    }

    /// The pipeline of a signature, compiled at its first use.
    fn pipeline(&self, signature: &Signature) -> Result<Arc<Pipeline>, Fault> {
        if let Some(found) = lock(&self.pipelines).get(signature) {
            return Ok(Arc::clone(found));
        }
        // Compiled outside of the lock: another thread may compile the same one,
        // which only costs time.
        let layout = self.bind_layout(&signature.writable)?;
        let text = render(signature);
        let raw = self
            .gpu
            .scoped(|| compile(&self.gpu, &text, &layout, self.disk.cache()))?;
        self.compiled.fetch_add(1, Ordering::Relaxed);
        self.disk.touch();
        let made = Arc::new(Pipeline {
            raw: Owned::new(raw),
            layout,
        });
        let mut pipelines = lock(&self.pipelines);
        Ok(Arc::clone(
            pipelines.entry(signature.clone()).or_insert(made),
        ))
    }

    /// Prepares one dispatch: compiles, checks and allocates, runs nothing.
    pub fn prepare(
        &self,
        mut signature: Signature,
        views: &mut [View<'_>],
        work: &Work<'_>,
    ) -> Result<Dispatch, Fault> {
        // Whole elements of every dtype, too.
        let align = u64::from(self.gpu.limits().min_storage_buffer_offset_alignment).max(16);
        let (ports, windows) = bind(views, &work.part.dims, self.reach(), align);
        if let Some(far) = windows.iter().find(|w| w.end - w.start > self.reach()) {
            return Err(Fault::Memory(format!(
                "parts of one buffer that lie {} bytes apart are written together, but the device \
                 sees {} bytes of a buffer at a time; write them one by one",
                far.end - far.start,
                self.reach()
            )));
        }
        signature.ports = ports;
        signature.writable = windows.iter().map(|w| w.written).collect();
        let pipeline = self.pipeline(&signature)?;
        let (mut words, threads) = words(&signature, views, work);
        let workgroups = self.grid(&signature, threads, &mut words)?;
        let gpu = &self.gpu;
        let size = (words.len() as u64 * 4).next_multiple_of(16);
        let (uniform, group) = gpu.scoped(|| {
            let uniform = gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            let mut entries = vec![wgpu::BindGroupEntry {
                binding: 0,
                resource: uniform.as_entire_binding(),
            }];
            for (n, window) in windows.iter().enumerate() {
                entries.push(wgpu::BindGroupEntry {
                    binding: n as u32 + 1,
                    resource: wgpu::BindingResource::Buffer(binding(window)),
                });
            }
            let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipeline.layout,
                entries: &entries,
            });
            (Owned::new(uniform), Owned::new(group))
        })?;
        Ok(Dispatch {
            pipeline,
            group,
            words,
            uniform,
            workgroups,
        })
    }

    /// Spreads threads over two dimensions of workgroups, as one has at most 65535.
    fn grid(
        &self,
        signature: &Signature,
        threads: u64,
        words: &mut [u32],
    ) -> Result<(u32, u32), Fault> {
        let size = match signature.task {
            Task::Fold { group: true, .. } => 1,
            _ => u64::from(crate::signature::THREADS),
        };
        let groups = threads.div_ceil(size);
        let most = u64::from(self.gpu.limits().max_compute_workgroups_per_dimension);
        let rows = groups.div_ceil(most).max(1);
        let columns = groups.div_ceil(rows);
        if rows > most {
            return Err(Fault::Memory(format!(
                "{threads} threads are more than a dispatch takes"
            )));
        }
        words[header::ROW] = (columns * size) as u32;
        Ok((columns as u32, rows as u32))
    }

    /// Submits prepared dispatches, each on its own: none keeps the device for long.
    pub fn run(&self, dispatches: &[Dispatch]) -> Result<(), Fault> {
        let gpu = &self.gpu;
        for dispatch in dispatches {
            let commands = gpu.scoped(|| {
                gpu.queue
                    .write_buffer(&dispatch.uniform, 0, bytemuck::cast_slice(&dispatch.words));
                let mut encoder = gpu.device.create_command_encoder(&Default::default());
                {
                    let mut pass = encoder.begin_compute_pass(&Default::default());
                    pass.set_pipeline(&dispatch.pipeline.raw);
                    pass.set_bind_group(0, &*dispatch.group, &[]);
                    pass.dispatch_workgroups(dispatch.workgroups.0, dispatch.workgroups.1, 1);
                }
                encoder.finish()
            })?;
            gpu.submit(Some(commands))?;
            self.dispatched.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes the on-disk pipeline cache if it grew.
    pub fn save(&self) {
        self.disk.save();
    }
}

fn binding<'a>(window: &Window<'a>) -> wgpu::BufferBinding<'a> {
    let block: &Block = window
        .buffer
        .downcast()
        .expect("operands were checked to be of this device");
    // Whole words: blocks end on one.
    let size = window.end.next_multiple_of(4) - window.start;
    wgpu::BufferBinding {
        buffer: block.raw(),
        offset: window.start,
        size: wgpu::BufferSize::new(size),
    }
}

fn compile(
    gpu: &Gpu,
    text: &str,
    layout: &wgpu::BindGroupLayout,
    cache: Option<&wgpu::PipelineCache>,
) -> wgpu::ComputePipeline {
    let source = wgpu::ShaderSource::Wgsl(text.into());
    let descriptor = wgpu::ShaderModuleDescriptor {
        label: None,
        source,
    };
    let mut checks = wgpu::ShaderRuntimeChecks::checked();
    checks.force_loop_bounding = false;
    checks.int_div_checks = false;
    // SAFETY: bounds checks stay on. Every loop of the templates counts towards a bound
    // that does not change, and the library never divides an integer by zero nor MIN
    // by -1: both are selected away first.
    let module = unsafe { gpu.device.create_shader_module_trusted(descriptor, checks) };
    let pipeline_layout = gpu
        .device
        .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(layout)],
            immediate_size: 0,
        });
    gpu.device
        .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[],
                zero_initialize_workgroup_memory: false,
            },
            cache,
        })
}

/// The uniform block, and how many threads (or groups) work.
fn words(signature: &Signature, views: &[View<'_>], work: &Work<'_>) -> (Vec<u32>, u64) {
    let at = signature.words();
    let mut words = vec![0u32; at.len];
    let outer = signature.outer as usize;
    let rank = signature.rank();
    let results = work.part.size(0..outer);
    let depth = work.part.size(outer..rank);
    words[header::COUNT] = results as u32;
    words[header::PIECES] = work.pieces.0;
    words[header::PIECE] = work.pieces.1;
    words[header::DEPTH] = depth as u32;
    for (d, dim) in work.part.dims.iter().enumerate() {
        words[at.dims + d] = *dim as u32;
    }
    for (n, view) in views.iter().enumerate() {
        words[at.ports[n]] = view.offset as u32;
        for d in 0..signature.strides_of(n) {
            // Steps back wrap around, as the kernel's sums do.
            words[at.ports[n] + 1 + d] = view.strides[d] as u32;
        }
    }
    for instr in signature.program.instrs() {
        if let Code::Param(n) = instr.code
            && let Some(scalar) = work.params.get(n as usize)
        {
            put_scalar(&mut words[at.params[n as usize]..], scalar);
        }
    }
    if !signature.counted.is_empty() {
        for (d, start) in work.part.start.iter().enumerate() {
            words[at.bases + 2 * d] = *start as u32;
            words[at.bases + 2 * d + 1] = (*start as u64 >> 32) as u32;
        }
    }
    if signature.locates() {
        let inner = &work.domain.position;
        let first: isize = inner
            .iter()
            .zip(&work.part.start[outer..])
            .map(|(stride, start)| stride * *start as isize)
            .sum();
        words[at.position] = first as u32;
        for (d, stride) in inner.iter().enumerate() {
            words[at.position + 1 + d] = *stride as u32;
        }
    }
    for (n, seed) in work.seeds.iter().enumerate() {
        words[at.seeds + 2 * n] = *seed as u32;
        words[at.seeds + 2 * n + 1] = (*seed >> 32) as u32;
    }
    let threads = match signature.task {
        Task::Draw(drawn) => results.div_ceil(drawn.lanes(signature.program.out_dtype(0))) as u64,
        Task::Map => results.div_ceil(signature.lanes()) as u64,
        Task::Fold { .. } => results as u64 * u64::from(work.pieces.0),
    };
    (words, threads)
}

/// A scalar as the register words of its dtype.
fn put_scalar(words: &mut [u32], scalar: &Scalar) {
    use rustarr_interface::DType;
    let bytes = scalar.bytes();
    match scalar.dtype() {
        DType::F16 => words[0] = (scalar.to_f64() as f32).to_bits(),
        DType::I8 | DType::I16 | DType::I32 => words[0] = scalar.to_i128() as i32 as u32,
        DType::Bool => words[0] = u32::from(bytes[0] != 0),
        DType::U8 | DType::U16 | DType::U32 => words[0] = scalar.to_i128() as u32,
        _ => {
            for (word, part) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = u32::from_ne_bytes([part[0], part[1], part[2], part[3]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::Choice;

    /// What a broken shader does: an error at its own use, and nothing else.
    #[test]
    fn a_pipeline_that_does_not_compile_is_an_error() {
        if std::env::var("RUSTARR_TEST_NO_GPU").is_ok_and(|v| v == "1") {
            return;
        }
        let choice = Choice {
            allow_software: true,
            ..Choice::default()
        };
        let gpu = Gpu::open(&choice).expect("the device tests need an adapter");
        let launcher = Launcher::new(Arc::clone(&gpu));
        let layout = launcher.bind_layout(&[true]).unwrap();
        let head = "@group(0) @binding(1) var<storage, read_write> B: array<u32>;\n\
                    @compute @workgroup_size(1) fn main() ";
        let broken = [
            "{ B[0] = nonsense; }",
            "{ B[0] = 1.5; }",
            "{ let x: f32 = 1u; B[0] = 1u; }",
        ];
        for body in broken {
            let text = format!("{head}{body}");
            let error = gpu
                .scoped(|| compile(&gpu, &text, &layout, None))
                .unwrap_err();
            assert!(matches!(error, Fault::Shader(_)), "{error}");
        }
        let panics = gpu
            .scoped(|| -> () { panic!("the compiler's own fault") })
            .unwrap_err();
        assert_eq!(panics, Fault::Shader("the compiler's own fault".to_owned()));
        let fine = format!("{head}{{ B[0] = 1u; }}");
        gpu.scoped(|| compile(&gpu, &fine, &layout, None)).unwrap();
        assert_eq!(gpu.sync(&|| false), Ok(true));
    }

    #[test]
    fn an_error_outside_of_every_scope_is_reported_at_sync() {
        if std::env::var("RUSTARR_TEST_NO_GPU").is_ok_and(|v| v == "1") {
            return;
        }
        let choice = Choice {
            allow_software: true,
            ..Choice::default()
        };
        let gpu = Gpu::open(&choice).expect("the device tests need an adapter");
        let _ = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: gpu.limits().max_buffer_size + 1,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        assert!(matches!(gpu.sync(&|| false), Err(Fault::Device(_))));
        assert_eq!(gpu.sync(&|| false), Ok(true), "the error is reported once");
    }
}

//! Device memory: size classes, a limit, and the ways in and out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::device::{Gpu, Owned, lock};
use crate::fault::Fault;

/// Bytes that one transfer stages at a time: bounds the host memory it takes.
const CHUNK: u64 = 16 << 20;

/// Buffers are whole multiples of this: what WGSL's widest load needs.
const ALIGN: u64 = 16;

/// Smallest buffer made.
const SMALLEST: u64 = 256;

/// What a device's memory is doing, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Held by arrays.
    pub used: u64,
    /// Kept for reuse.
    pub pooled: u64,
    /// Most that arrays held at one time.
    pub peak: u64,
    /// Most that arrays may hold, if limited.
    pub limit: Option<u64>,
}

#[derive(Debug, Default)]
struct State {
    free: BTreeMap<u64, Vec<Owned<wgpu::Buffer>>>,
    usage: Usage,
}

/// The buffers of one device.
#[derive(Debug)]
pub struct Pool {
    gpu: Arc<Gpu>,
    state: Mutex<State>,
    /// One staging buffer for reading back, made at the first read.
    staging: Mutex<Option<Owned<wgpu::Buffer>>>,
}

/// A block of device memory; goes back to its pool when dropped.
#[derive(Debug)]
pub struct Block {
    pool: Arc<Pool>,
    raw: Option<Owned<wgpu::Buffer>>,
    len: u64,
}

impl Block {
    /// Bytes that were asked for.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True when no byte was asked for.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that may be bound: whole words, never none.
    pub fn capacity(&self) -> u64 {
        self.raw().size()
    }

    /// The device's own handle.
    pub(crate) fn raw(&self) -> &wgpu::Buffer {
        self.raw
            .as_ref()
            .expect("a block keeps its buffer until it is dropped")
    }

    /// The pool that the block came from.
    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(raw) = self.raw.take() {
            self.pool.take_back(raw);
        }
    }
}

/// The size class of a request: an eighth of a power of two at the coarsest, so
/// that at most an eighth is wasted and near sizes share buffers.
fn class(len: u64) -> u64 {
    let len = len.max(SMALLEST);
    let step = (len.next_power_of_two() / 16).max(ALIGN);
    len.next_multiple_of(step)
}

fn gib(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 => format!("{:.2} GiB", b as f64 / (1u64 << 30) as f64),
        b if b >= 1 << 20 => format!("{:.1} MiB", b as f64 / (1u64 << 20) as f64),
        b => format!("{b} bytes"),
    }
}

impl Pool {
    /// An empty pool, with a limit in bytes if one is given.
    pub fn new(gpu: Arc<Gpu>, limit: Option<u64>) -> Arc<Pool> {
        let state = State {
            usage: Usage {
                limit,
                ..Usage::default()
            },
            ..State::default()
        };
        Arc::new(Pool {
            gpu,
            state: Mutex::new(state),
            staging: Mutex::default(),
        })
    }

    /// The device whose memory this is.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// A block of at least `len` bytes with unspecified contents.
    ///
    /// # Errors
    /// [`Fault::Memory`] over the device's largest buffer or over the limit,
    /// before anything is done; also when the driver has no memory left.
    pub fn alloc(self: &Arc<Self>, len: u64) -> Result<Block, Fault> {
        self.gpu.check()?;
        let largest = self.gpu.limits().max_buffer_size;
        if len > largest - largest % ALIGN {
            return Err(Fault::Memory(format!(
                "{} in one array is more than the device's largest buffer of {}; work on parts, \
                 or on a CPU context",
                gib(len),
                gib(largest)
            )));
        }
        let size = class(len).min(largest - largest % ALIGN);
        let reused = {
            let mut state = lock(&self.state);
            let used = state.usage.used + size;
            if let Some(limit) = state.usage.limit.filter(|limit| used > *limit) {
                return Err(Fault::Memory(format!(
                    "{} more would pass the context's limit of {} ({} in use); delete arrays or \
                     raise memory_limit",
                    gib(len),
                    gib(limit),
                    gib(state.usage.used)
                )));
            }
            let reused = state.free.get_mut(&size).and_then(Vec::pop);
            if reused.is_some() {
                state.usage.pooled -= size;
            } else if let Some(limit) = state.usage.limit
                && used + state.usage.pooled > limit
            {
                // The limit holds for what the process keeps, not only for arrays.
                state.free.clear();
                state.usage.pooled = 0;
            }
            state.usage.used = used;
            state.usage.peak = state.usage.peak.max(used);
            reused
        };
        let raw = match reused {
            Some(raw) => Ok(raw),
            None => self.create(size).or_else(|fault| match fault {
                Fault::Memory(_) => {
                    // Freed buffers are returned to the driver once their work is done.
                    self.release();
                    self.gpu.sync(&|| false)?;
                    self.create(size)
                }
                other => Err(other),
            }),
        };
        match raw {
            Ok(raw) => Ok(Block {
                pool: Arc::clone(self),
                raw: Some(raw),
                len,
            }),
            Err(fault) => {
                lock(&self.state).usage.used -= size;
                Err(match fault {
                    Fault::Memory(why) => Fault::Memory(format!("{} asked for: {why}", gib(len))),
                    other => other,
                })
            }
        }
    }

    fn create(&self, size: u64) -> Result<Owned<wgpu::Buffer>, Fault> {
        self.gpu.scoped(|| {
            Owned::new(self.gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage: wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_SRC
                    | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }))
        })
    }

    fn take_back(&self, raw: Owned<wgpu::Buffer>) {
        if self.gpu.check().is_err() {
            return;
        }
        let size = raw.size();
        let mut state = lock(&self.state);
        state.usage.used -= size;
        state.usage.pooled += size;
        // Queue order makes reuse safe while the device still works on the buffer.
        state.free.entry(size).or_default().push(raw);
    }

    /// What is held now.
    pub fn usage(&self) -> Usage {
        lock(&self.state).usage
    }

    /// Sets or lifts the limit on what arrays may hold.
    pub fn set_limit(&self, limit: Option<u64>) {
        lock(&self.state).usage.limit = limit;
    }

    /// Gives everything that is kept for reuse back to the driver.
    pub fn release(&self) {
        if crate::adapter::forked() {
            return;
        }
        let freed = {
            let mut state = lock(&self.state);
            state.usage.pooled = 0;
            std::mem::take(&mut state.free)
        };
        drop(freed);
        *lock(&self.staging) = None;
        if self.gpu.flush().is_ok() {
            // Dropped buffers are only freed inside a poll.
            let _ = self.gpu.device.poll(wgpu::PollType::Poll);
        }
    }

    /// Copies `bytes` into the block at `offset`.
    ///
    /// # Panics
    /// If the range does not lie in the block: the caller checked it.
    ///
    /// # Errors
    /// [`Fault::Lost`], [`Fault::Memory`] or [`Fault::Device`].
    pub fn write(&self, block: &Block, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.gpu.check()?;
        let end = offset + bytes.len() as u64;
        assert!(end <= block.len(), "write past the end of a block");
        if bytes.is_empty() {
            return Ok(());
        }
        // The device copies whole words: words at the edges that are only partly
        // written keep their other bytes, unless these lie past the end.
        let head = (offset.next_multiple_of(4) - offset).min(bytes.len() as u64);
        if head > 0 {
            self.write_edge(block, offset, &bytes[..head as usize])?;
        }
        let body = &bytes[head as usize..];
        let tail = if end == block.len() {
            0
        } else {
            body.len() % 4
        };
        let (body, rest) = body.split_at(body.len() - tail);
        let start = offset + head;
        for (i, chunk) in body.chunks(CHUNK as usize).enumerate() {
            self.upload(block, start + i as u64 * CHUNK, chunk)?;
        }
        if rest.is_empty() {
            Ok(())
        } else {
            self.write_edge(block, start + body.len() as u64, rest)
        }
    }

    /// A new block with the bytes `start..end` of another, copied on the device;
    /// `start` lies on a word.
    pub(crate) fn copy(
        self: &Arc<Self>,
        from: &Block,
        start: u64,
        end: u64,
    ) -> Result<Block, Fault> {
        let to = self.alloc(end - start)?;
        let size = (end - start).next_multiple_of(4);
        let commands = self.gpu.scoped(|| {
            let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(from.raw(), start, to.raw(), 0, size);
            encoder.finish()
        })?;
        self.gpu.submit(Some(commands))?;
        Ok(to)
    }

    fn write_edge(&self, block: &Block, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let word = offset - offset % 4;
        let mut old = [0; 4];
        self.download(block, word, &mut old)?;
        let at = (offset - word) as usize;
        old[at..at + bytes.len()].copy_from_slice(bytes);
        self.upload(block, word, &old)
    }

    /// One staged copy; a partial word at the end is padded with zeros.
    fn upload(&self, block: &Block, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let size = (bytes.len() as u64).next_multiple_of(4);
        let size = wgpu::BufferSize::new(size).expect("chunks are not empty");
        self.gpu.scoped(|| {
            let view = self.gpu.queue.write_buffer_with(block.raw(), offset, size);
            if let Some(mut view) = view {
                view.slice(..bytes.len()).copy_from_slice(bytes);
                if !bytes.len().is_multiple_of(4) {
                    let pad = size.get() as usize - bytes.len();
                    view.slice(bytes.len()..).copy_from_slice(&[0; 4][..pad]);
                }
            }
        })?;
        self.gpu.stage(size.get())
    }

    /// Copies bytes out of the block from `offset` on, after all work so far.
    ///
    /// # Panics
    /// If the range does not lie in the block: the caller checked it.
    ///
    /// # Errors
    /// [`Fault::Lost`], [`Fault::Memory`] or [`Fault::Device`].
    pub fn read(&self, block: &Block, offset: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.gpu.check()?;
        assert!(
            offset + out.len() as u64 <= block.len(),
            "read past the end of a block"
        );
        let mut at = offset;
        let mut rest = out;
        while !rest.is_empty() {
            // An odd start is read with the word it lies in.
            let skip = at % 4;
            let take = (rest.len() as u64).min(CHUNK - skip);
            let (now, later) = rest.split_at_mut(take as usize);
            self.download_from(block, at - skip, skip as usize, now)?;
            at += take;
            rest = later;
        }
        self.gpu.take_failure()
    }

    fn download(&self, block: &Block, offset: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.download_from(block, offset, 0, out)
    }

    fn download_from(
        &self,
        block: &Block,
        word: u64,
        skip: usize,
        out: &mut [u8],
    ) -> Result<(), Fault> {
        let gpu = &self.gpu;
        let size = (skip as u64 + out.len() as u64).next_multiple_of(4);
        let mut slot = lock(&self.staging);
        if slot.as_ref().is_none_or(|staging| staging.size() < size) {
            let staging = gpu.scoped(|| {
                Owned::new(gpu.device.create_buffer(&wgpu::BufferDescriptor {
                    label: None,
                    size: size.next_power_of_two().clamp(4096, CHUNK),
                    usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                }))
            })?;
            *slot = Some(staging);
        }
        let staging = slot.as_ref().expect("made above");
        let commands = gpu.scoped(|| {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(block.raw(), word, staging, 0, size);
            encoder.finish()
        })?;
        gpu.submit(Some(commands))?;
        let mapped = Arc::new(Mutex::new(None));
        let answer = Arc::clone(&mapped);
        let range = staging.slice(..size);
        gpu.scoped(|| {
            range.map_async(wgpu::MapMode::Read, move |result| {
                *lock(&answer) = Some(result.is_ok());
            });
        })?;
        gpu.wait(&|| lock(&mapped).is_some(), &|| false)?;
        if *lock(&mapped) != Some(true) {
            *slot = None;
            gpu.check()?;
            return Err(Fault::Device(
                "a staging buffer did not map for reading".to_owned(),
            ));
        }
        let copied = range
            .get_mapped_range()
            .map(|view| out.copy_from_slice(&view[skip..skip + out.len()]))
            .map_err(|e| Fault::Device(format!("{e:?}")));
        staging.unmap();
        copied
    }
}

//! The pipeline cache on disk, where the driver has one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::device::{Gpu, Owned};

/// In front of the driver's data: a mark, then a checksum of the rest.
const MARK: &[u8; 8] = b"rustarr1";

/// The driver's cache object and the file it came from.
#[derive(Debug, Default)]
pub(crate) struct DiskCache {
    cache: Option<Owned<wgpu::PipelineCache>>,
    path: Option<PathBuf>,
    grown: AtomicBool,
}

/// Checksum of a file's content (FNV-1a, 64 bits): finds cut or damaged files.
fn checksum(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The user's cache directory, if the environment names one.
fn directory() -> Option<PathBuf> {
    let var = |name| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    let base = var("RUSTARR_CACHE_DIR")
        .or_else(|| var("XDG_CACHE_HOME").map(|d| d.join("rustarr")))
        .or_else(|| var("LOCALAPPDATA").map(|d| d.join("rustarr")))
        .or_else(|| var("HOME").map(|d| d.join(".cache").join("rustarr")))?;
    Some(base)
}

/// The content of a cache file; `None` if it is absent, cut or damaged.
fn load(path: &Path) -> Option<Vec<u8>> {
    let content = std::fs::read(path).ok()?;
    let (head, data) = content.split_at_checked(16)?;
    let sum = checksum(data).to_le_bytes();
    (head[..8] == MARK[..] && head[8..] == sum).then(|| data.to_vec())
}

/// Replaces the file in one step, so that readers never see half of it.
fn store(path: &Path, data: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let mut file = std::fs::File::create(&part)?;
    file.write_all(MARK)?;
    file.write_all(&checksum(data).to_le_bytes())?;
    file.write_all(data)?;
    drop(file);
    std::fs::rename(&part, path)
}

impl DiskCache {
    /// The device's cache with what an earlier process left; without one where the
    /// driver or the environment has none.
    pub fn open(gpu: &Gpu) -> DiskCache {
        if !gpu
            .device
            .features()
            .contains(wgpu::Features::PIPELINE_CACHE)
        {
            return DiskCache::default();
        }
        let name = wgpu::util::pipeline_cache_key(&gpu.device.adapter_info());
        let path = directory()
            .zip(name)
            .map(|(folder, name)| folder.join(name));
        let data = path.as_deref().and_then(load);
        let made = gpu.scoped(|| {
            // SAFETY: the data came from `get_data` of a cache of the same adapter, as its
            // name and checksum say; `fallback` lets the driver refuse it.
            unsafe {
                gpu.device
                    .create_pipeline_cache(&wgpu::PipelineCacheDescriptor {
                        label: None,
                        data: data.as_deref(),
                        fallback: true,
                    })
            }
        });
        DiskCache {
            cache: made.ok().map(Owned::new),
            path,
            grown: AtomicBool::new(false),
        }
    }

    pub fn cache(&self) -> Option<&wgpu::PipelineCache> {
        self.cache.as_deref()
    }

    /// Notes that a pipeline was compiled.
    pub fn touch(&self) {
        self.grown.store(true, Ordering::Relaxed);
    }

    /// Writes the cache if pipelines came in since the last time. A cache that
    /// cannot be written costs time, never a result.
    pub fn save(&self) {
        if let (Some(cache), Some(path)) = (&self.cache, &self.path)
            && self.grown.swap(false, Ordering::Relaxed)
            && let Some(data) = cache.get_data()
        {
            let _ = store(path, &data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_are_ignored() {
        let folder = std::env::temp_dir().join(format!("rustarr-cache-{}", std::process::id()));
        let path = folder.join("key");
        store(&path, b"pipelines").unwrap();
        assert_eq!(load(&path).as_deref(), Some(&b"pipelines"[..]));
        let mut content = std::fs::read(&path).unwrap();
        content.pop();
        std::fs::write(&path, &content).unwrap();
        assert_eq!(load(&path), None, "a cut file is used");
        std::fs::write(&path, b"x").unwrap();
        assert_eq!(load(&path), None, "a short file is used");
        assert_eq!(load(&folder.join("absent")), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

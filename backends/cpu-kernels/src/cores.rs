//! Which cores this process may use, and how many threads a context takes by default.
//!
//! The default is the smallest of
//! * the number of cores in the affinity mask (`taskset`, cpusets),
//! * the cgroup CPU quota, rounded up,
//! * `OMP_NUM_THREADS`, of whose list form `4,2` the first number counts.
//!
//! `RUSTARR_NUM_THREADS` is the exact wish and takes the place of the last two; only the
//! affinity mask caps it. A variable that is set but empty counts as unset; any other
//! value that is not a positive whole number is a [`VariableError`].

use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// The variable that sets the default number of threads.
pub const NUM_THREADS: &str = "RUSTARR_NUM_THREADS";
/// The variable that caps the default number of threads.
pub const OMP_NUM_THREADS: &str = "OMP_NUM_THREADS";

/// An environment variable holds a value that is not a number of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableError {
    /// The variable's name.
    pub name: &'static str,
    /// What it holds.
    pub value: String,
}

impl fmt::Display for VariableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = match self.name {
            OMP_NUM_THREADS => ", or a list of them such as 4,2",
            _ => "",
        };
        write!(
            f,
            "the environment variable {}={:?} is not a number of threads: \
             set it to a whole number from 1 up{list}, or unset it",
            self.name, self.value
        )
    }
}

impl std::error::Error for VariableError {}

/// The number of threads that a context takes when its user names none.
///
/// # Errors
/// A [`VariableError`] when `RUSTARR_NUM_THREADS`, or else `OMP_NUM_THREADS`, holds no
/// positive whole number.
pub fn default_threads() -> Result<usize, VariableError> {
    threads_from(
        current_affinity().len(),
        cgroup_quota(Path::new("/")),
        std::env::var_os(NUM_THREADS),
        std::env::var_os(OMP_NUM_THREADS),
    )
}

/// The rule of [`default_threads`] on given facts.
fn threads_from(
    affinity: usize,
    quota: Option<usize>,
    wish: Option<OsString>,
    ceiling: Option<OsString>,
) -> Result<usize, VariableError> {
    let limit = match parse(NUM_THREADS, wish)? {
        Some(wish) => wish,
        None => {
            let ceiling = parse(OMP_NUM_THREADS, ceiling)?;
            quota
                .unwrap_or(usize::MAX)
                .min(ceiling.unwrap_or(usize::MAX))
        }
    };
    Ok(affinity.min(limit).max(1))
}

fn parse(name: &'static str, value: Option<OsString>) -> Result<Option<usize>, VariableError> {
    let Some(value) = value else { return Ok(None) };
    let text = value.to_string_lossy();
    if text.trim().is_empty() {
        return Ok(None);
    }
    let first = match name {
        OMP_NUM_THREADS => text.split(',').next().unwrap_or_default(),
        _ => &text,
    };
    match first.trim().parse::<usize>() {
        Ok(n) if n > 0 => Ok(Some(n)),
        _ => Err(VariableError {
            name,
            value: text.into_owned(),
        }),
    }
}

/// The CPU quota of this process's cgroup in cores, rounded up; `None` without one.
///
/// Reads `proc/self/cgroup` and `sys/fs/cgroup` under `root` (`/` outside tests): cgroup
/// v2's `cpu.max` and v1's `cpu.cfs_quota_us`, on the process's own path and on every
/// group above it, of which the smallest counts. Absent, empty or odd files set no limit.
pub fn cgroup_quota(root: &Path) -> Option<usize> {
    let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mount = root.join("sys/fs/cgroup");
    let mut quotas = Vec::new();
    for line in groups.lines() {
        // hierarchy-id:controllers:path; version 2 has no controllers.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        if controllers.is_empty() {
            for base in [mount.clone(), mount.join("unified")] {
                quotas.extend(ancestors(&base, path).filter_map(|dir| quota_v2(&dir)));
            }
        } else if controllers.split(',').any(|name| name == "cpu") {
            // One hierarchy, mounted under its list of controllers, a link to it, or both.
            for base in [mount.join(controllers), mount.join("cpu")] {
                quotas.extend(ancestors(&base, path).filter_map(|dir| quota_v1(&dir)));
            }
        }
    }
    quotas.into_iter().min()
}

/// `base/path` and the directories above it down to `base`. A path that leaves the mount
/// (`/../..`, seen from inside a cgroup namespace) is cut to what lies within it.
fn ancestors(base: &Path, path: &str) -> impl Iterator<Item = PathBuf> {
    let names: Vec<_> = Path::new(path)
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect();
    (0..=names.len())
        .rev()
        .map(move |n| base.join(names[..n].iter().collect::<PathBuf>()))
        .collect::<Vec<_>>()
        .into_iter()
}

fn quota_v2(dir: &Path) -> Option<usize> {
    let text = std::fs::read_to_string(dir.join("cpu.max")).ok()?;
    let mut fields = text.split_whitespace();
    let quota = fields.next()?.parse().ok()?;
    let period = match fields.next() {
        Some(period) => period.parse().ok()?,
        None => 100_000, // the kernel's default period
    };
    cores(quota, period)
}

fn quota_v1(dir: &Path) -> Option<usize> {
    let number = |file| -> Option<i64> {
        let text = std::fs::read_to_string(dir.join(file)).ok()?;
        text.trim().parse().ok()
    };
    cores(
        number("cpu.cfs_quota_us")?, // -1 without a quota
        number("cpu.cfs_period_us")?,
    )
}

fn cores(quota: i64, period: i64) -> Option<usize> {
    if quota <= 0 || period <= 0 {
        return None;
    }
    usize::try_from((quota as u64).div_ceil(period as u64)).ok()
}

/// The cores that the calling thread may run on, ascending; never empty.
#[cfg(target_os = "linux")]
pub fn current_affinity() -> Vec<usize> {
    const WORD: usize = usize::BITS as usize;
    // The kernel wants a mask as long as its own and does not say how long that is.
    for words in (4..16).map(|bits| 1usize << bits) {
        let mut mask = vec![0usize; words];
        // SAFETY: the kernel writes at most the given number of bytes into the mask.
        let rc =
            unsafe { libc::sched_getaffinity(0, size_of_val(&mask[..]), mask.as_mut_ptr().cast()) };
        if rc == 0 {
            let set = |core: &usize| mask[core / WORD] >> (core % WORD) & 1 == 1;
            let cores: Vec<usize> = (0..words * WORD).filter(set).collect();
            if !cores.is_empty() {
                return cores;
            }
        }
    }
    all_cores()
}

/// The cores that the calling thread may run on: all of them, on systems without
/// affinity masks.
#[cfg(not(target_os = "linux"))]
pub fn current_affinity() -> Vec<usize> {
    all_cores()
}

fn all_cores() -> Vec<usize> {
    (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
}

/// Binds the calling thread to `cores`; false when the system refuses.
#[cfg(target_os = "linux")]
pub(crate) fn bind(cores: &[usize]) -> bool {
    const WORD: usize = usize::BITS as usize;
    let last = cores.iter().copied().max().unwrap_or(0);
    let mut mask = vec![0usize; last / WORD + 1];
    for core in cores {
        mask[core / WORD] |= 1 << (core % WORD);
    }
    // SAFETY: the kernel reads exactly the given number of bytes from the mask.
    unsafe { libc::sched_setaffinity(0, size_of_val(&mask[..]), mask.as_ptr().cast()) == 0 }
}

/// Elsewhere a core list chooses the number of threads and binds nothing.
#[cfg(not(target_os = "linux"))]
pub(crate) fn bind(_cores: &[usize]) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files under a directory of its own, removed when dropped.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Tree {
            let root = std::env::temp_dir().join(format!("rustarr-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Tree(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn quota(name: &str, files: &[(&str, &str)]) -> Option<usize> {
        cgroup_quota(&Tree::new(name, files).0)
    }

    #[test]
    fn quota_of_cgroup_v2() {
        for (i, (text, expected)) in [
            ("150000 100000\n", Some(2)),
            ("100000 100000\n", Some(1)),
            ("100001 100000\n", Some(2)),
            ("1000 100000\n", Some(1)),
            ("250000\n", Some(3)),
            ("max 100000\n", None),
            ("max", None),
            ("", None),
            ("\n\n", None),
            ("0 100000", None),
            ("100000 0", None),
            ("-5 100000", None),
            ("many cores", None),
            ("99999999999999999999 1", None),
            ("9223372036854775807 9223372036854775807", Some(1)),
        ]
        .into_iter()
        .enumerate()
        {
            let files = [
                ("proc/self/cgroup", "0::/job.slice/run\n"),
                ("sys/fs/cgroup/job.slice/run/cpu.max", text),
            ];
            assert_eq!(quota(&format!("v2-{i}"), &files), expected, "{text:?}");
        }
    }

    #[test]
    fn smallest_quota_on_the_way_up_counts() {
        let files = [
            ("proc/self/cgroup", "0::/a/b/c\n"),
            ("sys/fs/cgroup/a/b/c/cpu.max", "max 100000"),
            ("sys/fs/cgroup/a/b/cpu.max", "300000 100000"),
            ("sys/fs/cgroup/a/cpu.max", "500000 100000"),
            ("sys/fs/cgroup/a/b/other/cpu.max", "100000 100000"),
        ];
        assert_eq!(quota("up", &files), Some(3));
    }

    #[test]
    fn the_path_comes_from_the_process() {
        // The root's own group is not the process's when the process sits elsewhere, but
        // in a container the path names nothing and the mount's root is the process's.
        let files = [
            ("proc/self/cgroup", "0::/docker/0123\n"),
            ("sys/fs/cgroup/cpu.max", "200000 100000"),
        ];
        assert_eq!(quota("docker", &files), Some(2));
        let files = [
            ("proc/self/cgroup", "0::/../../job\n"),
            ("sys/fs/cgroup/job/cpu.max", "200000 100000"),
        ];
        assert_eq!(quota("outside", &files), Some(2));
    }

    #[test]
    fn quota_of_cgroup_v1() {
        let tree = |cpu: &'static str, quota: &'static str, period: &'static str| {
            let path = |file: &str| format!("sys/fs/cgroup/{cpu}/batch/7/{file}");
            (
                path("cpu.cfs_quota_us"),
                quota,
                path("cpu.cfs_period_us"),
                period,
            )
        };
        for (i, (mount, q, p, expected)) in [
            ("cpu,cpuacct", "250000\n", "100000\n", Some(3)),
            ("cpu", "50000\n", "100000\n", Some(1)),
            ("cpu", "-1\n", "100000\n", None),
            ("cpu", "", "", None),
            ("cpu", "100000", "0", None),
        ]
        .into_iter()
        .enumerate()
        {
            let (quota_file, q, period_file, p) = tree(mount, q, p);
            let files = [
                (
                    "proc/self/cgroup",
                    "5:memory:/x\n4:cpu,cpuacct:/batch/7\n0::/\n",
                ),
                (quota_file.as_str(), q),
                (period_file.as_str(), p),
            ];
            assert_eq!(quota(&format!("v1-{i}"), &files), expected, "{mount} {q:?}");
        }
    }

    #[test]
    fn odd_trees_set_no_limit() {
        assert_eq!(quota("none", &[]), None);
        for (i, text) in ["", "\n", "0::", "nonsense", "1:cpu", "0::/x:y\n::\n"]
            .into_iter()
            .enumerate()
        {
            let files = [("proc/self/cgroup", text)];
            assert_eq!(quota(&format!("odd-{i}"), &files), None, "{text:?}");
        }
        // A directory where the file should be.
        let files = [
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/cpu.max/x", ""),
        ];
        assert_eq!(quota("dir", &files), None);
    }

    #[test]
    fn variables() {
        let threads = |quota, wish: Option<&str>, omp: Option<&str>| {
            threads_from(8, quota, wish.map(OsString::from), omp.map(OsString::from))
        };
        assert_eq!(threads(None, None, None), Ok(8));
        assert_eq!(threads(Some(3), None, None), Ok(3));
        assert_eq!(threads(Some(300), None, None), Ok(8));
        assert_eq!(threads(None, None, Some("4")), Ok(4));
        assert_eq!(threads(None, None, Some(" 4 , 2")), Ok(4));
        assert_eq!(threads(Some(2), None, Some("4,2")), Ok(2));
        assert_eq!(threads(None, None, Some("64")), Ok(8));
        assert_eq!(
            threads(Some(2), Some("6"), Some("4")),
            Ok(6),
            "the exact wish"
        );
        assert_eq!(threads(Some(2), Some("64"), None), Ok(8));
        assert_eq!(threads(Some(2), Some(""), Some(" ")), Ok(2), "as if unset");
        for bad in ["0", "-1", "two", "1.5", "4,2", "99999999999999999999999"] {
            let text = threads(None, Some(bad), None).unwrap_err().to_string();
            assert!(text.contains(NUM_THREADS) && text.contains(bad), "{text}");
            assert!(text.contains("whole number from 1 up"), "{text}");
        }
        for bad in ["0", "-1", "two", ",4"] {
            let text = threads(None, None, Some(bad)).unwrap_err().to_string();
            assert!(text.contains("OMP_NUM_THREADS") && text.contains("4,2"));
        }
    }

    #[test]
    fn affinity_is_ascending_and_not_empty() {
        let cores = current_affinity();
        assert!(!cores.is_empty() && cores.is_sorted());
        assert!(default_threads().is_ok_and(|n| n <= cores.len()));
    }
}

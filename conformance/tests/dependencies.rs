//! The arrows of the architecture: which crate may import which.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
        .to_owned()
}

/// The project's crates among the dependencies of a manifest, those for tests aside.
fn imports(folder: &str) -> BTreeSet<String> {
    let path = root().join(folder).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut found = BTreeSet::new();
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            let target = line.starts_with("[target.");
            inside = line.trim_matches(['[', ']']).ends_with("dependencies")
                && (!target || !line.contains("dev-"));
            inside &= line != "[dev-dependencies]";
        } else if inside && line.starts_with("rustarr") {
            let name = line.split(['=', '.', ' ']).next().expect("a name");
            found.insert(name.to_owned());
        }
    }
    found
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|n| n.to_string()).collect()
}

#[test]
fn imports_only_point_down() {
    let allowed: &[(&str, &[&str])] = &[
        ("backends/interface", &[]),
        ("shaders", &[]),
        ("array-api", &["rustarr-interface"]),
        ("backends/cpu-linalg", &["rustarr-interface"]),
        (
            "backends/cpu-kernels",
            &["rustarr-interface", "rustarr-cpu-linalg"],
        ),
        (
            "backends/serial",
            &["rustarr-interface", "rustarr-cpu-kernels"],
        ),
        (
            "backends/parallel",
            &["rustarr-interface", "rustarr-cpu-kernels"],
        ),
        ("backends/wgpu", &["rustarr-interface", "rustarr-shaders"]),
        (
            "backends",
            &[
                "rustarr",
                "rustarr-interface",
                "rustarr-serial",
                "rustarr-parallel",
                "rustarr-wgpu",
            ],
        ),
        ("python-bindings", &["rustarr", "rustarr-backends"]),
        (
            "conformance",
            &["rustarr", "rustarr-interface", "rustarr-backends"],
        ),
    ];
    for (folder, names) in allowed {
        let found = imports(folder);
        let extra: Vec<_> = found.difference(&set(names)).cloned().collect();
        assert!(extra.is_empty(), "{folder} imports {extra:?}");
    }
    // A crate that is not in the list has no place in the architecture yet.
    let workspace =
        std::fs::read_to_string(root().join("Cargo.toml")).expect("the workspace's manifest");
    let members = workspace
        .split("members = [")
        .nth(1)
        .and_then(|s| s.split(']').next())
        .expect("members");
    for member in members.lines().filter_map(|l| l.split('"').nth(1)) {
        assert!(
            allowed.iter().any(|(folder, _)| *folder == member),
            "{member} is not listed"
        );
    }
}

#[test]
fn the_reader_of_manifests_finds_what_is_there() {
    assert!(imports("array-api").contains("rustarr-interface"));
    assert!(imports("conformance").contains("rustarr-backends"));
    assert!(
        !imports("array-api").contains("rustarr-serial"),
        "dev-dependencies do not count"
    );
}

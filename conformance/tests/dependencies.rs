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
    // Every other crate of the workspace is a backend: it knows the boundary and its kernels or shaders, and only the
    // registry knows it.
    let below = set(&[
        "rustarr-interface",
        "rustarr-cpu-kernels",
        "rustarr-shaders",
    ]);
    let mut registered = set(&["rustarr", "rustarr-interface"]);
    for member in members() {
        if member == "backends" || allowed.iter().any(|(folder, _)| *folder == member) {
            continue;
        }
        let name = member.strip_prefix("backends/");
        let name = name.unwrap_or_else(|| panic!("{member} has no place in the architecture yet"));
        let extra: Vec<_> = imports(&member).difference(&below).cloned().collect();
        assert!(extra.is_empty(), "{member} imports {extra:?}");
        registered.insert(format!("rustarr-{name}"));
    }
    assert_eq!(imports("backends"), registered);
}

/// The folders of the workspace's crates.
fn members() -> Vec<String> {
    let workspace =
        std::fs::read_to_string(root().join("Cargo.toml")).expect("the workspace's manifest");
    let list = workspace
        .split("members = [")
        .nth(1)
        .and_then(|s| s.split(']').next())
        .expect("members");
    let names = list.lines().filter_map(|l| l.split('"').nth(1));
    names.map(str::to_owned).collect()
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

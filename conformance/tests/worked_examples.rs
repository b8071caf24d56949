//! The worked examples of CONTRIBUTING.md, done: their diffs are applied to a copy of the sources, whose suite must
//! then find the new operation and the new backend by itself, and pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const EXAMPLES: [&str; 2] = ["add-an-operation.diff", "add-a-backend.diff"];

fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().expect("the workspace").to_owned()
}

fn diff(name: &str) -> PathBuf {
    root().join("docs/examples").join(name)
}

/// The files that a build of the workspace reads, relative to it.
fn files(folder: &Path, under: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let name = entry.file_name();
        let skipped = name.to_string_lossy().starts_with('.')
            || ["target", "__pycache__"].iter().any(|n| name == *n);
        let path = under.join(&name);
        match entry.file_type().expect("its type") {
            _ if skipped => {}
            kind if kind.is_dir() => files(&entry.path(), &path, found),
            _ => {
                let known = ["rs", "toml", "lock", "wgsl", "md"];
                if path
                    .extension()
                    .is_some_and(|e| known.iter().any(|k| e == *k))
                {
                    found.insert(path);
                }
            }
        }
    }
}

/// Makes `to` hold what `from` holds. A file that does not change keeps its date, so that it is not compiled again.
fn mirror(from: &Path, to: &Path) {
    let mut wanted = BTreeSet::new();
    files(from, Path::new(""), &mut wanted);
    let mut present = BTreeSet::new();
    std::fs::create_dir_all(to).expect("a folder for the copy");
    files(to, Path::new(""), &mut present);
    for gone in present.difference(&wanted) {
        std::fs::remove_file(to.join(gone)).expect("a file that can be removed");
    }
    for file in wanted {
        let bytes = std::fs::read(from.join(&file)).expect("a source file");
        let copy = to.join(&file);
        if std::fs::read(&copy).is_ok_and(|old| old == bytes) {
            continue;
        }
        std::fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
        std::fs::write(copy, bytes).expect("a copy");
    }
}

/// Runs a command in `folder` and returns what it printed.
fn run(folder: &Path, command: &mut Command) -> String {
    let done = command.current_dir(folder).output();
    let done = done.unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
    let text = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?} failed:\n{text}");
    text.into_owned()
}

/// The places of the project that a diff touches.
fn places(name: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(diff(name)).expect("the example");
    let files = text.lines().filter_map(|l| l.strip_prefix("+++ b/"));
    files.map(str::to_owned).collect()
}

#[test]
fn an_operation_takes_three_files() {
    let three = [
        "backends/cpu-kernels/src/interp/apply.rs",
        "backends/interface/src/ops.rs",
        "conformance/suite/reference.rs",
    ];
    assert_eq!(places(EXAMPLES[0]), three.map(str::to_owned).into());
}

#[test]
fn a_backend_takes_a_folder_and_an_entry() {
    let outside: Vec<_> = places(EXAMPLES[1])
        .into_iter()
        .filter(|file| !file.starts_with("backends/twin/"))
        .collect();
    let entry = [
        "Cargo.toml",
        "backends/Cargo.toml",
        "backends/src/device.rs",
        "backends/src/lib.rs",
    ];
    assert_eq!(outside, entry);
}

#[test]
fn the_examples_work() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (patched, copy) = (scratch.join("patched"), scratch.join("worked-examples"));
    let _ = std::fs::remove_dir_all(&patched);
    mirror(&root(), &patched);
    for name in EXAMPLES {
        // A ceiling, so that the repository around the copy is not taken for the diff's.
        run(
            &patched,
            Command::new("git")
                .args(["apply", "--whitespace=error-all"])
                .arg(diff(name))
                .env("GIT_CEILING_DIRECTORIES", scratch),
        );
    }
    // Crates of another version: those of the same name and version would take the place of the project's own in the
    // target folder, which is shared so that their dependencies are not compiled again.
    let manifest = patched.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).expect("the workspace's manifest");
    let own = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert_eq!(text.matches(&own).count(), 1);
    std::fs::write(&manifest, text.replace(&own, "version = \"0.0.0-example\"")).expect("a write");
    mirror(&patched, &copy);
    let printed = run(
        &copy,
        Command::new(env!("CARGO"))
            .args(["test", "--offline", "--workspace"])
            .args([
                "--test",
                "operations",
                "--test",
                "dependencies",
                "--test",
                "three_places",
            ])
            .args([
                "--",
                "--nocapture",
                "special_values",
                "imports",
                "three_places",
            ])
            .env(
                "CARGO_TARGET_DIR",
                scratch.parent().expect("the target folder"),
            ),
    );
    for new in [
        "cpu-serial: cbrt of float64",
        "cpu-twin: add of int8",
        "cpu-twin: cbrt of float32",
    ] {
        assert!(printed.contains(new), "no {new} in\n{printed}");
    }
}

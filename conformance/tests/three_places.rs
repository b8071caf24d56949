//! Adding a unary function touches three places: its row in the operation table, its scalar body in the kernels and
//! its reference here. Nothing else lists operations by hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Tests, examples and benches show single operations; they need not know every one.
        let skipped = ["target", "tests", "benches", "examples", "docs"];
        if path.is_dir() && !name.starts_with('.') && !skipped.contains(&&*name) {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "wgsl") {
            found.push(path);
        }
    }
}

/// The code of a file: without its unit tests and its comments.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines()
        .map(|l| l.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

fn mentions(text: &str, word: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .filter(|(at, _)| {
            let before = text[..*at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
        .count()
}

/// Folders in which the operation's identifier occurs, with the files.
fn places(variant: &str) -> BTreeMap<String, Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace");
    let mut files = Vec::new();
    sources(root, &mut files);
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let text = code(&std::fs::read_to_string(&file).expect("a source file"));
        if mentions(&text, variant) > 0 {
            let path = file
                .strip_prefix(root)
                .expect("a file of the project")
                .to_string_lossy()
                .replace('\\', "/");
            let place = ["backends/interface", "backends/cpu-kernels", "conformance"]
                .into_iter()
                .find(|p| path.starts_with(p))
                .unwrap_or(&path);
            places.entry(place.to_owned()).or_default().push(path);
        }
    }
    places
}

/// The variant of an operation that no other code has a reason to name.
#[test]
fn a_unary_operation_is_written_down_in_three_places() {
    for variant in ["Log2", "Log10", "Expm1", "Atanh"] {
        let places = places(variant);
        let names: Vec<&str> = places.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["backends/cpu-kernels", "backends/interface", "conformance"],
            "{variant} is named in {places:#?}"
        );
        assert_eq!(
            places["backends/interface"],
            ["backends/interface/src/ops.rs"]
        );
        assert_eq!(places["conformance"], ["conformance/suite/reference.rs"]);
        assert_eq!(
            places["backends/cpu-kernels"].len(),
            1,
            "{variant}: {places:#?}"
        );
    }
}

#[test]
fn comments_and_tests_do_not_count() {
    assert_eq!(
        mentions(&code("Op::Log2 // Log2\n#[cfg(test)] Log2"), "Log2"),
        1
    );
    assert_eq!(mentions("Log2x Log2 xLog2 (Log2)", "Log2"), 2);
}

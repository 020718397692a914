//! The examples are what they say: rendering `after` against `before` gives `rendered`, byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set this to anything to accept what is rendered now; then read the diff.
const BLESS: &str = "ROLLOUT_BLESS";

#[test]
fn examples_render_to_what_is_committed() {
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut folders: Vec<_> = fs::read_dir(&examples).expect("examples").flatten().map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.join("after").is_dir());
    folders.sort();
    assert!(!folders.is_empty());
    for folder in folders {
        let is_built = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("kustomize-"));
        let Some(path) = crate::tools::search_path(if is_built { &["kubectl"] } else { &[] }) else { continue };
        let rendered = folder.join("rendered");
        let output = tempfile::tempdir().expect("a folder");
        let out = if std::env::var_os(BLESS).is_some() { rendered.clone() } else { output.path().join("rendered") };
        let command = Command::new(env!("CARGO_BIN_EXE_rollout"))
            .args(["render", "after", "--base-dir", "before", "--out"])
            .arg(&out)
            .env("PATH", path)
            .current_dir(&folder)
            .output()
            .expect("the program runs");
        assert!(command.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&command.stderr));
        let (now, committed) = (files_below(&out), files_below(&rendered));
        let names: BTreeSet<_> = now.keys().chain(committed.keys()).collect();
        let different: Vec<_> = names.into_iter().filter(|name| now.get(*name) != committed.get(*name)).collect();
        assert!(different.is_empty(), "{}: {different:?} differ; {BLESS}=1 accepts this", folder.display());
    }
}

fn files_below(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(&next).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").to_owned();
                files.insert(name, fs::read_to_string(&path).expect("text"));
            }
        }
    }
    files
}

//! What mutation begins with: what the other tests read.

use std::fs;
use std::path::{Path, PathBuf};

/// Larger files make slow inputs.
const LARGEST: usize = 24 << 10;

/// All files below a folder with their bytes, in order.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.extend(fs::read(&path).ok().filter(|bytes| bytes.len() <= LARGEST).map(|bytes| (path, bytes)));
        }
    }
    found
}

/// The bytes of the files below these folders of the repository whose names end so.
pub(crate) fn ending(folders: &[&str], endings: &[&str]) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = folders.iter().flat_map(|folder| files(&root.join(folder)));
    all.filter(|(path, _)| endings.iter().any(|ending| path.to_string_lossy().ends_with(ending))).map(|(_, bytes)| bytes).collect()
}

/// What begins a file in an input that is a whole repository.
const MARK: &str = "=== ";

/// Each folder of the examples as one input.
pub(crate) fn repositories() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut folders: Vec<PathBuf> = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path().join("after")).collect();
    folders.sort();
    folders.iter().map(|folder| repository(folder)).filter(|input| !input.is_empty() && input.len() <= LARGEST).collect()
}

fn repository(folder: &Path) -> Vec<u8> {
    let mut input = Vec::new();
    for (path, bytes) in files(folder) {
        let path = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        input.extend_from_slice(format!("{MARK}{path}\n").as_bytes());
        input.extend_from_slice(&bytes);
    }
    input
}

/// The files that such an input stands for.
pub(crate) fn split(input: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut split: Vec<(String, Vec<u8>)> = Vec::new();
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        match (line.strip_prefix(MARK.as_bytes()), split.last_mut()) {
            (Some(path), _) => split.push((String::from_utf8_lossy(path).trim().to_owned(), Vec::new())),
            (None, Some((_, bytes))) => bytes.extend_from_slice(line),
            (None, None) => {}
        }
    }
    split
}

/// The same as the items of a ResourceList.
pub(crate) fn resource_lists() -> Vec<Vec<u8>> {
    let list = |input: Vec<u8>| {
        let mut text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
        for (_, bytes) in split(&input) {
            for document in String::from_utf8_lossy(&bytes).split("---\n").filter(|document| document.contains("kind:")) {
                for (index, line) in document.lines().enumerate() {
                    text.push_str(if index == 0 { "- " } else { "  " });
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        text.into_bytes()
    };
    repositories().into_iter().map(list).collect()
}

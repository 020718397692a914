//! The files of one revision, whatever holds them. Paths are absolute, without `.` and `..`.

use std::fs;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// A revision's files.
pub trait Tree {
    /// What stands there; none when there is nothing, or nothing that can be read.
    fn kind(&self, path: &Utf8Path) -> Option<Kind>;
    /// A file's bytes.
    fn read(&self, path: &Utf8Path) -> Option<Vec<u8>>;
    /// Every file below a folder, by its absolute path. Empty where a build may take place in the folder itself.
    fn below(&self, folder: &Utf8Path) -> Vec<Utf8PathBuf>;
    /// Whether programs find the files at these paths; otherwise they are copied first.
    fn is_in_place(&self) -> bool;
}

/// The files as they are on disk.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

impl Tree for Disk {
    fn kind(&self, path: &Utf8Path) -> Option<Kind> {
        let metadata = fs::metadata(path).ok()?;
        if metadata.is_dir() { Some(Kind::Folder) } else { metadata.is_file().then_some(Kind::File) }
    }

    fn read(&self, path: &Utf8Path) -> Option<Vec<u8>> {
        (fs::metadata(path).ok()?.len() <= LARGEST).then(|| fs::read(path).ok())?
    }

    fn below(&self, _: &Utf8Path) -> Vec<Utf8PathBuf> {
        Vec::new()
    }

    fn is_in_place(&self) -> bool {
        true
    }
}

/// A longer file is nothing that a manifest is made from.
const LARGEST: u64 = 16 * 1024 * 1024;

/// `path` as seen from `folder`, without `.` and `..`.
pub(super) fn joined(folder: &Utf8Path, path: &str) -> Utf8PathBuf {
    normal(&folder.join(path))
}

/// The path without `.` and `..`, and without a slash at its end.
pub(super) fn normal(path: &Utf8Path) -> Utf8PathBuf {
    let mut normal = Utf8PathBuf::new();
    for component in path.components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => _ = normal.pop(),
            Utf8Component::Prefix(_) | Utf8Component::RootDir | Utf8Component::Normal(_) => normal.push(component),
        }
    }
    normal
}

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
    /// A symbolic link, or something behind one. It is never followed: it may lead to any file of the machine.
    Link,
}

/// Something below a folder that is no folder itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Below {
    /// A file, by its absolute path.
    File(Utf8PathBuf),
    /// A symbolic link, by its absolute path.
    Link(Utf8PathBuf),
}

/// A revision's files.
pub trait Tree {
    /// What stands there; none when there is nothing, or nothing that can be read.
    fn kind(&self, path: &Utf8Path) -> Option<Kind>;
    /// A file's bytes; none for what is not a [`Kind::File`].
    fn read(&self, path: &Utf8Path) -> Option<Vec<u8>>;
    /// Every file and link below a folder, sorted.
    fn below(&self, folder: &Utf8Path) -> Vec<Below>;
}

/// The files of a folder on disk. Nothing outside of it is seen, nothing of git's own folders, and nothing behind a link.
#[derive(Debug, Clone)]
pub struct Disk {
    top: Utf8PathBuf,
}

impl Disk {
    /// The files below `top`, an absolute path without links.
    pub fn new(top: Utf8PathBuf) -> Self {
        Self { top }
    }
}

impl Tree for Disk {
    fn kind(&self, path: &Utf8Path) -> Option<Kind> {
        let below = path.strip_prefix(&self.top).ok()?;
        if below.components().any(|part| is_of_git(part.as_str())) {
            return None;
        }
        let mut place = self.top.clone();
        let mut kind = Kind::Folder;
        for part in below.components() {
            place.push(part);
            kind = match fs::symlink_metadata(&place).ok()?.file_type() {
                found if found.is_symlink() => return Some(Kind::Link),
                found if found.is_dir() => Kind::Folder,
                found if found.is_file() => Kind::File,
                // A pipe or a device.
                _ => return None,
            };
        }
        Some(kind)
    }

    fn read(&self, path: &Utf8Path) -> Option<Vec<u8>> {
        let is_file = self.kind(path) == Some(Kind::File);
        (is_file && fs::metadata(path).ok()?.len() <= LARGEST).then(|| fs::read(path).ok())?
    }

    fn below(&self, folder: &Utf8Path) -> Vec<Below> {
        if self.kind(folder) != Some(Kind::Folder) {
            return Vec::new();
        }
        let walk = walkdir::WalkDir::new(folder).follow_links(false).into_iter();
        let entries = walk.filter_entry(|entry| entry.depth() == 0 || entry.file_name().to_str().is_none_or(|name| !is_of_git(name)));
        let found = |entry: walkdir::DirEntry| {
            let path = Utf8PathBuf::from_path_buf(entry.path().to_owned()).ok()?;
            match entry.file_type() {
                kind if kind.is_symlink() => Some(Below::Link(path)),
                kind if kind.is_file() => Some(Below::File(path)),
                _ => None,
            }
        };
        let mut below: Vec<Below> = entries.flatten().filter_map(found).collect();
        below.sort();
        below
    }
}

/// Whether a name is that of git's own folder, which holds credentials; some file systems do not tell the cases apart.
fn is_of_git(name: &str) -> bool {
    name.eq_ignore_ascii_case(".git")
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use camino::Utf8Path;

    use super::{Below, Disk, Kind, Tree};

    #[test]
    fn nothing_is_seen_behind_a_link_outside_or_in_the_folder_of_git() {
        let folder = tempfile::tempdir().unwrap();
        let outside = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
        let top = outside.join("top");
        fs::create_dir_all(top.join("chart/.git")).unwrap();
        for path in ["secret", "top/chart/a", "top/chart/.git/config"] {
            fs::write(outside.join(path), "x").unwrap();
        }
        symlink("../../secret", top.join("chart/file")).unwrap();
        symlink("chart", top.join("folder")).unwrap();
        symlink("nowhere", top.join("broken")).unwrap();
        let disk = Disk::new(top.clone());
        for (path, kind) in [
            ("chart", Some(Kind::Folder)),
            ("chart/a", Some(Kind::File)),
            ("chart/file", Some(Kind::Link)),
            ("folder/a", Some(Kind::Link)),
            ("broken", Some(Kind::Link)),
            ("chart/.git/config", None),
            ("gone", None),
        ] {
            assert_eq!(disk.kind(&top.join(path)), kind, "{path}");
            assert_eq!(disk.read(&top.join(path)).is_some(), kind == Some(Kind::File), "{path}");
        }
        assert_eq!(disk.kind(&outside.join("secret")), None);
        assert_eq!(disk.below(&top.join("chart")), [Below::File(top.join("chart/a")), Below::Link(top.join("chart/file"))]);
        assert_eq!(disk.below(&top.join("folder")), []);
    }
}

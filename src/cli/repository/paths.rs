//! Paths as they are written.

use std::path::Path;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::cli::Failure;

/// A path below a folder; the empty folder is the root.
pub(in crate::cli) fn joined(folder: &str, below: &str) -> String {
    [folder, below].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

/// A folder's name as text.
pub(super) fn utf8(path: &Path) -> Result<Utf8PathBuf, Failure> {
    Utf8PathBuf::from_path_buf(path.to_owned()).map_err(|path| format!("the name of the folder {} is not UTF-8", path.display()).into())
}

/// The path without `.` and `..`, and without a slash at its end; links are left alone.
pub(in crate::cli) fn normal(path: &Utf8Path) -> Utf8PathBuf {
    let mut normal = Utf8PathBuf::new();
    for component in path.components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => {
                normal.pop();
            }
            Utf8Component::Prefix(_) | Utf8Component::RootDir | Utf8Component::Normal(_) => normal.push(component),
        }
    }
    normal
}

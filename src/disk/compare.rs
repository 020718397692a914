//! Is the tree on disk the one that would be written?

use std::fs;
use std::io;

use camino::Utf8Path;

use super::error::DiskError;
use super::former::{self, Former};
use super::write::checked;
use crate::files::Files;

/// A file that is not as the tree wants it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stale {
    /// Relative to the root of the tree.
    pub path: String,
    /// What is wrong with it.
    pub difference: Difference,
}

/// How a file differs from the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// It is not there.
    Missing,
    /// It has other content, or is no regular file.
    Different,
    /// It belongs to no plan any more.
    Extra,
}

/// Returns all that [`write_tree`](super::write_tree) would change, sorted by path; nothing is written.
///
/// # Errors
/// When a file cannot be read, so that there is no answer.
pub fn compare_tree(root: &Utf8Path, files: &Files, is_stale: &dyn Fn(&Former) -> bool) -> Result<Vec<Stale>, DiskError> {
    let mut stale = Vec::new();
    for (path, bytes) in files.iter() {
        let difference = difference(&root.join(checked(path)?), bytes)?;
        stale.extend(difference.map(|difference| Stale { path: path.to_owned(), difference }));
    }
    let extra = former::stale(root, files, is_stale)?;
    stale.extend(extra.into_iter().map(|path| Stale { path, difference: Difference::Extra }));
    stale.sort();
    Ok(stale)
}

/// Returns how the file differs from these bytes, if it does. A link is different, whatever it names.
pub(super) fn difference(path: &Utf8Path, bytes: &[u8]) -> Result<Option<Difference>, DiskError> {
    let failed = |source| DiskError::Read { path: path.to_owned(), source };
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Some(Difference::Missing));
        }
        Err(source) => return Err(failed(source)),
    };
    if !metadata.is_file() || metadata.len() != bytes.len() as u64 {
        return Ok(Some(Difference::Different));
    }
    let is_equal = fs::read(path).map_err(failed)? == bytes;
    Ok((!is_equal).then_some(Difference::Different))
}

//! What differs between a commit and the working tree.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{Delta, DiffOptions, IndexEntryExtendedFlag};

use super::base::Base;
use super::error::GitError;
use super::repository::Repository;
use crate::files::Files;

/// The mark of files that a sparse checkout leaves out.
const SKIP_WORKTREE: u16 = IndexEntryExtendedFlag::SKIP_WORKTREE.bits();

/// How to get from the working tree back to a commit. Paths are relative to the prefix asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that are different or gone now, as the commit has them. A renamed file is one gone and one new.
    pub changed: Files,
    /// Files that are there now and were not in the commit: staged and untracked ones too, git-ignored ones not.
    pub removed: BTreeSet<String>,
}

impl Changes {
    /// Returns whether the working tree is as the commit was.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }

    /// Returns every path with a difference.
    pub fn paths(&self) -> BTreeSet<&str> {
        self.changed.iter().map(|(path, _)| path).chain(self.removed.iter().map(String::as_str)).collect()
    }
}

impl Repository {
    /// Returns what differs below a folder (its path below the root, empty for all), committed, staged or not. Only
    /// files whose path, relative to the folder, is wanted count. A file changed in the index and changed back in the
    /// working tree counts, with the text that it has.
    ///
    /// # Errors
    /// When the commit, the index or the working tree cannot be read.
    pub fn changes_since(&self, base: &Base, prefix: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Changes, GitError> {
        let tree = self.tree(base)?;
        let mut options = DiffOptions::new();
        options
            .include_untracked(true)
            .recurse_untracked_dirs(true)
            .include_typechange(true)
            .ignore_submodules(true)
            .skip_binary_check(true)
            .disable_pathspec_match(true)
            .context_lines(0);
        if !prefix.is_empty() {
            options.pathspec(prefix);
        }
        let diff = self.git.diff_tree_to_workdir_with_index(Some(&tree), Some(&mut options));
        let diff = diff.map_err(|source| self.unreadable("the changes of the working tree", source))?;
        let index = self.git.index().map_err(|source| self.unreadable("the index", source))?;
        let is_left_out = |path: &Path| index.get_path(path, 0).is_some_and(|entry| entry.flags_extended & SKIP_WORKTREE != 0);
        let mut changes = Changes::default();
        for delta in diff.deltas() {
            let file = if delta.status() == Delta::Deleted { delta.old_file() } else { delta.new_file() };
            // A name that is not UTF-8 is no manifest's, and is told where the folder is read.
            let Some(path) = file.path().and_then(|path| path.to_str()).and_then(|path| below(path, prefix)) else { continue };
            if !is_wanted(path) {
                continue;
            }
            // A sparse checkout leaves files out on both sides: they were not deleted.
            if delta.status() == Delta::Deleted && file.path().is_some_and(is_left_out) {
                continue;
            }
            let old = delta.old_file();
            if is_regular(&old) {
                let blob = self.git.find_blob(old.id()).map_err(|source| self.unreadable(path, source))?;
                changes.changed.insert(path, blob.content());
            } else {
                changes.removed.insert(path.to_owned());
            }
        }
        Ok(changes)
    }
}

impl Repository {
    /// Returns the regular files that git tracks below a folder (its path below the root, empty for all), relative to it and
    /// sorted, as far as they are wanted: whatever `.gitignore` says, and wherever it stands. Files that a sparse checkout leaves out are
    /// none.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn tracked(&self, prefix: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<String>, GitError> {
        let index = self.git.index().map_err(|source| self.unreadable("the index", source))?;
        let is_there = |entry: &git2::IndexEntry| entry.mode & 0o170_000 == 0o100_000 && entry.flags_extended & SKIP_WORKTREE == 0;
        let path = |entry: git2::IndexEntry| below(std::str::from_utf8(&entry.path).ok()?, prefix).map(str::to_owned);
        Ok(index.iter().filter(is_there).filter_map(path).filter(|path| is_wanted(path)).collect())
    }
}

/// Links and submodules are not read from the working tree, so they were not there in the commit either.
fn is_regular(file: &git2::DiffFile<'_>) -> bool {
    file.exists() && matches!(file.mode(), git2::FileMode::Blob | git2::FileMode::BlobExecutable | git2::FileMode::BlobGroupWritable)
}

fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    match prefix.trim_end_matches('/') {
        "" => Some(path),
        prefix => path.strip_prefix(prefix)?.strip_prefix('/'),
    }
}

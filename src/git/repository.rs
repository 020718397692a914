//! A repository found, and the files of its commits.

use std::collections::BTreeMap;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use git2::{ErrorClass, ErrorCode, ObjectType, RepositoryOpenFlags};

use super::base::Base;
use super::error::GitError;

/// A git repository with a working tree.
pub struct Repository {
    pub(super) git: git2::Repository,
    pub(super) root: Utf8PathBuf,
}

impl Repository {
    /// Finds the repository that a folder or file lies in. None: it lies in none, or in one without a working tree.
    ///
    /// Only `.git` counts, in the folder or above it, as with git's `safe.bareRepository=explicit`: a folder that looks like a
    /// repository without a working tree may be plain files of a commit, with a configuration of whoever wrote them.
    ///
    /// # Errors
    /// When there is one that cannot be read, or that belongs to another user.
    pub fn discover(path: &Utf8Path) -> Result<Option<Repository>, GitError> {
        // Where `deploy` is a link, the folders above are those of what it names.
        let path = path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
        for folder in path.ancestors() {
            if let Some(git) = opened(folder)? {
                let root = git.workdir().and_then(Utf8Path::from_path);
                let root = root.map(|root| Utf8PathBuf::from(root.as_str().trim_end_matches('/')));
                return Ok(root.map(|root| Repository { git, root }));
            }
        }
        Ok(None)
    }

    /// The folder of the working tree, absolute.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Returns a folder's path below the root: empty for the root itself, None outside of it.
    pub fn prefix_of(&self, path: &Utf8Path) -> Option<String> {
        let root = self.root.canonicalize_utf8().ok()?;
        let path = path.canonicalize_utf8().ok()?;
        path.strip_prefix(root).ok().map(|below| below.as_str().to_owned())
    }

    /// Returns a path's place below the root, whether or not there is anything yet: empty for the root itself, None
    /// outside of it.
    pub fn place_of(&self, path: &Utf8Path) -> Option<String> {
        let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
        let below = self.prefix_of(existing)?;
        let rest = path.strip_prefix(existing).ok()?.as_str();
        Some([below.as_str(), rest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"))
    }

    /// Reads a file of a commit; its path is relative to the root. None: there is no such file.
    ///
    /// # Errors
    /// When the commit or the file is missing from the repository or damaged.
    pub fn read_at(&self, base: &Base, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let tree = self.tree(base)?;
        let entry = match tree.get_path(std::path::Path::new(path)) {
            Ok(entry) => entry,
            Err(error) if error.code() == ErrorCode::NotFound && error.class() == ErrorClass::Tree => return Ok(None),
            Err(source) => return Err(self.unreadable(path, source)),
        };
        if entry.kind() != Some(ObjectType::Blob) {
            return Ok(None);
        }
        let blob = self.git.find_blob(entry.id()).map_err(|source| self.unreadable(path, source))?;
        Ok(Some(blob.content().to_vec()))
    }

    /// Returns what stands at a path of a commit, relative to the root. None: there is nothing, or a submodule.
    ///
    /// # Errors
    /// When the commit is missing from the repository or damaged.
    pub fn entry_at(&self, base: &Base, path: &str) -> Result<Option<Entry>, GitError> {
        if path.is_empty() {
            return Ok(Some(Entry::Folder));
        }
        match self.tree(base)?.get_path(std::path::Path::new(path)) {
            Ok(entry) => Ok(Entry::of(&entry)),
            Err(error) if error.code() == ErrorCode::NotFound && error.class() == ErrorClass::Tree => Ok(None),
            Err(source) => Err(self.unreadable(path, source)),
        }
    }

    /// Lists every file and link of a commit below a folder, by its path below the root. Submodules are left out.
    ///
    /// # Errors
    /// When the commit or a folder is missing from the repository or damaged.
    pub fn entries_at(&self, base: &Base, folder: &str) -> Result<BTreeMap<String, Entry>, GitError> {
        let root = self.tree(base)?;
        let tree = if folder.is_empty() {
            root
        } else {
            let entry = root.get_path(std::path::Path::new(folder)).map_err(|source| self.unreadable(folder, source))?;
            self.git.find_tree(entry.id()).map_err(|source| self.unreadable(folder, source))?
        };
        let mut entries = BTreeMap::new();
        let walked = tree.walk(git2::TreeWalkMode::PreOrder, |parent, entry| {
            let kind = Entry::of(entry).filter(|kind| *kind != Entry::Folder);
            if let (Ok(parent), Ok(name), Some(kind)) = (std::str::from_utf8(parent.as_bytes()), entry.name(), kind) {
                let below = format!("{parent}{name}");
                entries.insert(if folder.is_empty() { below } else { format!("{folder}/{below}") }, kind);
            }
            git2::TreeWalkResult::Ok
        });
        walked.map_err(|source| self.unreadable(folder, source))?;
        Ok(entries)
    }

    pub(super) fn tree(&self, base: &Base) -> Result<git2::Tree<'_>, GitError> {
        let commit = self.git.find_commit(base.id);
        commit.and_then(|commit| commit.tree()).map_err(|source| self.unreadable(&base.id.to_string(), source))
    }

    pub(super) fn unreadable(&self, what: &str, source: git2::Error) -> GitError {
        GitError::Read { what: what.to_owned(), root: self.root.clone(), source }
    }
}

/// What stands at a path of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A folder.
    Folder,
    /// A regular file, executable or not.
    File,
    /// A symbolic link.
    Link,
}

impl Entry {
    fn of(entry: &git2::TreeEntry<'_>) -> Option<Self> {
        match (entry.kind(), entry.filemode()) {
            (Some(ObjectType::Tree), _) => Some(Self::Folder),
            (Some(ObjectType::Blob), 0o100_644 | 0o100_755 | 0o100_664) => Some(Self::File),
            (Some(ObjectType::Blob), 0o120_000) => Some(Self::Link),
            _ => None,
        }
    }
}

/// The repository whose working tree is this folder.
fn opened(folder: &Utf8Path) -> Result<Option<git2::Repository>, GitError> {
    let place = folder.join(".git");
    if fs::symlink_metadata(&place).is_err() {
        return Ok(None);
    }
    let no_ceiling: [&str; 0] = [];
    let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT | RepositoryOpenFlags::CROSS_FS;
    match git2::Repository::open_ext(&place, flags, no_ceiling) {
        Ok(git) => Ok(Some(git)),
        Err(error) if error.code() == ErrorCode::NotFound && error.class() == ErrorClass::Repository => Ok(None),
        Err(error) => Err(refused(folder, error)),
    }
}

fn refused(path: &Utf8Path, source: git2::Error) -> GitError {
    let message = source.message();
    if source.code() == ErrorCode::Owner {
        // The message quotes the folder that git would have to trust, which may lie above the one we were given.
        let root = message.split('\'').nth(1).unwrap_or(path.as_str()).trim_end_matches('/');
        return GitError::Owner { root: root.into() };
    }
    if message.contains("extensions.partialclone") {
        return GitError::Partial { path: path.to_owned() };
    }
    GitError::Open { path: path.to_owned(), source }
}

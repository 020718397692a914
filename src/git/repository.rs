//! A repository found, and the files of its commits.

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
    /// # Errors
    /// When there is one that cannot be read, or that belongs to another user.
    pub fn discover(path: &Utf8Path) -> Result<Option<Repository>, GitError> {
        let no_ceiling: [&str; 0] = [];
        let git = match git2::Repository::open_ext(path, RepositoryOpenFlags::CROSS_FS, no_ceiling) {
            Ok(git) => git,
            Err(error) if error.code() == ErrorCode::NotFound && error.class() == ErrorClass::Repository => return Ok(None),
            Err(error) => return Err(refused(path, error)),
        };
        let root = git.workdir().and_then(Utf8Path::from_path).map(|root| Utf8PathBuf::from(root.as_str().trim_end_matches('/')));
        Ok(root.map(|root| Repository { git, root }))
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

    /// Returns whether a path of a commit, relative to the root, is a folder. None: there is nothing, or a link.
    ///
    /// # Errors
    /// When the commit is missing from the repository or damaged.
    pub fn is_folder_at(&self, base: &Base, path: &str) -> Result<Option<bool>, GitError> {
        if path.is_empty() {
            return Ok(Some(true));
        }
        match self.tree(base)?.get_path(std::path::Path::new(path)) {
            Ok(entry) => Ok(match entry.kind() {
                Some(ObjectType::Tree) => Some(true),
                Some(ObjectType::Blob) if is_file(entry.filemode()) => Some(false),
                _ => None,
            }),
            Err(error) if error.code() == ErrorCode::NotFound && error.class() == ErrorClass::Tree => Ok(None),
            Err(source) => Err(self.unreadable(path, source)),
        }
    }

    /// Lists every file of a commit below a folder, by its path below the root, sorted. Links and submodules are left out.
    ///
    /// # Errors
    /// When the commit or a folder is missing from the repository or damaged.
    pub fn files_at(&self, base: &Base, folder: &str) -> Result<Vec<String>, GitError> {
        let root = self.tree(base)?;
        let tree = if folder.is_empty() {
            root
        } else {
            let entry = root.get_path(std::path::Path::new(folder)).map_err(|source| self.unreadable(folder, source))?;
            self.git.find_tree(entry.id()).map_err(|source| self.unreadable(folder, source))?
        };
        let mut files = Vec::new();
        let walked = tree.walk(git2::TreeWalkMode::PreOrder, |parent, entry| {
            if let (Ok(parent), Some(name), true) = (std::str::from_utf8(parent.as_bytes()), entry.name().ok(), is_file(entry.filemode())) {
                let below = format!("{parent}{name}");
                files.push(if folder.is_empty() { below } else { format!("{folder}/{below}") });
            }
            git2::TreeWalkResult::Ok
        });
        walked.map_err(|source| self.unreadable(folder, source))?;
        files.sort();
        Ok(files)
    }

    pub(super) fn tree(&self, base: &Base) -> Result<git2::Tree<'_>, GitError> {
        let commit = self.git.find_commit(base.id);
        commit.and_then(|commit| commit.tree()).map_err(|source| self.unreadable(&base.id.to_string(), source))
    }

    pub(super) fn unreadable(&self, what: &str, source: git2::Error) -> GitError {
        GitError::Read { what: what.to_owned(), root: self.root.clone(), source }
    }
}

/// Regular files, executable or not.
fn is_file(mode: i32) -> bool {
    matches!(mode, 0o100_644 | 0o100_755 | 0o100_664)
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

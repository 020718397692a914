//! Commits made from values: no work tree, no index, and the same commit for the same files.

use std::collections::BTreeSet;
use std::path::Path;

use git2::build::TreeUpdateBuilder;
use git2::{ErrorClass, ErrorCode, FileMode, IndexEntry, IndexTime, ObjectType, Oid, Signature, TreeWalkMode, TreeWalkResult};

use super::base::Base;
use super::branch::Branch;
use super::error::GitError;
use super::repository::Repository;
use super::source::Source;
use crate::files::Files;

/// Who commits where git knows no user.
const NOBODY: (&str, &str) = ("rollout", "noreply@rollout.dev");

/// The mode of a file in the index.
const REGULAR: u32 = 0o100_644;

/// What a commit changes; paths are relative to the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// New and changed files.
    pub written: Files,
    /// Files that go.
    pub removed: BTreeSet<String>,
    /// The whole message.
    pub message: String,
}

/// A commit that lies in the repository; no branch leads to it yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit(pub(super) Oid);

impl Commit {
    /// The full id.
    pub fn id(self) -> String {
        self.0.to_string()
    }
}

impl Repository {
    /// Returns the files that a commit does not have like this. Without a commit: all.
    ///
    /// # Errors
    /// When the commit cannot be read.
    pub fn differing(&self, at: Option<&Base>, files: &Files) -> Result<Files, GitError> {
        let Some(base) = at else { return Ok(files.clone()) };
        let tree = self.tree(base)?;
        let mut differing = Files::default();
        for (path, bytes) in files.iter() {
            let id = Oid::hash_object(ObjectType::Blob, bytes).map_err(|source| self.unreadable(path, source))?;
            let is_there = match tree.get_path(Path::new(path)) {
                Ok(entry) => entry.id() == id && entry.filemode() != i32::from(FileMode::Link),
                Err(error) if error.code() == ErrorCode::NotFound && error.class() == ErrorClass::Tree => false,
                Err(source) => return Err(self.unreadable(path, source)),
            };
            if !is_there {
                differing.insert(path, bytes.clone());
            }
        }
        Ok(differing)
    }

    /// Returns the paths of a commit's files below a folder, relative to it; the empty folder is the root.
    ///
    /// # Errors
    /// When the commit cannot be read.
    pub fn listing(&self, at: &Base, folder: &str) -> Result<BTreeSet<String>, GitError> {
        let failed = |source| self.unreadable(folder, source);
        let mut tree = self.tree(at)?;
        if !folder.is_empty() {
            let entry = match tree.get_path(Path::new(folder)) {
                Ok(entry) if entry.kind() == Some(ObjectType::Tree) => entry,
                Ok(_) => return Ok(BTreeSet::new()),
                Err(error) if error.code() == ErrorCode::NotFound && error.class() == ErrorClass::Tree => return Ok(BTreeSet::new()),
                Err(source) => return Err(failed(source)),
            };
            tree = self.git.find_tree(entry.id()).map_err(failed)?;
        }
        let mut paths = BTreeSet::new();
        let walked = tree.walk(TreeWalkMode::PreOrder, |above, entry| {
            if let (Ok(name), true) = (entry.name(), entry.kind() == Some(ObjectType::Blob)) {
                paths.insert(format!("{above}{name}"));
            }
            TreeWalkResult::Ok
        });
        walked.map_err(failed)?;
        Ok(paths)
    }

    /// Writes the commit that follows the branch's tip. The branch stays where it is until [`Repository::advance`].
    ///
    /// Its dates are the source's, and who commits is git's user, else one that never changes: the same draft on the
    /// same tip gives the same commit.
    ///
    /// # Errors
    /// When the tip has something else in a file's place, or the repository cannot be written.
    pub fn commit(&self, branch: &Branch, source: &Source, draft: &Draft) -> Result<Commit, GitError> {
        let failed = |source| GitError::Write { what: "an object", root: self.root.clone(), source };
        let before = if let Some(tip) = branch.tip() {
            self.tree(&tip)?
        } else {
            let empty = self.git.treebuilder(None).and_then(|builder| builder.write()).map_err(failed)?;
            self.git.find_tree(empty).map_err(failed)?
        };
        let mut update = TreeUpdateBuilder::new();
        for (path, bytes) in draft.written.iter() {
            ensure_free(&before, path, branch)?;
            update.upsert(path, self.git.blob(bytes).map_err(failed)?, FileMode::Blob);
        }
        for path in &draft.removed {
            update.remove(path.as_str());
        }
        let tree = update.create_updated(&self.git, &before).and_then(|id| self.git.find_tree(id)).map_err(failed)?;
        let author = self.author(source).map_err(failed)?;
        let parent = branch.parent.map(|id| self.git.find_commit(id)).transpose().map_err(failed)?;
        let parents: Vec<_> = parent.iter().collect();
        self.git.commit(None, &author, &author, &draft.message, &tree, &parents).map(Commit).map_err(failed)
    }

    /// Moves the branch to a commit, if it still stands where it was when it was looked at.
    ///
    /// # Errors
    /// [`GitError::Moved`] when it does not.
    pub fn advance(&self, branch: &Branch, commit: Commit) -> Result<(), GitError> {
        let (reference, log) = (branch.reference(), "commit: rollout render");
        let moved = match branch.local {
            Some(local) if local == commit.0 => return Ok(()),
            Some(local) => self.git.reference_matching(&reference, commit.0, true, local, log),
            None => self.git.reference(&reference, commit.0, false, log),
        };
        match moved {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.code(), ErrorCode::Modified | ErrorCode::Exists | ErrorCode::NotFound | ErrorCode::Locked) => {
                Err(GitError::Moved { name: branch.name.clone() })
            }
            Err(source) => Err(GitError::Write { what: "a branch", root: self.root.clone(), source }),
        }
    }

    /// Makes the index hold these files and not the removed ones; everything else in it stays.
    ///
    /// # Errors
    /// When the index cannot be read or is locked by another git command.
    pub fn stage(&self, files: &Files, removed: &BTreeSet<String>) -> Result<(), GitError> {
        let failed = |source| GitError::Write { what: "the index", root: self.root.clone(), source };
        let mut index = self.git.index().map_err(failed)?;
        index.read(true).map_err(failed)?;
        for (path, bytes) in files.iter() {
            let id = Oid::hash_object(ObjectType::Blob, bytes).map_err(failed)?;
            if index.get_path(Path::new(path), 0).is_none_or(|entry| entry.id != id) {
                index.add(&entry(path, id)).map_err(failed)?;
            }
        }
        for path in removed {
            index.remove_path(Path::new(path)).map_err(failed)?;
        }
        index.write().map_err(failed)
    }

    fn author(&self, source: &Source) -> Result<Signature<'static>, git2::Error> {
        let user = self.git.signature().ok();
        let names = user.as_ref().and_then(|user| Some((user.name().ok()?, user.email().ok()?)));
        let (name, email) = names.unwrap_or(NOBODY);
        Signature::new(name, email, &source.time)
    }
}

/// Finds what stands in a file's way: a file where one of its folders must be, or a folder in its own place.
fn ensure_free(tree: &git2::Tree<'_>, path: &str, branch: &Branch) -> Result<(), GitError> {
    let found_at = |path: &str| tree.get_path(Path::new(path)).ok().and_then(|entry| entry.kind());
    let in_the_way = |path: &str, found| Err(GitError::InTheWay { path: path.to_owned(), branch: branch.name.clone(), found });
    for (end, _) in path.match_indices('/') {
        match found_at(&path[..end]) {
            None => return Ok(()),
            Some(ObjectType::Tree) => {}
            Some(_) => return in_the_way(&path[..end], "a file"),
        }
    }
    if found_at(path) == Some(ObjectType::Tree) { in_the_way(path, "a folder") } else { Ok(()) }
}

/// An entry without what the file system says: git looks for itself the next time.
fn entry(path: &str, id: Oid) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode: REGULAR,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

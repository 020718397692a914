//! The branch that commits go to.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use git2::{ErrorCode, Oid, RepositoryState};

use super::base::Base;
use super::commit::Commit;
use super::error::GitError;
use super::repository::Repository;

/// A branch, and where it stood when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    pub(super) name: String,
    /// The commit that the next one follows; none for a branch that begins.
    pub(super) parent: Option<Oid>,
    /// Where the branch itself stands in this repository, which may be behind `parent`, or nowhere yet.
    pub(super) local: Option<Oid>,
    is_checked_out: bool,
}

impl Branch {
    /// The name, without `refs/heads/`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The commit that the next one follows. None: the branch begins with it.
    pub fn tip(&self) -> Option<Base> {
        self.parent.map(|id| Base::new(id, self.name.clone()))
    }

    /// The same as something that can be pushed.
    pub fn commit(&self) -> Option<Commit> {
        self.parent.map(Commit)
    }

    /// Whether the work tree shows this branch, so that index and files have to follow it.
    pub fn is_checked_out(&self) -> bool {
        self.is_checked_out
    }

    pub(super) fn reference(&self) -> String {
        reference(&self.name)
    }
}

impl Repository {
    /// Returns the branch that is checked out.
    ///
    /// # Errors
    /// When HEAD is detached, has no commit, or a merge or the like is under way.
    pub fn current_branch(&self) -> Result<Branch, GitError> {
        let head = match self.git.head() {
            Ok(head) => head,
            Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => {
                return Err(GitError::Unborn { root: self.root.clone() });
            }
            Err(source) => return Err(self.unreadable("HEAD", source)),
        };
        let name = head.name().ok().and_then(|name| name.strip_prefix("refs/heads/")).map(str::to_owned);
        // In a rebase HEAD is detached too, and this says more.
        if let Some(what) = busy(self.git.state()) {
            return Err(GitError::Busy { what, root: self.root.clone() });
        }
        let name = name.ok_or_else(|| GitError::Detached { root: self.root.clone() })?;
        let tip = head.peel_to_commit().map_err(|source| self.unreadable("HEAD", source))?.id();
        Ok(Branch { name, parent: Some(tip), local: Some(tip), is_checked_out: true })
    }

    /// Returns a branch that no work tree shows: where it stands here or at the remote, whichever is ahead. It need not
    /// exist.
    ///
    /// # Errors
    /// When no branch can have the name, when it is checked out somewhere, and when here and there have parted.
    pub fn other_branch(&self, name: &str, remote: &str) -> Result<Branch, GitError> {
        let name = name.strip_prefix("refs/heads/").unwrap_or(name);
        if name == "HEAD" || !git2::Branch::name_is_valid(name).unwrap_or(false) {
            return Err(GitError::BranchName { name: name.to_owned() });
        }
        if let Some(place) = self.work_tree_of(name) {
            let is_here = place.canonicalize_utf8().ok() == self.root.canonicalize_utf8().ok();
            let help = if is_here {
                "leave out `--branch` to commit to the branch that you are on, or name another".to_owned()
            } else {
                format!("name another branch, or switch that work tree to another: `git -C {place} switch BRANCH`")
            };
            return Err(GitError::CheckedOut { name: name.to_owned(), place, help });
        }
        let local = self.commit_of(&reference(name));
        let there = self.commit_of(&format!("refs/remotes/{remote}/{name}"));
        let parent = match (local, there) {
            (Some(local), Some(there)) if local != there => Some(self.ahead(local, there, name, remote)?),
            (local, there) => local.or(there),
        };
        Ok(Branch { name: name.to_owned(), parent, local, is_checked_out: false })
    }

    /// The one of two commits that descends from the other.
    fn ahead(&self, local: Oid, there: Oid, name: &str, remote: &str) -> Result<Oid, GitError> {
        let descends = |one, other| self.git.graph_descendant_of(one, other).map_err(|source| self.unreadable(name, source));
        if descends(there, local)? {
            Ok(there)
        } else if descends(local, there)? {
            Ok(local)
        } else {
            Err(GitError::Parted { name: name.to_owned(), remote: remote.to_owned() })
        }
    }

    fn commit_of(&self, reference: &str) -> Option<Oid> {
        self.git.find_reference(reference).ok()?.peel_to_commit().ok().map(|commit| commit.id())
    }

    /// The work tree whose HEAD names the branch. What git keeps about its work trees is read from its files: a work
    /// tree on a disk that is not mounted counts too.
    fn work_tree_of(&self, name: &str) -> Option<Utf8PathBuf> {
        let common = Utf8Path::from_path(self.git.commondir())?;
        let is_head = |folder: &Utf8Path| {
            let head = fs::read_to_string(folder.join("HEAD")).unwrap_or_default();
            head.trim_end().strip_prefix("ref: ") == Some(&reference(name))
        };
        let is_bare = || self.git.config().and_then(|config| config.get_bool("core.bare")).unwrap_or(false);
        if is_head(common) && !is_bare() {
            let is_linked = self.git.is_worktree();
            return if is_linked { common.parent().map(Utf8Path::to_owned) } else { Some(self.root.clone()) };
        }
        let mut linked: Vec<Utf8PathBuf> =
            common.join("worktrees").read_dir_utf8().ok()?.flatten().map(camino::Utf8DirEntry::into_path).collect();
        linked.sort();
        let folder = linked.into_iter().find(|folder| is_head(folder))?;
        let place = fs::read_to_string(folder.join("gitdir")).unwrap_or_default();
        let place = place.trim_end();
        Some(place.strip_suffix("/.git").unwrap_or(place).into())
    }
}

fn reference(name: &str) -> String {
    format!("refs/heads/{name}")
}

fn busy(state: RepositoryState) -> Option<&'static str> {
    match state {
        RepositoryState::Clean => None,
        RepositoryState::Merge => Some("a merge"),
        RepositoryState::Revert | RepositoryState::RevertSequence => Some("a revert"),
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => Some("a cherry-pick"),
        RepositoryState::Bisect => Some("a bisection"),
        RepositoryState::Rebase | RepositoryState::RebaseInteractive | RepositoryState::RebaseMerge => Some("a rebase"),
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => Some("applying patches"),
    }
}

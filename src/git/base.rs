//! The revision that a change is compared with.

use git2::{ErrorCode, Oid};

use super::error::GitError;
use super::repository::Repository;

/// A commit, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    pub(super) id: Oid,
    name: String,
}

impl Base {
    pub(super) fn new(id: Oid, name: String) -> Base {
        Base { id, name }
    }

    /// The full id of the commit.
    pub fn commit(&self) -> String {
        self.id.to_string()
    }

    /// What people call it: the revision as given, or `merge base with origin/main`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Where a branch is looked for when nobody says where the change goes.
const DEFAULTS: [&str; 3] = ["origin/HEAD", "origin/main", "origin/master"];

/// What main branches are called.
const MAIN: [&str; 2] = ["main", "master"];

impl Repository {
    /// Returns the commit to compare with: the revision given, else where HEAD parts from the branch that the change
    /// goes to (`base_branch`, in CI that of `GITHUB_BASE_REF`), else from the origin's main branch. None: there is
    /// neither, or no commit yet.
    ///
    /// # Errors
    /// When what was asked for is not in the repository, with the command that fetches it.
    pub fn base(&self, revision: Option<&str>, base_branch: Option<&str>) -> Result<Option<Base>, GitError> {
        if let Some(revision) = revision {
            return self.named(revision).map(Some);
        }
        let Some(head) = self.head()? else { return Ok(None) };
        if let Some(branch) = base_branch.filter(|branch| !branch.is_empty()) {
            let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
            let name = format!("origin/{branch}");
            return match self.tip(&name) {
                Some(tip) => self.parting(head, tip, &name).map(Some),
                None => Err(self.not_fetched(branch)),
            };
        }
        let default = DEFAULTS.iter().find_map(|name| self.tip(name).map(|tip| (tip, name)));
        default.map(|(tip, name)| self.parting(head, tip, name)).transpose()
    }

    /// Returns a revision that people may mean where there is no upstream: the local main branch, or from that branch itself the
    /// last commit. None: no such branch.
    ///
    /// # Errors
    /// When HEAD cannot be read.
    pub fn likely_base(&self) -> Result<Option<&'static str>, GitError> {
        let Some(head) = self.head()? else { return Ok(None) };
        let tip = |name: &str| {
            let reference = self.git.find_reference(&format!("refs/heads/{name}")).ok()?;
            reference.peel_to_commit().ok().map(|commit| commit.id())
        };
        let local = MAIN.iter().find_map(|name| Some((*name, tip(name)?)));
        Ok(local.map(|(name, tip)| if tip == head { "HEAD" } else { name }))
    }

    /// Returns the command that fetches the branches of the origin. None: the repository knows no origin.
    pub fn fetching_branches(&self) -> Option<String> {
        self.git.find_remote("origin").ok()?;
        let depth = if self.git.is_shallow() { "--unshallow " } else { "" };
        Some(format!("git fetch {depth}origin '+refs/heads/*:refs/remotes/origin/*'"))
    }

    fn named(&self, revision: &str) -> Result<Base, GitError> {
        if let Ok(commit) = self.git.revparse_single(revision).and_then(|object| object.peel_to_commit()) {
            return Ok(Base { id: commit.id(), name: revision.to_owned() });
        }
        let help = if self.git.is_shallow() {
            format!("this is a shallow clone: `{}`", deepening(branch_of(revision)))
        } else if let Some(branch) = branch_of(revision) {
            format!("`{}`", fetching(branch))
        } else {
            "name a commit, tag or branch that `git log` knows".to_owned()
        };
        Err(GitError::Revision { revision: revision.to_owned(), root: self.root.clone(), help })
    }

    pub(super) fn head(&self) -> Result<Option<Oid>, GitError> {
        match self.git.head().and_then(|head| head.peel_to_commit()) {
            Ok(commit) => Ok(Some(commit.id())),
            Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => Ok(None),
            Err(source) => Err(self.unreadable("HEAD", source)),
        }
    }

    fn tip(&self, remote_branch: &str) -> Option<Oid> {
        let reference = self.git.find_reference(&format!("refs/remotes/{remote_branch}")).ok()?;
        reference.peel_to_commit().ok().map(|commit| commit.id())
    }

    fn parting(&self, head: Oid, tip: Oid, name: &str) -> Result<Base, GitError> {
        match self.git.merge_base(head, tip) {
            Ok(id) => Ok(Base { id, name: format!("merge base with {name}") }),
            Err(_) if self.git.is_shallow() => {
                let fetch = deepening(branch_of(name));
                Err(GitError::Shallow { branch: name.to_owned(), root: self.root.clone(), fetch })
            }
            Err(error) if error.code() == ErrorCode::NotFound => {
                Err(GitError::Unrelated { branch: name.to_owned(), root: self.root.clone() })
            }
            Err(source) => Err(self.unreadable(name, source)),
        }
    }

    fn not_fetched(&self, branch: &str) -> GitError {
        let fetch = if self.git.is_shallow() { deepening(Some(branch)) } else { fetching(branch) };
        GitError::NotFetched { branch: branch.to_owned(), root: self.root.clone(), fetch }
    }
}

/// The command that completes a shallow clone, and fetches a branch with it.
fn deepening(branch: Option<&str>) -> String {
    let fetch = "git fetch --unshallow origin";
    match branch {
        Some("HEAD") | None => fetch.to_owned(),
        Some(branch) => format!("{fetch} +refs/heads/{branch}:refs/remotes/origin/{branch}"),
    }
}

fn fetching(branch: &str) -> String {
    format!("git fetch origin +refs/heads/{branch}:refs/remotes/origin/{branch}")
}

/// The branch at the origin that a revision speaks of, if it is one: `origin/main`, but not `1f2e3d` or `HEAD~2`.
fn branch_of(revision: &str) -> Option<&str> {
    revision.strip_prefix("origin/").filter(|branch| !branch.contains(['~', '^', '@', ':']))
}

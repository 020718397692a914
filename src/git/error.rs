//! What git could not answer, where, and the command that helps.

use camino::Utf8PathBuf;

/// A reason why a repository gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git trusts only repositories of the user who runs it.
    #[error("the repository `{root}` belongs to another user\nhelp: if you trust it: `git config --global --add safe.directory {root}`")]
    Owner {
        /// The folder to trust.
        root: Utf8PathBuf,
    },
    /// The repository is there and cannot be opened.
    #[error("cannot open the git repository of `{path}`\nhelp: see what `git -C {path} status` says")]
    Open {
        /// Where it was looked for.
        path: Utf8PathBuf,
        /// What libgit2 said.
        source: git2::Error,
    },
    /// Clones without some of their objects cannot be read.
    #[error("the repository of `{path}` is a partial clone, whose missing objects cannot be read\nhelp: clone it without `--filter`")]
    Partial {
        /// Where it was looked for.
        path: Utf8PathBuf,
    },
    /// The revision that was asked for is not a commit of this repository.
    #[error("`{revision}` is not a revision of the repository `{root}`\nhelp: {help}")]
    Revision {
        /// As it was given.
        revision: String,
        /// The repository.
        root: Utf8PathBuf,
        /// The way out.
        help: String,
    },
    /// The branch that the change goes to was not fetched.
    #[error("the base branch `{branch}` is not in the repository `{root}`\nhelp: `{fetch}`, or name another base with `--base REV`")]
    NotFetched {
        /// Its name at the origin.
        branch: String,
        /// The repository.
        root: Utf8PathBuf,
        /// The exact command.
        fetch: String,
    },
    /// The clone is too shallow to hold the commit where the branches part.
    #[error("the shallow clone `{root}` does not hold the commit where HEAD and `{branch}` part\nhelp: `{fetch}`")]
    Shallow {
        /// The other branch.
        branch: String,
        /// The repository.
        root: Utf8PathBuf,
        /// The exact command.
        fetch: String,
    },
    /// The two have no common history.
    #[error("HEAD and `{branch}` of the repository `{root}` have no commit in common\nhelp: name a base with `--base REV`")]
    Unrelated {
        /// The other branch.
        branch: String,
        /// The repository.
        root: Utf8PathBuf,
    },
    /// An object of the repository is missing or damaged.
    #[error("cannot read `{what}` from the repository `{root}`\nhelp: see what `git -C {root} fsck` says")]
    Read {
        /// The commit, tree or file.
        what: String,
        /// The repository.
        root: Utf8PathBuf,
        /// What libgit2 said.
        source: git2::Error,
    },
    /// HEAD names no branch, so that there is none to commit to.
    #[error("HEAD of the repository `{root}` is detached: there is no branch to commit to\nhelp: name one: `--branch BRANCH`")]
    Detached {
        /// The repository.
        root: Utf8PathBuf,
    },
    /// There is no commit that plans could be made from.
    #[error("the repository `{root}` has no commit yet\nhelp: commit the manifests first: a plan names the commit that it is made from")]
    Unborn {
        /// The repository.
        root: Utf8PathBuf,
    },
    /// A merge, rebase or the like is under way, and a commit now would be taken for its end.
    #[error("the repository `{root}` is in the middle of {what}\nhelp: finish it first, or commit to another branch: `--branch BRANCH`")]
    Busy {
        /// What is under way.
        what: &'static str,
        /// The repository.
        root: Utf8PathBuf,
    },
    /// A name that no branch can have.
    #[error("`{name}` cannot be the name of a branch\nhelp: give a name as `git branch` takes it: `--branch rollouts`")]
    BranchName {
        /// As it was given.
        name: String,
    },
    /// Somebody works on the branch.
    #[error("the branch `{name}` is checked out in `{place}`\nhelp: {help}")]
    CheckedOut {
        /// The branch.
        name: String,
        /// The work tree.
        place: Utf8PathBuf,
        /// The way out.
        help: String,
    },
    /// The branch has commits of its own here and at the remote.
    #[error(
        "the branch `{name}` and `{remote}/{name}` have parted: each has commits that the other has not\nhelp: if nobody needs the commits here: `git branch -f {name} {remote}/{name}`"
    )]
    Parted {
        /// The branch.
        name: String,
        /// The remote.
        remote: String,
    },
    /// Somebody else moved the branch while we worked.
    #[error("the branch `{name}` has moved in the meantime; nothing was committed\nhelp: run the command again")]
    Moved {
        /// The branch.
        name: String,
    },
    /// A file stands where a folder of the tree must go, or the other way round.
    #[error("cannot commit `{path}` to `{branch}`: {found} is in the way\nhelp: remove or rename it on that branch")]
    InTheWay {
        /// Where the file should be.
        path: String,
        /// The branch.
        branch: String,
        /// What is there.
        found: &'static str,
    },
    /// The repository refused to take an object, a reference or the index.
    #[error("cannot write {what} of the repository `{root}`\nhelp: see what `git -C {root} status` says")]
    Write {
        /// What was to be written.
        what: &'static str,
        /// The repository.
        root: Utf8PathBuf,
        /// What libgit2 said.
        source: git2::Error,
    },
    /// The name is not one of the configured remotes.
    #[error("the repository `{root}` has no remote `{remote}`\nhelp: {help}")]
    Remote {
        /// As it was given, without credentials.
        remote: String,
        /// The repository.
        root: Utf8PathBuf,
        /// The way out.
        help: String,
    },
    /// The git program cannot be run.
    #[error("cannot run `git`, which fetches and pushes\nhelp: install git, or leave out `--push` and push `{branch}` yourself")]
    NoProgram {
        /// The branch.
        branch: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The remote cannot be reached, or wants credentials.
    #[error("`git fetch {remote}` failed{said}\nhelp: see that `git fetch {remote}` works by itself, without asking for a password")]
    Fetch {
        /// The remote.
        remote: String,
        /// What git said.
        said: String,
    },
    /// The remote did not take the commit.
    #[error("`{remote}` did not take the commit for `{branch}`, and nothing was changed here{said}\nhelp: {help}")]
    Push {
        /// The remote.
        remote: String,
        /// The branch.
        branch: String,
        /// What git said.
        said: String,
        /// The way out.
        help: String,
    },
}

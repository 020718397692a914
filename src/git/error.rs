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
}

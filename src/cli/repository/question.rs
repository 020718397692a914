//! What to read, and where plans are committed, as the user says it.

use camino::Utf8Path;

use crate::cli::sources::Sources;

/// What to read, as the user says it.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Question<'a> {
    pub(in crate::cli) path: &'a str,
    pub(in crate::cli) base: Option<&'a str>,
    pub(in crate::cli) base_dir: Option<&'a Utf8Path>,
    pub(in crate::cli) out: Option<&'a Utf8Path>,
    /// Whether only those Rollouts count that the change concerns.
    pub(in crate::cli) is_changed_only: bool,
    /// Where the plans are committed.
    pub(in crate::cli) destination: Destination<'a>,
    pub(in crate::cli) sources: &'a Sources,
}

/// Where plans are committed, as the user says it.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cli) struct Destination<'a> {
    /// To a branch of their own, instead of the one that is checked out.
    pub(in crate::cli) branch: Option<&'a str>,
    /// The remote of that branch, where it is the one that counts.
    pub(in crate::cli) remote: Option<&'a str>,
    /// Whether plans are committed now.
    pub(in crate::cli) is_commit: bool,
}

impl Destination<'_> {
    /// The remote that is meant when none is named.
    pub(in crate::cli) const REMOTE: &'static str = "origin";

    /// The remote's name.
    pub(in crate::cli) fn remote(&self) -> &str {
        self.remote.unwrap_or(Self::REMOTE)
    }
}

//! Rollouts of the base that the head does not read any more, whatever the reason: nothing of them is in the review.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Discovery, Documents, rollout};
use crate::files::Files;
use crate::model::{Finding, ObjectRef, Position, Stored};

/// What decides which files are read: the configuration, and what is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// As in the base.
    Same,
    /// The change has others.
    Changed,
}

/// What is known of the repository as it is.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    /// What was found.
    pub discovery: &'a Discovery,
    /// What that was found in.
    pub documents: &'a Documents,
    /// The files as they stand.
    pub files: &'a Files,
}

/// Returns a finding for each Rollout that `base` holds, read by its own rules, and `head` does not. Rollouts in `told` are left
/// out, and those that may stand in a file that cannot be read: something else is said of them.
pub fn unread(head: Head<'_>, base: &Discovery, rules: Rules, told: &[Finding]) -> Vec<Finding> {
    let (before, now) = (rollouts(base), rollouts(head.discovery));
    let mut findings = Vec::new();
    for (object, before) in before.into_iter().filter(|(object, _)| !head.documents.is_hidden(&object.name)) {
        let now = now.get(object).map_or(&[][..], Vec::as_slice);
        let is_told = told.iter().any(|finding| finding.code == "rollout-removed" && finding.message.starts_with(&format!("{object} ")));
        let gone = before.iter().filter(|source| !now.iter().any(|now| now.path == source.path));
        // A Rollout that moved to another file is read there.
        let most = if is_told { 0 } else { before.len().saturating_sub(now.len()) };
        findings.extend(gone.take(most).map(|source| finding(object, source, head.files, rules)));
    }
    findings
}

fn rollouts(discovery: &Discovery) -> BTreeMap<&ObjectRef, Vec<&Arc<Stored>>> {
    let mut rollouts: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for source in discovery.catalogs.iter().flat_map(|catalog| &catalog.sources).filter(|source| rollout::is_rollout(&source.object)) {
        rollouts.entry(&source.object).or_default().push(source);
    }
    rollouts
}

fn finding(object: &ObjectRef, source: &Stored, files: &Files, rules: Rules) -> Finding {
    let is_named = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok_and(|text| text.contains(rollout::GROUP) && text.contains(&object.name));
    let is_there = files.get(&source.path).is_some_and(|bytes| is_named(bytes));
    let finding = if is_there {
        let message = format!("{object} is in this file, which is not read any more: its releases are not reviewed");
        Finding::warning("rollout-unread", message).at(&source.path, Position { line: 1, column: 1 })
    } else {
        let message = format!("{object} is not read any more: its workload is released without steps");
        match rules {
            Rules::Changed => Finding::warning("rollout-unread", message),
            Rules::Same => Finding::note("rollout-unread", message),
        }
    };
    finding.help("look at what the change does to `.rollout.yaml`, to kustomizations and to the place of the file")
}

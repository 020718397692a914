//! How a release ends: the way back from wherever it stands, and what is remembered of it.

use jiff::Timestamp;

use super::advance::turn_to;
use crate::model::{Ending, Last, Outcome, Part, PlanStatus, Purpose};

/// Turns back, wherever the release stands. At rest there is nothing to turn back from.
pub(super) fn abort(status: &mut PlanStatus, reason: &str, now: Timestamp) {
    turn_back(status, Ending { outcome: Outcome::Aborted, reason: reason.to_owned(), returns_to: None }, now);
}

/// The same, with what is remembered. What is on the way back already only learns a new reason when git speaks: that it
/// went back, or on to another release.
pub(super) fn turn_back(status: &mut PlanStatus, ending: Ending, now: Timestamp) {
    let is_captured = status.captured.is_some();
    let Some(cursor) = status.cursor.as_mut() else { return };
    let way = match cursor.part {
        Part::Abort | Part::AbortFinish | Part::HandBack => return,
        Part::Finish => Part::AbortFinish,
        Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Gate => Part::Abort,
        Part::Check | Part::Capture if is_captured => Part::Abort,
        Part::Check | Part::Capture | Part::Settle => Part::HandBack,
    };
    cursor.goal = None;
    cursor.approved = false;
    match cursor.purpose {
        Purpose::Release | Purpose::Refresh => cursor.ending = Some(ending),
        // No release: whatever is written of the target stays, and the next offer begins with it again.
        Purpose::Create | Purpose::Settle => status.digest = None,
    }
    turn_to(status, way, now);
}

/// All is handed back: the release is over.
pub(super) fn handed_back(status: &mut PlanStatus, now: Timestamp) {
    if status.cursor.as_ref().is_none_or(|cursor| cursor.part != Part::HandBack) {
        return;
    }
    let Some(cursor) = status.cursor.take() else { return };
    match (cursor.purpose, cursor.ending, &status.release) {
        (Purpose::Release | Purpose::Refresh, Some(ending), Some(release)) => {
            let Ending { outcome, reason, returns_to } = ending;
            status.last = Some(Last { release: release.clone(), outcome, at: now, reason, returns_to });
        }
        // A plan that was written at once is a release that succeeded, unless it was given up on the way.
        (Purpose::Create | Purpose::Settle, _, Some(release)) if status.digest.is_some() => {
            let is_new = status.last.as_ref().is_none_or(|last| last.release != *release);
            if is_new || cursor.purpose == Purpose::Create {
                status.last = Some(succeeded(release, now));
            }
        }
        _nothing_to_remember => {}
    }
    rest(status);
}

/// Forgets what belongs to a running release only.
pub(super) fn rest(status: &mut PlanStatus) {
    status.cursor = None;
    status.turn += 1;
    status.claims = Vec::new();
    status.captured = None;
    status.bindings = crate::model::Bindings::default();
    status.suspended.asked = false;
    if !status.suspended.paused {
        status.suspended.since = None;
    }
    status.failure = None;
}

/// A release that the agent completed, or found complete after its own abort.
pub(super) fn succeeded(release: &str, now: Timestamp) -> Last {
    Last { release: release.to_owned(), outcome: Outcome::Succeeded, at: now, reason: String::new(), returns_to: None }
}

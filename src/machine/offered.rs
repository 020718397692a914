//! What a changed plan means: a release, a refresh, the way back, another release, or nothing.

use jiff::Timestamp;

use super::{Offer, Workload, advance, ending, pods};
use crate::model::{Bypass, Cursor, Ending, Last, Outcome, Part, PlanSpec, PlanStatus, Purpose, Refreshed};

/// Takes up the plan's object as it stands.
pub(super) fn offered(spec: &PlanSpec, status: &mut PlanStatus, offer: &Offer, now: Timestamp) {
    status.observed_generation = Some(offer.generation);
    if status.deleted {
        return;
    }
    match &status.cursor {
        None => at_rest(status, offer, now),
        Some(cursor) if is_untouched(cursor, status) => before_the_first_write(status, offer, now),
        Some(cursor) => match cursor.part {
            Part::Abort | Part::AbortFinish | Part::HandBack => on_the_way_back(status, offer),
            Part::Settle => while_settling(status, offer, now),
            Part::Check | Part::Capture | Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Gate | Part::Finish => {
                mid_release(spec, status, offer, now);
            }
        },
    }
}

/// Whether nothing was written since the agent was at rest.
fn is_untouched(cursor: &Cursor, status: &PlanStatus) -> bool {
    matches!(cursor.part, Part::Check | Part::Capture) && status.captured.is_none()
}

fn at_rest(status: &mut PlanStatus, offer: &Offer, now: Timestamp) {
    let is_new = status.digest.as_ref() != Some(&offer.digest);
    let Some(release) = &offer.release else {
        take_up(status, offer);
        return;
    };
    let last = outcome(status, release);
    if status.suspended.disabled {
        // Nothing is taken up: what is offered when the switch goes back is as new as now.
        return;
    }
    match (&offer.workload, last) {
        // One that was aborted waits for a retry or another release, whatever has become of the workload.
        (_, Some(Outcome::Aborted)) => take_up(status, offer),
        (Workload::Missing, _) => begin(status, offer, Purpose::Create, now),
        (_, Some(Outcome::Succeeded)) if is_new => begin(status, offer, Purpose::Settle, now),
        // A finished release does nothing.
        (_, Some(Outcome::Succeeded)) => take_up(status, offer),
        (Workload::AtTarget(bypass), _) => {
            take_up(status, offer);
            if is_our_abort(status, bypass) {
                status.last = Some(ending::succeeded(release, now));
            } else {
                status.bypass = Some(bypass.clone());
            }
        }
        (Workload::Elsewhere, Some(Outcome::Superseded) | None) => begin(status, offer, Purpose::Release, now),
    }
}

/// How a release ended, if it is the last one that ended.
fn outcome(status: &PlanStatus, release: &str) -> Option<Outcome> {
    status.last.as_ref().filter(|last| last.release == release).map(|last| last.outcome)
}

/// Whether the workload is what our own abort made of it: nobody wrote it since. Git went back, and is complete. Only where
/// the end of the release left no digests its time says so, which is by another clock than the write.
fn is_our_abort(status: &PlanStatus, writer: &Bypass) -> bool {
    let is_back = |last: &&Last| matches!(last.outcome, Outcome::Aborted | Outcome::Superseded);
    let is_before = |at, last: &Last| status.settled.is_empty() && at <= last.at;
    status.last.as_ref().filter(is_back).is_some_and(|last| writer.at.is_none_or(|at| is_before(at, last)))
}

fn take_up(status: &mut PlanStatus, offer: &Offer) {
    status.digest = Some(offer.digest.clone());
    status.release.clone_from(&offer.release);
    status.bypass = None;
    status.failure = None;
}

/// Begins with the checks; nothing else is done before them.
pub(super) fn begin(status: &mut PlanStatus, offer: &Offer, purpose: Purpose, now: Timestamp) {
    take_up(status, offer);
    status.cursor = Some(start(purpose, now));
    status.turn += 1;
}

/// The place where everything begins.
pub(super) fn start(purpose: Purpose, now: Timestamp) -> Cursor {
    Cursor {
        part: Part::Check,
        purpose,
        step: 0,
        stage: 0,
        since: now,
        entered: now,
        written: false,
        holding: None,
        unmet: Vec::new(),
        hold: None,
        goal: None,
        gated: None,
        approved: false,
        late: false,
        refreshed: None,
        ending: None,
    }
}

/// Nothing is written, so that whatever is offered can be judged as at rest. The same offer again changes nothing unless
/// the workload has become the target, or is gone.
fn before_the_first_write(status: &mut PlanStatus, offer: &Offer, now: Timestamp) {
    let purpose = status.cursor.as_ref().map(|cursor| cursor.purpose);
    let fits = match offer.workload {
        Workload::Missing => purpose == Some(Purpose::Create),
        Workload::AtTarget(_) => purpose == Some(Purpose::Settle),
        Workload::Elsewhere => purpose != Some(Purpose::Create),
    };
    if status.digest.as_ref() == Some(&offer.digest) && fits {
        return;
    }
    // Only a retry begins what was aborted: it is wanted, in whichever rendering and from whatever there is.
    let is_retried = offer
        .release
        .as_ref()
        .is_some_and(|release| status.release.as_ref() == Some(release) && outcome(status, release) == Some(Outcome::Aborted));
    ending::rest(status);
    // A refresh at rest that has not been written is still to be written.
    if purpose == Some(Purpose::Settle) {
        status.digest = None;
    }
    match &offer.workload {
        Workload::Missing if is_retried => begin(status, offer, Purpose::Create, now),
        Workload::Elsewhere if is_retried => begin(status, offer, Purpose::Release, now),
        Workload::Missing | Workload::Elsewhere | Workload::AtTarget(_) => at_rest(status, offer, now),
    }
}

fn while_settling(status: &mut PlanStatus, offer: &Offer, now: Timestamp) {
    if status.digest.as_ref() == Some(&offer.digest) {
        return;
    }
    let purpose = status.cursor.as_ref().map_or(Purpose::Settle, |cursor| cursor.purpose);
    if offer.release.is_some() && offer.release == status.release {
        ending::rest(status);
        begin(status, offer, purpose, now);
    } else {
        ending::rest(status);
        status.digest = None;
        at_rest(status, offer, now);
    }
}

fn on_the_way_back(status: &mut PlanStatus, offer: &Offer) {
    let is_same = offer.release == status.release;
    let Some(ending) = status.cursor.as_mut().and_then(|cursor| cursor.ending.as_mut()) else { return };
    match ending.outcome {
        Outcome::Succeeded => {}
        Outcome::Aborted | Outcome::Superseded if is_same => {
            // Git went back and has come forward again: the release is wanted once more.
            if ending.returns_to.take().is_some() {
                ending.outcome = Outcome::Superseded;
            }
        }
        Outcome::Aborted | Outcome::Superseded => {
            ending.returns_to = offer.release.clone().filter(|_| offer.returns);
        }
    }
}

fn mid_release(spec: &PlanSpec, status: &mut PlanStatus, offer: &Offer, now: Timestamp) {
    if status.digest.as_ref() == Some(&offer.digest) {
        return;
    }
    if offer.returns && offer.release != status.release {
        let reason = "git went back to what ran before".to_owned();
        let ending = Ending { outcome: Outcome::Aborted, reason, returns_to: offer.release.clone() };
        return ending::turn_back(status, ending, now);
    }
    // A plan that releases nothing says nothing about the release that runs.
    if offer.release.is_none() {
        return;
    }
    let ready = pods::ready(spec, status);
    let Some(cursor) = status.cursor.as_mut() else { return };
    if offer.release != status.release || offer.drops {
        let reason = if offer.drops && offer.release == status.release {
            "the plan no longer covers an object that it has changed"
        } else {
            "another release came"
        };
        let ending = Ending { outcome: Outcome::Superseded, reason: reason.to_owned(), returns_to: None };
        return ending::turn_back(status, ending, now);
    }
    // What finishes is finished with the objects that it began with; the refresh is taken up at rest.
    if cursor.part != Part::Finish {
        cursor.purpose = Purpose::Refresh;
        cursor.approved = false;
        cursor.refreshed = ready.map(|ready| Refreshed { ready, shrinks: false });
        status.digest = Some(offer.digest.clone());
        // Other labels on the new pods are another revision.
        status.bindings.canary_revision = None;
        advance::turn_to(status, Part::Check, now);
    }
}

impl Offer {
    /// The same plan as recorded, for a retry.
    pub(super) fn again(status: &PlanStatus) -> Option<Self> {
        Some(Self {
            generation: status.observed_generation.unwrap_or_default(),
            digest: status.digest.clone()?,
            release: status.release.clone(),
            workload: Workload::Elsewhere,
            returns: false,
            drops: false,
        })
    }
}

/// Whether an aborted release waits for a retry.
pub(super) fn awaits_retry(status: &PlanStatus) -> bool {
    let of_release = |last: &&Last| last.outcome == Outcome::Aborted && status.release.as_ref() == Some(&last.release);
    status.is_at_rest() && status.last.as_ref().is_some_and(|last| of_release(&last))
}

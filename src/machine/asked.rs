//! What people ask for. A request speaks of the plan that they looked at: one that speaks of another is refused.

use jiff::Timestamp;

use super::offered::{awaits_retry, begin};
use super::{Offer, ending, ways};
use crate::model::{Part, PlanSpec, PlanStatus, Purpose, Request, Verb};

/// Obeys a request, or records why not. Each is handled once.
pub(super) fn asked(spec: &PlanSpec, status: &mut PlanStatus, request: &Request, now: Timestamp) {
    if status.handled_request.as_ref() == Some(&request.id) {
        return;
    }
    status.handled_request = Some(request.id.clone());
    status.refused_request = if status.digest.as_ref() == Some(&request.digest) {
        obey(spec, status, request.verb, request.step, now).err()
    } else {
        let run = status.digest.as_deref().unwrap_or("none");
        Some(format!("the request speaks of the plan `{}`, the one that is run is `{run}`", request.digest))
    };
}

/// Does what was asked for, or says why not.
pub(super) fn obey(spec: &PlanSpec, status: &mut PlanStatus, verb: Verb, step: u32, now: Timestamp) -> Result<(), String> {
    match verb {
        Verb::Approve => approve(status, step),
        Verb::Pause => pause(status, now),
        Verb::Resume => resume(status, now),
        Verb::Abort => abort(status, now),
        Verb::Retry => retry(status, now),
        Verb::Jump => jump(spec, status, step),
    }
}

fn approve(status: &mut PlanStatus, step: u32) -> Result<(), String> {
    match status.cursor.as_mut() {
        Some(cursor) if cursor.part == Part::Gate && cursor.step == step => {
            cursor.approved = true;
            Ok(())
        }
        Some(cursor) if cursor.part == Part::Gate => {
            Err(format!("the approval is for step {step}, the release is at the gate of step {}", cursor.step))
        }
        Some(_) => Err(format!("the approval is for step {step}, and the release is not at its gate")),
        None => Err("no release is running".to_owned()),
    }
}

fn pause(status: &mut PlanStatus, now: Timestamp) -> Result<(), String> {
    running(status)?;
    suspend(status, status.suspended.paused, true, now);
    Ok(())
}

fn resume(status: &mut PlanStatus, now: Timestamp) -> Result<(), String> {
    running(status)?;
    suspend(status, status.suspended.paused, false, now);
    if status.suspended.paused {
        return Err("the Rollout itself says `spec.strategy.paused`; take that out".to_owned());
    }
    Ok(())
}

fn abort(status: &mut PlanStatus, now: Timestamp) -> Result<(), String> {
    running(status)?;
    let Some(cursor) = &status.cursor else { return Ok(()) };
    if matches!(cursor.purpose, Purpose::Create | Purpose::Settle) {
        return Err("there is nothing to go back to: the target is written at once".to_owned());
    }
    let is_complete =
        cursor.part == Part::HandBack && cursor.ending.as_ref().is_some_and(|it| it.outcome == crate::model::Outcome::Succeeded);
    if is_complete {
        return Err("the release is complete; a revert in git is the way back".to_owned());
    }
    ending::abort(status, "somebody asked for it", now);
    Ok(())
}

fn retry(status: &mut PlanStatus, now: Timestamp) -> Result<(), String> {
    if !status.is_at_rest() {
        status.failure = None;
        return Ok(());
    }
    if !awaits_retry(status) {
        return Err("no release was aborted".to_owned());
    }
    if status.suspended.disabled || status.deleted {
        return Err("the Rollout is disabled or being deleted".to_owned());
    }
    if let Some(offer) = Offer::again(status) {
        begin(status, &offer, Purpose::Release, now);
    }
    Ok(())
}

fn jump(spec: &PlanSpec, status: &mut PlanStatus, step: u32) -> Result<(), String> {
    let last = ways::last_step(spec);
    if step == 0 || step > last {
        return Err(format!("the plan has the steps 1 to {last}, no step {step}"));
    }
    running(status)?;
    match status.cursor.as_mut() {
        Some(cursor) if matches!(cursor.part, Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Gate) => {
            cursor.goal = Some(step);
            Ok(())
        }
        _elsewhere => Err("the release is not in a step; only from there one can jump".to_owned()),
    }
}

fn running(status: &PlanStatus) -> Result<(), String> {
    if status.is_at_rest() { Err("no release is running".to_owned()) } else { Ok(()) }
}

/// Sets who paused the release, and lets no deadline count the pause.
pub(super) fn suspend(status: &mut PlanStatus, paused: bool, asked: bool, now: Timestamp) {
    let suspended = &mut status.suspended;
    suspended.paused = paused;
    suspended.asked = asked;
    if suspended.is_paused() {
        suspended.since.get_or_insert(now);
    } else if let Some(since) = suspended.since.take()
        && let Some(cursor) = status.cursor.as_mut()
    {
        let paused = now.duration_since(since.max(cursor.entered)).max(jiff::SignedDuration::ZERO);
        cursor.entered = cursor.entered.saturating_add(paused).unwrap_or(Timestamp::MAX);
    }
}

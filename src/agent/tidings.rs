//! What a change of the status is worth telling as an event.

use super::events::Kind;
use crate::model::{Hold, HoldCause, Outcome, Part, Phase, PlanStatus};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tiding {
    /// How loud.
    pub(super) kind: Kind,
    /// One word.
    pub(super) reason: String,
    /// A sentence.
    pub(super) message: String,
}

/// Returns what happened between two recorded states.
pub(super) fn between(before: &PlanStatus, after: &PlanStatus) -> Vec<Tiding> {
    let mut told = Vec::new();
    let mut tell = |kind, reason: &str, message: String| told.push(Tiding { kind, reason: reason.to_owned(), message });
    let waiting = || after.waiting_for.clone().unwrap_or_default();
    let place = |status: &PlanStatus| status.cursor.as_ref().map(|cursor| (cursor.part, cursor.step));

    if let Some(hold) = hold_of(after)
        && is_news(hold_of(before).as_ref(), &hold)
    {
        tell(Kind::Warning, &format!("{:?}", hold.cause), hold.message);
    }
    if let Some(failure) = &after.failure
        && before.failure.as_ref().map(|failure| &failure.reason) != Some(&failure.reason)
    {
        let reason = if failure.permanent { "Stalled" } else { "Retrying" };
        tell(Kind::Warning, reason, failure.reason.clone());
    }
    if after.handled_request != before.handled_request
        && let Some(refused) = &after.refused_request
    {
        tell(Kind::Warning, "RequestRefused", refused.clone());
    }
    if after.bypass.is_some() && before.bypass != after.bypass {
        let message = after.condition("Bypassed").map(|condition| condition.message.clone()).unwrap_or_default();
        tell(Kind::Warning, "Bypassed", message);
    }
    if after.last != before.last
        && let Some(last) = &after.last
    {
        let (kind, message) = match last.outcome {
            Outcome::Succeeded => (Kind::Normal, "the target runs".to_owned()),
            Outcome::Aborted | Outcome::Superseded => (Kind::Warning, last.reason.clone()),
        };
        tell(kind, &format!("{:?}", last.outcome), message);
    }
    if place(before) != place(after)
        && let Some((part, step)) = place(after)
    {
        match part {
            Part::Stages | Part::EnterFromAbove => tell(Kind::Normal, "StepBegins", format!("step {step} begins")),
            Part::Reassert => tell(Kind::Normal, "Refreshed", format!("step {step} is written once more, from a newer plan")),
            Part::Gate => tell(Kind::Normal, "StepReached", format!("step {step} is reached; waiting for {}", waiting())),
            Part::Finish => tell(Kind::Normal, "Finishing", "the last step is over".to_owned()),
            Part::Abort | Part::AbortFinish => tell(Kind::Warning, "Aborting", reason_of(after)),
            Part::Settle => tell(Kind::Normal, "Settling", "the target is written at once".to_owned()),
            Part::Check | Part::Capture | Part::HandBack => {}
        }
    }
    if before.phase != after.phase && after.phase == Phase::Paused {
        tell(Kind::Normal, "Paused", format!("waiting for {}", waiting()));
    }
    told
}

fn hold_of(status: &PlanStatus) -> Option<Hold> {
    status.cursor.as_ref().and_then(|cursor| cursor.hold.clone())
}

/// Whether a hold is worth an event. The pods of a rollout come one by one.
fn is_news(before: Option<&Hold>, after: &Hold) -> bool {
    match after.cause {
        HoldCause::NotRolledOut => before.is_none_or(|before| before.cause != after.cause),
        HoldCause::Differs | HoldCause::Claimed | HoldCause::Forbidden | HoldCause::NotServed | HoldCause::OtherController => {
            before != Some(after)
        }
    }
}

fn reason_of(status: &PlanStatus) -> String {
    let ending = status.cursor.as_ref().and_then(|cursor| cursor.ending.as_ref());
    ending.map(|ending| ending.reason.clone()).filter(|reason| !reason.is_empty()).unwrap_or_else(|| "the release goes back".to_owned())
}

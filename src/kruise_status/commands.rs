//! What users ask for by writing the Rollout: an approval, a jump, a pause, an end.

use serde_json::Value;

use super::step::{PAUSED, Position, READY};
use super::sub_status_name;
use crate::model::{Part, Plan, PlanStatus, Verb};

/// What stands in a live Rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// `spec.strategy.paused`.
    pub paused: bool,
    /// `spec.disabled`.
    pub disabled: bool,
    /// An approval or a jump, with its step.
    pub asked: Option<(Verb, u32)>,
    /// Why a jump is not obeyed, for people: there is no such step.
    pub refused: Option<String>,
}

/// Reads what users ask for.
///
/// An approval is `StepReady` where we had written `StepPaused`, for the step whose gate the release is at; a jump is
/// another `nextStepIndex` than the one that we had written. Clients write the style's own part of the status only, so the
/// copies at the top still say what we had written: whoever approves something that was not published, or is over, is not
/// heard.
pub fn commands(plan: &Plan, status: &PlanStatus, rollout: &Value) -> Command {
    let spec = &rollout["spec"];
    let (asked, refused) = asked(plan, status, &rollout["status"]).unwrap_or_default();
    Command { paused: spec["strategy"]["paused"] == true, disabled: spec["disabled"] == true, asked, refused }
}

/// An approval or a jump with its step, and why a jump is not obeyed.
type Answered = (Option<(Verb, u32)>, Option<String>);

/// What is asked for, and what is refused; nothing where the Rollout's status is not about the step that runs.
fn asked(plan: &Plan, status: &PlanStatus, written: &Value) -> Option<Answered> {
    let cursor = status.cursor.as_ref()?;
    let sub = &written[sub_status_name(plan.spec.style)];
    let is_current = |fields: &Value| fields["currentStepIndex"].as_u64() == Some(u64::from(cursor.step));
    let in_step = matches!(cursor.part, Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Gate);
    if !in_step || !is_current(written) || !is_current(sub) || sub["rolloutHash"].as_str() != status.digest.as_deref() {
        return None;
    }
    let next = sub["nextStepIndex"].as_i64()?;
    let steps = u32::try_from(plan.spec.steps.len()).unwrap_or(u32::MAX);
    let mut refused = None;
    // Clients write 0 where they mean nothing.
    if next != Position::natural_next(plan, i64::from(cursor.step)) && next != 0 {
        match u32::try_from(next).ok().filter(|step| (1..=steps).contains(step)) {
            Some(step) if cursor.goal != Some(step) => return Some((Some((Verb::Jump, step)), None)),
            Some(_) => {}
            None => {
                let problem = format!("`nextStepIndex: {next}` is no step of the plan, which has the steps 1 to {steps}");
                refused = Some(format!("{problem}; the release stays where it is"));
            }
        }
    }
    let is_approved =
        cursor.part == Part::Gate && !cursor.approved && written["currentStepState"] == PAUSED && sub["currentStepState"] == READY;
    Some((is_approved.then_some((Verb::Approve, cursor.step)), refused))
}

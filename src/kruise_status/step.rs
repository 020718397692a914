//! The step and what happens in it, in OpenKruise's words.

use serde_json::Value;

use crate::model::{Await, Cursor, Gate, ObjectKey, Part, Plan, PlanStatus, Stage};

/// All pods and routes of the step are as they should be, and its end is waited for.
pub(super) const PAUSED: &str = "StepPaused";
/// What a user writes instead of [`PAUSED`] to approve.
pub(super) const READY: &str = "StepReady";
/// No step: before the first, after the last.
const COMPLETED: &str = "Completed";

/// Where a release stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// The step, counted from 1.
    pub(super) index: i64,
    /// The step after it, -1 after the last.
    pub(super) next: i64,
    /// What happens in it.
    pub(super) state: &'static str,
    /// What happens at the end; empty before.
    pub(super) finalising: &'static str,
}

impl Position {
    /// Where a release stands; at rest as if its last step had been completed. `before` is the Rollout's status so far.
    pub(super) fn of(plan: &Plan, status: &PlanStatus, before: &Value) -> Self {
        let last = i64::try_from(plan.spec.steps.len()).unwrap_or(i64::MAX);
        let Some(cursor) = &status.cursor else {
            return Self { index: last, next: -1, state: COMPLETED, finalising: "" };
        };
        let index = match cursor.part {
            // A plan that was rendered again is checked within its step.
            Part::Check | Part::Capture | Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Gate => {
                i64::from(cursor.step).max(1)
            }
            Part::Finish | Part::Settle => last,
            // The step that was left is not known any more, but stands where it was written.
            Part::Abort | Part::AbortFinish | Part::HandBack => before["currentStepIndex"].as_i64().unwrap_or(last),
        };
        let next = if index >= last { -1 } else { index + 1 };
        Self { index, next, state: state(plan, cursor), finalising: finalising(plan, cursor) }
    }

    /// The step that follows by itself.
    pub(super) fn natural_next(plan: &Plan, index: i64) -> i64 {
        if usize::try_from(index).is_ok_and(|index| index < plan.spec.steps.len()) { index + 1 } else { -1 }
    }
}

fn state(plan: &Plan, cursor: &Cursor) -> &'static str {
    match cursor.part {
        Part::Check | Part::Capture => "BeforeStepUpgrade",
        Part::Stages | Part::EnterFromAbove | Part::Reassert => {
            let stages = stages(plan, cursor);
            let is_about_pods =
                |stage: &Stage| stage.awaits.iter().any(|wait| matches!(wait, Await::PodsReady { .. } | Await::Available { .. }));
            let passed = usize::try_from(cursor.stage).unwrap_or(usize::MAX);
            let pods_follow = stages.iter().skip(passed).any(is_about_pods);
            if pods_follow { "StepUpgrade" } else { "StepTrafficRouting" }
        }
        Part::Gate => match plan.spec.steps.get(usize::try_from(cursor.step).unwrap_or(0).wrapping_sub(1)).map(|step| &step.gate) {
            Some(Gate::None {}) => READY,
            Some(Gate::Approval {} | Gate::Seconds(_)) | None => PAUSED,
        },
        Part::Finish | Part::Settle | Part::Abort | Part::AbortFinish | Part::HandBack => COMPLETED,
    }
}

fn stages<'a>(plan: &'a Plan, cursor: &Cursor) -> &'a [Stage] {
    let step = usize::try_from(cursor.step).ok().and_then(|step| plan.spec.steps.get(step.checked_sub(1)?));
    match cursor.part {
        Part::Stages => step.map_or(&[], |step| step.stages.as_slice()),
        Part::EnterFromAbove => step.map_or(&[], |step| step.enter_from_above.as_slice()),
        Part::Finish => &plan.spec.finish,
        Part::Abort => &plan.spec.abort,
        Part::AbortFinish => &plan.spec.abort_finish,
        Part::Check | Part::Capture | Part::Reassert | Part::Gate | Part::Settle | Part::HandBack => &[],
    }
}

/// What a stage of the end does, by the object that it is about.
fn finalising(plan: &Plan, cursor: &Cursor) -> &'static str {
    let to = match cursor.part {
        Part::Finish => "FinalisingStepRouteTrafficToNew",
        Part::Abort | Part::AbortFinish => "FinalisingStepRouteTrafficToStable",
        Part::HandBack => return "END",
        Part::Check | Part::Capture | Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Gate | Part::Settle => return "",
    };
    let Some(stage) = usize::try_from(cursor.stage).ok().and_then(|index| stages(plan, cursor).get(index)) else { return "END" };
    let workload = &plan.spec.workload;
    if plan.spec.workload_in(&stage.write).is_some() {
        "ResumeWorkload"
    } else if stage.write.iter().any(|version| version.object().is_service()) {
        "RestoreStableService"
    } else if stage.remove.iter().any(ObjectKey::is_service) {
        "RemoveCanaryService"
    } else if stage.remove.iter().any(|object| object.plain_kind() == workload.kind) {
        "ReleaseWorkloadControl"
    } else {
        to
    }
}

//! How many new pods a step has, and how many of them are ready for sure in the middle of the way there.

use super::ways;
use crate::model::{Await, Bindings, Cursor, LateValue, Part, PlanSpec, PlanStatus, Revision, Stage};

/// The new pods of a step; none before the first. `None`: there is no such step.
pub(super) fn of_step(spec: &PlanSpec, number: u32, bindings: &Bindings) -> Option<u32> {
    if number == 0 {
        return Some(0);
    }
    ways::step(spec, number).map(|step| step.replicas.of(total(spec, bindings)))
}

/// All pods of the workload. Where nobody says it is more than any workload has, so that shares still compare.
fn total(spec: &PlanSpec, bindings: &Bindings) -> u32 {
    let is_bound = spec.bindings.iter().any(|binding| matches!(binding.value, LateValue::Replicas(_)));
    let in_git = || spec.replicas_in_git();
    let found = if is_bound { bindings.replicas.or_else(in_git) } else { in_git().or(bindings.replicas) };
    found.unwrap_or(u32::MAX)
}

/// How many new pods are ready at least where the release stands. `None`: nobody knows.
pub(super) fn ready(spec: &PlanSpec, status: &PlanStatus) -> Option<u32> {
    let cursor = status.cursor.as_ref()?;
    let of_step = |number| of_step(spec, number, &status.bindings);
    let known = cursor.refreshed.map(|refreshed| refreshed.ready);
    let after = of_step(cursor.step)?;
    match cursor.part {
        Part::Gate => Some(after),
        Part::Stages => on_the_way(spec, cursor, of_step(cursor.step.saturating_sub(1)), after),
        // From one of the later steps: the next one is taken to have the fewest pods of them.
        Part::EnterFromAbove => on_the_way(spec, cursor, of_step(cursor.step.saturating_add(1)), after),
        Part::Reassert => on_the_way(spec, cursor, known, after),
        // Refreshed once more before anything was written.
        Part::Check | Part::Capture => known,
        Part::Finish | Part::Settle | Part::Abort | Part::AbortFinish | Part::HandBack => None,
    }
}

/// In the middle of a way from so many pods to so many.
fn on_the_way(spec: &PlanSpec, cursor: &Cursor, before: Option<u32>, after: u32) -> Option<u32> {
    let stages = ways::stages(spec, cursor);
    let at = stages.iter().position(|stage| moves_pods(stage));
    let passed = ways::index(cursor.stage);
    match at {
        Some(at) if passed > at => Some(after),
        Some(at) if passed < at => before,
        Some(_) | None => before.map(|before| before.min(after)),
    }
}

/// Whether the stage adds new pods, or takes some away.
pub(super) fn moves_pods(stage: &Stage) -> bool {
    stage.awaits.iter().any(|wait| matches!(wait, Await::PodsReady { revision: Revision::Canary, .. }))
}

#[cfg(test)]
mod tests {
    use super::{of_step, ready};
    use crate::machine::tests::cursor;
    use crate::model::{Bindings, Part, PlanStatus, Replicas};
    use crate::plan::fixture;

    #[test]
    fn shares_and_numbers_are_told_in_pods() {
        let mut spec = fixture().spec;
        let bindings = Bindings { replicas: Some(40), ..Bindings::default() };
        assert_eq!([0, 1, 2, 3].map(|step| of_step(&spec, step, &bindings)), [Some(0), Some(1), Some(2), None]);
        let target = spec.workload_in(&spec.target).expect("a workload").clone();
        spec.objects.get_mut(&target).expect("an object")["spec"]["replicas"] = serde_json::Value::Null;
        assert_eq!(of_step(&spec, 2, &bindings), Some(20), "the cluster says how many there are");
        spec.steps[1].replicas = Replicas::Count(3);
        assert_eq!(of_step(&spec, 2, &Bindings::default()), Some(3));
    }

    #[test]
    fn pods_count_as_ready_from_the_stage_after_the_one_that_waits_for_them() {
        let spec = fixture().spec;
        let of = |part, step, stage| ready(&spec, &PlanStatus { cursor: Some(cursor(part, step, stage)), ..PlanStatus::default() });
        assert_eq!(of(Part::Gate, 2, 0), Some(2));
        assert_eq!([0, 1, 2].map(|stage| of(Part::Stages, 2, stage)), [Some(1), Some(2), Some(2)]);
        assert_eq!(of(Part::Stages, 1, 0), Some(0));
        assert_eq!(of(Part::EnterFromAbove, 1, 0), Some(2), "routes come first");
        assert_eq!(of(Part::EnterFromAbove, 1, 9), Some(1));
        assert_eq!(of(Part::Finish, 2, 0), None);
    }
}

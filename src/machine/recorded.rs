//! When a state has to be recorded before its duty is done, and when that may wait until more has come of it.
//!
//! Whoever comes back begins at the recorded state. So everything must be recorded on which the way from there depends: what is kept of the
//! release, its late values, its part, step and end. Within one list of stages it is enough to record an earlier stage, as long as no stage
//! since has written what the next one writes: played once more, all of them find their objects as they left them.

use std::collections::BTreeSet;

use super::ways;
use crate::model::{Cursor, ObjectKey, Part, Plan, PlanSpec, PlanStatus, Stage};

/// Whether `now` has to be recorded before its duty is done, when `recorded` was recorded last.
pub fn records_first(plan: &Plan, recorded: &PlanStatus, now: &PlanStatus) -> bool {
    if recorded == now {
        return false;
    }
    let (Some(cursor), before) = (&now.cursor, recorded.cursor.as_ref()) else { return true };
    match cursor.part {
        // Nothing depends on a release that has kept nothing yet.
        Part::Check | Part::Capture if now.captured.is_none() && recorded.captured.is_none() => false,
        Part::Check
        | Part::Capture
        | Part::Stages
        | Part::EnterFromAbove
        | Part::Reassert
        | Part::Gate
        | Part::Finish
        | Part::Settle
        | Part::Abort
        | Part::AbortFinish
        | Part::HandBack => {
            let kept = |status: &PlanStatus| (status.captured.clone(), status.bindings.clone(), status.claims.clone(), status.deleted);
            kept(recorded) != kept(now)
                || before.is_none_or(|before| has_turned(before, cursor) || writes_again(&plan.spec, before, cursor))
        }
    }
}

fn has_turned(before: &Cursor, now: &Cursor) -> bool {
    let place = |cursor: &Cursor| (cursor.part, cursor.purpose, cursor.step, cursor.goal, cursor.ending.clone(), cursor.refreshed);
    place(before) != place(now)
}

/// Whether the stage writes or removes what a stage since the recorded one has.
fn writes_again(spec: &PlanSpec, before: &Cursor, now: &Cursor) -> bool {
    let stages = ways::stages(spec, now);
    let [from, to] = [before.stage, now.stage].map(|stage| usize::try_from(stage).unwrap_or(usize::MAX));
    let (Some(since), Some(next)) = (stages.get(from..to.max(from)), stages.get(to)) else { return from != to };
    let touched: BTreeSet<&ObjectKey> = since.iter().flat_map(|stage| touches(stage)).collect();
    // Around a stage everything else is kept as in the step before, but for the next stage, which may be half written (`ways::kept`):
    // what was written further ahead of the record would be taken back.
    let is_ahead = matches!(now.part, Part::Stages | Part::Finish) && to > from.saturating_add(1);
    to < from || is_ahead || touches(next).any(|object| touched.contains(object))
}

fn touches(stage: &Stage) -> impl Iterator<Item = &ObjectKey> {
    let evicted = stage.evict.iter().map(|evict| &evict.workload);
    stage.write.iter().map(crate::model::VersionKey::object).chain(&stage.remove).chain(evicted)
}

#[cfg(test)]
mod tests {
    use super::records_first;
    use crate::model::{Bindings, Cursor, Part, PlanStatus, Purpose};
    use crate::plan::fixture;

    fn at(part: Part, step: u32, stage: u32) -> PlanStatus {
        let since = "2026-01-01T00:00:00Z".parse().unwrap();
        let cursor = Cursor {
            part,
            purpose: Purpose::Release,
            step,
            stage,
            since,
            entered: since,
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
        };
        PlanStatus { cursor: Some(cursor), captured: Some("rollout-shop-2".to_owned()), ..PlanStatus::default() }
    }

    #[test]
    fn before_anything_is_kept_nothing_has_to_be_recorded() {
        let plan = fixture();
        let early = |part| PlanStatus { captured: None, ..at(part, 0, 0) };
        assert!(!records_first(&plan, &PlanStatus::default(), &early(Part::Check)));
        assert!(!records_first(&plan, &early(Part::Check), &early(Part::Capture)));
        assert!(records_first(&plan, &early(Part::Capture), &at(Part::Stages, 1, 0)));
        assert!(records_first(&plan, &at(Part::Gate, 1, 0), &at(Part::Check, 1, 0)), "a refresh in mid-release");
    }

    #[test]
    fn a_part_a_step_and_a_late_value_are_recorded_before_anything_is_written() {
        let plan = fixture();
        let now = at(Part::Stages, 2, 0);
        for before in [at(Part::Gate, 1, 0), at(Part::Stages, 1, 3), at(Part::EnterFromAbove, 2, 0)] {
            assert!(records_first(&plan, &before, &now));
        }
        let bound = PlanStatus { bindings: Bindings { canary_revision: Some("5c7".to_owned()), ..Bindings::default() }, ..now.clone() };
        assert!(records_first(&plan, &now, &bound));
        assert!(records_first(&plan, &at(Part::Finish, 2, 4), &PlanStatus::default()), "the end");
    }

    #[test]
    fn within_a_part_a_stage_is_recorded_before_what_was_written_is_written_again() {
        let mut plan = fixture();
        assert!(!records_first(&plan, &at(Part::Stages, 1, 0), &at(Part::Stages, 1, 1)));
        assert!(records_first(&plan, &at(Part::Stages, 1, 1), &at(Part::Stages, 1, 0)), "back");
        let first = plan.spec.steps[0].stages[0].clone();
        plan.spec.steps[0].stages[2].write.extend(first.write);
        assert!(!records_first(&plan, &at(Part::Stages, 1, 1), &at(Part::Stages, 1, 2)));
        assert!(records_first(&plan, &at(Part::Stages, 1, 0), &at(Part::Stages, 1, 2)));
    }
}

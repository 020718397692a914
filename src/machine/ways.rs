//! The stages of each part, and what has to stay true in the middle of it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::pods;
use crate::model::{Await, Cursor, ObjectKey, Part, PlanSpec, PlanStep, Purpose, Stage, VersionKey};
use crate::plan::states::{self, State};

/// The stages of the cursor's part; none for parts that have no stages.
pub(super) fn stages<'a>(spec: &'a PlanSpec, cursor: &Cursor) -> Vec<Cow<'a, Stage>> {
    let of_step = |stages: fn(&PlanStep) -> &[Stage]| step(spec, cursor.step).map_or(&[][..], stages);
    let plain = match cursor.part {
        Part::Stages => of_step(|step| &step.stages),
        Part::EnterFromAbove => of_step(|step| &step.enter_from_above),
        Part::Finish => &spec.finish,
        Part::Abort => &spec.abort,
        Part::AbortFinish => &spec.abort_finish,
        Part::Reassert => {
            return reassert(spec, cursor.step, cursor.refreshed.is_some_and(|it| it.shrinks)).into_iter().map(Cow::Owned).collect();
        }
        Part::Settle => return vec![Cow::Owned(settle(spec, cursor.purpose))],
        Part::Check | Part::Capture | Part::Gate | Part::HandBack => &[],
    };
    plain.iter().map(Cow::Borrowed).collect()
}

/// The stage that the cursor is at.
pub(super) fn stage<'a>(spec: &'a PlanSpec, cursor: &Cursor) -> Option<Cow<'a, Stage>> {
    stages(spec, cursor).into_iter().nth(index(cursor.stage))
}

/// The step of a number that counts from 1.
pub(super) fn step(spec: &PlanSpec, number: u32) -> Option<&PlanStep> {
    spec.steps.get(index(number).checked_sub(1)?)
}

/// How many steps there are.
pub(super) fn last_step(spec: &PlanSpec) -> u32 {
    u32::try_from(spec.steps.len()).unwrap_or(u32::MAX)
}

/// The longest grace of a stage, in seconds.
pub(super) fn grace(stage: &Stage) -> u32 {
    let seconds = stage.awaits.iter().filter_map(|wait| match wait {
        Await::Grace(seconds) => Some(*seconds),
        Await::PodsReady { .. } | Await::Available { .. } | Await::Endpoints { .. } | Await::Condition { .. } | Await::Gone { .. } => None,
    });
    seconds.max().unwrap_or_default()
}

/// Whether the stage waits for anything that has to be looked at.
pub(super) fn looks(stage: &Stage) -> bool {
    stage.awaits.iter().any(|wait| !matches!(wait, Await::Grace(_)))
}

/// Whether versions of the baseline are written as they were captured, not as the plan has them.
pub(super) fn writes_originals(part: Part) -> bool {
    match part {
        Part::Finish | Part::Settle => false,
        Part::Check
        | Part::Capture
        | Part::Stages
        | Part::EnterFromAbove
        | Part::Reassert
        | Part::Gate
        | Part::Abort
        | Part::AbortFinish
        | Part::HandBack => true,
    }
}

/// What is true in the cursor's place, and is to stay so, as one stage without awaits.
pub(super) fn kept(spec: &PlanSpec, cursor: &Cursor) -> Stage {
    let played = index(cursor.stage).saturating_add(usize::from(cursor.written));
    let stages = stages(spec, cursor);
    let unsure = stages.get(played);
    let done = stages.iter().take(played).map(AsRef::as_ref);
    let mut state = match cursor.part {
        Part::Gate => return whole(spec, &states::at(spec, index(cursor.step)).unwrap_or_default()),
        // The way up begins in exactly the step before. Versions of the baseline that `finish` is about to replace are
        // left alone: there they are the plan's, before they were the captured ones.
        Part::Stages => states::at(spec, index(cursor.step).saturating_sub(1)).unwrap_or_default(),
        Part::Finish => {
            let mut state = states::at(spec, spec.steps.len()).unwrap_or_default();
            state.retain(|object, version| !spec.baseline.contains(&object.version(*version)));
            state
        }
        Part::Check
        | Part::Capture
        | Part::EnterFromAbove
        | Part::Reassert
        | Part::Settle
        | Part::Abort
        | Part::AbortFinish
        | Part::HandBack => State::new(),
    };
    let mut removed: BTreeSet<ObjectKey> = stages.iter().take(played).flat_map(|stage| stage.remove.iter().cloned()).collect();
    state = states::play(&state, done);
    // A stage that is half written is nobody's truth yet.
    for object in unsure.iter().flat_map(|stage| stage.write.iter().map(VersionKey::object).chain(&stage.remove)) {
        state.remove(object);
        removed.remove(object);
    }
    let remove = removed.into_iter().filter(|object| !state.contains_key(object)).collect();
    Stage { write: states::versions_of(&state), remove, evict: None, awaits: Vec::new() }
}

/// A complete state: what it names is written, and what else the plan names is removed.
fn whole(spec: &PlanSpec, state: &State) -> Stage {
    let absent: BTreeSet<&ObjectKey> = spec.objects.keys().map(VersionKey::object).filter(|object| !state.contains_key(object)).collect();
    Stage { write: states::versions_of(state), remove: absent.into_iter().cloned().collect(), evict: None, awaits: Vec::new() }
}

/// Into the same step once more, from whatever an older rendering of the plan wrote: in the order of the way up, but
/// each object at once in the version that the step has in the end, so that traffic never goes back in between. Pods that
/// are too many go when no traffic is meant for them any more.
fn reassert(spec: &PlanSpec, number: u32, shrinks: bool) -> Vec<Stage> {
    let state = states::at(spec, index(number)).unwrap_or_default();
    let mut left = state.clone();
    let mut stages = Vec::new();
    let way = spec.steps.iter().take(index(number)).flat_map(|step| &step.stages);
    for stage in way {
        let write: Vec<VersionKey> =
            stage.write.iter().filter(|version| left.get(version.object()) == Some(&version.version())).cloned().collect();
        for version in &write {
            left.remove(version.object());
        }
        let only_waits = stage.write.is_empty() && stage.remove.is_empty() && !stage.awaits.is_empty();
        if write.is_empty() && stage.evict.is_none() && !only_waits {
            continue;
        }
        let awaits = stage.awaits.iter().filter(|wait| still_holds(wait, &state)).cloned().collect();
        stages.push(Stage { write, remove: Vec::new(), evict: stage.evict.clone(), awaits });
    }
    if shrinks {
        let (of_pods, others): (Vec<Stage>, Vec<Stage>) = stages.into_iter().partition(pods::moves_pods);
        stages = others.into_iter().chain(of_pods).collect();
    }
    wait_for_endpoints_last(&mut stages);
    let rest = whole(spec, &state);
    let write = states::versions_of(&left);
    stages.push(Stage { write, ..rest });
    stages
}

/// Of several waits for the endpoints of one Service the last stays: those of the steps before count pods that the step has other
/// numbers of, and that the stages between may still have to make.
fn wait_for_endpoints_last(stages: &mut [Stage]) {
    let mut waited: BTreeSet<(String, Option<ObjectKey>)> = BTreeSet::new();
    for stage in stages.iter_mut().rev() {
        stage.awaits.retain(|wait| match wait {
            Await::Endpoints { service, of, .. } => waited.insert((service.clone(), of.clone())),
            Await::PodsReady { .. } | Await::Available { .. } | Await::Condition { .. } | Await::Grace(_) | Await::Gone { .. } => true,
        });
    }
}

/// Whether an await of the way into a state still makes sense in it.
fn still_holds(wait: &Await, state: &State) -> bool {
    match wait {
        Await::PodsReady { workload, .. } | Await::Available { workload } | Await::Endpoints { of: Some(workload), .. } => {
            state.contains_key(workload)
        }
        Await::Endpoints { service, of: None, .. } => state.keys().any(|object| object.name() == service && object.is_service()),
        Await::Condition { object, .. } => state.contains_key(object),
        Await::Gone { object } => !state.contains_key(object),
        Await::Grace(_) => true,
    }
}

/// The whole target in one stage.
fn settle(spec: &PlanSpec, purpose: Purpose) -> Stage {
    let awaits = match (purpose, spec.workload_in(&spec.target)) {
        (Purpose::Create, Some(workload)) => vec![Await::Available { workload: workload.object().clone() }],
        (Purpose::Create | Purpose::Release | Purpose::Refresh | Purpose::Settle, _) => Vec::new(),
    };
    Stage { write: spec.target.clone(), remove: Vec::new(), evict: None, awaits }
}

pub(super) fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{kept, reassert, stages};
    use crate::machine::tests::cursor;
    use crate::model::{Await, ObjectKey, Part, Replicas, Stage, VersionKey};
    use crate::plan::fixture;
    use crate::plan::states::{at, play, state_of};

    #[test]
    fn reasserting_a_step_ends_in_it_from_everywhere_and_never_passes_traffic_of_another_step() {
        let spec = fixture().spec;
        for step in 1..=2 {
            let wanted = at(&spec, step).expect("a step");
            for shrinks in [false, true] {
                let stages = reassert(&spec, u32::try_from(step).expect("small"), shrinks);
                for from in 0..=2 {
                    assert_eq!(play(&at(&spec, from).expect("a state"), &stages), wanted);
                }
                let written: Vec<&VersionKey> = stages.iter().flat_map(|stage| &stage.write).collect();
                let place = |object: &ObjectKey| written.iter().position(|version| version.object() == object);
                let route = ObjectKey::new("VirtualService", "shop");
                let writes: Vec<u32> = written.iter().filter(|key| *key.object() == route).map(|key| key.version()).collect();
                assert_eq!(writes, [wanted[&route]]);
                assert_eq!(place(&route) < place(&ObjectKey::new("Deployment", "shop-canary")), shrinks);
            }
        }
    }

    #[test]
    fn reasserting_waits_for_the_endpoints_of_the_step_and_of_none_before_it() {
        let mut spec = fixture().spec;
        let endpoints = |at_least| Await::Endpoints { service: "shop-canary".to_owned(), at_least, of: None };
        spec.steps[1].stages[0].awaits.push(endpoints(Replicas::Percent(50)));
        let waits = |step| {
            let stages = reassert(&spec, step, false);
            let waits = stages.into_iter().flat_map(|stage| stage.awaits).filter(|wait| matches!(wait, Await::Endpoints { .. }));
            waits.collect::<Vec<_>>()
        };
        assert_eq!(waits(1), [endpoints(Replicas::Count(1))]);
        assert_eq!(waits(2), [endpoints(Replicas::Percent(50))], "the pods of step 1 may be too few, and more come only after that stage");
    }

    #[test]
    fn a_stage_that_only_waits_is_waited_for_when_the_step_is_reasserted() {
        let mut spec = fixture().spec;
        let wait = Await::Endpoints { service: "shop".to_owned(), at_least: Replicas::Count(1), of: None };
        spec.steps[1].stages.insert(1, Stage { awaits: vec![wait.clone()], ..Stage::default() });
        assert!(reassert(&spec, 2, false).iter().any(|stage| stage.awaits.contains(&wait)));
    }

    #[test]
    fn what_is_kept_in_a_gate_is_the_whole_step() {
        let spec = fixture().spec;
        let kept = kept(&spec, &cursor(Part::Gate, 1, 0));
        assert_eq!(state_of(&kept.write), at(&spec, 1).expect("a step"));
        assert!(kept.remove.is_empty());
    }

    #[test]
    fn a_stage_that_may_be_half_written_is_not_kept_and_a_written_one_is() {
        let spec = fixture().spec;
        let mut place = cursor(Part::Stages, 2, 0);
        let canary = ObjectKey::new("Deployment", "shop-canary");
        assert!(kept(&spec, &place).write.iter().all(|version| *version.object() != canary));
        place.written = true;
        assert!(kept(&spec, &place).write.contains(&canary.version(2)));
        assert!(kept(&spec, &cursor(Part::Abort, 2, 2)).remove.contains(&canary));
    }

    #[test]
    fn what_a_half_written_stage_makes_anew_is_not_taken_away_again() {
        let mut spec = fixture().spec;
        let canary = ObjectKey::new("Deployment", "shop-canary");
        let gone = Stage { remove: vec![canary.clone()], ..Stage::default() };
        let again = Stage { write: vec![canary.version(1)], ..Stage::default() };
        spec.steps[1].stages = vec![gone, again];
        assert!(kept(&spec, &cursor(Part::Stages, 2, 1)).remove.is_empty());
    }

    #[test]
    fn the_target_is_settled_in_one_stage() {
        let spec = fixture().spec;
        let stages = stages(&spec, &cursor(Part::Settle, 0, 0));
        assert_eq!(stages.len(), 1);
        assert_eq!(stages[0].write, spec.target);
    }
}

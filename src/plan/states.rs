//! States and the ways between them: what exists in which version after which stages.
//!
//! A way is a list of stages. Every way must end in exactly the state that it is named for, wherever it begins;
//! `check_ways` is that property.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ObjectKey, Plan, PlanSpec, Stage, VersionKey};

/// Which version of each object exists. An object of the plan that is not in it is absent.
pub type State = BTreeMap<ObjectKey, u32>;

/// Returns the state that a list of versions names.
pub fn state_of(versions: &[VersionKey]) -> State {
    versions.iter().map(|version| (version.object().clone(), version.version())).collect()
}

/// Returns the versions that a state names.
pub fn versions_of(state: &State) -> Vec<VersionKey> {
    state.iter().map(|(object, version)| object.version(*version)).collect()
}

/// Returns the state after `stages`, begun in `state`.
pub fn play<'a>(state: &State, stages: impl IntoIterator<Item = &'a Stage>) -> State {
    let mut state = state.clone();
    for stage in stages {
        for version in &stage.write {
            state.insert(version.object().clone(), version.version());
        }
        for object in &stage.remove {
            state.remove(object);
        }
    }
    state
}

/// Returns the state of a step, counted from 1; 0 is the baseline. `None`: the plan has no such step.
pub fn at(plan: &PlanSpec, step: usize) -> Option<State> {
    match step.checked_sub(1) {
        None => Some(state_of(&plan.baseline)),
        Some(index) => plan.steps.get(index).map(|step| state_of(&step.state)),
    }
}

/// Returns the way from one step to another, counted from 1; 0 is the baseline. Upwards through every step between,
/// downwards at once, to the baseline by `abort`. The way to a step that the plan does not have is empty.
pub fn jump(plan: &PlanSpec, from: usize, to: usize) -> Vec<&Stage> {
    if to > plan.steps.len() || from == to {
        return Vec::new();
    }
    if to > from {
        return plan.steps[from..to].iter().flat_map(|step| &step.stages).collect();
    }
    match to.checked_sub(1) {
        None => plan.abort.iter().collect(),
        Some(index) => plan.steps[index].enter_from_above.iter().collect(),
    }
}

/// Returns every way that does not end where it should, as sentences. Ways begin at every step, in the middle of entering
/// one from below or from above, and in the middle of finishing or aborting.
pub fn check_ways(plan: &Plan) -> Vec<String> {
    let plan = &plan.spec;
    let mut wrong = Vec::new();
    let baseline = state_of(&plan.baseline);
    let states: Vec<State> = std::iter::once(baseline.clone()).chain(plan.steps.iter().map(|step| state_of(&step.state))).collect();

    for from in 0..states.len() {
        for to in (1..states.len()).filter(|to| *to != from) {
            let end = play(&states[from], jump(plan, from, to));
            expect(&mut wrong, &format!("from {} to step {to}", named(from)), &end, &states[to]);
        }
    }
    for (step, around) in whereabouts(plan, &states).iter().enumerate().skip(1) {
        for state in around {
            let start = format!("in the middle of step {step}");
            expect(&mut wrong, &format!("abort {start}"), &play(state, &plan.abort), &baseline);
            for (lower, wanted) in states.iter().enumerate().take(step).skip(1) {
                expect(&mut wrong, &format!("back to step {lower} {start}"), &play(state, jump(plan, step, lower)), wanted);
            }
            for half_aborted in prefixes(state, &plan.abort) {
                expect(&mut wrong, &format!("abort once more, aborted {start}"), &play(&half_aborted, &plan.abort), &baseline);
            }
        }
    }
    let last = states.last().unwrap_or(&baseline);
    expect(&mut wrong, "finish", &play(last, &plan.finish), &state_of(&plan.target));
    for (played, state) in prefixes(last, &plan.finish).iter().enumerate() {
        let start = format!("{played} of {} stages into finish", plan.finish.len());
        expect(&mut wrong, &format!("finish once more, {start}"), &play(state, &plan.finish), &state_of(&plan.target));
        for half_aborted in prefixes(state, &plan.abort_finish) {
            expect(&mut wrong, &format!("abortFinish, {start}"), &play(&half_aborted, &plan.abort_finish), &baseline);
        }
    }
    wrong.sort();
    wrong.dedup();
    wrong
}

/// Returns, for each step, every state that the cluster can be in while the step is being entered, from below or above.
fn whereabouts(plan: &PlanSpec, states: &[State]) -> Vec<BTreeSet<State>> {
    let mut all: Vec<BTreeSet<State>> = vec![BTreeSet::new(); states.len()];
    for (index, step) in plan.steps.iter().enumerate() {
        all[index + 1].extend(prefixes(&states[index], &step.stages));
    }
    // From the top down: what is left by an entry from above is in its turn a place to go down from.
    for upper in (2..states.len()).rev() {
        let (below, from) = all.split_at_mut(upper);
        for start in &from[0] {
            for (around, step) in below.iter_mut().skip(1).zip(&plan.steps) {
                around.extend(prefixes(start, &step.enter_from_above));
            }
        }
    }
    all
}

/// Returns the states after no stage, the first, the first two … and all of them.
fn prefixes(start: &State, stages: &[Stage]) -> Vec<State> {
    let mut passed = vec![start.clone()];
    for stage in stages {
        let next = play(passed.last().unwrap_or(start), [stage]);
        passed.push(next);
    }
    passed
}

fn named(step: usize) -> String {
    if step == 0 { "the baseline".to_owned() } else { format!("step {step}") }
}

/// Adds a sentence when a way ends elsewhere.
fn expect(wrong: &mut Vec<String>, way: &str, end: &State, wanted: &State) {
    let mut differences = Vec::new();
    for object in end.keys().chain(wanted.keys()).collect::<BTreeSet<_>>() {
        match (end.get(object), wanted.get(object)) {
            (Some(is), Some(should)) if is != should => differences.push(format!("{object} is version {is}, not {should}")),
            (Some(is), None) => differences.push(format!("{object}@{is} is left over")),
            (None, Some(should)) => differences.push(format!("{object}@{should} is missing")),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    if !differences.is_empty() {
        wrong.push(format!("{way}: {}", differences.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::{at, check_ways, jump, play, state_of, versions_of};
    use crate::model::{ObjectKey, Stage};
    use crate::plan::fixture;

    #[test]
    fn every_way_of_a_sound_plan_ends_where_it_should() {
        assert_eq!(check_ways(&fixture()), Vec::<String>::new());
    }

    #[test]
    fn a_jump_upwards_plays_the_steps_between_and_one_downwards_does_not() {
        let plan = fixture().spec;
        assert_eq!(jump(&plan, 0, 2).len(), plan.steps[0].stages.len() + plan.steps[1].stages.len());
        assert_eq!(jump(&plan, 2, 1), plan.steps[0].enter_from_above.iter().collect::<Vec<_>>());
        assert_eq!(jump(&plan, 2, 0), plan.abort.iter().collect::<Vec<_>>());
        assert!(jump(&plan, 1, 9).is_empty());
        assert_eq!(play(&at(&plan, 0).expect("the baseline"), jump(&plan, 0, 2)), at(&plan, 2).expect("a step"));
        assert_eq!(at(&plan, 3), None);
    }

    #[test]
    fn a_state_is_its_versions() {
        let plan = fixture().spec;
        assert_eq!(versions_of(&state_of(&plan.baseline)), plan.baseline);
    }

    #[test]
    fn a_way_that_leaves_something_behind_is_told() {
        let mut plan = fixture();
        plan.spec.abort.remove(1);
        plan.spec.finish.pop();
        plan.spec.steps[0].enter_from_above.pop();
        let wrong = check_ways(&plan);
        for sentence in [
            "abort in the middle of step 1: Deployment/shop-canary@1 is left over, Service/shop-canary@1 is left over",
            "back to step 1 in the middle of step 2: Deployment/shop-canary is version 2, not 1",
            "from step 2 to step 1: Deployment/shop-canary is version 2, not 1",
            "finish: Deployment/shop-canary@2 is left over",
        ] {
            assert!(wrong.iter().any(|found| found == sentence), "{sentence} is not among {wrong:#?}");
        }
    }

    #[test]
    fn a_baseline_that_was_not_pinned_again_is_told() {
        let mut plan = fixture();
        let pinned = ObjectKey::new("Service", "shop").version(2);
        plan.spec.abort_finish.push(Stage { write: vec![pinned], ..Stage::default() });
        assert!(check_ways(&plan).iter().any(|found| found.ends_with("Service/shop is version 2, not 1")));
    }
}

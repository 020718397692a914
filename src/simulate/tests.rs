//! Releases in virtual time, and what must never be seen in one.

use std::collections::{BTreeMap, BTreeSet};

use super::scenarios::SCENARIOS;
use super::{Script, Simulation, Stopped, Who, simulate};
use crate::model::{Phase, Plan};
use crate::plan::fixture;

fn run(events: &str) -> Simulation {
    simulate(&fixture(), &Script::from_text(events).expect("events"), &BTreeMap::new())
}

fn says(simulation: &Simulation, who: Who, words: &str) -> bool {
    simulation.rows.iter().any(|row| row.who == who && row.what.contains(words))
}

/// The moments at which anything happened, and those after.
fn moments(simulation: &Simulation) -> BTreeSet<i64> {
    simulation.rows.iter().flat_map(|row| [row.seconds, row.seconds + 1]).collect()
}

#[track_caller]
fn ends(events: &str, phase: Phase) -> Simulation {
    let simulation = run(events);
    assert_eq!(simulation.phase, phase, "{:#?}", simulation.rows);
    simulation
}

#[test]
fn every_scenario_is_a_script_and_the_new_version_never_gets_more_than_the_step_says() {
    let expected = [Phase::Succeeded, Phase::Aborted, Phase::Aborted, Phase::Succeeded, Phase::Succeeded];
    for (scenario, phase) in SCENARIOS.iter().zip(expected) {
        let simulation = ends(scenario.text, phase);
        for row in &simulation.rows {
            assert!(!row.traffic.lost, "{}: {row:#?}", scenario.name);
            let most = if row.place == "finish" || row.phase == Phase::Finishing || row.phase == Phase::Succeeded { 100 } else { 20 };
            assert!(row.traffic.percent.is_none_or(|percent| percent <= most), "{}: {row:#?}", scenario.name);
        }
    }
}

#[test]
fn a_foreign_edit_is_put_back_and_named() {
    let edit = "{edit: {object: VirtualService/shop, pointer: /spec/http, value: [], manager: kubectl}}";
    let simulation = run(&format!("events:\n- {{when: {{gate: 1}}, after: 5, do: {edit}}}\n"));
    assert!(says(&simulation, Who::Agent, "puts back VirtualService/shop, which `kubectl` had changed"), "{:#?}", simulation.rows);
    assert_eq!(simulation.phase, Phase::Gated);
    assert_eq!(simulation.stopped, Stopped::Quiet);
}

#[test]
fn a_deleted_canary_comes_back() {
    let simulation = run("events:\n- {when: {gate: 1}, do: {remove: {object: Deployment/shop-canary}}}\n");
    assert!(says(&simulation, Who::Agent, "puts back Deployment/shop-canary, which was gone"), "{:#?}", simulation.rows);
}

#[test]
fn an_edit_before_the_first_write_holds_the_release_until_it_is_taken_back() {
    let edit = |value: &str| format!("{{edit: {{object: Service/shop, pointer: /spec/selector, value: {value}, manager: kubectl}}}}");
    let held = ends(&format!("events: [{{do: {}}}]", edit("{app: other}")), Phase::Holding);
    let words = "Service/shop is not what the plan begins with at `/spec/selector/app`, which `kubectl` wrote; put it back, or render the plan again";
    assert_eq!(held.waiting_for.as_deref(), Some(words));
    let text = format!("events: [{{do: {}}}, {{after: 60, do: {}}}]", edit("{app: other}"), edit("{app: shop}"));
    ends(&text, Phase::Gated);
}

#[test]
fn an_approval_of_another_plan_is_refused() {
    let simulation = ends("events: [{when: {gate: 1}, do: {approveStale: {step: 1, digest: 'sha256:old'}}}]", Phase::Gated);
    assert!(says(&simulation, Who::Agent, "refuses: the request speaks of the plan `sha256:old`"), "{:#?}", simulation.rows);
}

#[test]
fn a_pause_holds_the_release_and_a_jump_goes_back_and_forth() {
    ends("approveAfter: 10\nevents: [{when: {gate: 1}, do: pause}]", Phase::Paused);
    ends("approveAfter: 10\nevents: [{when: {gate: 1}, do: pause}, {when: {gate: 1}, after: 60, do: resume}]", Phase::Succeeded);
    let simulation = ends("events: [{when: {gate: 1}, do: {jump: {step: 2}}}, {when: {gate: 2}, do: {jump: {step: 1}}}]", Phase::Gated);
    assert_eq!(simulation.rows.last().map(|row| row.place.as_str()), Some("step 1"));
}

#[test]
fn a_killed_agent_ends_where_it_would_have_ended_wherever_it_is_killed() {
    let quiet = run("approveAfter: 60");
    for second in moments(&quiet) {
        for away in [0, 45] {
            let text = format!("approveAfter: 60\nevents: [{{after: {second}, do: {{kill: {{seconds: {away}}}}}}}]");
            let killed = ends(&text, Phase::Succeeded);
            let last = |simulation: &Simulation| simulation.rows.last().map(|row| row.traffic.clone());
            assert_eq!(last(&killed), last(&quiet), "killed after {second} s");
        }
    }
}

#[test]
fn an_abort_at_any_moment_restores_everything() {
    let quiet = run("approveAfter: 60");
    for second in moments(&quiet) {
        let simulation = run(&format!("approveAfter: 60\nevents: [{{after: {second}, do: abort}}]"));
        let is_over = says(&simulation, Who::Agent, "refuses: ");
        assert_eq!(simulation.phase, if is_over { Phase::Succeeded } else { Phase::Aborted }, "aborted after {second} s");
        let percent = simulation.rows.last().and_then(|row| row.traffic.percent);
        assert_eq!(percent, Some(if is_over { 100 } else { 0 }), "aborted after {second} s");
    }
}

#[test]
fn a_retry_after_an_abort_begins_again() {
    let simulation = ends("events: [{when: {gate: 1}, do: abort}, {when: end, after: 60, do: retry}]", Phase::Gated);
    assert!(simulation.rows.iter().filter(|row| row.what == "step 1 is reached").count() == 2);
}

#[test]
fn a_deletion_restores() {
    let simulation = ends("events: [{when: {gate: 1}, do: delete}]", Phase::Aborted);
    assert_eq!(simulation.rows.last().and_then(|row| row.traffic.percent), Some(0));
}

#[test]
fn crashing_pods_are_seen() {
    let simulation = run("events: [{when: {gate: 1}, do: {crash: {workload: Deployment/shop-canary}}}]");
    assert!(simulation.rows.iter().any(|row| row.traffic.lost), "{:#?}", simulation.rows);
}

#[test]
fn a_plan_rendered_again_is_taken_up_in_its_step_without_moving_traffic() {
    let mut other: Plan = fixture();
    for (version, object) in &mut other.spec.objects {
        if version.object().kind() == "VirtualService" {
            for rule in object["spec"]["http"].as_array_mut().expect("rules") {
                rule["timeout"] = "5s".into();
            }
        }
    }
    let files = BTreeMap::from([("again.yaml".to_owned(), other)]);
    let script = Script::from_text("events: [{when: {gate: 1}, after: 60, do: {plan: {file: again.yaml}}}]").expect("events");
    let simulation = simulate(&fixture(), &script, &files);
    assert!(says(&simulation, Who::Agent, "writes VirtualService/shop"), "{:#?}", simulation.rows);
    assert_eq!((simulation.phase, simulation.seconds), (Phase::Gated, 76), "{:#?}", simulation.rows);
    let later: Vec<_> = simulation.rows.iter().filter(|row| row.seconds >= 60).map(|row| row.traffic.percent).collect();
    // Between keeping the new rendering and writing it, the gateway objects are in no state of that rendering.
    assert!(later.iter().all(|percent| percent.is_none_or(|percent| percent == 20)), "{:#?}", simulation.rows);
    assert_eq!(later.last(), Some(&Some(20)));
}

#[test]
fn absurd_numbers_end_too() {
    let text = "start: 9999-12-30T00:00:00Z\nuntil: 31622400\napproveAfter: 31622400\nreadyAfter: 31622400\n";
    run(text);
    let mut plan = fixture();
    for object in plan.spec.objects.values_mut().filter(|object| object.pointer("/spec/replicas").is_some()) {
        object["spec"]["replicas"] = u32::MAX.into();
    }
    let simulation = simulate(&plan, &Script::from_text("approveAfter: 1").expect("events"), &BTreeMap::new());
    assert_eq!(simulation.phase, Phase::Succeeded);
}

#[test]
fn a_preview_says_that_it_does_nothing() {
    let mut plan = fixture();
    plan.spec.release = None;
    let simulation = simulate(&plan, &Script::default(), &BTreeMap::new());
    assert!(says(&simulation, Who::Agent, "the plan releases nothing"));
    assert_eq!((simulation.phase, simulation.stopped), (Phase::Preview, Stopped::Quiet));
}

#[test]
fn a_plan_file_replaces_the_plan() {
    let mut other: Plan = fixture();
    other.spec.release = Some("sha256:other".to_owned());
    let files = BTreeMap::from([("next.yaml".to_owned(), other)]);
    let script = Script::from_text("events: [{when: {gate: 1}, do: {plan: {file: next.yaml}}}]").expect("events");
    let simulation = simulate(&fixture(), &script, &files);
    assert!(says(&simulation, Who::Agent, "the release is given up: another release came"), "{:#?}", simulation.rows);
    assert_eq!(simulation.phase, Phase::Gated);
}

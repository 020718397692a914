//! Releases in virtual time, and what must never be seen in one.

use std::collections::{BTreeMap, BTreeSet};

use super::scenarios::SCENARIOS;
use super::{End, Script, Simulation, Stopped, Who, simulate};
use crate::model::{Await, Binding, LateValue, ObjectKey, Phase, Plan, Replicas, VersionKey};
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
    assert!(later.iter().all(|percent| *percent == Some(20)), "{:#?}", simulation.rows);
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

/// The fixture, whose canary's replicas are late values.
fn late() -> Plan {
    let mut plan = fixture();
    let canary = ObjectKey::new("Deployment", "shop-canary");
    for (version, share) in [(1, Replicas::Percent(20)), (2, Replicas::Percent(50))] {
        let object = canary.version(version);
        plan.spec.objects.get_mut(&object).expect("a version")["spec"].as_object_mut().expect("a map").remove("replicas");
        plan.spec.bindings.push(Binding { object, pointer: "/spec/replicas".into(), value: LateValue::Replicas(share) });
    }
    for step in &mut plan.spec.steps {
        for wait in step.stages.iter_mut().chain(&mut step.enter_from_above).flat_map(|stage| &mut stage.awaits) {
            if let Await::PodsReady { count, .. } = wait {
                *count = None;
            }
        }
    }
    plan
}

#[test]
fn the_new_version_follows_the_replicas_of_the_cluster() {
    let scaled = "{edit: {object: Deployment/shop, pointer: /spec/replicas, value: 20, manager: kubectl}}";
    let script = Script::from_text(&format!("events:\n- {{when: {{gate: 1}}, after: 5, do: {scaled}}}\n")).expect("events");
    let simulation = simulate(&late(), &script, &BTreeMap::new());
    assert!(says(&simulation, Who::Agent, "writes Deployment/shop-canary"), "{:#?}", simulation.rows);
    assert!(says(&simulation, Who::Cluster, "Deployment/shop-canary: 4 pods ready"), "{:#?}", simulation.rows);
    assert_eq!(simulation.end(), End::Waits);
}

#[test]
fn without_replicas_in_git_a_release_goes_to_its_end() {
    let mut plan = late();
    for object in plan.spec.objects.values_mut().filter(|object| object["kind"] == "Deployment") {
        object["spec"].as_object_mut().expect("a map").remove("replicas");
    }
    for scenario in SCENARIOS {
        let simulation = simulate(&plan, &Script::from_text(scenario.text).expect("events"), &BTreeMap::new());
        assert_eq!(simulation.end(), End::Over, "{}: {:#?}", scenario.name, simulation.rows);
    }
}

#[test]
fn traffic_is_computed_and_not_believed() {
    let mut plan = fixture();
    for (version, object) in &mut plan.spec.objects {
        if version.object().kind() == "VirtualService" && version.version() == 2 {
            object["spec"]["http"][0]["route"][1]["weight"] = 45.into();
            object["spec"]["http"][0]["route"][0]["weight"] = 55.into();
        }
    }
    let simulation = simulate(&plan, &Script::default(), &BTreeMap::new());
    assert_eq!(simulation.rows.last().map(|row| row.traffic.percent), Some(Some(45)), "the step declares 20%");
}

#[test]
fn without_a_route_the_pods_behind_the_service_share_the_traffic() {
    let mut plan = fixture();
    plan.spec.scripts.clear();
    let is_route = |version: &VersionKey| version.object().kind() == "VirtualService";
    plan.spec.objects.retain(|version, _| !is_route(version));
    plan.spec.paths.retain(|entry| entry.object.kind() != "VirtualService");
    for state in [&mut plan.spec.baseline, &mut plan.spec.target] {
        state.retain(|version| !is_route(version));
    }
    for step in &mut plan.spec.steps {
        step.state.retain(|version| !is_route(version));
        for stage in step.stages.iter_mut().chain(&mut step.enter_from_above) {
            stage.write.retain(|version| !is_route(version));
        }
    }
    for stage in plan.spec.finish.iter_mut().chain(&mut plan.spec.abort).chain(&mut plan.spec.abort_finish) {
        stage.write.retain(|version| !is_route(version));
    }
    let simulation = simulate(&plan, &Script::default(), &BTreeMap::new());
    assert!(simulation.rows.iter().all(|row| row.traffic.percent == Some(0)), "the Service is pinned: {:#?}", simulation.rows);
}

#[test]
fn what_cannot_be_computed_is_said() {
    let mut plan = fixture();
    for object in plan.spec.objects.values_mut().filter(|object| object["kind"] == "VirtualService") {
        object["apiVersion"] = "example.com/v1".into();
    }
    let simulation = simulate(&plan, &Script::default(), &BTreeMap::new());
    for row in &simulation.rows {
        assert_eq!(row.traffic.percent, None);
        assert_eq!(row.traffic.not_known.as_deref(), Some("what `VirtualService/shop` does is for its controller to say"));
    }
}

#[test]
fn each_end_is_told_from_the_others() {
    let end = |events: &str| run(events).end();
    assert_eq!(end("approveAfter: 60"), End::Over);
    assert_eq!(end("events: [{when: {gate: 1}, do: abort}]"), End::Over);
    assert_eq!(end("events: []"), End::Waits, "nobody approves");
    assert_eq!(end("events: [{when: {entering: 1}, do: pause}]"), End::Waits);
    assert_eq!(end("readyAfter: never"), End::Stuck);
    let edit = "{edit: {object: Service/shop, pointer: /spec/selector, value: {app: other}}}";
    assert_eq!(end(&format!("events: [{{do: {edit}}}]")), End::Stuck, "held before the first write");
    assert_eq!(end("until: 5"), End::Open);
    let mut unknown = fixture();
    let object = ObjectKey::new("Service", "shop").version(2);
    unknown.spec.bindings.push(Binding { object, pointer: "/spec/x".into(), value: LateValue::CanaryRevision });
    assert_eq!(simulate(&unknown, &Script::default(), &BTreeMap::new()).end(), End::Open);
}

#[test]
fn a_restart_before_the_release_is_no_difference() {
    let value = "{kubectl.kubernetes.io/restartedAt: '2026-01-01T00:00:00Z'}";
    let edit = format!("{{edit: {{object: Deployment/shop, pointer: /spec/template/metadata/annotations, value: {value}}}}}");
    ends(&format!("readyAfter: 0\nevents: [{{do: {edit}}}]"), Phase::Gated);
}

#[test]
fn a_workload_is_not_created_beside_something_else_than_the_target() {
    let mut plan = fixture();
    plan.spec.baseline.retain(|version| version.object().kind() != "Deployment");
    let edit = "{edit: {object: Service/shop, pointer: /spec/selector, value: {app: other}, manager: kubectl}}";
    let script = Script::from_text(&format!("events: [{{do: {edit}}}]")).expect("events");
    let simulation = simulate(&plan, &script, &BTreeMap::new());
    assert_eq!(simulation.phase, Phase::Holding, "{:#?}", simulation.rows);
}
